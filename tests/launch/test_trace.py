"""Traces: they show the executed instructions and their values, and do not change the execution."""

import io
import re

import numpy as np
import pytest
from support.programs import DATA, build, build_text
from support.strategies import some

from visakit import SimulationError, UsageError
from vsim.command.numbers import ALL_NUMBERS, parse_numbers
from vsim.launch.launch import BufferArgument, ImageArgument, Launch, compare
from vsim.launch.launch_file import parse_launch
from vsim.observe.selection import Selection
from vsim.observe.trace import Trace, shown_values
from vsim.program import Program

LINE = re.compile(r"(g\d+|g\(\d+,\d+,\d+\)) t(\d+) (\S+)\+(\d+) (?:-|\S+:\d+) ([0-9a-f]+) (.+)")
CASES = sorted(path for path in (DATA / "cases").iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", some(CASES, 2), ids=lambda path: path.name)
def test_traced_launches_have_the_same_results(folder):
    """Lines name the instructions of functions that exist, in the chosen threads alone, with values wherever data goes."""
    platform = next(p.name for p in sorted(folder.iterdir()) if p.is_dir())
    program = Program(build(folder / platform, platform))
    functions = {f.name: f for f in program.image.module.all_functions}
    launch = folder / "launch.json"
    file = parse_launch(launch.read_text(), str(launch.parent), str(launch))
    for index in range(len(file)):
        one, out = file.launch(index), io.StringIO()
        result = program.run(one, trace=Trace(out, Selection(parse_numbers("0-1", ""), parse_numbers("0", ""))))
        for argument in one.args:
            if isinstance(argument, (BufferArgument, ImageArgument)) and argument.expect is not None:
                assert not compare(argument.array, argument.expect, argument.rtol, argument.atol)
        lines = [line for line in out.getvalue().splitlines() if not line.startswith("# ")]
        assert result.engine == "numpy" and lines
        for line in lines:
            group, thread, function, number, mask, rest = LINE.fullmatch(line).groups()
            instruction = functions[function].instructions[int(number)]
            assert thread == "0" and int(re.search(r"\d+", group)[0]) <= 1 and len(mask) == result.dispatch.simd // 4
            assert not instruction.desc.is_directive
            if "dst" in instruction.args and "exec" in instruction.args and "%null" not in rest:
                assert " -> " in rest, line


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.array([1.5], "f4"), "{1.5}"),
        (np.full(16, 0.1, "f4"), "{0.1 x16}"),
        (np.arange(8, dtype="i4"), "{0..7}"),
        (np.arange(8, 0, -2, dtype="i2"), "{8,6..2}"),
        (np.array([1, 2, 4], "u1"), "{1 2 4}"),
        (np.array([1 << 40, 7], "u8"), "{0x10000000000 7}"),
        (np.array([np.nan, -np.inf, -0.0], "f8"), "{nan -inf -0.0}"),
        (np.array([True] * 3 + [False] * 5), "07"),
        (np.zeros(0, "i4"), "{}"),
    ],
)
def test_values(values, text):
    assert shown_values(values) == text


def test_numbers():
    some = parse_numbers("0,4-6", "--trace-groups")
    assert [n for n in range(8) if n in some] == [0, 4, 5, 6] and 1 << 31 in ALL_NUMBERS == parse_numbers("all", "x")
    for text in ("", "a", "3-1", "-1", "1,,2", "1-", str(1 << 40), "٣"):
        with pytest.raises(UsageError, match="--trace-lanes takes numbers such as 0,4,8-15 or all, found"):
            parse_numbers(text, "--trace-lanes")


def test_a_trace_reaches_the_fault():
    program = Program(build(DATA / "cases" / "wg_reduce_slm" / "tgllp", "tgllp"))
    launch = DATA / "cases" / "wg_reduce_slm" / "launch.json"
    one = parse_launch(launch.read_text(), str(launch.parent), str(launch)).launch(0)
    one.args = [
        BufferArgument(a.array.reshape(-1)[:1].copy()) if isinstance(a, BufferArgument) else a for a in one.args
    ]
    out = io.StringIO()
    with pytest.raises(SimulationError, match=r"instruction (\d+) of '(\w+)'") as caught:
        program.run(one, trace=Trace(out))
    number = re.search(r"instruction (\d+) of", str(caught.value))[1]
    assert any(f"+{number} " in line for line in out.getvalue().splitlines()[-20:])


def test_lanes_apply_to_payloads_and_blocks_are_whole():
    """Messages of lanes show the elements of the chosen lanes, other messages all elements."""
    body = """
        .decl A v_type=G type=uq num_elts=1
        .decl O v_type=G type=ud num_elts=16 align=GRF
        .decl X v_type=G type=ud num_elts=16 align=GRF
        .decl B v_type=G type=ud num_elts=32 align=GRF
        .decl T6 v_type=T num_elts=1
        .input A offset=64 size=8
        .kernel_attr SimdSize=16
        mov (M1, 16) O(0,0)<1> 5:ud
        gather.4 (M1, 16) T6 0:ud O.0 X.0
        svm_block_ld (8) A(0,0)<0;1,0> B.0
        ret (M1, 1)
    """
    program = Program(build_text(f'.version 4.1\n.kernel "k"\n{body}'))
    out = io.StringIO()
    launch = Launch("k", (16,), args=[BufferArgument(np.arange(32, dtype="u4"))])
    program.run(launch, trace=Trace(out, Selection(lanes=parse_numbers("2", ""))))
    _, _, _, gather, block, _ = out.getvalue().splitlines()
    assert gather.endswith("; O.0={5} A+{20} -> X.0={5}"), gather
    assert block.endswith("B.0={0..31}"), block
