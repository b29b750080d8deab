"""The user's cache directory, for data that can be made again: grammar tables, compiled kernels.

The contents are executed later, so only the user may have written them: each entry begins with a code over its name and
contents under a key that only the user can read. Directories and key belong to the user and are closed to others; else
nothing is cached. Entries that are damaged, have another key or are no regular files are ignored.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

try:  # hashlib, which has the same function, loads OpenSSL: 3 ms of each start.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

KEY = "key"
MAXIMUM_BYTES = 256 << 20
"""Largest entry in bytes; a larger file is not read."""
_CODE, _KEY = 32, 32
_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def digest(parts: Iterable[bytes]) -> str:
    """A digest of parts, each with its length, in hexadecimal."""
    digest = blake2b(digest_size=_CODE)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def directory() -> Path | None:
    """Where things are kept: ``$VISAKIT_CACHE``, or ``visakit`` in the user's cache; None for ``VISAKIT_CACHE=off``."""
    setting = os.environ.get("VISAKIT_CACHE")
    if setting == "off":
        return None
    return Path(setting) if setting else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "visakit"


def private_directory(name: str, create: bool = False) -> Path | None:
    """A folder of the cache directory that only the user can write; None if there cannot be one."""
    try:
        base = directory()
        if base is None:
            return None
        path = base / name
        if create and not path.is_dir():
            base.parent.mkdir(parents=True, exist_ok=True)
            base.mkdir(mode=0o700, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)
        return path if _is_private(base.stat()) and _is_private(path.lstat()) else None
    except (OSError, ValueError, RuntimeError):  # RuntimeError: the user has no home.
        return None


def _is_private(status: os.stat_result, kind: int = stat.S_IFDIR) -> bool:
    """Whether an entry has a kind, belongs to the user, and is closed to other writers, a file to readers, too."""
    if stat.S_IFMT(status.st_mode) != kind:
        return False
    # Windows has no such modes; there a user's folder is private by its place.
    closed = 0o022 if kind == stat.S_IFDIR else 0o077
    return os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & closed)


def contents(path: Path) -> bytes | None:
    """The contents of a private file; None if it is anything else. Links are not followed, FIFOs not waited for."""
    try:
        with os.fdopen(os.open(path, _OPEN), "rb") as stream:
            status = os.fstat(stream.fileno())
            return stream.read() if _is_private(status, stat.S_IFREG) and status.st_size <= MAXIMUM_BYTES else None
    except (OSError, ValueError):
        return None


def _put(path: Path, data: bytes, replace: bool = True) -> None:
    """Write a private file; others see all of it or nothing.

    Raises:
        OSError: it cannot be written, or is there and may not be replaced.
    """
    temporary = path.parent / f".{os.urandom(8).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(temporary, flags, 0o600), "wb") as stream:
        try:
            stream.write(data)
            stream.flush()
            (os.replace if replace else os.link)(temporary, path)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _key(create: bool = False) -> bytes | None:
    """The user's key, made on first use; None if others could know it."""
    base = directory()
    if base is None:
        return None
    if create and not os.path.lexists(base / KEY):
        with contextlib.suppress(OSError):
            _put(base / KEY, os.urandom(_KEY), replace=False)  # The first of several processes makes it.
    key = contents(base / KEY)
    return key if key is not None and len(key) == _KEY else None


def _code(key: bytes, folder: str, name: str, data: bytes) -> bytes:
    """The code that proves that the owner of the key has stored the data under this name."""
    code = blake2b(f"{folder}/{name}\0".encode(), digest_size=_CODE, key=key)
    code.update(data)
    return code.digest()


def read(folder: str, name: str) -> bytes | None:
    """The contents of an entry; None if it is missing, damaged, or others could have written it."""
    path = private_directory(folder)
    data = None if path is None else contents(path / name)
    key = None if data is None else _key()
    if data is None or key is None or _code(key, folder, name, data[_CODE:]) != data[:_CODE]:
        return None
    return data[_CODE:]


def write(folder: str, name: str, data: bytes) -> None:
    """Keep an entry; others see all of it or nothing. A cache that cannot be written is no error."""
    path = private_directory(folder, create=True)
    key = None if path is None else _key(create=True)
    if path is None or key is None:
        return
    with contextlib.suppress(OSError):
        _put(path / name, _code(key, folder, name, data) + data)
