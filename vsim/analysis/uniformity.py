"""Uniformity: which predicates have the same bit in all lanes, so that a branch on them
takes the whole thread one way.
"""

from __future__ import annotations

from collections.abc import Sequence

from visakit.isa.record import Flow
from visakit.language.operands import SCALAR, General, Immediate, Predicate
from visakit.language.program import Function, Instruction
from vsim.analysis.control_flow import covers_all
from vsim.semantics.core import BY_LANE
from vsim.semantics.products import is_wide_product


def takes_one_way(instruction: Instruction, uniform: frozenset[int], lanes: int) -> bool:
    """Whether all active lanes of a branch go the same way: none of a thread's ``lanes`` stands outside its mask and
    size; ``uniform`` are the predicates that are.
    """
    if not covers_all(instruction, lanes):
        return False
    args = instruction.args
    predicate = args.get("pred")
    if predicate is None or instruction.desc.flow is Flow.JUMP:
        return True
    return args["exec"].size == 1 or predicate.var in uniform or bool(predicate.mode)


def uniform_predicates(function: Function) -> frozenset[int]:
    """Predicates whose every write gives all lanes the same bit, whatever lanes are active: the greatest fixed point of
    that.
    """
    writes: dict[int, list[int]] = {}
    for n, i in enumerate(function.instructions):
        dst = i.args.get("dst")
        if isinstance(dst, Predicate):
            writes.setdefault(dst.var, []).append(n)
        if i.desc.writes_predicate and i.args.get("pred"):
            writes.setdefault(i.args["pred"].var, []).append(n)
    found, before = set(writes), 0
    while len(found) != before:
        before = len(found)
        for var in list(found):
            if not all(_gives_one_bit(function, n, var, found) for n in writes[var]):
                found.discard(var)
    return frozenset(found)


def _gives_one_bit(function: Function, number: int, var: int, uniform: set[int]) -> bool:
    """Whether a write of a predicate gives all lanes the same bit: a comparison of scalars, whole or in two halves next
    to each other, a constant, or logic on uniform predicates.
    """
    instruction = function.instructions[number]
    args, desc = instruction.args, instruction.desc
    width = min(32, function.predicates[var - 1].elements)
    whole = _covers(instruction, 0, width)
    if desc.category == "compare":
        scalars = is_scalar(args["src0"]) and is_scalar(args["src1"])
        return scalars and (whole or _is_half(function.instructions, number, width))
    if desc.semantics == "setp":
        return whole and sets_one_bit(instruction)
    if not whole or not desc.works_on_predicates or args.get("pred") is not None:
        return False
    sources = [args[s] for s in ("src0", "src1") if s in args]
    return all(isinstance(o, Predicate) and o.var in uniform and _has_lanes(function, o.var, width) for o in sources)


def sets_one_bit(instruction: Instruction) -> bool:
    """Whether the integer of a ``setp`` has the same bit for all lanes that it sets."""
    bits, ones = instruction.args["src0"], (1 << instruction.args["exec"].size) - 1
    return isinstance(bits, Immediate) and bits.bits & ones in (0, ones)


def is_lanewise(instruction: Instruction) -> bool:
    """Whether the result of an instruction in a lane depends on this lane's operands alone."""
    semantics = instruction.desc.semantics
    of_lane = semantics in BY_LANE or semantics == "addr_add" or is_wide_product(instruction)
    return of_lane or (semantics == "setp" and sets_one_bit(instruction))


def _has_lanes(function: Function, var: int, lanes: int) -> bool:
    """Whether a predicate has so many lanes."""
    return function.predicates[var - 1].elements >= lanes


def _covers(instruction: Instruction, first: int, end: int) -> bool:
    """Whether an instruction writes lanes from one on, up to the end or further, whatever lanes are active."""
    execution = instruction.args["exec"]
    covers: bool = execution.no_mask and execution.offset == first and first + execution.size >= end
    return covers


def _is_half(instructions: Sequence[Instruction], number: int, width: int) -> bool:
    """Whether the instruction before or behind one does the same for the other half of the lanes.

    Labels are instructions, so that nothing leads between the two.
    """
    return any(
        0 <= n < len(instructions) - 1
        and _does_the_same(instructions[n], instructions[n + 1])
        and _covers(instructions[n], 0, width // 2)
        and _covers(instructions[n + 1], width // 2, width)
        for n in (number - 1, number)
    )


def _does_the_same(one: Instruction, other: Instruction) -> bool:
    """Whether two instructions differ in their lanes alone."""
    return one.desc is other.desc and all(other.args.get(k) == v for k, v in one.args.items() if k != "exec")


def is_scalar(op: object) -> bool:
    """Whether an operand gives all lanes the same value: a constant that is no packed vector, or one element."""
    return (isinstance(op, Immediate) and op.type.is_element) or (isinstance(op, General) and op.region == SCALAR)
