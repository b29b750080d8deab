"""The tools themselves: assembling and disassembling long kernels, linking many objects, the cost of a command and of a launch.

Every number is a ratio against a named peer or against the tool's own half-sized work, in one run.
"""

from __future__ import annotations

import math
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from kernels import CORPUS

SIZES = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
LINK_SIZES = (250, 500, 1000)
FUNCTIONS_PER_OBJECT = 10
SAMPLE = Path(__file__).parent.parent / "samples" / "saxpy"


def unrolled(count: int) -> str:
    """One kernel with that many instructions: the body of the SHA benchmark again and again."""
    head: list[str] = []
    function: list[str] = []
    for line in (CORPUS / "sha" / "tgllp" / "sha.visaasm").read_text().split("\n"):
        word = line.strip()
        if word.startswith((".", "//")) or word.endswith(":") or not word:
            head.append(line)
        elif not word.startswith("ret"):
            function.append(line)
    repeated = (function * (count // len(function) + 1))[:count]
    return "\n".join([*head, *repeated, "    ret (M1, 1)", ""])


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of some work in this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def child_cpu(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> float:
    """CPU time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, capture_output=True, check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def assembling() -> dict[str, Any]:
    """Seconds of assembler and disassembler by number of instructions, and of GenX_IR for 50,000."""
    from vasm.assembler import assemble_text
    from visakit.binary import read_module
    from visakit.text.printer import print_module

    found: dict[str, Any] = {"vasm": {}, "vdis": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in SIZES:
            text = unrolled(size)
            data = assemble_text(text, "x").isa
            found["vasm"][size] = min(
                cpu_seconds(lambda text=text: assemble_text(text, "x").object_bytes()) for _ in range(3)
            )
            found["vdis"][size] = min(
                cpu_seconds(lambda data=data: print_module(read_module(data, "x"))) for _ in range(3)
            )
            if size == 50_000:
                (folder / "k.visaasm").write_text(text)
                found["command"] = min(
                    child_cpu([sys.executable, "-m", "vasm", "k.visaasm", "-o", "k.o"], folder) for _ in range(3)
                )
                if shutil.which("GenX_IR"):
                    found["peer"] = min(
                        child_cpu(
                            ["GenX_IR", "k.visaasm", "-platform", "TGLLP", "-outputCisaBinaryName", "k.isa"], folder
                        )
                        for _ in range(3)
                    )
                code = "from vasm.assembler import assemble_text; assemble_text(open('k.visaasm').read(), 'x').object_bytes(); "
                code += "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
                done = subprocess.run(
                    [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
                )
                found["memory"] = int(done.stdout) // 1024
    return found


def first_sight() -> dict[str, float]:
    """Seconds of whole commands on sha, of which hardly two instructions are alike: ours, without caches, and GenX_IR."""
    text = CORPUS / "sha" / "tgllp" / "sha.visaasm"
    ours = [sys.executable, "-m", "vasm", str(text), "-o", "k.o"]
    sides = {"vasm": ours, "vasm, empty cache": ours}
    if shutil.which("GenX_IR"):
        sides["GenX_IR"] = ["GenX_IR", str(text), "-platform", "TGLLP", "-outputCisaBinaryName", "k.isa"]
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(5):
        for name, command in sides.items():
            with tempfile.TemporaryDirectory() as folder:
                environment = os.environ | ({"VISAKIT_CACHE": folder} if "empty" in name else {})
                found[name].append(child_cpu(command, Path(folder), environment))
    return {name: min(times) for name, times in found.items()}


def function_text(index: int, calls: list[int], kernel: bool = False) -> str:
    """A function that adds its number to its argument and calls others in turn; or the kernel that calls one."""
    lines = [
        f'.kernel "k{index}"' if kernel else f'.global_function "f{index}"',
        ".decl V v_type=G type=ud num_elts=8 align=GRF",
    ]
    lines += [".kernel_attr SimdSize=8"] + (
        [] if kernel else [".kernel_attr Extern", ".kernel_attr ArgSize=1", ".kernel_attr RetValSize=1"]
    )
    lines += [f"add (M1, 8) V(0,0)<1> %arg(0,0)<1;1,0> {index}:ud", "mov (M1, 8) %arg(0,0)<1> V(0,0)<1;1,0>"]
    lines += [f"fcall (M1, 8) f{n} 1 1" for n in calls]
    return "\n".join([*lines, "ret (M1, 1)" if kernel else "fret (M1, 8)", ""])


def objects(count: int) -> list[bytes]:
    """That many objects with functions that call each other at random."""
    import random

    from vasm.assembler import assemble_text

    source, total = random.Random(1), count * FUNCTIONS_PER_OBJECT
    found = []
    for n in range(count):
        mine = range(n * FUNCTIONS_PER_OBJECT, (n + 1) * FUNCTIONS_PER_OBJECT)
        functions = [function_text(f, [source.randrange(total) for _ in range(3)]) for f in mine]
        functions += [function_text(0, [0], kernel=True)] if n == 0 else []
        found.append(assemble_text(".version 4.1\n" + "".join(functions), f"o{n}").object_bytes())
    return found


def linking() -> dict[str, Any]:
    """CPU seconds of vlink by number of objects, and of GNU ld for as many functions and relocations."""
    from vlink.linker import link

    found: dict[str, Any] = {"vlink": {}, "functions": FUNCTIONS_PER_OBJECT}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in LINK_SIZES:
            data = objects(size)
            found["vlink"][size] = min(cpu_seconds(lambda data=data: link(data).to_bytes()) for _ in range(3))
        (folder / "list").write_text("\n".join(_write(folder / f"o{n}.o", d) for n, d in enumerate(data)))
        found["command"] = min(
            child_cpu([sys.executable, "-m", "vlink", "@list", "-o", "x.bin"], folder) for _ in range(3)
        )
        if shutil.which("ld") and shutil.which("as"):
            found["peer"] = _gnu_ld(folder, LINK_SIZES[-1])
    return found


def _write(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return path.name


def _gnu_ld(folder: Path, count: int) -> float:
    """CPU time of ld for as many objects, functions and calls."""
    import random

    source, total = random.Random(1), count * FUNCTIONS_PER_OBJECT
    names = []
    for n in range(count):
        lines = [".text"]
        for f in range(n * FUNCTIONS_PER_OBJECT, (n + 1) * FUNCTIONS_PER_OBJECT):
            lines += [
                f".globl f{f}",
                f".type f{f},@function",
                f"f{f}:",
                " add $1, %eax",
                *(f" call f{source.randrange(total)}" for _ in range(3)),
                " ret",
            ]
        lines += [".globl _start", "_start:", " call f0"] if n == 0 else []
        subprocess.run(["as", "-o", f"g{n}.o"], input="\n".join(lines) + "\n", text=True, cwd=folder, check=True)
        names.append(f"g{n}.o")
    (folder / "gnu").write_text("\n".join(names))
    return min(child_cpu(["ld", "-o", "g.out", "@gnu"], folder) for _ in range(3))


SMALL = """.version 4.1
.kernel "small"
.decl V32 v_type=G type=d num_elts=8 align=GRF
mov (M1, 8) V32(0,0)<1> 1:d
add (M1, 8) V32(0,0)<1> V32(0,0)<1;1,0> 2:d
mul (M1, 8) V32(0,0)<1> V32(0,0)<1;1,0> 3:d
shl (M1, 8) V32(0,0)<1> V32(0,0)<1;1,0> 1:d
ret (M1, 1)
"""
TEXT_LIBRARIES, RUN_LIBRARIES = "import typer, lark", "import typer, numpy, llvmlite.binding"
"""What the commands cannot do without: their start is measured against these imports."""
STARTS = {
    "vasm, five instructions": (TEXT_LIBRARIES, 1.35),
    "vsim, warm cache": (RUN_LIBRARIES, 1.3),
    "vsim, empty cache": (RUN_LIBRARIES, 2.0),
}
"""Commands, their peers, and how many times as long they may take."""


def commands() -> dict[str, float]:
    """CPU time of whole commands and of the imports that they are measured by, medians of runs in turn, in milliseconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "small.visaasm").write_text(SMALL)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

        def command(tool: str, *words: object) -> list[str]:
            return [sys.executable, "-m", tool, *map(str, words)]

        object_file, image = folder / "s.o", folder / "s.bin"
        vsim = command("vsim", image, "--launch", SAMPLE / "launch.json", "--out-dir", folder)
        for made in (
            command("vasm", SAMPLE / "saxpy.visaasm", "-o", object_file),
            command("vlink", object_file, "--ze-info", SAMPLE / "ze_info.yaml", "-o", image),
        ):
            subprocess.run(made, check=True, env=environment)
        runs = {
            **{libraries: [sys.executable, "-c", libraries] for libraries in (TEXT_LIBRARIES, RUN_LIBRARIES)},
            **dict(zip(STARTS, (command("vasm", folder / "small.visaasm"), vsim, vsim), strict=True)),
        }
        times: dict[str, list[float]] = {label: [] for label in runs}
        for n in range(16):
            for label, words in runs.items():
                cache = folder / (f"cache{n}" if "empty" in label else "cache")
                seconds = child_cpu(words, folder, environment | {"VISAKIT_CACHE": str(cache)})
                times[label].append(seconds * 1e3)
        # The first round writes bytecode and fills the cache.
        return {label: statistics.median(t[1:]) for label, t in times.items()}


def launching() -> tuple[float, float]:
    """Microseconds of a warm launch of a small kernel from Python: with another scalar than the last time, and the same again."""
    import numpy as np
    from vsim_programs import load

    simulated = load("saxpy", "tgllp")
    x, y = np.ones(256, "f4"), np.ones(256, "f4")
    times: tuple[list[float], list[float]] = ([], [])
    for n in range(2000):
        for side in times:
            start = time.perf_counter()
            simulated.launch("saxpy", 256, 64, [y, x, float(n)])
            side.append((time.perf_counter() - start) * 1e6)
    other, same = (statistics.median(t[100:]) for t in times)
    return other, same


def report() -> list[str]:
    """The measurements as Markdown lines."""
    made, linked, whole, launch = assembling(), linking(), commands(), launching()

    def growth(times: dict[int, float]) -> str:
        sizes = list(times)
        return ", ".join(f"{(times[b] / times[a]) ** (math.log(2) / math.log(b / a)):.2f}" for a, b in pairwise(sizes))

    out = ["## The assembler", "", "CPU time in this process, text to object and module to text; SHA code unrolled into one kernel.", "",
           "| instructions | vasm s | instructions/s | vdis s | instructions/s |", "|---|---|---|---|---|"]  # fmt: skip
    for size in SIZES:
        a, d = made["vasm"][size], made["vdis"][size]
        out.append(f"| {size:,} | {a:.3f} | {size / a:,.0f} | {d:.3f} | {size / d:,.0f} |")
    out += [
        "",
        f"Growth with each doubling: vasm {growth(made['vasm'])}; vdis {growth(made['vdis'])}. Peak memory for 50,000: {made['memory']} MB.",
        "",
    ]
    if "peer" in made:
        out += [
            f"The whole command takes {made['command']:.2f} s of CPU for 50,000 instructions, GenX_IR {made['peer']:.2f} s: {made['command'] / made['peer']:.2f}. "
            "The lines of an unrolled loop repeat, and equal lines are read once.",
            "",
        ]
    sight = first_sight()
    if "GenX_IR" in sight:
        peer = sight["GenX_IR"]
        out += [
            f"First sight, the 4,292 instructions of sha, whole commands: GenX_IR {peer:.2f} s, vasm {sight['vasm']:.2f} s "
            f"({sight['vasm'] / peer:.2f}), with an empty cache, so that the grammar's tables are built, "
            f"{sight['vasm, empty cache']:.2f} s ({sight['vasm, empty cache'] / peer:.2f}).",
            "",
        ]
    out += [
        "## The linker",
        "",
        f"{FUNCTIONS_PER_OBJECT} functions in each object, each with three calls to any other; CPU time.",
        "",
        "| objects | vlink s |",
        "|---|---|",
    ]
    out += [f"| {n:,} | {t:.2f} |" for n, t in linked["vlink"].items()]
    out += ["", f"Growth with each doubling: {growth(linked['vlink'])}.", ""]
    if "peer" in linked:
        out += [f"GNU ld on as many objects, functions and calls as the last row: {linked['peer']:.2f} s; the whole command vlink {linked['command']:.2f} s: "
                f"{linked['command'] / linked['peer']:.1f} times.", ""]  # fmt: skip
    out += [
        "## Commands and launches",
        "",
        "CPU time of whole processes in milliseconds, medians of runs in turn, and how it compares with importing the libraries alone.",
        "",
        "| command | ms | ratio | at most |",
        "|---|---|---|---|",
    ]
    for label, t in whole.items():
        peer, bar = STARTS.get(label, ("", 0.0))
        out.append(f"| {label} | {t:.0f} | {f'{t / whole[peer]:.2f} | {bar}' if peer else '| '} |")
    return [
        *out,
        "",
        f"A warm launch of a small kernel from Python takes {launch[0]:.0f} microseconds; one with the same arguments as the last, {launch[1]:.0f}.",
        "",
    ]


if __name__ == "__main__":
    print("\n".join(report()))
