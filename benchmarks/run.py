"""``make bench``: kernel times against PoCL, Intel's CPU runtime and Oclgrind on the same work in one run; writes docs/measurements/performance.md and docs/measurements/performance.svg.

Peers that are not installed are left out; ``NEWER_POCL`` has the words that run a command in this folder on a system
with another PoCL (``chroot NEWER env -C $PWD/benchmarks``). Every result is compared with the peers' before its time counts.

    python benchmarks/run.py [--cpu CPU] [KERNEL...]

With names, only the suite is measured, of those kernels, and nothing is written. ``--cpu`` limits vsim, PoCL, Intel's
runtime and the C loop to an older CPU; pages of such have its name.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import kernels
import numpy as np
import page
import sides
import target
from sections import with_kept
from sides import Side
from suite import BENCHMARKS, DEVICES
from vsim_programs import program_of

HERE = Path(__file__).parent
MEASUREMENTS = HERE.parent / "docs" / "measurements"
REPEATS = 15
PASSES = 3
"""How often the suite is launched in new processes, a part of the repeats each. How fast a process runs long code depends
on the pages of memory that it was given (docs/decisions/0042-pages-of-code.md), so that one process says too little."""
OCLGRIND_SCALES = {"saxpy": 64, "matmul": 512, "mandel": 64, "reduce": 64, "nbody": 256, "sha": 2048}
"""Oclgrind runs this much less work; its time is multiplied by the same number."""


def check(name: str, running: dict[str, Side]) -> set[str]:
    """Launch a kernel on all sides and compare the results; the sides that cannot run it.

    Raises:
        AssertionError: the results differ.
    """
    results, missing = {}, set()
    for side, process in running.items():
        try:
            results[side] = process.result(name)
        except sides.Refused as problem:
            print(f"{name}: {side}: {problem}", file=sys.stderr)
            missing.add(side)
    first, *others = results
    for other in others:
        assert BENCHMARKS[name].agree(results[other], results[first]), f"{name}: {other} differs from {first}"
    return missing


def suite(names: list[str], threads: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Times of the kernels on all sides, which launch in turn, in several passes; and the peers' versions.

    Returns:
        For each kernel ``times`` (side to the median in ms) and ``ratios`` (device and peer to the median of the
        ratios of neighbouring launches).
    """
    found: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    versions: dict[str, str] = {}
    for _ in range(PASSES):
        versions = one_pass(found, threads)
    rows: dict[str, Any] = {}
    for name in names:
        times = {side: np.array(t) for side, t in found[name].items()}
        rows[name] = {
            "times": {side: statistics.median(t) for side, t in times.items()},
            "ratios": {
                f"{device}/{peer}": statistics.median(times[device] / times[peer])
                for device in DEVICES
                for peer in times
                if peer not in DEVICES
            },
        }
        print(threads, name, json.dumps(rows[name]), flush=True)
    return rows, versions


def one_pass(found: dict[str, dict[str, list[float]]], threads: int) -> dict[str, str]:
    """Launch each kernel on all sides in turn, in new processes, and append the times in ms to earlier ones, by
    kernel and side; the peers' versions.
    """
    with ExitStack() as stack:
        running = {device: stack.enter_context(sides.vsim(device, threads)) for device in DEVICES}
        peers = {"PoCL": sides.pocl(threads), "newer PoCL": sides.newer_pocl(threads), "Intel": sides.intel(threads)}
        running |= {name: stack.enter_context(side) for name, side in peers.items() if side}
        for name, times in found.items():
            missing = check(name, running)
            here = [side for side in running if side not in missing]
            for _ in range(REPEATS // PASSES):
                for side in here:
                    times.setdefault(side, []).append(running[side].milliseconds(name))
            print(threads, name, {side: round(times[side][-1], 3) for side in here}, file=sys.stderr, flush=True)
        return {name: running[name].version for name in peers if name in running}


FUNCTIONS = frozenset(("sin", "cos", "exp", "log", "pow", "rsqrt"))
"""Instructions whose results may be less exact than rounded once."""
NOT_NATIVE = tuple(f"-Dnative_{name}={name}" for name in ("sin", "cos", "exp", "exp2", "log", "log2", "powr", "rsqrt"))
"""Options with which a peer takes the exact functions where a source names those of the hardware."""


def precisions(names: list[str]) -> dict[str, Any]:
    """Kernels with transcendental functions of floats in both precisions, beside Intel's runtime with the functions
    that sources name and with exact ones: by name and side the medians in ms, and of the ratios to both; one thread.
    """
    rows: dict[str, Any] = {}
    with ExitStack() as stack:
        peer, exact = sides.intel(), sides.intel(options=NOT_NATIVE)
        if peer is None or exact is None:
            return rows
        running = {"Intel": stack.enter_context(peer), "Intel, exact": stack.enter_context(exact)}
        for device in DEVICES:
            for precision in ("exact", "manual"):
                running[f"{device}, {precision}"] = stack.enter_context(sides.vsim(device, precision=precision))
        for name in names:
            folder = BENCHMARKS[name].folder / DEVICES[0]
            if not FUNCTIONS & {i.desc.semantics for i in program_of(folder).image.module.kernels[0].instructions}:
                continue
            times = {side: np.zeros(REPEATS) for side in running}
            for process in running.values():
                process.milliseconds(name)
            for n in range(REPEATS):
                for side, process in running.items():
                    times[side][n] = process.milliseconds(name)
            rows[name] = {
                side: [statistics.median(t), *(statistics.median(t / times[p]) for p in ("Intel", "Intel, exact"))]
                for side, t in times.items()
            }
            print("precisions", name, json.dumps(rows[name]), flush=True)
    return rows


def six() -> dict[str, Any]:
    """The corpus' kernels once more: on the reference engine and Oclgrind, with less work for the latter; and their compile times."""
    rows: dict[str, Any] = {}
    with ExitStack() as stack:
        reference, ours = (stack.enter_context(sides.vsim("tgllp", 1, engine)) for engine in ("numpy", "llvm"))
        both = stack.enter_context(sides.vsim("tgllp", 2))
        for name in kernels.KERNELS:
            rows[name] = {"numpy": reference.milliseconds(name), "compile": {}}
            for threads, side in ((1, ours), (2, both)):
                side.milliseconds(name)
                rows[name][threads] = statistics.median(side.milliseconds(name) for _ in range(REPEATS))
            for device in kernels.DEVICES:
                rows[name]["compile"][device] = _child("compile_cost.py", name, device)
            if shutil.which("oclgrind"):
                scale = OCLGRIND_SCALES[name]
                with sides.oclgrind() as grind:
                    assert BENCHMARKS[name].agree(ours.result(name, scale), grind.result(name, scale)), name
                    rows[name]["oclgrind"] = grind.milliseconds(name, scale) * scale
    return rows


def _child(script: str, *arguments: object) -> Any:
    """What a script of this folder prints, from JSON."""
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, cwd=HERE, check=True).stdout)


C_LOOP = """
void saxpy(float *restrict y, const float *restrict x, float a, long n) { for (long i = 0; i < n; i++) y[i] = __builtin_fmaf(a, x[i], y[i]); }
"""
C_SIZES = (1 << 22, 1 << 26)


def c_loop(cpu: str) -> dict[int, dict[str, float]]:
    """Milliseconds of a C loop for a CPU ("C") and of the fast engine for each device, one thread each, for saxpy on the same buffers; by number of elements."""
    if not shutil.which("gcc"):
        return {}
    import ctypes

    from vsim_programs import load

    found: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "c.c", Path(folder) / "c.so"
        source.write_text(C_LOOP)
        subprocess.run(["gcc", "-O3", f"-march={cpu}", "-shared", "-fPIC", "-o", library, source], check=True)
        loop = ctypes.CDLL(str(library)).saxpy
        loop.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float, ctypes.c_long]
        programs = {device: load("saxpy", device) for device in kernels.DEVICES}
        for size in C_SIZES:
            x, y = np.linspace(0, 1, size, dtype="f4"), np.linspace(1, 2, size, dtype="f4")
            callables: dict[str, Callable[[], object]] = {"C": partial(loop, y.ctypes.data, x.ctypes.data, 0.5, size)}
            callables |= {
                d: partial(program.launch, "saxpy", size, 256, [y, x, np.float32(0.5)], threads=1)
                for d, program in programs.items()
            }
            times: dict[str, list[float]] = {side: [] for side in callables}
            for _ in range(15):
                for side, run in callables.items():
                    start = time.perf_counter()
                    run()
                    times[side].append((time.perf_counter() - start) * 1e3)
            found[size] = {side: statistics.median(t) for side, t in times.items()}
    return found


def unoptimised() -> list[str]:
    """The section on kernels that compilers did not optimise; nothing without PoCL."""
    if not sides.POCL.exists():
        return []
    from unoptimised import all_rows, section

    return section(all_rows([]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", choices=[*BENCHMARKS, []], default=[])
    target.add_option(parser)
    given = parser.parse_args()
    target.choose(given.cpu)
    rows, versions = {}, {}
    for threads in (1, 2):
        rows[threads], versions = suite(given.kernels or list(BENCHMARKS), threads)
    if given.kernels:
        print("\n".join(page.suite_tables(rows, versions)))
        return
    import tools

    stem = "performance" if given.cpu == "native" else f"performance-{given.cpu}"
    parts = [*unoptimised(), *tools.report()]
    by_precision = precisions(list(BENCHMARKS))
    found = page.Measurements(
        rows, versions, by_precision, six(), c_loop(given.cpu), parts, given.cpu, REPEATS, OCLGRIND_SCALES
    )
    path = MEASUREMENTS / f"{stem}.md"
    path.write_text(with_kept(page.text(found, stem), path.read_text() if path.exists() else ""))
    (MEASUREMENTS / f"{stem}.svg").write_text(page.chart(rows[1]))
    print(path.read_text())


if __name__ == "__main__":
    main()
