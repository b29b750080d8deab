"""Prefetch in loops whose lanes read consecutive elements, each from its own start, does not change values."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.probe import LANES, Probe, run_on_both_engines, translated
from support.programs import build_text, kernel_head
from support.strategies import ENGINES, effort

from visakit import SimulationError
from visakit.isa import FORMS
from visakit.isa.record import Access
from vsim.analysis.read_only_loops import only_reads_memory
from vsim.program import Program

CONTENTS = np.random.default_rng(19).integers(0, 256, 2048, "u1")
LOADS = {
    ("surface", 1): "gather_scaled.1 (M1, 16) T8 0x0:ud OFFSET.0 DATA.0",
    ("surface", 2): "gather_scaled.2 (M1, 16) T8 0x0:ud OFFSET.0 DATA.0",
    ("surface", 4): "gather4_scaled.R (M1, 16) T8 0x0:ud OFFSET.0 DATA.0",
    ("flat", 1): "svm_gather.1.1 (M1, 16) PLACE.0 DATA.0",
    ("flat", 4): "svm_gather.4.1 (M1, 16) PLACE.0 DATA.0",
}
ADVANCES = {
    "surface": ["add (M1, 16) OFFSET(0,0)<1> OFFSET(0,0)<1;1,0> {}:ud"],
    "flat": [
        f"add (M{1 + lane // 4}, 8) PLACE({lane // 4},0)<1> PLACE({lane // 4},0)<1;1,0> {{}}:uq" for lane in (0, 8)
    ],
}


def walking(space, size, starts, rounds, steps=1, extra=()):
    """A probe whose lanes go through elements from their starts on, each as often as it says."""
    probe = Probe()
    probe.buffer("MEM", CONTENTS)
    probe.fill(TOTAL=("ud", [0] * LANES), LEFT=("d", rounds), OFFSET=("ud", starts), DATA=("ud", [0] * LANES))
    if space == "flat":
        probe.addresses("PLACE", "MEM", starts)
    probe.declarations.append(f".decl AGAIN v_type=P num_elts={LANES}")
    probe.lines += [
        "ROUND:",
        LOADS[space, size],
        f"and (M1, 16) DATA(0,0)<1> DATA(0,0)<1;1,0> {(1 << 8 * size) - 1:#x}:ud",
        "mul (M1, 16) TOTAL(0,0)<1> TOTAL(0,0)<1;1,0> 3:ud",
        "add (M1, 16) TOTAL(0,0)<1> TOTAL(0,0)<1;1,0> DATA(0,0)<1;1,0>",
        *(line.format(size * steps) for line in ADVANCES[space]),
        *extra,
        "add (M1, 16) LEFT(0,0)<1> LEFT(0,0)<1;1,0> -1:d",
        "cmp.gt (M1, 16) AGAIN LEFT(0,0)<1;1,0> 0:d",
        "(AGAIN) goto (M1, 16) ROUND",
    ]
    return probe


def total(size, elements):
    """The sum of a lane that reads elements in turn."""
    found = 0
    for n in elements:
        found = (3 * found + int.from_bytes(CONTENTS[n * size : n * size + size].tobytes(), "little")) % 2**32
    return found


def model(size, starts, rounds, steps=1):
    """Sums of lanes that begin at the given bytes."""
    found = []
    for start, count in zip(starts, rounds, strict=True):
        total = 0
        for n in range(count):
            at = start + n * steps * size
            total = (3 * total + int.from_bytes(CONTENTS[at : at + size].tobytes(), "little")) % 2**32
        found.append(total)
    return found


ROUNDS = st.lists(st.integers(1, 40), min_size=LANES, max_size=LANES)


@effort(12, 0.5, shrink=False)
@given(st.sampled_from(sorted(LOADS)), st.lists(st.integers(0, 470), min_size=LANES, max_size=LANES), ROUNDS, st.integers(1, 3))  # fmt: skip
@example(("surface", 1), [2048 - 40 - 100 * n for n in range(LANES)], [40] * LANES, 1)
@example(("surface", 4), [2048 - 64 - 100 * n for n in range(LANES)], [16] * LANES, 1)
@example(("flat", 4), [7] * 8 + [100 * n for n in range(8)], [33] * LANES, 1)
def test_lanes_that_walk(load, starts, rounds, steps):
    """Each from any byte on, and as far as it likes; with steps of other sizes none of them walks."""
    space, size = load
    if max(starts) < 470:
        starts = [start * 4 for start in starts]
    rounds = [min(count, (2048 - start) // (size * steps)) for start, count in zip(starts, rounds, strict=True)]
    for engine in ENGINES:
        found = walking(space, size, starts, rounds, steps).run(engine)
        assert found["TOTAL"][:LANES].tolist() == model(size, starts, rounds, steps)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("load", LOADS)
def test_lanes_that_walk_out_of_their_buffer(load, engine):
    """A prefetch beyond the buffer is no fault; a load of a lane is."""
    space, size = load
    starts = [2048 - 3 * size - 24 * n for n in range(LANES)]
    rounds = [3] + [5] * (LANES - 1)
    assert walking(space, size, starts, rounds).run(engine)["TOTAL"][:LANES].tolist() == model(size, starts, rounds)
    with pytest.raises(SimulationError, match=r"\b(0x800|2048)\b"):
        walking(space, size, starts, [4] + [5] * (LANES - 1)).run(engine)


def test_a_store_in_the_loop_is_seen():
    """Each lane stores two elements ahead of where it reads."""
    ahead = [
        "add (M1, 16) AHEAD(0,0)<1> OFFSET(0,0)<1;1,0> 4:ud",
        "scatter4_scaled.R (M1, 16) T8 0x0:ud AHEAD.0 TOTAL.0",
    ]
    probe = walking("surface", 4, [100 * n for n in range(LANES)], [12] * LANES, extra=ahead)
    probe.declarations.append(".decl AHEAD v_type=G type=ud num_elts=16 align=GRF")
    run_on_both_engines(probe)


def test_a_store_between_loops_is_seen():
    """The outer loop stores to the next prefetched element before the inner one is entered again."""
    probe = walking("surface", 1, [100 * n for n in range(LANES)], [7] * LANES)
    probe.declarations.append(".decl OUTER v_type=P num_elts=16")
    probe.fill(TIMES=("d", [4] * LANES))
    probe.lines = [
        "OUTSIDE:",
        *probe.lines,
        "scatter_scaled.1 (M1, 16) T8 0x0:ud OFFSET.0 TOTAL.0",
        "mov (M1, 16) LEFT(0,0)<1> 7:d",
        "add (M1, 16) TIMES(0,0)<1> TIMES(0,0)<1;1,0> -1:d",
        "cmp.gt (M1, 16) OUTER TIMES(0,0)<1;1,0> 0:d",
        "(OUTER) goto (M1, 16) OUTSIDE",
    ]
    run_on_both_engines(probe)


def test_the_surface_changes_in_the_loop():
    """The offsets walk, but over two surfaces in turn."""
    probe = walking("surface", 4, [100 * n for n in range(LANES)], [12] * LANES)
    probe.buffer("OTHER", CONTENTS[::-1])
    probe.variable("WHICH", "ud", [2])
    probe.declarations.append(".decl T20 v_type=T num_elts=1")
    probe.lines = [line.replace("T8", "T20") for line in probe.lines]
    probe.lines[1:1] = [
        "xor (M1_NM, 1) WHICH(0,0)<1> WHICH(0,0)<0;1,0> 1:ud",
        "movs (M1_NM, 1) T20(0) WHICH(0,0)<0;1,0>",
    ]
    found, total = run_on_both_engines(probe), 0
    for n in range(12):
        contents = (CONTENTS[::-1].copy(), CONTENTS)[n % 2]
        total = (3 * total + int(contents.view("u4")[n])) % 2**32
    assert found["TOTAL"][0] == total


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("start", [-1, -5, -9, 3, 480])
def test_lanes_that_join_others(load, start, engine):
    """A guard on the index keeps lanes away at first; lanes that join later read their own elements.

    The first counters and indices differ from lane to lane:
    ``for (int k = lane & 3; k < 40; k++) if ((unsigned)(i = k + start - 3 * lane) < 500) total = total * 3 + a[i];``
    """
    space, size = load
    shift = size.bit_length() - 1
    probe = Probe()
    probe.buffer("MEM", CONTENTS)
    probe.fill(OWN=("d", [start - 3 * n for n in range(LANES)]), K=("d", [n & 3 for n in range(LANES)]))
    probe.fill(INDEX=("d", [0] * LANES), OFFSET=("d", [0] * LANES), PLACE=("uq", [0] * LANES))
    probe.fill(TOTAL=("ud", [0] * LANES), DATA=("ud", [0] * LANES))
    probe.declarations += [f".decl {name} v_type=P num_elts={LANES}" for name in ("INSIDE", "AGAIN")]
    halves = [
        f"add (M{1 + lane // 4}, 8) PLACE({lane // 4},0)<1> OFFSET({lane // 8},0)<1;1,0> MEM(0,0)<0;1,0>"
        for lane in (0, 8)
    ]
    probe.lines = [
        "ROUND:",
        "add (M1, 16) INDEX(0,0)<1> OWN(0,0)<1;1,0> K(0,0)<1;1,0>",
        "cmp.lt (M1, 16) INSIDE INDEX_BITS(0,0)<1;1,0> 500:ud",
        "(!INSIDE) goto (M1, 16) SKIP",
        f"shl (M1, 16) OFFSET(0,0)<1> INDEX(0,0)<1;1,0> {shift}:d",
        *(halves if space == "flat" else []),
        LOADS[load],
        f"and (M1, 16) DATA(0,0)<1> DATA(0,0)<1;1,0> {(1 << 8 * size) - 1:#x}:ud",
        "mul (M1, 16) TOTAL(0,0)<1> TOTAL(0,0)<1;1,0> 3:ud",
        "add (M1, 16) TOTAL(0,0)<1> TOTAL(0,0)<1;1,0> DATA(0,0)<1;1,0>",
        "SKIP:",
        "add (M1, 16) K(0,0)<1> K(0,0)<1;1,0> 1:d",
        "cmp.lt (M1, 16) AGAIN K(0,0)<1;1,0> 40:d",
        "(AGAIN) goto (M1, 16) ROUND",
    ]
    probe.declarations.append(".decl INDEX_BITS v_type=G type=ud num_elts=16 alias=<INDEX, 0>")
    places = [[i for k in range(n & 3, 40) if 0 <= (i := k + start - 3 * n) < 500] for n in range(LANES)]
    assert probe.run(engine)["TOTAL"][:LANES].tolist() == [total(size, own) for own in places]


def ir_of(extra="", step=4):
    """The IR of a loop over elements, with a line more."""
    text = (
        kernel_head("OUT=uq AT=ud*16 DATA=ud*16 N=ud T6=T P1=P", "OUT", SimdSize=16)
        + f"""mul (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> AT(0,0)<1;1,0>
mov (M1_NM, 1) N(0,0)<1> 0x0:ud
ROUND:
movs (M1_NM, 1) T6(0) 0x0:ud
gather4_scaled.R (M1, 16) T6 0x0:ud AT.0 DATA.0
{extra}
add (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> {step}:ud
add (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> {step}:ud
cmp.lt (M1_NM, 1) P1 N(0,0)<0;1,0> 0x20:ud
(P1) goto (M1, 16) ROUND
svm_block_st (4) OUT(0,0)<0;1,0> DATA.0
ret (M1, 1)
"""
    )
    return translated(Program(build_text(text)), [np.zeros(64, "u4")])


def test_only_loops_that_leave_memory_alone_look_ahead():
    assert "%walk0.window = alloca [512 x i8]" in ir_of()
    assert "%walk" not in ir_of(step=64), "lanes that jump walk through nothing"
    assert "%walk" not in ir_of("scatter4_scaled.R (M1, 16) T6 0x0:ud AT.0 DATA.0")
    led = ir_of("add (M1, 16) AT(0,0)<1> DATA(0,0)<1;1,0> AT(0,0)<1;1,0>")
    assert "%walk" not in led, "lanes go where the data say"
    assert "%walk0" in ir_of("add (M1, 16) DATA(0,0)<1> DATA(0,0)<1;1,0> AT(0,0)<1;1,0>")
    assert "%walk" not in ir_of("fence_global.EL1")
    assert "%walk" not in ir_of("barrier")


def test_instructions_that_write_or_order_memory_end_a_prefetch():
    """Instructions that write memory (by the table), that order accesses, barriers and calls end a prefetch."""

    class Any:
        def __init__(self, desc):
            self.desc = desc

    alone = {form.mnemonic for form in FORMS if only_reads_memory(Any(form))}
    assert not alone & {form.mnemonic for form in FORMS if form.access in (Access.STORE, Access.ATOMIC)}
    assert not alone & {"fence_global", "fence_local", "fence_sw", "lsc_fence", "barrier", "wait", "fcall", "ifcall", "call", "raw_send"}  # fmt: skip
    assert {"add", "dpas", "goto", "jmp", "gather4_scaled", "lsc_load", "sel", ".label"} <= alone
