"""docs/conformance.md: every statement of the manual has a golden file that shows it."""

import re
import runpy
import sys

import pytest
from support.golden_files import ROOT

from visakit.isa import instruction_set
from visakit.isa.record import Rule

DOCUMENT = ROOT / "docs" / "conformance.md"
GOLDEN = ROOT / "tests" / "golden"


def rows():
    """(line, cells) of every row of the tables; the first two lines of a table are its head."""
    previous = ""
    for number, line in enumerate(DOCUMENT.read_text().splitlines(), 1):
        if line.startswith("|") and previous.startswith("|") and not line.startswith(("|---", "| statement")):
            yield number, [cell.strip() for cell in line.strip("|").split(" | ")]
        previous = line


@pytest.mark.parametrize(("line", "cells"), [pytest.param(*row, id=f"line{row[0]}") for row in rows()])
def test_every_statement_has_its_golden(line, cells):
    assert len(cells) == 4, f"docs/conformance.md:{line}: a row has four cells"
    statement, chapter, check, golden = cells
    assert statement and chapter and check
    names = golden.replace("`", "").split(", ")
    missing = [name for name in names if not (GOLDEN / f"{name}.test").is_file()]
    assert not missing, f"docs/conformance.md:{line}: no such golden: {missing}"


@pytest.fixture(scope="module")
def generator():
    sys.path.insert(0, str(ROOT / "docs"))
    yield runpy.run_path(str(ROOT / "docs" / "generate_conformance.py"))
    sys.path.remove(str(ROOT / "docs"))


def test_rows_and_goldens_are_generated_from_the_table(generator):
    shown = generator["lines"]()
    assert DOCUMENT.read_text() == generator["document"](shown), "make docs"
    heads = generator["goldens"](shown)
    assert {p.stem for p in (GOLDEN / "instructions").glob("*.test")} == set(heads)
    old = [
        name
        for name, head in heads.items()
        if not (GOLDEN / "instructions" / f"{name}.test").read_text().startswith(head)
    ]
    assert not old, f"make docs: {old}"


def test_every_restriction_of_the_table_has_its_row(generator):
    used = {rule for desc in instruction_set().forms for rule in desc.rules}
    assert used == set(Rule), "words that no record has"
    elsewhere = {Rule.ADDRESS_OF, Rule.FUNCTION_ONLY}  # Other sections have ADDR_ADD and FRET.
    assert used - elsewhere == set(generator["RULES"])


@pytest.mark.parametrize("path", sorted((GOLDEN / "instructions").glob("*.test")), ids=lambda p: p.stem)
def test_lines_are_accepted_as_they_say(path):
    """A line that says ``no`` has a message, one that says ``yes`` has none."""
    head, _, shown = path.read_text().partition("# STDERR")
    lines = head.partition("# FILE t.visaasm\n")[2].split("\n")
    told = {int(m[1]) for m in re.finditer(r"^t\.visaasm:(\d+):", shown, re.MULTILINE)}
    said = {n: m[1] for n, line in enumerate(lines, 1) if (m := re.search(r"// (yes|no): ", line))}
    assert said, "no line says anything"
    assert {n for n, word in said.items() if word == "no"} == told
