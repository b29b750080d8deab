"""On which processors the threads of a launch are."""

import os
import threading

import pytest

from vsim.engines.llvm.host.thread_pool import ThreadPool


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system does not say where threads run")
@pytest.mark.parametrize("process", [10, 11])
def test_threads_of_one_launch_are_on_processors_of_their_own(process, monkeypatch):
    """But the only one of a launch goes where there is room, so that those of several processes are not all on one."""
    kept, both = [], threading.Semaphore(0)

    def keep(thread, cpus):
        kept.append(cpus)
        both.release()

    monkeypatch.setattr(os, "sched_setaffinity", keep)
    monkeypatch.setattr(os, "getpid", lambda: process)
    pool = ThreadPool([4, 5])
    pool.grow(1)
    pool.grow(2)
    assert both.acquire(timeout=60) and both.acquire(timeout=60)
    assert sorted(kept, key=min) == [{4}, {5}] and (pool.cpus == [4, 5]) == (process == 10)
    assert (pool.size(1), pool.size(2)) == (1, 2)
