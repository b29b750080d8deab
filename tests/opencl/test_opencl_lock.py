"""Programs in Python that hold Python's lock while they wait for a thread that calls the driver: none waits for ever."""

import os
import shutil
import subprocess
import sys

import pytest
from support.c_programs import SOURCES
from support.programs import ROOT
from support.strategies import some

from visakit.opencl.library import library_path

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
WAYS = ["mutex", "readers", "condition", "join", "mutex signal"]


@pytest.fixture(scope="module")
def holder(tmp_path_factory):
    """The library that waits."""
    pytest.importorskip("cffi")
    target = tmp_path_factory.mktemp("holder") / "libholder.so"
    words = ["gcc", "-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o", target, SOURCES / "lock_holder.c", "-lpthread"]
    subprocess.run(words, check=True)
    return target


@needs_gcc
@pytest.mark.parametrize("way", some(WAYS, 2))
@pytest.mark.parametrize("interface", ["opencl", "level-zero"])
def test_a_thread_that_waits_lends_the_lock(holder, interface, way):
    words = [sys.executable, SOURCES / "lock_holder.py", library_path(), holder, interface, *way.split()]
    clean = {n: v for n, v in os.environ.items() if not n.startswith("VISAKIT_OPENCL")}
    environment = clean | {"VISAKIT_OPENCL_PLATFORM": "tgllp", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n", "")
