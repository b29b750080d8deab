"""Golden files: every message has one, the runner follows the format, and separate processes print the same."""

import re
import runpy
import subprocess
import sys

import pytest
from support import golden_files
from support.programs import TESTS

from visakit.catalog import catalog, explain

FILES = sorted((TESTS / "golden").rglob("*.test"))
CODE = re.compile(r'(?:\[|"(?:code|ruleId)": ")([VWCLSFTUKDPQ]\d{3})(?:\]|")')

NOT_SHOWN = {
    "L018": ("takes a zebin with a relocation of an unknown kind", "test_linker.py"),
    "C004": ("takes a module that was made in Python", "test_safety.py"),
    "S024": ("takes an engine that is broken", "test_public_api.py"),
    "S050": ("takes a cluster", "test_cluster.py"),
    "S051": ("takes a cluster", "test_cluster.py"),
    "S053": ("takes a cluster", "test_cluster.py"),
    "T017": ("takes a program that no text gives", "test_ctm.py"),
    "T021": ("takes more than 512 instructions", "test_ctm.py"),
    "S090": ("takes an engine that was tampered with", "test_sanitizer.py"),
    "S004": ("is about arrays that Python programs pass", "test_read_only.py"),
    "S005": ("is a warning of a launch, and those are errors in tests", "test_first_walk.py"),
    "U002": ("takes a machine without llvmlite", "test_public_api.py"),
    "U004": ("takes a signal", "test_commands.py"),
    "U003": ("takes a compiler", "test_ocloc.py"),
    "U005": ("takes a machine without a C compiler", "test_opencl.py"),
    "C014": ("takes a machine without a compiler", "test_ocloc.py"),
    "C015": ("takes a compiler", "test_ocloc.py"),
    "C017": ("takes a compiler", "test_ocloc.py"),
    "P003": ("takes a machine without Z3", "test_prove_command.py"),
    "P005": ("takes an engine with a fault", "test_peephole.py"),
    "P007": ("takes an engine with a fault", "test_equal.py"),
    "K004": ("takes a program that queues commands", "test_opencl_programs.py"),
}
"""Codes that no small text brings about: why, and the test that has them."""


NOT_MENDED = {
    **dict.fromkeys(("C001", "C002", "C003", "C022", "C031", "L001", "S014", "S021", "T050"), "the bytes were damaged"),
    **dict.fromkeys(("C010", "C012", "F003", "F006", "L002", "L004", "L022"), "the right file is missing"),
    **dict.fromkeys(("F001", "F002"), "there is no file, or one without end"),
    **dict.fromkeys(("C011", "C013"), "a compiler makes the file"),
    **dict.fromkeys(("K003", "K040", "T024", "T025", "T036"), "another algorithm is needed"),
    **dict.fromkeys(("K090", "K091", "K092"), "findings remain"),
    "S022": "the instruction is not executed",
    "S052": "takes a cluster",
    "T060": "takes its own launch file",
}
"""Codes whose golden files show no mended input, and why."""


def shown():
    """The codes of the messages that golden files expect."""
    goldens = [golden_files.read(path.read_text()) for path in FILES]
    return {code for g in goldens for code in CODE.findall(g.stdout + g.stderr)}


def test_every_message_has_a_golden_file():
    assert set(catalog()) - shown() == set(NOT_SHOWN)
    for code, (_, file) in NOT_SHOWN.items():
        assert code in next(TESTS.rglob(file)).read_text(), f"{code} is not in {file}"


MENDED = [path for path in FILES if "\n# MENDED " in path.read_text()]


@pytest.mark.parametrize("path", MENDED, ids=lambda path: path.stem)
def test_mended_inputs_are_accepted(path):
    outcome = golden_files.run(golden_files.mended(golden_files.read(path.read_text())))
    assert (outcome.exit, outcome.stderr) == ("0", "")


def test_the_pages_of_messages_have_the_examples_of_the_golden_files():
    generator = runpy.run_path(str(TESTS.parent / "docs" / "generate_errors.py"))
    assert generator["PAGE"].read_text() == generator["document"](), "make docs"
    examples = generator["chosen"]()
    assert set(catalog()) - set(examples) <= set(NOT_SHOWN) | {"U001"}, "wrong usage has its code in JSON alone"
    assert {code for code, (_, golden) in examples.items() if not golden.mends} == set(NOT_MENDED) | (
        set(examples) & set(NOT_SHOWN)
    )


def test_an_explanation_shows_input_message_and_mended_input():
    text = explain("V016")
    assert "t.visaasm:\n    .version 4.1\n" in text and "```" not in text
    assert "\n    t.visaasm:4:24: error: region width 32 does not exist [V016]\n" in text
    assert text.endswith("Mended, t.visaasm line 4:\n\n    mov (M1, 8) VD(0,0)<1> VD(0,0)<8;8,1>\n")


def test_names_begin_with_the_code_that_they_show():
    for path in FILES:
        code = re.match(r"[VWCLSFTUKDPQ]\d{3}(?=-)", path.stem)
        golden = golden_files.read(path.read_text())
        if code:
            assert code[0] in CODE.findall(golden.stdout + golden.stderr), path.name


def test_every_code_of_the_sources_has_a_page():
    sources = [f for package in ("vasm", "vlink", "vsim", "visakit") for f in (TESTS.parent / package).rglob("*.py")]
    used = {code for f in sources for code in re.findall(r'"([VWCLSFTUKDPQ]\d{3})"', f.read_text())}
    assert used == set(catalog())
    assert explain("v010").startswith("V010: an undeclared name\n")


def test_a_carets_line_is_the_line_of_the_input():
    """Every excerpt of an error is the line that it says it is."""
    for path in FILES:
        golden = golden_files.read(path.read_text())
        pattern = r"^([\w.]+):(\d+):\d+: \w+: .*\n ( *\d+) \| (.*)\n *\| (.*)$"
        for name, line, number, excerpt, carets in re.findall(pattern, golden.stderr, re.MULTILINE):
            whole = golden.files[name].decode().split("\n")[int(line) - 1].rstrip()
            assert whole == excerpt or (len(whole) > 240 and excerpt.strip(".") in whole), path.name
            assert int(number) == int(line) and set(carets) <= set(" \t^") and "^" in carets, path.name


# -- the runner ------------------------------------------------------------------------------------------------

EXAMPLE = re.search(
    r"^```\n(# A number.*?)^```$", (TESTS / "golden" / "README.md").read_text(), re.MULTILINE | re.DOTALL
)


def example():
    assert EXAMPLE
    return EXAMPLE[1]


def test_the_example_of_the_readme_is_right():
    golden = golden_files.read(example())
    outcome = golden_files.run(golden)
    assert golden_files.agree(golden, outcome) and golden_files.blessed(golden, outcome) == example()


@pytest.mark.parametrize(
    ("old", "new", "diff"),
    [
        (
            "300 does",
            "299 does",
            "-t.visaasm:4:23: error: 299 does not fit into type b [V021]\n+t.visaasm:4:23: error: 300",
        ),
        ("# EXIT 1\n", "", "+# EXIT 1"),
        ("\n# STDERR", "\n# STDOUT\nnothing\n\n# STDERR", "-# STDOUT"),
        ("  hint: b holds -128 to 127\n", "", "+  hint: b holds -128 to 127"),
        ("       ^^^^^", "        ^^^^^", "+   |                       ^^^^^\n"),
    ],
)
def test_a_difference_is_shown_and_blessed(old, new, diff):
    golden = golden_files.read(example().replace(old, new, 1))
    outcome = golden_files.run(golden)
    assert not golden_files.agree(golden, outcome)
    assert diff in golden_files.difference(golden, outcome, "x") + "\n"
    assert golden_files.blessed(golden, outcome) == example()


def test_dots_match_any_lines_and_survive_blessing():
    text = re.sub(r"t\.visaasm:4:23.*?127\n", "...\n  hint: b holds -128 to 127\n", example(), flags=re.DOTALL)
    golden = golden_files.read(text)
    outcome = golden_files.run(golden)
    assert golden_files.agree(golden, outcome) and golden_files.blessed(golden, outcome) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# FILE x\n# RUN: vasm x\n", "no line '# RUN"),
        ("# RUN: vasm x\n# STDERR\n# FILE x\n", "comes after"),
        ("# RUN: wasm x\n", "'wasm' is neither"),
    ],
)
def test_files_of_another_format(text, message):
    with pytest.raises(golden_files.FormatProblem, match=message):
        golden_files.run(golden_files.read(text))


PROCESSES = (
    "vasm/V010-destination", "vasm/explain", "vasm/W010-operand-beyond-its-variable", "vdis/C010-text", "vlink/no-input",
    "vlink/L002-something-else", "vsim/C010-text", "vsim/F001-missing-image", "ctm/several-errors",
)  # fmt: skip


@pytest.mark.parametrize("name", PROCESSES)
def test_processes_say_the_same(name, tmp_path, monkeypatch):
    golden = golden_files.read((TESTS / "golden" / f"{name}.test").read_text())
    monkeypatch.syspath_prepend(str(TESTS.parent))
    for file, contents in golden.files.items():
        (tmp_path / file).write_bytes(contents)
    (command,) = golden.commands
    environment = golden_files.environment(PYTHONPATH=str(TESTS.parent))
    tool, *rest = command.split()
    words = [sys.executable, "-m", golden_files.module_of(tool), *rest]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert golden_files.agree(golden, golden_files.Outcome(done.stdout, done.stderr, str(done.returncode)))
