"""Rotations, whose counts are taken modulo the width."""

import numpy as np
import pytest
from support.probe import LANES, Probe, run_on_both_engines


@pytest.mark.parametrize("op", ["rol", "ror"])
@pytest.mark.parametrize("t", ["uw", "ud", "uq"])
def test_rotations_by_all_counts(op, t):
    """Counts that vary, and that are the same in all lanes, in and beyond the width."""
    bits, data = 8 * np.dtype(dict(uw="u2", ud="u4", uq="u8")[t]).itemsize, np.random.default_rng(1)
    for first in range(0, 2 * bits, LANES):
        values = (data.integers(0, 2**64, LANES, "u8") >> np.uint64(64 - bits)).tolist()
        counts, probe = [first + n for n in range(LANES)], Probe()
        probe.fill(X=(t, values), N=(t, counts), OUT1=(t, [0] * LANES), OUT2=(t, [0] * LANES))
        probe.lines += [
            f"{op} (M1, 16) OUT1(0,0)<1> X(0,0)<1;1,0> N(0,0)<1;1,0>",
            f"{op} (M1, 16) OUT2(0,0)<1> X(0,0)<1;1,0> N(0,3)<0;1,0>",
        ]
        found = run_on_both_engines(probe)

        def rotated(x, n):
            n = n % bits if op == "rol" else -n % bits
            return (x << n | x >> (bits - n)) & ((1 << bits) - 1)

        assert found["OUT1"][:LANES].tolist() == [rotated(x, n) for x, n in zip(values, counts, strict=True)]
        assert found["OUT2"][:LANES].tolist() == [rotated(x, counts[3]) for x in values]
