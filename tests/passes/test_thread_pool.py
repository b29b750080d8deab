"""On which processors the threads of a launch are."""

import ctypes
import os
import threading

import numpy as np
import pytest

from vsim.engines.llvm import abi
from vsim.engines.llvm.host.thread_pool import ThreadPool


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system does not say where threads run")
@pytest.mark.parametrize("process", [10, 11])
def test_threads_of_one_launch_have_separate_processors(process, monkeypatch):
    """A single thread may use any idle processor, so that those of several processes do not share one."""
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


def test_the_caller_does_one_job_of_a_run():
    pool, seen = ThreadPool(sorted(os.sched_getaffinity(0))), []
    job = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
        lambda *given: seen.append((threading.get_ident(), *given))
    )
    code = ctypes.cast(job, ctypes.c_void_p).value
    pool.grow(3)
    for count in (2, 3):
        jobs = np.array([(code, 100, n + 1) for n in range(count)], np.uint64)
        assert jobs.itemsize * jobs.shape[1] == abi.JOB_SIZE
        for _ in range(50):
            seen.clear()
            pool.join(jobs.ctypes.data, count)
            assert sorted(worker for *_, worker in seen) == [*range(1, count + 1)] and {
                given for _, given, _ in seen
            } == {100}
            threads = [thread for thread, *_ in seen]
            assert threads.count(threading.get_ident()) == 1 and len({*threads}) == count
            assert pool.words[abi.POOL_LEFT // 8] == 0
