"""Threads that wait for jobs in native code: a run wakes them, and they end it, without Python's lock.

A thread of Python that is woken first waits until the thread that woke it lets go of the lock, and so does the next one
behind it: a tenth of a millisecond for two. So members begin in Python, for the size of their stacks, and stay in the
loop of ``thread_pool.ll``. What they wait at is never given back, as they may wait there when the interpreter ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from time import time
from typing import NamedTuple

import numpy as np
from llvmlite import binding as llvm

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host import native
from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.support.templates import fill
from vsim.launch.arrays import Bytes, Words

LONGEST_WAIT = 1.0
"""Seconds between two looks at the clock in a timed wait, as the system's clock may be set meanwhile."""
LOOKS = 20_000
"""How often a thread that has done its part of a run looks for the end of the others before it sleeps: some twenty
microseconds.
"""
LINGERING_CYCLES = 150_000
"""Of the processor's clock, how long a member that has run a job looks for the next one before it sleeps: some fifty
microseconds, as long as a program takes between two launches in a loop.
"""
WATCHING = 1 << 32
"""What a member counts as that looks for the end of the others: more than there are jobs."""
_LIBRARY = {"sem_wait": "ptr", "sem_post": "ptr", "sem_timedwait": "ptr, ptr", "sched_getcpu": ""}
"""What native code calls of the C library, with the types of its parameters."""


class Functions(NamedTuple):
    """The functions of ``thread_pool.ll``."""

    member: Callable[[int], None]
    run: Callable[[int, int, int, int, int], None]
    join: Callable[[int, int, int, int], None]
    wait: Callable[[int, int], None]


@cache
def functions() -> Functions:
    """The native code of thread pools, loaded once and kept for ever."""
    library = ctypes.CDLL(None)
    for name in _LIBRARY:
        llvm.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    declarations = {name: f"declare i32 @{name}({types})" for name, types in _LIBRARY.items()}
    declarations |= {"cycles": "declare i64 @llvm.readcyclecounter()", "pause": "declare void @llvm.x86.sse2.pause()"}
    numbers = {"looks": LOOKS, "cycles": LINGERING_CYCLES, "watching": WATCHING, "others": WATCHING - 1}
    native.initialize()
    engine = native.loaded([native.compiled(module([fill("thread_pool", "pool", **numbers)], declarations))])
    _keep(engine)
    word = ctypes.c_void_p
    run = (word, word, ctypes.c_uint64, word)
    types = {"member": (word,), "run": (*run, word), "join": run, "await": (word, word)}
    return Functions(*(ctypes.CFUNCTYPE(None, *t)(engine.get_function_address(n)) for n, t in types.items()))


def _keep(value: object) -> None:
    """Keep an object beyond the end of the interpreter."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def _block(size: int) -> Bytes:
    """Zeroed memory that begins at a multiple of 64 and is never given back."""
    raw = np.zeros(size + 64, np.uint8)
    _keep(raw)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]


def _semaphore(place: int) -> None:
    """Make a semaphore of this process at an address, not raised."""
    ctypes.CDLL(None).sem_init(ctypes.c_void_p(place), 0, 0)


class Members(NamedTuple):
    """Addresses of members' structures, and the address of these words."""

    words: Words
    address: int

    @classmethod
    def of(cls, addresses: Sequence[int]) -> Members:
        words = np.array(addresses, np.uint64)
        return cls(words, words.ctypes.data)


class ThreadPool:
    """Threads that one run at a time has for itself: a member for runs of one job, and others for runs of several.

    Args:
        cpus: over which the latter are spread, from another one on in each process. The former goes where there is
            room: it is all that a launch on one thread has, of which several processes may have one each, at the same
            time. Of several threads that are woken one after the other two would begin on one CPU.
    """

    def __init__(self, cpus: Sequence[int]) -> None:
        first = os.getpid() % len(cpus)
        self.cpus = [*cpus[first:], *cpus[:first]]
        self.functions = functions()
        block = _block(cx.POOL_SIZE)
        self.address = block.ctypes.data
        _semaphore(self.address + cx.POOL_ENDED)
        self.words: memoryview[int] = block.data.cast("Q")
        """The pool's structure, for single words, which numpy reads more slowly."""
        self.words[cx.POOL_CPUS // 8] = len(cpus)
        self.single = Members.of([])
        """Where the structure of the member for runs of one job is, if it has begun."""
        self.members = Members.of([])
        """The same of the others."""
        self.until = np.zeros(2, np.int64)
        self.until_at = self.until.ctypes.data

    def size(self, count: int) -> int:
        """How many members there are for runs of so many jobs."""
        return len((self.single if count == 1 else self.members).words)

    def grow(self, count: int) -> None:
        """Have at least so many members for runs of so many jobs.

        Raises:
            RuntimeError: the system does not let this process have so many threads.
        """
        while self.size(count) < count:
            if count == 1:
                self.single = Members.of([self._begun(0, None)])
            else:
                number = len(self.members.words)
                place = self._begun(number, self.cpus[number % len(self.cpus)])
                self.members = Members.of([*self.members.words, place])

    def _begun(self, number: int, cpu: int | None) -> int:
        """Begin a member that takes the job with a number, on a CPU or where there is room; where it is."""
        block = _block(cx.MEMBER_SIZE)
        block.view(np.uint64)[:3] = self.address, number * cx.JOB_SIZE, 0 if cpu is None else cpu
        place = block.ctypes.data
        _semaphore(place + cx.MEMBER_BEGIN)
        threading.Thread(target=self._live, args=(cpu, place), daemon=True).start()
        return place

    def _live(self, cpu: int | None, place: int) -> None:
        if cpu is not None and hasattr(os, "sched_setaffinity") and len(self.cpus) > 1:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, {cpu})
        self.functions.member(place)

    def run(self, jobs: int, count: int, seconds: float | None) -> None:
        """Begin jobs, one on each of so many members, and wait as :meth:`wait` does.

        Args:
            jobs: where they are.
        """
        members = self.single if count == 1 else self.members
        self.functions.run(self.address, members.address, count, jobs, self._limit(seconds))

    def join(self, jobs: int, count: int) -> None:
        """Do one of so many jobs and begin the others, each on a member, and wait until no job is left, or a signal
        comes.
        """
        self.functions.join(self.address, self.members.address, count, jobs)

    def wait(self, seconds: float | None) -> None:
        """Wait until no job is left, a signal comes, or so many seconds are over, of which a few at a time count."""
        self.functions.wait(self.address, self._limit(seconds))

    def _limit(self, seconds: float | None) -> int:
        if seconds is None:
            return 0
        whole, rest = divmod(time() + min(seconds, LONGEST_WAIT), 1)
        self.until[:] = int(whole), int(rest * 1e9)
        return self.until_at
