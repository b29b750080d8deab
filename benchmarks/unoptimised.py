"""Kernels as compilers make them with ``-cl-opt-disable``, against PoCL on the same source with the same option.

    unoptimised.py [KERNEL...] [--pairs N] [--json FILE]

Both sides of a kernel run in one process, in turn, on one thread each; what counts is the CPU time of the process, since machines are shared. A launch
of the tests is small: its groups run many times over, along a dimension that the kernel does not ask for, until they take TARGET seconds.
Results of both sides are compared after equally many launches.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

os.environ |= {"OCL_ICD_VENDORS": "pocl.icd", "POCL_MAX_PTHREAD_COUNT": "1", "POCL_CPU_MAX_CU_COUNT": "1"}
os.environ |= {"PYOPENCL_NO_CACHE": "1"}

import pyopencl as cl
from vsim_programs import program_of

from vsim.launch.launch import BufferArgument, ImageArgument, Launch, LocalArgument, ScalarArgument, compare
from vsim.launch.launch_file import parse_launch

ROOT = Path(__file__).parent.parent
TEXTS = ROOT / "tests" / "data" / "unoptimised"
SOURCES = ROOT.parent / "shared" / "corpus" / "cases"
TARGET = 0.02
"""Seconds that a launch of the slower side takes at least."""
MOST = 1 << 14
"""Times that the groups of a launch run at most."""
Run = Callable[[int], float]


def launches_of(folder: Path) -> list[Launch]:
    """The launches of a case, with separate arrays."""
    file = parse_launch((folder / "launch.json").read_text(), str(folder), "launch.json")
    return [file.launch(n) for n in range(len(file))]


def repeated(launch: Launch, times: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Global and local size with all groups ``times`` over, along the third dimension."""
    x, y, z = (*launch.global_size, 1, 1)[:3]
    local = (*(launch.local_size or (1,)), 1, 1)[:3]
    return (x, y, z * times), local


def ours(folder: Path, launches: list[Launch]) -> Run:
    """A function that runs all launches, so many times over, and tells the CPU seconds."""
    program = program_of(next(p for p in folder.iterdir() if p.is_dir()))

    def run(times: int) -> float:
        spent = 0.0
        for launch in launches:
            size, local = repeated(launch, times)
            larger = Launch(launch.kernel, size, local, launch.global_offset, launch.args)
            start = time.process_time()
            program.run(larger, engine="llvm", threads=1)
            spent += time.process_time() - start
        return spent

    return run


class Peer:
    """The same launches on PoCL.

    Raises:
        cl.Error: it does not build the source, or has no such images.
    """

    def __init__(self, name: str, options: str, launches: list[Launch]) -> None:
        platform = next(p for p in cl.get_platforms() if "Portable" in p.name)
        self.context = cl.Context(devices=platform.get_devices()[:1])
        self.queue = cl.CommandQueue(self.context)
        source = (SOURCES / name / "kernel.cl").read_text()
        program = cl.Program(self.context, source).build(options=[*options.split(), "-cl-opt-disable"])
        self.launches, self.memory = launches, {}
        self.kernels = []
        for launch in launches:
            kernel = cl.Kernel(program, launch.kernel)
            kernel.set_args(*map(self.argument, launch.args))
            self.kernels.append(kernel)

    def argument(self, argument: object) -> Any:
        """An argument of PoCL: arrays that launches share are shared."""
        if isinstance(argument, ScalarArgument):
            return argument.data
        if isinstance(argument, LocalArgument):
            return cl.LocalMemory(argument.size)
        assert isinstance(argument, (BufferArgument, ImageArgument))
        array, flags = argument.array, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        if id(array) not in self.memory:
            if isinstance(argument, BufferArgument):
                self.memory[id(array)] = cl.Buffer(self.context, flags, hostbuf=array)
            else:
                order, kind = argument.format.split("_")
                kinds = {"f32": "FLOAT", "u32": "UNSIGNED_INT32", "i32": "SIGNED_INT32"}
                form = cl.ImageFormat(getattr(cl.channel_order, order.upper()), getattr(cl.channel_type, kinds[kind]))
                shape = array.shape[1::-1]
                self.memory[id(array)] = cl.Image(self.context, flags, form, shape=shape, hostbuf=array)
        return self.memory[id(array)]

    def run(self, times: int) -> float:
        """Run all launches, so many times over; the CPU seconds."""
        start = time.process_time()
        for launch, kernel in zip(self.launches, self.kernels, strict=True):
            size, local = repeated(launch, times)
            offset = (*launch.global_offset, 0, 0)[:3]
            cl.enqueue_nd_range_kernel(self.queue, kernel, size, local, global_work_offset=offset)
            self.queue.finish()
        return time.process_time() - start

    def differs(self) -> str:
        """How arrays differ from those of the other side; empty if they do not."""
        for launch in self.launches:
            for number, argument in enumerate(launch.args):
                memory = self.memory.get(id(getattr(argument, "array", None)))
                if isinstance(argument, BufferArgument) and memory is not None:
                    got = np.empty_like(argument.array)
                    cl.enqueue_copy(self.queue, got, memory)
                    if found := compare(argument.array, got, 1e-4, 1e-5):
                        return f"{launch.kernel}, argument {number}: {found}"
        return ""


def measure(name: str, pairs: int) -> dict[str, Any]:
    """One kernel: milliseconds of both sides, medians of runs in turn, and the median of their ratios."""
    folder = TEXTS / name
    launches = launches_of(folder)
    options = json.loads((folder / "launch.json").read_text()).get("options", "")
    peer = Peer(name, options, launches)
    run = ours(folder, launches)
    run(1)
    peer.run(1)
    times = 1
    while times < MOST:
        slower = max(run(times), peer.run(times))
        if slower >= TARGET:
            break
        times = min(MOST, times * max(2, min(64, math.ceil(TARGET / max(slower, 1e-4)))))
    found = [(run(times), peer.run(times)) for _ in range(pairs)]
    mine, theirs = (statistics.median(side) * 1e3 for side in zip(*found, strict=True))
    ratio = statistics.median(a / b for a, b in found)
    return {"times": times, "vsim": mine, "pocl": theirs, "ratio": ratio, "differs": peer.differs()}


def apart(name: str, pairs: int) -> dict[str, Any]:
    """Measure in a separate process, which a kernel that PoCL cannot run may end."""
    command = [sys.executable, __file__, "--pairs", str(pairs), "--alone", name]
    result = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent)
    try:
        report: dict[str, Any] = json.loads(result.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        last = result.stderr.strip().splitlines()[-1:] or [""]
        return {"missing": f"the process ended with {result.returncode}: {last[0]}"}
    return report


def alone(name: str, pairs: int) -> dict[str, Any]:
    """Measure here; what PoCL cannot build is missing."""
    try:
        return measure(name, pairs)
    except (cl.Error, RuntimeError) as error:
        return {"missing": str(error).strip().splitlines()[0]}


def shown(row: dict[str, Any]) -> str:
    """A row as text."""
    if "missing" in row:
        return f"     -   {row['missing']:.90}"
    sides = f"vsim {row['vsim']:8.2f} ms, PoCL {row['pocl']:8.2f} ms, {row['times']} times"
    return f"{row['ratio']:6.2f}   {sides}{'   ' + row['differs'] if row['differs'] else ''}"


def all_rows(names: list[str], pairs: int = 7) -> dict[str, Any]:
    """Measure one kernel after the other, and show each."""
    rows: dict[str, Any] = {}
    for name in names or sorted(p.name for p in TEXTS.iterdir()):
        rows[name] = apart(name, pairs)
        print(f"{name:26}{shown(rows[name])}", flush=True)
    return rows


def mean(rows: dict[str, Any]) -> float:
    """The geometric mean of the ratios."""
    return statistics.geometric_mean(r["ratio"] for r in rows.values() if "ratio" in r)


def section(rows: dict[str, Any]) -> list[str]:
    """The rows as lines of docs/measurements/performance.md."""
    found = {name: row for name, row in rows.items() if "ratio" in row}
    missing = [f"`{name}`" for name in rows if name not in found]
    without = f"PoCL does not build or run {', '.join(missing)}." if missing else ""
    lines = [
        "## Kernels that were not optimised",
        "",
        f"What compilers make with `-cl-opt-disable` (tests/data/unoptimised), against PoCL on the same source with the same option. {without}",
        "CPU time, one thread each, medians of runs in turn; the groups of each launch run as many times over as the table says.",
        "",
        "| kernel | times | PoCL ms | vsim ms | ratio |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {n} | {r['times']:,} | {r['pocl']:.2f} | {r['vsim']:.2f} | {r['ratio']:.2f} |" for n, r in found.items()
    ]
    return [*lines, f"| **geometric mean** | | | | **{mean(rows):.2f}** |", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", default=[])
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--json", default="")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(alone(options.kernels[0], options.pairs)))
        return
    rows = all_rows(options.kernels, options.pairs)
    if any("ratio" in r for r in rows.values()):
        print(f"geometric mean of {sum('ratio' in r for r in rows.values())}: {mean(rows):.2f}")
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
