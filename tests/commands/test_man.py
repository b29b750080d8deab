"""The manual pages are those of the help, and roff reads them without a warning."""

import re
import runpy
import shutil
import subprocess

import pytest
from support.programs import ROOT

GENERATOR = runpy.run_path(str(ROOT / "docs" / "generate_man.py"))
PAGES = GENERATOR["pages"]()


def test_pages_are_current_and_installed():
    """``make man`` would change nothing, and the package installs each page where ``man`` looks."""
    assert {p.name: p.read_text() for p in (ROOT / "man").iterdir()} == PAGES
    assert '"man" = "share/man/man1"' in (ROOT / "pyproject.toml").read_text()


@pytest.mark.parametrize("name", PAGES)
def test_groff_shows_a_page(name):
    """The page shows all options and examples as users type them."""
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-P-c", "-rLL=200n", str(ROOT / "man" / name)],
        capture_output=True,
        text=True,
    )
    text = re.sub(r".\x08", "", done.stdout)
    assert not done.stderr and not done.returncode and "\\" not in text
    tool = name.removesuffix(".1")
    if tool == "visakit":
        assert all(f"visakit-{command}(1)" in text for command in GENERATOR["visakit"].cli.SUMMARIES)
        return
    command = GENERATOR["get_command"](GENERATOR["APPS"][tool])
    for parameter in command.params:
        assert all(re.search(rf"(?<![\w-]){re.escape(o)}(?![\w-])", text) for o in parameter.opts if o[0] == "-"), (
            parameter
        )
    for line, _ in GENERATOR["examples"](command.epilog):
        assert re.sub(r"\s+", " ", line) in re.sub(r"\s+", " ", text)


@pytest.mark.parametrize(
    ("text", "roff"), [("-o 'x'", "\\-o \\(aqx\\(aq"), (".isa", "\\&.isa"), ("a\\b ^~`", "a\\eb \\(ha\\(ti\\(ga")]
)
def test_words_mean_themselves(text, roff):
    assert GENERATOR["escaped"](text) == roff
