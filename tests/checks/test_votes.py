"""Votes of work-groups: the compiler's own races are no findings, those of the program are.

``tests/data/checks/votes.cl`` is the source; an older and today's compiler made the program binaries beside it.
"""

import lzma
import re
import struct

import numpy as np
import pytest
from support.programs import DATA
from support.strategies import each_engine

from visakit.objects.elf import read_elf
from visakit.objects.spirv import instructions, voting_kernels, words
from visakit.objects.zebin import spirv_of
from vsim.program import Program
from vsim.sources.zebins import read_program

FOLDER = DATA / "checks"
EXPECTED = {
    name: set(codes.split())
    for codes, name in re.findall(r"^// FOUND ?([^\n]*)\nkernel void (\w+)", (FOLDER / "votes.cl").read_text(), re.M)
}
VOTING = frozenset({"beside_local_memory", "in_a_function", "beside_an_own_flag"})
COMPILERS = ("old", "new")


def zebin(compiler):
    return lzma.decompress((FOLDER / f"votes.{compiler}.zebin.xz").read_bytes())


def codes(data, kernel, engine="numpy"):
    """Findings if some, all and none of the work-items have a vote."""
    program, found = Program(read_program(data, "votes")), []
    for votes in (np.arange(128) % 5, np.full(128, 7), np.zeros(128)):
        arguments = [np.zeros(128, "i4"), votes.astype("i4")]
        found.append({f.code for f in program.launch(kernel, 128, 64, arguments, engine=engine, check="race").findings})
    return found


@pytest.mark.parametrize(("kernel", "compiler", "engine"), each_engine(dict.fromkeys(EXPECTED, COMPILERS)))
def test_only_races_of_the_program_are_found(kernel, compiler, engine):
    found = codes(zebin(compiler), kernel, engine)
    assert set.union(*found) == EXPECTED[kernel]
    assert all(found[:2]) == bool(EXPECTED[kernel])


@pytest.mark.parametrize("compiler", COMPILERS)
def test_voting_kernels(compiler):
    module = spirv_of(zebin(compiler))
    assert voting_kernels(module) == VOTING
    with pytest.raises(ValueError, match="damaged"):
        voting_kernels(module[:-2])


@pytest.mark.parametrize("damage", ["none", "cut", "scope"])
def test_without_the_word_of_the_spirv_the_race_counts(damage):
    """A program without SPIR-V, with a damaged module, and with a vote of a sub-group in its place."""
    elf = read_elf(zebin("new"), "votes")
    section = elf.section(".spv")
    if damage == "none":
        section.data = b""
    elif damage == "cut":
        section.data = section.data[:-2]
    else:
        code = words(section.data)
        scopes = {i.operands[2] for i in instructions(code) if i.opcode in (261, 262)}
        changed = {i.position + 3: 3 for i in instructions(code) if i.opcode == 43 and i.operands[1] in scopes}
        section.data = struct.pack(f"<{len(code)}I", *(changed.get(n, word) for n, word in enumerate(code)))
    assert codes(elf.write(), "in_a_function")[0] == {"K001"}
