"""A caller's observers: their events, the engine that runs the launch, and counts that both engines agree on."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from support.programs import build_text, kernel_head
from support.strategies import ENGINES, blocks, effort, initial, lines_of, program_text, seeds

import vasm
import visakit
import vlink
import vsim
from vsim.observe.coverage import InstructionCounts

LOOP = (
    kernel_head("OUT=uq LANE=uw*8 AT=uq*8 N=ud*8 P1=P*8", "OUT", SimdSize=8)
    + """mov (M1, 8) LANE(0,0)<1> 0x76543210:uv
mul (M1, 8) AT(0,0)<1> LANE(0,0)<1;1,0> 4:uw
add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> OUT(0,0)<0;1,0>
mov (M1, 8) N(0,0)<1> 0:ud
again:
add (M1, 8) N(0,0)<1> N(0,0)<1;1,0> 1:ud
cmp.le (M1, 8) P1 N(0,0)<1;1,0> LANE(0,0)<1;1,0>
(P1) goto (M1, 8) again
barrier
svm_scatter.4.1 (M1, 8) AT.0 N.0
ret (M1, 1)
"""
)
"""Lane n goes n + 1 times through the loop, and writes how often it did."""


class BarriersPerGroup(vsim.Observer):
    def __init__(self):
        self.counts = Counter()

    def barrier(self, event, signals):
        self.counts.update(event.groups[event.threads == 0].tolist())


@pytest.fixture(scope="module")
def program():
    return vsim.load(vlink.link([vasm.assemble_text(LOOP, "k.visaasm", "tgllp").object_bytes()]))


def launch(program, *observers, engine="auto", size=64):
    out = np.zeros(8, np.uint32)
    result = program.launch("k", size, 16, [out], engine=engine, observers=observers)
    assert out.tolist() == list(range(1, 9))
    return result


def test_a_small_observer_runs_on_the_engine_that_has_its_events(program):
    seen = BarriersPerGroup()
    result = launch(program, seen)
    assert seen.counts == dict.fromkeys(range(4), 1)
    assert (result.engine, result.engine_reason) == ("numpy", "observer 'BarriersPerGroup' wants the event 'barrier'")


def test_who_asks_for_native_code_is_warned(program):
    seen = BarriersPerGroup()
    with pytest.warns(visakit.VisaWarning, match="'k' runs on the numpy engine: observer 'BarriersPerGroup' wants"):
        launch(program, seen, engine="llvm")
    assert sum(seen.counts.values()) == 4


def test_other_objects_than_observers_are_refused(program):
    with pytest.raises(visakit.UsageError, match=r"an observer is a vsim\.Observer, found type"):
        launch(program, BarriersPerGroup)


@pytest.mark.parametrize("engine", ENGINES)
def test_both_engines_count_executions(program, engine):
    """Group n has two threads; all lanes go once through the loop, seven a second time, and so on."""
    counts = InstructionCounts()
    assert launch(program, counts, engine=engine).engine == engine
    once, loop = [8, 64], [8 * 8, 8 * sum(range(1, 9))]
    assert [list(pair) for pair in zip(counts.threads["k"], counts.lanes["k"], strict=True)] == [
        *[once] * 4, *[loop] * 4, *[once] * 3
    ]  # fmt: skip


@effort(5)
@given(blocks(), seeds)
def test_engines_count_alike_on_generated_programs(found, seed):
    text, size = program_text(lines_of(found, itertools.count()))
    generated = vsim.Program(build_text(text, "xehp"))
    counts = InstructionCounts(), InstructionCounts()
    for engine, observer in zip(("numpy", "llvm"), counts, strict=True):
        args = [initial(seed, size), np.zeros(size, np.uint8)]
        assert generated.launch("k", 16, 16, args, engine=engine, observers=[observer]).engine == engine
    reference, fast = counts
    assert reference.threads["k"].tolist() == fast.threads["k"].tolist()
    assert reference.lanes["k"].tolist() == fast.lanes["k"].tolist()


class Everything(vsim.Observer):
    """Notes the names of events in their order, with some of their arguments."""

    def __init__(self):
        self.seen = []

    def launch_begin(self, launch):
        self.seen.append(("launch_begin", launch.kernel.name))

    def launch_end(self, error):
        self.seen.append(("launch_end", error))

    def threads_begin(self, event):
        self.seen.append(("threads_begin", event.threads.tolist()))

    def threads_end(self, event):
        self.seen.append(("threads_end", event.threads.tolist()))

    def chooses(self, function, number):
        return function.instructions[number].desc.mnemonic in ("barrier", "svm_scatter")

    def before(self, event):
        self.seen.append(("before", event.number, event.lanes.sum(axis=1).tolist()))

    def after(self, event):
        self.seen.append(("after", event.number))

    def read(self, event, operand, values):
        if event.instruction.desc.mnemonic == "svm_scatter":
            self.seen.append(("read", operand.name))

    def write(self, event, operand, values):
        if event.number == 0:
            self.seen.append(("write", operand.name, values[0].tolist()))

    def access(self, event, access):
        self.seen.append(("access", access.kind, access.size))

    def accessed(self, event, access):
        self.seen.append(("accessed", access.kind, int(access.mask.sum())))


def test_events_come_in_the_order_of_execution(program):
    seen = Everything()
    launch(program, seen, size=16)
    assert seen.seen == [
        ("launch_begin", "k"),
        ("threads_begin", [0, 1]),
        ("write", "LANE(0,0)", list(range(8))),
        ("before", 8, [8, 8]),
        ("after", 8),
        ("before", 9, [8, 8]),
        ("read", "AT.0"),
        ("read", "N.0"),
        ("access", "write", 4),
        ("accessed", "write", 16),
        ("after", 9),
        ("threads_end", [0, 1]),
        ("launch_end", None),
    ]


CALLS = """.version 4.1
.kernel "k"
.kernel_attr SimdSize=8
call (M1, 8) sub
fcall (M1, 8) f 0 0
nbarrier.signal 3:ub 2:ub
nbarrier.wait 3:ub
ret (M1, 1)
sub:
ret (M1, 8)
.global_function "f"
.kernel_attr Extern
.kernel_attr ArgSize=0
.kernel_attr RetValSize=0
.kernel_attr SimdSize=8
fret (M1, 8)
"""


def test_calls_and_named_barriers_are_events():
    class Calls(vsim.Observer):
        def __init__(self):
            self.seen, self.frames = [], []

        def call(self, event, frame):
            self.frames.append(frame)
            self.seen.append(("call", event.instruction.desc.mnemonic, frame.function.name))

        def returned(self, frame, rows):
            self.seen.append(("returned", self.frames.index(frame), rows.tolist()))

        def barrier(self, event, signals):
            self.seen.append(("barrier", event.number, signals))

        def arrived(self, rows, numbers):
            self.seen.append(("arrived", rows.tolist(), numbers.tolist()))

        def departed(self, rows, numbers):
            self.seen.append(("departed", rows.tolist(), numbers.tolist()))

    program = vsim.load(vlink.link([vasm.assemble_text(CALLS, "k.visaasm", "pvc").object_bytes()]))
    seen = Calls()
    program.launch("k", 16, 16, observers=[seen])
    assert seen.seen == [
        ("call", "call", "k"),
        ("returned", 0, [True, True]),
        ("call", "fcall", "f"),
        ("returned", 1, [True, True]),
        ("barrier", 2, False),
        ("arrived", [0], [3]),
        ("arrived", [1], [3]),
        ("barrier", 3, False),
        ("departed", [0, 1], [3, 3]),
    ]


def test_a_variable_can_be_changed(program):
    class Patch(vsim.Observer):
        def chooses(self, function, number):
            return function.instructions[number].desc.mnemonic == "svm_scatter"

        def before(self, event):
            assert event.variable("P1").tolist() == [[False] * 8]
            event.variable("N")[event.rows, 3] = 77
            with pytest.raises(KeyError, match="V32"):
                event.variable("V32")

    out = np.zeros(8, np.uint32)
    program.launch("k", 8, 8, [out], observers=[Patch()])
    assert out.tolist() == [1, 2, 3, 77, 5, 6, 7, 8]


def test_a_fault_is_an_event(program):
    class Faults(vsim.Observer):
        def __init__(self):
            self.seen = []

        def fault(self, event, error):
            self.seen.append((event.number, error.diagnostics[0].code))

        def launch_end(self, error):
            self.seen.append(type(error))

    seen = Faults()
    with pytest.raises(visakit.SimulationError, match="access of 4 bytes outside 'OUT'"):
        program.launch("k", 8, 8, [np.zeros(4, np.uint32)], observers=[seen])
    assert seen.seen == [(9, "S030"), visakit.SimulationError]


def test_batches_without_a_watched_group_run_unobserved(program, monkeypatch):
    monkeypatch.setattr("vsim.engines.numpy.engine.TURN_THREADS", 1)

    class Second(BarriersPerGroup):
        def watches(self, launch, group):
            return group.id == (1, 0, 0)

    seen = Second()
    launch(program, seen)
    assert seen.counts == {1: 1}


def test_an_exception_of_an_observer_ends_the_launch(program):
    class Stop(vsim.Observer):
        def before(self, event):
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        program.launch("k", 8, 8, [np.zeros(8, np.uint32)], observers=[Stop()])
    launch(program)


def test_checks_and_observers_go_together(program):
    seen = BarriersPerGroup()
    out = np.zeros(8, np.uint32)
    result = program.launch("k", 16, 16, [out], check="all", observers=[seen])
    assert seen.counts == {0: 1} and "race" in {f.check for f in result.findings}
