"""Counts of a profile: those of both engines equal the counts of a model in plain Python."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from ordinary import KERNELS
from support.programs import DATA, build, build_text
from support.strategies import ENGINES, blocks, effort, initial, lines_of, program_text, seeds, some

import vsim
from visakit.diagnostics import SimulationError
from visakit.isa.record import Flow
from vsim.engines.llvm.pipeline import translate
from vsim.engines.numpy.engine import GroupBatch
from vsim.launch.launch import Launch
from vsim.launch.launch_file import parse_launch
from vsim.profile.counts import Counts

CASES = [(path.parent.parent.name, path.parent.name) for path in sorted(DATA.glob("cases/*/*/ze_info.yaml"))]
SELECTS = ("sel", "add3.o")


class BruteForce(vsim.Observer):
    """Counts thread by thread and lane by lane, from registers, by the words of the manual."""

    def __init__(self):
        self.executions, self.active, self.ways = Counter(), Counter(), {}

    def before(self, event):
        key, instruction = (event.function.name, event.number), event.instruction
        predicate, exec_ = instruction.args.get("pred"), instruction.args.get("exec")
        flow, bits = instruction.desc.flow, None
        if predicate is not None:
            name = event.function.predicates[predicate.var - 1].name
            bits = event.variable(name)[event.rows]
        for row, running in enumerate(event.lanes.tolist()):
            self.executions[key] += 1
            holds = [True] * 32 if predicate is None else self._holds(predicate, bits[row].tolist())
            if flow is not Flow.NEXT and exec_ is not None:
                lanes = [lane for lane in range(32) if running[lane]]
                self._branch(key, flow, exec_, lanes, holds)
            elif exec_ is None or not event.function.lanes:
                lanes = [0]
            else:
                part = range(exec_.offset, exec_.offset + exec_.size)
                lanes = [n for n in part if exec_.no_mask or (n < 32 and running[n])]
                if instruction.desc.mnemonic not in SELECTS:
                    lanes = [n for n in lanes if holds[n]]
            self.active[key] += len(lanes)

    def _branch(self, key, flow, exec_, lanes, holds):
        if flow not in (Flow.GOTO, Flow.JUMP, Flow.RETURN):
            return
        scalar = exec_.size == 1
        takes = [holds[0] if scalar and flow is not Flow.RETURN else holds[n] for n in lanes]
        takes = [
            t and (scalar or exec_.offset <= n < exec_.offset + exec_.size) for t, n in zip(takes, lanes, strict=True)
        ]
        way = 0 if all(takes) else 2 if any(takes) else 1
        self.ways.setdefault(key, [0, 0, 0])[way] += 1

    @staticmethod
    def _holds(predicate, bits):
        own = bits + [False] * (32 - len(bits))
        if predicate.mode:
            own = [(any if predicate.mode == "any" else all)(bits)] * 32
        return [bit != predicate.inverse for bit in own]


def compare(counts, brute):
    """Everything that a profile counts, and the count in plain Python counts."""
    assert counts.functions
    for own in counts.functions:
        for number, instruction in enumerate(own.function.instructions):
            key = own.function.name, number
            assert own.executions[number] == brute.executions[key], key
            if not instruction.desc.is_directive:
                assert own.active(number) == brute.active[key], (key, instruction)
            if (ways := own.ways(number)) is not None and own.executions[number]:
                assert list(ways) == brute.ways[key], (key, instruction)


def launches_of(folder):
    file = parse_launch(
        (folder.parent / "launch.json").read_text(), str(folder.parent), str(folder.parent / "launch.json")
    )
    return range(len(file)), file


@pytest.mark.parametrize(("case", "platform"), some(CASES, 2), ids="-".join)
def test_engines_count_like_plain_python(case, platform):
    folder = DATA / "cases" / case / platform
    program, found = vsim.Program(build(folder, platform)), {}
    for engine in ("brute", *ENGINES):
        found[engine] = observer = BruteForce() if engine == "brute" else Counts()
        numbers, file = launches_of(folder)
        for index in numbers:
            ran = program.run(file.launch(index), engine="numpy" if engine == "brute" else engine, observers=[observer])
            assert ran.engine == ("numpy" if engine == "brute" else engine)
    for engine in ENGINES:
        compare(found[engine], found["brute"])


def test_counts_that_depend_on_the_order_of_threads_are_equal_in_one_order(monkeypatch):
    """Loops of compare and swap: on both engines one hardware thread after the other."""
    folder, begin = DATA / "unoptimised" / "mem_atomics_float_cas" / "tgllp", GroupBatch.begin

    def thread_by_thread(batch, groups):
        begin(batch, groups)
        rows, scheduler = np.arange(len(batch.members)), batch.execution.scheduler
        scheduler.admit(scheduler.live[-1], [rows == row for row in rows])

    monkeypatch.setattr(GroupBatch, "begin", thread_by_thread)
    program, brute, counts = vsim.Program(build(folder, "tgllp")), BruteForce(), Counts()
    _, file = launches_of(folder)
    program.run(file.launch(0), engine="llvm", threads=1, observers=[counts])
    program.run(file.launch(0), engine="numpy", observers=[brute])
    compare(counts, brute)


LOOP = """    mov (M1, 32) V0060(0,0)<1> 0x0:d
AGAIN:
    add (M1, 32) V0060(0,0)<1> V0060(0,0)<1;1,0> 0x1:d
    cmp.lt (M1, 32) P1 V0060(0,0)<1;1,0> V0050(0,0)<1;1,0>
    (P1) goto (M1, 32) AGAIN
    (!P2) add (M1, 32) V0060(0,0)<1> V0060(0,0)<1;1,0> 0x1:d
"""
"""Rounds by x, and a predicate."""
LOADED = """    cmp.gt (M1, 32) P1 V0068(0,0)<1;1,0> 0x3f000000:f
    (P1) add (M1, 32) V0060(0,0)<1> V0060(0,0)<1;1,0> 0x1:d
"""
TURNED = {"itself": ("", True), "a loop": (LOOP, True), "a predicate by memory": (LOADED, False)}


def turned_program(more):
    """Gaussian, whose lanes go along y, with some more lines behind its first load."""
    folder = KERNELS["gaussian"].folder / "bmg"
    text = (folder / "gaussian.visaasm").read_text()
    load = next(line for line in text.splitlines(keepends=True) if " V0068:d32 " in line)
    return vsim.Program(build_text(text.replace(load, load + more), "bmg", (folder / "ze_info.yaml").read_text()))


@pytest.mark.parametrize(("more", "apart"), TURNED.values(), ids=TURNED)
@pytest.mark.parametrize("local_size", [(16, 16), (8, 32)], ids=str)
def test_counts_are_those_of_lanes_along_x(more, apart, local_size):
    program, found, work = turned_program(more), {}, KERNELS["gaussian"].work(256)
    for observer in (BruteForce(), Counts(), None):
        args = [a.copy() if isinstance(a, np.ndarray) else a for a in work.args]
        launch = Launch("gaussian", work.global_size, local_size, args=program.convert("gaussian", args))
        engine, observers = "numpy" if isinstance(observer, BruteForce) else "llvm", [observer] if observer else []
        program.run(launch, engine=engine, observers=observers)
        found[type(observer)] = observer, args[work.result]
    dispatch = program.bind(launch, observers=[Counts()])
    assert translate(dispatch, True, local_size[0], local_size[1]).only_counts == apart
    compare(found[Counts][0], found[BruteForce][0])
    assert found[BruteForce][0].active["gaussian", 0]
    for _, result in found.values():
        assert (result == found[BruteForce][1]).all()


class Ends(Counts):
    def launch_begin(self, launch):
        super().launch_begin(launch)
        self.events = []

    def launch_end(self, error):
        self.events.append(error)


def test_a_launch_that_is_counted_apart_ends_with_its_fault_and_counts_nothing():
    program, work, observer = turned_program(""), KERNELS["gaussian"].work(256), Ends()
    m, a, n, t = work.args
    with pytest.raises(SimulationError):
        program.launch(
            "gaussian",
            work.global_size,
            work.local_size,
            [m, a.reshape(-1)[:-1].copy(), n, t],
            engine="llvm",
            observers=[observer],
        )
    assert len(observer.events) == 1 and observer.events[0] is not None and not observer.functions


@effort(5)
@given(blocks(), seeds)
def test_engines_count_alike_on_generated_programs(found, seed):
    text, size = program_text(lines_of(found, itertools.count()))
    program, brute, counts = vsim.Program(build_text(text, "xehp")), BruteForce(), {}
    for engine in ENGINES:
        counts[engine] = Counts()
        observers = [counts[engine], *([brute] if engine == "numpy" else [])]
        args = [initial(seed, size), np.zeros(size, np.uint8)]
        program.launch("k", 24, 24, args, engine=engine, observers=observers)
    for own in counts.values():
        compare(own, brute)
