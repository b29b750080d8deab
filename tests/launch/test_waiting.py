"""Threads of a group that wait for each other: at all kinds of barriers, in functions, in loops whose lanes part, in all orders."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs import build_text
from support.strategies import ENGINES, effort
from support.waiting import (
    ARRIVE_AND_WAIT,
    BY_ADDRESS,
    CALL,
    GROUPS,
    HEAD,
    ITEMS,
    LANES,
    SCHEDULES,
    TAIL,
    THREADS,
    WORD,
    Writer,
    function,
    meeting,
    text,
)

from visakit import SimulationError
from vsim.engines.llvm.host import report, tables
from vsim.program import Program


class Model:
    """All threads of a group step by step: X is threads x lanes, and the lanes that run are the same in every thread."""

    def __init__(self, bodies):
        self.bodies, self.lane = bodies, np.arange(LANES)
        self.x = np.arange(ITEMS, dtype=WORD).reshape(THREADS, LANES)
        self.slots = np.zeros_like(self.x)

    def run(self, statements, mask):
        for kind, *rest in statements if mask.any() else ():
            getattr(self, f"_{kind}")(mask, *rest)

    def _put(self, mask, value):
        self.x = np.where(mask, value, self.x)

    def _op(self, mask, k):
        self._put(mask, self.x * WORD(5) + WORD(k))

    def _meet(self, mask, kind):
        self.slots = np.where(mask, self.x, self.slots)
        self._put(mask, self.x * WORD(3) + self.slots[[1, 0, 3, 2]])

    def _part(self, mask, shift, body):
        self.run(body, mask & (self.lane >> shift & 1 != 0))

    def _loop(self, mask, shift, body):
        for n in range(4):
            self.run(body, mask & ((self.lane >> shift & 3) >= n))

    def _repeat(self, mask, count, body):
        for _ in range(count):
            self.run(body, mask)

    def _call(self, mask, number):
        self.run(self.bodies[number], mask)

    _fcall = _ifcall = _call

    def _recurse(self, mask, n=None):
        n = self.lane & 3 if n is None else n
        self._meet(mask, "")
        inner = mask & (n > 0)
        if inner.any():
            self._recurse(inner, n - 1)
            self._put(inner, self.x * WORD(5) + WORD(1))


SIMPLE = st.one_of(
    st.tuples(st.just("op"), st.integers(0, 99)), st.tuples(st.just("meet"), st.sampled_from(sorted(ARRIVE_AND_WAIT)))
)


def around(inner):
    """Statements with others in them: a lane's way, and a thread's, are the same in every thread."""
    body = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(st.just("part"), st.integers(0, 3), body),
        st.tuples(st.just("loop"), st.integers(0, 2), body),
        st.tuples(st.just("repeat"), st.integers(1, 3), body),
    )


CALLS = st.one_of(
    st.tuples(st.sampled_from(("call", "fcall", "ifcall")), st.integers(0, 1)), st.tuples(st.just("recurse"))
)
BODY = st.lists(st.one_of(SIMPLE, around(SIMPLE)), min_size=1, max_size=3)
PROGRAM = st.tuples(
    st.lists(st.one_of(SIMPLE, CALLS, around(st.one_of(SIMPLE, CALLS))), min_size=1, max_size=4),
    st.tuples(BODY, BODY),
    st.sampled_from(sorted(ARRIVE_AND_WAIT)),
)


def launch(source, engine, schedule="", threads=None, items=ITEMS * GROUPS):
    out = np.zeros(ITEMS * GROUPS, WORD)
    result = Program(build_text(source, "pvc")).launch(
        "k", items, ITEMS, [out], engine=engine, schedule=schedule, threads=threads, max_seconds=60
    )
    assert result.engine == engine
    return out.reshape(GROUPS, THREADS, LANES)


@effort(8, 0.6, shrink=False)
@given(PROGRAM, st.sampled_from(SCHEDULES))
def test_programs(program, schedule):
    """Every thread of every group meets the others at each barrier of the program."""
    main, bodies, deep = program
    model = Model(bodies)
    model.run(main, np.ones(LANES, bool))
    source = text(main, bodies, deep)
    for engine in ENGINES:
        found = launch(source, engine, schedule, threads=2)
        assert all((one == model.x).all() for one in found), engine


# -- one thing at a time ---------------------------------------------------------------------------------------

FIRST_THREAD = "cmp.eq (M1_NM, 16) P1 NUMBER(0,0)<0;1,0> 0:ud"


def kernel(lines, *functions):
    return "\n".join([*HEAD, *lines, *TAIL, *(line for found in functions for line in found)])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    "lines, place",
    [
        (CALL, "'barrier' (instruction 3 of 'f', "),
        (BY_ADDRESS, "'barrier' (instruction 3 of 'f', "),
        (["nbarrier.wait 3:ub"], "'nbarrier.wait 0x3:ub' (instruction 8 of 'k', "),
        (["nbarrier.signal 3:ub 4:ub", "nbarrier.wait 3:ub"], "'nbarrier.wait 0x3:ub' (instruction 9 of 'k', "),
        (["sbarrier.signal", "sbarrier.wait"], "'sbarrier.wait' (instruction 9 of 'k', "),
    ],
    ids=["function", "address", "named", "counted", "split"],
)
def test_a_barrier_that_part_of_a_group_never_reaches(lines, place, schedule, engine):
    source = kernel([FIRST_THREAD, "(P1) goto (M1, 16) over", *lines, "over:"], function("f", ["barrier"]))
    with pytest.raises(
        SimulationError, match="a barrier waits for threads of the work-group that never arrive"
    ) as found:
        launch(source, engine, schedule, threads=1)
    (fault,) = found.value.diagnostics
    first = 176 if schedule == "reverse" else 16
    assert fault.code == "S030" and place in fault.message
    assert schedule == "random:5" or f"work-item ({first}, 0, 0)" in fault.message


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_threads_return_one_by_one(engine, schedule):
    """The first thread waits in the function twice, the others once there and once behind it."""
    odd = ["mov (M1, 16) N(0,0)<1> ARG_N(0,0)<1;1,0>", "barrier", "cmp.ne (M1, 16) P1 N(0,0)<1;1,0> 0:ud",
           "(P1) goto (M1, 16) out", "barrier", "out:"]  # fmt: skip
    call = Writer(None, True)._called("f", ["mov (M1, 16) ARG_N(0,0)<1> NUMBER(0,0)<0;1,0>"])
    behind = [FIRST_THREAD, "(P1) goto (M1, 16) over", "barrier", "over:"]
    first = np.arange(ITEMS, dtype=WORD).reshape(THREADS, LANES)
    found = launch(kernel([*call, *behind, *meeting("barrier")], function("f", odd)), engine, schedule)
    assert (found == first * WORD(3) + first[[1, 0, 3, 2]]).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_thread_that_has_arrived_may_end(engine, schedule):
    """All but the first signal and go on to their end, where the first waits for them."""
    lines = ["sbarrier.signal", FIRST_THREAD, "(!P1) goto (M1, 16) over", "sbarrier.wait", "over:"]
    assert (launch(kernel(lines), engine, schedule)[0].reshape(-1) == np.arange(ITEMS)).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_waiting_thread_waits_with_all_its_lanes(engine, schedule):
    """If some lanes of a thread reach a barrier, the code behind it runs once for all its lanes."""
    lines = ["cmp.lt (M1, 16) P1 LANE(0,0)<1;1,0> 8:ud", "mov (M1_NM, 16) N(0,0)<1> 0:ud", "(!P1) goto (M1, 16) over", *CALL, "over:",
             "add (M1_NM, 16) N(0,0)<1> N(0,0)<1;1,0> 1:ud", "mov (M1, 16) X(0,0)<1> N(0,0)<1;1,0>"]  # fmt: skip
    assert (launch(kernel(lines, function("f", ["barrier"])), engine, schedule) == 1).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_group_of_another_size_at_the_rim(engine, schedule):
    """The last group has two threads and a part of a third."""
    found = launch(kernel(CALL, function("f", meeting("split"))), engine, schedule, items=ITEMS * 2 + 40)
    x = np.arange(ITEMS, dtype=WORD).reshape(THREADS, LANES)
    slots = np.where(x < 40, x, 0)
    assert (found[:2] == x * WORD(3) + x[[1, 0, 3, 2]]).all()
    assert (found[2] == np.where(x < 40, x * WORD(3) + slots[[1, 0, 3, 2]], 0)).all()


def test_groups_wait_for_each_other_where_all_take_turns():
    """The first group looks at memory until the last one has written there: only turns between groups end that.

    (The reference engine always runs the lanes with the smallest pc of all groups first, and would look for ever.)
    """
    lines = ["mov (M1, 16) T(0,0)<1> 0x200:ud", "mul (M1, 16) AT(0,0)<1> T(0,0)<1;1,0> 1:ud", "add (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> OUT(0,0)<0;1,0>",
             "cmp.ne (M1_NM, 16) P1 %r0(0,1)<0;1,0> 0:ud", "(P1) goto (M1, 16) others", "look:", "svm_gather.4.1 (M1, 16) AT.0 OTHER.0",
             "cmp.eq (M1, 16) P2 OTHER(0,0)<1;1,0> 0:ud", "(P2) goto (M1, 16) look", "others:", "add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 1:ud"]  # fmt: skip
    found = launch(kernel(lines), "llvm", "round-robin")
    assert (found.reshape(GROUPS, -1) == np.arange(1, ITEMS + 1)).all()


DEEPER = [*Writer(None, True)._called("f"), "barrier"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("schedule", ["", "round-robin"])
def test_recursion_without_end(engine, schedule):
    with pytest.raises(
        SimulationError, match=r"calls are nested more than 1000 deep by 'fcall .*\(instruction 6 of 'f'"
    ):
        launch(kernel(CALL, function("f", DEEPER)), engine, schedule)


def test_variables_of_waiting_threads_beyond_their_memory(monkeypatch):
    for module in (tables, report):
        monkeypatch.setattr(module, "TURNS_ARENA_BYTES", 1 << 20)
    message = "the variables of threads that wait take more than 1 MiB, by 'fcall .*instruction 7 of 'f'"
    with pytest.raises(SimulationError, match=message):
        launch(kernel(CALL, function("f", ["barrier", *CALL])), "llvm")
    monkeypatch.setattr(tables, "TURNS_ARENA_BYTES", 1 << 11)
    message = "the variables of threads that wait take more than 1 MiB, by 'mov .*instruction 0 of 'k'"
    with pytest.raises(SimulationError, match=message):
        launch(kernel(CALL, function("f", DEEPER)), "llvm")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("schedule", ["", "round-robin"])
def test_time_is_up_at_a_barrier_in_a_function(engine, schedule):
    lines = ["again:", *CALL, "jmp (M1, 1) again"]
    out = np.zeros(ITEMS, WORD)
    with pytest.raises(SimulationError, match="did not end within"):
        Program(build_text(kernel(lines, function("f", ["barrier"])), "pvc")).launch("k", ITEMS, ITEMS, [out], engine=engine, schedule=schedule, max_seconds=0.05)  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_fault_in_a_function_behind_its_barrier(engine, schedule):
    lines = ["barrier", "mov (M1, 16) TO(0,0)<1> 0x1000:ud", "scatter_scaled.4 (M1, 16) %slm 0:ud TO.0 X.0"]
    message = "access of 4 bytes outside 'local memory', which has 4096 bytes, at offset 4096 by 'scatter_scaled"
    with pytest.raises(SimulationError, match=message):
        launch(kernel(CALL, function("f", lines)), engine, schedule)


@pytest.mark.parametrize("engine", ENGINES)
def test_which_instructions_executed(engine):
    lines = ["barrier", "jmp (M1, 1) behind", "add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 1:ud", "behind:"]
    out = np.zeros(ITEMS, WORD)
    result = Program(build_text(kernel(CALL, function("f", lines)), "pvc")).launch("k", ITEMS, ITEMS, [out], engine=engine, profile=True)  # fmt: skip
    executed = [number for f, number, _ in result.executed if f.name == "f"]
    assert result.engine == engine and executed == [0, 1, 2, 3, 4, 6, 7, 8]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("schedule", ["", "reverse"])
def test_which_of_several_barriers_of_a_kernel_waits(engine, schedule):
    """All threads come to the first, the first thread not to the second."""
    lines = ["barrier", FIRST_THREAD, "(P1) goto (M1, 16) over", "barrier", "over:"]
    who = 176 if schedule == "reverse" else 16
    place = rf"'barrier' \(instruction 9 of 'k', lane 0, work-item \({who}, 0, 0\)"
    with pytest.raises(SimulationError, match=place):
        launch(kernel(lines), engine, schedule, threads=1)


def test_frames_of_large_variables_have_room(monkeypatch):
    """Threads of kernels with large variables get larger frames, up to a limit."""
    size, count = 4096, 16
    large = [f".decl L{n} v_type=G type=ud num_elts={size} align=GRF" for n in range(count)]
    addresses = [".decl A v_type=A num_elts=1"]
    lines = [line for n in range(count) for line in (f"addr_add (M1, 1) A(0)<1> &L{n} 16128:uw", "mov (M1, 16) r[A(0),0]<1>:ud X(0,0)<1;1,0>")]  # fmt: skip
    back = [line for n in range(count) for line in (f"addr_add (M1, 1) A(0)<1> &L{n} 16128:uw", "add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> r[A(0),0]<1;1,0>:ud")]  # fmt: skip
    source = kernel([*lines, "barrier", *back])
    at = source.index(".input")
    source = source[:at] + "\n".join([*large, *addresses, ""]) + source[at:]
    found = np.zeros(1024, WORD)  # in 64 threads, each of which has 256 KiB
    assert Program(build_text(source, "pvc")).launch("k", 1024, 1024, [found], engine="llvm").engine == "llvm"
    assert (found == np.arange(1024) * 17).all()
    monkeypatch.setattr(tables, "TURNS_ARENA_BYTES", 16 << 20)
    with pytest.raises(SimulationError, match="the variables of threads that wait take more than"):
        Program(build_text(source, "pvc")).launch("k", 1024, 1024, [found], engine="llvm")


def test_round_robin_over_very_many_accesses():
    lines = ["scatter_scaled.4 (M1, 16) %slm 0:ud TO.0 X.0"] * 2001
    program, out = Program(build_text(kernel(lines), "pvc")), np.zeros(ITEMS, WORD)
    result = program.launch("k", ITEMS, ITEMS, [out], schedule="round-robin")
    assert (result.engine, result.engine_reason) == ("numpy", "round-robin over 2002 accesses to memory")
    assert (out == np.arange(ITEMS)).all()
