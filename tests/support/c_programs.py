"""Programs in C under ``visakit exec``."""

import os
import subprocess
import sys

from support.programs import ROOT, TESTS

SOURCES = TESTS / "data" / "programs"
VECTOR_ADD = ROOT / "samples" / "opencl" / "vector_add.c"


def run(*words, options=(), **environment):
    """A program under ``visakit exec``."""
    given = [sys.executable, "-m", "visakit", "exec", *options, *map(str, words)]
    clean = {n: v for n, v in os.environ.items() if not n.startswith("VISAKIT_OPENCL")}
    return subprocess.run(
        given,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=clean | {"PYTHONPATH": str(ROOT)} | environment,
    )
