"""Files to an image: inputs and outputs of the command ``vlink``."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence

from visakit.diagnostics import Diagnostic, FileError, LinkError, Span, UsageError
from visakit.files import check_outputs, read_bytes, read_text, write_bytes, write_text
from visakit.json_text import read_json
from visakit.usage import exclude
from vlink.linker import Linked, Linker, LinkOptions

Inputs = Sequence[tuple[str, bytes]]
"""Names and contents of input files."""


def input_files(
    files: Iterable[str] | None, libraries: Iterable[str] | None, directories: Sequence[str] | None
) -> list[str]:
    """Paths of all inputs: the words in ``@FILE`` in its place, the libraries after the files.

    Raises:
        LinkError: a library is in none of the directories.
        FileError: a file of words cannot be read.
    """
    out: list[str] = []
    for file in files or ():
        out += _words(file[1:]) if file.startswith("@") else [file]
    return out + [_library(name, directories or ()) for name in libraries or ()]


def _words(file: str) -> list[str]:
    """The words in a file, divided as a shell does."""
    try:
        return shlex.split(read_text(file))
    except FileError:
        raise
    except ValueError as error:
        raise FileError(Diagnostic("F005", f"cannot be split into words: {error}", Span(file, 0))) from None


def _library(name: str, directories: Sequence[str]) -> str:
    for directory in [*directories, "."]:
        path = os.path.join(directory, f"lib{name}.a")
        if os.path.exists(path):
            return path
    raise LinkError(
        Diagnostic(
            "L022", f"lib{name}.a is in none of {', '.join([*directories, '.'])}", None, "add its directory with -L"
        )
    )


def link_inputs(inputs: Inputs, ze_info: Iterable[str] | None, options: LinkOptions) -> Linked:
    """Link objects and archives; ``ze_info`` are files with the compiler's ze_info text or zebin.

    Raises:
        LinkError: they do not fit together.
    """
    linker = Linker(options)
    for path, contents in inputs:
        linker.add_bytes(contents, "<stdin>" if path == "-" else path)
    for path in ze_info or ():
        linker.add_info(read_bytes(path), path)
    return linker.run()


def picks(pick: bool, ze_info: Sequence[str] | None) -> bool:
    """Whether one of several bodies is to be linked.

    Raises:
        UsageError: nothing determines the body.
    """
    if pick and not ze_info:
        raise UsageError("--pick chooses by the SIMD size in ze_info; give it with --ze-info")
    return pick


def link_ctm(inputs: Inputs, output: str, launch: str | None, others: Mapping[str, object]) -> None:
    """Link modules of the CTM target into one image.

    Args:
        launch: path of a launch file to put into the image.
        others: options that this target does not have, and their values.

    Raises:
        LinkError: the modules do not fit together, or the launch file is not JSON.
        UsageError: one of the other options was given.
    """
    from visakit.ctm import linker
    from visakit.ctm.program import read_module

    exclude("modules of the CTM target", others)
    image = linker.link([read_module(data, path) for path, data in inputs])
    image.launch = launch_text(launch, output) if launch else ""
    write_bytes(output, image.to_bytes())


def write_archive(paths: Sequence[str], archive: str, others: Mapping[str, object]) -> None:
    """Put objects into an archive.

    Args:
        others: options that an archive does not have, and their values.

    Raises:
        FormatError: an input is no object.
        LinkError: two members would have the same name.
        UsageError: one of the other options was given, there is no input, or the archive is one of them.
    """
    from vlink.archive import archive_bytes

    exclude("--archive", others, ", which links nothing")
    if not paths:
        raise UsageError("--archive FILE wants the objects that go into the archive; see vlink --help")
    check_outputs([archive], paths)
    write_bytes(archive, archive_bytes([(path, read_bytes(path)) for path in paths]))


def write_linked(linked: Linked, output: str, relocatable: bool) -> None:
    """Write an image, or an object that can be linked again."""
    if relocatable:
        from vlink.partial import object_bytes

        write_bytes(output, object_bytes(linked.image))
    else:
        write_bytes(output, linked.image.to_bytes())


def write_map(linked: Linked, path: str | None) -> None:
    """Write the map of a link to a path; nothing without one."""
    if path:
        from vlink.map_file import map_text

        write_text(path, map_text(linked))


def shown(linked: Linked, why: str | None, symbols: bool) -> list[str]:
    """Lines that say why a symbol is kept, and a list of all symbols, as requested."""
    from vlink.map_file import symbol_row, why_live

    lines = [why_live(linked, why)] if why else []
    return lines + ([symbol_row(symbol) for symbol in linked.image.symbols] if symbols else [])


def write_make_rule(output: str, sources: Iterable[str]) -> None:
    """A rule for make beside the output."""
    write_text(_make_rule(output), f"{output}: {' '.join(sources)}\n")


def _make_rule(output: str) -> str:
    return os.path.splitext(output)[0] + ".d"


def described_by(ze_info: Iterable[str] | None, launch: str | None) -> list[str]:
    """The files that describe the inputs."""
    return [*(ze_info or ()), *([launch] if launch else ())]


def check_inputs(paths: Sequence[str], ze_info: Sequence[str] | None) -> None:
    """Something must be given.

    Raises:
        UsageError: nothing is.
    """
    if not paths and not ze_info:
        raise UsageError("there is no input; see vlink --help")


def check_files(
    output: str,
    map_file: str | None,
    make_rule: bool,
    inputs: Iterable[str],
    words: Iterable[str] | None,
    definitions: Iterable[str] | None,
) -> None:
    """Refuse outputs that are inputs or each other; ``words`` may be ``@FILE``, ``definitions`` are ``NAME=FILE``.

    Raises:
        UsageError: the output, the map or the rule for make would overwrite one of them.
    """
    responses = [word[1:] for word in words or () if word.startswith("@")]
    contents = [item.partition("=")[2] for item in definitions or ()]
    check_outputs([output, map_file, _make_rule(output) if make_rule else None], [*inputs, *responses, *contents])


def data_symbols(definitions: Iterable[str] | None) -> dict[str, bytes]:
    """Contents of the data symbols that ``NAME=FILE`` define.

    Raises:
        UsageError: a definition has another form.
    """
    symbols: dict[str, bytes] = {}
    for item in definitions or ():
        name, equals, path = item.partition("=")
        if not equals or not name:
            raise UsageError(f"--data takes NAME=FILE, found '{item}'")
        symbols[name] = read_bytes(path)
    return symbols


def launch_text(path: str, output: str) -> str:
    """A launch file with the way from the image to its directory.

    Raises:
        LinkError: it is not a JSON object.
    """
    tree = read_json(read_text(path), path, "L023", LinkError)
    if not isinstance(tree, dict):
        raise LinkError(Diagnostic("L023", "the launch file must be a JSON object", Span(path, 0)))
    image_directory = os.path.dirname(os.path.abspath(output)) if output != "-" else os.getcwd()
    tree["directory"] = os.path.relpath(os.path.dirname(os.path.abspath(path)), image_directory)
    return json.dumps(tree)
