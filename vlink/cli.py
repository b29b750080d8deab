"""The command ``vlink``."""

from typing import Annotated

import typer

from visakit.collector import paused_collection
from visakit.commands.command import (
    application,
    flag,
    max_errors_option,
    option,
    platform_option,
)
from visakit.diagnostics import MAXIMUM_ERRORS
from visakit.files import read_bytes
from visakit.objects.elf import is_ctm
from visakit.usage import exclude

INPUTS, OUTPUT, SELECTION = "Inputs", "Output", "What is linked"


@application(
    (
        ("vlink kernel.o library.o --ze-info ze_info.yaml -o image.bin", "an image with the arguments of its kernels"),
        ("vlink kernels.bin mine.o -o image.bin", "the compiler's program binary; what mine.o defines replaces it"),
        ("vlink main.o -L build -l math --gc-sections", "with build/libmath.a, without what nothing reaches"),
        ("vlink a.o b.o -r -o ab.o", "an object that can be linked again"),
        ("vlink --archive libmath.a sin.o cos.o", "a library, of which links take the members that they need"),
        ("vlink main.o --map - --why-live helper", "a map, and why a function is kept"),
    )
)
def app(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...",
            help="Objects, zebins, bare .isa files, ar archives; - for standard input; @FILE: the words in FILE.",
        ),
    ] = None,
    output: Annotated[
        str | None, option("-o", "FILE", "Output file, - for standard output; image.bin if missing.", OUTPUT)
    ] = None,
    relocatable: Annotated[bool, flag("-r", "Write an object that can be linked again.", OUTPUT)] = False,
    archive: Annotated[str | None, option("--archive", "FILE", "Put the inputs into an archive.", OUTPUT)] = None,
    platform: Annotated[str | None, platform_option("Platform of the image.", OUTPUT)] = None,
    launch: Annotated[str | None, option("--launch", "FILE", "Launch file to put into the image.", OUTPUT)] = None,
    map_file: Annotated[str | None, option("--map", "FILE", "Write a map, - for standard output.", OUTPUT)] = None,
    print_symbols: Annotated[bool, flag("--print-symbols", "Show the symbols of the image.", OUTPUT)] = False,
    make_rule: Annotated[bool, flag("-MD", "Write a make rule beside the output.", OUTPUT)] = False,
    library_dirs: Annotated[list[str] | None, option("-L", "DIR", "Where to look for libraries.", INPUTS)] = None,
    libraries: Annotated[list[str] | None, option("-l", "NAME", "Link libNAME.a.", INPUTS)] = None,
    ze_info: Annotated[
        list[str] | None, option("--ze-info", "FILE", "The compiler's ze_info or zebin.", INPUTS)
    ] = None,
    data: Annotated[list[str] | None, option("--data", "NAME=FILE", "Define a data symbol.", INPUTS)] = None,
    entries: Annotated[
        list[str] | None, option("--entry", "KERNEL", "Keep what these kernels reach.", SELECTION)
    ] = None,
    gc_sections: Annotated[bool, flag("--gc-sections", "Leave out what nothing reaches.", SELECTION)] = False,
    pick: Annotated[
        bool, flag("--pick", "Of several bodies of a kernel link the one with ze_info's SIMD size.", SELECTION)
    ] = False,
    whole_archive: Annotated[bool, flag("--whole-archive", "Take all members of archives.", SELECTION)] = False,
    allow_undefined: Annotated[bool, flag("--allow-undefined", "Leave undefined names to the run.", SELECTION)] = False,
    why_live: Annotated[str | None, option("--why-live", "SYMBOL", "Show why a symbol is kept.", SELECTION)] = None,
    max_errors: Annotated[int | None, max_errors_option("of the link")] = None,
) -> int:
    """Link objects into an image."""
    from vlink import driver
    from vlink.linker import LinkOptions

    others: dict[str, object] = {"-r": relocatable, "--platform": platform, "--map": map_file}
    others |= {"--print-symbols": print_symbols, "--ze-info": ze_info, "--data": data, "--entry": entries}
    others |= {"--gc-sections": gc_sections, "--whole-archive": whole_archive, "--allow-undefined": allow_undefined}
    others |= {"--why-live": why_live, "--pick": pick, "--max-errors": max_errors}
    with paused_collection():
        paths = driver.input_files(files, libraries, library_dirs)
        if archive:
            driver.write_archive(paths, archive, others | {"-o": output, "--launch": launch, "-MD": make_rule})
            return 0
        output = output or "image.bin"
        if relocatable:
            of_images = {"--launch": launch, "--ze-info": ze_info, "--data": data, "--entry": entries}
            exclude("-r", of_images | {"--gc-sections": gc_sections}, "; give it when the image is linked")
        described = driver.described_by(ze_info, launch)
        driver.check_files(output, map_file, make_rule, [*paths, *described], files, data)
        inputs = [(path, read_bytes(path)) for path in paths]
        if inputs and all(is_ctm(contents) for _, contents in inputs):
            driver.link_ctm(inputs, output, launch, others)
            if make_rule:
                driver.write_make_rule(output, [*paths, *described])
            return 0
        options = LinkOptions(entries or (), relocatable, allow_undefined, gc_sections, whole_archive, platform)
        options.pick = driver.picks(pick, ze_info)
        options.max_errors = max_errors or MAXIMUM_ERRORS
        options.launch = driver.launch_text(launch, output) if launch else ""
        options.data = driver.data_symbols(data)
        driver.check_inputs(paths, ze_info)
        linked = driver.link_inputs(inputs, ze_info, options)
        driver.write_map(linked, map_file)
        if make_rule:
            driver.write_make_rule(output, [*paths, *described])
        driver.write_linked(linked, output, relocatable)  # last: it is not there where the others cannot be written
        for line in driver.shown(linked, why_live, print_symbols):
            print(line)
    return 0
