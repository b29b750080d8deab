"""Null pointers as arguments, and offsets of faults below a buffer."""

import numpy as np
import pytest
from support.programs import DATA, build, build_text, kernel_head

from visakit import LaunchError, SimulationError
from vsim.command.command_arguments import argument_value
from vsim.launch.launch import BufferArgument, Launch, ScalarArgument
from vsim.launch.launch_file import parse_launch
from vsim.memory.memory import shown_offset
from vsim.program import Program

ENGINES = pytest.mark.parametrize("engine", ["llvm", "numpy"])
CHANGE = np.dtype([("factor", "f4"), ("shift", "i4")])


@pytest.fixture(scope="module")
def program():
    return Program(build(DATA.parent.parent / "samples" / "python", "tgllp"))


@ENGINES
def test_a_kernel_sees_that_a_pointer_is_null(program, engine):
    out = np.ones(1, "i4")
    program.launch("walk", 1, 1, [None, out], engine=engine)
    assert out[0] == 0
    record = Launch("walk", (1,), (1,), (0, 0, 0), [argument_value("null"), BufferArgument(out)])
    program.run(record, engine=engine)
    assert out[0] == 0


def test_a_launch_file_may_pass_null():
    text = '{"launches": [{"global_size": 1, "args": [{"buffer": null}]}]}'
    assert parse_launch(text, ".", "launch.json").launch(0).args == [ScalarArgument(bytes(8))]


@ENGINES
def test_an_access_through_null_says_so(program, engine):
    with pytest.raises(SimulationError, match=r"outside 'data \(NULL\)', which has 0 bytes, at offset 0 by"):
        program.launch("scale", 8, 8, [None, np.array((2, 1), CHANGE), 8], engine=engine)


def test_only_pointers_can_be_null(program):
    with pytest.raises(LaunchError, match=r"argument 2 \('n'\) cannot be a NoneType"):
        program.launch("scale", 8, 8, [np.zeros(8, "f4"), np.array((2, 1), CHANGE), None])
    with pytest.raises(LaunchError, match=r"argument 1 \('to'\)"):
        program.launch("invert", (1, 1), (1, 1), [np.zeros((1, 1, 4), "f4"), None])


KERNEL = (
    kernel_head("P=uq AT=uq*8 OFFSET=d*8 R=ud*8 S=T", SimdSize=8)
    + """.input P offset=64 size=8
mov (M1, 8) OFFSET(0,0)<1> -4:d
mov (M1, 8) AT(0,0)<1> OFFSET(0,0)<1;1,0>
add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> P(0,0)<0;1,0>
MESSAGE
ret (M1, 1)
"""
)
FLAT, SURFACE = "svm_gather.4.1 (M1, 8) AT.0 R.0", "gather4_scaled.R (M1, 8) S 0x0:ud OFFSET.0 R.0"


@ENGINES
@pytest.mark.parametrize("message", [FLAT, SURFACE])
def test_offsets_below_a_buffer_are_negative(message, engine):
    found = Program(build_text(KERNEL.replace("MESSAGE", message)))
    with pytest.raises(SimulationError, match=r"which has 32 bytes, at offset -4 by"):
        found.launch("k", 8, 8, [np.zeros(8, "u4")], engine=engine)


@ENGINES
def test_addresses_far_behind_a_buffer_are_positive(engine):
    text = KERNEL.replace("MESSAGE", FLAT).replace("type=d ", "type=ud ").replace("-4:d", "0x80000000:ud")
    with pytest.raises(SimulationError, match="which has 32 bytes, at offset 2147483648 by"):
        Program(build_text(text)).launch("k", 8, 8, [np.zeros(8, "u4")], engine=engine)


def test_shown_offsets():
    assert [shown_offset(n, 64) for n in (0, 64, 1 << 31, (1 << 32) - 4, 1 << 32)] == [0, 64, -1 << 31, -4, 1 << 32]
    assert shown_offset((1 << 32) - 4, (1 << 31) + 1) == (1 << 32) - 4
