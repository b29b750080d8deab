"""How ``visakit exec`` begins programs; their signals and cancelled threads, which the driver leaves alone."""

import signal
import sys

import pytest
from support.c_programs import run
from test_opencl_programs import built, needs_all  # noqa: F401


@needs_all
def test_an_interrupt_ends_a_program_in_c(built):  # noqa: F811
    """Python's handler would keep it until Python runs again."""
    done = run(built("signals"), "interrupt")
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@needs_all
def test_a_cancelled_thread_leaves_no_lock(built):  # noqa: F811
    done = run(built("signals"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "finish 0\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_program_has_the_signals_that_python_ignores():
    """With SIGPIPE ignored, ``visakit exec PROGRAM | head`` would go on writing."""
    done = run("grep", "SigIgn", "/proc/self/status")
    ignored = int(done.stdout.split()[1], 16)
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)


def test_a_program_that_is_on_no_path_is_missed_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").write_bytes(b"\x7fELF")
    assert run("none").stderr.endswith("\n  hint: no folder of PATH has it\n")
    assert run("here").stderr.endswith("\n  hint: no folder of PATH has it; ./here is one here\n")
