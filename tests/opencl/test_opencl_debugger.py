"""Programs in C under ``visakit exec --debug``: one of their launches stops in the debugger."""

import importlib.util
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path
from time import monotonic

import pytest
from support.c_programs import VECTOR_ADD, run
from support.programs import ROOT
from test_opencl_programs import needs_all

WRONG = "tgllp: Xe-LP (Tiger Lake), simulated: 1000 elements, {} wrong\n"
BEGIN = re.compile(r"launch 1 of 'add' begins\n0\.0:0 in add\+8 at (.*):2, time 1\n2\s+(.*)\n")


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A program that adds vectors."""
    target = tmp_path_factory.mktemp("added") / "vector_add"
    subprocess.run(["gcc", "-O1", "-o", target, VECTOR_ADD, "-lOpenCL", "-lm"], check=True)
    return target


def debugged(program, wanted, *commands, options=(), **environment):
    """A program with scripts for the debugger."""
    given = [word for text in commands for word in ("--command", text)]
    words = ["--platform", "tgllp", "--debug", wanted, *given, "--batch", *options]
    return run(program, 1000, options=words, **environment)


@needs_all
def test_a_launch_stops_and_the_program_gets_its_results(added):
    done = debugged(added, "add", "print n", "continue", "continue")
    assert (done.returncode, done.stdout) == (0, WRONG.format(0))
    assert BEGIN.match(done.stderr), done.stderr
    assert done.stderr.endswith(
        "(visakit) print n\n$1 = 1000\n(visakit) continue\nThe launch of 'add' has ended\n"
        "'continue' gives the program its results\n(visakit) continue\n"
    )


@needs_all
def test_the_source_of_a_program_is_a_file_that_can_be_opened(added):
    """Its name in the debugger is that of a file, which places may name, too."""
    begun = BEGIN.match(debugged(added, "add", "continue", "continue").stderr)
    assert begun, "the launch begins at a line"
    file, line = begun.groups()
    assert Path(file).read_text().split("\n")[1].strip() == line.strip()
    done = debugged(added, "add", f"tbreak {Path(file).name}:2", "continue", "kill")
    assert "1.0:0 in add+8" in done.stderr


@needs_all
def test_a_change_in_the_debugger_reaches_the_program(added):
    """An element that an earlier group has written is changed; the program says so, and ends with 1."""
    commands = ["break 2 if $group == 3", "continue", "set c[5] = 7.0", "continue", "continue"]
    done = debugged(added, "add", *commands)
    assert (done.returncode, done.stdout) == (1, WRONG.format(1)), done.stderr


@needs_all
@pytest.mark.parametrize("words", [["quit"], ["kill"], []])
def test_leaving_the_debugger_ends_the_program(added, words):
    done = debugged(added, "add", *words)
    assert (done.returncode, done.stdout) == (0, "")


@needs_all
def test_a_program_goes_on_without_the_debugger(added):
    done = debugged(added, "add", "break 2", "detach", "print n")
    assert (done.returncode, done.stdout) == (0, WRONG.format(0)), done.stderr
    assert done.stderr.endswith("(visakit) detach\nThe launch of 'add' has ended\n"), done.stderr


@needs_all
def test_a_wrong_script_ends_the_program_with_1(added, tmp_path):
    (tmp_path / "script").write_text("print n\nprint unknown\nquit\n")
    done = debugged(added, "add", options=["-x", str(tmp_path / "script")])
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{tmp_path / 'script'}:2:7: error: " in done.stderr


@needs_all
def test_a_launch_that_never_comes_is_named(added):
    done = debugged(added, "add:2")
    assert (done.returncode, done.stdout) == (0, WRONG.format(0))
    assert done.stderr == ("visakit: 'add' was launched 1 time, and launch 2 was not debugged: launched were add\n")
    done = debugged(added, "adds")
    assert done.stderr == ("visakit: 'adds' was never launched, and launch 1 was not debugged: did you mean 'add'?\n")


@pytest.mark.parametrize("wanted", ["add:0", ":1", "add:", "add:x"])
def test_unknown_launches_are_refused(wanted):
    done = run("true", options=["--debug", wanted])
    assert done.returncode == 2 and "KERNEL:N with N from 1 on" in done.stderr


def test_scripts_want_a_debugger():
    done = run("true", options=["--batch"])
    assert done.returncode == 2 and "--debug KERNEL chooses a launch" in done.stderr


@needs_all
@pytest.mark.parametrize("toolkit", [True, False])
def test_the_prompt_is_at_the_terminal_of_the_program(added, tmp_path, toolkit):
    """Also if input and output of the program are files; lines typed too early are kept."""
    if toolkit and importlib.util.find_spec("prompt_toolkit") is None:
        pytest.skip("there is no prompt_toolkit")
    if not toolkit:
        (tmp_path / "prompt_toolkit.py").write_text("raise ImportError\n")
    command = f"echo 1 | {sys.executable} -m visakit exec --platform tgllp --debug add {added} 1000 > {tmp_path}/out"
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "TERM": "dumb", "VISAKIT_HISTORY": "off"}
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("sh", ["sh", "-c", command], os.environ | environment)
    shown = until(terminal, b"(visakit)")
    os.write(terminal, b"print n\rcontinue\rcontinue\r")
    shown += until(terminal, None)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert b"$1 = 1000" in shown and b"The launch of 'add' has ended" in shown
    assert (tmp_path / "out").read_text() == WRONG.format(0)


def until(terminal, wanted, seconds=40):
    """The output of a terminal up to a text, or to its end."""
    shown, end = b"", monotonic() + seconds
    while wanted is None or wanted not in shown:
        assert monotonic() < end, shown
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                shown += os.read(terminal, 4096)
            except OSError:  # The child has ended.
                assert wanted is None, shown
                break
    return shown
