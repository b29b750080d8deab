"""Debugging sessions in Python: stops, ways back, values, changes; goldens in tests/golden/debug show the commands."""

import numpy as np
import pytest
from support.programs import build_text, kernel_head

from visakit import DebugError
from vsim.debug import Session
from vsim.debug.threads import Focus, parse_threads
from vsim.launch.launch import Launch
from vsim.program import Program

TEXT = (
    kernel_head("Y=uq@qword n=d I=d N=d*8 A=uq*8 P=P", "Y n", SimdSize=8)
    + """mov (M1, 8) N(0,0)<1> 0x76543210:uv
mad (M1, 8) N(0,0)<1> %group_id_x(0,0)<0;1,0> 8:d N(0,0)<1;1,0>
mul (M1, 8) A(0,0)<1> N(0,0)<1;1,0> 4:d
add (M1, 8) A(0,0)<1> A(0,0)<1;1,0> Y(0,0)<0;1,0>
mov (M1, 1) I(0,0)<1> 0:d
more:
add (M1, 8) N(0,0)<1> N(0,0)<1;1,0> 100:d
add (M1, 1) I(0,0)<1> I(0,0)<0;1,0> 1:d
cmp.lt (M1, 1) P I(0,0)<0;1,0> n(0,0)<0;1,0>
(P) jmp (M1, 1) more
svm_scatter.4.1 (M1, 8) A.0 N.0
ret (M1, 1)
"""
)


def begun(groups=1, rounds=3, room=None, check="", text=TEXT):
    program = Program(build_text(text))
    y = np.zeros(8 * groups if room is None else room, "i4")
    launch = Launch("k", (8 * groups,), (8,), (0, 0, 0), program.convert("k", [y, rounds]))
    return Session(program, [launch], check=check), y


def test_unwatched_groups_run_on_the_fast_engine():
    session, y = begun(groups=40)
    session.add_breakpoint("*10", "$group == 33 && N[1] > 0")
    stop = session.resume()
    assert (stop.reason, session.focus, session.execution.native_groups) == ("breakpoint", Focus(33, 0, 0), 33)
    assert y[: 33 * 8].tolist() == [x + 300 for x in range(33 * 8)] and not y[33 * 8 :].any()
    assert session.resume().reason == "end"
    assert y.tolist() == [x + 300 for x in range(320)]
    assert session.reverse_continue().position == (33, 5 + 3 * 4)
    assert not y[33 * 8 :].any()
    assert session.reverse_continue().reason == "begin" and not y.any()


def test_a_fault_in_an_unwatched_group():
    session, y = begun(groups=40, room=8 * 20 + 3)
    stop = session.resume()
    assert (stop.reason, session.focus, session.execution.part) == ("fault", Focus(20, 0, 3), 20)
    assert session.evaluate("N[3]").data.tolist() == [[463]]
    assert np.count_nonzero(y) == 8 * 20
    assert session.step(instruction=True, reverse=True).reason == "step"
    assert session.resume().reason == "fault"


def test_changes_happen_again_wherever_the_launch_comes_by():
    session, y = begun()
    session.add_breakpoint("more", "I == 1")
    session.resume()
    session.set("N(0,2)", "1000")
    session.set("Y[7]", "-1")
    assert y[7] == -1
    session.reverse_continue()
    assert session.execution.position == (0, 0) and y[7] == 0
    assert session.resume().reason == "breakpoint" and y[7] == -1
    session.delete(1)
    assert session.resume().reason == "end"
    assert y.tolist() == [300, 301, 1200, 303, 304, 305, 306, 307]


def test_steps_back_in_a_long_loop():
    session, _ = begun(rounds=2000)
    session.add_breakpoint("*10")
    end = session.resume().position
    for back in (1, 7, 1500, 3):
        here = session.execution.position.time
        assert session.step(back, instruction=True, reverse=True).position.time == here - back
    assert session.resume().position == end
    assert session.evaluate("N[0]").data.tolist() == [[200000]]


def test_watchpoints_in_both_directions():
    session, _ = begun()
    session.add_breakpoint("*0")
    session.resume()
    session.add_watchpoint("I", condition="I > 1")
    times = [session.resume().position.time for _ in range(2)]
    assert times == [11, 15]
    session.delete(1)
    assert session.resume().reason == "end"
    found = [session.reverse_continue().position.time for _ in range(2)]
    assert found == [14, 10]


def test_a_launch_goes_on_from_a_breakpoint_that_it_came_back_to():
    """Also at the first instruction, where a checkpoint is."""
    session, _ = begun()
    session.add_breakpoint("*0")
    for way in (lambda: session.step(reverse=True), lambda: session.go_to(0)):
        session.run()
        session.step()
        assert way().position.time == 0
        assert session.resume().reason == "end"


def test_an_interrupt_stops_where_the_launch_goes_on():
    session, y = begun()
    session.add_breakpoint("*9", "I == 2")
    session.resume()
    session.execution.interrupt = True
    assert session.resume().reason == "interrupt"
    session.delete(1)
    assert session.resume().reason == "end" and y[0] == 300


def test_an_interrupt_of_the_fast_engine_shows_the_next_group(monkeypatch):
    session, y = begun(groups=4)
    session.add_breakpoint("*10", "$group == 1")
    session.resume()
    session.breakpoints.clear()
    session.changed()
    execute, parts = Program.execute, []

    def interrupted(program, dispatch, engine):
        parts.append(dispatch.part)
        if len(parts) == 1:
            execute(program, dispatch, engine)
            raise KeyboardInterrupt
        return execute(program, dispatch, engine)

    monkeypatch.setattr(Program, "execute", interrupted)
    stop = session.resume()
    assert (stop.reason, session.focus, parts) == ("interrupt", Focus(2, 0, 0), [(2, 4)])
    assert stop.lines[1] == "the fast engine's work is undone; group 2 begins on the reference engine"
    assert not y[16:].any() and session.evaluate("Y").count and session.evaluate("n").data.tolist() == [[3]]
    session.step(instruction=True)
    assert session.evaluate("N[7]").data.tolist() == [[7]]
    assert session.resume().reason == "end" and parts == [(2, 4), (3, 4)]
    assert y.tolist() == [x + 300 for x in range(32)]


def test_checks_begin_the_launch_anew_to_go_back():
    session, _ = begun(check="undefined", text=TEXT.replace("mov (M1, 8) N(0,0)<1> 0x76543210:uv\n", ""))
    session.add_catchpoint("check")
    stop = session.resume()
    assert stop.reason == "catchpoint" and "[K011]" in stop.lines[0]
    assert session.evaluate("N").undefined.all()
    at = session.execution.position.time
    assert session.step(instruction=True, reverse=True).position.time == at - 1


@pytest.mark.parametrize(
    "text, value",
    [
        ("1 + 2 * 3", 7), ("(1 + 2) * 3", 9), ("-7 / 2", -3), ("-7 % 3", -1), ("1 << 4 | 3", 19), ("~0", -1),
        ("!5 || 2 > 1", 1), ("0x10 & 0x1f ^ 1", 17), ("7.5 / 2", 3.75), ("N[3] == 3 && $lane[3] == 3", 1),
        ("N(0,3)", 3), ("n", 3), ("18446744073709551615", 2**64 - 1), ("Y[2] + $item_x[2]", 2), ("A:ud[0]", 0), ("0xffffffffffffffff == ~0", 1), ("007", 7), ("$time", 1),
    ],
)  # fmt: skip
def test_expressions(text, value):
    session, _ = begun()
    session.add_breakpoint("*1")
    session.resume()
    assert session.evaluate(text).data.tolist() == [[value]]


NINES = "9" * 5000


@pytest.mark.parametrize(
    "text, said",
    [
        ("(" * 400 + "n" + ")" * 400, "nested too deep"), ("-" * 3000 + "1", "nested too deep"),
        ("1" + " + 1" * 3000, "nested too deep"), (NINES, "more than 64 bits"), (f"0x{'f' * 5000}", "more than 64 bits"),
        (f"N({NINES},0)", "a row and a column"), (f"N(0,0)<{NINES}>", "more than 64 bits"),
        (f"Y[0]@{NINES}", "a number of elements"), ("Y[0]@99999999999", "99999999999 elements are too many"),
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_expressions_beyond_all_limits(text, said):
    session, _ = begun()
    session.add_breakpoint("*1")
    session.resume()
    with pytest.raises(DebugError, match=said):
        session.evaluate(text)


@pytest.mark.parametrize(
    "text, inside, outside",
    [("1.2:3", (1, 2, 3), (1, 2, 4)), ("*", (7, 0, 0), (8, 0, 0)), ("1.*", (1, 9, 31), (2, 9, 0)),
     ("2:[0-3]", (7, 2, 3), (7, 2, 4)), ("*.[0 2]:*", (5, 2, 7), (5, 1, 7))],
)  # fmt: skip
def test_notation_of_threads(text, inside, outside):
    chosen = parse_threads(text, 7)
    assert [all(n in part for n, part in zip(who, chosen[:3], strict=True)) for who in (inside, outside)] == [
        True,
        False,
    ]


def test_a_refused_command_does_not_move_the_launch():
    session, _ = begun()
    session.add_breakpoint("*2")
    session.resume()
    for wrong in (
        lambda: session.add_breakpoint("nowhere"), lambda: session.evaluate("N +"), lambda: session.set("3", "4"),
        lambda: session.set("N(0,0)", "N"), lambda: session.add_watchpoint("N + 1"), lambda: session.finish(),
        lambda: session.select(Focus(3, 0, 0)), lambda: session.origin("1"), lambda: session.go_to(0, 9),
        lambda: session.add_catchpoint("check"), lambda: session.delete(5),
    ):  # fmt: skip
        with pytest.raises(DebugError):
            wrong()
        assert session.execution.position == (0, 2)


def test_changes_of_one_time_happen_once_and_again_when_the_launch_comes_back():
    session, _ = begun()
    session.add_breakpoint("*6")
    session.resume()
    session.set("Y[I]", "7")
    session.set("I", "2")
    assert [o.ends for o in session.origin("Y[0]")] == [f"set by the user at {session.execution.time}"]
    for _ in range(2):
        assert session.evaluate("Y[0]@3").data.tolist() == [[7, 0, 0]]
        assert session.evaluate("I").data.tolist() == [[2]]
        session.step(instruction=True)
        assert session.evaluate("Y[0]@3").data.tolist() == [[7, 0, 0]]
        session.step(instruction=True, reverse=True)
    session.step(instruction=True, reverse=True)
    assert session.evaluate("Y[0]").data.tolist() == [[0]]


def test_an_interrupt_ends_the_way_to_a_time():
    session, _ = begun()
    session.add_breakpoint("*0")
    session.resume()
    session.execution.interrupt = True
    assert session.go_to(9).reason == "interrupt"
    assert session.go_to(9).position.time == 9


@pytest.mark.parametrize("kind, said", [("watchpoint", "N[1]: 1 -> 101"), ("rwatch", "N[1] is read: 1")])
def test_a_watchpoint_sees_the_instruction_at_which_it_was_set(kind, said):
    session, _ = begun()
    session.add_breakpoint("more")
    session.resume()
    watch = session.add_watchpoint("N[1]", kind)
    stop = session.resume()
    assert (stop.numbers, session.execution.time) == ((watch.number,), 6) and said in stop.lines[0]


def test_reverse_continue_finds_all_hits_and_runs_no_stretch_without_any():
    session, y = begun(groups=2, rounds=900)
    session.add_breakpoint("more", "I % 150 == 149")
    hits = []
    while (stop := session.resume()).reason != "end":
        hits.append(stop.position)
    assert len(hits) == 12
    back = []
    while (stop := session.reverse_continue()).reason != "begin":
        back.append(stop.position)
    assert back == hits[::-1] and not y.any()
    session.resume()
    session.delete(1)
    session.add_watchpoint("Y[3]")
    session.resume()
    found = session.stop
    assert found.reason == "watchpoint"
    session.go_to(3000, 1)
    runs = []
    run = session.execution.run
    session.execution.run = lambda limit=None: runs.append(limit) or run(limit)
    assert session.reverse_continue().position == (0, found.position.time - 1) and len(runs) <= 2


def test_detach_ends_the_launch():
    session, y = begun(groups=3)
    session.add_breakpoint("more")
    session.resume()
    assert session.detach().reason == "end" and session.execution.has_ended
    assert y.tolist() == [n + 300 for n in range(24)] and session.detach() is None


def test_checks_go_back_without_a_new_begin():
    session, _ = begun(groups=2, rounds=900, check="all")
    session.add_breakpoint("*10", "$group == 1")
    session.resume()
    assert session.execution.part == 1 and len(session.execution.checkpoints) > 4
    begins = []
    restore = session.execution.restore
    session.execution.restore = lambda checkpoint: begins.append(checkpoint.position) or restore(checkpoint)
    time = session.execution.time
    assert session.step(instruction=True, reverse=True).position == (1, time - 1)
    assert min(begins) >= (1, time - 1200)


def test_changes_in_front_of_the_first_instruction_have_an_origin():
    session, _ = begun(groups=2)
    session.go_to(0, 1)
    for name, value in (("Y[3]", "77"), ("I", "9")):
        session.set(name, value)
        assert session.origin(name)[0].ends == "set by the user at 0"
    session.add_breakpoint("*3")
    session.resume()
    assert session.origin("Y[3]")[0].ends == "set by the user at 0"
    assert session.evaluate("I").row(0).tolist() == [9]


def test_scratch_memory_is_shown():
    from vsim.debug.console import Console

    text = TEXT.replace(".kernel_attr SimdSize=8", ".kernel_attr SimdSize=8\n.kernel_attr SpillMemOffset=64").replace(
        "more:", "oword_st (2) %scratch 0x1:ud N.0\nmore:", 1
    )
    session, _ = begun(text=text)
    shown = []
    console = Console(session, shown.append)
    for line in ("break more", "run", "info scratch", "print scratch:d[4]@4"):
        console.run(line)
    assert "scratch+0: 0x0  0x0  0x0  0x0  0x0  0x1  0x2  0x3" in shown and shown[-1].split() == ["0", "1", "2", "3"]


def test_copies_of_arrays_share_blocks_that_have_not_changed():
    from vsim.engines.numpy.observers.saving import BLOCK, ArrayHistory

    history, large, small = ArrayHistory(), np.zeros(3 * BLOCK + 5, "u1"), np.zeros((2, 3), "u4")
    first = history.contents([large, small])
    assert first.size == large.nbytes + small.nbytes
    large[BLOCK] = 1
    second = history.contents([large, small])
    assert second.size == BLOCK
    large[:], small[:] = 7, 7
    second.restore()
    assert large.sum() == 1 and large[BLOCK] == 1 and not small.any()
    first.restore()
    assert not large.any()
