"""Barriers of sub-groups that texts do not show, and the SPIR-V that tells of them."""

import lzma
import struct
from functools import cache

import numpy as np
import pytest
from further import KERNELS as FURTHER
from ordinary import KERNELS as ORDINARY
from support.programs import DATA
from support.strategies import ENGINES
from vsim_programs import program_of

from visakit.objects.elf import read_elf
from visakit.objects.spirv import instructions, may_wait, words
from visakit.objects.zebin import spirv_of
from vsim.engines.llvm.pipeline import translate
from vsim.engines.llvm.plan import geometry, row_of
from vsim.engines.llvm.variant import Variant
from vsim.launch.launch import Launch
from vsim.program import Program
from vsim.sources.zebins import read_program

LANES, ROUNDS = 64, 5
FUNCTION = ((54, 1, 2, 0, 3), (248, 4), (253,), (56,))
"""OpFunction, OpLabel, OpReturn, OpFunctionEnd."""


@cache
def zebin(name):
    return lzma.decompress((DATA / "zebins" / f"{name}.zebin.xz").read_bytes())


def module(*instructions):
    """SPIR-V of instructions: numbers and operands."""
    found = [0x07230203, 0x10000, 0, 100, 0]
    for opcode, *operands in instructions:
        found += [len(operands) + 1 << 16 | opcode, *operands]
    return struct.pack(f"<{len(found)}I", *found)


def work():
    """Arguments of the programs of ``lanes.cl``: the lanes of each half of a thread are in a ring."""
    ring = np.arange(LANES, dtype="i4") // 8 * 8 + (np.arange(LANES, dtype="i4") + 1) % 8
    return [np.full(LANES, ROUNDS, "i4"), ring, np.zeros(LANES, "i4"), np.zeros(LANES, "i4")]


def bound(program, name, size, group, arguments):
    return program.bind(Launch(name, size, group, args=program.convert(name, arguments)))


def width(dispatch):
    """Lanes of the threads of a launch's code, if they are fewer than those of the text."""
    return translate(dispatch, geometry(dispatch).full, row_of(dispatch)).width


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (FUNCTION, False),
        ((*FUNCTION[:2], (224, 5, 5, 6), *FUNCTION[2:]), True),
        ((*FUNCTION[:2], (225, 5, 6), *FUNCTION[2:]), True),
        ((*FUNCTION[:2], (234, 1, 7, 8, 5, 6, 9), *FUNCTION[2:]), True),
        ((*FUNCTION[:2], (262, 1, 7, 5, 8), *FUNCTION[2:]), True),
        ((*FUNCTION[:2], (338, 1, 7, 5, 8), *FUNCTION[2:]), True),
        ((*FUNCTION[:2], (6142, 5, 5, 6), *FUNCTION[2:]), True),
        ((*FUNCTION, FUNCTION[0], FUNCTION[3]), True),
        ((FUNCTION[0], FUNCTION[3], *FUNCTION), True),
    ],
    ids=["none", "barrier", "fence", "atomic", "vote", "broadcast", "extension", "function from elsewhere", "in front"],
)
def test_what_may_wait(given, expected):
    assert may_wait(module(*given)) == expected
    with pytest.raises(ValueError, match="damaged"):
        may_wait(module(*given)[:-4] + b"\xff\xff\xff\xff" + b"\0")


@pytest.mark.parametrize("engine", ENGINES)
def test_lanes_that_wait_stay_together(engine):
    """Both programs have the same text. With threads of one lane, no lane would read what later lanes store."""
    arguments = work()
    for name in ("hurries", "waits"):
        Program(read_program(zebin(name), name)).launch("exchange", LANES, 16, arguments, engine=engine, threads=1)
        if name == "hurries":
            arguments[2][:] = 0
    ring, sums = arguments[1], np.zeros(LANES, "i4")
    at, places = ring, np.zeros(LANES, "i4")
    for _ in range(ROUNDS):
        places[at] = sums + at
        at = ring[at]
        sums = sums + places[at]
    assert arguments[3].tolist() == sums.tolist()


def test_programs_of_one_text_have_their_own_code():
    found = []
    for name, expected in (("waits", 0), ("hurries", 1)):
        program = Program(read_program(zebin(name), name))
        dispatch = bound(program, "exchange", (LANES,), (16,), work())
        assert width(dispatch) == expected
        found.append((program.image.module_bytes(), Variant.of(dispatch, True, 16, 0)))
    (first, variant), (second, other) = found
    assert first == second
    assert variant != other
    assert variant._replace(lanes_may_wait=False) == other


@pytest.mark.parametrize("damage", ["none", "cut", "no damage"])
def test_without_the_word_of_the_spirv_lanes_may_wait(damage):
    elf = read_elf(zebin("hurries"), "")
    section = elf.section(".spv")
    assert section is not None
    section.data = {"none": b"", "cut": section.data[:-2]}.get(damage, section.data)
    program = Program(read_program(elf.write(), "program"))
    dispatch = bound(program, "exchange", (LANES,), (16,), work())
    assert dispatch.lanes_may_wait == (damage != "no damage")


def test_instructions_of_the_programs():
    """The numbers of OpControlBarrier, in the compiler's own words."""
    counts = [sum(i.opcode == 224 for i in instructions(words(spirv_of(zebin(n))))) for n in ("waits", "hurries")]
    assert counts == [2, 0]


@pytest.mark.parametrize("name", ["unpack", "bfs"])
def test_lanes_that_stray_have_threads_of_one_lane(name):
    benchmark, found = (ORDINARY | FURTHER)[name], []
    program = program_of(benchmark.folder / "tgllp")
    for engine in ENGINES:
        given = benchmark.work(64)
        program.launch(name, given.global_size, given.local_size, given.args, engine=engine, threads=1)
        found.append(given.args[given.result].tolist())
    assert found[0] == found[1]
    without = program_of(benchmark.folder / "tgllp")
    without.image.zebin = bytes
    for given_program, expected in ((program, 1), (without, 0)):
        dispatch = bound(given_program, name, given.global_size, given.local_size, given.args)
        assert width(dispatch) == expected
