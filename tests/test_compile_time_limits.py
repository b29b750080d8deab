"""Which passes of LLVM a module goes through by its size, and the page on which compile times stand."""

import itertools

import pytest
import sections

from vsim.llvm_engine.runtime import native


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
        (native.HUGE_JOINS, 0, True),
        (native.HUGE_JOINS + 1, 0, False),
        (0, native.HUGE_JOINS + 1, True),
        (0, native.HUGE_BLOCKS, False),
    ],
)
def test_what_is_promoted(joins, blocks, promoted, monkeypatch):
    found, run = [], native._run_passes
    monkeypatch.setattr(native, "_run_passes", lambda m, machine, names: (found.extend(names), run(m, machine, names)))
    assert native.compile_object(module(joins, blocks))[:4] == b"\x7fELF"
    assert ("sroa" in found) is promoted


def test_slots_are_promoted_behind_the_split_where_there_are_many_barriers(monkeypatch):
    order = []
    monkeypatch.setattr(native, "_run_passes", lambda m, machine, names: order.extend(names))
    monkeypatch.setattr(native, "_run_pipeline", lambda m, machine, level: order.append("split"))
    few, many = (
        f"; {'@llvm.coro.suspend(' * n}\n{module(1)}" for n in (native.MANY_BARRIERS, native.MANY_BARRIERS + 1)
    )
    native.compile_object(few)
    assert order.index("sroa") < order.index("split")
    order.clear()
    native.compile_object(many)
    assert order.index("split") < order.index("sroa")


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
