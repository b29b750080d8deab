"""Writes of one lane each that a compiler makes of a private array in registers, which each lane indexes for itself::

    setp (M1_NM, 8) P3 0x1:ud
    (P3) mov (M1, 8) r[A0(0),0]<1>:d V1(0,0)<0;1,0>
    setp (M1_NM, 8) P4 0x2:ud
    (P4) mov (M1, 8) r[A0(1),0]<1>:d V1(0,1)<0;1,0>

and so on for all lanes of the instruction: one write of all lanes, at separate places.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from visakit.language.operands import (
    CONSECUTIVE,
    SCALAR,
    Execution,
    General,
    Immediate,
    Indirect,
    Predicate,
    PredicateControl,
    region_elements,
)
from visakit.language.program import FIRST_VARIABLE, Function, Instruction
from vsim.semantics.registers import Layout

_STEP = 2
"""Instructions from one lane's write to the next one's."""


@dataclass(frozen=True)
class LaneWrites:
    """Writes of one element of each lane, to separate places.

    Attributes:
        target: the operand of lane 0; lane n has the n-th element of the address variable after this one's.
        source: a row of elements.
    """

    first: int
    target: Indirect
    source: General
    execution: Execution

    @property
    def instructions(self) -> range:
        """The numbers of the writing instructions, by lane."""
        return range(self.first, self.first + _STEP * self.execution.size, _STEP)

    @property
    def elements(self) -> range:
        """The elements of the address variable, by lane."""
        return range(self.target.element, self.target.element + self.execution.size)


def lane_writes(function: Function, layout: Layout, blocks: Iterable[tuple[int, int]]) -> list[LaneWrites]:
    """All such writes in blocks, from one instruction to before another."""
    code, found = function.instructions, list[LaneWrites]()
    for start, end in blocks:
        pc = start + 1
        while pc < end:
            execution = code[pc].args.get("exec")
            last = pc + _STEP * (execution.size - 1) if isinstance(execution, Execution) else end
            one = _of_all(function, layout, code[pc - 1 : last + 1], pc) if last < end else None
            found += [one] if one else []
            pc = last + 1 if one else pc + 1
    return found


def _of_all(function: Function, layout: Layout, code: Sequence[Instruction], pc: int) -> LaneWrites | None:
    """What pairs of instructions write, if they are the writes of all lanes."""
    first = code[1].args
    target, source, execution = first.get("dst"), first.get("src0"), first["exec"]
    if not isinstance(target, Indirect) or not isinstance(source, General) or source.region != SCALAR:
        return None
    root, low, size = layout.place(source)
    has_elements = layout.has_elements(target.var, target.element, target.element + execution.size)
    if not has_elements or root < FIRST_VARIABLE or root in layout.file_offsets or execution.size == 1:
        return None
    if region_elements(target.region, execution.size) != region_elements(CONSECUTIVE, execution.size):
        return None
    if function.variable_type(source.var) is not target.type or source.modifier or target.modifier:
        return None
    for lane, (setp, mov) in enumerate(zip(code[::2], code[1::2], strict=True)):
        if not _is_only_lane(setp, mov, execution, lane):
            return None
        to, element = mov.args["dst"], mov.args["src0"]
        if to != replace(target, element=target.element + lane) or not isinstance(element, General):
            return None
        moved = replace(element, row=source.row, col=source.col) == source
        if not moved or layout.place(element) != (root, low + lane * size, size):
            return None
    if not layout.holds(root, low, low + execution.size * size):
        return None
    return LaneWrites(pc, target, replace(source, region=CONSECUTIVE), execution)


def _is_only_lane(setp: Instruction, mov: Instruction, execution: Execution, lane: int) -> bool:
    """Whether an instruction is a copy under a predicate that the one before has set for one lane."""
    predicate = mov.args.get("pred")
    if mov.desc.semantics != "mov" or mov.args["exec"] != execution:
        return False
    if setp.desc.semantics != "setp":
        return False
    bits, own, to = setp.args["src0"], setp.args["exec"], setp.args["dst"]
    if not isinstance(bits, Immediate) or not isinstance(to, Predicate) or predicate != PredicateControl(to.var):
        return False
    covers = own.offset <= execution.offset and execution.offset + execution.size <= own.offset + own.size
    is_one: bool = bits.bits << own.offset == 1 << execution.offset + lane
    return own.no_mask and covers and is_one
