"""What a process may be used for: any number of texts and launches, forks, interrupts at any moment, limits."""

from __future__ import annotations

import gc

import pytest

import visa
from visa import collector
from visa.program import Function

TEXT = '.version 4.1\n.kernel "k"\n.decl V32 v_type=G type=d num_elts=8 align=GRF\nmov (M1, 8) V32(0,0)<1> 1:d\nret (M1, 1)\n'


def _trees() -> int:
    return sum(isinstance(o, Function) for o in gc.get_objects())


def test_many_texts_take_no_more_memory_than_one() -> None:
    """Trees have cycles, so that they go when the collector looks, which pauses must not keep it from."""
    gc.collect()
    before = _trees()
    for _ in range(400):
        visa.assemble(TEXT)
    assert _trees() - before < 200


def test_large_trees_do_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "FEW", 10)
    monkeypatch.setattr(collector, "LEAST_OLD", 500)
    monkeypatch.setattr(collector, "_OLD", collector.OldObjects())
    gc.collect()
    before = _trees()
    for _ in range(2000):
        with collector.paused_collection():
            visa.assemble(TEXT)
    # Far below 2000; a quarter of all objects that there are may be garbage.
    assert _trees() - before < 1500
