"""Uniformity: which predicates have the same bit in all lanes, so that a branch on them
takes the whole thread one way.
"""

from __future__ import annotations

from visa.isa.record import Flow
from visa.operands import SCALAR, General, Immediate, Predicate
from visa.program import Function, Instruction
from vsim.analysis.control_flow import covers_all


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
    writes: dict[int, list[Instruction]] = {}
    for i in function.instructions:
        dst = i.args.get("dst")
        if isinstance(dst, Predicate):
            writes.setdefault(dst.var, []).append(i)
        if i.desc.writes_predicate and i.args.get("pred"):
            writes.setdefault(i.args["pred"].var, []).append(i)
    found, before = set(writes), 0
    while len(found) != before:
        before = len(found)
        for var in list(found):
            if not all(_gives_one_bit(function, i, var, found) for i in writes[var]):
                found.discard(var)
    return frozenset(found)


def _gives_one_bit(function: Function, instruction: Instruction, var: int, uniform: set[int]) -> bool:
    """Whether a write of a predicate gives all lanes the same bit: a comparison of scalars, or logic on uniform
    predicates.
    """
    args, desc = instruction.args, instruction.desc
    execution = args["exec"]
    width = min(32, function.predicates[var - 1].elements)
    if not (execution.no_mask and execution.offset == 0 and execution.size >= width):
        return False
    if desc.category == "compare":
        return _is_scalar(args["src0"]) and _is_scalar(args["src1"])
    if "bitwise" not in desc.rules or args.get("pred") is not None:
        return False
    sources = [args[s] for s in ("src0", "src1") if s in args]
    return all(isinstance(o, Predicate) and o.var in uniform for o in sources)


def _is_scalar(op: object) -> bool:
    return isinstance(op, Immediate) or (isinstance(op, General) and op.region == SCALAR)
