"""docs/conformance.md: every statement of the manual has a golden file that shows it."""

import pytest
from golden_files import ROOT

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
