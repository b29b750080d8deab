"""The documents' commands, run as a reader would."""

import contextlib
import doctest
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import golden_files
import pytest

from visa.attributes import KERNEL_ATTRIBUTES, VARIABLE_ATTRIBUTES
from visa.program import PREDEFINED_VARIABLES, predefined_size

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(file|console)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SESSION = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(command, folder):
    """What a command prints, and its exit code if it is not 0.

    Our own commands run in this process, as those of golden files do; tests/test_golden_files.py holds both ways together.
    """
    tools = "|".join(("vasm", "vdis", "vlink", "vsim", "pytest"))
    if re.fullmatch(rf"(?:{tools.removesuffix('|pytest')})\b[^|&<>;$`*?~\\]*", command):
        with contextlib.chdir(folder):
            out, errors, code = golden_files.command_line(command)
        return (out + errors).decode() + (f"(exit {code})\n" if code else "")
    words = re.sub(rf"^({tools})\b", lambda m: f"'{sys.executable}' -m {m[1]}", command)
    done = subprocess.run(
        words, shell=True, cwd=folder, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    return done.stdout + done.stderr + (f"(exit {done.returncode})\n" if done.returncode else "")


def matches(shown, expected):
    """Whether the output is as written; ``...`` on a line of its own stands for any lines, but for an exit code."""
    pattern = "".join(
        "(?:(?!\\(exit ).*\n)*?" if line == "..." else re.escape(line) + "\n" for line in expected.splitlines()
    )
    return re.fullmatch(pattern, shown) is not None


DOCUMENTS = [
    "checks.md",
    "json.md",
    "tutorial.md",
    "language.md",
    "linking.md",
    "ctm.md",
    "python.md",
    "cluster.md",
    "from-your-compiler.md",
    "testing.md",
]
NEED_OCLOC = ("from-your-compiler.md", "testing.md")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands(name, tmp_path, monkeypatch):
    if name in NEED_OCLOC and shutil.which("ocloc") is None:
        pytest.skip("the compiler driver ocloc is not installed")
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    text = (ROOT / "docs" / name).read_text()
    for kind, file, contents in BLOCK.findall(text):
        if kind == "file":
            (tmp_path / file).write_text(contents)
            continue
        for part in re.split(r"^\$ ", contents, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            shown = run(command, tmp_path)
            assert matches(shown, expected), f"$ {command}\n{shown}"
            assert "(exit " in expected or "(exit " not in shown, f"$ {command}\n{shown}"
    if "distributed" in text:
        pytest.importorskip("distributed", reason="the extra visakit[cluster] is not installed")
    monkeypatch.chdir(tmp_path)
    failures = []
    examples = doctest.DocTestParser().get_doctest("\n".join(SESSION.findall(text)), {}, name, name, 0)
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=failures.append)
    assert not failures, "".join(failures)


def test_predefined_variables_of_the_language_page():
    text = (ROOT / "docs" / "language.md").read_text()
    rows = re.findall(r"^\| V(\d+) `(%\w+)` \| (\w+) \| (\d+)(?: or (\d+))? \| \S", text, re.MULTILINE)
    found = [(int(n), name, t, int(a), int(b or a)) for n, name, t, a, b in rows]
    assert found == [
        (n, name, t.name, predefined_size(n, 32), predefined_size(n, 64))
        for n, (name, t, _) in enumerate(PREDEFINED_VARIABLES)
    ]


def test_picture_of_regions():
    generator = runpy.run_path(str(ROOT / "docs" / "generate_regions.py"))
    assert generator["TARGET"].read_text() == generator["picture"]()
    for text, origin, region, _ in generator["SHOWN"]:
        r, c, v, w, h = map(int, re.findall(r"\d+", text))
        assert (origin, region) == ((r, c), (v, w, h))
        lanes = [r * 8 + c + lane // w * v + lane % w * h for lane in range(8)]
        assert generator["elements"](origin, region) == lanes


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_make_names_the_package_that_virtual_environments_need(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    words = ["make", "demo", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode and "python3-venv" in done.stdout
    assert not (tmp_path / "venv").exists()


def test_attributes_are_documented_as_they_are_checked():
    rows = [
        f"| `{n}` | {a.meaning} | {a.values} | {a.unit} |" for n, a in (KERNEL_ATTRIBUTES | VARIABLE_ATTRIBUTES).items()
    ]
    page = (ROOT / "docs" / "language.md").read_text().splitlines()
    assert [row for row in rows if row not in page] == []
