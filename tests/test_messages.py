"""Every message of the assembler on a text of its own, with the expected output beside it; every code has a page."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from vasm.assembler import assemble_text
from visa import AssemblyError
from visa.catalog import catalog, explain
from visa.diagnostics import render

ROOT = Path(__file__).parent.parent
FILES = sorted((Path(__file__).parent / "errors").glob("*.visaasm"))
PLATFORMS = {"V060": "skl"}


def shown(path):
    """What the assembler says about a file, all warnings included."""
    try:
        found = assemble_text(path.read_text(), path.name, PLATFORMS.get(path.stem), silent=frozenset()).warnings
    except AssemblyError as error:
        found = error.diagnostics
    return render(found, "human") + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_message(path):
    text = shown(path)
    assert text == path.with_suffix(".txt").read_text()
    assert set(re.findall(r"\[(\w\d{3})\]$", text, re.MULTILINE)) == {path.stem}


def test_every_code_has_a_page_and_every_message_of_the_assembler_a_text():
    used = {
        c
        for f in [*ROOT.glob("v*/**/*.py"), *ROOT.glob("ctm/*.py")]
        for c in re.findall(r'"([VWCLSFTU]\d{3})"', f.read_text())
    }
    assert used == set(catalog())
    assert {c for c in used if c[0] in "VW"} == {p.stem for p in FILES}
    assert explain("v010").startswith("V010: an undeclared name\n")


def vasm(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "vasm", *map(str, arguments)], capture_output=True, text=True, cwd=ROOT
    )


def test_warnings_are_chosen_by_name(tmp_path):
    out = tmp_path / "x.o"
    text = Path(__file__).parent / "errors" / "W010.visaasm"
    assert "[W010]" in vasm(text, "-o", out).stderr
    assert vasm(text, "-o", out, "-W", "no-out-of-bounds").stderr == ""
    out.unlink()
    fatal = vasm(text, "-o", out, "-W", "error=out-of-bounds")
    assert fatal.returncode == 1 and "error:" in fatal.stderr and not out.exists()
    quiet = Path(__file__).parent / "errors" / "W005.visaasm"
    assert vasm(quiet, "-o", out).stderr == "" and "[W005]" in vasm(quiet, "-o", out, "-W", "two-registers").stderr
    assert vasm(text, "-W", "no-such").returncode == 2
    assert vasm("--explain", "V034").stdout.startswith("V034: ")
