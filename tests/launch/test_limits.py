"""What a process may be used for: any number of texts and launches, forks, interrupts at any moment, limits."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import re
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from support.programs import DATA, build, build_text, eventually

import vasm
import visakit
import vlink
import vsim
from vasm.inline import own_snippet
from visakit import LaunchError, SimulationError, collector
from visakit.language.program import Function
from visakit.objects.image import LinkedImage
from vsim.command.command_arguments import argument_value, sizes
from vsim.command.numbers import parse_numbers
from vsim.engines.llvm import kernels, pipeline
from vsim.engines.llvm.host import thread_pool, workers
from vsim.engines.llvm.host.shutdown import ProcessEndsError
from vsim.launch.launch import BufferArgument, Launch
from vsim.launch.schedule import parse_schedule
from vsim.memory.memory import RESTING_SLOTS
from vsim.program import Program

TEXT = '.version 4.1\n.kernel "k"\n.decl V32 v_type=G type=d num_elts=8 align=GRF\nmov (M1, 8) V32(0,0)<1> 1:d\nret (M1, 1)\n'

ENGINES = pytest.mark.parametrize("engine", ["llvm", "numpy"])
NODE = np.dtype([("next", "u8"), ("value", "i4"), ("", "i4")])


@pytest.fixture(scope="module")
def image() -> LinkedImage:
    return build(DATA.parent.parent / "samples" / "python", "tgllp")


@pytest.fixture
def pythons_own_thresholds():
    """The collector of plain Python, over all objects: conftest.py sets rare collections without old objects."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    gc.unfreeze()
    yield
    gc.set_threshold(*before)
    gc.collect()
    gc.freeze()


def _trees() -> int:
    return sum(isinstance(o, Function) for o in gc.get_objects())


@pytest.mark.usefixtures("pythons_own_thresholds")
def test_many_texts_take_no_more_memory_than_one() -> None:
    """Trees have cycles, so that they go when the collector looks, which pauses must not keep it from."""
    gc.collect()
    before = _trees()
    for _ in range(400):
        visakit.assemble(TEXT)
    assert _trees() - before < 200


@pytest.mark.usefixtures("pythons_own_thresholds")
def test_large_trees_do_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "FEW", 10)
    monkeypatch.setattr(collector, "LEAST_OLD", 500)
    monkeypatch.setattr(collector, "_OLD", collector.OldObjects())
    gc.collect()
    before = _trees()
    # A quarter of all objects that there are may be garbage, and the other tests have left many.
    for made in range(1000, 20_000, 1000):
        for _ in range(1000):
            with collector.paused_collection():
                visakit.assemble(TEXT)
        if _trees() - before < made * 3 // 4:
            return
    pytest.fail("no tree went away")


@ENGINES
def test_arrays_are_mapped_as_long_as_they_live(image: LinkedImage, engine: str) -> None:
    program = Program(image)
    memory = program.memory
    before = len(memory.slots)
    for n in range(RESTING_SLOTS + 8):
        node, out = np.zeros(1, NODE), np.zeros(1, "i4")
        node["value"] = n
        result = program.launch("walk", 1, 1, [node, out], engine=engine)
        assert out[0] == n
        assert len(memory.slots) <= before + 32  # What counts lines keeps the variables of a few calls.
    # Neither the result nor the data for the next launch keep them.
    gone = weakref.ref(node)
    surface = next(iter(result.dispatch.surfaces.values()), None)
    del node
    assert eventually(
        lambda: gone() is None
    )  # A worker thread lets go of the launch after it has said that it is done.
    assert surface is None or surface.data.size in (0, out.nbytes)
    assert max(memory.slots) < 0x100 + RESTING_SLOTS + 8


@ENGINES
def test_shared_memory_is_kept_until_released(image: LinkedImage, engine: str) -> None:
    program = Program(image)
    nodes, out = np.zeros(2, NODE), np.zeros(1, "i4")
    nodes["value"] = 1, 10
    address = program.usm(nodes)
    gone = weakref.ref(nodes)
    nodes["next"][0] = address + 16
    del nodes
    program.launch("walk", 1, 1, [np.uint64(address), out], engine=engine)
    assert out[0] == 11
    program.release(gone())
    assert gone() is None
    with pytest.raises(LaunchError, match="must be an array, or an address in one"):
        program.launch("walk", 1, 1, [np.uint64(address), out], engine=engine)


def test_memory_of_a_mapped_array_does_not_move(image: LinkedImage) -> None:
    program = Program(image)
    node, out = np.zeros(1, NODE), np.zeros(1, "i4")
    for _ in range(2):
        program.launch("walk", 1, 1, [node, out])
    with pytest.raises(ValueError, match="cannot resize"):
        out.resize(1 << 20, refcheck=False)
    program.release(out)
    out.resize(1 << 20, refcheck=False)
    node["value"] = 7
    program.launch("walk", 1, 1, [node, out])
    assert out[0] == 7


@ENGINES
def test_an_array_that_was_made_read_only_is_noticed(image: LinkedImage, engine: str) -> None:
    program = Program(image)
    node, out = np.zeros(1, NODE), np.zeros(1, "i4")
    node["value"] = 7
    record = Launch("walk", (1,), (1,), (0, 0, 0), [BufferArgument(array=node), BufferArgument(array=out)])
    ways = [
        lambda: program.launch("walk", 1, 1, [node, out], engine=engine),
        lambda: program.run(record, engine=engine),
    ]
    for again in ways:
        out.flags.writeable = True
        for _ in range(3):
            again()
        out.flags.writeable = False
        with pytest.raises(SimulationError, match="write of 4 bytes to 'out', an array that is read-only, at offset 0"):
            again()
    out.flags.writeable = True
    again()
    assert out[0] == 7


def test_memory_of_an_array_that_a_record_holds_does_not_move(image: LinkedImage) -> None:
    program = Program(image)
    node, out = np.zeros(1, NODE), np.zeros(1, "i4")
    record = Launch("walk", (1,), (1,), (0, 0, 0), [BufferArgument(array=node), BufferArgument(array=out)])
    program.run(record)
    with pytest.raises(ValueError, match="cannot resize"):
        out.resize(1 << 20, refcheck=False)
    del program  # Then the array owns its memory alone, as soon as pytest has dropped the local variables.
    gc.collect()
    out.resize(1 << 20, refcheck=False)
    program, node["value"] = Program(image), 7
    for size in (1 << 20, 4, 1 << 21):
        program.release(out)
        out.resize(size, refcheck=False)
        program.run(record)
        assert out[0] == 7


def test_private_memory_is_replaced_by_larger(image: LinkedImage) -> None:
    memory = Program(image).memory
    before = len(memory.slots)
    for size in (64, 1 << 10, 1 << 20, 1 << 12):
        memory.block("private memory", size)
        assert len(memory.slots) == before + 1


def _walk(program: Program, items: int = 64) -> int:
    node, out = np.zeros(1, NODE), np.zeros(items, "i4")
    node["value"] = 5
    program.launch("walk", items, 1, [node, out], threads=2, max_seconds=20)
    return int(out.sum())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_workers_are_made_anew_after_a_fork(image: LinkedImage) -> None:
    program = Program(image)
    assert _walk(program) == 320
    with program.launch_lock:  # as another thread might hold it
        child = multiprocessing.get_context("fork").Process(target=lambda: os._exit(_walk(program) - 300))
        child.start()
    child.join(20)
    if child.exitcode is None:
        child.kill()
    assert child.exitcode == 20
    assert _walk(program) == 320


class Interrupter:
    """Raises KeyboardInterrupt at given steps (bytecodes) of the functions of some files."""

    def __init__(self, files: tuple[str, ...], *steps: int) -> None:
        self.files, self.steps, self.count = files, set(steps), 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> Interrupter | None:
        if frame.f_code.co_filename not in self.files:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.count += 1
            if self.count in self.steps:
                raise KeyboardInterrupt
        return self

    def run(self, pool: workers.WorkerPools, run: workers.Run) -> bool:
        """Run it with the interrupts; whether one came."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            pool.run(run, None)
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return False


JOB = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class Work:
    """Two jobs that go on until they are stopped, or for a moment."""

    def __init__(self, seconds: float = 0.002, with_caller: bool = False) -> None:
        self.stopped = threading.Event()
        self.seconds = seconds
        self.running: list[int] = []
        self.native = JOB(self.job)
        code = ctypes.cast(self.native, ctypes.c_void_p).value
        jobs = np.array([(code, 1, 10), (code, 2, 20)], np.uint64)
        self.run = workers.Run(workers.Jobs(jobs.ctypes.data, 2, with_caller), self.stopped.set, jobs)

    def job(self, context: int, worker: int) -> None:
        assert worker == 10 * context
        self.running.append(context)
        self.stopped.wait(self.seconds)
        self.running.remove(context)


@pytest.mark.parametrize("with_caller", [False, True])
@pytest.mark.parametrize("second", [None, 1, 7, 40])
def test_an_interrupt_anywhere_leaves_the_pool_as_it_was(
    monkeypatch: pytest.MonkeyPatch, second: int | None, with_caller: bool
) -> None:
    monkeypatch.setattr(workers, "STACK_BYTES", 1 << 20)
    pool = workers.WorkerPools()
    came, step = True, 0
    while came:
        step += 1
        work = Work(with_caller=with_caller)
        steps = [step] if second is None else [step, step + second]
        came = Interrupter((workers.__file__, thread_pool.__file__), *steps).run(pool, work.run)
        assert second is not None or not (work.run.left or work.running)
        work.run.settle()  # which the next launch does if interrupts came even there
        assert work.run.over and not work.running
        work = Work(with_caller=with_caller)
        assert pool.run(work.run, None) and work.run.over and not work.running
    assert step > 50
    assert [hired.size(2) for hired, _ in pool.pools] == [2]


def test_concurrent_runs_have_separate_threads() -> None:
    pool, late, soon = workers.WorkerPools(), Work(20), Work()
    other = threading.Thread(target=pool.run, args=(late.run, None))
    other.start()
    while len(late.running) < 2:
        time.sleep(0.001)
    assert pool.run(soon.run, None) and sorted(late.running) == [1, 2]
    late.stopped.set()
    other.join()
    assert not pool.run(Work(20).run, 0.01)  # it stops them
    assert len(pool.pools) == 2 and not any(works_at for _, works_at in pool.pools)


def _program(text: str) -> Program:
    return vsim.load(vlink.link([vasm.assemble_text(text, platform="tgllp").object_bytes()]))


@ENGINES
def test_calls_without_end_are_stopped(engine: str) -> None:
    """2^40 calls: each is short, none is deep, and there is no loop."""
    calls = "".join(f"s{n}:\ncall (M1, 1) s{n + 1}\ncall (M1, 1) s{n + 1}\nret (M1, 1)\n" for n in range(40))
    program = _program(f'.version 4.1\n.kernel "k"\ncall (M1, 1) s0\nret (M1, 1)\n{calls}s40:\nret (M1, 1)\n')
    with pytest.raises(SimulationError, match=r"did not end within 0.1 seconds"):
        program.launch("k", 16, 16, engine=engine, max_seconds=0.1)


def _large(count: int) -> str:
    """Declarations of variables of 64 KiB whose addresses are taken."""
    variables = "".join(f".decl W{n} v_type=G type=d num_elts=16384 align=GRF\n" for n in range(count))
    taken = "".join(f"addr_add (M1, 1) A(0)<1> &W{n} 0:uw\nmov (M1, 1) r[A(0),0]<1>:d 1:d\n" for n in range(count))
    return f"{variables}.decl A v_type=A num_elts=1\n{taken}"


def test_stacks_do_not_run_over() -> None:
    # In the caller's thread, in a worker, in nested calls.
    for count in (10, 160):
        _program(f'.version 4.1\n.kernel "k"\n{_large(count)}ret (M1, 1)\n').launch("k", 1, 1)
    kernel = '.version 4.1\n.kernel "k"\nfcall (M1, 1) f 0 0\nret (M1, 1)\n'
    after = "add (M1, 16) W0(63,0)<1> W0(0,0)<1;1,0> 1:d\nmov (M1, 1) r[A(0),0]<1>:d W0(63,0)<0;1,0>\n"
    function = f'.global_function "f"\n{_large(50)}fcall (M1, 1) f 0 0\n{after}fret (M1, 1)\n'
    with pytest.raises(SimulationError, match=r"calls are nested \d+ deep, and their variables take more than 160 MiB"):
        _program(kernel + function).launch("k", 1, 1, engine="llvm")


def test_compiling_has_the_limit_too(image: LinkedImage, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    compile_objects = pipeline.compile_objects

    def slowly(translation: pipeline.Translation, quick: bool = False) -> list[bytes]:
        released.wait(20)
        return compile_objects(translation, quick)

    monkeypatch.setattr(pipeline, "compile_objects", slowly)
    monkeypatch.setattr(kernels, "LEAST_SECONDS", 0.0)
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    program = Program(image)
    args = [np.zeros(1, NODE), np.zeros(1, "i4")]
    with pytest.raises(SimulationError, match=r"kernel 'walk' was not compiled within 0.05 seconds"):
        program.launch("walk", 1, 1, args, max_seconds=0.05)
    released.set()
    program.launch("walk", 1, 1, args, max_seconds=20)


@ENGINES
@pytest.mark.parametrize("nested", [0, 1, 2], ids=["function", "function-subroutine", "function-subroutines"])
def test_depth_counts_functions_whatever_subroutines_are_between(engine: str, nested: int) -> None:
    call = ["fcall (M1, 16) f 0 0", "call (M1, 16) s", "call (M1, 16) s"][nested]
    inner = [
        "",
        "s:\nfcall (M1, 16) f 0 0\nret (M1, 16)",
        "s:\ncall (M1, 16) t\nret (M1, 16)\nt:\nfcall (M1, 16) f 0 0\nret (M1, 16)",
    ]
    text = f""".version 4.1
.kernel "k"
.decl BUF v_type=G type=uq num_elts=1
.decl A v_type=G type=uq num_elts=1 alias=<%arg, 0>
.kernel_attr SimdSize=16
.input BUF offset=64 size=8
mov (M1, 1) A(0,0)<1> BUF(0,0)<0;1,0>
fcall (M1, 16) f 0 0
ret (M1, 1)
.global_function "f"
.decl A v_type=G type=uq num_elts=1 alias=<%arg, 0>
.decl C v_type=G type=ud num_elts=8 align=GRF
.kernel_attr SimdSize=16
.kernel_attr Extern
svm_block_ld (1) A(0,0)<0;1,0> C.0
add (M1, 1) C(0,0)<1> C(0,0)<0;1,0> 1:ud
svm_block_st (1) A(0,0)<0;1,0> C.0
{call}
fret (M1, 16)
{inner[nested]}"""
    counter = np.zeros(4, "u4")
    with pytest.raises(SimulationError, match=r"calls are nested more than 1000 deep by 'fcall"):
        vsim.load(build_text(text)).launch("k", 16, 16, [counter], engine=engine)
    assert counter[0] == 1000


LEAVE = """
import sys, threading, time
import numpy as np
import visakit, vsim
from llvmlite import binding
from vsim.engines.llvm import kernels

emit_object, begun = binding.TargetMachine.emit_object, threading.Event()

def announced(machine, module):
    begun.set()
    return emit_object(machine, module)

binding.TargetMachine.emit_object, kernels.LEAST_SECONDS = announced, 0.05
program = vsim.load(sys.argv[1])
try:
    program.launch("k", 16, 16, [np.zeros(64, "u4")], max_seconds=0.05)
except visakit.SimulationError as error:
    print(error.diagnostics[0].code)
assert begun.wait(60)
time.sleep(float(sys.argv[2]))
sys.exit(3)
"""


def test_a_process_ends_well_while_a_kernel_is_compiled(tmp_path: Path) -> None:
    lines = ["mul (M1, 16) W(0,0)<1> W(0,0)<1;1,0> W(0,0)<1;1,0>", "xor (M1, 16) X(0,0)<1> W(0,0)<1;1,0> X(0,0)<1;1,0>"]
    head = [
        '.version 4.1', '.kernel "k"', ".decl BUF v_type=G type=uq num_elts=1", ".kernel_attr SimdSize=16",
        *(f".decl {v} v_type=G type=ud num_elts=16 align=GRF" for v in "WX"), ".input BUF offset=64 size=8",
    ]  # fmt: skip
    ends = [
        "svm_block_ld (4) BUF(0,0)<0;1,0> W.0",
        *lines * 4000,
        "svm_block_st (4) BUF(0,0)<0;1,0> X.0",
        "ret (M1, 1)",
    ]
    image = tmp_path / "image.bin"
    image.write_bytes(build_text("\n".join(head + ends)).to_bytes())
    environment = {**os.environ, "VISAKIT_CACHE": "off"}
    for seconds in ("0", "0.3"):
        command = [sys.executable, "-c", LEAVE, str(image), seconds]
        done = subprocess.run(command, capture_output=True, env=environment, timeout=120, check=False)
        assert (done.returncode, done.stdout.split()) == (3, [b"S040"]), done.stderr.decode()


def test_private_memory_counts(image: LinkedImage) -> None:
    memory = Program(image).memory
    memory.limit = 1 << 20
    memory.block("private memory", 1000)
    with pytest.raises(LaunchError, match="the limit is 1,048,576"):
        memory.block("private memory", 1 << 20)


SPIN = """.version 4.1
.kernel "spin"
.decl P v_type=P num_elts=1
.kernel_attr SimdSize=8
cmp.lt (M1_NM, 1) P %group_id_x(0,0)<0;1,0> 2:ud
(P) jmp (M1, 1) first
second:
jmp (M1, 1) second
first:
jmp (M1, 1) first
ret (M1, 1)
"""


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_a_stopped_launch_says_where_its_threads_are(engine):
    """Each thread that had begun is named, where most are first; the next launch knows nothing of it."""
    program = Program(build_text(SPIN))

    def stopped(groups: int) -> dict[int, str]:
        for seconds in (0.2, 2, 10):  # On a busy machine no worker may have begun.
            with pytest.raises(SimulationError) as caught:
                program.launch("spin", groups * 16, 16, engine=engine, threads=2, max_seconds=seconds)
            if labels := {n.span.line: n.message for n in caught.value.diagnostics[0].labels}:
                break
        return labels

    for groups in (2, 8):
        labels = stopped(groups)
        if engine == "llvm":  # A worker has begun the first thread of a group; the other one may not have begun.
            assert set(labels) <= {8, 10} and labels
            assert all(
                re.fullmatch(r"thread 0 of work-group \(\d, 0, 0\)( and thread 0 of .*)? (is|are) at .*", m)
                for m in labels.values()
            )
        else:
            assert labels[10].startswith(
                "threads 0-1 of work-group (0, 0, 0) and threads 0-1 of work-group (1, 0, 0) are at"
            )
            assert set(labels) == ({10} if groups == 2 else {8, 10})
            if groups == 8:
                assert "threads 0-1 of work-group (5, 0, 0) and 4 threads of 2 more work-groups are at" in labels[8]


# -- numbers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["9" * 5000, "1" * 20, "\u00b2", "\u0663"], ids=["digits", "20 digits", "power", "Arabic"]
)
def test_numbers_of_a_command_line_are_short_and_of_plain_digits(text: str) -> None:
    """Python reads no number of 5,000 digits, and ``isdigit`` is true of more than it reads."""
    for parse in (
        lambda: sizes(text, "--global-size"),
        lambda: parse_numbers(text, "--trace-groups"),
        lambda: parse_schedule(f"random:{text}"),
    ):
        with pytest.raises(visakit.VisaError):
            parse()
    assert not own_snippet(f"// %[{text}]: f\nmov (M1, 1) %0 1:f\n").operands[1:]


@ENGINES
@pytest.mark.parametrize("schedule", [None, "reverse"])
def test_more_groups_than_can_be_counted_or_ordered(engine: str, schedule: str | None) -> None:
    size = ((1 << 32) - 1,) * (1 if schedule else 3)
    with pytest.raises(LaunchError, match="orders up to" if schedule else "work-groups, 1 to"):
        Program(build_text(TEXT)).launch("k", size, (1,) * len(size), engine=engine, schedule=schedule)


def test_messages_about_numbers_that_python_does_not_write() -> None:
    program, huge = Program(build_text(TEXT.replace("mov", ".input V32 offset=64 size=4\nmov", 1))), 1 << 20000
    for wrong in (
        {"global_size": huge, "args": [5]},
        {"global_size": 8, "args": [huge]},
        {"global_size": 8, "args": {huge: 1}},
    ):
        with pytest.raises(LaunchError, match="thousands of digits"):
            program.launch("k", local_size=8, **wrong)


@pytest.mark.parametrize(
    "text", ["9" * 5000, "0x" + "f" * 5000, "local:" + "9" * 5000, "iota:" + "9" * 5000 + ":u4"], ids=len
)
def test_arguments_of_a_command_line_are_short(text: str) -> None:
    with pytest.raises(visakit.VisaError):
        argument_value(text)


def test_the_end_of_the_process_stops_native_launches():
    """The program may join the thread that waits for a launch; it learns that there are no results."""
    program, ended = Program(build_text(SPIN)), []

    def spin() -> None:
        with pytest.raises(ProcessEndsError) as caught:
            program.launch("spin", 32, 16, engine="llvm")
        ended.append(caught.type)

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    assert eventually(lambda: any(run.left for _, works_at in workers.POOL.pools for run in works_at))
    workers.POOL.abandon()
    thread.join(60)
    assert ended == [ProcessEndsError]
