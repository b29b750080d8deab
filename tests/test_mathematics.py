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


@pytest.mark.parametrize("data_type", [F, HF], ids=str)
def test_sines_of_what_has_none_and_of_the_smallest(data_type):
    dtype = "f4" if data_type is F else "f2"
    some = np.array([[np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-7, -1e-7]], dtype)
    with np.errstate(invalid="ignore"):
        sines, cosines = (function(NumpyAlgebra(), data_type, some) for function in (mathematics.sin, mathematics.cos))
    assert np.isnan(sines[0, :3]).all() and np.isnan(cosines[0, :3]).all()
    assert (sines[0, 3:] == some[0, 3:]).all() and (np.signbit(sines) == np.signbit(some))[0, 3:].all()
    assert (cosines[0, 3:] == 1).all()
    assert (np.abs(mathematics.cos(NumpyAlgebra(), F, np.array([[3e38, -1e30, 2.0**31, 1e9]], "f4"))) <= 1).all()
