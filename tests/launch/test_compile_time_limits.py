"""Which passes of LLVM a module goes through by its size, and the page on which compile times stand."""

import itertools
import re

import first_result
import numpy as np
import pytest
import sections
from compile_kernels import kernel
from support.programs import build_text

from vsim.engines.llvm.host import native
from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import Launch
from vsim.program import Program


def module(joins, blocks=0):
    """A function of places where lanes meet, and of other blocks."""
    labels = [*(f"check{n}" for n in range(joins)), *(f"block{n}" for n in range(blocks)), "exit"]
    lines = [f"{a}:\n  br label %{b}" for a, b in itertools.pairwise(labels)]
    return "\n".join(
        ["define void @f() {", "entry:", f"  br label %{labels[0]}", *lines, "exit:", "  ret void", "}", ""]
    )


@pytest.mark.parametrize(
    ("joins", "blocks", "promoted"),
    [
        (native.QUICK_ONLY_JOINS, 0, True),
        (native.QUICK_ONLY_JOINS + 1, 0, False),
        (0, native.QUICK_ONLY_JOINS + 1, True),
        (0, native.QUICK_ONLY_BLOCKS, False),
    ],
)
def test_which_slots_are_promoted(joins, blocks, promoted, monkeypatch):
    found, run = [], native._run_passes
    monkeypatch.setattr(native, "_run_passes", lambda m, machine, names: (found.extend(names), run(m, machine, names)))
    assert native.compile_object(module(joins, blocks))[:4] == b"\x7fELF"
    assert ("sroa" in found) is promoted


@pytest.mark.parametrize(("uses", "combined"), [(native.MANY_FILE_USES, True), (native.MANY_FILE_USES + 1, False)])
def test_instructions_are_combined_where_few_use_the_file(uses, combined, monkeypatch):
    found = []
    monkeypatch.setattr(native, "_run_passes", lambda m, machine, names: found.extend(names))
    lines = [f"  %a{n} = getelementptr i8, ptr %file, i64 {n}" for n in range(uses)]
    file = "  %file = alloca [1024 x i8], align 64"
    native.compile_object("\n".join(["define void @f() {", "entry:", file, *lines, "  ret void", "}", ""]))
    assert "sroa" in found
    assert ("instruction_combine" in found) is combined


@pytest.mark.parametrize("check", ["", "race"])
def test_huge_modules_that_launches_wait_for(check, monkeypatch):
    """An observed launch keeps quick code; another has good code."""
    monkeypatch.setattr(native, "HUGE_BLOCKS", 0)
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    levels, made = [], native.target_machine
    monkeypatch.setattr(native, "target_machine", lambda level: (levels.append(level), made(level))[1])
    compiled = native.compile_object
    monkeypatch.setattr(native, "compile_object", lambda *args: (levels.clear(), compiled(*args))[1])
    result = np.zeros(128, "i4")
    Program(build_text(kernel("barriers", 60, 32))).launch("k", 128, 128, [result], engine="llvm", check=check)
    assert levels[0] == (0 if check else 1)


def test_sections_of_the_page():
    old = f"# Page\n\n## First\n\none\n\n## {sections.CORPUS}\n\nbars\n\n## Last\n\ntwo\n"
    found = sections.with_section(old, sections.CORPUS, ["new bars"])
    assert "\nbars" not in found and found.endswith(f"## {sections.CORPUS}\n\nnew bars\n")
    assert (
        sections.section(found, "First") == "## First\n\none\n"
        and sections.section(found, "Last") == "## Last\n\ntwo\n"
    )
    assert sections.with_kept("# New\n\nall\n", found) == f"# New\n\nall\n\n## {sections.CORPUS}\n\nnew bars\n"
    assert sections.with_kept("# New\n", old) == f"# New\n\n## {sections.CORPUS}\n\nbars\n"


def test_first_results_that_are_late():
    """Only kernels beyond the limit whose first result the reference engine has sooner."""
    times = {"late": (2.5, 1.0), "early": (1.9, 1.0), "large": (2.5, 9.0)}
    rows = {
        n: {e: first_result.Spent(s, s) for e, s in zip(first_result.ENGINES, t, strict=True)} for n, t in times.items()
    }
    found = first_result.section(rows)
    assert "Beyond 2 s where the reference engine alone is faster: late." in found
    assert "| 2.0 | 1 |" in found and "| 3.0 | 2 |" in found


WIDEST = 64
"""Bits of an integer: LLVM does not select all operations on those wider than registers where coroutines are split."""


@pytest.mark.parametrize("checks", [(), ("race",), ("undefined",), ("divergence",)])
def test_no_integer_is_wider_than_a_register(checks):
    """Values live across barriers are vectors: masks are packed to integers of at most as many bits as lanes, and passes
    in front of the split do not make one comparison of integers of those of vectors.
    """
    program = Program(build_text(kernel("barriers", 60, 32)))
    dispatch = program.bind(Launch("k", (128,), (128,), args=[np.zeros(128, "i4")]), check=",".join(checks))
    text = translate(dispatch, full=False).text
    assert "llvm.coro.suspend" in text
    machine = native.target_machine(1)
    module = native._verified(text, machine)
    native._run_passes(module, machine, native._BEFORE_SPLIT)
    passed = str(module).replace(module.data_layout, "")
    for stage in (text, passed):
        assert max(int(n) for n in re.findall(r"(?<![%@\w.])i(\d+)\b", stage)) <= WIDEST
