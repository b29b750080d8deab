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
from visakit.objects.spirv import instructions, unordered_kernels, words
from visakit.objects.zebin import spirv_of
from vsim.engines.llvm.pipeline import translate
from vsim.engines.llvm.plan import geometry, row_of
from vsim.engines.llvm.variant import Variant
from vsim.launch.launch import Launch
from vsim.program import Program
from vsim.sources.zebins import read_program

LANES, ROUNDS = 64, 5
BARRIER = (224, 5, 5, 6)


def entry(number, name):
    """OpEntryPoint of a kernel."""
    return 15, 6, number, *struct.unpack(f"<{len(name) // 4 + 1}I", name.encode().ljust(len(name) // 4 * 4 + 4, b"\0"))


def function(number, *body):
    """OpFunction, OpLabel, instructions or OpFunctionCall of numbers, OpReturn, OpFunctionEnd."""
    calls = [(57, 1, 7, n) if isinstance(n, int) else n for n in body]
    return (54, 1, number, 0, 3), (248, 4), *calls, (253,), (56,)


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
        (function(2), True),
        (function(2, BARRIER), False),
        (function(2, (225, 5, 6)), False),
        (function(2, (234, 1, 7, 8, 5, 6, 9)), False),
        (function(2, (262, 1, 7, 5, 8)), False),
        (function(2, (338, 1, 7, 5, 8)), False),
        (function(2, (6142, 5, 5, 6)), False),
        (((5600, 1, 2, 3), *function(2)), False),
        ((*function(2, 9), (54, 1, 9, 0, 3), (56,)), False),
        (((54, 1, 9, 0, 3), (56,), *function(2, 9)), False),
        (function(2, 9), False),
        (((54, 1, 2, 0, 3), (56,)), False),
        ((), False),
        ((*function(2, 9), *function(9, BARRIER)), False),
        ((*function(2, 8), *function(8, 9, 2), *function(9, 8, (225, 5, 6))), False),
        ((*function(2, 8), *function(8), *function(9, 8, BARRIER)), True),
    ],
    ids=["none", "barrier", "fence", "atomic", "vote", "broadcast", "extension", "outside", "function from elsewhere",
         "in front", "none such", "kernel from elsewhere", "no kernel", "function", "circle", "others"],
)  # fmt: skip
def test_kernels_that_never_wait(given, expected):
    given = module(entry(2, "kernel"), entry(19, "other"), *function(19, BARRIER), *given)
    assert unordered_kernels(given) == ({"kernel"} if expected else frozenset())
    for damaged in (given[:-4] + b"\xff\xff\xff\xff" + b"\0", module((15, 6)), module((54,)), module((57, 1))):
        with pytest.raises(ValueError, match="damaged"):
            unordered_kernels(damaged)


@pytest.mark.parametrize("name", ["exchange", "other"])
def test_a_barrier_of_another_kernel(name):
    """Of two kernels of a module one waits."""
    elf = read_elf(zebin("hurries"), "")
    kernels = entry(2, name), entry(3, "waits"), *function(2), *function(3, BARRIER)
    elf.section(".spv").data = module(*kernels)
    program = Program(read_program(elf.write(), "program"))
    dispatch = bound(program, "exchange", (LANES,), (16,), work())
    assert dispatch.lanes_may_wait == (name == "other")


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
