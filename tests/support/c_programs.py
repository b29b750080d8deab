"""Programs in C under ``visakit exec``."""

import os
import subprocess
import sys
from pathlib import Path

from support.programs import ROOT, TESTS
from visakit.subcommands import doctor

SOURCES = TESTS / "data" / "programs"
VECTOR_ADD = ROOT / "samples" / "opencl" / "vector_add.c"


def lacking(header, loader=""):
    """The reason why a machine cannot build programs with a header and run them by a loader; empty if it can."""
    lacks = [row.what for row in doctor.findings() if row.is_needed and not row.found]
    if not any(Path(folder, header).exists() for folder in ("/usr/include", "/usr/local/include")):
        lacks.append(header)
    if loader and not doctor.loader(loader):
        lacks.append(f"lib{loader}.so")
    return ", ".join(lacks)


def run(*words, options=(), given="", **environment):
    """A program under ``visakit exec``; ``given`` is its standard input."""
    command = [sys.executable, "-m", "visakit", "exec", *options, *map(str, words)]
    clean = {n: v for n, v in os.environ.items() if not n.startswith("VISAKIT_OPENCL")}
    return subprocess.run(
        command,
        input=given,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=clean | {"PYTHONPATH": str(ROOT)} | environment,
    )
