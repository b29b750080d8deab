"""Timelines of threads: clocks of instructions, waits at barriers, calls."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from support.programs import DATA, build, build_text, kernel_head, profiler_of
from support.strategies import ENGINES

import vsim
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.observers import clocks
from vsim.engines.llvm.target import is_sanitized
from vsim.launch.launch_file import parse_launch
from vsim.observe.timeline import Slice, Waits
from vsim.profile.counts import Counts
from vsim.profile.perfetto import profile_perfetto
from vsim.profile.profiler import Profiler
from vsim.profile.tables import profile_folded
from vsim.profile.timeline import TimelineObserver

UNEVEN = (
    kernel_head("N=d AT=uq P1=P*8", "AT", SimdSize=8)
    + """mov (M1_NM, 1) N(0,0)<1> %thread_x(0,0)<0;1,0>
again:
add (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> -1:d
cmp.ge (M1_NM, 8) P1 N(0,0)<0;1,0> 0:d
(P1) goto (M1, 8) again
SIGNAL
ret (M1, 1)
"""
)
"""Thread n of the launch goes n + 1 times through a loop of three instructions."""
WAITING = (
    UNEVEN.replace("mov (M1_NM, 1) N", "mov (M1_NM, 1) R(0,0)<1> ROUNDS:d\nround:\nmov (M1_NM, 1) N")
    .replace(
        "SIGNAL",
        "barrier\nadd (M1_NM, 1) R(0,0)<1> R(0,0)<0;1,0> -1:d\ncmp.gt (M1_NM, 8) P1 R(0,0)<0;1,0> 0:d\n(P1) goto (M1, 8) round",
    )
    .replace(".decl AT", ".decl R v_type=G type=d num_elts=1\n.decl AT")
)
CASES = [(path.parent.parent.name, path.parent.name) for path in sorted(DATA.glob("cases/*/*/ze_info.yaml"))]


WITH_CALLS = [
    ("call_subroutine_diverge", "pvc"),
    ("call_shared_functions", "bmg"),
    ("call_stack_recursion", "bmg"),
    ("wg_scan_slm", "bmg"),
]
"""Cases with calls, recursion and barriers."""
TIMELINES = [(*case, engine) for case in WITH_CALLS for engine in ENGINES]


def timeline_of(engine, text, size=32, local=16):
    program, seen = vsim.Program(build_text(text, "pvc")), TimelineObserver()
    ran = program.launch("k", size, local, [np.zeros(8, np.uint32)], engine=engine, observers=[seen])
    assert ran.engine == engine
    return seen.timeline


@pytest.mark.parametrize("engine", ENGINES)
def test_threads_wait_for_the_slowest_one_of_their_group(engine):
    found = timeline_of(engine, UNEVEN.replace("SIGNAL", "barrier"), 48, 24)
    ends = [1 + 3 * rounds + 2 for rounds in (3, 6)]
    assert [[found.lengths[group, thread] for thread in range(3)] for group in (0, 1)] == [[end] * 3 for end in ends]
    (waits,) = found.waits.values()
    assert waits == Waits(threads=6, waited=2 * (6 + 3), longest=6)
    assert Slice(0, 0, "barrier", 5, 11) in found.slices and Slice(1, 2, "k", 0, ends[1]) in found.slices


@pytest.mark.parametrize("engine", ENGINES)
def test_the_second_half_of_a_split_barrier_waits_for_the_last_arrival(engine):
    found = timeline_of(engine, UNEVEN.replace("SIGNAL", "sbarrier.signal\nsbarrier.wait"), 24, 24)
    assert [found.lengths[0, thread] for thread in range(3)] == [12, 12, 13]
    assert list(found.waits.values()) == [Waits(threads=3, waited=5 + 2, longest=5)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_thread_alone_does_not_wait(engine):
    found = timeline_of(engine, UNEVEN.replace("SIGNAL", "barrier"), 8, 8)
    assert list(found.waits.values()) == [Waits(threads=1)]


@pytest.mark.parametrize("engine", ENGINES)
def test_more_waits_than_the_list_of_compiled_code_has_room_for(engine):
    """Each round of a thread's loop has a barrier, where the threads with longer rounds are awaited."""
    rounds = cx.CLOCKS_ROOM // 6 + 1
    found = timeline_of(engine, WAITING.replace("ROUNDS", str(rounds)), 64, 32)
    assert [(w.threads, w.waited > 0) for w in found.waits.values()] == [(8 * rounds, True)]
    assert sum(s.name == "barrier" for s in found.slices) == 6 * rounds and found.end == max(found.lengths.values())


@pytest.mark.parametrize(("case", "platform"), CASES, ids="-".join)
def test_engines_have_the_same_clocks(case, platform):
    reference, fast = (
        [t for profile in profiler_of(case, platform, engine, detail=True).profiles for t in profile.timelines]
        for engine in ("numpy", "llvm")
    )
    for own, other in zip(reference, fast, strict=True):
        assert (own.waits, own.lengths, own.end) == (other.waits, other.lengths, other.end)
        assert sorted(own.slices) == sorted(other.slices)
        assert not other.stacks or other.stacks == own.stacks


@pytest.mark.skipif(is_sanitized(), reason="the guard knows the memory of a launch as it begins")
def test_more_stacks_than_there_is_room_for_at_first(monkeypatch):
    monkeypatch.setattr(clocks, "FEW_STACKS", 2)
    (reference,), (fast,) = (
        profiler_of("call_stack_recursion", "bmg", e, detail=True).profiles for e in ("numpy", "llvm")
    )
    assert len(reference.stacks) > 4 and reference.stacks == fast.stacks


@pytest.mark.parametrize(("case", "platform", "engine"), TIMELINES)
def test_stacks_and_clocks_add_up_to_the_executions(case, platform, engine):
    profiler = profiler_of(case, platform, engine, detail=True)
    for profile in profiler.profiles:
        folded = profile_folded([profile]).splitlines()
        assert sum(int(line.rpartition(" ")[2]) for line in folded) == profile.executions
        waited = sum(waits.waited for timeline in profile.timelines for waits in timeline.waits.values())
        clocks = sum(sum(timeline.lengths.values()) for timeline in profile.timelines)
        assert clocks == profile.executions + waited
        for timeline in profile.timelines:
            assert all(0 <= s.begin <= s.end <= timeline.lengths[s.group, s.thread] for s in timeline.slices)


def test_traces_have_slices_that_nest():
    profiler = profiler_of("call_subroutine_diverge", "pvc", "numpy", detail=True)
    events = json.loads(profile_perfetto(profiler.profiles))["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    assert {e["name"] for e in slices} >= {profiler.profiles[0].kernel}
    for tid in {e["tid"] for e in slices}:
        open_ends = []
        for e in sorted((e for e in slices if e["tid"] == tid), key=lambda e: (e["ts"], -e["dur"])):
            while open_ends and open_ends[-1] <= e["ts"]:
                open_ends.pop()
            assert not open_ends or e["ts"] + e["dur"] <= open_ends[-1]
            open_ends.append(e["ts"] + e["dur"])


@pytest.mark.skipif(not shutil.which("trace_processor_shell"), reason="Perfetto's trace processor is not installed")
@pytest.mark.parametrize(("case", "platform", "engine"), TIMELINES)
def test_perfettos_trace_processor_reads_traces(tmp_path, case, platform, engine):
    profiler, trace, query = (
        profiler_of(case, platform, engine, detail=True),
        tmp_path / "k.perfetto.json",
        tmp_path / "query.sql",
    )
    trace.write_text(text := profile_perfetto(profiler.profiles))
    events = [e for e in json.loads(text)["traceEvents"] if e["ph"] == "X"]
    query.write_text(
        "select 'errors', ifnull(sum(value), 0) from stats where value > 0 and severity != 'info';"
        "select 'slices', count(*) from slice; select 'time', sum(dur) from slice;"
    )
    arguments = ["trace_processor_shell", "-q", query, trace]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=True)
    found = dict(line.split(",") for line in done.stdout.splitlines() if line.count(",") == 1)
    microseconds = sum(e["dur"] for e in events)
    assert (found['"errors"'], found['"slices"']) == ("0", str(len(events))), done.stdout
    assert found['"time"'] == str(1000 * microseconds)


def test_counts_do_not_depend_on_the_detail():
    plain, detailed = Profiler(), profiler_of("wg_scan_slm", "bmg", "numpy", detail=True)
    folder = DATA / "cases" / "wg_scan_slm" / "bmg"
    program, path = vsim.Program(build(folder, "bmg")), folder.parent / "launch.json"
    file = parse_launch(path.read_text(), str(folder.parent), str(path))
    for index in range(len(file)):
        watching = plain.watching()
        assert isinstance(watching.counts, Counts) and watching.memory is None
        plain.ended(watching, program.run(file.launch(index), engine="llvm", observers=watching.observers))
    for one, other in zip(plain.profiles, detailed.profiles, strict=True):
        assert [r.executions for r in one.rows] == [r.executions for r in other.rows]
