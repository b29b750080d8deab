"""Memory of the process at an address that was chosen before, which kernels and the program know by the same number."""

from __future__ import annotations

import ctypes
import errno
import mmap
from dataclasses import dataclass, field
from functools import cache

from visakit.runtime import cl
from visakit.runtime.objects import ApiObject
from visakit.runtime.order import Turn
from vsim.memory.memory import PAGE, Buffer

_FIXED = 0x100000
"""``MAP_FIXED_NOREPLACE``: there or not at all."""
_REPLACE = 0x10
"""``MAP_FIXED``: replaces the mappings at the address."""
ADDRESSES = 1 << 47
"""Where addresses of a process end."""


@dataclass(frozen=True, eq=False)
class Shared:
    """An allocation.

    Attributes:
        size: in bytes; with whole pages, kernels may write more of the buffer.
        kind: Intel's number for host, device or shared memory; unknown for SVM.
        mapped: accesses of the program to mapped parts, by the address of the part.
    """

    buffer: Buffer
    size: int
    kind: int
    flags: int
    device: ApiObject | None
    mapped: dict[int, list[Turn]] = field(default_factory=dict)

    @property
    def is_fine(self) -> bool:
        """Whether the program may use it without mapping it."""
        return bool(self.flags & cl.CL_MEM_SVM_FINE_GRAIN_BUFFER) or self.kind != cl.CL_MEM_TYPE_UNKNOWN_INTEL

    @property
    def address(self) -> int:
        """Its address for the program and kernels."""
        return self.buffer.address


class _System:
    """The functions of the system that map memory at an address."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        self.map, self.unmap, self.core = library.mmap, library.munmap, library.mincore
        self.map.restype = ctypes.c_void_p
        self.map.argtypes = [
            ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
        ]  # fmt: skip
        self.unmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.core.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]


def readable(size: int) -> int:
    """Readable bytes of an allocation of a size: a device maps whole pages."""
    return -(-size // PAGE) * PAGE


@cache
def _system() -> _System:
    return _System()


def map_memory(address: int, size: int) -> bool:
    """Map memory at an address; False if there is some already.

    Raises:
        MemoryError: the system has none left.
    """
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _FIXED
    mapped = _system().map(address, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    if mapped == ctypes.c_void_p(-1).value:
        if ctypes.get_errno() != errno.EEXIST:
            raise MemoryError
    elif mapped is not None and mapped != address:
        _system().unmap(mapped, size)  # An old system, which takes the address for a wish.
    return bool(mapped == address)


def is_mapped(address: int, size: int) -> bool:
    """Whether the process has memory at the first and the last byte of a range below ``ADDRESSES``."""
    pages = {place // mmap.PAGESIZE * mmap.PAGESIZE for place in (address, address + size - 1)} if size else set()
    answer = ctypes.create_string_buffer(1)
    return not any(_system().core(page, 1, answer) and ctypes.get_errno() == errno.ENOMEM for page in pages)


def map_file(address: int, size: int, file: int, offset: int) -> bool:
    """Whether a part of a file could be mapped over memory that is mapped at an address."""
    flags = mmap.MAP_SHARED | _REPLACE
    mapped = _system().map(address, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, file, offset)
    return bool(mapped == address)


def map_zeros(address: int, size: int) -> bool:
    """Whether zeros could be mapped over memory that is mapped at an address."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _REPLACE
    return bool(_system().map(address, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0) == address)


def unmap_memory(address: int, size: int) -> None:
    """Give memory back that was mapped."""
    _system().unmap(address, size)


def free_all(shared: dict[int, Shared]) -> None:
    """Free the remaining allocations of a context that is destroyed."""
    while shared:
        _, allocation = shared.popitem()
        unmap_memory(allocation.address, allocation.buffer.room)
