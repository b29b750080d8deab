"""What the fast engine proves of accesses while it makes code, against the solver, for the launches of cases.

Two facts save tests when a kernel runs: all lanes of an access are *inside* a memory of known size, and its lanes are at
*constant distances*, so that a test of the first and the last one is a test of all. Both must hold for all work-items of
a launch with the case's sizes and numbers, whatever is in its arrays. Distances that depend on a sum that does not wrap
around are tested when the kernel runs, and may be refuted. ``python tests/prove/fast_accesses.py --cases
FOLDER`` asks all kernels of cases, and prints counts and facts that the solver refutes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.programs import build

from visakit.diagnostics import VisaError
from vsim.engines.llvm import Unsupported
from vsim.engines.llvm.lower.function import FunctionLowering
from vsim.engines.llvm.lower.machine import LoweringMachine
from vsim.engines.llvm.memory.access import MemoryAccess, PartAccess
from vsim.engines.llvm.memory.bounds import NEVER, CheckedBounds
from vsim.engines.llvm.memory.common_buffer import UnprovedAccess
from vsim.engines.llvm.pipeline import translate
from vsim.engines.llvm.plan import geometry, row_of
from vsim.launch.launch import BufferArgument, LocalArgument, ScalarArgument
from vsim.launch.launch_file import parse_launch
from vsim.program import Program
from vsim.prove import bounds
from vsim.prove.assumptions import Assumption
from vsim.prove.bounds import PropertyViolation
from vsim.prove.prover import run_kernel
from vsim.prove.refutation import lanes_in_order, obstacle
from vsim.prove.subject import Subject, symbolic_launch
from vsim.prove.verdict import Remark
from vsim.symbolic import terms
from vsim.symbolic.limits import Limits, Undecided
from vsim.symbolic.queries import Possible, Solver

CASES = Path(__file__).parents[1] / "data" / "cases"


class Distances(NamedTuple):
    """Lanes from ``first`` on are so many bytes from that one, in offsets of so many bits; ``kind`` says whether that
    is tested when the kernel runs, as a sum may wrap around.
    """

    kind: str
    first: int
    bytes: tuple[int, ...]
    bits: int


class AccessFacts:
    """What is proved of one access of an instruction."""

    def __init__(self) -> None:
        self.checks: list[bool] = []
        """Of each test of bounds: whether it is left out."""
        self.distances: list[Distances] = []

    @property
    def is_inside(self) -> bool:
        """Whether no lane is tested."""
        return bool(self.checks) and all(self.checks)


Facts = dict[int, list[AccessFacts]]
"""The accesses of each instruction of a kernel, in their order."""


@contextlib.contextmanager
def noted_facts(kernel):
    """The facts about the accesses of a kernel of which code is made within the context."""
    found: Facts = {}
    current: list[AccessFacts] = [AccessFacts()]

    def wrapped(owner, name, before=None, after=None):
        plain = getattr(owner, name)

        def call(self, *args, **more):
            if before:
                before(self, *args)
            result = plain(self, *args, **more)
            if after:
                after(result)
            return result

        return mock.patch.object(owner, name, call)

    def begin(self, *args):
        if self.state.function is kernel:
            found.clear()

    def access(self, *args):
        own = AccessFacts()
        current[0] = own
        if self.function is kernel:
            found.setdefault(self.state.at.pc, []).append(own)

    def part(self, part, *args):
        known = part.offset.facts.affine
        if known is None or part.offset.lanes == 1 or known.row != part.offset.lanes:
            return
        kind = "tested distances" if known.assumptions else "distances"
        current[0].distances.append(Distances(kind, part.first, tuple(known.distances()), part.offset.type.bits))

    def within(result):
        current[0].checks.append(result[0] == NEVER)

    def unproved(result):
        if result:
            current[0].checks.append(True)

    def otherwise(*args):
        current[0].checks.append(False)

    patches = [
        wrapped(FunctionLowering, "_emit", before=begin),
        wrapped(LoweringMachine, "load_elements", before=access),
        wrapped(LoweringMachine, "store_elements", before=access),
        wrapped(LoweringMachine, "atomic", before=access),
        wrapped(PartAccess, "load", before=part),
        wrapped(PartAccess, "store", before=part),
        wrapped(CheckedBounds, "_within", after=within),
        wrapped(UnprovedAccess, "_is_inside", after=unproved),
        wrapped(UnprovedAccess, "common_buffer", before=otherwise),
        wrapped(MemoryAccess, "atomic", before=otherwise),
    ]
    with contextlib.ExitStack() as stack:
        for own in patches:
            stack.enter_context(own)
        yield found


def facts_of(dispatch) -> Facts:
    """The facts that the code of a launch's kernel relies on."""
    with noted_facts(dispatch.kernel) as found:
        translate(dispatch, geometry(dispatch).full, row_of(dispatch))
    return found


def assumptions_of(launch, signature):
    """The sizes and whole numbers of a launch, as assumptions."""
    for axis, size in zip("xyz", launch.global_size, strict=False):
        yield f"global_size.{axis} == {size}"
    for index, (name, argument) in enumerate(zip(signature.names_in_order, launch.args, strict=False)):
        if isinstance(argument, BufferArgument):
            yield f"size({name}) == {argument.array.nbytes}"
        elif isinstance(argument, LocalArgument):
            yield f"size({name}) == {argument.size}"
        elif isinstance(argument, ScalarArgument) and isinstance(number := argument.numbers, int):
            yield f"{name} == {number}"
        elif isinstance(argument, ScalarArgument) and signature.declared_type(index) in ("d", "i32", "int"):
            yield f"{name} == {int.from_bytes(argument.data, 'little', signed=True)}"


class Comparison(NamedTuple):
    """Counts of a kernel's facts by verdict, and the places of refuted facts."""

    counts: Counter[str]
    refuted: list[str]


def compare(program, launch, seconds=20.0) -> Comparison:
    """Ask the solver for the facts about a launch.

    Raises:
        VisaError: proofs do not support the launch.
        Unsupported: the fast engine does not take the kernel.
    """
    dispatch = program.bind(launch)
    facts, signature = facts_of(dispatch), program.signature(launch.kernel)
    assumed = [Assumption(text, "--assume") for text in assumptions_of(launch, signature)]
    subject = Subject(program, launch.kernel, assumed, dispatch.local_size[: len(launch.global_size)])
    symbolic = symbolic_launch(subject, Limits(seconds))
    counts, refuted = Counter(), list[str]()
    with symbolic.limits.watched():
        thread, _ = run_kernel(subject, symbolic)
        solver = Solver(symbolic, 5.0)
        symbolic.limits.begin(seconds)
        for kind, message, condition in _questions(facts, thread, symbolic):
            verdict = _answer(solver, symbolic, message, condition)
            counts[f"{kind} {verdict}"] += 1
            if verdict == "refuted" and kind != "tested distances":
                refuted.append(f"{kind}: instruction {message.number} of '{launch.kernel}'")
    return Comparison(counts, refuted)


def _questions(facts: Facts, thread, symbolic):
    """Conditions under which a fact does not hold, with its kind and the message."""
    met: Counter[int] = Counter()
    for message in thread.memory.messages:
        own = facts.get(message.number) if message.function is symbolic.kernel else None
        if not own:
            continue
        found = own[met[message.number] % len(own)]
        met[message.number] += 1
        if found.is_inside:
            outside = [bounds.outside(symbolic, message, access) for access in message.lanes]
            yield "inside", message, _any(outside)
        for distances in found.distances:
            yield distances.kind, message, _any(_wrong_distances(message, distances))


def _wrong_distances(message, distances):
    """Conditions under which two lanes are at another distance: each lane with the first one, and with the next one."""
    lanes = [a for a in message.lanes if 0 <= a.lane - distances.first < len(distances.bytes)]
    pairs = [*pairwise(lanes), *((lanes[0], other) for other in lanes[2:])] if lanes else []
    for one, other in pairs:
        wanted = distances.bytes[other.lane - distances.first] - distances.bytes[one.lane - distances.first]
        found = terms.extract(terms.less(other.address, one.address, 64), 0, distances.bits, 64)
        differs = terms.negation(terms.equal(found, wanted & ((1 << distances.bits) - 1), distances.bits))
        yield terms.conjunction(terms.conjunction(one.guard, other.guard), differs)


def _any(conditions):
    found = False
    for condition in conditions:
        found = terms.disjunction(found, condition)
    return found


def _answer(solver, symbolic, message, condition) -> str:
    try:
        condition = symbolic.simplified(condition)
        found = solver.possible(condition).possible
        if found is not Possible.NO:  # which only the order of the work-items may exclude
            found = solver.possible(condition, *lanes_in_order(symbolic, -1), named=True).possible
    except Undecided:
        return "unknown"
    if found is Possible.NO:
        return "proved"
    violation = PropertyViolation(Remark(message.function, message.number, "", ""), condition, True)
    return "refuted" if found is Possible.YES and not obstacle(symbolic, violation) else "unknown"


def kernels(folder: Path, device: str = "", parts: Sequence[str] = ("",)):
    """The first launch of each kernel of the cases in a folder, with the program, for each device, or for one; of cases
    with one of some parts in their names.
    """
    for path in sorted(folder.glob("*/launch.json")):
        if not any(part in path.parent.name for part in parts):
            continue
        file = parse_launch(path.read_text(), str(path.parent), str(path))
        launches = [file.launch(n) for n in range(len(file))]
        for texts in sorted(p for p in path.parent.iterdir() if list(p.glob("*.visaasm"))):
            if device not in ("", texts.name):
                continue
            program = Program(build(texts, texts.name))
            for launch in {own.kernel: own for own in reversed(launches)}.values():
                yield f"{path.parent.name}/{texts.name} {launch.kernel}", program, launch


def main() -> int:
    """Compare; the exit code: 1 if a fact was refuted."""
    parser = argparse.ArgumentParser(prog="python tests/prove/fast_accesses.py", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=Path, default=CASES, metavar="FOLDER", help="cases with launch.json and texts")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every N-th kernel")
    parser.add_argument("--seconds", type=float, default=20, help="for a kernel (20)")
    parser.add_argument("--json", default="", metavar="FILE", help="write a summary")
    given = parser.parse_args()
    total, refuted = Counter(), []
    for n, (name, program, launch) in enumerate(kernels(given.cases)):
        if n % given.every:
            continue
        try:
            found = compare(program, launch, given.seconds)
        except (VisaError, Unsupported, Undecided) as error:
            total["kernels left out"] += 1
            print(f"{name}: left out: {error}".splitlines()[0], flush=True)
            continue
        total.update(found.counts)
        total["kernels"] += 1
        refuted += [f"{name}: {text}" for text in found.refuted]
        print(f"{name}: {dict(found.counts)}", flush=True)
    print(*refuted, sep="\n")
    print(dict(total))
    if given.json:
        Path(given.json).write_text(json.dumps({**total, "refuted": refuted}, indent=1) + "\n")
    return int(bool(refuted))


if __name__ == "__main__":
    sys.exit(main())
