"""On which processors the threads of a launch are, and how they begin and end runs."""

import ctypes
import os
import threading
import time

import numpy as np
import pytest

from vsim.engines.llvm import abi
from vsim.engines.llvm.host import thread_pool
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


def states_of(pool):
    """Whether each member sleeps (0), looks for a job (1) or has one (2)."""
    return [ctypes.c_uint64.from_address(int(at) + abi.MEMBER_STATE).value for at in pool.members.words]


def run_jobs(pool, count, begin, delays=()):
    """Run jobs, each of which takes so many seconds; the threads that did them."""
    seen = []

    def work(_, number):
        seen.append((threading.get_ident(), number))
        time.sleep(delays[number - 1] if delays else 0)

    job = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(work)
    jobs = np.array([(ctypes.cast(job, ctypes.c_void_p).value, 100, n + 1) for n in range(count)], np.uint64)
    if begin == "join":
        pool.join(jobs.ctypes.data, count)
    else:
        pool.run(jobs.ctypes.data, count, None)
    while pool.words[abi.POOL_LEFT // 8]:  # a signal may have come
        pool.wait(None)
    assert sorted(number for _, number in seen) == [*range(1, count + 1)]
    return {thread for thread, _ in seen}


@pytest.mark.parametrize("cpus", [1, 2, 3, 8])
def test_runs_follow_each_other_at_any_distance(cpus):
    """Members look for the next run, sleep before it, or end the last one for others, which end before or behind them."""
    pool = ThreadPool(range(cpus))
    pool.grow(3)
    for n in range(120):
        count, begin = 2 + n % 2, ("join", "run")[n // 2 % 2]
        delays = [(0, 0.0001, 0.002)[(n // 4 + k) % 3] for k in range(count)]
        threads = run_jobs(pool, count, begin, delays)
        assert len(threads) == count and (threading.get_ident() in threads) == (begin == "join")
        time.sleep((0, 0.00005, 0.001)[n % 3])


def test_members_soon_sleep():
    pool = ThreadPool(range(3))
    pool.grow(3)
    for begin in ("run", "join"):
        run_jobs(pool, 3, begin)
        end = time.monotonic() + 60
        while any(states_of(pool)):
            assert time.monotonic() < end
            time.sleep(0.001)


def test_members_that_share_processors_sleep_at_once(monkeypatch):
    monkeypatch.setattr(thread_pool, "LINGERING_CYCLES", 5_000_000_000)
    thread_pool.functions.cache_clear()
    try:
        shared, separate = ThreadPool([99]), ThreadPool(range(2))  # the former are not where the caller is
        for pool in (shared, separate):
            pool.grow(2)
            run_jobs(pool, 2, "join")
        assert states_of(shared) == [0, 0] and 1 in states_of(separate)
        run_jobs(separate, 2, "run")
        run_jobs(shared, 2, "run")
        assert states_of(shared) == [0, 0]
    finally:
        thread_pool.functions.cache_clear()
