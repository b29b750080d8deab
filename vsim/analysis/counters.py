"""Variables that a loop counts up by a constant in each round, lane by lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from visakit.language.operands import NO_MODIFIER, General, Immediate, region_elements
from visakit.language.program import FIRST_VARIABLE, Instruction
from visakit.language.types import DataType
from vsim.analysis.control_flow import ControlFlow
from vsim.analysis.quiet_loops import LARGEST_STEP
from vsim.semantics.registers import Layout

_SIZES = (4, 8)


@dataclass(frozen=True)
class Counter:
    """So many elements of a root variable, from a byte on, to which an instruction of a loop adds a number."""

    root: int
    low: int
    count: int
    data_type: DataType
    step: int
    pc: int
    loop: range


def counters(flow: ControlFlow, layout: Layout, loops: Mapping[int, range], grf_size: int) -> list[Counter]:
    """What the instructions of loops count up, unless it can be written by address; somebody else may write it, too."""
    found = []
    for pc, loop in loops.items():
        counter = _counted(flow, layout, pc, loop, grf_size)
        if counter and counter.root >= FIRST_VARIABLE and counter.root not in layout.file_offsets:
            found.append(counter)
    return found


def _counted(flow: ControlFlow, layout: Layout, pc: int, loop: range, grf_size: int) -> Counter | None:
    """What an instruction counts up; None if it does something else."""
    instruction = flow.function.instructions[pc]
    pair = _parts(instruction)
    if pair is None:
        return None
    variable, step = pair
    data_type, count = flow.function.variable_type(variable.var), instruction.args["exec"].size
    plain = all(x.modifier == NO_MODIFIER for x in (variable, step, instruction.args["dst"]))
    if not plain or not data_type.is_integer or data_type.size not in _SIZES or not 0 < step.bits <= LARGEST_STEP:
        return None
    root, start = layout.root(variable.var)
    low = start + variable.row * grf_size + variable.col * data_type.size
    return Counter(root, low, count, data_type, step.bits, pc, loop)


def _parts(instruction: Instruction) -> tuple[General, Immediate] | None:
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
