"""What bounds the time of a loop: the latency of its recurrences, or the number of its instructions.

In the terms of modulo scheduling: the recurrence-constrained and the resource-constrained minimum initiation interval,
in cycles of processors of today (Zen 5, Golden Cove), roughly. Where the former is not small beside the latter, the
processor waits, and a second thread fills the gaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from vsim.engines.llvm.passes.lines import VECTOR, Line, bits_of

_LATENCIES = {
    operation: cycles
    for cycles, operations in (
        (3, "extractelement"),
        (4, "fadd fsub fmul fma mul sitofp uitofp fptosi fptoui fpext fptrunc icmp fcmp x86"),
        (6, "load"),
        (12, "udiv sdiv urem srem"),
        (13, "fdiv"),
        (15, "sqrt"),
        (20, "gather"),
    )
    for operation in operations.split()
}
"""Cycles from operands to result; of anything else 1."""
_QWORD_PRODUCT, _LATENCY_OF_QWORD_PRODUCTS = re.compile(r"mul <\d+ x i64>"), 10
_ELSEWHERE = frozenset(("bitcast", "getelementptr", "freeze", "insertelement", "extractvalue"))
"""What becomes part of other instructions."""
_OCCUPIED = dict.fromkeys(("fdiv", "sqrt"), 5.0) | dict.fromkeys(("udiv", "sdiv", "urem", "srem"), 6.0)
"""Cycles for a vector until the next of the kind can begin; of anything else half a one."""
REGISTERS = {128: 16, 256: 16, 512: 32}
"""Vector registers of a processor, by the bits of each."""
_ROUNDS = 4
"""Rounds of a loop of which the last one is measured."""


class LoopCost(NamedTuple):
    """Cycles for a round of a loop, and the processor's vectors that its stack slots hold."""

    recurrence: float
    resources: float
    vectors: int


def loop_cost(lines: Iterable[Line], slots: Set[str], bits: int) -> LoopCost:
    """Bounds of a loop whose lines are given in the order in which they run.

    Args:
        slots: stack slots, through which values come from the round before.
        bits: of the processor's vectors.
    """
    steps = [step for line in lines if (step := _step(line, slots, bits))]
    written = {step.slot for step in steps if step.slot and not step.name}
    ready: dict[str, float] = {}
    held, before = dict[str, float](), dict[str, float]()
    resources = 0.0
    for _ in range(_ROUNDS):
        before = dict(held)
        resources = _run_round(steps, written, ready, held)
    growth = max((held[slot] - before.get(slot, 0.0) for slot in held), default=0.0)
    used = {name for step in steps for name in step.operands}
    vectors = {step.slot: step.vectors for step in steps if step.slot and step.name in used}
    return LoopCost(growth, resources, sum(vectors.values()))


def _run_round(steps: Sequence[_Step], written: Set[str], ready: dict[str, float], held: dict[str, float]) -> float:
    """Run a round of a loop; the cycles that its instructions occupy the processor.

    Args:
        written: slots that the loop writes.
        ready: when each value that changes from round to round is ready (cycles), by name; updated.
        held: the same of the contents of slots; updated.
    """
    resources = 0.0
    for step in steps:
        operands = [ready[n] for n in step.operands if n in ready]
        if step.slot and not step.name:
            held[step.slot] = max(operands, default=0.0)
        elif step.slot:
            if step.slot in written:
                ready[step.name] = held.get(step.slot, 0.0)
        elif operands or step.changes:  # Anything else is the same in every round.
            resources += step.occupied
            if step.name:
                ready[step.name] = max(operands, default=0.0) + step.latency
    return resources


class _Step(NamedTuple):
    """What bounds depend on of a line: one that is computed, or loads or stores a slot."""

    name: str
    operands: Sequence[str]
    slot: str = ""
    vectors: int = 0
    latency: float = 0
    occupied: float = 0
    changes: bool = False
    """Whether it counts whatever its operands are."""


def _step(line: Line, slots: Set[str], bits: int) -> _Step | None:
    if line.is_store:
        if line.place in slots:
            return _Step("", line.names, line.place)
        return _Step("", (), occupied=1, changes=True)
    if not line.result:
        return None
    if line.place in slots:
        return _Step(line.result, (), line.place, vectors_of(line.kind, bits))
    costs = latency_of(line), occupied_by(line, bits)
    return _Step(line.result, line.uses, "", 0, *costs, line.opcode == "load")


def latency_of(line: Line) -> float:
    """Cycles from a line's operands to its result."""
    if line.opcode in _ELSEWHERE or line.opcode in ("shufflevector", "zext"):
        return 0
    if _QWORD_PRODUCT.match(line.operation):
        return _LATENCY_OF_QWORD_PRODUCTS
    return _LATENCIES.get(line.opcode, 1)


def occupied_by(line: Line, bits: int) -> float:
    """Cycles that an instruction takes of the processor's."""
    if line.opcode in _ELSEWHERE:
        return 0
    vector = VECTOR.search(line.operation)
    if not vector:
        return 0.25
    if line.opcode == "gather":
        return float(vector[1])
    return vectors_of(vector[0], bits) * _OCCUPIED.get(line.opcode, 0.5)


def vectors_of(kind: str, bits: int) -> int:
    """How many of the processor's vectors a value is; none if it is a scalar."""
    return -(-bits_of(kind) // bits) if VECTOR.match(kind) else 0
