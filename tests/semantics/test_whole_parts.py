"""Whole parts of floats as integers: truncated, at the ends of the range where they do not fit, and 0 of NaN."""

import math

import numpy as np
import pytest
from support.probe import LANES, Probe
from support.strategies import ENGINES

from vsim.engines.llvm import target

NUMBERS = {
    x * sign
    for end in (2.0**n for n in (7, 8, 15, 16, 31, 32, 63, 64))
    for x in (end, end - 1, end * (1 - 2.0**-11), end * (1 - 2.0**-24), end * (1 + 2.0**-23), 1e-40, 0.5, 1.5, math.inf)
    for sign in (1, -1)
}
RANGES = {"b": "i1", "ub": "u1", "w": "i2", "uw": "u2", "d": "i4", "ud": "u4", "q": "i8", "uq": "u8"}


def lanes_of(source):
    """Numbers near the ends of ranges, as the type has them, in rows of all lanes; each has a NaN."""
    with np.errstate(over="ignore"):
        values = np.unique(np.array(sorted(NUMBERS)).astype({"hf": "f2", "f": "f4", "df": "f8"}[source])).tolist()
    values += [0.0] * (-len(values) % (LANES - 1))
    return [[*row, math.nan] for row in np.reshape(values, (-1, LANES - 1)).tolist()]


def whole(x, to):
    """What a number becomes."""
    ends = np.iinfo(RANGES[to])
    if math.isnan(x):
        return 0
    return min(max(int(x), ends.min), ends.max) if math.isfinite(x) else ends.max if x > 0 else ends.min


@pytest.mark.parametrize("cpu", target.possible())
@pytest.mark.parametrize("source", ["hf", "f", "df"])
@pytest.mark.parametrize("count", [4, 16])
def test_whole_parts(source, count, cpu, monkeypatch):
    monkeypatch.setenv(target.VARIABLE, cpu)
    rows = lanes_of(source)
    probe = Probe()
    for n, row in enumerate(rows):
        probe.variable(f"X{n}", source, row)
        for to in RANGES:
            probe.variable(f"TO_{to}_{n}", to, [7] * LANES)
            for first in range(0, LANES, count):
                place = []
                for t in (to, source):
                    size = {"hf": 2, "f": 4, "df": 8}.get(t) or np.dtype(RANGES[t]).itemsize
                    place.append(f"({first * size // 32},{first * size % 32 // size})")
                probe.lines.append(f"mov (M1, {count}) TO_{to}_{n}{place[0]}<1> X{n}{place[1]}<1;1,0>")
    for run in map(probe.run, ENGINES):
        for n, row in enumerate(rows):
            for to in RANGES:
                assert run[f"TO_{to}_{n}"][:LANES].tolist() == [whole(x, to) for x in row], (to, row)
