"""Worker threads that run native code: made once, spread over the CPUs, woken for each launch.

An interrupt may come between any two steps of the thread that waits for a run (Ctrl-C in the main thread). So what
decides whether code still runs is counted by the workers, and whoever leaves a run early ends it first.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Generic, TypeVar

from visa.diagnostics import Diagnostic, LaunchError, Span
from visa.program import Function

STACK_BYTES = 256 << 20
MAXIMUM_DEPTH = 1000
"""How deep calls of functions may be nested."""
NESTED_BYTES = 160 << 20
"""Bytes of stack that nested calls may take before the next one is refused."""
LARGEST_FRAME = 16 << 20
"""Bytes of variables of one function. Two frames of twice as much fit behind nested calls."""
CALLERS_FRAME = 1 << 20
"""Bytes of variables for which the stack of the caller's thread has room."""
SETTLE_SECONDS = 0.01
"""How long one waits for a message that may have been lost before one looks again."""


Kept = TypeVar("Kept", covariant=True)


class Run(Generic[Kept]):
    """Jobs that run side by side.

    Args:
        stop: tells running jobs to end soon.
        keep: what must live as long as one of them runs.
    """

    def __init__(self, jobs: Sequence[Callable[[], object]], stop: Callable[[], None], keep: Kept) -> None:
        self.jobs, self.stop, self.keep = jobs, stop, keep
        self.lock = threading.Lock()
        self.closed = False
        """No further job begins."""
        self.active = 0
        self.left = len(jobs)
        self.errors: list[BaseException] = []
        self.ended: SimpleQueue[None] = SimpleQueue()
        """Gets something when no job is left, or none is active in a closed run."""
        self.process = os.getpid()

    def work(self, number: int) -> None:
        """Run one of the jobs, in a worker."""
        with self.lock:
            if self.closed:
                return
            self.active += 1
        error: BaseException | None = None
        try:
            self.jobs[number]()
        except BaseException as caught:
            error = caught
        with self.lock:
            if error is not None:
                self.errors.append(error)
            self.active -= 1
            self.left -= 1
            last = not self.left or (self.closed and not self.active)
        if last:
            self.ended.put(None)

    def wait(self, max_seconds: float | None) -> bool:
        """Wait until all jobs have ended; False if they were stopped because time was up."""
        end = None if max_seconds is None else monotonic() + max_seconds
        in_time = True
        while self.left:
            try:
                left = None if end is None else min(max(0.0, end - monotonic()), threading.TIMEOUT_MAX)
                self.ended.get(timeout=left)
            except Empty:
                in_time, end = False, None
                self.stop()
        return in_time

    def settle(self) -> None:
        """End it: when this returns no job runs, and none will. Interrupts are raised again afterwards."""
        if os.getpid() != self.process:
            return  # A fork leaves the threads behind.
        interrupt: BaseException | None = None
        while not self.closed or self.active:
            try:
                with self.lock:
                    self.closed = True
                self.stop()
                with contextlib.suppress(Empty):
                    self.ended.get(timeout=SETTLE_SECONDS)
            except BaseException as caught:
                interrupt = caught
        if interrupt is not None:
            raise interrupt


def frame_bytes(function: Function) -> int:
    """Bytes of the variables of a function, which its frame has at most besides what the compiler adds."""
    return sum(v.size for v in function.variables if v.alias is None)


Task = tuple[Run[object], int]


class Pool:
    """Threads with large stacks, for recursion in kernels."""

    def __init__(self) -> None:
        self.growing = threading.Lock()
        self.queues: list[SimpleQueue[Task]] = []
        """Of each worker, which has begun."""
        try:
            self.cpus = sorted(os.sched_getaffinity(0))
        except AttributeError:
            self.cpus = list(range(os.cpu_count() or 1))

    def forget_workers(self) -> None:
        """In a forked process, which has none of the threads: new ones are made when they are wanted."""
        self.growing = threading.Lock()
        self.queues = []

    def _worker(self, number: int, queue: SimpleQueue[Task]) -> None:
        if hasattr(os, "sched_setaffinity") and len(self.cpus) > 1:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, {self.cpus[number % len(self.cpus)]})
        while True:
            run, job = queue.get()
            run.work(job)
            del run

    def _grow(self, count: int) -> None:
        previous = threading.stack_size(STACK_BYTES)
        try:
            while len(self.queues) < count:
                queue: SimpleQueue[Task] = SimpleQueue()
                threading.Thread(target=self._worker, args=(len(self.queues), queue), daemon=True).start()
                self.queues.append(queue)
        except RuntimeError:
            message = f"a launch wants {count} worker threads, the system lets this process have {len(self.queues)}"
            raise LaunchError(
                Diagnostic("S002", message, Span("<launch>", 0), "ask for fewer with 'threads'")
            ) from None
        finally:
            threading.stack_size(previous)

    def run(self, run: Run[object], max_seconds: float | None) -> bool:
        """Run jobs side by side; False if they were stopped because time was up.

        Ctrl-C stops them and is raised again.
        """
        try:
            if len(self.queues) < len(run.jobs):
                with self.growing:
                    self._grow(len(run.jobs))
            for number, queue in enumerate(self.queues[: len(run.jobs)]):
                queue.put((run, number))
            in_time = run.wait(max_seconds)
        except BaseException:
            run.settle()
            raise
        if run.errors:
            raise run.errors[0]
        return in_time


POOL = Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.forget_workers)


def default_threads() -> int:
    """One worker for each CPU that this process may use."""
    return len(POOL.cpus)
