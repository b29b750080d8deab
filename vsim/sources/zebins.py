"""Loading of images, and of the compiler's program binaries, which are linked first."""

from __future__ import annotations

import contextlib
import importlib
from functools import cached_property

from visakit import object_cache
from visakit.objects.image import LinkedImage, read_image
from vsim.engines.llvm.host.summaries import known

_FOLLOWING = ("vlink.zebins", "visakit.objects.yaml_reader", "vsim.program", "vsim.engines.llvm.pipeline")
_KEPT = "<program>"
"""The name under which linked programs are kept."""


def is_compiled(data: bytes) -> bool:
    """Whether bytes are a zebin, a container of several, or a binary of compilers from before zebins."""
    if data[:4] == b"\x7fELF":
        if data[16:18] == b"\2\0":  # ET_EXEC, as images are
            return False
    elif data[:8] != b"!<arch>\n":
        return False
    from visakit.objects.archive import archive_members, is_archive
    from visakit.objects.zebin import is_older_binary, is_zebin

    if not is_archive(data):
        return is_zebin(data)
    return any(is_zebin(contents) or is_older_binary(contents) for _, contents in archive_members(data, "<archive>"))


class _Texts:
    """The vISA texts of a zebin, by the names that the linker gives them, and the zebin itself; read when a message
    cites one, or when a launch is debugged.
    """

    def __init__(self, data: bytes, name: str, platform: str | None) -> None:
        self.data, self.name, self.platform = data, name, platform

    def __call__(self) -> dict[str, str]:
        return self._found

    def zebin(self) -> bytes:
        """The program for the platform."""
        from visakit.objects.zebin import find_zebin

        found = find_zebin(self.data, self.name, self.platform)
        return found[0] if found else b""

    @cached_property
    def _found(self) -> dict[str, str]:
        from visakit.objects.zebin import find_zebin, read_zebin, text_name

        found = find_zebin(self.data, self.name, self.platform)
        zebin = read_zebin(*found) if found else None
        return {text_name(zebin.name, t): t.text for t in zebin.texts} if zebin else {}


def read_program(
    data: bytes, name: str = "<image>", platform: str | None = None, first_data_slot: int = 0
) -> LinkedImage:
    """An image, or the result of linking a zebin with vISA texts.

    Args:
        platform: which zebin of a container is meant; None for the only one.
        first_data_slot: slot of the first data of a zebin, after programs that share its address space.

    Raises:
        FormatError: it is neither, or damaged.
        LinkError: texts of the zebin have errors or do not fit together.
    """
    if not is_compiled(data):
        return read_image(data, name, known)
    key = object_cache.key("image", data, platform)
    moved = object_cache.key(key, first_data_slot)
    kept = object_cache.load(key) or object_cache.load(moved)
    if kept is None:
        image = _linked(data, name, platform, first_data_slot)
        _rename(image, name, _KEPT)
        # With data, the addresses are those behind other programs; without, they are the same everywhere.
        object_cache.save(moved if image.data else key, image.to_bytes(image.code))
    else:
        image = read_image(kept, _KEPT, known)
    _rename(image, _KEPT, name)
    texts = _Texts(data, name, platform)
    image.file, image.compiled, image.texts, image.zebin = name, True, texts, texts.zebin
    return image


def load_what_follows() -> None:
    """Load the modules that link and translate a program, while a compiler makes it."""
    with contextlib.suppress(ImportError, OSError):  # The importing code reports a missing module.
        for name in _FOLLOWING:
            importlib.import_module(name)
        from visakit.text.reader import line_reader

        line_reader().tokens("")


def _linked(data: bytes, name: str, platform: str | None, first_data_slot: int) -> LinkedImage:
    from vlink.linker import Linker, LinkOptions

    linker = Linker(LinkOptions(platform=platform, first_data_slot=first_data_slot))
    linker.add_bytes(data, name)
    image = linker.run().image
    image.code = image.module_bytes()  # The texts were read and validated, so that these bytes need not be.
    return image


def _rename(image: LinkedImage, old: str, new: str) -> None:
    """Give the texts of a program the name that it has in messages."""
    image.lines = {f: (new + file.removeprefix(old), numbers) for f, (file, numbers) in image.lines.items()}
    for function in image.module.all_functions:
        if function.file:
            function.file = new + function.file.removeprefix(old)
