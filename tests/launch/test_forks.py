"""Forks while other threads are at work: the child can do all that they did."""

import os
import signal
import threading

import pytest

from visakit.forks import cached_property, free_in_child
from vsim.engines.llvm.host.shutdown import in_llvm

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]


def in_child(holds):
    """Whether something holds in a fork of this process, which a signal ends if it waits."""
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        os._exit(0 if holds() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class At:
    """Another thread in the midst of something."""

    def __init__(self, work):
        self.begun, self.end = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=work, args=(self,))

    def __enter__(self):
        self.thread.start()
        self.begun.wait()
        return self

    def __exit__(self, *error):
        self.end.set()
        self.thread.join()

    def wait(self):
        self.begun.set()
        self.end.wait()


class Slow:
    def __init__(self):
        self.at = None

    @cached_property
    def value(self):
        if self.at is not None:
            self.at.wait()
        return 5


def test_a_fork_waits_until_no_other_thread_is_in_llvm():
    """Locks of LLVM and llvmlite that another thread holds stay closed in the child."""
    over = []

    def work(at):
        with in_llvm():
            at.wait()
            over.append(True)

    with At(work) as at:
        threading.Timer(0.1, at.end.set).start()
        assert in_child(lambda: bool(over))

    def again():
        with in_llvm():
            return True

    assert again() and in_child(again)


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
def test_locks_are_free_in_the_child(make):
    lock = free_in_child(make())

    def work(at):
        with lock:
            at.wait()

    with At(work):
        assert in_child(lambda: lock.acquire(timeout=10))


def test_a_lock_of_the_forking_thread_stays_its_own():
    lock = free_in_child(threading.RLock())

    def holds():
        lock.release()
        return True

    with lock:
        assert in_child(holds)


def test_properties_are_computed_in_the_child():
    slow = Slow()

    def work(at):
        slow.at = at
        assert slow.value == 5

    with At(work):
        assert in_child(lambda: Slow().value == 5)


def test_in_llvm_within_the_forking_thread():
    work = in_llvm()

    def leaves():
        work.__exit__(None, None, None)
        return True

    with work:
        assert in_child(leaves)
