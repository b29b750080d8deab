"""The command ``vdis``."""

from typing import Annotated

import typer

from vasm.disassembler import disassemble_file, split_file
from visa.command import ErrorFormat, Explain, Json, ListPlatforms, Version, application, platform_option
from visa.diagnostics import UsageError
from visa.files import check_outputs, write_bytes
from visa.reporting import report


@application(
    (
        ("vdis kernel.o", "text on standard output"),
        ("vdis image.bin -o image.visaasm", "text in a file"),
        ("vdis damaged.isa --keep-going", "what can still be read"),
        ("vdis kernels.bin --split texts", "each text of the compiler's program binary, and its ze_info"),
    )
)
def app(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="An object, image, zebin or bare .isa; - for standard input.")
    ],
    output: Annotated[str, typer.Option("-o", metavar="FILE", help="Output file, - for standard output.")] = "-",
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Print what can be read of a damaged file.")] = False,
    split: Annotated[
        str | None, typer.Option("--split", metavar="DIR", help="Write each text of a zebin, and its ze_info.")
    ] = None,
    platform: Annotated[str | None, platform_option("Which zebin of a container.", "Options")] = None,
    explain: Explain = None,
    error_format: ErrorFormat = "human",
    as_json: Json = False,
    list_platforms: ListPlatforms = False,
    version: Version = False,
) -> int:
    """Disassemble to text that assembles to the same bytes."""
    check_outputs([output], [file])
    if split is not None:
        if output != "-" or keep_going:
            raise UsageError("--split writes files of its own; it excludes -o and --keep-going")
        split_file(file, split, platform)
        return 0
    text, damage = disassemble_file(file, keep_going, platform)
    write_bytes(output, text)
    if damage:
        report(damage)
    return int(bool(damage))
