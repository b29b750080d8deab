"""From a call of ``vsim`` to its result, with an empty cache: ``--engine auto`` and the reference engine, processes in turn.

    python benchmarks/first_result.py [--cpu CPU] [KERNEL...]

The largest kernels of the corpus, the benchmark kernels with a 64th of their work, what compilers make without optimisation,
and generated kernels. Without names it writes its section of docs/measurements/performance.md.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import target
from compile_kernels import kernel
from compile_time import CASES, LANES, ROOT
from kernels import Picture, Work
from sections import FIRST_RESULT, PAGE, machine, with_section
from suite import BENCHMARKS
from vsim_programs import image_of

from vasm.assembler import assemble_text
from visakit.objects.image import read_image
from vlink import link
from vsim.launch.given_launch import GivenLaunch
from vsim.launch.launch import ImageArgument
from vsim.launch.writer import LaunchWriter
from vsim.program import Program

DEVICE, SCALE = "bmg", 64
LARGEST = 16
"""So many cases of the corpus, and of kernels that were not optimised."""
ENDING, SIZES = ("straight", "calls", "barriers"), (400, 1600, 6400)
"""Generated kernels: shapes, and instructions of each."""
LIMIT = 2.0
"""Seconds within which a result is due where the reference engine has one sooner than native code."""
STEPS = (0.5, 1.0, 1.5, LIMIT, 3.0, 5.0)
"""Seconds between the bars of the histogram."""
ENGINES = ("auto", "numpy")


class Call(NamedTuple):
    """A kernel's name, the files of its image and launches."""

    name: str
    image: Path
    launch: Path


class Spent(NamedTuple):
    """Seconds of a process: on the clock, and of the CPU."""

    wall: float
    cpu: float


def with_launch(name: str, image: bytes, folder: Path, work: Work) -> Call:
    """An image of one kernel and its launch, as files."""
    path, program = folder / name, Program(read_image(image))
    path.with_suffix(".bin").write_bytes(image)
    converted = program.convert(program.kernels[0], work.args)
    signature = program.signature(program.kernels[0])
    given = GivenLaunch(signature, dict(enumerate(converted)), work.global_size, work.local_size)
    writer = LaunchWriter(str(path.with_suffix(".json")))
    writer.add(given, alone=True)
    writer.write([])
    return Call(name, path.with_suffix(".bin"), path.with_suffix(".json"))


def of_cases(root: Path, folder: Path) -> Iterator[Call]:
    """The cases whose texts for a device are longest."""
    sizes = {
        p: sum(t.stat().st_size for t in p.glob("*.visaasm"))
        for p in root.glob("*/*")
        if (p.parent / "launch.json").exists()
    }
    largest = sorted((p for p in sizes if sizes[p]), key=lambda p: -sizes[p])
    for path in largest[:LARGEST]:
        name = f"{path.parent.name}-{path.name}{'' if root == CASES else '-unoptimised'}"
        image = folder / f"{name}.bin"
        image.write_bytes(image_of(path))
        yield Call(name, image, path.parent / "launch.json")


def of_benchmarks(folder: Path) -> Iterator[Call]:
    """The benchmark kernels."""
    for name, benchmark in BENCHMARKS.items():
        work = benchmark.work(SCALE)
        work.args = [ImageArgument(a.array, "rgba_f32") if isinstance(a, Picture) else a for a in work.args]
        yield with_launch(name, image_of(benchmark.folder / DEVICE), folder, work)


def of_shapes(folder: Path) -> Iterator[Call]:
    """Generated kernels that come to an end, which those with loops over random numbers need not: one group of four threads."""
    for shape in ENDING:
        for size in SIZES:
            data = link([assemble_text(kernel(shape, size, LANES), "k.visaasm", "tgllp").object_bytes()]).to_bytes()
            work = Work((4 * LANES,), (4 * LANES,), [np.zeros(4 * LANES, "i4")], 0)
            yield with_launch(f"{shape}-{size}", data, folder, work)


def calls(folder: Path) -> Iterator[Call]:
    """All of them."""
    yield from of_cases(CASES, folder)
    yield from of_cases(ROOT / "tests" / "data" / "unoptimised", folder)
    yield from of_benchmarks(folder)
    yield from of_shapes(folder)


def seconds(call: Call, engine: str, folder: Path) -> Spent:
    """One process, which finds an empty cache."""
    cache, out = folder / "cache", folder / "out"
    shutil.rmtree(cache, ignore_errors=True)
    command = [sys.executable, "-m", "vsim", str(call.image), "--launch", str(call.launch)]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [*command, "--engine", engine, "--out-dir", str(out)],
        env=os.environ | {"VISAKIT_CACHE": str(cache)},
        capture_output=True,
        check=True,
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Spent(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measured(names: list[str]) -> dict[str, dict[str, Spent]]:
    """Seconds of each kernel on each engine."""
    rows = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for call in calls(folder):
            if names and call.name not in names:
                continue
            rows[call.name] = {engine: seconds(call, engine, folder) for engine in ENGINES}
            print(call.name, *(f"{e} {s.wall:.2f} {s.cpu:.2f}" for e, s in rows[call.name].items()), flush=True)
    return rows


def section(rows: dict[str, dict[str, Spent]]) -> list[str]:
    """The histogram, the slowest kernels, and the late ones."""
    bars = Counter(next((s for s in STEPS if row["auto"].wall <= s), float("inf")) for row in rows.values())
    out = [
        f"{len(rows)} kernels: the {LARGEST} longest cases of the corpus, as many that were not optimised, the benchmark kernels with 1/{SCALE} of their work "
        f"({DEVICE}), generated kernels of {', '.join(map(str, SIZES))} instructions.",
        "Seconds from the call of `vsim --engine auto` to its end, with an empty cache.",
        "",
        "| at most | kernels |",
        "|---|---|",
        *(f"| {step} | {bars[step]} |" for step in (*STEPS, float("inf")) if bars[step] or step <= LIMIT),
        "",
    ]
    late = [n for n, r in rows.items() if r["auto"].wall > LIMIT and r["numpy"].wall < r["auto"].wall]
    out += [f"Beyond {LIMIT:g} s where the reference engine alone is faster: {', '.join(late) or 'none'}.", ""]
    slowest = sorted(rows.items(), key=lambda item: -item[1]["auto"].wall)[:8]
    out += ["| slowest | auto | CPU time | reference engine | CPU time |", "|---|---|---|---|---|"]
    return [
        *out,
        *(
            f"| {n} | {r['auto'].wall:.2f} | {r['auto'].cpu:.2f} | {r['numpy'].wall:.2f} | {r['numpy'].cpu:.2f} |"
            for n, r in slowest
        ),
    ]


def main() -> None:
    """Measure, print, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    target.add_option(parser)
    given = parser.parse_args()
    target.choose(given.cpu)
    lines = section(measured(given.kernels))
    print("\n".join(lines))
    if not given.kernels:
        head = [f"{machine()}; made for {given.cpu}.", ""]
        PAGE.write_text(with_section(PAGE.read_text(), FIRST_RESULT, [*head, *lines]))


if __name__ == "__main__":
    main()
