"""Quotients of integers of many lanes."""

import pytest
from support.probe import LANES, Probe
from support.strategies import ENGINES

EDGES = {  # 49 * (1 / 49) is less than 1 in double
    "ub": [0, 1, 2, 3, 49, 127, 128, 254, 255],
    "uw": [0, 1, 2, 3, 49, 255, 257, 32767, 32768, 65534, 65535],
    "ud": [0, 1, 2, 3, 49, 641, 65535, 65536, 65537, 6700417, 1 << 31, (1 << 32) - 2, (1 << 32) - 1],
    "d": [0, 1, -1, 2, -3, 49, 46341, -46341, (1 << 31) - 1, 1 - (1 << 31)],
    "uq": [0, 1, 2, 3, 49, (1 << 53) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1],
    "q": [0, 1, -1, 3, 49, (1 << 53) + 1, -(1 << 53) - 1, (1 << 63) - 1],
}

QWORDS = ("uq", "q")


def places(t, divisor):
    """Numbers next to multiples of a divisor, and the largest ones, as many as there are lanes."""
    low, high = min(EDGES[t]), max(EDGES[t])
    near = [divisor * k + more for k in (1, 2, high // max(abs(divisor), 1)) for more in (-1, 0, 1)]
    return ([x for x in near if low <= x <= high] + EDGES[t][::-1] + EDGES[t])[:LANES]


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("t", EDGES)
def test_quotients_of_integers(t, is_shared):
    """One divisor for all lanes, or one for each; both engines agree on division by zero."""
    for divisor in EDGES[t]:
        xs, ys = places(t, divisor), ([divisor] + EDGES[t] * 2)[:LANES]
        probe = Probe()
        probe.fill(X=(t, xs), Y=(t, ys), Q=(t, [7] * LANES), R=(t, [7] * LANES))
        region = "<0;1,0>" if is_shared else "<1;1,0>"
        for op, to in (("div", "Q"), ("mod", "R"))[: 1 if t in QWORDS else 2]:  # There are no remainders of qwords.
            probe.lines.append(f"{op} (M1, 16) {to}(0,0)<1> X(0,0)<1;1,0> Y(0,0){region}")
        found = [(run["Q"][:LANES].tolist(), run["R"][:LANES].tolist()) for run in map(probe.run, ENGINES)]
        assert found[0] == found[1]
        for x, y, q, r in zip(xs, [divisor] * LANES if is_shared else ys, *found[1], strict=True):
            if y:
                assert q == abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)
                assert r == (7 if t in QWORDS else x - q * y)
