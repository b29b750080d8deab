"""Kernels of ordinary kinds at a reduced size give what numpy computes."""

import math

import numpy as np
import pytest
from conftest import build
from ordinary import DEVICES, KERNELS

from vsim.program import Program


def options(spot, strike, years, call, put, rate, volatility):
    s, x, t = (v.astype("f8") for v in (spot, strike, years))
    spread = volatility * np.sqrt(t)
    d1 = (np.log(s / x) + (rate + 0.5 * volatility**2) * t) / spread
    below = np.vectorize(lambda d: 0.5 * (1 + math.erf(d / math.sqrt(2))))
    return s * below(d1) - x * np.exp(-rate * t) * below(d1 - spread)


def stencil(old, now, width, height, rate):
    expected = old.copy()
    around = old[1:-1, :-2] + old[1:-1, 2:] + old[:-2, 1:-1] + old[2:, 1:-1]
    expected[1:-1, 1:-1] += rate * (around - 4 * old[1:-1, 1:-1])
    return expected


def spmv(starts, columns, values, x, y, rows):
    return np.add.reduceat(values.astype("f8") * x[columns], starts[:-1])


def softmax(values, out, columns):
    powers = np.exp(values.astype("f8") - values.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def bitonic(keys, distance, block):
    pairs = keys.reshape(-1, 2, int(distance))
    upwards = (np.arange(len(keys)).reshape(pairs.shape)[:, :1] & int(block)) == 0
    low, high = pairs.min(1, keepdims=True), pairs.max(1, keepdims=True)
    return np.where(upwards, np.hstack([low, high]), np.hstack([high, low])).reshape(-1)


def hash64(values, out, rounds):
    h = values.copy()
    for _ in range(rounds):
        h = (h ^ h >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
        h = (h ^ h >> np.uint64(29)) * np.uint64(0xC4CEB9FE1A85EC53)
        h ^= h >> np.uint64(32)
    return h


def collatz(lengths):
    n, steps = np.arange(1, len(lengths) + 1), np.zeros(len(lengths), "u4")
    while (n != 1).any():
        steps += n != 1
        n = np.where(n == 1, 1, np.where(n & 1, 3 * n + 1, n // 2))
    return steps


def lbm(streams, out, width, height, relaxation):
    dx, dy = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1]), np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    weights = np.array([4, 1, 1, 1, 1, 0.25, 0.25, 0.25, 0.25]) / 9
    f = np.stack([np.roll(s.astype("f8"), (y, x), (0, 1)) for s, x, y in zip(streams, dx, dy, strict=True)])
    density = f.sum(0)
    ux, uy = np.tensordot(dx, f, 1) / density, np.tensordot(dy, f, 1) / density
    along = 3 * (dx[:, None, None] * ux + dy[:, None, None] * uy)
    rest = weights[:, None, None] * density * (1 + along + along**2 / 2 - 1.5 * (ux**2 + uy**2))
    return f + relaxation * (rest - f)


REFERENCE = {
    "options": options,
    "stencil": stencil,
    "histogram": lambda values, counts, size: np.bincount(values, minlength=256),
    "spmv": spmv,
    "softmax": softmax,
    "bitonic": bitonic,
    "hash64": hash64,
    "bytes": lambda a, b, c, n: a.astype("i4") @ b.astype("i4").T,
    "collatz": collatz,
    "lbm": lbm,
}


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", KERNELS)
def test_ordinary_kernel(name, device, engine):
    work = KERNELS[name](512)
    expected = REFERENCE[name](*[a.copy() if isinstance(a, np.ndarray) else a for a in work.args])
    program = Program(build(FOLDER / name / device, device))
    program.launch(program.kernels[0], work.global_size, work.local_size, work.args, engine=engine)
    assert np.allclose(work.args[work.result], expected, rtol=10 * TOLERANCE[name], atol=TOLERANCE[name])
