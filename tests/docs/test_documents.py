"""The documents' commands, run as a reader would."""

import contextlib
import doctest
import html
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import golden_files
from support.programs import ROOT

import visakit
from visakit.language.attributes import KERNEL_ATTRIBUTES, VARIABLE_ATTRIBUTES
from visakit.language.program import PREDEFINED_VARIABLES, predefined_size

BLOCK = re.compile(r'^```(\w+)(?: title="(\S+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
SESSION = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(command, folder):
    """What a command prints, and its exit code if it is not 0.

    Our own commands run in this process, as those of golden files do; tests/docs/test_golden_files.py holds both ways together.
    """
    tools = "|".join(("vasm", "vdis", "vlink", "vsim", "pytest"))
    if re.fullmatch(rf"(?:{tools.removesuffix('|pytest')})\b[^|&<>;$`*?~\\]*", command):
        with contextlib.chdir(folder):
            out, errors, code = golden_files.command_line(command)
        return (out + errors).decode() + (f"(exit {code})\n" if code else "")
    words = re.sub(rf"^({tools})\b", lambda m: f"'{sys.executable}' -m {golden_files.module_of(m[1])}", command)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PATH": path}
    done = subprocess.run(words, shell=True, cwd=folder, capture_output=True, text=True, env=environment)
    return done.stdout + done.stderr + (f"(exit {done.returncode})\n" if done.returncode else "")


def matches(shown, expected):
    """Whether output and example agree; a line ``...`` matches any lines but exit codes, within a line any text."""
    pattern = "".join(
        "(?:(?!\\(exit ).*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n"
        for line in expected.splitlines()
    )
    return re.fullmatch(pattern, shown) is not None


DOCUMENTS = [
    "../README.md",
    "debug.md",
    "debugging.md",
    "checks.md",
    "json.md",
    "tutorial.md",
    "language.md",
    "linking.md",
    "profile.md",
    "../samples/README.md",
    "ctm.md",
    "python.md",
    "observers.md",
    "cluster.md",
    "from-your-compiler.md",
    "testing.md",
    "vector-kernels.md",
]
TOOLS = ("vasm", "vlink", "vsim", "visakit")
NEEDS = {
    "../README.md": ("ocloc", "clinfo", "gcc"),
    "debug.md": ("ocloc",),
    "from-your-compiler.md": ("ocloc",),
    "profile.md": ("ocloc", "gcc", "/usr/include/CL/cl.h"),
    "testing.md": ("ocloc",),
    "vector-kernels.md": ("ocloc", "llvm-as"),
}
"""Programs that a document's commands call, and headers."""


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands(name, tmp_path, monkeypatch):
    if missing := [program for program in NEEDS.get(name, ()) if not (shutil.which(program) or Path(program).exists())]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    text = (ROOT / "docs" / name).read_text()
    for kind, file, contents in BLOCK.findall(text):
        if file:
            (tmp_path / file).write_text(contents)
        if kind != "console":
            continue
        for part in re.split(r"^\$ ", contents, flags=re.MULTILINE)[1:]:
            command, _, expected = re.sub(r" \\\n +", " ", part).partition("\n")
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


@pytest.mark.skipif(not shutil.which("ocloc"), reason="the compiler driver ocloc is not installed")
def test_python_of_the_readme(tmp_path, monkeypatch, capsys):
    blocks = BLOCK.findall((ROOT / "README.md").read_text())
    (tmp_path / "saxpy.cl").write_text(next(text for _, file, text in blocks if file == "saxpy.cl"))
    monkeypatch.chdir(tmp_path)
    exec(next(text for kind, _, text in blocks if kind == "python"))
    assert capsys.readouterr().out == "[ 1.   3.5  6.   8.5 11.  13.5 16.  18.5]\n"


def test_the_readme_is_short():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 140 and max(map(len, lines)) <= 120


def test_lines_of_documents_end_at_120_columns():
    """All but tables and code of generated documents."""
    generated = {f"docs/{name}.md" for name in ("conformance", "fidelity", "launch-files")}
    folders = ("docs/instructions/", "docs/measurements/performance")
    for path in (p for folder in (".", "docs", "tests", "visa", ".github") for p in _markdown(ROOT / folder)):
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text()
        if name in generated or name.startswith(folders):
            text = re.sub(r"^(?:\|[^\n]*|```.*?^```)$", "", text, flags=re.MULTILINE | re.DOTALL)
        assert not [line for line in text.splitlines() if len(line) > 120], name


def _markdown(folder):
    return folder.glob("*.md") if folder == ROOT else folder.rglob("*.md")


def test_all_files_name_one_version():
    assert set(runpy.run_path(str(ROOT / "tests" / "support" / "release.py"))["versions"]().values()) == {
        visakit.__version__
    }


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


@pytest.mark.skipif(not shutil.which("ocloc"), reason="the compiler driver ocloc is not installed")
def test_pictures_of_the_readme_show_the_output_of_the_commands():
    generator = runpy.run_path(str(ROOT / "docs" / "generate_pictures.py"))
    for name in generator["COMMANDS"]:
        picture = (generator["FOLDER"] / f"{name}.svg").read_text()
        printed = re.sub(r"\x1b\[[\d;]*m", "", generator["session"](name))
        shown = html.unescape(re.sub(r"<style>.*?</style>|<[^>]+>", "", picture, flags=re.DOTALL))
        assert "".join(printed.split()) in "".join(shown.split()), "make pictures"
    assert (generator["FOLDER"] / "speed.svg").read_text() == generator["chart"](), "make pictures"
    assert all(kernels for _, kernels in generator["speeds"]().values())


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


def test_references_of_docstrings_name_existing_objects():
    """A reference with a package names a module, and the word behind that is written in the module."""
    sources = {p.relative_to(ROOT).as_posix(): p.read_text() for tool in TOOLS for p in (ROOT / tool).rglob("*.py")}
    wanted = re.compile(rf":(?:mod|func|class|meth|data|attr):`~?((?:{'|'.join(TOOLS)})(?:\.\w+)+)`")
    for name, reference in ((name, r) for name, text in sources.items() for r in wanted.findall(text)):
        parts = reference.split(".")
        heads = [("/".join(parts[:k]), parts[k:]) for k in range(len(parts), 0, -1)]
        found = ((sources.get(f"{head}.py") or sources.get(f"{head}/__init__.py"), rest) for head, rest in heads)
        text, rest = next((text, rest) for text, rest in found if text is not None)
        assert all(re.search(rf"\b{word}\b", text) for word in rest), f"{name}: {reference}"


@pytest.mark.parametrize("name", ["architecture", "ways", "fast-engine", "files", "glossary", "observers", "safety"])
def test_documents_about_the_code_name_files_that_are_there(name):
    """Whole paths, or their ends."""
    folders = [ROOT / folder for folder in (*TOOLS, "docs", "grammar", "tests")]
    files = [f"/{p.relative_to(ROOT).as_posix()}" for folder in folders for p in folder.rglob("*.*")]
    named = re.findall(r"`([\w/.-]+\.(?:py|ll|lark|toml|in))`", (ROOT / "docs" / f"{name}.md").read_text())
    assert [n for n in named if not (ROOT / n).exists() and not any(f.endswith(f"/{n}") for f in files)] == []
