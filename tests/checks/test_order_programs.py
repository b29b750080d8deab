"""OpenCL programs that order groups and threads by hand: nothing is reported of them, and the mistake in their twins is found.

``tests/data/checks/order.cl`` is the source: barriers of the grid, locks, tickets, scans that look back, one that makes and others that use.
"""

from itertools import product

import numpy as np
import pytest
from support.programs import expected_findings, packed_program
from support.strategies import in_turn

EXPECTED = expected_findings("order.cl")
"""Code of the finding by kernel, and words in front of it that the source explains."""
IMAGES = ("old.tgllp", "new.bmg")


def codes(image, kind, kernel, engine):
    arguments = [np.arange(1024, dtype=np.uint32) % 5, *(np.zeros(1024, np.uint32) for _ in range(2))]
    result = packed_program(f"order.{image}.{kind}").launch(
        kernel, 128, 32, arguments, engine=engine, check="race", show_printf=False
    )
    assert result.engine == engine
    return sorted({f.code for f in result.findings})


TURNS = [kernel for kernel in sorted(EXPECTED) if "turns:" in EXPECTED[kernel]]
ALL = in_turn(sorted(EXPECTED), product(IMAGES, ["numpy"])) + in_turn(TURNS, product(reversed(IMAGES), ["llvm"]))
"""Only groups that wait for each other get native code, which takes time to make."""


def test_the_source_has_twenty_five_kernels():
    assert len(EXPECTED) >= 25


@pytest.mark.parametrize(("kernel", "image", "engine"), ALL)
def test_hand_made_order_is_seen_and_a_mistake_in_it_found(kernel, image, engine):
    words = EXPECTED[kernel]
    wanted = [] if "lsc:" in words and image.startswith("old") else words[-1:]
    assert codes(image, "race", kernel, engine) == wanted
    assert codes(image, "mended", kernel, engine) == []
