"""Files to images: images, the compiler's program binaries, and sources, which the compiler makes one of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from visakit.diagnostics import Diagnostic, UsageError
from visakit.file_kinds import source_language
from visakit.objects.image import LinkedImage
from visakit.usage import check_platform
from vsim.sources.zebins import is_compiled, load_what_follows, read_program


class Loaded(NamedTuple):
    """A program to be run.

    Attributes:
        name: its name in messages.
        platform: which zebin of a container is meant; None for the only one.
        warnings: the compiler's warnings.
        files: the source and the program itself, by their names in a capture.
    """

    data: bytes
    name: str
    platform: str | None = None
    warnings: Sequence[Diagnostic] = ()
    files: Mapping[str, bytes] = MappingProxyType({})


def compiled_program(path: str, data: bytes, device: str | None, options: str, max_seconds: float | None) -> Loaded:
    """The program of a source; see :func:`visakit.compiler.ocloc.compile_source` for arguments and errors."""
    from visakit.compiler.ocloc import compile_source

    zebin, doubts = compile_source(path, data, device, options, max_seconds, load_what_follows)
    language = source_language(path, data)
    source = {"kernel.cl": data + b"\0"} if language == "cl" else {"kernel.spv": data} if language == "spv" else {}
    return Loaded(zebin, path, None, doubts, source | {"DeviceBinary0.bin": zebin})


def loaded(name: str, data: bytes, platform: str | None, options: str, max_seconds: float | None = None) -> Loaded:
    """The program in a file; a source is compiled.

    Args:
        platform: the device of a source, None for the newest that the compiler knows; which zebin of a container.
        options: build options of a source.

    Raises:
        UsageError: there are build options, and it is no source.
        FormatError: it does not compile.
    """
    if source_language(name, data):
        return compiled_program(name, data, platform, options, max_seconds)
    if options:
        raise UsageError(f"build options are for sources, and '{name}' is not a source")
    return Loaded(data, name, platform)


def linked(program: Loaded) -> LinkedImage:
    """The image of a program.

    Raises:
        UsageError: it is an image for another platform.
        FormatError: it is neither an image nor a zebin with vISA texts, or damaged.
        LinkError: texts of the zebin have errors or do not fit together.
    """
    wanted = check_platform(program.platform)
    image = read_program(program.data, program.name, wanted)
    if wanted not in (None, image.platform or wanted) and not is_compiled(program.data):
        raise UsageError(
            "--platform chooses the device of a source's compilation, and the part of a zebin; "
            f"'{program.name}' is an image for {image.platform}, not for {wanted}"
        )
    return image
