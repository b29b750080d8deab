"""What bounds the time of a loop: the latency of its recurrences, or the number of its instructions.

In the terms of modulo scheduling: the recurrence-constrained and the resource-constrained minimum initiation interval,
in cycles of processors of today (Zen 5, Golden Cove), roughly. Where the former is not small beside the latter, the
processor waits, and a second thread fills the gaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from typing import NamedTuple

from vsim.llvm_engine.ir.blocks import NAME, RESULT, VECTOR, bits_of

_STORE = re.compile(r"  store (?:volatile )?(?:<\d+ x \w+>|\w+) (.*), ptr (%[\w.]+), align")
_LOAD = re.compile(r"load (?:volatile )?(<\d+ x \w+>|\w+), ptr (%[\w.]+), align")
_LATENCIES = {
    operation: cycles
    for cycles, operations in (
        (3, "extractelement"),
        (4, "fadd fsub fmul fma mul sitofp uitofp fptosi fptoui fpext fptrunc icmp fcmp"),
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
_ROUNDS = 4
"""Rounds of a loop of which the last one is measured."""


class Bounds(NamedTuple):
    """Cycles for a round of a loop, and the processor's vectors that its stack slots hold."""

    recurrence: float
    resources: float
    vectors: int


def bounds(lines: Iterable[str], slots: Set[str], bits: int) -> Bounds:
    """Bounds of a loop whose lines are given in the order in which they run.

    Args:
        slots: stack slots, through which values come from the round before.
        bits: of the processor's vectors.
    """
    lines = list(lines)
    written = {store[2] for line in lines if (store := _STORE.match(line))}
    ready: dict[str, float] = {}
    """When what changes from round to round is there, by its name."""
    held, before = dict[str, float](), dict[str, float]()
    resources, vectors = 0.0, dict[str, int]()
    for _ in range(_ROUNDS):
        before, resources = dict(held), 0.0
        for line in lines:
            if store := _STORE.match(line):
                if store[2] in slots:
                    held[store[2]] = max((ready.get(n, 0.0) for n in NAME.findall(store[1])), default=0.0)
                else:
                    resources += 1
                continue
            if not (result := RESULT.fullmatch(line)):
                continue
            name, text = result.groups()
            if (load := _LOAD.match(text)) and load[2] in slots:
                if load[2] in written:
                    ready[name] = held.get(load[2], 0.0)
                if VECTOR.match(load[1]):
                    vectors[load[2]] = _vectors(load[1], bits)
                continue
            operation = _operation(text)
            operands = [ready[n] for n in NAME.findall(text) if n in ready]
            if operands or operation == "load":  # Anything else is the same in every round.
                ready[name] = max(operands, default=0.0) + _latency(text, operation)
                resources += _occupied(text, operation, bits)
    growth = max((held[slot] - before.get(slot, 0.0) for slot in held), default=0.0)
    return Bounds(growth, resources, sum(vectors.values()))


def _operation(text: str) -> str:
    """What an instruction is called in the tables above."""
    word = text.split(None, 1)[0]
    if word != "call":
        return word
    intrinsic = text.partition("@llvm.")[2].partition("(")[0]
    return "gather" if intrinsic.startswith("masked.gather") else intrinsic.partition(".")[0]


def _latency(text: str, operation: str) -> float:
    if operation in _ELSEWHERE or operation in ("shufflevector", "zext"):
        return 0
    if _QWORD_PRODUCT.match(text):
        return _LATENCY_OF_QWORD_PRODUCTS
    return _LATENCIES.get(operation, 1)


def _occupied(text: str, operation: str, bits: int) -> float:
    """Cycles that an instruction takes of the processor's."""
    if operation in _ELSEWHERE:
        return 0
    vector = VECTOR.search(text)
    if not vector:
        return 0.25
    if operation == "gather":
        return float(vector[1])
    return _vectors(vector[0], bits) * _OCCUPIED.get(operation, 0.5)


def _vectors(kind: str, bits: int) -> int:
    """How many of the processor's vectors a vector is."""
    return -(-bits_of(kind) // bits)
