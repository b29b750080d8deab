"""The end of the process, and of Python in it: programs also call during it, to release objects.

Programs keep objects of OpenCL in static variables and in libraries, whose destructors release them after ``main`` has
returned; at this time their threads may wait in a call. Python is finalised by then, if the program is one in Python,
and the C library destroys LLVM's static variables. So every call passes a gate (in C: visakit/opencl/library.c.in).

After Python begins to finalise, no call enters it:

* A call first counts itself as entering, then checks whether Python runs, then takes Python's lock, then is entering no
more. Python reports that it does not run as soon as only the finalising thread may have the lock. A call that sees this
is refused.
* A call that has looked before wants the lock, and Python ends its thread for that (3.14 lets it sleep). The thread has
  frames of the program, so that it is parked instead: it sleeps until the process ends. So do threads that waited in a
  call, or ran a kernel, when they want the lock again.
* Python frees the thread states that taking the lock uses after all other parts of the interpreter: the last object but
one belongs to the library. Its destructor waits until no call is entering, and closes the gate for good. Each entering
call is refused or parked within milliseconds (a thread waits this long for the lock before it checks again).

If Python does not end with the program (the driver started it), a function of ``atexit`` closes the gate. It is
registered as soon as LLVM is loaded, by the call that queues the first kernel, and once more after the first execution:
so it runs before the functions that LLVM has registered. From then on no thread begins work in LLVM, running threads
are waited for, threads that wait for commands return with a status, and queues run nothing more. Native launches are
stopped: a thread that waits for a command may run it itself, and the program may join this thread. In a program in
Python, a function of Python's ``atexit`` does the same for LLVM.

Refused calls: releases succeed, as the memory goes with the process, and so do waits for events whose commands are
complete, and questions about devices of a context and the platform of a device that the program has asked before. All
others return CL_OUT_OF_RESOURCES.

A fork that is not Python's does the work of Python's fork, so that the child can take Python's lock, and ends as its
parent does. Commands that are not over at a fork belong to the parent, whose threads run them. In the child they end
with CL_OUT_OF_RESOURCES, so that no thread waits for them there.
"""

from __future__ import annotations

import atexit
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from visakit.runtime import debugging, events, profiling
from visakit.runtime.settings import debug_request, engine
from vsim.engines.llvm.host import shutdown
from vsim.engines.llvm.host.workers import POOL


class Gate(Protocol):
    """The functions of the library that this uses."""

    def visakit_watch_end(self) -> int:
        """Register Python's function for the end of the process, which runs before all functions registered earlier."""

    def visakit_watch_interpreter(self) -> int:
        """Let the end of the interpreter close the gate."""

    def visakit_python_forks(self, now: int) -> None:
        """Say whether Python itself forks."""


_waiting: list[Callable[[], int]] = []
"""Functions that are called before and after the first execution."""


def watch(gate: Gate, define: Callable[[Callable[[], None]], None]) -> None:
    """Register functions for all ends.

    Args:
        define: registers a function that the library calls at the end of the process.
    """
    define(_process_ends)
    gate.visakit_watch_interpreter()
    atexit.register(shutdown.end)
    atexit.register(debugging.process_ends)
    atexit.register(profiling.process_ends)
    _waiting[:] = [gate.visakit_watch_end, gate.visakit_watch_end]
    os.register_at_fork(
        before=lambda: gate.visakit_python_forks(1), after_in_parent=lambda: gate.visakit_python_forks(0),
        after_in_child=lambda: gate.visakit_python_forks(0),
    )  # fmt: skip


def leave_interrupts() -> None:
    """Let an interrupt end a program that does not contain Python, as it does without the driver.

    Python's start has installed a handler, which only marks the interrupt until Python runs again. Under the debugger
    it stays: an interrupt stops the launch there.
    """
    if debug_request() is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _process_ends() -> None:
    debugging.process_ends()
    profiling.process_ends()
    events.let_go()
    shutdown.end()
    POOL.abandon()


def load() -> None:
    """Load LLVM, if it is used, and register the function for the end of the process after it.

    The call that queues a kernel loads it: the program could end while a thread of the queue loads it. The functions
    that LLVM has registered by then would run before the gate closes, and the thread would use destroyed variables.
    """
    if len(_waiting) < 2:
        return
    if engine() == "llvm":
        with suppress(ImportError, OSError, shutdown.ProcessEndsError), shutdown.in_llvm():  # The launch fails.
            from vsim.engines.llvm.host import native

            native.initialize()
    _watch_once()


@contextmanager
def watched() -> Iterator[None]:
    """Context of an execution: LLVM, if it is used, is loaded before and after it."""
    load()
    yield
    _watch_once()


def _watch_once() -> None:
    if _waiting:
        _waiting.pop()()
