"""On which processors the threads of a launch are."""

import os
import threading

import pytest

from vsim.llvm_engine.runtime.crew import Crew


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system does not say where threads run")
def test_the_first_thread_goes_where_there_is_room(monkeypatch):
    """So that launches on one thread, of several processes at the same time, are not all on one processor."""
    kept, second = [], threading.Event()

    def keep(thread, cpus):
        kept.append(cpus)
        second.set()

    monkeypatch.setattr(os, "sched_setaffinity", keep)
    Crew([4, 5]).grow(2)
    assert second.wait(60)
    assert kept == [{5}]
