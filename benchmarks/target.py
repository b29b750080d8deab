"""The option ``--cpu`` of the benchmarks: what native code is made for, here and in the processes that are started."""

from __future__ import annotations

import argparse
import os

from vsim.engines.llvm import target


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--cpu``, which takes what this machine can run."""
    parser.add_argument(
        "--cpu", choices=target.possible(), default=target.NATIVE, help="what native code is made for (VISAKIT_CPU)"
    )


def choose(name: str) -> None:
    """Have native code made for a processor from here on."""
    os.environ[target.VARIABLE] = name
