"""Flat addresses that are an index of 32 bits, widened, times a size, plus a pointer: rows and bounds are those of the addresses."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.probe import LANES, Probe
from support.strategies import ENGINES, effort

from visakit import SimulationError
from vsim.engines.llvm.ir.emitter import LAUNCH, Emitter
from vsim.engines.llvm.memory.common_buffer import UnprovedAccess

SIZE = 4096
CONTENTS = np.random.default_rng(41).integers(0, 256, SIZE, "u1")
LOADS = {
    1: "lsc_load.ugm (M1, 16) DATA:d8u32 flat[PLACE]:a64",
    2: "lsc_load.ugm (M1, 16) DATA:d16u32 flat[PLACE]:a64",
    4: "lsc_load.ugm (M1, 16) DATA:d32 flat[PLACE]:a64",
}
STORES = {
    1: "lsc_store.ugm (M1, 16) flat[PLACE]:a64 LANE:d8u32",
    2: "lsc_store.ugm (M1, 16) flat[PLACE]:a64 LANE:d16u32",
    4: "lsc_store.ugm (M1, 16) flat[PLACE]:a64 LANE:d32",
}
PLACE = [
    "mov (M1, 16) PLACE(0,0)<1> INDEX(0,0)<1;1,0>",
    "shl (M1, 16) PLACE(0,0)<1> PLACE(0,0)<1;1,0> {shift}:ud",
    "add (M1, 16) PLACE(0,0)<1> PLACE(0,0)<1;1,0> BASE(0,0)<0;1,0>",
]


def probe_of(access, indices, shift, base, active, index_type="d"):
    """A probe whose active lanes access memory at their index, times a power of two, from a byte of a buffer on."""
    probe = Probe("bmg")
    probe.buffer("MEM", CONTENTS)
    mask = 2**32 - 1 if index_type == "ud" else -1
    probe.fill(
        INDEX=(index_type, [i & mask for i in indices]), BASE=("q", [base]), LANE=("ud", list(range(1, LANES + 1)))
    )
    probe.fill(DATA=("ud", [0] * LANES), PLACE=("q", [0] * LANES))
    probe.predicate("SOME", active)
    probe.lines += [
        "add (M1_NM, 1) BASE(0,0)<1> BASE(0,0)<0;1,0> MEM(0,0)<0;1,0>",
        "(!SOME) goto (M1, 16) BEHIND",
        *(line.format(shift=shift) for line in PLACE),
        access,
        "BEHIND:",
    ]
    return probe


def outcome(probe, engine):
    """Registers and memory after the run, or the error."""
    try:
        found = probe.run(engine)
    except SimulationError as problem:
        return str(problem)
    return {name: np.asarray(values).tolist() for name, values in found.items()}


EDGES = st.sampled_from([-(2**31), 2**31 - 1, -(2**31) + 3, 2**30, -(2**30), 2**30 - 1, -1, 0, SIZE // 4, SIZE])
ROWS = st.builds(
    lambda first: [(first + i + 2**31) % 2**32 - 2**31 for i in range(LANES)], st.one_of(EDGES, st.integers(-20, 1100))
)
INDICES = st.one_of(st.lists(st.one_of(st.integers(-8, 1100), EDGES), min_size=LANES, max_size=LANES), ROWS,
                    st.lists(st.integers(0, 900), min_size=LANES, max_size=LANES))  # fmt: skip
WRAPPING = [2**31 - 8 + i - 2**32 * (i >= 8) for i in range(LANES)]
"""A row whose indices wrap around."""
BASES = st.one_of(
    st.sampled_from([0, 64, 1, -4, 2**33, -(2**33), 128 - 2**34, 2**31, SIZE - 4]), st.integers(-40, SIZE + 40)
)


@pytest.mark.parametrize("size", LOADS)
@pytest.mark.parametrize("stores", [False, True], ids=["load", "store"])
@effort(12)
@given(INDICES, st.integers(0, 5), BASES, st.integers(1, 0xFFFF))
@example(WRAPPING, 2, 0, 0xFFFF)
@example(WRAPPING, 2, 96 - 2**33, 0xFFFF)  # where the first lanes are inside
@example([2**30 + i for i in range(LANES)], 2, 0, 0xFFFF)  # whose dwords are at 0 modulo 2**32
@example([-4 - i for i in range(LANES)], 2, 128, 0xFFFF)  # in front of the pointer, and in the buffer
@example([i - 8 for i in range(LANES)], 2, 128 - 2**34, 0xFFFF)  # unsigned, a row that wraps around behind its middle
@example([0] * LANES, 2, 0, 1)
def test_bounds_and_values_are_those_of_addresses(size, stores, indices, shift, base, active):
    for index_type in ("d", "ud"):
        probe = probe_of((STORES if stores else LOADS)[size], indices, shift, base, active, index_type)
        one, other = (outcome(probe, engine) for engine in ENGINES)
        assert one == other


@pytest.mark.parametrize("index_type", ["d", "ud"])
@pytest.mark.parametrize("access", [LOADS[4], STORES[4]], ids=["load", "store"])
def test_indices_are_looked_at_instead_of_addresses(access, index_type, monkeypatch):
    """In the second emission, which knows the pointer."""
    ways = []
    for name in "_offsets_in_buffer", "_elements_in_buffer":
        way = getattr(UnprovedAccess, name)
        monkeypatch.setattr(UnprovedAccess, name, lambda *given, n=name, way=way: ways.append(n) or way(*given))
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    outcome(probe_of(access, list(range(0, 48, 3)), 2, 12, 0x7FFF, index_type), "llvm")
    assert ways[-1] == "_elements_in_buffer"


def test_offsets_take_their_invariants_together():
    """For an index plus a pointer, the pointer's offset in its buffer is computed in front of all loops."""
    e = Emitter({})
    e.begin("entry", {"%p": LAUNCH, "%base": LAUNCH})
    address = e.assign("add i64 %x, %p")
    further = e.assign(f"add i64 {address}, %y")
    offset = e.less(address, "%base")
    e.less(further, "%base")
    e.less(e.assign("add i64 %x, %y"), "%base")
    (place,) = e.preheaders[LAUNCH]
    name, text = place.split(" = ")
    assert text == "sub i64 %p, %base"
    texts = [line.split(" = ")[1] for line in e.lines[2:]]
    assert texts[:2] == [f"add i64 %x, {name.strip()}", f"add i64 %y, {offset}"]
    assert texts[2] == "add i64 %x, %y" and texts[3].startswith("sub i64 ") and texts[3].endswith(", %base")
