"""Compiled code on disk: files named by a digest of everything that the code depends on, checked when read, bounded in
number of bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from visa.cache import directory

LIMIT_BYTES = 256 << 20
_MAGIC = b"visakit-object-1\n"


def _sources() -> bytes:
    """Size and time of every source file that shapes the code: an edited tree never uses old objects."""
    simulator = Path(__file__).parents[2]
    language = simulator.parent / "visa"
    folders = [folder for folder, _, _ in os.walk(simulator)] + [language, language / "isa", language / "cisa"]
    rows = []
    for folder in folders:
        for entry in sorted(os.scandir(folder), key=lambda e: e.name):
            if entry.name.endswith((".py", ".ll")):
                status = entry.stat()
                rows.append(f"{entry.name}:{status.st_size}:{status.st_mtime_ns}")
    return "\n".join(rows).encode()


_SOURCES: bytes | None = None


def key(*parts: object) -> str:
    """A digest of the parts and of the sources."""
    global _SOURCES
    if _SOURCES is None:
        _SOURCES = _sources()
    digest = hashlib.sha256(_SOURCES)
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def load(name: str) -> bytes | None:
    """An object by its key, or None if it is absent or damaged."""
    base = directory()
    if base is None:
        return None
    path = base / f"{name}.o"
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head, function = data[: len(_MAGIC) + 32], data[len(_MAGIC) + 32 :]
    if head != _MAGIC + hashlib.sha256(function).digest():
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return function


def save(name: str, function: bytes) -> None:
    """Keep an object; other processes see all of it or nothing. A cache that cannot be written is no error."""
    base = directory()
    if base is None:
        return
    import tempfile

    with contextlib.suppress(OSError):
        base.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=base, suffix=".tmp")
        with os.fdopen(handle, "wb") as f:
            f.write(_MAGIC + hashlib.sha256(function).digest() + function)
        os.replace(temporary, base / f"{name}.o")
        _trim(base)


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
