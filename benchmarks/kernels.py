"""The six benchmark kernels: sources, launches, and what their results must be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CORPUS = Path(__file__).parent.parent.parent / "shared" / "corpus" / "bench"
DEVICES = ("tgllp", "pvc", "bmg")


@dataclass
class Work:
    """One launch: sizes in work-items, arguments in order (arrays are buffers), and which of them holds the result."""

    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    args: list[Any]
    result: int
    local_bytes: int = 0


def _saxpy(scale: int) -> Work:
    n = (1 << 22) // scale
    x, y = np.linspace(0, 1, n, dtype="f4"), np.linspace(1, 2, n, dtype="f4")
    return Work((n,), (256,), [y, x, np.float32(0.5)], 0)


def _matmul(scale: int) -> Work:
    n = max(16, round(512 / scale ** (1 / 3)) // 16 * 16)
    random = np.random.default_rng(1)
    a, b = (random.random((n, n), dtype="f4") for _ in range(2))
    return Work((n, n), (16, 16), [a, b, np.zeros((n, n), "f4"), np.int32(n)], 2)


def _mandel(scale: int) -> Work:
    n = max(16, int(1024 / scale**0.5) // 16 * 16)
    return Work((n, n), (16, 16), [np.zeros((n, n), "i4"), np.int32(n), np.int32(n), np.int32(256)], 0)


def _reduce(scale: int) -> Work:
    n = (1 << 20) // scale
    return Work((n,), (256,), [np.arange(n, dtype="i4"), np.zeros(n // 256, "i4")], 1)


def _nbody(scale: int) -> Work:
    n = max(64, int(4096 / scale**0.5) // 64 * 64)
    p = np.random.default_rng(2).random((n, 4), dtype="f4")
    return Work((n,), (64,), [p, np.zeros((n, 4), "f4"), np.int32(n)], 1)


def _sha(scale: int) -> Work:
    n = max(256, (1 << 20) // scale)
    return Work((n,), (256,), [np.zeros(n, "u4"), np.uint32(12345)], 0)


KERNELS = {"saxpy": _saxpy, "matmul": _matmul, "mandel": _mandel, "reduce": _reduce, "nbody": _nbody, "sha": _sha}
TOLERANCE = {"saxpy": 1e-6, "matmul": 1e-4, "mandel": 0.0, "reduce": 0.0, "nbody": 2e-3, "sha": 0.0}


def source(name: str) -> str:
    """OpenCL C of a kernel."""
    return (CORPUS / name / "kernel.cl").read_text()
