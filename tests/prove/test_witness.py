"""Witnesses: launches that come to a line or go one way at a branch, and places that no launch reaches."""

import pytest
from support.programs import build_text

pytest.importorskip("z3", reason="proofs need z3-solver")

from prove.test_kernels import END, GUARDED, HEAD, LOOP, NEXT, OWN
from visakit.diagnostics import DebugError
from vsim.debug.places import Places, Spot
from vsim.program import Program
from vsim.prove.assumptions import Assumption
from vsim.prove.cover import CoveringLaunch, all_goals, cover, needed_launches
from vsim.prove.goals import Goal
from vsim.prove.refutation import ENGINES
from vsim.prove.subject import Subject
from vsim.prove.witness import GoalOutcome, WitnessSearch, executed_places

LOADED = OWN.replace("svm_scatter", "svm_gather").replace("mov (M1, 16) V(0,0)<1> ITEM(0,0)<1;1,0>\n", "")


def search(lines, *assumptions, platform="tgllp", **options):
    program = Program(build_text(HEAD + lines + END, platform))
    subject = Subject(program, "k", [Assumption(text, "--assume") for text in assumptions], (16,))
    return WitnessSearch(subject, 60, **options)


def goal(found, mnemonic, way=None):
    """The last instruction of a mnemonic as a goal."""
    function = found.launch.kernel
    numbers = [n for n, i in enumerate(function.instructions) if i.desc.mnemonic.startswith(mnemonic)]
    return Goal(mnemonic, ((function, numbers[-1]),), way)


def outcome(lines, *assumptions, mnemonic="svm_scatter", way=None):
    found = search(lines, *assumptions)
    return found.find(goal(found, mnemonic, way)).outcome


def test_a_witness_comes_to_its_place_on_both_engines():
    found = search(GUARDED.format(condition="ge") + OWN)
    own = goal(found, "svm_scatter")
    witness = found.find(own)
    assert witness.outcome is GoalOutcome.REACHED and not witness.fault
    for engine in ENGINES:
        places = executed_places(found.subject, witness.launch, engine, 30)
        assert places.shows(own)


@pytest.mark.parametrize(
    ("assumptions", "taken", "not_taken"),
    [
        ([], GoalOutcome.REACHED, GoalOutcome.REACHED),
        (["N <= 0"], GoalOutcome.REACHED, GoalOutcome.UNREACHABLE),
        (["N >= global_size"], GoalOutcome.UNREACHABLE, GoalOutcome.REACHED),
    ],
)
def test_both_ways_of_a_branch(assumptions, taken, not_taken):
    lines = GUARDED.format(condition="ge") + OWN
    assert outcome(lines, *assumptions, mnemonic="goto", way=True) is taken
    assert outcome(lines, *assumptions, mnemonic="goto", way=False) is not_taken


def test_a_place_that_contents_of_memory_lead_to():
    """The array must have the number 77 in an element that the kernel loads."""
    after = "cmp.ne (M1, 16) P1 V(0,0)<1;1,0> 77:ud\n(P1) goto (M1, 16) out\nbarrier\n"
    found = search(LOADED + after)
    witness = found.find(goal(found, "barrier"))
    assert witness.outcome is GoalOutcome.REACHED
    assert 77 in witness.launch.args[0].array.view("u4")


def test_a_place_behind_conditions_that_exclude_each_other():
    lines = GUARDED.format(condition="ge") + GUARDED.format(condition="lt") + OWN
    assert outcome(lines) is GoalOutcome.UNREACHABLE


def test_a_place_in_a_loop():
    body = "cmp.lt (M1, 16) P1 I(0,0)<0;1,0> 3:d\n(P1) goto (M1, 16) next\n" + OWN + "next:\n"
    lines = LOOP.format(start="0:d") + body + NEXT.format(step=1)
    assert outcome(lines) is GoalOutcome.REACHED
    assert outcome(lines, "N <= 3") is GoalOutcome.UNREACHABLE


def test_ways_that_are_known_without_inputs():
    again = "add (M1_NM, 1) I(0,0)<1> I(0,0)<0;1,0> 1:d\ncmp.lt (M1_NM, 1) P2 I(0,0)<0;1,0> {count}:d\n"
    lines = "mov (M1_NM, 1) I(0,0)<1> 0:d\nagain:\n" + again + "(P2) jmp (M1, 1) again\n" + OWN
    for count, taken in ((3, GoalOutcome.REACHED), (1, GoalOutcome.UNREACHABLE)):
        assert outcome(lines.format(count=count), mnemonic="jmp", way=True) is taken
        assert outcome(lines.format(count=count), mnemonic="jmp", way=False) is GoalOutcome.REACHED


LOAD = OWN.replace("ITEM(0,0)<1;1,0>", "I(0,0)<0;1,0>").replace("mov (M1, 16) V(0,0)<1> I(0,0)<0;1,0>\n", "")
LOAD = LOAD.replace("svm_scatter", "svm_gather")


def test_a_place_behind_a_loop_that_needs_a_sum_of_elements():
    """The loop adds up elements of the array, of which a closed loop knows nothing."""
    load = LOAD + "add (M1, 16) J(0,0)<1> J(0,0)<1;1,0> V(0,0)<1;1,0>\n"
    lines = "mov (M1, 16) J(0,0)<1> 0:d\n" + LOOP.format(start="0:d") + load + NEXT.format(step=1)
    found = search(lines + "cmp.ne (M1, 16) P1 J(0,0)<1;1,0> 77:d\n(P1) goto (M1, 16) out\nbarrier\n")
    witness = found.find(goal(found, "barrier"))
    assert witness.outcome is GoalOutcome.REACHED
    rounds = int.from_bytes(witness.launch.args[1].data, "little")
    assert witness.launch.args[0].array.view("u4")[:rounds].sum(dtype="u4") == 77


@pytest.mark.parametrize(("rounds", "wanted"), [(4, GoalOutcome.UNKNOWN), (6, GoalOutcome.REACHED)])
def test_a_place_that_needs_more_rounds(rounds, wanted):
    count = "cmp.eq (M1, 16) P1 V(0,0)<1;1,0> 7:ud\n(P1) add (M1, 16) J(0,0)<1> J(0,0)<1;1,0> 1:d\n"
    lines = "mov (M1, 16) J(0,0)<1> 0:d\n" + LOOP.format(start="0:d") + LOAD + count + NEXT.format(step=1)
    found = search(lines + "cmp.lt (M1, 16) P1 J(0,0)<1;1,0> 5:d\n(P1) goto (M1, 16) out\nbarrier\n", rounds=rounds)
    assert found.find(goal(found, "barrier")).outcome is wanted


def test_unsupported_instructions_are_unknown():
    found = search("nbarrier.wait 1:ub\n" + OWN, platform="pvc")
    witness = found.find(goal(found, "svm_scatter"))
    assert witness.outcome is GoalOutcome.UNKNOWN
    assert witness.places[0].instruction.desc.mnemonic.startswith("nbarrier")


def test_a_line_is_all_its_instructions():
    lines = [f".loc {line}\nmov (M1_NM, 1) I(0,0)<1> {n}:d\n" for n, line in enumerate((3, 4, 3, 5))]
    program = Program(build_text(HEAD + '.file "a.cl"\n' + "".join(lines) + END, "tgllp"))
    places, here = Places(program.image), Spot(program.signature("k").kernel, 0)
    of_line = places.all_at("a.cl:3", here)
    assert [places.text(spot)[-3:] for spot in of_line] == ["0:d", "2:d"]
    assert places.all_at(f"*{of_line[1].number}", here) == of_line[1:]
    with pytest.raises(DebugError):
        places.all_at("a.cl:99", here)


def test_launches_that_cover_a_kernel_reach_all_that_can_be_reached():
    low = "cmp.ge (M1, 16) P1 N(0,0)<0;1,0> 5:d\n(P1) goto (M1, 16) high\nmov (M1_NM, 1) I(0,0)<1> 0:d\n"
    high = "goto (M1, 16) out\nhigh:\nmov (M1_NM, 1) I(0,0)<1> 1:d\n" + GUARDED.format(condition="ge")
    never = "cmp.lt (M1, 16) P1 N(0,0)<0;1,0> 5:d\n(!P1) goto (M1, 16) out\nbarrier\n"
    found = cover(search(low + high + never, "global_size == 32"))
    assert len(found.launches) == 2
    assert {own.outcome for own in found.missed} == {GoalOutcome.UNREACHABLE}
    missed = {number for number, goal in enumerate(found.goals) if goal in [own.goal for own in found.missed]}
    assert set().union(*(own.reaches for own in found.launches)) == set(range(len(found.goals))) - missed
    assert sorted(goal.name.partition(":")[2] for goal in (found.goals[n] for n in missed)) == ["29, not taken", "30"]


def test_instructions_of_no_line_of_the_source_are_no_lines_to_cover():
    """Compilers mark them with line 0, or with no line in front of the first one."""
    places = "".join(f".loc {line}\nmov (M1_NM, 1) I(0,0)<1> {line}:d\n" for line in (3, 0, 4, 3))
    goals = all_goals(search('.file "a.cl"\n' + places + ".loc 0\n").subject)
    assert [goal.name for goal in goals if goal.way is None] == ["a.cl:3", "a.cl:4"]
    assert all(goal.way is not None or ".visaasm:" in goal.name for goal in all_goals(search(OWN).subject))


def test_the_simple_launch_fulfils_assumptions():
    found = search(GUARDED.format(condition="ge") + OWN, "N == 12", "global_size == 32", "size(X) == 128")
    (launch,) = found.simple_launches()
    assert launch.global_size[0] == 32 and launch.args[0].array.nbytes == 128
    assert int.from_bytes(launch.args[1].data, "little") == 12


@pytest.mark.parametrize(
    ("reached", "kept"),
    [([{0}, {0, 1}], [{0, 1}]), ([{0, 1}, {1, 2}, {0, 2}], [{1, 2}, {0, 2}]), ([{0}, {1}], [{0}, {1}])],
)
def test_launches_that_reach_nothing_alone_are_left_out(reached, kept):
    assert [own.reaches for own in needed_launches([CoveringLaunch(None, own) for own in reached])] == kept


def test_a_line_without_instructions_is_told():
    text = HEAD + "// nothing\n" + OWN + END
    line = text[: text.index("// nothing")].count("\n") + 1
    program = Program(build_text(text, "tgllp"))
    places, kernel = Places(program.image), Spot(program.signature("k").kernel, 0)
    assert [places.later_line(place, kernel) for place in (f"{line}", f"{line + 1}", "*3")] == [line + 1, 0, 0]
