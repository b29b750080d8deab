"""Entries of the user's cache that are damaged, forged, of other modes or no files at all: none is believed.

An input is JSON: the kind of the entry, and the changes of the directory, in order. A later read returns the
entry as it was saved, or none. In any state of the directory texts assemble and kernels run as without it.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np

import visakit
import vsim
from fuzz.mutation import mutate_bytes
from fuzz.target import SMALL_KERNEL, Finding, Target
from visakit import object_cache as objects
from visakit.text import tables

KEPT = b"code that would be executed" * 8
SMALL = 1 << 20
NAMES = ("", "key", "objects", "objects/a.o", "grammar")


def _swap(path: Path, source: random.Random) -> None:
    """Another entry in place of this one."""
    objects.save("b", b"other")
    if path.is_file() and path.stat().st_size < SMALL:
        shutil.copy(path.parent.parent / "objects" / "b.o", path)


def _foreign(path: Path, source: random.Random) -> None:
    """An entry of another key."""
    base = Path(os.environ["VISAKIT_CACHE"])
    with mock.patch.dict(os.environ, VISAKIT_CACHE=f"{base}-other"):
        objects.save("a", b"evil code")
    kept = (Path(f"{base}-other") / "objects" / "a.o").read_bytes()
    with contextlib.suppress(OSError):
        if not (base / "objects" / "a.o").is_fifo():
            (base / "objects" / "a.o").write_bytes(kept)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _place(path: Path, put: Callable[[Path], object]) -> None:
    """Something else where the path was."""
    _remove(path)
    with contextlib.suppress(OSError):  # The directory above may be gone.
        put(path)


def _changed(path: Path, source: random.Random) -> None:
    if path.is_file() and path.stat().st_size < SMALL:
        path.write_bytes(mutate_bytes(source, path.read_bytes()))


def _linked(path: Path, source: random.Random) -> None:
    if path.exists():
        moved = path.with_name(f"{path.name}-{source.randrange(1000)}")
        path.rename(moved)
        path.symlink_to(moved)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(path))


def _mode(path: Path, source: random.Random) -> None:
    if path.exists() and not path.is_symlink():
        path.chmod(source.choice((0o777, 0o666, 0o000, 0o644, 0o770, 0o400, 0o600, 0o700, 0o4755)))


def _owner(path: Path, source: random.Random) -> None:
    if path.exists() and not path.is_symlink() and os.geteuid() == 0:
        os.chown(path, source.choice((12345, 0)), -1)


CHANGES: dict[str, Callable[[Path, random.Random], None]] = {
    "change": _changed,
    "cut": lambda p, s: os.truncate(p, s.randrange(p.stat().st_size + 1)) if p.is_file() else None,
    "grow": lambda p, s: os.truncate(p, p.stat().st_size + 9) if p.is_file() else None,
    "large": lambda p, s: os.truncate(p, 1 << 32) if p.is_file() else None,
    "swap": _swap,
    "foreign": _foreign,
    "mode": _mode,
    "owner": _owner,
    "link": _linked,
    "dangle": lambda p, s: _place(p, lambda q: q.symlink_to("nowhere")),
    "loop": lambda p, s: _place(p, lambda q: q.symlink_to(q.name)),
    "fifo": lambda p, s: _place(p, lambda q: os.mkfifo(q, 0o600)),
    "socket": lambda p, s: _place(p, _socket),
    "folder": lambda p, s: _place(p, lambda q: q.mkdir(mode=0o700)),
    "file": lambda p, s: _place(p, lambda q: q.write_bytes(s.randbytes(40))),
    "device": lambda p, s: _place(p, lambda q: q.symlink_to("/dev/zero")),
    "remove": lambda p, s: _remove(p),
}


def make(seed: int) -> bytes:
    """The input of a seed."""
    source = random.Random(f"cache {seed}")
    steps = [[source.choice(list(CHANGES)), source.choice(NAMES)] for _ in range(source.choice((1, 1, 2, 3)))]
    return json.dumps({"seed": seed, "steps": steps, "use": seed % 10 == 0}).encode()


def check(data: bytes) -> str:
    """Change a cache, and read it. ``large`` files are sparse; to read one takes more memory than there is."""
    given = json.loads(data)
    source = random.Random(given["seed"])
    with (
        tempfile.TemporaryDirectory(prefix="visakit-fuzz-cache-") as folder,
        mock.patch.dict(os.environ, VISAKIT_CACHE=f"{folder}/c"),
    ):
        base = Path(folder) / "c"
        objects.save("a", KEPT)
        if given["use"]:
            visakit.assemble(SMALL_KERNEL)
        for change, name in given["steps"]:
            with contextlib.suppress(OSError):  # A step may find nothing that it could change.
                CHANGES[change](base / name if name else base, source)
        found = objects.load("a")
        if found not in (None, KEPT):
            raise Finding(f"an entry was read that was never saved: {found[:40]!r}")
        objects.save("c", KEPT)
        if objects.load("c") not in (None, KEPT):
            raise Finding("an entry that was saved afterwards is read with other contents")
        if given["use"]:
            _use()
        for path in [base, *base.rglob("*")] if base.is_dir() else []:
            if not path.is_symlink():
                path.chmod(0o700)  # so that it can be removed
    return "refused" if found is None else "accepted"


def _use() -> None:
    """Assemble and run with the cache in its present state, without tables in memory."""
    for forget in (getattr(tables, name) for name in vars(tables)):
        if hasattr(forget, "cache_clear"):
            forget.cache_clear()
    out = np.zeros(8, "u4")
    program = vsim.load(visa_image())
    program.launch("k", 8, 8, [out], threads=1)
    if out.tolist() != [5] * 8:
        raise Finding(f"a kernel ran otherwise than it should: {out}")


def visa_image() -> bytes:
    """A small image."""
    from vlink import link

    return link([visakit.assemble(SMALL_KERNEL)]).to_bytes()


TARGETS = [Target("cache", "entries of the cache, damaged and forged", make, check, 500)]
