"""The command ``vdis``."""

from typing import Annotated

import typer

from vasm.annotation import Annotations
from vasm.disassembler import Printed, disassemble_files, split_file
from visakit.commands.command import (
    DEVICE_HELP,
    application,
    device_name,
    flag,
    option,
    platform_option,
)
from visakit.commands.reporting import report
from visakit.diagnostics import UsageError
from visakit.files import check_outputs, write_bytes

OUTPUT, SHOWN = "Output", "What is shown"


@application(
    (
        ("vdis kernel.o", "text on standard output"),
        ("vdis image.bin -o image.visaasm", "text in a file"),
        ("vdis kernel.o --offsets --bytes", "with offsets and bytes as comments; it still assembles"),
        ("vdis kernels.cl", "the vISA that Intel's compiler makes of OpenCL C, for the newest device that it knows"),
        ("vdis kernels.cl --kernel saxpy --source", "one kernel, and the lines of OpenCL C between the instructions"),
        ("vdis damaged.isa --keep-going", "what can still be read"),
        ("vdis kernels.bin --split texts", "each text of the compiler's program binary, and its ze_info"),
    )
)
def app(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Objects, images, zebins, bare .isa; OpenCL C (.cl), SPIR-V; - for input.",
        ),
    ],
    output: Annotated[str, option("-o", "FILE", "Output file, - for standard output.", OUTPUT)] = "-",
    split: Annotated[
        str | None, option("--split", "DIR", "Write each text of a zebin, and its ze_info.", OUTPUT)
    ] = None,
    kernels: Annotated[
        list[str] | None, option("--kernel", "NAME", "A kernel or function; all if missing.", SHOWN)
    ] = None,
    offsets: Annotated[
        bool, flag("--offsets", "Where each instruction begins in the code of its function.", SHOWN)
    ] = False,
    show_bytes: Annotated[bool, flag("--bytes", "The bytes of each instruction.", SHOWN)] = False,
    source: Annotated[
        bool, flag("--source", "The source lines that FILE and LOC name, or those of vasm -g.", SHOWN)
    ] = False,
    keep_going: Annotated[bool, flag("--keep-going", "Print what can be read of a damaged file.", SHOWN)] = False,
    platform: Annotated[str | None, platform_option(DEVICE_HELP, SHOWN, device_name)] = None,
    build_options: Annotated[
        str, option("--build-options", "TEXT", "Options for the compiler of a source.", SHOWN, show_default=False)
    ] = "",
) -> int:
    """Disassemble to text that assembles to the same bytes; of a source, show what Intel's compiler makes of it."""
    check_outputs([output], files)
    selection = Printed(kernels or (), Annotations(offsets, show_bytes, source), keep_going, platform, build_options)
    if split is not None:
        alone = Printed(platform=platform, build_options=build_options)
        if output != "-" or selection != alone or len(files) > 1:
            takes = "it takes --platform and --build-options alone"
            raise UsageError(f"--split writes each text of one zebin to a file; {takes}")
        report(split_file(files[0], split, selection))
        return 0
    text, found = disassemble_files(files, selection)
    is_wrong = any(d.severity == "error" for d in found)
    if output == "-" or keep_going or not is_wrong:
        write_bytes(output, text)
    report(found)
    return int(is_wrong)
