"""The vector kernels of the benchmarks on both engines, for a few threads, against models in numpy."""

import numpy as np
import pytest
from support.programs import ROOT, build_text
from support.strategies import ENGINES

from vsim.program import Program

R = np.random.default_rng(62)


def dwords(*shape):
    return R.integers(0, 1 << 32, shape, "u4")


def floats(*shape):
    return R.random(shape, dtype="f4")


def rolled(x, n):
    return x << np.uint32(n) | x >> np.uint32(32 - n)


def stencil(x):
    x = x.astype("f8")
    around = x[:-2, 16:48] + x[2:, 16:48] + x[1:-1, 15:47] + x[1:-1, 17:49]
    return x[1:-1, 16:48] + 0.2 * (around - 4 * x[1:-1, 16:48])


def blurred(x):
    sums = sum(x[j : j + 4, 15 + i : 47 + i].astype("u2") for j in range(3) for i in range(3))
    return (sums * 28 >> 8).astype("u1")


def mixed_bits(x):
    for _ in range(4):
        bits = np.unpackbits(x.view("u1").reshape(-1, 4), axis=1, bitorder="little")
        reverse = np.packbits(bits[:, ::-1], axis=1, bitorder="little").view("u4")[:, 0]
        count = bits.sum(1).astype("u4")
        leading = np.array([32 - int(n).bit_length() for n in x], "u4")
        a = (reverse + count * np.uint32(0x9E3779B1)) ^ leading
        x = a ^ rolled(a, 13)
    return x


def hashed(words):
    h = np.full(16, 42, "u4")
    for w in words.reshape(16, 16).T:
        h ^= rolled(w * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        h = rolled(h, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    h = (h ^ h >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    h = (h ^ h >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return h ^ h >> np.uint32(16)


def polynomial(x):
    s = (x * np.float16(0.1) + np.float16(0.5)).astype("f2")
    for c in (1.0, -0.30004882812, 0.75):
        s = s * x + np.float16(c)
    return s


def as_rows(b):
    """Four bytes of a column in each dword as so many rows."""
    return b.transpose(0, 2, 1).reshape(-1, b.shape[1]).astype("i4")


CASES = {
    # kernel: arrays, the shape and type of the result, threads, which part of the result they give, and its model
    "matmul": ([floats(256, 256), floats(256, 256)], ("f4", 256, 256), 8, np.s_[:8], lambda a, b: a[:8] @ b),
    "dpas": ([R.integers(-128, 128, (256, 256), "i1"), R.integers(-128, 128, (64, 256, 4), "i1")], ("i4", 256, 256), 16, np.s_[:8],
             lambda a, b: a[:8].astype("i4") @ as_rows(b)),
    "stencil": ([floats(6, 1088)], ("f4", 4, 1024), 1, np.s_[:, :32], stencil),
    "transpose": ([dwords(1024, 1024)], ("u4", 1024, 1024), 2, np.s_[:32, :16], lambda x: x[:16, :32].T),
    "scan": ([dwords(512)], ("u4", 512), 2, np.s_[:], lambda x: x.reshape(2, 256).cumsum(1, dtype="u4").ravel()),
    "sort": ([dwords(128)], ("u4", 128), 2, np.s_[:], lambda x: np.sort(x.reshape(2, 64)).ravel()),
    "reduce": ([floats(8192)], ("f4", 32), 2, np.s_[::16], lambda x: x.reshape(2, 4096).sum(1)),
    "histogram": ([R.integers(0, 256, 2048, "u1")], ("u4", 16), 2, np.s_[:], lambda x: np.bincount(x >> 4, minlength=16)),
    "lookup": ([R.integers(0, 4096, 128, "u4"), floats(4096)], ("f4", 128), 2, np.s_[:], lambda x, table: table[x]),
    "bits": ([dwords(64)], ("u4", 64), 1, np.s_[:], mixed_bits),
    "hash": ([dwords(256)], ("u4", 16), 1, np.s_[:], hashed),
    "half": ([floats(64).astype("f2")], ("f2", 64), 1, np.s_[:], polynomial),
    "blur": ([R.integers(0, 256, (6, 1088), "u1")], ("u1", 4, 1024), 1, np.s_[:, :32], blurred),
}  # fmt: skip


def test_every_text_has_a_model():
    assert {path.stem for path in (ROOT / "benchmarks" / "vector").glob("*.visaasm")} == set(CASES)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_vector_kernels_of_the_benchmarks(name, engine):
    given, (dtype, *shape), threads, part, model = CASES[name]
    result = np.zeros(shape, dtype)
    text = (ROOT / "benchmarks" / "vector" / f"{name}.visaasm").read_text()
    Program(build_text(text, "pvc")).launch(name, threads, 1, [*(x.copy() for x in given), result], engine=engine)
    tolerance = 1e-5 if dtype == "f4" else 0
    np.testing.assert_allclose(result[part], model(*given), rtol=tolerance)
