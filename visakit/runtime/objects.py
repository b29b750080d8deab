"""Objects of the program: handles, and counts of their references.

A handle is the address of a few bytes that begin with the address of the dispatch table, where the ICD loader looks. A
word for the state follows, which C waits on, the number of threads that do, and whether C keeps facts about the object.
Python looks no object up in the memory of a handle: it knows all live ones. The loader reads it, also after the program
has released the object: the bytes keep their contents, and another object gets them some thousands of objects later.
"""

from __future__ import annotations

import collections
import ctypes
import itertools
import mmap
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import ClassVar, Self

from visakit.forks import free_in_child
from visakit.runtime import cl, host
from visakit.runtime.errors import CallError, require

_ALIVE: weakref.WeakValueDictionary[int, ApiObject] = weakref.WeakValueDictionary()
_HELD: dict[int, ApiObject] = {}
"""Objects that the program holds. Other objects live as long as the driver refers to them."""
_NUMBERS: dict[str, itertools.count[int]] = {}
_CALL = threading.local()
_dispatch_table = 0
_CELL = 32
_CELLS = 1024
"""Cells that are made at once, and released ones that wait before one of them is used again."""
_ROOM = 64 << 20
"""Bytes for handles. They stay: the program may release an object after Python has freed all Python memory."""
_library = ctypes.CDLL(None)
_library.mmap.restype = ctypes.c_void_p
_library.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
]  # fmt: skip
_taken = 1
_free: collections.deque[int] = collections.deque()
_MAKING = free_in_child(threading.RLock())


def set_dispatch_table(address: int) -> None:
    """Where the table of functions is that every handle begins with."""
    global _dispatch_table
    _dispatch_table = address


@cache
def cells() -> range:
    """The addresses that handles may have."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    start = _library.mmap(None, _ROOM, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    if start is None or start == ctypes.c_void_p(-1).value:
        raise MemoryError
    return range(start, start + _ROOM, _CELL)


def _take_cell() -> int:
    """The address of bytes for a handle."""
    global _taken
    with _MAKING:
        if len(_free) <= _CELLS:
            fresh = cells()[_taken : _taken + _CELLS]
            _taken += len(fresh)
            _free.extendleft(reversed(fresh))
            if not _free:
                raise MemoryError
        cell = _free.popleft()
    host.write(cell, _dispatch_table.to_bytes(8, "little") + bytes(_CELL - 8))
    return cell


PENDING, DONE, ASK = 1, 2, 0
"""The state of an object that the program waits for: it is to come, it has come, or only Python knows."""
_FUTEX, _WAKE_ALL = 202, 129
"""The system's call for threads that wait on a word, and its operation (x86-64)."""


class ApiState:
    """The state of an object as C sees it, so that threads wait without Python's lock."""

    def __init__(self, handle: int) -> None:
        self._word = ctypes.c_uint32.from_address(handle + 8)
        self._waiters = ctypes.c_uint32.from_address(handle + 12)

    def set(self, state: int) -> None:
        """Change it, and wake the threads that wait for it."""
        self._word.value = state
        if self._waiters.value:
            _library.syscall(_FUTEX, ctypes.byref(self._word), _WAKE_ALL, 0x7FFF_FFFF, None, None, 0)


def tell_busy(count: int) -> None:
    """Let C see how many queues have commands: their threads may want Python's lock (``visakit/opencl/lending.c``)."""
    host.write_u32(cells().start, count)


def note_call(name: str) -> None:
    """Remember which function the program is calling in this thread."""
    _CALL.name = name


def current_call() -> str:
    """The function that the program is calling in this thread."""
    return str(getattr(_CALL, "name", "the driver"))


class ApiObject:
    """Base of platforms, devices, contexts, queues, memory, samplers, programs, kernels and events.

    Attributes:
        handle: its address for the program.
        number: its number among the objects of its kind in the process, for messages.
        references: how often the program holds it.
    """

    invalid: ClassVar[int]
    """The status of calls that take it, and get something else."""
    title: ClassVar[str]

    def __init__(self) -> None:
        self.handle = _take_cell()
        weakref.finalize(self, _free.append, self.handle).atexit = False
        self.number = next(_NUMBERS.setdefault(self.title, itertools.count(1)))
        self.references = 1
        _ALIVE[self.handle] = self
        _HELD[self.handle] = self

    @classmethod
    def find(cls, handle: int) -> Self:
        """The object of a handle.

        Raises:
            CallError: it is no object of this class.
        """
        item = _ALIVE.get(handle)
        if not isinstance(item, cls):
            raise CallError(cls.invalid, f"{handle:#x} is no {cls.title}")
        return item

    @classmethod
    def find_all(cls, address: int, count: int) -> list[Self]:
        """The objects of an array of handles."""
        return [cls.find(handle) for handle in host.read_sizes(address, count)]

    def retain(self) -> None:
        """One more holds it."""
        self.references += 1
        _HELD[self.handle] = self

    def release(self) -> None:
        """One fewer holds it; with the last it goes, unless the driver needs it."""
        require(self.references > 0, self.invalid, f"the {self.title} is held no more")
        self.references -= 1
        if not self.references:
            self.is_gone()
            _HELD.pop(self.handle, None)

    def is_gone(self) -> None:
        """The program holds it no more."""

    def at_end(self, function: Callable[[], None]) -> None:
        """Register a destructor."""
        weakref.finalize(self, function).atexit = False


def give_handles(objects: Sequence[ApiObject], count: int, target: int, count_ret: int) -> None:
    """Write an array of handles and how many there are, as far as the program asks.

    Raises:
        CallError: it asks for neither, or for an array without elements.
    """
    require(target or count_ret, cl.CL_INVALID_VALUE, "nothing is asked for")
    require(count or not target, cl.CL_INVALID_VALUE, "the array has no elements")
    if target:
        host.write(target, host.pack_sizes([o.handle for o in objects[:count]]))
    host.write_u32(count_ret, len(objects))
