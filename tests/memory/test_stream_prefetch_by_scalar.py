"""Lanes that walk by one scalar: the address is a vector from in front of the loop plus a scalar, whose distance from that at
which the window was filled tells the row.
"""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.probe import LANES, Probe, run_on_both_engines, translated
from support.programs import build_text, kernel_head
from support.strategies import ENGINES, effort, rotated

from visakit import SimulationError
from vsim.program import Program

SIZE = 4096
CONTENTS = np.random.default_rng(40).integers(0, 256, SIZE, "u1")
LOADS = {
    ("surface", 1): "gather_scaled.1 (M1, 16) T8 0x0:ud PLACED.0 DATA.0",
    ("surface", 2): "gather_scaled.2 (M1, 16) T8 0x0:ud PLACED.0 DATA.0",
    ("surface", 4): "gather4_scaled.R (M1, 16) T8 0x0:ud PLACED.0 DATA.0",
    ("flat", 1): "lsc_load.ugm (M1, 16) DATA:d8u32 flat[PLACE]:a64",
    ("flat", 2): "lsc_load.ugm (M1, 16) DATA:d16u32 flat[PLACE]:a64",
    ("flat", 4): "lsc_load.ugm (M1, 16) DATA:d32 flat[PLACE]:a64",
}
WIDE = [
    "mov (M1, 16) PLACE(0,0)<1> PLACED(0,0)<1;1,0>",
    "add (M1, 16) PLACE(0,0)<1> PLACE(0,0)<1;1,0> BASE(0,0)<0;1,0>",
]
AT = ["add (M1, 16) PLACED(0,0)<1> ROW(0,0)<1;1,0> K(0,0)<0;1,0>"]
SCALED = [
    "add (M1, 16) PLACED(0,0)<1> ROW(0,0)<1;1,0> K(0,0)<0;1,0>",
    "shl (M1, 16) PLACED(0,0)<1> PLACED(0,0)<1;1,0> {shift}:ud",
    "add (M1, 16) PLACED(0,0)<1> PLACED(0,0)<1;1,0> BIAS(0,0)<0;1,0>",
]


def loop(space, size, rows, rounds, *, step=None, k=0, at=AT, base=0, extra=(), bias=0, contents=CONTENTS):
    """A probe whose lanes read at their row plus a scalar that grows by a step in each round, each lane as often as it says."""
    probe = Probe("bmg")
    probe.buffer("MEM", contents)
    probe.fill(ROWS=("d", rows), K=("d", [k]), LEFT=("d", rounds), BIAS=("d", [bias]))
    probe.fill(TOTAL=("ud", [0] * LANES), DATA=("ud", [0] * LANES), PLACED=("d", [0] * LANES), PLACE=("q", [0] * LANES))
    probe.fill(BASE=("q", [base]), NUMBER=("ud", [0]))
    probe.declarations.append(f".decl AGAIN v_type=P num_elts={LANES}")
    probe.declarations.append(".decl ROW v_type=G type=d num_elts=16 align=GRF")  # which one block alone writes
    shift = size.bit_length() - 1
    probe.lines += [
        "add (M1_NM, 1) BASE(0,0)<1> BASE(0,0)<0;1,0> MEM(0,0)<0;1,0>",
        "mov (M1, 16) ROW(0,0)<1> ROWS(0,0)<1;1,0>",
        "ROUND:",
        *(line.format(shift=shift) for line in at),
        *(WIDE if space == "flat" else []),
        LOADS[space, size],
        f"and (M1, 16) DATA(0,0)<1> DATA(0,0)<1;1,0> {(1 << 8 * size) - 1:#x}:ud",
        "mul (M1, 16) TOTAL(0,0)<1> TOTAL(0,0)<1;1,0> 3:ud",
        "add (M1, 16) TOTAL(0,0)<1> TOTAL(0,0)<1;1,0> DATA(0,0)<1;1,0>",
        *extra,
        f"add (M1_NM, 1) K(0,0)<1> K(0,0)<0;1,0> {size if step is None else step}:d",
        "add (M1_NM, 1) NUMBER(0,0)<1> NUMBER(0,0)<0;1,0> 1:ud",
        "add (M1, 16) LEFT(0,0)<1> LEFT(0,0)<1;1,0> -1:d",
        "cmp.gt (M1, 16) AGAIN LEFT(0,0)<1;1,0> 0:d",
        "(AGAIN) goto (M1, 16) ROUND",
    ]
    return probe


def outcome(probe, engine):
    """The sums, or the error."""
    try:
        return probe.run(engine)["TOTAL"].tolist()
    except SimulationError as problem:
        return str(problem)


def total(size, places):
    """The sum of a lane that reads at places in turn."""
    found = 0
    for at in places:
        found = (3 * found + int.from_bytes(CONTENTS[at : at + size].tobytes(), "little")) % 2**32
    return found


ROWS = st.lists(st.integers(0, 700), min_size=LANES, max_size=LANES)
ROUNDS = st.lists(st.integers(1, 50), min_size=LANES, max_size=LANES)


@effort(12, 0.5, shrink=False)
@given(st.sampled_from(sorted(LOADS)), ROWS, ROUNDS, st.sampled_from([1, 1, 1, 2, 3, 17]), st.integers(0, 9))
@example(("surface", 1), [SIZE - 50 - 100 * n for n in range(LANES)], [50] * LANES, 1, 0)
@example(("flat", 4), [SIZE - 132 - 100 * n for n in range(LANES)], [33] * LANES, 1, 0)
@example(("flat", 2), [100 * n for n in range(LANES)], [50] * LANES, 1, 7)
def test_lanes_that_walk(load, rows, rounds, steps, k):
    """From any byte on, by any step, each lane as often as it likes."""
    space, size = load
    rows = [row * 4 if max(rows) <= 700 else row for row in rows]
    step = size * steps
    rounds = [min(count, (SIZE - size - row - k) // step + 1) for row, count in zip(rows, rounds, strict=True)]
    found = run_on_both_engines(loop(space, size, rows, rounds, step=step, k=k))
    for lane, (row, count) in enumerate(zip(rows, rounds, strict=True)):
        assert found["TOTAL"][lane] == total(size, [row + k + n * step for n in range(count)])


@pytest.mark.parametrize("load", LOADS)
def test_the_sum_is_scaled(load):
    """The sum is scaled by the size of the elements, before a bias is added."""
    space, size = load
    rows = [60 * n for n in range(LANES)]
    found = run_on_both_engines(loop(space, size, rows, [40] * LANES, step=1, at=SCALED, bias=12))
    assert found["TOTAL"][5] == total(size, [12 + size * (300 + n) for n in range(40)])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("load", LOADS)
def test_lanes_that_walk_out_of_their_buffer(load, engine):
    """A prefetch beyond the buffer is no fault; a load of a lane is."""
    space, size = load
    rows = [SIZE - 40 * size - 24 * n for n in range(LANES)]
    done = loop(space, size, rows, [40] + [42] * (LANES - 1)).run(engine)
    assert done["TOTAL"][0] == total(size, [rows[0] + size * n for n in range(40)])
    with pytest.raises(SimulationError, match=r"\b(0x1000|4096)\b"):
        loop(space, size, rows, [41] + [42] * (LANES - 1)).run(engine)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_sums_wrap_around_before_they_are_widened(size):
    """Behind the largest number of 32 bits comes the smallest one, 4 GiB further down, where no buffer is."""
    largest = 2**31 - 1
    rows = [largest - 9 * size - (size - 1) - 100 * n for n in range(LANES)]
    probes = [loop("flat", size, rows, [count] * LANES, base=-largest + 2048) for count in (10, 11, 12)]
    inside = run_on_both_engines(probes[0])
    assert inside["TOTAL"][0] == total(size, [2048 - 9 * size - (size - 1) + n * size for n in range(10)])
    for probe in probes[1:]:
        one, other = (outcome(probe, engine) for engine in ENGINES)
        assert one == other and isinstance(one, str)


def test_scalars_wrap_around():
    """The rows are negative, or the scalar is; only their sum counts."""
    for k in (-24, 2**31 - 24, -(2**31) - 24 + 2**32):
        rows = [(100 * n - k + 2**31) % 2**32 - 2**31 for n in range(LANES)]
        for space in ("surface", "flat"):
            found = run_on_both_engines(loop(space, 1, rows, [50] * LANES, k=(k + 2**31) % 2**32 - 2**31))
            assert found["TOTAL"][3] == total(1, range(300, 350))


@pytest.mark.parametrize(("t", "first"), [("ub", 250), ("b", 80), ("uw", 250), ("w", 250)])
def test_sums_of_narrow_numbers(t, first):
    """A row and a scalar of bytes or words, whose sum is widened: behind the largest byte comes the smallest one."""
    at = [
        f"add (M1, 16) INDEX(0,0)<1> NARROW(0,0)<1;1,0> K_{t}(0,0)<0;1,0>",
        "mov (M1, 16) PLACED(0,0)<1> INDEX(0,0)<1;1,0>",
    ]
    probe = loop("surface", 1, [first - 3 * n for n in range(LANES)], [40] * LANES, at=at)
    probe.declarations += [f".decl {name} v_type=G type={t} num_elts=16 align=GRF" for name in ("NARROW", "INDEX")]
    probe.declarations.append(f".decl K_{t} v_type=G type={t} num_elts=1 alias=<K, 0>")
    probe.lines.insert(probe.lines.index("ROUND:"), "mov (M1, 16) NARROW(0,0)<1> ROWS(0,0)<1;1,0>")
    assert run_on_both_engines(probe)["TOTAL"][5] == total(
        1, [(first - 15 + n) % (256 if t == "ub" else 2**31) for n in range(40)]
    )


def test_a_sum_times_zero():
    """All lanes read one element in all rounds."""
    nowhere = "mad (M1, 16) PLACE(0,0)<1> PLACE(0,0)<1;1,0> 0:w BASE(0,0)<0;1,0>"
    probe = loop("flat", 4, [100 * n for n in range(LANES)], [9] * LANES)
    at = probe.lines.index(WIDE[1])
    probe.lines[at] = nowhere
    assert run_on_both_engines(probe)["TOTAL"][5] == total(4, [0] * 9)


def test_lanes_that_are_active_in_some_rounds_only():
    """A lane may be off while the window is filled, and load from it later."""
    pick = [
        "and (M1, 16) PICK(0,0)<1> BITS0(0,0)<1;1,0> ROTATED(0,0)<0;1,0>",
        "rol (M1_NM, 1) ROTATED(0,0)<1> ROTATED(0,0)<0;1,0> 3:ud",
        "cmp.ne (M1, 16) SOME PICK(0,0)<1;1,0> 0:ud",
        "(!SOME) goto (M1, 16) SKIP",
    ]
    for (space, size), word in rotated(LOADS, (0x0001FFFF, 0xF0F0F0F0, 0xFFFE7FFF, 0x80000001)):
        probe = loop(space, size, [150 * n for n in range(LANES)], [20 + n for n in range(LANES)])
        probe.fill(PICK=("ud", [0] * LANES), BITS0=("ud", [1 << n for n in range(LANES)]), ROTATED=("ud", [word]))
        probe.declarations.append(f".decl SOME v_type=P num_elts={LANES}")
        at = probe.lines.index("ROUND:") + 1
        behind = next(n for n, line in enumerate(probe.lines) if "TOTAL(0,0)<1;1,0> DATA" in line) + 1
        probe.lines = [*probe.lines[:at], *pick, *probe.lines[at:behind], "SKIP:", *probe.lines[behind:]]
        run_on_both_engines(probe)


def test_rows_change_between_loops():
    """The inner loop begins at the scalar that comes next in the window, but with other rows."""
    for space, size in LOADS:
        probe = loop(space, size, [100 * n for n in range(LANES)], [7] * LANES)
        probe.declarations.append(".decl OUTER v_type=P num_elts=16")
        probe.fill(TIMES=("d", [9] * LANES))
        start = probe.lines.index("ROUND:")
        probe.lines = [
            *probe.lines[: start - 1],
            "OUTSIDE:",
            *probe.lines[start - 1 :],
            "add (M1, 16) ROWS(0,0)<1> ROWS(0,0)<1;1,0> 4:d",
            "mov (M1, 16) LEFT(0,0)<1> 7:d",
            "add (M1, 16) TIMES(0,0)<1> TIMES(0,0)<1;1,0> -1:d",
            "cmp.gt (M1, 16) OUTER TIMES(0,0)<1;1,0> 0:d",
            "(OUTER) goto (M1, 16) OUTSIDE",
        ]
        found = run_on_both_engines(probe)
        places = [400 + 4 * t + (7 * t + n) * size for t in range(9) for n in range(7)]
        assert found["TOTAL"][4] == total(size, places)


def test_memory_changes_between_loops():
    """The inner loop stops with elements left ahead, which the outer one overwrites; rows and scalar go on."""
    probe = loop("surface", 1, [100 * n for n in range(LANES)], [7] * LANES)
    probe.declarations.append(".decl OUTER v_type=P num_elts=16")
    probe.fill(TIMES=("d", [9] * LANES))
    start = probe.lines.index("ROUND:")
    probe.lines = [
        *probe.lines[:start],
        "OUTSIDE:",
        *probe.lines[start:],
        "add (M1, 16) PLACED(0,0)<1> PLACED(0,0)<1;1,0> 2:d",
        "scatter_scaled.1 (M1, 16) T8 0x0:ud PLACED.0 TOTAL.0",
        "mov (M1, 16) LEFT(0,0)<1> 7:d",
        "add (M1, 16) TIMES(0,0)<1> TIMES(0,0)<1;1,0> -1:d",
        "cmp.gt (M1, 16) OUTER TIMES(0,0)<1;1,0> 0:d",
        "(OUTER) goto (M1, 16) OUTSIDE",
    ]
    run_on_both_engines(probe)


def test_a_store_in_the_loop_is_seen():
    """Each lane stores two elements ahead of where it reads."""
    ahead = [
        "add (M1, 16) AHEAD(0,0)<1> PLACED(0,0)<1;1,0> 8:d",
        "scatter4_scaled.R (M1, 16) T8 0x0:ud AHEAD.0 TOTAL.0",
    ]
    probe = loop("surface", 4, [200 * n for n in range(LANES)], [12] * LANES, extra=ahead)
    probe.fill(AHEAD=("ud", [0] * LANES))
    run_on_both_engines(probe)


def test_rows_change_in_the_loop():
    """A vector that the loop computes anew is compared, not assumed."""
    for space, size in LOADS:
        odd = [
            "and (M1, 16) ROW(0,0)<1> NUMBER(0,0)<0;1,0> 1:d",
            "mad (M1, 16) ROW(0,0)<1> ROW(0,0)<1;1,0> 64:w ROWS(0,0)<1;1,0>",
        ]
        run_on_both_engines(loop(space, size, [100 * n for n in range(LANES)], [30] * LANES, extra=odd))


def test_the_base_changes_in_the_loop():
    """The base, which is added behind the widening, differs between rounds."""
    for size in (1, 2, 4):
        moved = ["xor (M1_NM, 1) BASE(0,0)<1> BASE(0,0)<0;1,0> 64:q"]
        run_on_both_engines(loop("flat", size, [100 * n for n in range(LANES)], [30] * LANES, extra=moved))


def ir_of(at="add (M1, 16) PLACED(0,0)<1> ROW(0,0)<1;1,0> K(0,0)<0;1,0>", extra=""):
    """The IR of a loop over elements of rows."""
    text = (
        kernel_head("OUT=uq PLACED=ud*16 ROW=ud*16 DATA=ud*16 K=ud T6=T P1=P", "OUT", SimdSize=16)
        + f"""mul (M1, 16) ROW(0,0)<1> PLACED(0,0)<1;1,0> PLACED(0,0)<1;1,0>
mov (M1_NM, 1) K(0,0)<1> 0x0:ud
ROUND:
movs (M1_NM, 1) T6(0) 0x0:ud
{at}
gather4_scaled.R (M1, 16) T6 0x0:ud PLACED.0 DATA.0
{extra}
add (M1_NM, 1) K(0,0)<1> K(0,0)<0;1,0> 0x4:ud
cmp.lt (M1_NM, 1) P1 K(0,0)<0;1,0> 0x20:ud
(P1) goto (M1, 16) ROUND
svm_block_st (4) OUT(0,0)<0;1,0> DATA.0
ret (M1, 1)
"""
    )
    return translated(Program(build_text(text)), [np.zeros(64, "u4")])


def test_one_scalar_tells_where_lanes_are():
    is_ahead = "load i64, ptr %walk0.base"
    for text in (ir_of(), ir_of(extra="add (M1, 16) ROW(0,0)<1> ROW(0,0)<1;1,0> 4:ud")):
        assert is_ahead in text
    for text in (
        ir_of(extra="add (M1, 16) ROW(0,0)<1> ROW(0,0)<1;1,0> ROW(0,0)<1;1,0>"),
        ir_of("add (M1, 16) PLACED(0,0)<1> ROW(0,0)<1;1,0> PLACED(0,0)<1;1,0>"),
    ):
        assert is_ahead not in text, "no scalar tells where these lanes are"


# -- vectors that are counted up -------------------------------------------------------------------------------------------------

BITS = [1 << n for n in range(LANES)]
SOME = [
    "and (M1, 16) PICK(0,0)<1> BITS0(0,0)<1;1,0> ROTATED(0,0)<0;1,0>",
    "rol (M1_NM, 1) ROTATED(0,0)<1> ROTATED(0,0)<0;1,0> 3:ud",
    "cmp.ne (M1, 16) SOME PICK(0,0)<1;1,0> 0:ud",
]
WORDS = (0x0001FFFF, 0xF0F0F0F0, 0xFFFE7FFF, 0x80000001, 0xFFFFFFFF)


def counted(space, size, rows, rounds, word=0, *, up=(), again=(), step=None, declared=()):
    """A probe whose lanes read at their own indices, which the lines ``up`` increment; the lines ``again`` change them
    behind the loop, which runs five times.
    """
    lines = up or [f"add (M1, 16) INDEX(0,0)<1> INDEX(0,0)<1;1,0> {step or size}:d"]
    probe = loop(
        space, size, [0] * LANES, rounds, step=0, at=["mov (M1, 16) PLACED(0,0)<1> INDEX(0,0)<1;1,0>"], extra=lines
    )
    probe.fill(
        INDEX=("d", rows), PICK=("ud", [0] * LANES), BITS0=("ud", BITS), ROTATED=("ud", [word]), COUNTS=("d", rounds)
    )
    probe.fill(TIMES=("d", [5] * LANES))
    probe.declarations += [f".decl {name} v_type=P num_elts={LANES}" for name in ("SOME", "OUTER")] + list(declared)
    start = probe.lines.index("ROUND:")
    if again:
        probe.lines = [
            *probe.lines[:start],
            "OUTSIDE:",
            *probe.lines[start:],
            *again,
            "mov (M1, 16) LEFT(0,0)<1> COUNTS(0,0)<1;1,0>",
            "add (M1, 16) TIMES(0,0)<1> TIMES(0,0)<1;1,0> -1:d",
            "cmp.gt (M1, 16) OUTER TIMES(0,0)<1;1,0> 0:d",
            "(OUTER) goto (M1, 16) OUTSIDE",
        ]
    return probe


UP = "add (M1, 16) INDEX(0,0)<1> INDEX(0,0)<1;1,0> 4:d"
WAYS = {
    "by all lanes": [UP],
    "by some lanes": [*SOME, "(!SOME) goto (M1, 16) SKIP", UP, "SKIP:"],
    "under a predicate": [*SOME, f"(SOME) {UP}"],
    "twice": [UP, *SOME, "(!SOME) goto (M1, 16) SKIP", UP, "SKIP:"],
    "and otherwise": [UP, *SOME, "(SOME) mov (M1, 16) INDEX(0,0)<1> 8:d"],
    "in part": ["add (M1, 8) INDEX(0,0)<1> INDEX(0,0)<1;1,0> 4:d"],
    "without mask": ["add (M1_NM, 16) INDEX(0,0)<1> INDEX(0,0)<1;1,0> 4:d"],
    "by halves": [UP.replace("16", "8"), "add (M3, 8) INDEX(0,8)<1> INDEX(0,8)<1;1,0> 4:d"],
    "saturated": [UP.replace("add", "add.sat")],
    "through an alias": [UP, *SOME, "(SOME) add (M1, 16) OTHER(0,0)<1> OTHER(0,0)<1;1,0> 4:d"],
    "by address": [UP, "addr_add (M1, 1) A0(0)<1> &INDEX 4:uw", "add (M1_NM, 1) r[A0(0),0]<1>:d r[A0(0),0]<0;1,0>:d 4:d"],
}  # fmt: skip
DECLARED = {
    "through an alias": [".decl OTHER v_type=G type=d num_elts=16 alias=<INDEX, 0>"],
    "by address": [".decl A0 v_type=A num_elts=1"],
}


@pytest.mark.parametrize("way", WAYS)
def test_an_index_is_counted_up(way):
    """Forms of the counter, in all lanes or in some."""
    rows, rounds = [100 * n for n in range(LANES)], [20 + n for n in range(LANES)]
    for word, space in rotated(WORDS, ("surface", "flat")):
        run_on_both_engines(counted(space, 4, rows, rounds, word, up=WAYS[way], declared=DECLARED.get(way, ())))


@pytest.mark.parametrize(
    "again",
    [
        ["add (M1, 16) INDEX(0,0)<1> INDEX(0,0)<1;1,0> 52:d"],
        ["(SOME) add (M1, 16) INDEX(0,0)<1> INDEX(0,0)<1;1,0> -4:d"],
        ["xor (M1, 16) INDEX(0,0)<1> INDEX(0,0)<1;1,0> 1024:d"],
        ["add (M1_NM, 1) INDEX(0,3)<1> INDEX(0,3)<0;1,0> 40:d"],
        ["gather4_scaled.R (M1, 16) T8 0x0:ud PLACED.0 INDEX.0", "and (M1, 16) INDEX(0,0)<1> INDEX(0,0)<1;1,0> 1023:d"],
        ["svm_block_st (4) MEM(0,0)<0;1,0> TOTAL.0"],
        ["mov (M1_NM, 1) NUMBER(0,0)<1> 0x0:ud"],
    ],
)
def test_the_counter_changes_between_loops(again):
    """The loop stops with elements left ahead; all lanes come back, of which some may have left sooner."""
    rows = [64 + 100 * n for n in range(LANES)]
    for (space, size), word in rotated((("surface", 1), ("flat", 1), ("flat", 4), ("surface", 4)), WORDS[:2]):
        rounds = [3 + (n * 7) % 5 if word % 2 else 5 for n in range(LANES)]
        up = [*SOME, f"add (M1, 16) INDEX(0,0)<1> INDEX(0,0)<1;1,0> {size}:d"]
        run_on_both_engines(counted(space, size, rows, rounds, word, up=up, again=again))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_counters_wrap_around_before_they_are_widened(size):
    """Behind the largest number of 32 bits comes the smallest one."""
    largest = 2**31 - 1
    rows = [largest - 9 * size - (size - 1) - 100 * n for n in range(LANES)]
    for count in (10, 11, 12):
        probe = counted("flat", size, rows, [count] * LANES)
        probe.fill(BASE=("q", [-largest + 2048]))
        one, other = (outcome(probe, engine) for engine in ENGINES)
        assert one == other and isinstance(one, str) == (count > 10)


def test_a_counter_is_known_by_its_scalar():
    assert "%count0 = alloca i32" in ir_of("add (M1, 16) PLACED(0,0)<1> PLACED(0,0)<1;1,0> 4:ud")
    for line in (
        "(P1) add (M1, 16) PLACED(0,0)<1> PLACED(0,0)<1;1,0> 4:ud",
        "add.sat (M1, 16) PLACED(0,0)<1> PLACED(0,0)<1;1,0> 4:ud",
        "add (M1, 16) PLACED(0,0)<1> PLACED(0,0)<1;1,0> K(0,0)<0;1,0>",
    ):
        assert "%count" not in ir_of(line)


@pytest.mark.parametrize(
    ("data_type", "bits", "start", "bias"),
    [("ub", 8, 230, 0), ("uw", 16, 65500, 0), ("b", 8, 100, 2048), ("w", 16, 32740, 40000)],
)
def test_narrow_sums_wrap_around(data_type, bits, start, bias):
    """The rows and the scalar have 8 or 16 bits, and so has their sum before it is widened."""
    narrow = [
        "mov (M1_NM, 1) STEP(0,0)<1> K(0,0)<0;1,0>",
        "add (M1, 16) SUM(0,0)<1> NARROW(0,0)<1;1,0> STEP(0,0)<0;1,0>",
        "mov (M1, 16) PLACED(0,0)<1> SUM(0,0)<1;1,0>",
        *(SCALED[-1:] if bias else []),
    ]
    rows, contents = [3 * n for n in range(LANES)], np.resize(CONTENTS, 120000)
    probe = loop("surface", 1, rows, [50] * LANES, k=start, at=narrow, bias=bias, contents=contents)
    probe.declarations += [
        f".decl {name} v_type=G type={data_type} num_elts=16 align=GRF" for name in ("NARROW", "SUM")
    ]
    probe.declarations.append(f".decl STEP v_type=G type={data_type} num_elts=1")
    probe.lines.insert(probe.lines.index("ROUND:"), "mov (M1, 16) NARROW(0,0)<1> ROWS(0,0)<1;1,0>")
    found = run_on_both_engines(probe)
    lowest = -(1 << bits - 1) if data_type in ("b", "w") else 0
    for lane in range(LANES):
        places = [bias + (3 * lane + start + n - lowest) % (1 << bits) + lowest for n in range(50)]
        assert found["TOTAL"][lane] == total(1, [place % SIZE for place in places])
