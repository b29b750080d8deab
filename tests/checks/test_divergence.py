"""The check of divergence: defects and their mended twins, on both engines, in all orders."""

import re

import numpy as np
import pytest
from support.programs import build_text
from support.strategies import ENGINES, rotated
from support.waiting import CALL, HEAD, TAIL, function

from visakit import SimulationError
from vsim.program import Program

LANES, THREADS, GROUPS = 16, 4, 3
ITEMS = LANES * THREADS
SCHEDULES = ("", "round-robin")
LANES_ON = "cmp.lt (M1, 16) P1 LANE(0,0)<1;1,0> 5:ud"
NOBODY = "cmp.lt (M1, 16) P1 LANE(0,0)<1;1,0> 0:ud"
ODD_THREADS = ["and (M1_NM, 1) X(0,0)<1> NUMBER(0,0)<0;1,0> 1:ud", "cmp.ne (M1_NM, 16) P1 X(0,0)<0;1,0> 0:ud"]
EVEN_GROUPS = ["and (M1_NM, 1) X(0,0)<1> %r0(0,1)<0;1,0> 1:ud", "cmp.eq (M1_NM, 16) P1 X(0,0)<0;1,0> 0:ud"]
SPLIT = ["sbarrier.signal", "sbarrier.wait"]


def around(condition, lines):
    """Lines that the lanes or threads of a condition go around."""
    return [*condition, "(P1) goto (M1, 16) over", *lines, "over:"]


def either(condition, lines, others):
    """Lines of a branch: these or the other ones, by a condition."""
    return [*condition, "(P1) jmp (M1, 1) other", *lines, "jmp (M1, 1) over", "other:", *others, "over:"]


def loop(counts):
    """A barrier in a loop that lanes go round as often as their number in a variable says, and once more."""
    return [f"mov (M1, 16) N(0,0)<1> {counts}", "again:", "barrier", "cmp.gt (M1, 16) P1 N(0,0)<1;1,0> 0:ud",
            "add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> -1:d", "(P1) goto (M1, 16) again"]  # fmt: skip


def over_waiting(jump):
    """Lanes wait at a label that the others jump over."""
    return [LANES_ON, "(P1) goto (M1, 16) waiting", jump, "waiting:", "mov (M1, 16) N(0,0)<1> 1:ud", "over:"]


ODD_IN_P2 = [line.replace("P1", "P2") for line in ODD_THREADS]
NO_P2 = [NOBODY.replace("P1", "P2")]
NAMED = ["nbarrier.signal 3:ub 4:ub", "nbarrier.wait 3:ub"]
SWITCH = ["mov (M1_NM, 1) X(0,0)<1> 1:ud", *over_waiting("switchjmp (M1, 1) X(0,0)<0;1,0> (waiting, over)")]
TWO_LABELS = [LANES_ON, "(P1) goto (M1, 16) second", "cmp.lt (M1, 16) P1 LANE(0,0)<1;1,0> 7:ud",
              "(P1) goto (M1, 16) first", "jmp (M1, 1) over", "first:", "mov (M1, 16) N(0,0)<1> 1:ud", "second:",
              "mov (M1, 16) N(0,0)<1> 2:ud", "over:"]  # fmt: skip
BLOCK = "lsc_load.slm (M1, 1) N:d32x4t flat[X]:a32"
BARRIER_IN_F = function("f", ["barrier"])
F_AROUND = function("f", around([LANES_ON], ["barrier"]))
PAIRS = {
    "K021 branch": (around([LANES_ON], ["barrier"]), around([NOBODY], ["barrier"])),
    "K021 inverse branch": (around(["cmp.ge (M1, 16) P1 LANE(0,0)<1;1,0> 5:ud"], ["barrier"]), [LANES_ON, "barrier"]),
    "K021 second barrier": (["barrier", *around([LANES_ON], ["barrier"])], ["barrier", "barrier"]),
    "K021 split": (around([LANES_ON], SPLIT), around([NOBODY], SPLIT)),
    "K021 wait alone": (["sbarrier.signal", *around([LANES_ON], ["sbarrier.wait"])], SPLIT),
    "K021 signal alone": ([*around([LANES_ON], ["sbarrier.signal"]), "sbarrier.wait"], SPLIT),
    "K021 early return": ([LANES_ON, "(P1) ret (M1, 16)", "barrier"], [NOBODY, "(P1) ret (M1, 16)", "barrier"]),
    "K021 loop": (loop("LANE(0,0)<1;1,0>"), loop("3:ud")),
    "K021 both ways": ([*around([LANES_ON], ["barrier"])[:-1], "goto (M1, 16) end", "over:", "barrier", "end:"], ["barrier"]),
    "K021 call": ((around([LANES_ON], CALL), BARRIER_IN_F), (CALL, BARRIER_IN_F)),
    "K021 in a function": ((CALL, F_AROUND), (CALL, function("f", around([NOBODY], ["barrier"])))),
    "K021 named": (around([LANES_ON], NAMED), around([NOBODY], NAMED)),
    "K023 jump": (over_waiting("jmp (M1, 1) over"), over_waiting("goto (M1, 1) over")),
    "K023 to the label": (over_waiting("jmp (M1, 1) over"), over_waiting("jmp (M1, 1) waiting")),
    "K023 predicate": ([*ODD_IN_P2, *over_waiting("(P2) jmp (M1, 1) over")], [*NO_P2, *over_waiting("(P2) jmp (M1, 1) over")]),
    "K023 in a function": ((CALL, function("f", over_waiting("jmp (M1, 1) over"))), (CALL, function("f", over_waiting("goto (M1, 1) over")))),
    "K023 switch": (SWITCH, [NOBODY if line == LANES_ON else line for line in SWITCH]),
    "K023 two labels": (TWO_LABELS, [line.replace("jmp", "goto") for line in TWO_LABELS]),
    "K024 return": (over_waiting("ret (M1, 1)"), over_waiting("ret (M1, 16)")),
    "K024 predicate": ([*ODD_IN_P2, *over_waiting("(P2) ret (M1, 1)")], [*NO_P2, *over_waiting("(P2) ret (M1, 1)")]),
    "K025 block": (around([LANES_ON], [BLOCK]), around([LANES_ON], [BLOCK.replace("M1", "M1_NM")])),
    "K025 lane on": (around([LANES_ON], [BLOCK]), around(["cmp.ge (M1, 16) P1 LANE(0,0)<1;1,0> 5:ud"], [BLOCK])),
    "K022 two barriers": (either(ODD_THREADS, ["barrier"], ["barrier"]), either(EVEN_GROUPS, ["barrier"], ["barrier"])),
    "K022 half of them split": (either(ODD_THREADS, ["barrier"], SPLIT), either(EVEN_GROUPS, ["barrier"], SPLIT)),
    "K022 behind another": (["barrier", *either(ODD_THREADS, ["barrier"], ["barrier"]), "barrier"],
                            ["barrier", *either(EVEN_GROUPS, ["barrier"], ["barrier"]), "barrier"]),
    "K022 function": ((either(ODD_THREADS, ["barrier"], CALL), BARRIER_IN_F), (either(EVEN_GROUPS, ["barrier"], CALL), BARRIER_IN_F)),
}  # fmt: skip


def kernel(lines, *functions):
    return "\n".join([*HEAD, *lines, *TAIL, *(line for found in functions for line in found)])


def at_width(source, lanes):
    """A kernel for threads with another number of lanes, which stores no results."""
    found = re.sub(r"(M1(_NM)?, )16\)", rf"\g<1>{lanes})", source)
    for words in ("num_elts={}", "SimdSize={}", "NUMBER(0,0)<0;1,0> {}:ud"):
        found = found.replace(words.format(LANES), words.format(max(lanes, LANES) if words[0] == "n" else lanes))
    upper = "add (M1, 16) SHORT(0,16)<1> SHORT(0,0)<1;1,0> 16:uw\n" if lanes > LANES else ""
    found = found.replace("mov (M1, 32) LANE", f"{upper}mov (M1, 32) LANE", 1)
    return "\n".join(line for line in found.split("\n") if "AT" not in line)


def findings(program, engine, schedule="", lanes=LANES):
    source = kernel(*program) if isinstance(program, tuple) else kernel(program)
    items, out = lanes * THREADS, np.zeros(ITEMS * GROUPS, np.uint32)
    result = Program(build_text(source if lanes == LANES else at_width(source, lanes), "pvc")).launch(
        "k", items * GROUPS, items, [out], engine=engine, check="divergence", schedule=schedule
    )
    assert result.engine == engine
    return result.findings


@pytest.mark.parametrize("name", PAIRS)
def test_defects_are_found_and_their_mended_twins_are_not(name):
    """Both engines find the same in every order of groups and threads."""
    defect, twin = PAIRS[name]
    wanted = findings(defect, "numpy")
    assert {f.code for f in wanted} == {name[:4]}
    for engine in ENGINES:
        for schedule in SCHEDULES:
            assert findings(defect, engine, schedule) == wanted, (engine, schedule)
        assert findings(twin, engine) == [], engine


@pytest.mark.parametrize(("name", "lanes"), rotated(PAIRS, (8, 32)))
def test_defects_are_found_with_any_number_of_lanes(name, lanes):
    defect, twin = PAIRS[name]
    wanted = findings(defect, "numpy", lanes=lanes)
    assert {f.code for f in wanted} == {name[:4]}
    assert findings(defect, "llvm", lanes=lanes) == wanted
    assert [findings(twin, engine, lanes=lanes) for engine in ENGINES] == [[], []]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_side_that_waits_has_the_first_label_and_lane(engine):
    """Lanes 0 to 4 wait further down than lanes 5 and 6: the first lane of all is named, and the first label."""
    (found,) = findings(PAIRS["K023 two labels"][0], engine)
    assert found.other is not None
    assert (found.who.lane, found.count, found.other.kind) == (0, THREADS * GROUPS, "wait")
    assert found.other.site.instruction - found.site.instruction == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_the_other_side_of_two_barriers_is_thread_0(engine):
    (found,) = findings(PAIRS["K022 behind another"][0], engine)
    other = found.other
    assert (found.who, found.count, other.who, other.kind) == ((0, 1, -1, 1), 6, (0, 0, -1, 1), "barrier")
    assert (found.site, other.site) == ((0, 13), (0, 10))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("lines", (["barrier"], SPLIT, ["nbarrier.signal 3:ub 4:ub", "nbarrier.wait 3:ub"]))
def test_a_deadlock_at_a_barrier_names_the_place_of_the_other_threads(lines, engine):
    """Two of four threads go around it: they have ended."""
    with pytest.raises(SimulationError) as fault:
        findings(around(ODD_THREADS, lines), engine)
    first, second = fault.value.diagnostics
    assert (first.code, second.code) == ("S030", "K020")
    assert "never reaches: 2 of its 4 threads have ended, the others wait, at '" in second.message
    assert "thread 0, work-group (0, 0, 0)" in second.message
