"""OpenCL programs with one defect each, of kinds that meet in practice, and their mended twins, under all checks at once.

``tests/data/checks/values.cl`` is the source; an older and today's compiler made the images beside it.
"""

from itertools import product

import numpy as np
import pytest
from support.programs import expected_findings, packed_program
from support.strategies import FUZZ

EXPECTED = expected_findings("values.cl", r"(?:values: )?K0[^\n]*")
"""Codes of the findings by kernel; ``values:`` in front: there may be more."""
KERNELS, COMPILERS = sorted(EXPECTED), ("old", "new")
NATIVE = {
    "shuffled": "old",
    "fields_beside_each_other": "new",
    "counter_without_a_start": "old",
    "three_of_four": "new",
}
ALL = [(k, c, "numpy") for n, k in enumerate(KERNELS) for m, c in enumerate(COMPILERS) if FUZZ or (n + m) % 2]
ALL += [(k, c, "llvm") for k, c in product(KERNELS, COMPILERS) if FUZZ or NATIVE.get(k) == c]
"""What one compiler made of each; native code, which takes time to make, is that of some. All in ``make pairs``."""


def codes(compiler, kind, kernel, engine):
    arguments = [np.arange(1024, dtype=np.uint32) % 5, *(np.zeros(1024, np.uint32) for _ in range(2))]
    result = packed_program(f"values.{compiler}.{kind}").launch(
        kernel, 128, 64, arguments, engine=engine, check="all", show_printf=False
    )
    assert result.engine == engine
    return {f.code for f in result.findings}


def test_the_source_has_thirty_kernels():
    assert len(EXPECTED) >= 30


@pytest.mark.parametrize(("kernel", "compiler", "engine"), ALL)
def test_the_defect_is_found_and_nothing_in_the_mended_twin(kernel, compiler, engine):
    wanted, found = EXPECTED[kernel], codes(compiler, "wrong", kernel, engine)
    if wanted[0] == "values:":
        assert found >= set(wanted[1:])
    else:
        assert found == set(wanted)
    assert codes(compiler, "mended", kernel, engine) == set()
