"""Which lanes calls, jumps and returns take: every mask, size and predicate, in divergent flow, against the manual's sentences."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.probe import LANES, Probe
from support.strategies import ENGINES, RUNNING, effort

EVERYBODY = (1 << LANES) - 1
BOTH = "add (M1, 16) COUNT(0,0)<1> COUNT(0,0)<1;1,0> 1:ud"
SHARED = [f".decl COUNT v_type=G type=ud num_elts={LANES} align=GRF alias=<%arg, 0>"]
FUNCTION = ['.global_function "f"', *SHARED, ".kernel_attr SimdSize=16", ".kernel_attr ArgSize=2", ".kernel_attr RetValSize=0"]  # fmt: skip

EXECUTIONS = st.sampled_from([1, 2, 4, 8, 16, 32]).flatmap(
    lambda size: st.tuples(st.sampled_from([m for m in range(1, 9) if 4 * (m - 1) + size <= 32 and not 4 * (m - 1) % size]), st.just(size))
)  # fmt: skip
PREDICATES = st.sampled_from(["", "P", "!P", "P.any", "P.all", "!P.any"])


def part_of(mask, size):
    """The lanes that a mask and size stand for, as bits; of size 1 those of the whole thread."""
    return EVERYBODY if size == 1 else ((1 << size) - 1) << 4 * (mask - 1) & EVERYBODY


def predicated(predicate, bits, mask, size):
    """The lanes of the part for which a predicate holds; a single bit speaks for all, any and all for the predicate."""
    if not predicate:
        return EVERYBODY
    first = 4 * (mask - 1)
    own = [bits >> lane & 1 if lane < LANES else 0 for lane in range(first, first + size)]
    if predicate.endswith("any"):
        own = [bits & EVERYBODY != 0] * size
    elif predicate.endswith("all"):
        own = [bits & EVERYBODY == EVERYBODY] * size
    if predicate.startswith("!"):
        own = [not bit for bit in own]
    if size == 1:
        return EVERYBODY if own[0] else 0
    return sum(bit << first + lane for lane, bit in enumerate(own)) & EVERYBODY


def counted(lines, running, predicate, subroutines=(), functions=()):
    """The counts of each lane, on which the engines agree."""
    found = []
    for engine in ENGINES:
        probe = Probe(running=running)
        probe.variable("TOTAL", "ud", [0] * LANES)
        probe.predicate("P", predicate)
        probe.declarations += [*SHARED, ".decl TARGET v_type=G type=ud num_elts=1"]
        probe.lines += ["mov (M1_NM, 16) COUNT(0,0)<1> 0:ud", *lines, "mov (M1_NM, 16) TOTAL(0,0)<1> COUNT(0,0)<1;1,0>"]
        probe.subroutines, probe.functions = list(subroutines), list(functions)
        found.append(probe.run(engine)["TOTAL"][:LANES].tolist())
    assert found[0] == found[1]
    return found[0]


def counts(*masks):
    """How many of the masks hold for each lane."""
    return [sum(mask >> lane & 1 for mask in masks) for lane in range(LANES)]


@effort(8, 0.4, shrink=False)
@given(st.sampled_from(["call", "fcall", "ifcall"]), EXECUTIONS, st.booleans(), PREDICATES, RUNNING, RUNNING)
@example("fcall", (3, 8), False, "", EVERYBODY, 0)
@example("ifcall", (3, 8), False, "", EVERYBODY, 0)
@example("call", (1, 8), False, "", 0x7FF, 0)
@example("fcall", (1, 1), True, "", 0xF00F, 0)
@example("ifcall", (1, 1), True, "P", 0xF00F, 1)
@example("call", (1, 1), True, "!P", 0xF00F, 0)
@example("fcall", (1, 16), True, "P", 0x00FF, 0x0FF0)
def test_call_mask(kind, execution, no_mask, predicate, running, bits):
    mask, size = execution
    target = {"call": "f_0", "fcall": "f 2 0", "ifcall": "TARGET(0,0)<0;1,0> 2 0"}[kind]
    guard = f"({predicate}) " if predicate else ""
    call = f"{guard}{kind} (M{mask}{'_NM' if no_mask else ''}, {size}) {target}"
    entered = part_of(mask, size) & predicated(predicate, bits, mask, size)
    if running == 0:
        entered = 0  # no lane comes to the call
    elif size > 1 and not no_mask:
        entered &= running
    subroutines = ["f_0:", BOTH, "ret (M1, 16)"] if kind == "call" else []
    functions = [] if kind == "call" else [*FUNCTION, BOTH, "fret (M1, 16)"]
    address = ["faddr f TARGET(0,0)<1>"] if kind == "ifcall" else []
    found = counted([*address, call, BOTH], running, bits, subroutines, functions)
    assert found == counts(entered, running)


@effort(6, 0.3, shrink=False)
@given(EXECUTIONS, PREDICATES, RUNNING, RUNNING)
@example((3, 8), "", EVERYBODY, 0)
@example((1, 8), "P.any", EVERYBODY, 1)
@example((1, 4), "", 0xF0, 0)
def test_lanes_that_jump(execution, predicate, running, bits):
    mask, size = execution
    if size == 1:
        mask = 1  # a scalar jump looks at the first bit, with any and all at the whole predicate
    guard = f"({predicate}) " if predicate else ""
    found = counted([f"{guard}goto (M{mask}, {size}) on", BOTH, "on:", BOTH], running, bits)
    taken = part_of(mask, size) & predicated(predicate, bits, mask, size)
    assert found == counts(running & ~taken, running)


@effort(6, 0.3, shrink=False)
@given(st.sampled_from(["ret", "fret"]), EXECUTIONS, PREDICATES, RUNNING, RUNNING)
@example("fret", (3, 8), "", EVERYBODY, 0)
@example("ret", (1, 4), "P", 0xFF, 3)
def test_lanes_that_return(kind, execution, predicate, running, bits):
    mask, size = execution
    guard = f"({predicate}) " if predicate else ""
    body = [f"{guard}{kind} (M{mask}, {size})", BOTH, f"{kind} (M1, 16)"]
    if kind == "ret":
        found = counted(["call (M1, 16) s", BOTH], running, bits, ["s:", *body])
    else:
        predicates = [".decl P v_type=P num_elts=16", f"setp (M1_NM, 16) P {bits:#x}:ud"]
        found = counted(["fcall (M1, 16) f 2 0", BOTH], running, bits, functions=[*FUNCTION, *predicates, *body])
    left = part_of(mask, size) & predicated(predicate, bits, mask, size)
    assert found == counts(running & ~left, running)


@effort(10, 0.4, shrink=False)
@given(
    st.sampled_from([1, 2, 3, 7, 8, 16, 24, 32]),
    EXECUTIONS,
    st.booleans(),
    st.booleans(),
    RUNNING,
    st.integers(0, 2**32 - 1),
)
@example(16, (1, 1), True, False, EVERYBODY, 0x8000)
@example(8, (1, 16), False, False, EVERYBODY, 0xFF)
@example(32, (5, 16), True, True, 0xF0, 0)
def test_any_and_all_ask_for_the_bits_that_a_predicate_has(width, execution, no_mask, inverse, running, bits):
    """However many lanes the instruction has, and whichever: in moves, choices, comparisons of a jump and messages."""
    mask, size = execution
    offset, own = 4 * (mask - 1), bits & (1 << width) - 1
    runs = [running != 0 and (no_mask or running >> offset + i & 1) for i in range(size)]
    lanes, sign = f"(M{mask}{'_NM' if no_mask else ''}, {size})", "!" if inverse else ""
    for engine in ENGINES:
        probe = Probe(running=running)
        probe.fill(MOVED=("ud", [0] * 32), CHOSEN=("ud", [0] * 32), JUMPED=("ud", [0] * 16), SENT=("ud", [7] * 16))
        probe.buffer("MEMORY", bytes(64))
        probe.declarations.append(f".decl P v_type=P num_elts={width}")
        probe.lines.append(f"setp (M1_NM, {1 << (width - 1).bit_length()}) P {bits:#x}:ud")
        for mode, value in (("any", 1), ("all", 2)):
            column = 16 * (value - 1)
            at, guard = f"({column // 8},0)", f"({sign}P.{mode})"
            if size <= 16:
                probe.lines += [
                    f"{guard} mov {lanes} MOVED{at}<1> {value}:ud",
                    f"{guard} sel {lanes} CHOSEN{at}<1> {value}:ud {value + 5}:ud",
                ]
            probe.lines += [
                f"{guard} jmp (M1, 1) over{value}",
                f"mov (M1_NM, 1) JUMPED(0,{value})<1> 1:ud",
                f"over{value}:",
            ]
        probe.lines.append(f"({sign}P.any) svm_scatter.4.1 (M1_NM, 1) MEMORY.0 SENT.0")
        found = probe.run(engine)
        for n, holds in enumerate((own != 0, own == (1 << width) - 1)):
            taken = holds != inverse
            part = slice(16 * n, 16 * n + size)
            if size <= 16:
                assert found["MOVED"][part].tolist() == [n + 1 if run and taken else 0 for run in runs]
                assert found["CHOSEN"][part].tolist() == [(n + 1 if taken else n + 6) if run else 0 for run in runs]
            assert found["JUMPED"][n + 1] == (running != 0 and not taken)
        assert found["MEMORY"][0] == (7 if running and (own != 0) != inverse else 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_lanes_of_a_scalar_call_keep_their_values(engine):
    """A subroutine that lanes run which do not run around it reads what these wrote, and not what others would have."""
    probe = Probe(running=0x0F0F)
    probe.variable("X", "ud", range(LANES))
    probe.variable("SEEN", "ud", [0] * LANES)
    probe.lines += ["add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 100:ud", "call (M1_NM, 1) s"]
    probe.subroutines = ["s:", "add (M1, 16) SEEN(0,0)<1> X(0,0)<1;1,0> 1000:ud", "ret (M1, 16)"]
    wanted = [1000 + lane + (100 if 0x0F0F >> lane & 1 else 0) for lane in range(LANES)]
    assert probe.run(engine)["SEEN"][:LANES].tolist() == wanted


@pytest.mark.parametrize("engine", ENGINES)
def test_a_jump_of_no_lane_calls_nothing(engine):
    """A predicated call that no lane takes does not look at its address."""
    probe = Probe()
    probe.variable("X", "ud", [7] * LANES)
    probe.predicate("P", 0)
    probe.declarations += [".decl NOWHERE v_type=G type=ud num_elts=1"]
    probe.lines += ["mov (M1_NM, 1) NOWHERE(0,0)<1> 0:ud", "(P) ifcall (M1, 16) NOWHERE(0,0)<0;1,0> 0 0"]
    assert probe.run(engine)["X"][:LANES].tolist() == [7] * LANES
