"""Native code and program binaries in the cache of the user, named by digests of all that they depend on."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from visakit import cache

LIMIT_BYTES = 256 << 20
FOLDER = "objects"
_LOOKS = "00"
"""Prefix of the digests whose storage trims the cache."""


def _sources() -> bytes:
    """Size and time of every source file that shapes the code: an edited tree never uses old objects."""
    rows: list[str] = []
    for package in ("vsim", "visakit"):
        _note_sources(str(Path(__file__).parents[1] / package), rows)
    return "\n".join(sorted(rows)).encode()


def _note_sources(folder: str, rows: list[str]) -> None:
    """Note the source files of a folder and of those in it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.endswith((".py", ".ll")):
                status = entry.stat()
                rows.append(f"{name}:{status.st_size}:{status.st_mtime_ns}")
            elif "." not in name and name != "__pycache__" and entry.is_dir():
                _note_sources(entry.path, rows)


_SOURCES: bytes | None = None


def key(*parts: object) -> str:
    """A digest of the parts and of the sources."""
    global _SOURCES
    if _SOURCES is None:
        _SOURCES = _sources()
    return cache.digest([_SOURCES, *(part if isinstance(part, bytes) else os.fsencode(str(part)) for part in parts)])


def load(name: str) -> bytes | None:
    """An object by its key, or None if it is absent, damaged or not the user's."""
    function = cache.read(FOLDER, f"{name}.o")
    if function is not None:
        folder = cache.private_directory(FOLDER)
        with contextlib.suppress(OSError):
            os.utime(f"{folder}/{name}.o")
    return function


def holds(name: str) -> bool:
    """Whether there is an object with this key, without a look at its contents."""
    folder = cache.private_directory(FOLDER)
    return folder is not None and os.path.isfile(f"{folder}/{name}.o")


def save(name: str, function: bytes) -> None:
    """Keep an object; other processes see all of it or nothing. A cache that cannot be written is no error."""
    cache.write(FOLDER, f"{name}.o", function)
    # Thousands of objects take longer to look at than one to make; one digest in 256 begins so.
    folder = cache.private_directory(FOLDER) if name.startswith(_LOOKS) else None
    if folder is not None:
        with contextlib.suppress(OSError):
            _trim(folder)


def _trim(base: Path) -> None:
    """Remove the objects that were not used for longest, until the rest fits."""
    entries = sorted(
        ((e.stat().st_mtime, e.stat().st_size, e.path) for e in os.scandir(base) if e.name.endswith(".o")), reverse=True
    )
    total = 0
    for _, size, path in entries:
        total += size
        if total > LIMIT_BYTES:
            os.unlink(path)
