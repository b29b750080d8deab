"""Ten kernels of ordinary kinds, beside the six of the corpus: launches, and what their results must be.

Sources and texts are in ``ordinary/``; ``compile_texts.py`` makes the texts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from kernels import Work

FOLDER = Path(__file__).parent / "ordinary"
DEVICES = ("tgllp", "bmg")


def _options(scale: int) -> Work:
    n, random = (1 << 20) // scale, np.random.default_rng(3)
    spot, strike, years = (random.uniform(low, high, n).astype("f4") for low, high in ((5, 30), (1, 100), (0.25, 10)))
    call, put = np.zeros(n, "f4"), np.zeros(n, "f4")
    return Work((n,), (256,), [spot, strike, years, call, put, np.float32(0.02), np.float32(0.3)], 3)


def _stencil(scale: int) -> Work:
    n = max(32, int(2048 / scale**0.5) // 16 * 16)
    grid = np.random.default_rng(4).random((n, n), dtype="f4")
    return Work((n, n), (16, 16), [grid, np.zeros_like(grid), np.int32(n), np.int32(n), np.float32(0.2)], 1)


def _histogram(scale: int) -> Work:
    n = (1 << 22) // scale
    values = np.random.default_rng(5).integers(0, 256, n, "u1")
    return Work((max(256, 16384 // scale),), (256,), [values, np.zeros(256, "u4"), np.uint32(n)], 1)


def _spmv(scale: int) -> Work:
    rows, random = (1 << 16) // scale, np.random.default_rng(6)
    lengths = random.integers(1, 64, rows)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype("i4")
    columns = random.integers(0, rows, starts[-1], "i4")
    values, x = random.random(starts[-1], dtype="f4"), random.random(rows, dtype="f4")
    return Work((rows,), (128,), [starts, columns, values, x, np.zeros(rows, "f4"), np.int32(rows)], 4)


def _softmax(scale: int) -> Work:
    rows, columns = max(1, 1024 // scale), 1024
    values = np.random.default_rng(7).normal(size=(rows, columns)).astype("f4")
    return Work((rows * 256,), (256,), [values, np.zeros_like(values), np.int32(columns)], 1)


def _bitonic(scale: int) -> Work:
    n = (1 << 22) // scale
    keys = np.random.default_rng(8).integers(0, 1 << 32, n, "u4")
    return Work((n,), (256,), [keys, np.uint32(1024), np.uint32(1 << 14)], 0)


def _hash64(scale: int) -> Work:
    n = (1 << 20) // scale
    return Work((n,), (256,), [np.arange(n, dtype="u8"), np.zeros(n, "u8"), np.int32(4)], 1)


def _bytes(scale: int) -> Work:
    n = max(32, round(256 / scale ** (1 / 3)) // 16 * 16)
    a, b = (np.random.default_rng(s).integers(-128, 128, (n, n), "i1") for s in (9, 10))
    return Work((n, n), (16, 16), [a, b, np.zeros((n, n), "i4"), np.int32(n)], 2)


def _collatz(scale: int) -> Work:
    n = (1 << 19) // scale
    return Work((n,), (128,), [np.zeros(n, "u4")], 0)


def _lbm(scale: int) -> Work:
    n = max(64, 1 << int(np.log2(512 / scale**0.5)))
    streams = np.random.default_rng(11).uniform(0.05, 0.2, (9, n, n)).astype("f4")
    return Work((n, n), (64, 1), [streams, np.zeros_like(streams), np.int32(n), np.int32(n), np.float32(0.6)], 1)


KERNELS = {
    "options": _options, "stencil": _stencil, "histogram": _histogram, "spmv": _spmv, "softmax": _softmax,
    "bitonic": _bitonic, "hash64": _hash64, "bytes": _bytes, "collatz": _collatz, "lbm": _lbm,
}  # fmt: skip
TOLERANCE = {
    "options": 1e-4, "stencil": 1e-6, "histogram": 0.0, "spmv": 1e-5, "softmax": 1e-5, "bitonic": 0.0, "hash64": 0.0,
    "bytes": 0.0, "collatz": 0.0, "lbm": 1e-5,
}  # fmt: skip


def source(name: str) -> str:
    """OpenCL C of a kernel."""
    return (FOLDER / name / "kernel.cl").read_text()
