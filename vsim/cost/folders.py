"""The files of a folder that may have vISA in them, such as the dumps of Intel's compiler."""

from __future__ import annotations

import contextlib
import os
import stat
import struct
from collections.abc import Iterator

from visakit.diagnostics import CostError, Diagnostic, FileError, Span
from visakit.file_kinds import HEAD_BYTES, is_visa_text
from visakit.files import open_regular
from visakit.objects.archive import ARCHIVE
from visakit.objects.elf import EM_INTELGT, EM_NONE

MOST_FILES = 100_000
"""Files of a folder that are looked at; dumps of thousands of kernels have fewer."""
_INLINE = ".inline.visaasm"
"""The texts that the compiler hands to its own parser; the same kernels are in the other dumps."""
_MOUNTS = "/proc/self/mounts"
_STATE = frozenset({
    "autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs",
    "fusectl", "mqueue", "proc", "pstore", "securityfs", "sysfs", "tracefs",
})  # fmt: skip
"""File systems of Linux that show the state of the system, without end."""


def files_with_visa(folder: str) -> list[str]:
    """The files in a folder and those below that begin as vISA texts, objects, images and program binaries do.

    Files that cannot be read are among them.

    Raises:
        CostError: Q003, the folder shows the state of the system.
        FileError: F002, there are more than :data:`MOST_FILES` files; F001, the folder cannot be read.
    """
    found = list(_files(folder))
    return [path for path in found if not path.endswith(_INLINE) and _may_have_visa(path)]


def _files(folder: str) -> Iterator[str]:
    """The files of a folder, in order; those of folders that show the state of the system are left out."""
    devices, count = _state_devices(), 0
    if kind := devices.get(_device(folder)):
        message = f"the folder shows the state of the system ({kind})"
        raise CostError(Diagnostic("Q003", message, Span(folder, 0), "name a folder of dumps"))
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if _device(os.path.join(here, name)) not in devices)
        count += len(names)
        if count > MOST_FILES:
            message = f"the folder has more than {MOST_FILES:,} files"
            raise FileError(Diagnostic("F002", message, Span(folder, 0), "name a folder of dumps"))
        yield from (os.path.join(here, name) for name in sorted(names))


def _device(folder: str) -> int:
    """The number of a folder's device; -1 where it cannot be asked for."""
    try:
        return os.lstat(folder).st_dev
    except (OSError, ValueError):
        return -1


def _state_devices() -> dict[int, str]:
    """The kinds of mounted file systems that show the state of the system, by device."""
    found: dict[int, str] = {}
    with contextlib.suppress(OSError), open(_MOUNTS, "rb") as stream:
        for line in stream:
            _, place, kind, *_ = line.split(b" ")
            if kind.decode() in _STATE:
                found[_device(os.fsdecode(place.decode("unicode_escape").encode("latin-1")))] = kind.decode()
    found.pop(-1, None)
    return found


def _may_have_visa(path: str) -> bool:
    """Whether a file begins as files with vISA do; so does one that cannot be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open_regular(path) as stream:
            return begins_with_visa(stream.read(HEAD_BYTES))
    except FileNotFoundError:
        return False  # a link that leads nowhere
    except OSError:
        return True


def begins_with_visa(head: bytes) -> bool:
    """Whether bytes begin as a vISA text, an object, an image, a program binary or a module does."""
    if head[:4] == b"\x7fELF":
        return len(head) >= 20 and struct.unpack_from("<H", head, 18)[0] in (EM_INTELGT, EM_NONE)
    if head.startswith(ARCHIVE):
        return head[len(ARCHIVE) : len(ARCHIVE) + 1] != b"/"  # A library of objects begins with its symbols.
    return head[:4] == b"CISA" or is_visa_text(head)
