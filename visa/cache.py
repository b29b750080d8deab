"""The user's cache directory, for what can be made again: grammar tables, compiled kernels."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path


def directory() -> Path | None:
    """Where things are kept: ``$VISAKIT_CACHE``, or ``visakit`` in the user's cache; None for ``VISAKIT_CACHE=off``."""
    setting = os.environ.get("VISAKIT_CACHE")
    if setting == "off":
        return None
    return Path(setting) if setting else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "visakit"


def private_directory(name: str, create: bool = False) -> Path | None:
    """A folder of the cache directory into which nobody else can write; None where that cannot be had."""
    base = directory()
    if base is None:
        return None
    path = base / name
    try:
        if create:
            base.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)
        status = path.lstat()
    except OSError:
        return None
    if not stat.S_ISDIR(status.st_mode):
        return None
    # Windows has no such modes; there a user's folder is private by its place.
    private = os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)
    return path if private else None


def read(folder: str, name: str) -> bytes | None:
    """The contents of a file in a private folder; None if there is none, or if others could have written it."""
    path = private_directory(folder)
    if path is None:
        return None
    try:
        return (path / name).read_bytes()
    except OSError:
        return None


def write(folder: str, name: str, data: bytes) -> None:
    """Keep a file in a private folder; others see all of it or nothing. A cache that cannot be written is no error."""
    path = private_directory(folder, create=True)
    if path is None:
        return
    import tempfile

    with contextlib.suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=path, suffix=".tmp")
        with os.fdopen(handle, "wb") as f:
            f.write(data)
        os.replace(temporary, path / name)
