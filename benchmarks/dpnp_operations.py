"""42 operations of dpnp in a process, compared with numpy's results: a session of a program that compiles as it goes.

    visakit exec --platform bmg python benchmarks/dpnp_operations.py
    SYCL_CACHE_PERSISTENT=1 ONEAPI_DEVICE_SELECTOR=opencl:cpu python benchmarks/dpnp_operations.py

It prints the seconds of each operation that took more than one, and those of all: on the clock, and of the process.
VISAKIT_CACHE names an empty folder for a first session, and the same one for the next.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

START = time.perf_counter()
import dpnp  # noqa: E402
import numpy as np  # noqa: E402

LATE = 1.0
"""Seconds on the clock from which on an operation has a line."""
_RANDOM = np.random.default_rng(7)
VECTOR = _RANDOM.standard_normal(1000)
SHORT = VECTOR[:100].astype("f4")
NUMBERS = _RANDOM.integers(0, 50, 1000)
MATRIX = _RANDOM.standard_normal((24, 24)).astype("f4")
LARGE = MATRIX.astype("f8") + 24 * np.eye(24)

Operation = Callable[[Any, Callable[[np.ndarray], Any]], Any]
"""Takes the module, numpy or dpnp, and what makes an array of its kind."""
OPERATIONS: dict[str, Operation] = {
    "add": lambda m, a: a(VECTOR) + a(VECTOR),
    "multiply and subtract": lambda m, a: a(SHORT) * a(SHORT) - 3,
    "divide integers": lambda m, a: a(NUMBERS) // (a(NUMBERS) + 1),
    "remainder": lambda m, a: a(NUMBERS) % 7,
    "power": lambda m, a: m.abs(a(SHORT)) ** 1.5,
    "exp": lambda m, a: m.exp(a(VECTOR)),
    "log": lambda m, a: m.log(m.abs(a(VECTOR)) + 1),
    "sin of halves": lambda m, a: m.sin(a(SHORT.astype("f2"))),
    "arctan2": lambda m, a: m.arctan2(a(VECTOR), a(VECTOR[::-1].copy())),
    "compare": lambda m, a: a(VECTOR) < 0.25,
    "logical_and": lambda m, a: m.logical_and(a(VECTOR) > -1, a(VECTOR) < 1),
    "where": lambda m, a: m.where(a(VECTOR) > 0, a(VECTOR), 0.0),
    "sum": lambda m, a: a(VECTOR).sum(),
    "sum of an axis": lambda m, a: a(MATRIX).sum(axis=0),
    "prod": lambda m, a: (a(SHORT) / 2).prod(),
    "max": lambda m, a: a(VECTOR).max(),
    "min of an axis": lambda m, a: a(MATRIX).min(axis=1),
    "argmax": lambda m, a: a(VECTOR).argmax(),
    "all and any": lambda m, a: m.stack([(a(VECTOR) < 9).all(), (a(VECTOR) > 9).any()]),
    "mean": lambda m, a: a(VECTOR).mean(),
    "std": lambda m, a: a(VECTOR).std(),
    "median": lambda m, a: m.median(a(VECTOR)),
    "cumsum": lambda m, a: m.cumsum(a(VECTOR)),
    "sort": lambda m, a: m.sort(a(VECTOR)),
    "argsort": lambda m, a: m.argsort(a(SHORT)),
    "unique": lambda m, a: m.unique(a(NUMBERS)),
    "searchsorted": lambda m, a: m.searchsorted(a(np.sort(VECTOR)), a(SHORT.astype("f8"))),
    "mask": lambda m, a: a(VECTOR)[a(VECTOR) > 0],
    "take": lambda m, a: m.take(a(VECTOR), a(NUMBERS)),
    "nonzero": lambda m, a: m.nonzero(a(NUMBERS) > 25)[0],
    "transpose and copy": lambda m, a: m.ascontiguousarray(a(MATRIX).T),
    "concatenate": lambda m, a: m.concatenate([a(MATRIX), a(MATRIX)], axis=1),
    "matmul": lambda m, a: a(MATRIX) @ a(MATRIX),
    "dot": lambda m, a: m.dot(a(VECTOR), a(VECTOR)),
    "einsum": lambda m, a: m.einsum("ij,kj->ik", a(LARGE), a(LARGE)),
    "solve": lambda m, a: m.linalg.solve(a(LARGE), a(VECTOR[:24])),
    "inv": lambda m, a: m.linalg.inv(a(LARGE)),
    "det": lambda m, a: m.linalg.det(a(LARGE)),
    "fft": lambda m, a: m.fft.fft(a(VECTOR[:256])),
    "histogram": lambda m, a: m.histogram(a(VECTOR), bins=10, range=(-4.0, 4.0))[0],
    "bincount": lambda m, a: m.bincount(a(NUMBERS)),
    "complex product": lambda m, a: a(SHORT + 1j * SHORT) * a(1j * SHORT - 1),
}


def differs(operation: Operation) -> bool:
    """Whether dpnp's result is another one than numpy's."""
    ours, theirs = dpnp.asnumpy(operation(dpnp, dpnp.asarray)), np.asarray(operation(np, np.asarray))
    tolerance = 4e-3 if theirs.dtype == np.float16 else 2e-4
    return ours.shape != theirs.shape or not np.allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def main() -> None:
    """Execute all, print the times, and end with 1 if a result differs."""
    wrong = []
    for name, operation in OPERATIONS.items():
        begin = time.perf_counter()
        if differs(operation):
            wrong.append(name)
        if (spent := time.perf_counter() - begin) >= LATE:
            print(f"{spent:6.2f} s  {name}", flush=True)
    print(f"{len(OPERATIONS) - len(wrong)} of {len(OPERATIONS)} equal on {dpnp.asarray(0).sycl_device.name}")
    print(f"{time.perf_counter() - START:.1f} s on the clock, {time.process_time():.1f} s of the process")
    if wrong:
        sys.exit("differ: " + ", ".join(wrong))


if __name__ == "__main__":
    main()
