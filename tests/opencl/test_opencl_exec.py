"""How ``visakit exec`` begins programs; their signals and cancelled threads, which the driver leaves alone."""

import resource
import signal
import sys

import pytest
from support.c_programs import run
from test_opencl_programs import built, needs_all  # noqa: F401

from visakit import FileError
from visakit.opencl import library
from visakit.runtime import settings, texts


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


def test_a_full_disk_is_an_error_of_the_driver_s_file(tmp_path, monkeypatch):
    """It was blamed on standard output, and a part of the library stayed."""
    made = tmp_path / "made.so"
    made.write_bytes(bytes(4096))
    monkeypatch.setattr(library, "_compile", lambda *_: made)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(FileError, match=r"driver\.so.*too large"):
            library.build(tmp_path / "driver.so")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [file.name for file in tmp_path.iterdir()] == ["made.so"]


def test_texts_that_are_not_kept_are_missed_once(tmp_path, monkeypatch, capsys):
    (tmp_path / "texts").write_text("no folder")
    monkeypatch.setenv(settings.TEXTS_SETTING, str(tmp_path / "texts"))
    caches = (settings.kept_texts, texts._folder, texts._say_not_kept)
    for kept in caches:
        kept.cache_clear()
    try:
        texts.keep_source("program 1", b"kernel void f() {}")
        texts.keep_source("program 2", b"kernel void g() {}")
        assert capsys.readouterr().err == f"visakit: texts are not kept in {tmp_path}/texts: Not a directory\n"
    finally:
        for kept in caches:
            kept.cache_clear()
