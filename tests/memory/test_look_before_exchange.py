"""A compare-and-exchange with a constant looks at all places before its lanes take turns."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.probe import LANES, Probe, run_on_both_engines
from support.strategies import effort

from vsim.engines.llvm.memory.common_buffer import UnprovedAccess

CELLS, FREE = 8, 7
EXCHANGE = "lsc_atomic_icas.ugm (M1, 16) SEEN:d32 flat[PLACE]:a64 EXPECTED NEW"
FAR = [2**20, 2**31 - 1, 2**32 - 1]
"""Indices of lanes that are not active, which are outside of everything."""


def probe_of(cells, indices, active, new, expected="mov (M1, 16) EXPECTED(0,0)<1> 7:ud"):
    """A probe whose active lanes put numbers into cells that hold 7."""
    probe = Probe("bmg")
    probe.buffer("MEM", np.array(cells, "u4").tobytes())
    probe.fill(INDEX=("ud", indices), NEW=("ud", new), EXPECTED=("ud", [FREE] * LANES))
    probe.fill(SEEN=("ud", [99] * LANES), PLACE=("uq", [0] * LANES))
    probe.predicate("SOME", active)
    probe.lines += [
        expected,
        "mov (M1, 16) PLACE(0,0)<1> INDEX(0,0)<1;1,0>",
        "shl (M1, 16) PLACE(0,0)<1> PLACE(0,0)<1;1,0> 2:ud",
        "add (M1, 16) PLACE(0,0)<1> PLACE(0,0)<1;1,0> MEM(0,0)<0;1,0>",
        f"(SOME) {EXCHANGE}",
    ]
    return probe


def exchanged(cells, indices, active, new):
    """What the lanes see one after the other, and the cells behind them."""
    cells, seen = list(cells), [99] * LANES
    for lane in range(LANES):
        if active >> lane & 1:
            at = indices[lane]
            seen[lane] = cells[at]
            cells[at] = new[lane] if cells[at] == FREE else cells[at]
    return seen, cells


@effort(30)
@given(
    st.lists(st.sampled_from([FREE, 1, 2]), min_size=CELLS, max_size=CELLS),
    st.lists(st.integers(0, CELLS - 1), min_size=LANES, max_size=LANES),
    st.integers(0, 0xFFFF),
    st.lists(st.sampled_from([FREE, 1, 2, 3]), min_size=LANES, max_size=LANES),
)
@example([FREE] * CELLS, [0] * LANES, 0xFFFF, list(range(LANES)))  # The first lane is not the only one that finds 7.
@example([1] * 7 + [FREE], [7] + [0] * 15, 0xFFFF, [3] * LANES)  # One lane changes memory.
@example([1] * 7 + [FREE], [7] + [0] * 15, 0xFFFE, [3] * LANES)  # No active lane does.
@example([1] * CELLS, [0] * LANES, 0, [3] * LANES)
def test_lanes_see_what_those_before_them_left(cells, indices, active, new):
    indices = [i if active >> n & 1 else FAR[n % len(FAR)] for n, i in enumerate(indices)]
    found = run_on_both_engines(probe_of(cells, indices, active, new))
    seen, left = exchanged(cells, indices, active, new)
    assert found["SEEN"].tolist()[:LANES] == seen
    assert found["MEM"].view("u4").tolist() == left


@pytest.mark.parametrize(("expected", "looks"), [("mov (M1, 16) EXPECTED(0,0)<1> 7:ud", True), ("", False)])
def test_only_constants_are_looked_for(expected, looks, monkeypatch):
    """A value that was loaded before is most likely still there."""
    calls, way = [], UnprovedAccess.inside_lanes
    monkeypatch.setattr(UnprovedAccess, "inside_lanes", lambda *given: calls.append(given) or way(*given))
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    probe_of([1] * CELLS, [0] * LANES, 0x7FFF, [3] * LANES, expected).run("llvm")
    assert bool(calls) == looks


def test_no_active_lane_and_no_buffer():
    probe = Probe("bmg")
    probe.fill(PLACE=("uq", [0x12345] * LANES), EXPECTED=("ud", [0] * LANES), NEW=("ud", [3] * LANES))
    probe.fill(SEEN=("ud", [99] * LANES))
    probe.predicate("SOME", 0)
    probe.lines += ["mov (M1, 16) EXPECTED(0,0)<1> 7:ud", f"(SOME) {EXCHANGE}"]
    assert run_on_both_engines(probe)["SEEN"].tolist()[:LANES] == [99] * LANES
