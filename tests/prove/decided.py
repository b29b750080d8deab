"""What ``visakit prove`` decides of kernels of cases and of the benchmarks, under the sizes, whole numbers and ND-range
of one launch; contents of arrays are any. ``python tests/prove/decided.py`` prints a line for each kernel and a table.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(1, str(Path(__file__).parents[2] / "benchmarks"))

from prove.fast_accesses import CASES, assumptions_of, kernels
from visakit.diagnostics import VisaError
from vsim.launch.launch import Launch
from vsim.prove.assumptions import Assumption
from vsim.prove.prover import prove
from vsim.prove.subject import Subject

ASKED = ("bounds", "races")
SHARE = 64
"""Benchmarks have the least work, which their sizes divide."""


def benchmarks(device: str):
    """The benchmark kernels without images, with programs and launches."""
    from kernels import Picture
    from suite import BENCHMARKS
    from vsim_programs import program_of

    for name, own in sorted(BENCHMARKS.items()):
        work = own.work(SHARE)
        if (own.folder / device).is_dir() and not any(isinstance(a, Picture) for a in work.args):
            program = program_of(own.folder / device)
            kernel = program.kernels[0]
            args = program.convert(kernel, work.args)
            yield f"benchmark {name}/{device}", program, Launch(kernel, work.global_size, work.local_size, args=args)


def decide(program, launch, seconds):
    """The verdicts on a kernel, for launches like this one."""
    assumed = [Assumption(text, "--assume") for text in assumptions_of(launch, program.signature(launch.kernel))]
    local_size = program.bind(launch).local_size[: len(launch.global_size)]
    return list(prove(Subject(program, launch.kernel, assumed, local_size), ASKED, seconds))


def main() -> None:
    """Decide, and count."""
    parser = argparse.ArgumentParser(prog="python tests/prove/decided.py", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=Path, default=CASES, metavar="FOLDER", help="cases with launch.json and texts")
    parser.add_argument("--benchmarks", metavar="DEVICE", help="the benchmarks of a device in place of cases")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every N-th kernel")
    parser.add_argument("--seconds", type=float, default=20, help="for a property (20)")
    given = parser.parse_args()
    found = benchmarks(given.benchmarks) if given.benchmarks else kernels(given.cases)
    counts: dict[str, Counter[str]] = {name: Counter() for name in ASKED}
    for n, (name, program, launch) in enumerate(found):
        if n % given.every:
            continue
        try:
            verdicts = decide(program, launch, given.seconds)
        except VisaError as error:
            print(f"{name}: left out: {error}".splitlines()[0], flush=True)
            continue
        for verdict in verdicts:
            counts[verdict.property][str(verdict.outcome)] += 1
            why = f": {verdict.places[0].why}" if verdict.places else ""
            print(f"{name}: {verdict.property} {verdict.outcome} ({verdict.seconds:.1f} s){why}", flush=True)
    for name, own in counts.items():
        print(name, dict(own))


if __name__ == "__main__":
    main()
