"""Compile time of the fast engine, syntax tree to object code, without the cache.

    python benchmarks/compile_time.py corpus              a histogram over all kernels that the corpus launches
    python benchmarks/compile_time.py shapes [LARGEST]    generated kernels of five shapes, and growth by doubling

Both write their section of docs/measurements/performance.md. CPU time of this process, the least of two runs. A kernel of few instructions is mostly what
every kernel has around it, so the histogram is of what exceeds 30 ms. ``--cpu`` chooses what code is made for.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from time import process_time

import numpy as np
import target
from compile_kernels import SHAPES as KINDS
from compile_kernels import SIZES, kernel
from sections import CORPUS, PAGE, SHAPES, machine, with_section
from vsim_programs import program_of

from vasm.assembler import assemble_text
from visakit.objects.image import read_image
from vlink import link
from vsim.engines.llvm import Unsupported
from vsim.engines.llvm.host import native
from vsim.engines.llvm.pipeline import translate
from vsim.engines.llvm.plan import geometry, row_of
from vsim.launch.dispatch import Dispatch
from vsim.launch.launch import BufferArgument, Launch
from vsim.launch.launch_file import parse_launch
from vsim.program import Program

ROOT = Path(__file__).parent.parent
CASES = next(p for p in (ROOT.parent / "shared" / "corpus" / "cases", ROOT / "tests" / "data" / "cases") if p.exists())
BASE = 0.03
"""Seconds that a kernel may take beside what its instructions take."""
LANES = 32
"""Of a thread: the most, which take longest."""
STEPS = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0)
"""Milliseconds an instruction between the bars of the histogram."""


def seconds(dispatch: Dispatch) -> tuple[float, float, int]:
    """CPU time of lowering and of LLVM, and the instructions of the functions that were compiled."""
    times = []
    for _ in range(2):
        start = process_time()
        translation = translate(dispatch, geometry(dispatch).full, row_of(dispatch))
        between = process_time()
        native.compile_object(translation.text)
        times.append((between - start, process_time() - between))
    return *map(min, zip(*times, strict=True)), sum(len(f.instructions) for f in translation.functions)


def dispatches() -> Iterator[tuple[str, Dispatch]]:
    """Every kernel that a case launches, once."""
    for folder in sorted(p for p in CASES.glob("*/*") if list(p.glob("*.visaasm"))):
        program, path = program_of(folder), folder.parent / "launch.json"
        launches = parse_launch(path.read_text(), str(folder.parent), str(path))
        seen = set()
        for number in range(len(launches)):
            launch = launches.launch(number)
            if launch.kernel not in seen:
                seen.add(launch.kernel)
                yield f"{folder.parent.name}/{folder.name} {launch.kernel}", program.bind(launch)


def corpus() -> list[str]:
    """The histogram, and the five slowest kernels."""
    bars: Counter[float] = Counter()
    found = []
    for name, dispatch in dispatches():
        try:
            lowering, llvm, count = seconds(dispatch)
        except Unsupported:
            continue
        each = max(0.0, lowering + llvm - BASE) * 1e3 / count
        bars[next((s for s in STEPS if each <= s), float("inf"))] += 1
        found.append((each, lowering + llvm, count, name))
    out = ["Kernels by milliseconds an instruction beyond 30 ms.", "", "| at most | kernels |", "|---|---|"]
    out += [f"| {step} | {bars[step]} |" for step in (*STEPS, float("inf")) if bars[step] or step in STEPS]
    slowest = sorted(found, reverse=True)[:5]
    return [*out, "", *(f"* {e:.2f}: {name}, {count} instructions, {total:.2f} s" for e, total, count, name in slowest)]


def generated(shape: str, size: int, lanes: int) -> Dispatch:
    """A launch of a generated kernel."""
    data = assemble_text(kernel(shape, size, lanes), "k.visaasm", "tgllp").object_bytes()
    program = Program(read_image(link([data]).to_bytes()))
    launch = Launch("k", (4 * lanes,), (4 * lanes,), args=[BufferArgument(np.zeros(64, "i4"))])
    return program.bind(launch)


def shapes(largest: int) -> Iterator[str]:
    """A row for each shape: milliseconds an instruction by size, and the largest growth by doubling."""
    sizes = [s for s in SIZES if s <= largest]
    yield f"Milliseconds an instruction of {LANES} lanes, and the largest growth to the next size (the last is not twice as large)."
    yield ""
    yield f"| shape | {' | '.join(map(str, sizes))} | growth |"
    yield f"|{'---|' * (len(sizes) + 2)}"
    for shape in KINDS:
        totals, cells = [], []
        for size in sizes:
            lowering, llvm, count = seconds(generated(shape, size, LANES))
            totals.append(lowering + llvm)
            cells.append(f"{(lowering + llvm) * 1e3 / count:.2f}")
        growth = max((b / a for a, b in pairwise(totals)), default=0.0)
        yield f"| {shape} | {' | '.join(cells)} | {growth:.2f} |"


def main() -> None:
    """Measure, print, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("corpus", "shapes"))
    parser.add_argument("largest", nargs="?", type=int, default=SIZES[-1])
    target.add_option(parser)
    given = parser.parse_args()
    target.choose(given.cpu)
    lines = []
    for line in corpus() if given.what == "corpus" else shapes(given.largest):
        print(line, flush=True)
        lines.append(line)
    head = [
        f"{machine()}; made for {given.cpu}; CPU time, the least of two runs; other work on the machine lengthens it.",
        "",
    ]
    PAGE.write_text(with_section(PAGE.read_text(), CORPUS if given.what == "corpus" else SHAPES, [*head, *lines]))


if __name__ == "__main__":
    main()
