"""Programs that hold objects of OpenCL, wait or run kernels when they end: each ends, with its own exit status."""

import shutil
import subprocess
import sys

import pytest
from support.c_programs import SOURCES, run
from support.strategies import some
from test_opencl_programs import needs_all

RELEASED = "released 0, other -5\n"
"""What an end says after Python, or its part in the process, has ended."""
ASKED = "asked 0: 1 devices, 1 and 1\n"
"""What it says about facts, which C knows once the program has asked for them."""


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """The library that holds objects."""
    target = tmp_path_factory.mktemp("held") / "libheld.so"
    words = ["gcc", "-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o", target, SOURCES / "held.c", "-lOpenCL"]
    subprocess.run([*words, "-lpthread"], check=True)
    return target


@pytest.fixture(scope="module")
def host(held):
    """A program in C++ that is linked with the library."""
    if shutil.which("g++") is None:
        pytest.skip("there is no g++")
    target = held.parent / "host"
    words = ["g++", "-Wall", "-Werror", "-o", target, SOURCES / "held_host.cpp", held, f"-Wl,-rpath,{held.parent}"]
    subprocess.run(words, check=True)
    return target


def check(done, lines):
    assert (done.returncode, done.stderr, done.stdout) == (7, "", lines)


PYTHON = {
    "make": f"destructor: {RELEASED}",
    "make run": f"0 wrong\ndestructor: {RELEASED}",
    "make atexit run": f"0 wrong\natexit: {RELEASED}",
    "python-atexit make": f"0 wrong\ndestructor: {RELEASED}",
    "make enqueue": f"destructor: {RELEASED}",
    "make endless wait python-wait": f"destructor: {RELEASED}",
    "make blocked wait": f"destructor: {RELEASED}",
    "make run fork": f"0 wrong\ndestructor: {RELEASED}child 5\ndestructor: {RELEASED}",
    "make run fork-run": f"0 wrong\n0 wrong\ndestructor: {RELEASED}child 5\ndestructor: {RELEASED}",
    "make run python-fork": f"0 wrong\ndestructor: {RELEASED}child 5\ndestructor: {RELEASED}",
    "make run blocked fork-finish": f"0 wrong\nfinish -5\ndestructor: {RELEASED}child 5\ndestructor: {RELEASED}",
    "make run endless wait fork-run": f"0 wrong\n0 wrong\ndestructor: {RELEASED}child 5\ndestructor: {RELEASED}",
    "make run exit": f"0 wrong\ndestructor: {RELEASED}",
    "make run python-_exit": "0 wrong\n",
    "make run thread-exit": f"0 wrong\ndestructor: {RELEASED}",
    "make keep": f"waited 0\ndestructor: {RELEASED}",
    "make keep-blocked": f"waited -5\ndestructor: {RELEASED}",
    "make run close": "0 wrong\ndestructor: released 0, other 0\n",
    "make ask": f"{ASKED}{ASKED}destructor: {RELEASED}",
}
"""Output of programs in Python until they have ended, by their steps; a part of them if not in ``make fuzz``."""


@needs_all
@pytest.mark.parametrize("words", some(PYTHON, 2))
def test_a_program_in_python_ends(held, words):
    """A library's destructors come after Python, which is finalised by then."""
    done = run(sys.executable, SOURCES / "held_host.py", held, *words.split(), options=["--platform", "tgllp"])
    check(done, PYTHON[words])


CPP = {
    "make run": f"0 wrong\ndestructor: {RELEASED}",
    "make run static": f"0 wrong\nstatic: {RELEASED}",
    "make run atexit": "0 wrong\natexit: released 0, other 0\n",
    "make atexit run": f"0 wrong\natexit: {RELEASED}",
    "make run endless wait join": f"0 wrong\ndestructor: {RELEASED}",
    "make run blocked wait static join": f"0 wrong\nstatic: {RELEASED}",
    "make run fork-run": f"0 wrong\n0 wrong\ndestructor: {RELEASED}child 5\ndestructor: {RELEASED}",
    "make atexit enqueue fork": f"atexit: {RELEASED}child 5\natexit: {RELEASED}",
    "make run blocked fork-finish": f"0 wrong\nfinish -5\ndestructor: {RELEASED}child 5\ndestructor: {RELEASED}",
    "make run endless wait fork-run": f"0 wrong\n0 wrong\ndestructor: {RELEASED}child 5\ndestructor: {RELEASED}",
    "make run _exit": "0 wrong\n",
    "make ask run": f"{ASKED}0 wrong\n{ASKED}destructor: {RELEASED}",
    "make atexit run keep": f"0 wrong\nwaited 0\natexit: {RELEASED}",
}
"""The same of a program in C++, in which the driver has begun Python: later ends are those of static variables."""


@needs_all
@pytest.mark.parametrize("words", some(CPP, 2))
def test_a_program_in_cpp_ends(host, words):
    check(run(host, *words.split(), options=["--platform", "tgllp"]), CPP[words])
