"""Kernels with barriers: several threads of a group run abreast, with the results of the reference engine."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.counting import counted_alike
from support.programs import LANE_NUMBERS, build_text, kernel_head
from support.strategies import ENGINES, effort

from visakit import SimulationError
from vsim.engines.llvm.passes import coarsen
from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import Launch
from vsim.launch.schedule import parse_schedule
from vsim.profile.counts import Counts
from vsim.program import Program

HEAD = (
    kernel_head(
        "IN=uq OUT=uq COUNT=d LANE=uw*16 X=ud*16 A=ud*16 B=ud*16 C=ud*16 N=ud*16 K=d S=ud AT=uq*16 P1=P*16 P2=P*16",
        "IN OUT COUNT",
        SimdSize=16,
        SLMSize=1,
    )
    + LANE_NUMBERS
    + """mad (M1, 16) X(0,0)<1> %thread_x(0,0)<0;1,0> 16:uw LANE(0,0)<1;1,0>
shl (M1, 16) B(0,0)<1> X(0,0)<1;1,0> 2:ud
add (M1, 16) AT(0,0)<1> B(0,0)<1;1,0> IN(0,0)<0;1,0>
svm_gather.4.1 (M1, 16) AT.0 A.0
and (M1, 16) N(0,0)<1> A(0,0)<1;1,0> 7:ud
"""
)
TAIL = """
shl (M1, 16) B(0,0)<1> X(0,0)<1;1,0> 2:ud
add (M1, 16) AT(0,0)<1> B(0,0)<1;1,0> OUT(0,0)<0;1,0>
svm_scatter.4.1 (M1, 16) AT.0 A.0
ret (M1, 1)
"""
EXCHANGE = """
shl (M1, 16) B(0,0)<1> X(0,0)<1;1,0> 2:ud
and (M1, 16) B(0,0)<1> B(0,0)<1;1,0> 0x3ff:ud
scatter_scaled.4 (M1, 16) %slm 0:ud B.0 A.0
barrier
xor (M1, 16) B(0,0)<1> B(0,0)<1;1,0> 0x44:ud
gather_scaled.4 (M1, 16) %slm 0:ud B.0 C.0
barrier
add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> C(0,0)<1;1,0>
"""
WAYS = """
cmp.gt (M1, 16) P2 N(0,0)<1;1,0> 3:ud
(P2) goto (M1, 16) many@
mad (M1, 16) A(0,0)<1> A(0,0)<1;1,0> 3:uw X(0,0)<1;1,0>
goto (M1, 16) joined@
many@:
shr (M1, 16) A(0,0)<1> A(0,0)<1;1,0> 1:ud
joined@:
"""
ROUNDS = """
mov (M1, 16) C(0,0)<1> N(0,0)<1;1,0>
cmp.eq (M1, 16) P2 C(0,0)<1;1,0> 0:ud
(P2) goto (M1, 16) over@
round@:
mad (M1, 16) A(0,0)<1> A(0,0)<1;1,0> A(0,0)<1;1,0> C(0,0)<1;1,0>
add (M1, 16) C(0,0)<1> C(0,0)<1;1,0> -1:d
cmp.gt (M1, 16) P2 C(0,0)<1;1,0> 0:d
(P2) goto (M1, 16) round@
over@:
"""
SAME_PLACE = """
and (M1_NM, 1) S(0,0)<1> COUNT(0,0)<0;1,0> 15:ud
shl (M1_NM, 1) S(0,0)<1> S(0,0)<0;1,0> 2:ud
mov (M1, 16) B(0,0)<1> S(0,0)<0;1,0>
gather_scaled.4 (M1, 16) %slm 0:ud B.0 C.0
xor (M1, 16) A(0,0)<1> A(0,0)<1;1,0> C(0,0)<1;1,0>
barrier
"""
SCALAR = """
mov (M1_NM, 1) S(0,0)<1> N(0,0)<0;1,0>
cmp.gt (M1_NM, 1) P1 S(0,0)<0;1,0> 3:ud
(P1) jmp (M1, 1) large@
add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> 5:ud
large@:
add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> S(0,0)<0;1,0>
"""
LOOP = """
mov (M1_NM, 1) K(0,0)<1> COUNT(0,0)<0;1,0>
again@:
{}
add (M1_NM, 1) K(0,0)<1> K(0,0)<0;1,0> -1:d
cmp.gt (M1_NM, 1) P1 K(0,0)<0;1,0> 0:d
(P1) jmp (M1, 1) again@
"""
PIECES = {"exchange": EXCHANGE, "ways": WAYS, "rounds": ROUNDS, "one place": SAME_PLACE, "a scalar": SCALAR}


@pytest.fixture(autouse=True)
def _as_many_as_possible(monkeypatch):
    """Vectors of any processor are wide enough, whatever runs for one thread after the other; small kernels may be long."""
    monkeypatch.setattr(coarsen, "LINES_PER_INSTRUCTION", 1000)
    monkeypatch.setattr(coarsen, "MOST_VECTORS", 64)
    monkeypatch.setattr(coarsen, "SERIAL_LINES", 10_000)


def text_of(pieces, loop):
    """A kernel of pieces, of which the first ones are in a loop that all threads go round as often."""
    parts = [PIECES[name].replace("@", str(n)) for n, name in enumerate(pieces)]
    inside = LOOP.replace("@", "_loop").format("\n".join(parts[:loop])) if loop else ""
    return HEAD + inside + "\n".join(parts[loop:]) + TAIL


def run(text, threads, count, engine, seed=0, groups=2):
    values = np.random.default_rng(seed).integers(0, 2**32, 16 * threads * groups, "u4")
    out = np.zeros_like(values)
    Program(build_text(text)).launch("k", values.size, 16 * threads, [values, out, np.int32(count)], engine=engine)
    return out


def test_counters_are_of_each_thread():
    values = np.random.default_rng(1).integers(0, 2**32, 16 * 8, "u4")
    text = text_of(["exchange", "ways", "a scalar"], 1)
    given = Program(build_text(text))
    args = [values, np.zeros_like(values), np.int32(2)]
    assert counted_alike(lambda **options: given.launch("k", values.size, values.size, args, **options))
    assert together(text, 8, observers=(Counts(),)) > 1


def lowered(text, threads, **options):
    given = Program(build_text(text))
    arguments = given.convert("k", [np.zeros(16 * threads, "u4"), np.zeros(16 * threads, "u4"), np.int32(1)])
    launch = Launch("k", (16 * threads,), (16 * threads,), args=arguments)
    return translate(given.bind(launch, **options), full=True).text


def together(text, threads, **options):
    """How many threads run abreast."""
    return 1 + lowered(text, threads, **options).count("= add i64 %thread, ")


@pytest.mark.parametrize(("threads", "most"), [(2, 2), (3, 1), (4, 4), (6, 2), (8, 4), (12, 4)])
def test_a_divisor_of_the_threads_runs_abreast(threads, most):
    text = HEAD + EXCHANGE + TAIL
    assert together(text, threads) == most
    assert (run(text, threads, 1, "llvm") == run(text, threads, 1, "numpy")).all()


def test_two_are_enough_where_threads_do_much_one_after_the_other(monkeypatch):
    text = HEAD + WAYS.replace("@", "") + EXCHANGE + TAIL
    assert together(text, 4) == 4
    monkeypatch.setattr(coarsen, "SERIAL_LINES", 1)
    assert together(text, 4) == 2


def test_long_wide_and_ordered_kernels_run_single_threads(monkeypatch):
    """Long kernels, wide ones, kernels under a schedule, with fences, with ways that are not looked at, and such in
    which a loop of each thread takes the time.
    """
    text = HEAD + EXCHANGE + TAIL
    assert together(text, 4, schedule=parse_schedule("reverse")) == 1
    assert together(HEAD + ROUNDS.replace("@", "") + EXCHANGE + TAIL, 4) == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vsim.engines.llvm.pipeline.coarsen", lambda given, *_: (given, 1))
        plain = lowered(text, 4)
    assert coarsen.coarsen(plain, 4, 1, 1000)[1] == 4
    for line in "fence seq_cst", "switch i32 0, label %exit [ ]":
        other = plain.replace("started:\n", f"started:\n  {line}\n")
        assert coarsen.coarsen(other, 4, 1, 1000) == (other, 1)
    monkeypatch.setattr(coarsen, "MAXIMUM_LINES", {2: 10_000, 4: 1})
    assert together(text, 4) == 2
    assert coarsen.coarsen(plain, 4, 1, 0) == (plain, 1)
    monkeypatch.setattr(coarsen, "MOST_VECTORS", 1)
    assert together(text, 4) == 1


def test_barriers_that_are_close_to_each_other(monkeypatch):
    """Two threads run abreast between them, in however long kernels, and in spite of private loops."""
    text = HEAD + ROUNDS.replace("@", "") + EXCHANGE + TAIL
    assert together(text, 4) == 1
    monkeypatch.setattr(coarsen, "LINES_PER_BARRIER", 10_000)
    assert together(text, 4) == 4
    monkeypatch.setattr(coarsen, "MAXIMUM_LINES", {2: 1, 4: 1})
    assert together(text, 4) == 2
    assert (run(text, 4, 1, "llvm") == run(text, 4, 1, "numpy")).all()


def test_barriers_that_are_close_to_each_other_in_a_loop(monkeypatch):
    """Count where the rest of the kernel is long."""
    rounds, exchanges = ROUNDS.replace("@", ""), LOOP.replace("@", "_loop").format(EXCHANGE)
    ways = WAYS.replace("@", "0") + WAYS.replace("@", "1")
    monkeypatch.setattr(coarsen, "LINES_PER_BARRIER", 100)
    monkeypatch.setattr(coarsen, "MAXIMUM_LINES", {2: 1, 4: 1})
    assert together(HEAD + rounds + EXCHANGE + ways + TAIL, 4) == 1
    text = HEAD + rounds + exchanges + ways + TAIL
    assert together(text, 4) == 2
    assert (run(text, 4, 3, "llvm") == run(text, 4, 3, "numpy")).all()


@pytest.mark.parametrize("first", PIECES)
@effort(4, 0.5, shrink=False)
@given(
    st.lists(st.sampled_from(sorted(PIECES)), max_size=3),
    st.integers(0, 4),
    st.sampled_from([2, 4, 6]),
    st.integers(1, 3),
    st.integers(0, 99),
)
def test_threads_abreast_agree_with_the_reference(first, others, loop, threads, count, seed):
    """With any code between barriers: branches and loops of single threads, and places that all threads read."""
    text = text_of([first, *others, "exchange"], min(loop, len(others) + 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coarsen, "MAXIMUM_LINES", {2: 10_000, 4: 10_000})
        patch.setattr(coarsen.PhasedThread, "has_loop", lambda self, inside: False)
        found = run(text, threads, count, "llvm", seed)
    assert (found == run(text, threads, count, "numpy", seed)).all()


@pytest.mark.parametrize("thread", range(4))
@pytest.mark.parametrize("ways", ["", WAYS.replace("@", "")])
def test_a_fault_of_one_thread_abreast(thread, ways):
    """Is that of its lane and work-item, whichever of the threads it is."""
    look_up = """
shl (M1, 16) B(0,0)<1> A(0,0)<1;1,0> 2:ud
gather_scaled.4 (M1, 16) %slm 0:ud B.0 C.0
"""
    text = HEAD + EXCHANGE.replace("add", "xor") + ways + "mov (M1, 16) A(0,0)<1> N(0,0)<1;1,0>" + look_up + TAIL
    text = text.replace("0:ud A.0", "0:ud X.0").replace(" 7:ud", " 0xfff:ud", 1)
    values = np.zeros(64, "u4")
    values[16 * thread + 5] = 4000
    said = []
    for engine in ENGINES:
        with pytest.raises(SimulationError) as problem:
            Program(build_text(text)).launch("k", 64, 64, [values, np.zeros(64, "u4"), np.int32(1)], engine=engine)
        said.append(str(problem.value))
    assert said[0] == said[1] and "lane 5" in said[0]


def test_threads_abreast_that_wait_for_others_for_ever():
    """Two of four threads leave in front of a barrier: the message names the first waiting thread."""
    text = HEAD + "cmp.lt (M1_NM, 1) P1 %thread_x(0,0)<0;1,0> 2:uw\n(P1) jmp (M1, 1) leave\n"
    text += EXCHANGE + "leave:" + TAIL
    said = []
    for engine in ENGINES:
        with pytest.raises(SimulationError) as problem:
            run(text, 4, 1, engine)
        said.append(str(problem.value))
    assert said[0] == said[1]
