"""Kernels in LLVM IR with GenX intrinsics, as CM and ESIMD make it: compiled by ``ocloc``, against models in numpy.

Each is compiled optimised and not; one module has all of them.
"""

import shutil

import numpy as np
import pytest
from support.programs import TESTS
from support.strategies import ENGINES, rotated

import vsim
from visakit.compiler.devices import compiler_driver

pytestmark = pytest.mark.skipif(
    compiler_driver() is None or not shutil.which("llvm-as"), reason="ocloc or llvm-as is not installed"
)
SOURCE = TESTS / "data" / "vector" / "kernels.ll"
R = np.random.default_rng(45)
X = R.integers(0, 1 << 32, 16, dtype="u8").astype("u4")


def steps(n):
    return 0 if n <= 1 else 1 + steps(3 * n + 1 if n % 2 else n // 2)


def replaced(x, at, number):
    x = x.copy()
    x[at] = number
    return x


DIGITS = {0: lambda n: 11, 1: lambda n: n + 100, 2: lambda n: n * 7, 3: lambda n: -n, 4: lambda n: 44}
PERMUTED = R.permutation(16).astype("u4")
QUADS = R.integers(0, 1 << 63, 8, dtype="u8") * 2 + 1
PARTS = R.integers(0, 1000, (4, 16)).astype("u4")
HALVES = (R.integers(-40, 40, 32) / 8).astype("f2")
FLOATS = R.integers(-40, 40, 16).astype("f4") / 4
ODD = PERMUTED % 2 == 1
CASES = {
    # kernel: input, output before, output afterwards, threads of a group, groups
    "saxpy": (FLOATS, FLOATS[::-1].copy(), FLOATS * 3 + FLOATS[::-1], 1, 1),
    "rotate": (X, np.zeros_like(X), X[X & 15], 1, 1),
    "interleave": (PARTS[:2], np.zeros((16, 2), "u4"), np.stack([PARTS[:2].reshape(16, 2).sum(1, dtype="u4"), PARTS[:2].reshape(16, 2)[:, 0]], 1), 1, 1),
    "collatz": (PARTS[0] + 1, np.zeros(16, "u4"), np.array([steps(int(n)) for n in PARTS[0] + 1], "u4"), 1, 1),
    "diverge": (PARTS[0] + 1, np.zeros(16, "u4"), np.array([steps(int(n)) or 3 for n in PARTS[0] + 1], "u4"), 1, 1),
    "power": (replaced(X, 0, 5), np.zeros_like(X), replaced(X, 0, 5) ** np.uint32(5), 1, 1),
    "choose": (replaced(X, 0, 4), np.zeros_like(X), replaced(X, 0, 4) * np.uint32(2), 1, 1),
    "choose by an odd number": (replaced(X, 0, 7), np.zeros_like(X), replaced(X, 0, 7) ** np.uint32(2), 1, 1),
    "scatter": (PERMUTED, np.zeros(16, "u4"), np.where(np.arange(16) % 2, np.arange(16), 0).astype("u4"), 1, 1),
    "share": (PARTS, np.zeros_like(PARTS), PARTS.reshape(-1)[::-1].reshape(4, 16), 4, 1),
    "count": (PARTS[0], np.zeros(4, "u4"), np.array([6 * PARTS[0][PARTS[0] % 4 == k].sum() for k in range(4)], "u4"), 3, 2),
    "halves": (HALVES, np.zeros(32, "f2"), ((HALVES * HALVES).astype("f2") + HALVES).astype("f2"), 1, 1),
    "sum": (PARTS, np.zeros(16, "u4"), PARTS.sum(0, dtype="u4"), 1, 1),
    **{f"digits of {n}": (replaced(X, 0, n), np.zeros_like(X), replaced(replaced(X, 0, n), 2, DIGITS[n % 5](n) & 0xFFFFFFFF), 1, 1) for n in range(15, 20)},
    "wide": (QUADS, np.zeros(8, "u8"), QUADS * np.uint64(5) - (QUADS >> np.uint64(3)), 1, 1),
    "bits": (X, np.zeros_like(X), np.array([int(n).bit_count() + int(f"{n:032b}"[::-1], 2) & 0xFFFFFFFF for n in X.tolist()], "u4"), 1, 1),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("platform", "options"), rotated(["tgllp", "dg2", "pvc"], ["", "-cl-opt-disable"]))
def test_kernels_of_the_vector_compiler(platform, options, engine):
    """With shared stack calls, recursion, pointers to functions, local memory, barriers, atomics and jump tables."""
    program = vsim.load(SOURCE, platform=platform, options=options)
    for name, (given, before, wanted, threads, groups) in CASES.items():
        out = before.copy()
        program.launch(name.split()[0], threads * groups, threads, [given.copy(), out], engine=engine)
        np.testing.assert_array_equal(out, wanted, name)
