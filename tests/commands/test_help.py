"""The help of every command: readable at 80 columns, plain text; what shells complete; messages of ``visakit``."""

import json
import re
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from support.golden_files import command_line
from support.programs import ROOT
from typer.main import get_command

from visakit.commands.help import help_text
from vsim.command import completion

APPS = runpy.run_path(str(ROOT / "docs" / "generate_man.py"))["APPS"]


def shown(tool, width=80):
    command = get_command(APPS[tool])
    return help_text(command, typer.Context(command, info_name=tool), width)


@pytest.mark.parametrize("tool", APPS)
def test_help_is_readable_at_80_columns(tool):
    """No line is longer but for examples that are typed so; all options are there."""
    text = shown(tool)
    options, _, examples = text.partition("\nExamples:\n")
    assert max(map(len, options.splitlines())) <= 80 and examples
    assert text.isascii() and "\x1b" not in text and "[bold]" not in text
    for parameter in get_command(APPS[tool]).params:
        assert all(
            re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", options) for name in parameter.opts if name[0] == "-"
        )


@pytest.mark.parametrize("tool", APPS)
def test_commands_share_their_options(tool):
    """Each has the options of diagnostics, once; commands with ``--platform`` can list the platforms."""
    names = [name for parameter in get_command(APPS[tool]).params for name in parameter.opts]
    assert {"--explain", "--error-format", "--json", "--version"} <= set(names)
    assert ("--list-platforms" in names) == ("--platform" in names)
    assert len(names) == len(set(names))


def test_the_launch_comes_first_in_the_help_of_vsim():
    panels = re.findall(r"^(\w[\w ]*):$", shown("vsim"), re.MULTILINE)
    assert panels[:3] == ["Arguments", "What is launched", "Execution"]


def test_a_pipe_gets_plain_text():
    out, err, code = command_line("vsim --help")
    assert (err, code) == (b"", 0) and b"\x1b" not in out and "─".encode() not in out
    assert out.startswith(b"Usage: vsim")


@pytest.mark.parametrize(
    "line", ["visakit --explain S010", "visakit doctor --explain S010", "visakit exec --explain S010"]
)
def test_visakit_explains_messages(line):
    assert command_line(line) == command_line("vsim --explain S010")


def test_the_doctor_reports_as_json():
    rows = json.loads(command_line("visakit doctor --json")[0])
    assert rows and all(set(row) == {"name", "found", "needed", "advice"} for row in rows)


TEXT = """.version 4.1
.kernel "{}"
.decl OUT v_type=G type=uq num_elts=1
.kernel_attr SimdSize=8
.input OUT offset=64 size=8
ret (M1, 1)
"""


def test_completion_knows_the_kernels_and_arguments_of_the_image(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    second = TEXT.format("two").replace("OUT", "DATA").partition("\n")[2]
    Path("k.visaasm").write_text(TEXT.format("one") + second)
    assert command_line("vasm k.visaasm && vlink k.o -o k.bin")[1:] == (b"", 0)
    image = tmp_path / "k.bin"
    at = SimpleNamespace(params={"image": str(image)})
    assert completion.kernels(at) == ["one", "two"]
    assert [name for name, _ in completion.parts(at)] == ["OUT", "DATA"]
    at.params["kernel"] = "two"
    assert [name for name, _ in completion.arguments(at)] == ["DATA="]
    for nothing in (tmp_path / "no.bin", Path(sys.executable), tmp_path / "k.cl", None):
        assert completion.kernels(SimpleNamespace(params={"image": nothing and str(nothing)})) == []
