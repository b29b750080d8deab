"""Orders of groups and threads: every one gives the same results where nothing depends on it, and shows where something does."""

import numpy as np
import pytest
from support.programs import DATA, build, build_text, kernel_head, same
from support.strategies import FUZZ

from visakit import LaunchError
from vsim.analysis.atomics import depends_on_order
from vsim.launch.launch import BufferArgument
from vsim.launch.launch_file import parse_launch
from vsim.launch.schedule import parse_schedule
from vsim.program import Program

ORDERS = ("round-robin", "reverse", "random:1", "random:2")
ENGINES = pytest.mark.parametrize("engine", ["llvm", "numpy"])

TICKET = (
    kernel_head(
        "COUNTER=uq OUT=uq LANE=uw*8 AT=uq*8 X=ud*8 OLD=ud*8 ONE=ud*8", "COUNTER OUT", name="ticket", SimdSize=8
    )
    + """mov (M1, 8) LANE(0,0)<1> 0x76543210:uv
mov (M1, 8) ONE(0,0)<1> 1:ud
mad (M1, 8) X(0,0)<1> %thread_x(0,0)<0;1,0> 8:uw LANE(0,0)<1;1,0>
mul (M1, 8) AT(0,0)<1> LANE(0,0)<1;1,0> 0:uw
add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> COUNTER(0,0)<0;1,0>
svm_atomic.add (M1, 8) AT.0 DST.0 ONE.0 %null.0
shl (M1, 8) AT(0,0)<1> X(0,0)<1;1,0> 2:ud
add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> OUT(0,0)<0;1,0>
svm_scatter.4.1 (M1, 8) AT.0 OLD.0
ret (M1, 1)
"""
)


def tickets(engine, schedule, threads=None):
    counter, out = np.zeros(16, "u4"), np.zeros(256, "u4")
    Program(build_text(TICKET.replace("DST", "OLD"))).launch(
        "ticket", 256, 32, [counter, out], engine=engine, threads=threads, schedule=schedule
    )
    assert counter[0] == 256 and sorted(out) == list(range(256))
    return out


@ENGINES
def test_tickets_depend_on_the_schedule_alone(engine):
    ascending = np.arange(256)
    for _ in range(3):
        assert (tickets(engine, "", threads=4) == ascending).all()
    assert (tickets("llvm", "reverse") == ascending.reshape(-1, 8)[::-1].reshape(-1)).all()
    assert (tickets(engine, "random:1") == tickets(engine, "random:1")).all()
    assert (tickets(engine, "random:1") != tickets(engine, "random:2")).any()


def test_round_robin_takes_turns():
    """Two threads that add and look: in turn both add before either looks."""
    look = TICKET.replace("DST", "%null").replace("shl (M1, 8)", "svm_gather.4.1 (M1, 8) AT.0 OLD.0\nshl (M1, 8)")
    found = []
    for schedule in ("", "round-robin"):
        out = np.zeros(16, "u4")
        Program(build_text(look)).launch("ticket", 16, 16, [np.zeros(16, "u4"), out], schedule=schedule)
        found.append(out.tolist())
    assert found == [[8] * 8 + [16] * 8, [16] * 16]


CASES = sorted(p for p in (DATA / "cases").glob("*/*") if p.is_dir())


@pytest.mark.parametrize("folder", CASES, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_cases_do_not_depend_on_the_order(folder):
    """Each engine takes half of the orders, the other half of the next case; in ``make fuzz`` all."""
    half = CASES.index(folder) % 2
    program = Program(build(folder, folder.name))
    text = (folder.parent / "launch.json").read_text()
    orders = {"llvm": ORDERS if FUZZ else ORDERS[half::2], "numpy": ORDERS if FUZZ else ORDERS[1 - half :: 2]}
    for engine, schedule in ((engine, order) for engine, own in orders.items() for order in own):
        launches = parse_launch(text, str(folder.parent), "launch.json")
        for index in range(len(launches)):
            one = launches.launch(index)
            program.run(one, engine=engine, schedule=parse_schedule(schedule))
            for a in one.args:
                if isinstance(a, BufferArgument) and a.expect is not None and not a.rtol and not a.atol:
                    assert same(a.array.view(a.expect.dtype).reshape(a.expect.shape), a.expect), (engine, schedule)


def test_a_group_of_another_size_at_the_rim():
    text = TICKET.replace("DST", "OLD")
    for engine in ("llvm", "numpy"):
        counter, out = np.zeros(16, "u4"), np.full(256, 999, "u4")
        Program(build_text(text)).launch("ticket", 200, 64, [counter, out], engine=engine, schedule="reverse")
        assert counter[0] == 200 and sorted(out[:200]) == list(range(200)) and (out[200:] == 999).all()


def test_only_some_atomics_need_an_order():
    def needs(line):
        function = build_text(TICKET.replace("svm_atomic.add (M1, 8) AT.0 DST.0 ONE.0 %null.0", line)).module.kernels[0]
        return depends_on_order(function.instructions, 32)

    assert needs("svm_atomic.add (M1, 8) AT.0 OLD.0 ONE.0 %null.0")
    assert needs("svm_atomic.xchg (M1, 8) AT.0 %null.0 ONE.0 %null.0")
    assert needs("svm_atomic.fadd (M1, 8) AT.0 %null.0 ONE.0 %null.0")
    assert not needs("svm_atomic.add (M1, 8) AT.0 %null.0 ONE.0 %null.0")
    # Raw messages are judged by their operation: here an untyped atomic add, with and without its old value.
    assert needs("raw_sends.12.1.1.1 (M1, 8) 0xc:ud 0x200a702:ud X.0 ONE.0 OLD.0")
    assert not needs("raw_sends.12.1.1.0 (M1, 8) 0xc:ud 0x2008702:ud X.0 ONE.0 %null.0")
    assert not needs("dword_atomic.xchg (M1, 8) %slm X.0 ONE.0 %null.0 OLD.0")


def test_unknown_schedules():
    for text in ("random", "random:x", "backwards", "reverse:1"):
        with pytest.raises(LaunchError, match="there is no schedule"):
            parse_schedule(text)
