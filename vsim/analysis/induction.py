"""Induction variables: variables that a loop increments by a constant in each round, lane by lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from visakit.language.operands import NO_MODIFIER, General, Immediate, region_elements
from visakit.language.program import FIRST_VARIABLE, Instruction
from visakit.language.types import DataType
from vsim.analysis.control_flow import ControlFlow
from vsim.analysis.read_only_loops import LARGEST_STEP
from vsim.semantics.registers import Layout

_SIZES = (4, 8)


@dataclass(frozen=True)
class InductionVariable:
    """So many elements of a root variable, from a byte on, to which an instruction of a loop adds a number."""

    root: int
    low: int
    count: int
    data_type: DataType
    step: int
    pc: int
    loop: range


def induction_variables(flow: ControlFlow, layout: Layout, loops: Mapping[int, range]) -> list[InductionVariable]:
    """The induction variables of loops that no instruction writes by address; other instructions may write them."""
    found = []
    for pc, loop in loops.items():
        variable = _induction_variable(flow, layout, pc, loop)
        if variable and variable.root >= FIRST_VARIABLE and variable.root not in layout.file_offsets:
            found.append(variable)
    return found


def _induction_variable(flow: ControlFlow, layout: Layout, pc: int, loop: range) -> InductionVariable | None:
    """The induction variable that an instruction increments; None if it is no increment."""
    instruction = flow.function.instructions[pc]
    pair = _increment(instruction)
    if pair is None:
        return None
    operand, step = pair
    data_type, count = flow.function.variable_type(operand.var), instruction.args["exec"].size
    plain = all(x.modifier == NO_MODIFIER for x in (operand, step, instruction.args["dst"]))
    if not plain or not data_type.is_integer or data_type.size not in _SIZES or not 0 < step.bits <= LARGEST_STEP:
        return None
    root, low, _ = layout.place(operand)
    return InductionVariable(root, low, count, data_type, step.bits, pc, loop)


def _increment(instruction: Instruction) -> tuple[General, Immediate] | None:
    """Variable and constant of an addition to consecutive elements in place, for all lanes that run."""
    args = instruction.args
    if instruction.desc.semantics != "add" or args.get("pred") is not None:
        return None
    dst, one, other = args["dst"], args["src0"], args["src1"]
    if isinstance(one, Immediate):
        one, other = other, one
    if not (isinstance(dst, General) and isinstance(one, General) and isinstance(other, Immediate)) or not dst.var:
        return None
    count = args["exec"].size
    same = (dst.var, dst.row, dst.col) == (one.var, one.row, one.col)
    wanted = list(range(count))
    in_place = list(region_elements(dst.region, count)) == wanted == list(region_elements(one.region, count))
    return (one, other) if same and in_place and count > 1 else None
