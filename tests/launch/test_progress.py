"""The progress bar of long launches: its text, and the streams that get it."""

import io
import os
import re
import threading

import numpy as np
import pytest
from support.programs import DATA

import visakit
import vsim
from vasm.vdis_cli import app as vdis
from visakit import long_work
from visakit.commands import command
from vsim.command import progress
from vsim.command.progress import DELAY, ProgressWatch, watch_on_terminal
from vsim.command.session import LaunchSession, ResultOptions
from vsim.engines.llvm.host.workers import POOL
from vsim.launch.dispatch import GroupProgress

ZEBIN = DATA / "zebins" / "xelp.bin"


class Terminal(io.StringIO):
    """A terminal that remembers all that was written to it."""

    def isatty(self):
        return True


class Program:
    """What a watch looks at."""

    def __init__(self, *values):
        self.values = list(values)

    def progress(self):
        return self.values.pop(0)


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    return Terminal()


def plain(stream):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue())


def test_what_is_shown(terminal, monkeypatch):
    """At first no bar; the time during compilation; then groups. At the end the bar is erased."""
    monkeypatch.setattr(progress, "INTERVAL", 1e9)
    watch = ProgressWatch(Program(None, GroupProgress(3, 8), GroupProgress(8, 8)), terminal)
    watch.begin("[saxpy]")
    started = watch.current[1]
    watch.look(started + DELAY / 2)
    assert not terminal.getvalue() and watch.shown is None
    watch.look(started + DELAY)
    watch.shown.bar.refresh()
    assert "[saxpy]: making native code, once" in plain(terminal) and "/?" in plain(terminal)
    for shown in ("3/8 groups", "8/8 groups"):
        watch.look(started + DELAY)
        watch.shown.bar.refresh()
        assert shown in plain(terminal) and "left" in plain(terminal)
    watch.end()
    assert watch.shown is None and terminal.getvalue().endswith("\x1b[2K")
    size = len(terminal.getvalue())
    watch.look(started + 99)
    assert len(terminal.getvalue()) == size
    first = watch.thread
    watch.begin("k")
    assert watch.thread is first
    watch.end()


def test_long_work_has_a_line_that_goes_away(tmp_path, monkeypatch):
    """Also if the work redirects standard error; short work has no line."""
    monkeypatch.setattr(long_work, "INTERVAL", 1e9)
    told = threading.Event()
    write = os.write
    monkeypatch.setattr("os.write", lambda *words: (write(*words), told.set()))
    with open(tmp_path / "terminal", "w") as stream, monkeypatch.context() as patched:
        patched.setattr("sys.stderr", stream)
        for delay in (1e9, 0.0):
            monkeypatch.setattr(long_work, "DELAY", delay)
            with pytest.raises(KeyError), long_work._shown("building\n" + "x" * 99):
                assert delay or told.wait(60)
                raise KeyError
    cleared, shown, rest = (tmp_path / "terminal").read_bytes().decode().split("\r\x1b[2K")
    assert (cleared, rest) == ("", "") and re.fullmatch(r"building\S+x{50,}: 0 s", shown) and len(shown) == 79


@pytest.mark.parametrize(
    ("style", "term", "is_shown"), [("human", "xterm", True), ("json", "xterm", False), ("human", "dumb", False)]
)
def test_only_people_at_a_terminal_are_told(terminal, monkeypatch, style, term, is_shown):
    asked = []
    monkeypatch.setattr(command, "show_long_work", asked.append)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("sys.stderr", terminal)
    command.exit_code(vdis, "vdis", ["none", "--error-format", style])
    assert asked == [is_shown]
    monkeypatch.setattr("sys.stderr", io.StringIO())
    command.exit_code(vdis, "vdis", ["none", "--error-format", style])
    assert asked == [is_shown, False]


def test_the_library_says_nothing(capfd):
    with long_work.long_work("building, once"):
        pass
    assert capfd.readouterr() == ("", "")


def test_only_a_terminal_has_a_bar(terminal, monkeypatch):
    monkeypatch.setattr("sys.stderr", terminal)
    assert watch_on_terminal(Program()) is not None
    monkeypatch.setenv("TERM", "dumb")
    assert watch_on_terminal(Program()) is None
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert watch_on_terminal(Program()) is None


def test_engines_tell_how_far_they_are(monkeypatch):
    program = vsim.load(ZEBIN)
    y, x = np.zeros(65536, "f4"), np.zeros(65536, "f4")
    seen = []
    inner = program.engines._begun
    monkeypatch.setattr(program.engines, "_begun", lambda *n: (inner(*n), seen.append(program.progress())))
    program.launch("saxpy", 65536, 32, [y, x, 1.0, 5], engine="numpy")
    begun = [g.begun for g in seen]
    assert {g.total for g in seen} == {2048} and begun[0] == 0 and begun == sorted(begun) and len(begun) > 1
    assert program.progress() is None
    seen.clear()
    run = POOL.run

    def looked_at(*words):
        seen.append(program.progress())
        found = run(*words)
        seen.append(program.progress())
        return found

    monkeypatch.setattr(POOL, "run", looked_at)
    z = np.ones(4096, "i4")
    program.launch("steps", 4096, 16, [z, 64], engine="llvm", threads=2)
    assert seen == [GroupProgress(0, 256), GroupProgress(256, 256)] and program.progress() is None


def test_a_session_on_a_terminal(terminal, monkeypatch):
    """The bar is gone before anything is written, also when a launch fails."""
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr("sys.stderr", terminal)
    program = vsim.load(ZEBIN)
    session = LaunchSession(program, ResultOptions(), output=io.StringIO(), engine="numpy")
    states = []
    inner = program.engines._begun
    monkeypatch.setattr(
        program.engines,
        "_begun",
        lambda *n: (
            inner(*n),
            session.watch.look(session.watch.current[1]),
            states.append(session.watch.shown is not None),
        ),
    )
    good = program.convert("state", [np.zeros(4, "i4")])
    session.run_one(vsim.launch.launch.Launch("state", (1,), args=good), "one")
    assert states == [True] and session.watch.shown is None and "state" in plain(terminal)
    with pytest.raises(visakit.SimulationError):
        session.run_one(vsim.launch.launch.Launch("state", (1,), args=program.convert("state", [None])), "two")
    assert states == [True, True] and session.watch.shown is None
