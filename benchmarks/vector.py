"""Vector kernels (CM, ESIMD) beside the same work in OpenCL C, both on the fast engine; a section of
docs/measurements/performance.md.

    python benchmarks/vector.py [KERNEL...]

Both sides launch in turns on one thread. What counts is the median of the ratios of neighbouring launches, in CPU time,
as machines are shared. Results are
compared first. With names, nothing is written.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import target
from sections import PAGE, VECTOR, with_section

import vsim
from vasm.assembler import assemble_text
from visakit.compiler.devices import compiler_driver
from visakit.objects.image import read_image
from vlink.linker import Linker, LinkOptions
from vsim.engines.llvm.target import NATIVE

FOLDER = Path(__file__).parent / "vector"
PLATFORM = "pvc"
REPEATS = 21
R = np.random.default_rng(44)
Array = np.ndarray[Any, Any]
Size = tuple[int, ...]


def _dwords(*shape: int) -> Array:
    return R.integers(0, 1 << 32, shape, "u4")


def _floats(*shape: int) -> Array:
    return R.random(shape, dtype="f4")


def _pixels() -> Array:
    return R.integers(0, 256, (1026, 1088), "u1")


def _zeros(like: str, *shape: int) -> Array:
    return np.zeros(shape, like)


WORKS: dict[str, tuple[Callable[[], list[Array]], int, Size, Size | None]] = {
    "matmul": (lambda: [_floats(256, 256), _floats(256, 256), _zeros("f4", 256, 256)], 256, (256, 32), (16, 4)),
    "dpas": (lambda: [_bytes(256, 256), _bytes(64, 256, 4), _zeros("i4", 256, 256)], 512, (256, 32), (16, 4)),
    "stencil": (lambda: [_floats(1026, 1088), _zeros("f4", 1024, 1024)], 8192, (1024, 1024), (64, 4)),
    "transpose": (lambda: [_dwords(1024, 1024), _zeros("u4", 1024, 1024)], 4096, (1024, 1024), (16, 16)),
    "scan": (lambda: [_dwords(1 << 20), _zeros("u4", 1 << 20)], 4096, (1 << 20,), (256,)),
    "sort": (lambda: [_dwords(1 << 18), _zeros("u4", 1 << 18)], 4096, (1 << 18,), (64,)),
    "reduce": (lambda: [_floats(1 << 22), _zeros("f4", 16 << 10)], 1024, (1 << 16,), (64,)),
    "histogram": (lambda: [R.integers(0, 256, 1 << 20, "u1"), _zeros("u4", 16)], 1024, (1 << 16,), (64,)),
    "lookup": (lambda: [_numbers(1 << 20), _floats(4096), _zeros("f4", 1 << 20)], 16384, (1 << 20,), (64,)),
    "bits": (lambda: [_dwords(1 << 20), _zeros("u4", 1 << 20)], 16384, (1 << 20,), (64,)),
    "hash": (lambda: [_dwords(1 << 22), _zeros("u4", 1 << 18)], 16384, (1 << 18,), (64,)),
    "half": (lambda: [_floats(1 << 20).astype("f2"), _zeros("f2", 1 << 20)], 16384, (1 << 20,), (64,)),
    "blur": (lambda: [_pixels(), _zeros("u1", 1024, 1024)], 8192, (1024, 1024), (64, 4)),
}
"""By kernel: its arrays, of which the last one has the result, the threads of the vector kernel, each of which is a
group, and the global and local size of the other."""


def _bytes(*shape: int) -> Array:
    return R.integers(-128, 128, shape, "i1")


def _numbers(count: int) -> Array:
    return R.integers(0, 4096, count, "u4")


def sides_of(name: str) -> dict[str, Callable[[], Array]]:
    """A function for each side that launches once; it gives the result."""
    arrays, threads, size, local = WORKS[name]
    given = arrays()
    linker = Linker(LinkOptions(platform=PLATFORM))
    text = (FOLDER / f"{name}.visaasm").read_text()
    linker.add_bytes(assemble_text(text, f"{name}.visaasm", PLATFORM).object_bytes(), f"{name}.o")
    vector, scalar = vsim.load(read_image(linker.run().image.to_bytes())), opencl()
    kernel = "half_polynomial" if name == "half" else name

    def launch(program: vsim.Program, entry: str, shape: Size, group: Size | None) -> Array:
        result = np.zeros_like(given[-1])
        program.launch(entry, shape, group, [*given[:-1], result], engine="llvm", threads=1)
        return result

    return {
        "vector": lambda: launch(vector, vector.kernels[0], (threads,), (1,)),
        "OpenCL C": lambda: launch(scalar, kernel, size, local),
    }


@cache
def opencl() -> vsim.Program:
    """The kernels in OpenCL C."""
    return vsim.load(FOLDER / "kernels.cl", platform=PLATFORM)


def measured(name: str) -> tuple[float, dict[str, float]]:
    """The median of the ratios of a kernel's times, and of each side's time in ms.

    Raises:
        AssertionError: the results differ.
    """
    running = sides_of(name)
    one, other = (run() for run in running.values())
    np.testing.assert_allclose(one, other, rtol=2e-3, err_msg=name)
    times: dict[str, list[float]] = {side: [] for side in running}
    for _ in range(REPEATS):
        for side, run in running.items():
            start = time.process_time()
            run()
            times[side].append((time.process_time() - start) * 1e3)
    ratio = statistics.median(x / y for x, y in zip(*times.values(), strict=True))
    return ratio, {side: statistics.median(found) for side, found in times.items()}


def main() -> None:
    """Measure, print, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", choices=[*WORKS, []], default=[])
    target.add_option(parser)
    given = parser.parse_args()
    target.choose(given.cpu)
    if compiler_driver() is None:
        print("no vector kernels: ocloc is not installed")
        return
    rows = {}
    for name in given.kernels or WORKS:
        rows[name] = measured(name)
        ratio, times = rows[name]
        print(f"{name:10} {ratio:.2f}  ({', '.join(f'{side} {ms:.2f} ms' for side, ms in times.items())})", flush=True)
    if not given.kernels:
        page = PAGE if given.cpu == NATIVE else PAGE.with_stem(f"{PAGE.stem}-{given.cpu}")
        lines = section({name: ratio for name, (ratio, _) in rows.items()})
        page.write_text(with_section(page.read_text(), VECTOR, lines))


def section(ratios: dict[str, float]) -> list[str]:
    """The lines of the section."""
    return [
        f"Kernels of one thread a group for {PLATFORM}, written as the vector compiler writes (`benchmarks/vector`), beside",
        "the same work in OpenCL C: time over time on the fast engine, one thread.",
        "",
        "| kernel | vector / OpenCL C |",
        "|---|---|",
        *(f"| {name} | {ratio:.2f} |" for name, ratio in ratios.items()),
    ]


if __name__ == "__main__":
    main()
