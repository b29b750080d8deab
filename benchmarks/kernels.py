"""What a benchmark is, and the six of the corpus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CORPUS = Path(__file__).parent.parent.parent / "shared" / "corpus" / "bench"
DEVICES = ("tgllp", "pvc", "bmg")
"""Those that the corpus has texts for; the suite has the first and the last."""


@dataclass(frozen=True)
class Picture:
    """An image of four floats a pixel."""

    array: np.ndarray[Any, np.dtype[np.float32]]


@dataclass
class Work:
    """One launch: sizes in work-items, arguments in order (arrays are buffers), and which of them holds the result."""

    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    args: list[Any]
    result: int


@dataclass(frozen=True)
class Benchmark:
    """A kernel to time: its launch by scale (that much less work), and a folder with its source and a folder of texts for each device.

    ``tolerance`` of results of floats, relative and absolute; ``may_differ`` is the part of elements that may be beyond it.
    """

    name: str
    work: Callable[[int], Work]
    folder: Path
    tolerance: float = 0.0
    may_differ: float = 0.0
    options: tuple[str, ...] = ()

    def source(self) -> str:
        """OpenCL C."""
        return (self.folder / "kernel.cl").read_text()

    def agree(self, one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
        """Whether two results are the same within the tolerance."""
        near = self.tolerance * max(1.0, float(np.abs(other).max())) if self.tolerance else 0.0
        right = np.isclose(one, other, rtol=self.tolerance, atol=near)
        return bool((~right).mean() <= self.may_differ)


def benchmarks(
    works: Mapping[str, Callable[[int], Work]],
    folder: Path,
    tolerances: Mapping[str, float],
    may_differ: Mapping[str, float],
    options: Mapping[str, tuple[str, ...]],
) -> dict[str, Benchmark]:
    """Benchmarks of a folder by name."""
    return {
        n: Benchmark(n, w, folder / n, tolerances.get(n, 0.0), may_differ.get(n, 0.0), options.get(n, ()))
        for n, w in works.items()
    }


def side(largest: int, scale: int) -> int:
    """The side of a square whose area falls with the scale: a multiple of 32, 64 at least."""
    return max(64, int(largest / scale**0.5) // 32 * 32)


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


WORKS = {"saxpy": _saxpy, "matmul": _matmul, "mandel": _mandel, "reduce": _reduce, "nbody": _nbody, "sha": _sha}
# mandel is chaotic: one rounding moves a pixel on the edge of the set.
KERNELS = benchmarks(
    WORKS, CORPUS, {"saxpy": 1e-6, "matmul": 1e-4, "nbody": 2e-3}, {"mandel": 0.01}, {"matmul": ("-DTS=16",)}
)
