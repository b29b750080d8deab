"""What ``visakit prove`` decides of kernels of cases and of the benchmarks, under the sizes, whole numbers and ND-range
of one launch; contents of arrays are any. ``python tests/prove/decided.py`` prints a line for each kernel and a table.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(1, str(Path(__file__).parents[2] / "benchmarks"))

from support.processor_time import seconds_of_a_processor

from prove.fast_accesses import CASES, assumptions_of, kernels
from visakit.diagnostics import VisaError
from visakit.language.operands import VectorOperand
from vsim.analysis.control_flow import control_flow
from vsim.analysis.reachability import reachable
from vsim.launch.launch import Launch
from vsim.prove.assumptions import Assumption
from vsim.prove.prover import prove
from vsim.prove.subject import Subject
from vsim.semantics.registers import operand_type

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


def loops_with_floats(program, kernel: str) -> bool:
    """Whether an instruction on floats is between the target of a branch back and the branch, in the kernel or in what
    it calls.
    """
    for function in reachable(program.image, program.signature(kernel).kernel).functions:
        for branch, target in control_flow(function).backward:
            for instruction in function.instructions[target:branch]:
                operands = [a for a in instruction.args.values() if isinstance(a, VectorOperand)]
                if any(operand_type(function, a).is_float for a in operands):
                    return True
    return False


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
    parser.add_argument("--device", default="", help="one device of the cases alone")
    parser.add_argument("--no-float-loops", action="store_true", help="kernels without floats in loops alone")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first kernel (0)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every N-th kernel")
    parser.add_argument("--seconds", type=float, default=20, help="for a property (20)")
    parser.add_argument("--processor", action="store_true", help="seconds of a processor, on a busy machine")
    parser.add_argument("--only", default="", help="parts of the names of cases, with commas")
    given = parser.parse_args()
    found = (
        benchmarks(given.benchmarks) if given.benchmarks else kernels(given.cases, given.device, given.only.split(","))
    )
    if given.no_float_loops:
        found = (
            (name, program, launch) for name, program, launch in found if not loops_with_floats(program, launch.kernel)
        )
    counts: dict[str, Counter[str]] = {name: Counter() for name in ASKED}
    time_of = seconds_of_a_processor if given.processor else contextlib.nullcontext
    for name, program, launch in itertools.islice(found, given.first, None, given.every):
        try:
            with time_of():
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
