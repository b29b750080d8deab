"""The race check: against a model of happens-before in which every order is written out, and on both engines."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs import build_text
from support.strategies import ENGINES, effort

from visakit.diagnostics import SimulationError
from vsim.checks import races
from vsim.checks.accesses import ATOMIC, LOCAL, READ, WRITE, AccessLog
from vsim.checks.findings import Findings
from vsim.checks.names import RACE
from vsim.checks.selection import Checking
from vsim.engines.llvm.host import race
from vsim.engines.llvm.observers import race_runs
from vsim.launch.launch import Launch
from vsim.launch.schedule import parse_schedule
from vsim.program import Program

THREADS, PLACES = 3, 2
KINDS = {"r": READ, "w": WRITE, "a": ATOMIC}
LETTERS = {"read": "r", "write": "w", "atomic": "a"}

# -- the model: a program is a list of steps; a step is a barrier, half of one, or what each thread does ----------

ACCESS = st.tuples(st.sampled_from("rwa"), st.integers(0, PLACES - 1))
STEP = st.one_of(
    st.lists(st.none() | ACCESS, min_size=THREADS, max_size=THREADS).map(tuple), st.sampled_from(["barrier", "split"])
)


def halves(steps):
    """Steps with split barriers as an arrival and a departure that follows two steps later, or as soon as it must."""
    found, open_since = [], None
    for n, step in enumerate(steps):
        if open_since is not None and (n - open_since == 2 or isinstance(step, str)):
            found.append("wait")
            open_since = None
        if step == "barrier":
            found += ["signal", "wait"]
        elif step == "split":
            found.append("signal")
            open_since = n
        else:
            found.append(step)
    return found + (["wait"] if open_since is not None else [])


def ordered(steps):
    """All pairs of events, by thread and step, of which the first comes before the second: closed over every edge."""
    events = [(t, n) for n in range(len(steps)) for t in range(THREADS)]
    before = {e: set() for e in events}
    for (t, n), (u, m) in product(events, events):
        signals = steps[:n].count("signal")
        if t == u and n < m:
            before[u, m].add((t, n))
        if steps[n] == "signal" and steps[m] == "wait" and steps[:m].count("wait") == signals:
            before[u, m].add((t, n))
    changed = True
    while changed:
        changed = False
        for e in events:
            more = set().union(*(before[x] for x in before[e])) - before[e]
            before[e] |= more
            changed |= bool(more)
    return before


def modelled(steps):
    """The pairs of steps with their kinds that race."""
    before, found = ordered(steps), set()
    events = [
        (t, n, *step[t]) for n, step in enumerate(steps) if not isinstance(step, str) for t in range(THREADS) if step[t]
    ]
    for (t, n, kind, place), (u, m, kind2, place2) in combinations(events, 2):
        if t == u or place != place2 or kind == kind2 != "w":
            continue
        if (t, n) not in before[u, m] and (u, m) not in before[t, n]:
            found.add(frozenset([(n, kind), (m, kind2)]))
    return found


# -- the analysis --------------------------------------------------------------------------------------------------


def analysed(steps, group=0):
    """The same of records that the program leaves, in an order of threads that barriers allow."""
    log, signals, waits = AccessLog(), 0, 0
    for n, step in enumerate(steps):
        if step == "signal":
            signals += 1
        elif step == "wait":
            waits += 1
        else:
            for t, (kind, place) in [(t, a) for t, a in enumerate(step) if a]:
                who = {"group": group, "thread": t, "signals": signals, "waits": waits}
                where = {"instruction": 3 * n + KINDS[kind], "address": 64 * place, "size": 4, "space": LOCAL}
                log.add(1, **who, **where, kind=KINDS[kind], sequence=log.begin())
    found = Findings(Checking(frozenset([RACE])))
    races.report(log.records(), found, lambda space, address: "")
    return {frozenset((n // 3, kind) for n, kind in pair) for pair in pairs(found)}


def pairs(found):
    """The pairs of instructions with their kinds."""
    sides = [(f, f.message.split(": ")[1].split()) for f in found]
    return {
        frozenset([(f.site.instruction, LETTERS[w[1]]), (f.other.site.instruction, LETTERS[w[4]])]) for f, w in sides
    }


@effort(200)
@given(st.lists(STEP, max_size=6).map(halves))
def test_races_within_a_group_are_exactly_those_of_the_model(steps):
    assert analysed(steps) == modelled(steps)


# -- both engines --------------------------------------------------------------------------------------------------

HEAD = ['.version 4.1', '.kernel "k"', ".decl OUT v_type=G type=uq num_elts=1", ".input OUT offset=64 size=8",
        ".decl SHORT v_type=G type=uw num_elts=16 align=GRF", ".decl LANE v_type=G type=ud num_elts=16 align=GRF",
        ".decl TO v_type=G type=ud num_elts=16 align=GRF", ".decl X v_type=G type=ud num_elts=16 align=GRF",
        ".decl NUMBER v_type=G type=ud num_elts=1", ".decl P1 v_type=P num_elts=16",
        ".kernel_attr SimdSize=16", ".kernel_attr SLMSize=4",
        "mov (M1, 8) SHORT(0,0)<1> 0x76543210:uv", "add (M1, 8) SHORT(0,8)<1> SHORT(0,0)<1;1,0> 8:uw", "mov (M1, 16) LANE(0,0)<1> SHORT(0,0)<1;1,0>",
        "and (M1_NM, 1) NUMBER(0,0)<1> %r0(0,2)<0;1,0> 0xff:ud"]  # fmt: skip
MESSAGES = {
    "r": "gather_scaled.4 (M1, 16) %slm 0:ud TO.0 X.0",
    "w": "scatter_scaled.4 (M1, 16) %slm 0:ud TO.0 X.0",
    "a": "dword_atomic.add (M1, 16) %slm TO.0 %null.0 X.0 %null.0",
}
HALVES = {"signal": "sbarrier.signal", "wait": "sbarrier.wait"}


def text(steps):
    """A kernel with the steps, and the numbers of the instructions of each (step, thread)."""
    lines, numbers = list(HEAD), {}
    for n, step in enumerate(steps):
        if isinstance(step, str):
            lines.append(HALVES[step])
            continue
        for t, (kind, place) in [(t, a) for t, a in enumerate(step) if a]:
            lines += [f"mad (M1, 16) TO(0,0)<1> LANE(0,0)<1;1,0> 4:ud {64 * place}:ud",
                      f"cmp.ne (M1, 16) P1 NUMBER(0,0)<0;1,0> {t}:ud", f"(P1) goto (M1, 16) L{n}_{t}", MESSAGES[kind], f"L{n}_{t}:"]  # fmt: skip
    lines.append("ret (M1, 1)")
    instructions = [line for line in lines if not line.startswith(".")]
    for n, line in enumerate(instructions):
        if line.startswith("L"):
            step, t = map(int, line[1:-1].split("_"))
            numbers[n - 1] = step
    return "\n".join(lines), numbers


def findings(source, engine, items, local, args, schedule="", platform="pvc"):
    program = Program(build_text(source, platform))
    launch = Launch("k", (items, 1, 1), (local, 1, 1), (0, 0, 0), program.convert("k", args))
    bound = program.bind(launch, schedule=parse_schedule(schedule) if schedule else None)
    result = program.execute(replace(bound, findings=Findings(Checking(frozenset([RACE])))), engine)
    assert result.engine == engine
    return result.findings


@pytest.mark.parametrize("engine", ENGINES)
@effort(10)
@given(steps=st.lists(STEP, max_size=5).map(halves), schedule=st.sampled_from(["", "reverse", "random:3"]))
def test_both_engines_find_the_models_races_in_every_schedule(engine, steps, schedule):
    source, numbers = text(steps)
    found = findings(source, engine, 16 * THREADS, 16 * THREADS, [np.zeros(4, np.uint32)], schedule=schedule)
    assert {frozenset((numbers[n], k) for n, k in pair) for pair in pairs(found)} == modelled(steps)
    assert {f.code for f in found} <= {"K001"}


IN_GROUPS = st.lists(st.none() | ACCESS, min_size=4, max_size=4).map(tuple)
"""What two threads of two groups do."""


def text_of_groups(steps):
    """A kernel with the steps, in global memory."""
    lines = [line for line in HEAD if "SLMSize" not in line and ".decl TO " not in line]
    lines[4:4] = [".decl TO v_type=G type=uq num_elts=16 align=GRF"]
    lines += ["mad (M1_NM, 1) NUMBER(0,0)<1> %r0(0,1)<0;1,0> 2:ud NUMBER(0,0)<0;1,0>"]
    messages = {"r": "lsc_load.ugm (M1, 16) X:d32 flat[TO]:a64", "w": "lsc_store.ugm (M1, 16) flat[TO]:a64 X:d32",
                "a": "lsc_atomic_iadd.ugm (M1, 16) %null.0:d32 flat[TO]:a64 X %null.0"}  # fmt: skip
    for n, step in enumerate(steps):
        if isinstance(step, str):
            lines.append(HALVES.get(step, step))
            continue
        for t, (kind, place) in [(t, a) for t, a in enumerate(step) if a]:
            lines += [f"mad (M1, 16) TO(0,0)<1> LANE(0,0)<1;1,0> 4:ud {64 * place}:ud", "add (M1, 16) TO(0,0)<1> TO(0,0)<1;1,0> OUT(0,0)<0;1,0>",
                      f"cmp.ne (M1, 16) P1 NUMBER(0,0)<0;1,0> {t}:ud", f"(P1) goto (M1, 16) L{n}_{t}", messages[kind], f"L{n}_{t}:"]  # fmt: skip
    return "\n".join([*lines, "ret (M1, 1)"])


@pytest.mark.parametrize("halved", [False, True])
@effort(10)
@given(steps=st.lists(st.one_of(IN_GROUPS, IN_GROUPS, st.just("barrier")), max_size=7), where=st.integers(0, 7))
def test_a_second_run_only_for_racing_groups(halved, steps, where):
    """The launch runs again to record what races, and only then, but where an access lies between the halves of a
    barrier.
    """
    if halved:
        steps = [*steps[:where], "signal", *[s for s in steps[where : where + 2] if s != "barrier"], "wait", *steps[where + 2 :]]  # fmt: skip
    source, recorded = text_of_groups(steps), []
    with pytest.MonkeyPatch.context() as patch:
        whole = race_runs._Again.recorded
        patch.setattr(race_runs._Again, "recorded", lambda *given: recorded.append(given) or whole(*given))
        found = [list(findings(source, engine, 64, 32, [np.zeros(32, np.uint32)])) for engine in ENGINES]
    assert found[0] == found[1]
    assert halved or bool(recorded) == bool(found[0])


# -- raw messages --------------------------------------------------------------------------------------------------

FLAG = ['.version 4.1', '.kernel "k"', ".decl OUT v_type=G type=uq num_elts=1", ".input OUT offset=64 size=8",
        ".decl AT v_type=G type=uq num_elts=16 align=GRF", ".decl FLAG v_type=G type=uq num_elts=16 align=GRF",
        ".decl X v_type=G type=ud num_elts=16 align=GRF", ".decl ONE v_type=G type=ud num_elts=16 align=GRF",
        ".decl OLD v_type=G type=ud num_elts=16 align=GRF", ".decl P1 v_type=P num_elts=8", ".kernel_attr SimdSize=8",
        "mov (M1, 8) AT(0,0)<1> OUT(0,0)<0;1,0>", "add (M1, 8) FLAG(0,0)<1> AT(0,0)<1;1,0> 64:ud", "mov (M1, 8) ONE(0,0)<1> 1:ud",
        "cmp.ne (M1, 8) P1 %r0(0,1)<0;1,0> 0:ud", "(P1) goto (M1, 8) second",
        "svm_scatter.4.1 (M1, 8) AT.0 ONE.0", "FENCE", "svm_atomic.add (M1, 8) FLAG.0 OLD.0 ONE.0 %null.0", "goto (M1, 8) over",
        "second:", "svm_atomic.add (M1, 8) FLAG.0 OLD.0 ONE.0 %null.0", "FENCE", "svm_gather.4.1 (M1, 8) AT.0 X.0", "over:", "ret (M1, 1)"]  # fmt: skip
"""Group 0 writes, and says so with an atomic; group 1 finds it with one, and reads."""
RAW_FENCES = [
    ("lsc_fence.ugm.none.gpu", "raw_sends.15.1.0.0 (M1_NM, 1) 0xf:ud 0x200061f:ud ONE.0 %null.0 %null.0", True),
    ("lsc_fence.ugm.evict.group", "raw_sends.15.1.0.0 (M1_NM, 1) 0xf:ud 0x200101f:ud ONE.0 %null.0 %null.0", False),
    ("lsc_fence.slm.none.gpu", "raw_sends.14.1.0.0 (M1_NM, 1) 0xe:ud 0x200061f:ud ONE.0 %null.0 %null.0", False),
    ("lsc_fence.tgm.none.sysrel", "raw_sends.13.1.0.0 (M1_NM, 1) 0xd:ud 0x2000a1f:ud ONE.0 %null.0 %null.0", True),
    ("fence_global", "raw_send (M1_NM, 1) 0xa 1 1 0x219c000:ud ONE.0 X.0", True),
    ("fence_local", "raw_send (M1_NM, 1) 0xa 1 1 0x219c0fe:ud ONE.0 X.0", False),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("fence", "raw", "orders"), RAW_FENCES)
def test_raw_messages_that_are_fences_order_as_the_instructions_do(fence, raw, orders, engine):
    found = [
        list(findings("\n".join(FLAG).replace("FENCE", one), engine, 16, 8, [np.zeros(64, np.uint32)], platform="dg2"))
        for one in (fence, raw)
    ]
    assert found[0] == found[1]
    assert ([f.code for f in found[0]] == []) == orders


SWAP = (
    "mov (M1, 8) ONE(0,0)<1> {found}:ud\nmov (M1, 8) X(0,0)<1> 5:ud\nsvm_atomic.cmpxchg (M1, 8) FLAG.0 OLD.0 X.0 ONE.0"
)
ADD, READS = "svm_atomic.add (M1, 8) FLAG.0 OLD.0 ONE.0 %null.0", "svm_gather.4.1 (M1, 8) FLAG.0 X.0"
FLOATS = "mov (M1, 8) ONE(0,0)<1> {found}:ud\nmov (M1, 8) X(0,0)<1> 5:ud\n{op}"
FCMPWR = FLOATS.replace("{op}", "svm_atomic.fcmpwr (M1, 8) FLAG.0 OLD.0 X.0 ONE.0")
FCAS = FLOATS.replace("{op}", "lsc_atomic_fcas.ugm (M1, 8) OLD:d16u32 flat[FLAG]:a64 ONE X")
BFCAS = FCAS.replace("fcas", "bfcas")
LOOKS = [
    ({0: SWAP.format(found=7), 1: READS}, ["K003"], 0),
    ({0: SWAP.format(found=5), 1: READS}, ["K003", "K003"], 5),
    ({0: READS, 1: SWAP.format(found=7)}, ["K003"], 0),
    ({1: SWAP.format(found=7)}, [], 0),
    ({0: SWAP.format(found=7)}, ["K003"], 0),
    ({1: "lsc_atomic_load.ugm (M1, 8) OLD:d32 flat[FLAG]:a64 V0 V0"}, [], 0),
    ({0: FCMPWR.format(found=0x3F800000), 1: READS}, ["K003"], 0),
    ({0: FCMPWR.format(found=0x80000000), 1: READS}, ["K003", "K003"], 0),
    ({0: FCMPWR.format(found=0x7FC00000), 1: READS}, ["K003"], 0x7FC00000),
    ({0: FCAS.format(found=0x3C00), 1: READS}, ["K003"], 0),
    ({0: FCAS.format(found=0x8000), 1: READS}, ["K003", "K003"], 0),
    ({0: FCAS.format(found=0x7F80), 1: READS}, ["K003"], 0x7F80),
    ({0: BFCAS.format(found=0x7F80), 1: READS}, ["K003", "K003"], 0x7F80),
    ({0: BFCAS.format(found=0x7FC0), 1: READS}, ["K003"], 0x7FC0),
]  # fmt: skip
"""Replacements for the accesses of groups 0 and 1 to the flag, the findings, and the flag's first value.

Without a release or an acquire, the data written before race, too.
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("instead", "codes", "flag"), LOOKS)
def test_an_exchange_that_does_not_find_its_value_is_a_read(instead, codes, flag, engine):
    first, second, rest = "\n".join(FLAG).replace("FENCE", "lsc_fence.ugm.none.gpu").split(ADD)
    source = first + instead.get(0, ADD) + second + instead.get(1, ADD) + rest
    memory = np.zeros(64, np.uint32)
    memory[16] = flag
    platform = "cri" if "bfcas" in source else "dg2"
    found = findings(source, engine, 16, 8, [memory], platform=platform)
    assert [f.code for f in found] == codes, [f.message for f in found]


RAW_ACCESSES = [
    ("svm_scatter.4.1 (M1, 8) AT.0 ONE.0", f"raw_sends.12.2.1.0 (M1, 8) 0xc:ud {2 << 25 | 0x1A << 14 | 1 << 8 | 255:#x}:ud AT.0 ONE.0 %null.0"),
    ("svm_gather.4.1 (M1, 8) AT.0 X.0", f"raw_send (M1, 8) 0xc 2 1 {2 << 25 | 0x10 << 14 | 1 << 8 | 255:#x}:ud AT.0 X.0"),
    ("svm_atomic.add (M1, 8) FLAG.0 OLD.0 ONE.0 %null.0", f"raw_sends.12.2.1.1 (M1, 8) 0xc:ud {2 << 25 | 0x12 << 14 | 7 << 8 | 1 << 13 | 255:#x}:ud FLAG.0 ONE.0 OLD.0"),
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_raw_messages_race_as_the_instructions_do(engine):
    plain = "\n".join(FLAG).replace("FENCE", "fence_local")
    raw = plain
    for one, other in RAW_ACCESSES:
        assert one in raw
        raw = raw.replace(one, other)
    found = [list(findings(text, engine, 16, 8, [np.zeros(64, np.uint32)], platform="dg2")) for text in (plain, raw)]
    assert found[0] == found[1] != []


def test_a_kernel_is_looked_through_once(monkeypatch):
    """Later launches of a kernel reuse its analysis."""
    source, _ = text([])
    program, looked = Program(build_text(source, "pvc")), []
    find = race.reachable
    monkeypatch.setattr(race, "reachable", lambda *given: looked.append(given) or find(*given))
    for _ in range(3):
        program.launch("k", 16, 16, [np.zeros(4, np.uint32)], engine="llvm", check="race")
    assert len(looked) == 1


# -- parts of dwords -----------------------------------------------------------------------------------------------

PART = st.tuples(
    st.sampled_from(["load", "store"]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from(["", 0, 1, 2, 3, 4, 8]),
    st.sampled_from([0, 8, 16, 17, 32, 34, 64]),
    st.integers(0, 5),
    st.sampled_from([16, 16, 7]),
)
"""An access: kind, bytes, bytes between lanes (an argument if empty) and between threads, first byte, lanes."""


def text_of_parts(accesses):
    """A kernel with such accesses, with a barrier in front of some."""
    lines = [line for line in HEAD if "SLMSize" not in line and ".decl TO " not in line]
    lines[4:4] = [".decl TO v_type=G type=uq num_elts=16 align=GRF", ".decl AT v_type=G type=ud num_elts=16 align=GRF",
                  ".decl STEP v_type=G type=ud num_elts=1", ".decl FROM v_type=G type=ud num_elts=1", ".input STEP offset=72 size=4"]  # fmt: skip
    for n, (what, size, stride, step, start, lanes) in enumerate(accesses):
        value = f"X:{f'd{8 * size}u32' if size < 4 else 'd32'}"
        lines += ["barrier"] * (start == 5)
        lines += [f"mad (M1_NM, 1) FROM(0,0)<1> NUMBER(0,0)<0;1,0> {step}:ud {start}:ud",
                  f"mad (M1, 16) AT(0,0)<1> LANE(0,0)<1;1,0> {'STEP(0,0)<0;1,0>' if stride == '' else f'{stride}:ud'} FROM(0,0)<0;1,0>",
                  "add (M1, 16) TO(0,0)<1> AT(0,0)<1;1,0> OUT(0,0)<0;1,0>", "mov (M1, 16) X(0,0)<1> LANE(0,0)<1;1,0>",
                  f"cmp.ge (M1, 16) P1 LANE(0,0)<1;1,0> {lanes}:ud", f"(P1) goto (M1, 16) L{n}",
                  f"lsc_load.ugm (M1, 16) {value} flat[TO]:a64" if what == "load" else f"lsc_store.ugm (M1, 16) flat[TO]:a64 {value}", f"L{n}:"]  # fmt: skip
    return "\n".join([*lines, "ret (M1, 1)"])


@pytest.mark.parametrize("finer", [False, True])
@effort(5)
@given(accesses=st.lists(PART, min_size=1, max_size=4), stride=st.sampled_from([1, 2, 3, 5]), shift=st.integers(0, 3))
def test_bytes_and_words_race_as_in_the_reference(finer, accesses, stride, shift):
    """Whether threads share dwords or bytes; ``finer``: as where more dwords are suspicious than can be recorded, a
    window of memory after the other.
    """
    source, found = text_of_parts(accesses), []
    for engine in ENGINES:
        memory = np.zeros(1024, np.uint8)[shift:]
        with pytest.MonkeyPatch.context() as patch:
            if finer:
                patch.setattr(race_runs.RaceRun, "is_too_coarse", property(lambda run: run.block.has_narrow))
                patch.setattr(race_runs, "SMALLEST_WINDOW", 16)
            found.append(list(findings(source, engine, 128, 64, [memory, stride])))
    assert found[0] == found[1]


def test_words_of_memory_at_an_odd_place_are_watched_from_its_first_byte_on(monkeypatch):
    """The word that is written begins in a unit that begins in front of the memory."""
    monkeypatch.setattr(race_runs.RaceRun, "is_too_coarse", property(lambda run: run.block.has_narrow))
    source = text_of_parts([("store", 2, 2, 64, 0, 1), ("load", 1, 1, 0, 0, 1)])
    found = [list(findings(source, engine, 128, 64, [np.zeros(1024, np.uint8)[3:], 1])) for engine in ENGINES]
    assert found[0] == found[1] != []


@pytest.mark.parametrize("engine", ENGINES)
def test_races_before_a_fault_are_found(engine):
    """The launch reports the races in front of the fault, and memory has the contents of the faulting launch."""
    memory = np.zeros(1024, np.uint8)
    source = text_of_parts([("store", 4, 4, 0, 4, 16), ("load", 4, 4, 0, 5, 16), ("store", 4, 4, 0, 1 << 20, 16)])
    program = Program(build_text(source, "pvc"))
    with pytest.raises(SimulationError) as caught:
        program.launch("k", 128, 64, [memory, 1], engine=engine, check="race")
    assert [d.code for d in caught.value.diagnostics] == ["S030", "K001", "K093"]
    assert memory[4:68].view(np.uint32).tolist() == list(range(16))


@pytest.mark.parametrize("shift", [0, 3])
def test_writes_of_the_program_during_a_second_run_stay(monkeypatch, shift):
    """The program's writes survive the second run, and so do those of the launch."""
    memory = np.zeros(1 << 21, np.uint8)[shift:]
    prepare = race_runs.RaceRun.prepare

    def prepared(run, plan):
        prepare(run, plan)
        if run.units is not None:
            memory[[600, 1 << 20, -1]] = 77

    monkeypatch.setattr(race_runs.RaceRun, "prepare", prepared)
    found = findings(
        text_of_parts([("store", 4, 4, 0, 4, 16), ("store", 1, 4, 64, 0, 7)]), "llvm", 128, 64, [memory, 1]
    )
    assert [f.code for f in found] != []
    assert memory[[600, 1 << 20, -1]].tolist() == [77, 77, 77]
    assert memory[4:68].any() and memory[600:].sum() == 3 * 77


@effort(50)
@given(
    memories=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 300)), min_size=1, max_size=12),
    written=st.sets(st.integers(0, 700)),
)
def test_few_windows_contain_all_writes(memories, written):
    """In one memory or in many; each has at most an eighth of all bytes, without the gaps between memories."""
    places, end = [], 64
    for gap, size in memories:
        places.append((end + gap, size))
        end += gap + size
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(race_runs, "SMALLEST_WINDOW", 32)
        found = race_runs.windows(places, lambda first, size: any(first <= b < first + size for b in written))
    if not written & {b for first, size in places for b in range(first, first + size)}:
        return
    assert all(any(f <= b < f + s for f, s in found) for p, n in places for b in written & set(range(p, p + n)))
    inside = [sum(max(min(p + n, f + s) - max(p, f), 0) for p, n in places) for f, s in found]
    assert len(found) <= 10 and max(inside) <= max(32, sum(size for _, size in places) // 8) + 3 * len(places)
