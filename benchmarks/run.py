"""``make bench``: kernel times against PoCL and Oclgrind on the same work in one run; writes docs/performance.md and docs/performance.svg.

Peers that are not installed are left out. Every result is compared with the peer's before its time counts.
"""

from __future__ import annotations

import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from kernels import DEVICES, KERNELS, TOLERANCE

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
REPEATS = 7
OCLGRIND_SCALES = {"saxpy": 64, "matmul": 512, "mandel": 64, "reduce": 64, "nbody": 256, "sha": 2048}
"""Oclgrind runs this much less work; its time is multiplied by the same number."""


def child(
    script: str, *arguments: object, environment: dict[str, str] | None = None, prefix: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Run a script of this folder; its report."""
    command = [*prefix, sys.executable, str(HERE / script), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=HERE, env=os.environ | (environment or {}))
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{result.stderr[-2000:]}")
    report: dict[str, Any] = json.loads(result.stdout.strip().splitlines()[-1])
    return report


def agree(name: str, ours: Path, theirs: Path) -> bool:
    """Whether two results are the same within the kernel's tolerance (mandel: all but a few points of the rim)."""
    a, b = np.load(ours), np.load(theirs)
    if name == "mandel":
        return bool((a != b).mean() < 0.01)
    if TOLERANCE[name] == 0:
        return bool((a == b).all())
    return bool(np.allclose(a, b, rtol=TOLERANCE[name], atol=TOLERANCE[name]))


def pocl(name: str, threads: int, out: Path) -> dict[str, Any]:
    environment = {
        "OCL_ICD_VENDORS": "pocl.icd",
        "POCL_MAX_PTHREAD_COUNT": str(threads),
        "POCL_CPU_MAX_CU_COUNT": str(threads),
        "PYOPENCL_NO_CACHE": "1",
    }
    return child("opencl_peer.py", name, 1, REPEATS, out, environment=environment)


def measure() -> dict[str, Any]:
    """All measurements, the sides in turn."""
    have_pocl = Path("/etc/OpenCL/vendors/pocl.icd").exists()
    have_oclgrind = shutil.which("oclgrind") is not None
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "ours.npy", Path(folder) / "theirs.npy"
        for name in KERNELS:
            row: dict[str, Any] = rows.setdefault(name, {"vsim": {}, "pocl": {}})
            for threads in (1, 2):
                if have_pocl:
                    report = pocl(name, threads, theirs)
                    row["pocl"][threads] = statistics.median(report["times"])
                    row["pocl version"] = report["version"]
            for device in DEVICES:
                report = child(
                    "vsim_runner.py",
                    name,
                    device,
                    1,
                    REPEATS,
                    "1,2",
                    "llvm",
                    ours,
                    environment={"VISAKIT_CACHE": "off"},
                )
                if have_pocl:
                    assert agree(name, ours, theirs), f"{name} on {device} differs from PoCL"
                row["vsim"][device] = {threads: statistics.median(report["times"][str(threads)]) for threads in (1, 2)}
                row["vsim"][device] |= {what: report[what] for what in ("instructions", "compile", "support")}
            report = child("vsim_runner.py", name, "tgllp", 1, 1, 1, "numpy", ours)
            row["numpy"] = min(report["times"]["1"])
            if have_oclgrind:
                scale = OCLGRIND_SCALES[name]
                report = child("opencl_peer.py", name, scale, 1, theirs, prefix=("oclgrind",))
                child("vsim_runner.py", name, "tgllp", scale, 1, 1, "llvm", ours)
                assert agree(name, ours, theirs), f"{name} differs from Oclgrind"
                row["oclgrind"] = min(report["times"]) * scale
            print(name, json.dumps(row), flush=True)
    return rows


C_LOOP = """
void saxpy(float *restrict y, const float *restrict x, float a, long n) { for (long i = 0; i < n; i++) y[i] = __builtin_fmaf(a, x[i], y[i]); }
"""
C_SIZES = (1 << 22, 1 << 26)


def c_loop() -> dict[int, dict[str, float]]:
    """Milliseconds of a C loop ("C") and of the fast engine for each device, one thread each, for saxpy on the same buffers; by number of elements."""
    if not shutil.which("gcc"):
        return {}
    import ctypes
    import time

    from vsim_runner import load

    found: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "c.c", Path(folder) / "c.so"
        source.write_text(C_LOOP)
        subprocess.run(["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source], check=True)
        loop = ctypes.CDLL(str(library)).saxpy
        loop.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float, ctypes.c_long]
        programs = {device: load("saxpy", device) for device in DEVICES}
        for size in C_SIZES:
            x, y = np.linspace(0, 1, size, dtype="f4"), np.linspace(1, 2, size, dtype="f4")
            sides: dict[str, Callable[[], object]] = {"C": partial(loop, y.ctypes.data, x.ctypes.data, 0.5, size)}
            sides |= {
                d: partial(program.launch, "saxpy", size, 256, [y, x, np.float32(0.5)], threads=1)
                for d, program in programs.items()
            }
            times: dict[str, list[float]] = {side: [] for side in sides}
            for _ in range(15):
                for side, run in sides.items():
                    start = time.perf_counter()
                    run()
                    times[side].append((time.perf_counter() - start) * 1e3)
            found[size] = {side: statistics.median(t) for side, t in times.items()}
    return found


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(math.log(v) for v in values) / len(values))


def cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(r) + " |" for r in rows)]


def unoptimised() -> list[str]:
    """The section on kernels that compilers did not optimise; nothing without PoCL."""
    if not Path("/etc/OpenCL/vendors/pocl.icd").exists():
        return []
    from unoptimised import all_rows, section

    return section(all_rows([]))


def report_text(rows: dict[str, Any], loops: dict[int, dict[str, float]], tools: list[str]) -> str:
    """The page as Markdown."""
    import llvmlite

    version = next((r["pocl version"] for r in rows.values() if "pocl version" in r), "not installed")
    out = ["# Performance", "", "Written by `make bench`. Kernel time alone, compiled and warm, median of seven runs; the sides in turn, one run.", "",
           f"Machine: {cpu()}, {os.cpu_count()} CPUs. Python {platform.python_version()}, numpy {np.__version__}, llvmlite {llvmlite.__version__}.",
           f"PoCL: {version}. Oclgrind runs a fraction of the work, scaled up linearly; results of both sides were compared.", ""]  # fmt: skip
    for threads in (1, 2):
        function, ratios = [], {d: [] for d in DEVICES}
        for name, row in rows.items():
            peer = row["pocl"].get(threads)
            cells = [name, f"{peer:.2f}" if peer else "-"]
            for device in DEVICES:
                ours = row["vsim"][device][threads]
                cells.append(f"{ours:.2f}")
                if peer:
                    ratios[device].append(ours / peer)
                    cells[-1] += f" ({ours / peer:.2f})"
            function.append(cells)
        if ratios["tgllp"]:
            function.append(["**geometric mean**", ""] + [f"**{geometric_mean(ratios[d]):.2f}**" for d in DEVICES])
        out += [
            f"## Fast engine against PoCL, {threads} thread{'s' if threads > 1 else ''}",
            "",
            "Milliseconds, in parentheses the ratio to PoCL.",
            "",
        ]
        out += [*table(["kernel", "PoCL", *DEVICES], function), ""]
    out += [
        "## One thread and two",
        "",
        "One thread's time by that of two, in turn in one process; for comparison PoCL's, in two processes.",
        "",
    ]
    out += [*table(["kernel", "PoCL", *DEVICES], [
        [n, f"{r['pocl'][1] / r['pocl'][2]:.2f}" if r["pocl"] else "-", *(f"{r['vsim'][d][1] / r['vsim'][d][2]:.2f}" for d in DEVICES)]
        for n, r in rows.items()]), ""]  # fmt: skip
    if any("oclgrind" in r for r in rows.values()):
        out += [
            "## Against Oclgrind",
            "",
            "Oclgrind's time at full size (its own threads) in milliseconds, and how many times faster the engines are (tgllp; the numpy engine has one thread).",
            "",
        ]
        out += [*table(["kernel", "Oclgrind", "scaled from", "numpy engine", "times faster", "fast, 1 thread", "times faster", "fast, 2 threads", "times faster"], [
            [n, f"{r['oclgrind']:.0f}", f"1/{OCLGRIND_SCALES[n]}", f"{r['numpy']:.0f}", f"{r['oclgrind'] / r['numpy']:.0f}", f"{r['vsim']['tgllp'][1]:.2f}",
             f"{r['oclgrind'] / r['vsim']['tgllp'][1]:.0f}", f"{r['vsim']['tgllp'][2]:.2f}", f"{r['oclgrind'] / r['vsim']['tgllp'][2]:.0f}"] for n, r in rows.items()]), ""]  # fmt: skip
    out += [
        "## Compile time",
        "",
        "Syntax tree to object code in milliseconds, without the cache, the least of ten; the goal is 30 + 0.3 for each instruction.",
        "",
    ]
    out += [*table(["kernel", *DEVICES], [
        [n, *(f"{r['vsim'][d]['compile']:.0f} ({r['vsim'][d]['instructions']} instructions, goal {30 + 0.3 * r['vsim'][d]['instructions']:.0f})"
              for d in DEVICES)] for n, r in rows.items()]), ""]  # fmt: skip
    support = [r["vsim"][d]["support"] for r in rows.values() for d in DEVICES]
    out += [f"The driver and the functions that handle lanes one by one do not depend on the kernel. They are compiled once for a machine and kept: {min(support):.0f} "
            f"to {max(support):.0f} ms more for the first kernel that needs them.", "", "![chart](performance.svg)", ""]  # fmt: skip
    if loops:
        out += ["## saxpy and a C loop", "", "The same buffers, one thread each, gcc -O3 -march=native; a whole launch against a call.",
                "Milliseconds, in parentheses the ratio to C.", ""]  # fmt: skip
        function = [
            [f"{n:,}", f"{found['C']:.2f}", *(f"{found[d]:.2f} ({found[d] / found['C']:.2f})" for d in DEVICES)]
            for n, found in loops.items()
        ]
        out += [*table(["elements", "C", *DEVICES], function), ""]
    out += tools
    return "\n".join(out)


def chart(rows: dict[str, Any]) -> str:
    """Ratios to PoCL as bars."""
    width, row_height, left = 640, 22, 90
    colours = {"tgllp": "#3b6ea5", "pvc": "#e07b39", "bmg": "#5a9e6f"}
    bars, y = [], 40
    for name, row in rows.items():
        bars.append(f'<text x="10" y="{y + 26}" font-weight="bold">{name}</text>')
        for device in DEVICES:
            ratio = row["vsim"][device][1] / row["pocl"][1] if row["pocl"].get(1) else 0
            length = min(ratio, 2.5) * 180
            bars.append(
                f'<rect x="{left}" y="{y}" width="{length:.0f}" height="{row_height - 8}" fill="{colours[device]}"/>'
            )
            bars.append(f'<text x="{left + length + 6:.0f}" y="{y + 12}">{device} {ratio:.2f}</text>')
            y += row_height - 6
        y += 12
    line = f'<line x1="{left + 180}" y1="30" x2="{left + 180}" y2="{y}" stroke="#999" stroke-dasharray="4"/>'
    title = '<text x="10" y="20">Kernel time relative to PoCL, one thread (the dashed line is PoCL; shorter is faster)</text>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 10}" font-family="sans-serif" font-size="12">{title}{line}{"".join(bars)}</svg>\n'


def main() -> None:
    import tools

    rows = measure()
    DOCS.mkdir(exist_ok=True)
    (DOCS / "performance.md").write_text(report_text(rows, c_loop(), [*unoptimised(), *tools.report()]))
    if all(r["pocl"] for r in rows.values()):
        (DOCS / "performance.svg").write_text(chart(rows))
    print((DOCS / "performance.md").read_text())


if __name__ == "__main__":
    main()
