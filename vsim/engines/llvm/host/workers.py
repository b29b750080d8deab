"""Worker threads that run native code: made once, spread over the CPUs, woken for each launch.

An interrupt may come between any two steps of the thread that waits for a run (Ctrl-C in the main thread). So the
workers themselves count the jobs that still run, and a thread that leaves a run early ends it first.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from visakit.diagnostics import Diagnostic, LaunchError, Span
from visakit.language.program import Function
from vsim.engines.llvm.abi import POOL_LEFT
from vsim.engines.llvm.host.shutdown import ProcessEndsError, may_begin

if TYPE_CHECKING:
    from vsim.engines.llvm.host.thread_pool import ThreadPool

STACK_BYTES = 256 << 20
MAXIMUM_DEPTH = 1000
"""How deep calls of functions may be nested."""
NESTED_BYTES = 160 << 20
"""Bytes of stack that nested calls may take before the next one is refused."""
LARGEST_FRAME = 16 << 20
"""Bytes of variables of one function. Two frames of twice as much fit behind nested calls."""
CALLERS_FRAME = 1 << 20
"""Bytes of variables for which the stack of the caller's thread has room."""
LOOK_SECONDS = 0.05
"""How long jobs run between two looks whether better code is ready."""
SETTLE_SECONDS = 0.01
"""How long one who ends a run waits before it is told to stop once more."""
_LEFT = POOL_LEFT // 8

Kept = TypeVar("Kept", covariant=True)


class Jobs(NamedTuple):
    """Native functions and what each is called with (:data:`vsim.engines.llvm.abi.JOB_CODE`)."""

    address: int
    size: int
    with_caller: bool = False
    """Whether the thread that waits for them may do one of them: they soon end, and need no large stack."""


class Run(Generic[Kept]):
    """Jobs that run side by side.

    Args:
        jobs: the jobs.
        stop: tells running jobs to end soon.
        keep: what must live as long as one of them runs.
        look: asked from time to time whether they shall end.
    """

    def __init__(
        self, jobs: Jobs, stop: Callable[[], None], keep: Kept, look: Callable[[], bool] | None = None
    ) -> None:
        self.jobs, self.stop, self.keep, self.look = jobs, stop, keep, look
        self.was_overtaken = False
        """Whether they were told so."""
        self.closed = False
        """No job begins any more."""
        self.pool: ThreadPool | None = None
        """The pool that runs them, once it is chosen; it serves no other run until this one is over."""
        self.process = os.getpid()
        self.is_abandoned = False
        """Stop: the process ends, and needs no results."""

    @property
    def left(self) -> int:
        """Not 0 as long as jobs are under way."""
        return 0 if self.pool is None else self.pool.words[_LEFT]

    @property
    def over(self) -> bool:
        """Whether no job runs, and none will."""
        return self.closed and not self.left

    def work(self, max_seconds: float | None) -> bool:
        """Run the jobs to their end; False if they were stopped because time was up.

        Raises:
            ProcessEndsError: they were stopped because the process ends.
        """
        assert self.pool is not None
        end = None if max_seconds is None else monotonic() + max_seconds
        in_time = True
        jobs = self.jobs
        if jobs.with_caller and end is None and self.look is None:
            self.pool.join(jobs.address, jobs.size)
        else:
            self.pool.run(jobs.address, jobs.size, max_seconds if self.look is None else LOOK_SECONDS)
        while self.left:
            left = None if end is None else end - monotonic()
            if left is not None and left <= 0:
                in_time, end, left = False, None, None
                self.stop()
            if self.look is not None and not self.was_overtaken and self.look():
                self.was_overtaken = True
                self.stop()
            self.pool.wait(left if self.look is None else min(LOOK_SECONDS, LOOK_SECONDS if left is None else left))
        self.closed = True
        if self.is_abandoned:
            raise ProcessEndsError
        return in_time

    def abandon(self) -> None:
        """The process ends: jobs are told to end, and the thread that waits for them learns why."""
        self.is_abandoned = True
        self.stop()

    def settle(self) -> None:
        """End it: when this returns no job runs, and none will. Interrupts are raised again afterwards."""
        if os.getpid() != self.process:
            return  # A fork leaves the threads behind.
        interrupt: BaseException | None = None
        while not self.over:
            try:
                self.closed = True
                self.stop()
                if self.pool is not None:
                    self.pool.wait(SETTLE_SECONDS)
            except BaseException as caught:
                interrupt = caught
        if interrupt is not None:
            raise interrupt


def frame_bytes(function: Function) -> int:
    """Bytes of the variables of a function: the size of its frame without the compiler's additions."""
    return sum(v.size for v in function.variables if v.alias is None)


class WorkerPools:
    """Pools of threads with large stacks, for recursion in kernels: one for each concurrent run."""

    def __init__(self) -> None:
        self.choosing = threading.RLock()
        """Its holder may take it again: if an interrupt came before it was given back, the next run must not wait."""
        self.pools: list[tuple[ThreadPool, list[Run[object]]]] = []
        """With the run that each works at, if any."""
        try:
            self.cpus = sorted(os.sched_getaffinity(0))
        except AttributeError:
            self.cpus = list(range(os.cpu_count() or 1))

    def forget_workers(self) -> None:
        """In a forked process, which has none of the threads: new ones are made when they are wanted."""
        self.choosing = threading.RLock()
        self.pools = []

    def _hire(self, run: Run[object]) -> None:
        """Give a run an idle pool that is large enough.

        Raises:
            ProcessEndsError: another thread ends the process.
        """
        with self.choosing:
            if not may_begin():
                raise ProcessEndsError
            for idle, works_at in self.pools:
                if not works_at or works_at[0].over:
                    pool = idle
                    break
            else:
                from vsim.engines.llvm.host.thread_pool import ThreadPool

                pool, works_at = ThreadPool(self.cpus), []
                self.pools.append((pool, works_at))
            works_at[:] = [run]
            if pool.size(run.jobs.size) < run.jobs.size:
                _grow(pool, run.jobs.size)
            run.pool = pool

    def abandon(self) -> None:
        """Stop all runs, after the process has begun to end, so that threads of the program leave them."""
        with self.choosing:
            for _, works_at in self.pools:
                for run in works_at:
                    run.abandon()

    def _dismiss(self, run: Run[object]) -> None:
        """Forget a run that is over."""
        with self.choosing:
            for _, works_at in self.pools:
                if works_at and works_at[0] is run and run.over:
                    works_at.clear()

    def run(self, run: Run[object], max_seconds: float | None) -> bool:
        """Run jobs side by side; False if they were stopped because time was up.

        Ctrl-C stops them and is raised again.
        """
        try:
            self._hire(run)
            return run.work(max_seconds)
        except BaseException:
            run.settle()
            raise
        finally:
            self._dismiss(run)


def _grow(pool: ThreadPool, count: int) -> None:
    """Make a pool larger.

    Raises:
        LaunchError: S002, the system does not let this process have so many threads.
    """
    previous = threading.stack_size(STACK_BYTES)
    try:
        pool.grow(count)
    except RuntimeError:
        message = f"a launch wants {count} worker threads, the system lets this process have {pool.size(count)}"
        raise LaunchError(Diagnostic("S002", message, Span("<launch>", 0), "ask for fewer with 'threads'")) from None
    finally:
        threading.stack_size(previous)


POOL = WorkerPools()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.forget_workers)


def default_threads() -> int:
    """One worker for each CPU that this process may use."""
    return len(POOL.cpus)
