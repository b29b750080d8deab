"""OpenCL programs with one race each, and their mended twins, as an older and today's compiler make them, in SIMD 8, 16 and 32.

``tests/data/checks/races.cl`` is the source; the images beside it are compiled from it (``tests/data/checks/README.md``).
"""

import functools
from itertools import product

import numpy as np
import pytest
from support.programs import expected_findings, packed_program
from support.strategies import ENGINES, in_turn

EXPECTED = expected_findings("races.cl")
"""Codes of the findings by kernel.

``lsc:`` in front: only where fences name a scope and a flush; ``values:``: other findings depend on the race's winner.
"""
ITEMS, GROUP = 512, 128


@functools.cache
def findings(compiler, kind, kernel, engine, check="race"):
    a, b, c = (np.arange(4096, dtype=np.uint32) % 5, *(np.zeros(4096, np.uint32) for _ in range(2)))
    result = packed_program(f"races.{compiler}.{kind}").launch(
        kernel, ITEMS, GROUP, [a, b, c], engine=engine, check=check, show_printf=False
    )
    assert result.engine == engine
    return result.findings


KERNELS, COMPILERS = sorted(EXPECTED), ("old", "new")


@pytest.mark.parametrize(("kernel", "compiler", "engine"), in_turn(KERNELS, product(COMPILERS, ENGINES)))
def test_the_race_is_found_and_nothing_in_the_mended_twin(kernel, compiler, engine):
    """Both engines have the same findings."""
    wanted = [code for code in EXPECTED[kernel] if code[0] == "K"]
    if "lsc:" in EXPECTED[kernel] and compiler == "old":
        wanted = []
    found = findings(compiler, "race", kernel, engine)
    assert sorted({f.code for f in found}) == wanted
    if engine == "llvm" and "values:" not in EXPECTED[kernel]:
        assert list(found) == list(findings(compiler, "race", kernel, "numpy"))
    assert findings(compiler, "mended", kernel, engine) == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kernel", ["neighbour_local", "last_group_sums", "accesses_in_functions", "histogram_global"])
def test_memory_of_other_checks_does_not_race(kernel, engine):
    assert findings("new", "mended", kernel, engine, "all") == []
