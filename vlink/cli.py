"""The command ``vlink``."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from typing import TYPE_CHECKING

from visa.collector import paused_collection
from visa.command import parser, platform_name, run
from visa.diagnostics import Diagnostic, LinkError, Span
from visa.elf import is_ctm
from visa.files import UsageError, read_bytes, read_text, write_bytes

if TYPE_CHECKING:
    from vlink.linker import Linked, LinkOptions


def options() -> argparse.ArgumentParser:
    """The command line."""
    p = parser("vlink", "Link objects into an image.")
    p.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="objects, bare .isa files, ar archives; - for standard input; @FILE stands for the words in FILE",
    )
    p.add_argument(
        "-o",
        dest="output",
        metavar="FILE",
        default="image.bin",
        help="output file, - for standard output (default: image.bin)",
    )
    p.add_argument("-r", dest="relocatable", action="store_true", help="write an object that can be linked again")
    p.add_argument("--entry", action="append", default=[], metavar="KERNEL", help="keep only what these kernels reach")
    p.add_argument(
        "--ze-info", action="append", default=[], metavar="FILE", help="the compiler's ze_info text or zebin"
    )
    p.add_argument("--launch", metavar="FILE", help="launch file to put into the image")
    p.add_argument("--platform", type=platform_name, metavar="NAME", help="platform of the image")
    p.add_argument("--map", dest="map_file", metavar="FILE", help="write a map, - for standard output")
    p.add_argument("--gc-sections", action="store_true", help="leave out functions that nothing reaches")
    p.add_argument(
        "-L", dest="library_dirs", action="append", default=[], metavar="DIR", help="where to look for libraries"
    )
    p.add_argument("-l", dest="libraries", action="append", default=[], metavar="NAME", help="link libNAME.a")
    p.add_argument("--whole-archive", action="store_true", help="take all members of archives")
    p.add_argument("--why-live", metavar="SYMBOL", help="show why a symbol is kept")
    p.add_argument("--allow-undefined", action="store_true", help="leave undefined names to the run")
    p.add_argument("--data", action="append", default=[], metavar="NAME=FILE", help="define a data symbol")
    p.add_argument("--print-symbols", action="store_true", help="show the symbols of the image")
    p.add_argument("-MD", dest="dependencies", action="store_true", help="write a make rule beside the output")
    return p


def vlink(given: argparse.Namespace) -> int:
    """Link the inputs into one output."""
    with paused_collection():
        return _link(given)


def _link(given: argparse.Namespace) -> int:
    files = [*_expand(given.files), *(_library(name, given.library_dirs) for name in given.libraries)]
    inputs = [(path, read_bytes(path)) for path in files]
    if inputs and all(is_ctm(data) for _, data in inputs):
        _link_ctm(inputs, given.output)
        return 0
    from vlink.linker import Linker

    linker = Linker(_link_options(given))
    for path, contents in inputs:
        linker.add_bytes(contents, "<stdin>" if path == "-" else path)
    for path in given.ze_info:
        linker.add_info(read_bytes(path), path)
    linked = linker.run()
    write_bytes(given.output, _object_bytes(linked) if given.relocatable else linked.image.to_bytes())
    _show(linked, given)
    if given.dependencies:
        sources = [*files, *given.ze_info, *([given.launch] if given.launch else [])]
        write_bytes(os.path.splitext(given.output)[0] + ".d", f"{given.output}: {' '.join(sources)}\n".encode())
    return 0


def _link_ctm(inputs: list[tuple[str, bytes]], output: str) -> None:
    from ctm import linker
    from ctm.program import read_module

    write_bytes(output, linker.link([read_module(data, path) for path, data in inputs]).to_bytes())


def _link_options(given: argparse.Namespace) -> LinkOptions:
    from vlink.linker import LinkOptions

    data: dict[str, bytes] = {}
    for item in given.data:
        name, equals, path = item.partition("=")
        if not equals or not name:
            raise UsageError("--data takes NAME=FILE")
        data[name] = read_bytes(path)
    return LinkOptions(
        given.entry,
        given.relocatable,
        given.allow_undefined,
        given.gc_sections,
        given.whole_archive,
        given.platform,
        _launch(given.launch, given.output) if given.launch else "",
        data,
    )


def _object_bytes(linked: Linked) -> bytes:
    from vlink.partial import object_bytes

    return object_bytes(linked.image)


def _show(linked: Linked, given: argparse.Namespace) -> None:
    """The map, the reason why a symbol is kept, and the symbols, as far as somebody asked for them."""
    from vlink.map_file import map_text, symbol_row, why_live

    if given.map_file:
        write_bytes(given.map_file, map_text(linked).encode())
    if given.why_live:
        print(why_live(linked, given.why_live))
    if given.print_symbols:
        for symbol in linked.image.symbols:
            print(symbol_row(symbol))


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
    raise LinkError(
        Diagnostic(
            "L022", f"lib{name}.a is in none of {', '.join([*directories, '.'])}", None, "add its directory with -L"
        )
    )


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


def main() -> None:
    """Entry point."""
    sys.setrecursionlimit(20000)
    run("vlink", options(), vlink)
