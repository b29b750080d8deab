"""Arrays that kernels must not write, and arrays that share memory.

The memory of read-only arrays is protected by the machine, too: a write that no check sees would end the tests.
"""

import copy
import mmap
import re
import weakref

import numpy as np
import pytest
from support.programs import DATA, build, build_text, kernel_head

import vsim
from visakit import LaunchError, SimulationError, VisaWarning
from vsim.launch.launch import BufferArgument
from vsim.launch.launch_file import parse_launch
from vsim.program import Program

ENGINES = pytest.mark.parametrize("engine", ["llvm", "numpy"])
CHANGE = np.dtype([("factor", "f4"), ("shift", "i4")])
CASES = {"mem_atomics_int": "bmg", "wg_scan_slm": "bmg", "algo_matmul": "tgllp", "call_stack_recursion": "tgllp"}


def protected(array):
    """A copy in read-only pages."""
    pages = mmap.mmap(-1, max(array.nbytes, 1))
    pages[: array.nbytes] = array.tobytes()
    found = np.frombuffer(_read_only_map(pages, array.nbytes), array.dtype).reshape(array.shape)
    assert not found.flags.writeable
    return found


def _read_only_map(pages, size):
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.write(pages[:size].ljust(1, b"\0"))
        file.flush()
        return memoryview(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))[:size]


@ENGINES
@pytest.mark.parametrize("case", CASES)
def test_writes_are_faults_that_name_the_argument_and_reads_are_not(case, engine):
    folder, platform = DATA / "cases" / case, CASES[case]
    launch_file = folder / "launch.json"
    image = build(folder / platform, platform)
    file = parse_launch(launch_file.read_text(), str(folder), str(launch_file))
    launch = file.launch(0)
    before = [copy.copy(a.array) for a in launch.args if isinstance(a, BufferArgument)]
    program = Program(image)
    program.run(launch, engine=engine)
    buffers = [a for a in launch.args if isinstance(a, BufferArgument)]
    written = [not np.array_equal(a.array, old) for a, old in zip(buffers, before, strict=True)]
    assert any(written)
    results = [a.array.copy() for a in buffers]

    def start(read_only):
        for n, (a, old) in enumerate(zip(buffers, before, strict=True)):
            a.array = protected(old) if n in read_only else old.copy()

    start({n for n, w in enumerate(written) if not w})
    program.run(launch, engine=engine)
    assert all(np.array_equal(a.array, wanted) for a, wanted in zip(buffers, results, strict=True))
    for number in [n for n, w in enumerate(written) if w][:2]:
        start({number})
        index = next(i for i, a in enumerate(launch.args) if a is buffers[number])
        name = re.escape(program.signature(launch.kernel).buffer_name(index))
        with pytest.raises(SimulationError, match=rf"write of \d+ bytes to '{name}', an array that is read-only, at"):
            program.run(launch, engine=engine)


@pytest.fixture(scope="module")
def image():
    return build(DATA.parent.parent / "samples" / "python", "tgllp")


@ENGINES
def test_a_read_only_array_becomes_one_that_may_be_written_and_back(image, engine):
    program, change = Program(image), np.array((2, 1), CHANGE)
    data, other = np.ones(8, "f4"), np.ones(8, "f4")
    for turn in range(3):
        data.flags.writeable = True
        for _ in range(2):
            program.launch("scale", 8, 8, [data, change, 8], engine=engine)
        held = data.copy()
        data.flags.writeable = False
        for _ in range(2):
            with pytest.raises(SimulationError, match="write of 4 bytes to 'data'"):
                program.launch("scale", 8, 8, [data, change, 8], engine=engine)
        assert np.array_equal(data, held), turn
        program.launch("scale", 8, 8, [other, change, 8], engine=engine)


@ENGINES
def test_the_same_launch_of_read_only_arrays_runs_again(image, engine):
    program = Program(image)
    node, out = np.zeros(1, [("next", "u8"), ("value", "i4"), ("", "i4")]), np.zeros(1, "i4")
    node["value"] = 7
    reader = node.view()
    reader.flags.writeable = False
    first = program.launch("walk", 1, 1, [reader, out], engine=engine)
    again = program.launch("walk", 1, 1, [reader, out], engine=engine)
    assert again.dispatch is first.dispatch and out[0] == 7
    with pytest.warns(VisaWarning, match="overlap") as caught:
        program.launch("walk", 1, 1, [node, node.view("i4")[:1]], engine=engine)  # The same memory, to be written.
    assert caught[0].filename == __file__  # where the arrays are
    assert node.view("i4")[0] == 7


def test_read_only_arrays_that_are_gone_leave_no_mark(image):
    program = Program(image)
    node, out = protected(np.zeros(16, "u1")), np.zeros(1, "i4")
    program.launch("walk", 1, 1, [node.view([("next", "u8"), ("value", "i4"), ("", "i4")]), out])
    assert program.memory.read_only
    gone = weakref.ref(node)
    program.last_launches.clear()
    del node
    if gone() is None:
        program.launch("walk", 1, 1, [np.zeros(16, "u1").view([("next", "u8"), ("value", "i4"), ("", "i4")]), out])
        assert not program.memory.read_only


@ENGINES
def test_memory_with_an_address_may_be_read_only(image, engine):
    program = Program(image)
    node, out = np.zeros(2, [("next", "u8"), ("value", "i4"), ("", "i4")]), np.zeros(1, "i4")
    node["value"] = 3, 4
    second = protected(node[1:])
    node["next"][0] = program.usm(second)
    program.launch("walk", 1, 1, [node[:1], out], engine=engine)
    assert out[0] == 7
    with pytest.raises(SimulationError, match="write of 4 bytes to 'out', an array that is read-only, at offset 0"):
        program.launch("walk", 1, 1, [node[:1], np.uint64(node["next"][0] + np.uint64(8))], engine=engine)


@ENGINES
def test_images(image, engine):
    program = Program(image)
    picture = np.linspace(0, 1, 4 * 8 * 4, dtype="f4").reshape(4, 8, 4)
    negative = np.zeros_like(picture)
    program.launch("invert", (8, 4), (8, 1), [protected(picture), negative], engine=engine)
    vsim.expect(negative, 1 - picture)
    with pytest.raises(
        LaunchError, match=r"argument 1 \('to'\) is an image that is read-only, and the kernel may write"
    ):
        program.launch("invert", (8, 4), (8, 1), [picture, protected(negative)], engine=engine)


BLOCK = (
    kernel_head("OUT=uq R=ud*16 AT=uq*8 LANE=uw*8 OLD=ud*8", SimdSize=8)
    + """.input OUT offset=64 size=8
mov (M1, 8) LANE(0,0)<1> 0x76543210:uv
mov (M1_NM, 16) R(0,0)<1> 7:ud
mul (M1, 8) AT(0,0)<1> LANE(0,0)<1;1,0> STEP:uw
add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> OUT(0,0)<0;1,0>
MESSAGE
ret (M1, 1)
"""
)
MESSAGES = {
    "block": "svm_block_st (2) OUT(0,0)<0;1,0> R.0", "scattered": "svm_scatter.4.1 (M1, 8) AT.0 R.0",
    "atomic": "svm_atomic.add (M1, 8) AT.0 OLD.0 R.0 %null.0", "atomic without a result": "svm_atomic.inc (M1, 8) AT.0 %null.0 %null.0 %null.0",
}  # fmt: skip


@ENGINES
@pytest.mark.parametrize("step", [0, 4, 12])
@pytest.mark.parametrize("message", MESSAGES)
def test_messages(message, step, engine):
    program = Program(build_text(BLOCK.replace("MESSAGE", MESSAGES[message]).replace("STEP", str(step))))
    array = protected(np.zeros(32, "u4"))
    with pytest.raises(
        SimulationError, match=r"write of \d+ bytes to '.*', an array that is read-only, at offset 0 by"
    ):
        program.launch("k", 8, 8, [array], engine=engine)


def test_arrays_that_overlap(image):
    program, memory = Program(image), np.zeros(64, "u1")
    node = memory[:16].view([("next", "u8"), ("value", "i4"), ("", "i4")])
    node["value"] = 5
    with pytest.warns(
        VisaWarning, match=r"argument 0 \('first'\) and argument 1 \('out'\) overlap: they share 4 bytes.*S004"
    ):
        program.launch("walk", 1, 1, [node, memory[12:32].view("i4")])
    assert memory[12] == 5
    program.launch("walk", 1, 1, [node, memory[16:32].view("i4")])
    assert memory[16] == 5
