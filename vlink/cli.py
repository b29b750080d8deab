"""The command ``vlink``."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import Annotated

import typer

from visa.command import ErrorFormat, platform_name, run, show_version
from visa.diagnostics import Diagnostic, LinkError, Span
from visa.files import UsageError, read_bytes, read_text, write_bytes


def vlink(
    files: Annotated[list[str], typer.Argument(help="Objects, bare .isa files, ar archives; - for standard input.", show_default=False)],
    output: Annotated[str, typer.Option("-o", help="Output file, - for standard output.")] = "image.bin",
    relocatable: Annotated[bool, typer.Option("-r", help="Write an object that can be linked again.")] = False,
    entry: Annotated[list[str] | None, typer.Option(help="Keep only what these kernels reach.")] = None,
    ze_info: Annotated[list[str] | None, typer.Option(help="The compiler's ze_info text or zebin.")] = None,
    launch: Annotated[str | None, typer.Option(help="Launch file to put into the image.")] = None,
    platform: Annotated[str | None, typer.Option(callback=platform_name, help="Platform of the image.")] = None,
    map_file: Annotated[str | None, typer.Option("--map", help="Write a map, - for standard output.")] = None,
    gc_sections: Annotated[bool, typer.Option("--gc-sections", help="Leave out functions that nothing reaches.")] = False,
    library_dirs: Annotated[list[str] | None, typer.Option("-L", help="Where to look for libraries.")] = None,
    libraries: Annotated[list[str] | None, typer.Option("-l", help="Link libNAME.a.")] = None,
    whole_archive: Annotated[bool, typer.Option("--whole-archive", help="Take all members of archives.")] = False,
    why_live: Annotated[str | None, typer.Option(help="Show why a symbol is kept.")] = None,
    allow_undefined: Annotated[bool, typer.Option("--allow-undefined", help="Leave undefined names to the run.")] = False,
    data: Annotated[list[str] | None, typer.Option(help="NAME=FILE defines a data symbol.")] = None,
    print_symbols: Annotated[bool, typer.Option("--print-symbols", help="Show the symbols of the image.")] = False,
    dependencies: Annotated[bool, typer.Option("-MD", help="Write a make rule beside the output.")] = False,
    error_format: Annotated[ErrorFormat, typer.Option(help="Style of diagnostics.")] = ErrorFormat.human,
    version: Annotated[bool, typer.Option("--version", callback=show_version("vlink"), is_eager=True, help="Show the version.")] = False,
) -> None:
    """Link objects into an image."""
    from vlink.linker import Linker, LinkOptions
    from vlink.map_file import map_text
    from vlink.map_file import why_live as chain

    files = list(_expand(files)) + [_library(name, library_dirs or []) for name in libraries or []]
    options = LinkOptions(entry or [], relocatable, allow_undefined, gc_sections, whole_archive, platform)
    for item in data or []:
        name, equals, path = item.partition("=")
        if not equals or not name:
            raise UsageError("--data takes NAME=FILE")
        options.data[name] = read_bytes(path)
    if launch:
        options.launch = _launch(launch, output)
    linker = Linker(options)
    for path in files:
        linker.add_file(path)
    for path in ze_info or []:
        linker.add_info(read_bytes(path), path)
    linked = linker.run()
    write_bytes(output, _object(linked.image) if relocatable else linked.image.to_bytes())
    if map_file:
        write_bytes(map_file, map_text(linked).encode())
    if why_live:
        print(chain(linked, why_live))
    if print_symbols:
        for s in linked.image.symbols:
            print(f"{s.value:#18x} {s.size:8} {'U' if not s.section else 'D' if s.kind == 1 else 'T' if s.binding else 't'} {s.name}")
    if dependencies:
        inputs = [*files, *(ze_info or []), *([launch] if launch else [])]
        write_bytes(os.path.splitext(output)[0] + ".d", f"{output}: {' '.join(inputs)}\n".encode())


def _expand(files: list[str]) -> list[str]:
    """``@file`` stands for the words in a file."""
    out = []
    for f in files:
        out += shlex.split(read_text(f[1:])) if f.startswith("@") else [f]
    return out


def _library(name: str, directories: list[str]) -> str:
    for directory in [*directories, "."]:
        path = os.path.join(directory, f"lib{name}.a")
        if os.path.exists(path):
            return path
    raise LinkError(Diagnostic("L022", f"lib{name}.a is in none of {', '.join([*directories, '.'])}", None, "add its directory with -L"))


def _launch(path: str, output: str) -> str:
    """The launch file with the way from the image to its directory."""
    try:
        tree = json.loads(read_text(path))
    except ValueError as error:
        raise LinkError(Diagnostic("L023", f"the launch file is not JSON: {error}", Span(path, 0))) from None
    if not isinstance(tree, dict):
        raise LinkError(Diagnostic("L023", "the launch file must be a JSON object", Span(path, 0)))
    image_directory = os.path.dirname(os.path.abspath(output)) if output != "-" else os.getcwd()
    tree["directory"] = os.path.relpath(os.path.dirname(os.path.abspath(path)), image_directory)
    return json.dumps(tree)


def _object(image: object) -> bytes:
    from vlink.partial import object_bytes

    return object_bytes(image)  # type: ignore[arg-type]


def main() -> None:
    """Entry point."""
    sys.setrecursionlimit(20000)
    run("vlink", vlink)
