"""Where native code is long in the making, the reference engine runs meanwhile."""

import fcntl
import gc
import os
import threading
import time

import numpy as np
import pytest
from support.programs import build_text

import vsim
from vsim.engines import tiers
from vsim.engines.llvm import improvement, kernels, pipeline
from vsim.engines.llvm.host import apart as forked
from vsim.engines.llvm.host import native, workers

ADDITIONS = 500
TEXT = "\n".join(
    [
        ".version 4.1",
        '.kernel "count"',
        ".decl DATA v_type=G type=uq num_elts=1",
        ".decl AT v_type=G type=uq num_elts=8 align=GRF",
        ".decl X v_type=G type=ud num_elts=8 align=GRF",
        ".kernel_attr SimdSize=8",
        ".input DATA offset=64 size=8",
        "mov (M1, 8) X(0,0)<1> 0x76543210:uv",
        "mad (M1, 8) X(0,0)<1> %group_id_x(0,0)<0;1,0> 8:uw X(0,0)<1;1,0>",
        "shl (M1, 8) AT(0,0)<1> X(0,0)<1;1,0> 2:ud",
        "add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> DATA(0,0)<0;1,0>",
        "svm_gather.4.1 (M1, 8) AT.0 X.0",
        *["add (M1, 8) X(0,0)<1> X(0,0)<1;1,0> 1:ud"] * ADDITIONS,
        "svm_scatter.4.1 (M1, 8) AT.0 X.0",
        "ret (M1, 1)",
        "",
    ]
)
ITEMS = 8 * 8 * tiers.THREADS_AT_ONCE
"""So many that they are several batches."""


@pytest.fixture
def program():
    return vsim.load(build_text(TEXT))


@pytest.fixture
def slow(monkeypatch, tmp_path):
    """Compiling waits for the test; no code is on disk."""
    go_on = threading.Event()
    compile_objects = pipeline.compile_objects

    def wait(translation, quick=False):
        assert go_on.wait(60)
        return compile_objects(translation, quick)

    monkeypatch.setattr(pipeline, "compile_objects", wait)
    monkeypatch.setattr(kernels, "GRACE_SECONDS", 0)
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path))
    yield go_on
    go_on.set()


def test_the_reference_engine_ends_first(program, slow):
    data = np.arange(ITEMS, dtype=np.uint32)
    result = program.launch("count", ITEMS, 8, [data])
    assert result.engine == "numpy"
    assert (data == np.arange(ITEMS) + ADDITIONS).all()
    slow.set()
    (compilation,) = program.engines.native.kernels.unfinished.values()
    assert compilation.wait(60)
    result = program.launch("count", ITEMS, 8, [data])
    assert result.engine == "llvm"
    assert (data == np.arange(ITEMS) + 2 * ADDITIONS).all()
    assert not program.engines.native.kernels.unfinished


def test_native_code_is_ready_first(program, slow, monkeypatch):
    overtake = tiers.overtake

    def interrupted(dispatch, max_seconds, is_ready):
        looks = iter(range(2))

        def ready():
            if next(looks, None) is None:  # in the middle of the launch
                slow.set()
                (compilation,) = program.engines.native.kernels.unfinished.values()
                assert compilation.wait(60)
            return is_ready()

        return overtake(dispatch, max_seconds, ready)

    monkeypatch.setattr(tiers, "overtake", interrupted)
    data = np.arange(ITEMS, dtype=np.uint32)
    result = program.launch("count", ITEMS, 8, [data])
    assert result.engine == "llvm"
    assert (data == np.arange(ITEMS) + ADDITIONS).all(), "some items were counted twice"


def test_a_requested_engine_runs_the_launch(program, slow):
    data = np.arange(8, dtype=np.uint32)
    threading.Timer(0.1, slow.set).start()
    assert program.launch("count", 8, 8, [data], engine="llvm").engine == "llvm"
    assert program.launch("count", 8, 8, [data], engine="numpy").engine == "numpy"


@pytest.mark.parametrize("options", [{"schedule": "reverse"}, {"profile": True}], ids=str)
def test_order_and_coverage_wait_for_native_code(program, slow, options):
    threading.Timer(0.1, slow.set).start()
    assert program.launch("count", 8, 8, [np.zeros(8, np.uint32)], **options).engine == "llvm"


def test_an_error_of_the_compiler_is_raised_by_the_launch(program, slow, monkeypatch):
    def fail(translation, quick=False):
        raise RuntimeError("no")

    monkeypatch.setattr(pipeline, "compile_objects", fail)
    monkeypatch.setattr(kernels, "GRACE_SECONDS", 60)
    with pytest.raises(RuntimeError, match="no"):
        program.launch("count", 8, 8, [np.zeros(8, np.uint32)])


@pytest.fixture
def apart(monkeypatch, tmp_path):
    """As in a command; a compilation in another process waits until the test writes a file."""
    go_on, compile_objects, own = tmp_path / "go", pipeline.compile_objects, os.getpid()

    def wait(translation, quick=False):
        while os.getpid() != own and not go_on.exists():
            time.sleep(0.01)
        return compile_objects(translation, quick)

    monkeypatch.setattr(pipeline, "compile_objects", wait)
    monkeypatch.setattr(kernels, "GRACE_SECONDS", 0)
    monkeypatch.setattr(improvement, "is_allowed", lambda: True)
    monkeypatch.setattr(forked, "_LOCK", [])
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path / "cache"))
    yield go_on
    for lock in forked._LOCK:
        os.close(lock)


def left(program):
    """The unfinished compilation of a launch that has ended."""
    (compilation,) = program.engines.native.kernels.unfinished.values()
    return compilation


def count(program):
    data = np.arange(8, dtype=np.uint32)
    result = program.launch("count", 8, 8, [data])
    assert (data == np.arange(8) + ADDITIONS).all()
    return result.engine


def test_code_of_a_command_is_kept_behind_its_end(program, apart, monkeypatch):
    assert count(program) == "numpy"
    process = left(program).process
    apart.touch()
    with open(left(program).pipe, "rb", closefd=False) as pipe:
        assert pipe.read()
    assert os.waitpid(process, 0) == (process, 0)
    monkeypatch.setattr(pipeline, "translate", None)
    assert count(vsim.load(build_text(TEXT))) == "llvm"


def test_the_next_launch_of_a_command_waits_for_its_code(program, apart, monkeypatch):
    assert count(program) == "numpy"
    apart.touch()
    monkeypatch.setattr(pipeline, "translate", None)
    monkeypatch.setattr(kernels, "GRACE_SECONDS", 60)
    assert count(program) == "llvm" and not program.engines.native.kernels.unfinished


def test_code_that_another_process_does_not_make_is_made_here(program, apart, monkeypatch):
    begin = forked._compile
    monkeypatch.setattr(forked, "_compile", lambda make, writer: begin(lambda: 1 // 0, writer))
    monkeypatch.setattr(tiers, "overtake", lambda *_: False)
    assert count(program) == "llvm"


def test_one_process_compiles_behind_its_command(program, apart, tmp_path, monkeypatch):
    seen, leave = [], forked.ForkedCompilation.leave
    monkeypatch.setattr(forked.ForkedCompilation, "leave", lambda self: seen.append(self.process) or leave(self))
    (tmp_path / "cache" / "objects").mkdir(mode=0o700, parents=True)
    (tmp_path / "cache").chmod(0o700)
    with open(tmp_path / "cache" / "objects" / forked.LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert count(program) == "numpy" and not program.engines.native.kernels.unfinished
    with pytest.raises(ProcessLookupError):
        os.kill(seen[0], 0)


@pytest.fixture
def made(monkeypatch, tmp_path):
    """Whether the compilations so far were of quick code; the kernel is one that has it first."""
    made, compile_objects = [], pipeline.compile_objects

    def note(translation, quick=False):
        made.append(quick)
        return compile_objects(translation, quick)

    monkeypatch.setattr(pipeline, "compile_objects", note)
    monkeypatch.setattr(native, "QUICK_LINES", 100)
    monkeypatch.setattr(native, "ONCE_LINES", 100)
    monkeypatch.setattr(kernels, "GRACE_SECONDS", 60)
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path))
    return made


def launches(program, times, **options):
    """Launches of many items, which run on workers; the engines."""
    data, engines = np.arange(ITEMS, dtype=np.uint32), []
    for _ in range(times):
        engines.append(program.launch("count", ITEMS, 8, [data], **options).engine)
    assert (data == np.arange(ITEMS) + times * ADDITIONS).all()
    return engines


def better(program):
    """The kernel's good code, which is under way."""
    (kernel,) = program.engines.native.kernels.found.values()
    return kernel.improvement


def test_good_code_follows_quick_code(program, made):
    assert launches(program, 1) == ["llvm"] and made == [True] and better(program).compilation is None
    launches(program, 1)
    assert better(program).compilation.wait(60) and made == [True, False]
    launches(program, 1)
    assert better(program) is None
    assert launches(vsim.load(build_text(TEXT)), 1) == ["llvm"] and made == [True, False]


def test_quick_code_is_kept_too(program, made):
    launches(program, 1)
    again = vsim.load(build_text(TEXT))
    launches(again, 1)
    assert made == [True] and better(again) is not None


def test_a_requested_fast_engine_runs_optimised_code(program, made):
    launches(program, 1, engine="llvm")
    assert made == [False]


def test_a_launch_begins_anew_when_good_code_is_ready(program, made, monkeypatch):
    run = workers.WorkerPools.run

    def overtaken(pools, jobs, max_seconds):
        if jobs.look is not None:
            better(program)._begin(jobs.keep[0])
            assert better(program).compilation.wait(60)
            jobs.was_overtaken = True  # after its end, so that all items were counted
        return run(pools, jobs, max_seconds)

    monkeypatch.setattr(workers.WorkerPools, "run", overtaken)
    assert launches(program, 1) == ["llvm"] and made == [True, False]
    assert better(program) is None


def test_errors_in_good_code_leave_quick_code(program, made, monkeypatch):
    launches(program, 1)
    monkeypatch.setattr(pipeline, "translate", None)
    assert launches(program, 3) == ["llvm"] * 3 and better(program) is None


def test_kernels_that_may_run_once_stay_on_the_reference_engine_for_a_time(program, made, monkeypatch):
    monkeypatch.setattr(tiers, "SHORT_THREADS", ITEMS // 8)
    monkeypatch.setattr(tiers, "SOON_SECONDS", 60)
    program.image.runs_once = True
    assert launches(program, 4, engine="llvm") == ["numpy"] * 4 and made == []
    program.engines._trials.left["count"] = 1e-9
    assert launches(program, 2, engine="llvm") == ["numpy", "llvm"] and made == [True]


def test_kernels_that_may_run_once_begin_on_the_reference_engine(program, made, monkeypatch):
    monkeypatch.setattr(tiers, "SHORT_THREADS", ITEMS // 8)
    monkeypatch.setattr(tiers, "TIMES_SOON", 1e-9)
    program.image.runs_once = True
    assert launches(program, 4, engine="llvm") == ["numpy", "llvm", "llvm", "llvm"]
    assert made == [True, False] and better(program) is None


def test_kernels_with_native_code_on_disk_run_on_it(made, monkeypatch):
    """A session before made it; one whose launches all ended on the reference engine did not. The launches after the
    first are as in other sessions: good code is made for the third, and no launch of three waits for it."""
    monkeypatch.setattr(tiers, "SHORT_THREADS", ITEMS // 8)
    monkeypatch.setattr(tiers, "TIMES_SOON", 1e-9)
    for count, first, launched in ((1, "numpy", None), (2, "numpy", 1), (3, "llvm", 2)):
        session = vsim.load(build_text(TEXT))
        session.image.runs_once = True
        assert launches(session, count, engine="llvm")[0] == first
        if launched is not None:
            assert better(session).launches == launched
            assert better(session).compilation is None or better(session).compilation.wait(60)


def test_launches_of_many_threads_do_not(program, made):
    program.image.runs_once = True
    assert launches(program, 3, engine="llvm") == ["llvm"] * 3 and made == [True, False]


ROUNDS = 100
LOOP = TEXT.replace(
    ".decl X ", ".decl P v_type=P num_elts=8\n.decl N v_type=G type=ud num_elts=8 align=GRF\n.decl X "
).replace(
    "svm_scatter.4.1 (M1, 8) AT.0 X.0",
    "\n".join(
        [
            f"mov (M1, 8) N(0,0)<1> {ROUNDS}:ud",
            "again:",
            "add (M1, 8) X(0,0)<1> X(0,0)<1;1,0> 1:ud",
            "svm_scatter.4.1 (M1, 8) AT.0 X.0",
            "add (M1, 8) N(0,0)<1> N(0,0)<1;1,0> -1:d",
            "cmp.ne (M1, 8) P N(0,0)<1;1,0> 0:ud",
            "(P) goto (M1, 8) again",
        ]
    ),
)
"""A loop that writes its sum each time."""


@pytest.mark.parametrize("is_late", [False, True])
def test_a_loop_that_takes_long_begins_anew_on_native_code(is_late, monkeypatch, tmp_path):
    """Bytes that the launch wrote are restored; other bytes that the program writes meanwhile are kept."""
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path))
    program = vsim.load(build_text(LOOP))
    data, other = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    program.launch("count", 64, 8, [other], engine="numpy")
    program.image.runs_once = True
    seen = []

    def clock():
        assert not gc.isenabled(), "the collector would look at objects that are freed soon"
        seen.append(data.copy())
        other[:] = len(seen)
        return 60.0 * is_late * (len(seen) - 1)

    monkeypatch.setattr(tiers.time, "thread_time", clock)
    result = program.launch("count", 64, 8, [data], engine="llvm")
    assert result.engine == ("llvm" if is_late else "numpy") and gc.isenabled()
    assert (data == np.arange(64) + ADDITIONS + ROUNDS).all()
    assert (other == len(seen)).all() and (seen[-1] != seen[0]).any()
