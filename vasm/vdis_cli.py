"""The command ``vdis``."""

from typing import Annotated

import typer

from vasm.disassembler import disassemble_file
from visa.command import ErrorFormat, Version, application
from visa.files import check_outputs, report, write_bytes


@application(
    (
        ("vdis kernel.o", "text on standard output"),
        ("vdis image.bin -o image.visaasm", "text in a file"),
        ("vdis damaged.isa --keep-going", "what can still be read"),
    )
)
def app(
    file: Annotated[str, typer.Argument(metavar="FILE", help="An object, image or bare .isa; - for standard input.")],
    output: Annotated[str, typer.Option("-o", metavar="FILE", help="Output file, - for standard output.")] = "-",
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Print what can be read of a damaged file.")] = False,
    error_format: ErrorFormat = "human",
    version: Version = False,
) -> int:
    """Disassemble to text that assembles to the same bytes."""
    check_outputs([output], [file])
    text, damage = disassemble_file(file, keep_going)
    write_bytes(output, text)
    if damage:
        report(damage, error_format, "vdis")
    return int(bool(damage))
