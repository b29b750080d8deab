"""Worker threads that run native code: made once, spread over the CPUs, woken for each launch."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue

STACK_BYTES = 256 << 20
# What to run, and where to say that it ended (with its error).
Job = tuple[Callable[[], object], "SimpleQueue[BaseException | None]"]


class Pool:
    """Threads with large stacks, for recursion in kernels."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.growing = threading.Lock()
        self.queues: list[SimpleQueue[Job]] = []
        try:
            self.cpus = sorted(os.sched_getaffinity(0))
        except AttributeError:
            self.cpus = list(range(os.cpu_count() or 1))

    def _worker(self, number: int, queue: SimpleQueue[Job]) -> None:
        if hasattr(os, "sched_setaffinity") and len(self.cpus) > 1:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, {self.cpus[number % len(self.cpus)]})
        while True:
            work, done = queue.get()
            try:
                work()
                done.put(None)
            except BaseException as error:
                done.put(error)

    def _grow(self, count: int) -> None:
        previous = threading.stack_size(STACK_BYTES)
        try:
            while len(self.threads) < count:
                queue: SimpleQueue[Job] = SimpleQueue()
                thread = threading.Thread(target=self._worker, args=(len(self.threads), queue), daemon=True)
                self.queues.append(queue)
                self.threads.append(thread)
                thread.start()
        finally:
            threading.stack_size(previous)

    def run(self, jobs: Sequence[Callable[[], object]], stop: Callable[[], None], max_seconds: float | None) -> bool:
        """Run jobs side by side; False if they were stopped because time was up.

        Ctrl-C stops them and is raised again.
        """
        done: SimpleQueue[BaseException | None] = SimpleQueue()
        with self.growing:
            self._grow(len(jobs))
        for queue, job in zip(self.queues, jobs, strict=False):
            queue.put((job, done))
        in_time = True
        errors = []
        left = len(jobs)
        remaining = max_seconds
        while left:
            try:
                result = done.get(timeout=remaining)
                left -= 1
                if result is not None:
                    errors.append(result)
            except Empty:
                in_time, remaining = False, None
                stop()
            except KeyboardInterrupt:
                stop()
                while left:
                    done.get()
                    left -= 1
                raise
        if errors:
            raise errors[0]
        return in_time


POOL = Pool()


def default_threads() -> int:
    """One worker for each CPU that this process may use."""
    return len(POOL.cpus)
