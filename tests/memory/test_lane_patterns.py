"""Lanes of memory instructions that are no row: at constant distances, with overlaps or gaps, and in any way."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.probe import Probe, same_on_both_engines
from support.strategies import CHECKED, RUNNING, rotated

from vsim.engines.llvm.host.native import compile_support
from vsim.engines.llvm.memory import common_buffer
from vsim.engines.llvm.support.helpers import LaneFunction, lane_function

WORD = 0xFFFFFFFF
FLAT = {(size, count): f"svm_{{}}.{size}.{count} (M1, 16) ADDRESS.0 DATA.0" for size in (1, 4, 8) for count in (1, 2)}
SCALED = {
    "surface": "{}_scaled.4 (M1, 16) T8 0:ud PLACE.0 DATA.0",
    "bytes": "{}_scaled.1 (M1, 16) T8 0:ud PLACE.0 DATA.0",
    "local": "{}_scaled.4 (M1, 16) %slm 0:ud PLACE.0 DATA.0",
}
MESSAGES = FLAT | SCALED
ATOMICS = (
    "add", "sub", "inc", "dec", "min", "max", "minsint", "maxsint", "xchg", "and", "or", "xor", "cmpxchg",
    "fmax", "fmin", "fadd", "fsub", "fcmpwr",
)  # fmt: skip


def memory_probe(running, size, group=None):
    probe = Probe(running=running, group=group)
    probe.attributes.append(".kernel_attr SLMSize=1")
    probe.buffer("MEM", (bytes(range(256)) * 2)[:size])
    probe.buffer("OTHER", bytes(range(255, 155, -1)))
    return probe


@pytest.mark.parametrize(("name", "op"), rotated(MESSAGES, ["gather", "scatter"]))
@CHECKED
@example("ud", 0, 4, 8, 3, 300, 0xFFFF)
@example("ud", 12, 2, 8, 0, 300, 0x7FFF)  # overlaps
@example("d", 40, -4, 0x38, 2, 300, 0xFFFF)  # backwards, and the second half the other way
@example("ud", 0, 3, 8, 2, 190, 0x7FFF)  # the lane behind the end does not run
@given(
    st.sampled_from(["d", "ud"]), st.integers(0, 60) | st.integers(WORD - 20, WORD), st.integers(-5, 5).filter(bool),
    st.sampled_from([8, 8, 8, 0, 5, 16, 0xFFFFFFF8]), st.integers(0, 3), st.integers(1, 400), RUNNING,
)  # fmt: skip
def test_lanes_at_constant_distances(name, op, index, first, factor, pitch, shift, size, running):
    """Lane i of 16 accesses ``first + (i % 8 + i // 8 * pitch) * factor << shift``, computed in 32 bits."""
    probe = memory_probe(running, size)
    probe.fill(
        FIRST=(index, (first & WORD).to_bytes(4, "little")), LANE=(index, [0] * 16), X=(index, [0] * 16),
        PLACE=("ud", [0] * 16), OFFSET=("q" if index == "d" else "uq", [0] * 16), ADDRESS=("uq", [0] * 16),
        DATA=("ud", range(500, 564)),
    )  # fmt: skip
    probe.lines += [
        "mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:uv", f"add (M3_NM, 8) LANE(1,0)<1> LANE(0,0)<1;1,0> {pitch:#x}:{index}",
        f"mul (M1, 16) X(0,0)<1> LANE(0,0)<1;1,0> {factor & WORD:#x}:{index}",
        f"shl (M1, 16) X(0,0)<1> X(0,0)<1;1,0> {shift}:{index}", "add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> FIRST(0,0)<0;1,0>",
        "mov (M1, 16) PLACE(0,0)<1> X(0,0)<1;1,0>", "mov (M1, 16) OFFSET(0,0)<1> X(0,0)<1;1,0>",
        "add (M1, 16) ADDRESS(0,0)<1> OFFSET(0,0)<1;1,0> MEM(0,0)<0;1,0>", MESSAGES[name].format(op),
    ]  # fmt: skip
    same_on_both_engines(probe)


PLACES = st.one_of(
    st.lists(st.integers(0, 70), min_size=16, max_size=16),
    st.integers(0, 70).map(lambda first: [first] * 16),
    st.integers(0, 70).map(lambda first: [first + i for i in range(16)]),
    st.tuples(st.integers(0, 70), st.integers(0, 70)).map(lambda firsts: [firsts[i // 8] + i % 8 for i in range(16)]),
    st.tuples(st.integers(0, 15), st.integers(0, 1 << 30)).map(
        lambda odd: [odd[1] if i == odd[0] else i for i in range(16)]
    ),
)


@pytest.mark.parametrize(("name", "op"), rotated(MESSAGES, ["scatter", "gather"]))
@CHECKED
@example(list(range(16)), 4, 0x8000, 300, 0xFFFF, (16,))
@example([5] * 16, 4, 0, 300, 0xFF00, (16,))
@example([*range(15), 1 << 29], 4, 0, 300, 0x7FFF, (16,))
@example([*range(8), *range(20, 28)], 4, 0, 300, 0xFFFF, (8, 2))
@example([*range(8), *range(20, 28)], 4, 0, 100, 0x7FFF, (8, 2))
@example([*range(8), *range(1 << 28, (1 << 28) + 8)], 4, 0, 300, 0x00FE, (8, 2))
@given(
    PLACES, st.sampled_from([1, 4, 8]), st.just(0) | st.integers(0, 0xFFFF), st.integers(1, 600), RUNNING, st.sampled_from([(16,), (8, 2)])
)  # fmt: skip
def test_lanes_in_any_way(name, op, places, scale, elsewhere, size, running, group):
    """Lanes at places that the code does not know, some of them (``elsewhere``) in another buffer, of groups of one row or two."""
    probe = memory_probe(running, size, group)
    offsets = [(place * scale) + ((1 << 32) * (elsewhere >> i & 1)) for i, place in enumerate(places)]
    probe.fill(PLACE=("ud", [offset & WORD for offset in offsets]), DATA=("ud", range(500, 564)))
    probe.addresses("ADDRESS", "MEM", offsets)
    probe.lines.append(MESSAGES[name].format(op))
    same_on_both_engines(probe)


@pytest.mark.parametrize("running", [0xFFFF, 0x7FFE])
@pytest.mark.parametrize("op", ["gather", "scatter"])
@pytest.mark.parametrize(
    "places",
    [range(16), [5] * 16, range(15, -1, -1), [*range(15), 400], [400, *range(1, 16)], [7 * i % 50 for i in range(16)]],
)
def test_lanes_out_of_line(places, op, running, monkeypatch):
    """Functions for all lanes at once take rows, one place, lanes one by one, and those of the lanes that run."""
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    monkeypatch.setattr(common_buffer, "checked_lanes", lambda instructions, is_straight: 0)
    for name, size in (("surface", 4), ("bytes", 1), *((flat, flat[0]) for flat in FLAT)):
        probe = memory_probe(running, 480)
        offsets = [place * size for place in places]
        probe.fill(PLACE=("ud", offsets), DATA=("ud", range(500, 564)))
        probe.addresses("ADDRESS", "MEM", offsets)
        probe.lines.append(MESSAGES[name].format(op))
        same_on_both_engines(probe)


def test_rows_of_32_lanes_out_of_line(monkeypatch):
    """Each half of the lanes is a row."""
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    monkeypatch.setattr(common_buffer, "checked_lanes", lambda instructions, is_straight: 0)
    for op, data in (("load", "DATA:d32x2 flat[ADDRESS]:a64"), ("store", "flat[ADDRESS]:a64 DATA:d32x2")):
        for second in (400, 16):
            probe = Probe("bmg", 32)
            probe.buffer("MEM", (bytes(range(256)) * 8)[:2000])
            probe.buffer("OTHER", bytes(64))
            probe.fill(DATA=("ud", range(500, 564)))
            probe.addresses("ADDRESS", "MEM", [8 * (i % 16) + second * (i // 16) for i in range(32)])
            probe.lines.append(f"lsc_{op}.ugm (M1, 32) {data}")
            same_on_both_engines(probe)


@pytest.mark.parametrize("op", ATOMICS)
def test_atomics_of_a_group_alone_take_no_lock(op):
    sources = 2 if op in ("cmpxchg", "fcmpwr") else 0 if op in ("inc", "dec") else 1
    for size in (4, 8) if op.startswith("f") else (2, 4, 8):
        text = lane_function(LaneFunction(op, False, "i32", size, 16, sources, rare=False, own=True, written=False))
        assert "atomicrmw" not in text and "= cmpxchg" not in text
        assert compile_support(text)
