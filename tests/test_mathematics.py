"""Transcendental functions of floats against numpy's of long doubles: rounded once, or as good as that."""

import numpy as np
import pytest

from visa.types import HF, F
from vsim.numpy_engine.algebra import NumpyAlgebra
from vsim.semantics import mathematics

CASES = {
    "exp": (mathematics.exp, np.exp2, [(-150, 129), (-1, 1)]),
    "log": (mathematics.log, np.log2, [(1e-40, 2), (0.9, 1.1), (1, 3e38)]),
    "sin": (mathematics.sin, np.sin, [(-10, 10), (-1e5, 1e5)]),
    "cos": (mathematics.cos, np.cos, [(-10, 10), (-1e5, 1e5)]),
    "pow": (mathematics.pow_, np.power, [(0.01, 20)]),
}
WORST = 0.501
"""Units in the last place."""


@pytest.mark.parametrize("name", CASES)
def test_floats_are_rounded_once(name):
    function, exact, ranges = CASES[name]
    random, algebra = np.random.default_rng(1), NumpyAlgebra()
    for low, high in ranges:
        arguments = [random.uniform(low, high, (1, 20_000)).astype("f4")]
        if name == "pow":
            arguments.append(random.uniform(-25, 25, (1, 20_000)).astype("f4"))
        with np.errstate(all="ignore"):
            found = function(algebra, F, *arguments)
            wanted = exact(*(x.astype(np.longdouble) for x in arguments))
            rounded = wanted.astype("f4")
        finite = np.isfinite(rounded)
        assert (found[~finite] == rounded[~finite]).all()
        unit = np.spacing(np.abs(rounded[finite])).astype(np.longdouble)
        assert (np.abs(found[finite] - wanted[finite]) / unit).max() < WORST


@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos"])
def test_every_half_is_rounded_once(name):
    function, exact, _ = CASES[name]
    halves = np.arange(1 << 16, dtype=np.uint16).view("f2")[None, :]
    with np.errstate(all="ignore"):
        found, wanted = function(NumpyAlgebra(), HF, halves), exact(halves.astype("f8")).astype("f2")
    assert ((found == wanted) | (np.isnan(found) & np.isnan(wanted))).all()


def test_whole_powers_and_their_logarithms_are_exact():
    numbers = np.arange(-149, 128, dtype="f4")[None, :]
    powers = np.ldexp(np.float32(1), numbers.astype(int)).astype("f4")
    with np.errstate(all="ignore"):
        assert (mathematics.exp(NumpyAlgebra(), F, numbers) == powers).all()
        assert (mathematics.log(NumpyAlgebra(), F, powers) == numbers).all()
