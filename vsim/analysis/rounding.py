"""Rounding modes: what %cr0 is known to hold at each instruction, by forward data flow over its bits.

A compiler sets the mode with constants around what needs it, such as the steps of an integer division, and restores it
by the same means. So it is known nearly everywhere, and where it is, only that mode need be computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from visakit.language.operands import NO_MODIFIER, Execution, General, Immediate, Raw
from visakit.language.program import Function, Instruction
from vsim.semantics.registers import ALL_BITS, CONTROL_UPDATES, CR0, ROUNDING_BITS, Layout

ROUNDING_SHIFT = 4
_WORDS = ("d", "ud")


@dataclass(frozen=True)
class Bits:
    """Bits of a dword: which are known, and what these hold (the others are 0 in ``value``)."""

    known: int
    value: int

    def meet(self, other: Bits) -> Bits:
        """What is known if either may be the case."""
        known = self.known & other.known & ~(self.value ^ other.value)
        return Bits(known, self.value & known)


UNKNOWN = Bits(0, 0)
ZEROS = Bits(ALL_BITS, 0)
"""What %cr0 of a thread begins with."""


def control_bits(
    function: Function,
    layout: Layout,
    blocks: Mapping[int, int],
    graph: Mapping[int, Set[int]],
    entry: tuple[int, Bits],
) -> dict[int, Bits]:
    """What %cr0 is known to hold where control enters each block that it can reach.

    Args:
        blocks: the end of each block, by its first instruction.
        graph: successors of each node; nodes that are no blocks leave %cr0 unchanged.
        entry: the node in front of all others, and what %cr0 holds there.
    """
    root, at_entry = entry
    found = {root: at_entry}
    ahead = [root]
    while ahead:
        node = ahead.pop()
        bits = found[node]
        if node in blocks:
            for pc in range(node, blocks[node]):
                bits = after(function, layout, function.instructions[pc], bits)
        for successor in graph.get(node, ()):
            old = found.get(successor)
            new = bits if old is None else old.meet(bits)
            if new != old:
                found[successor] = new
                ahead.append(successor)
    return found


def after(function: Function, layout: Layout, instruction: Instruction, bits: Bits) -> Bits:
    """The known bits of %cr0 behind an instruction."""
    if instruction.desc.flow.calls_function:
        return UNKNOWN
    written = [
        op
        for name, op in instruction.args.items()
        if not name.startswith("src") and isinstance(op, General | Raw) and layout.root(op.var)[0] == CR0
    ]
    if not written:
        return bits
    constant = _constant_update(function, layout, instruction)
    if constant is None:
        return UNKNOWN
    update = CONTROL_UPDATES[instruction.desc.semantics]
    low, high = update(bits.value, constant), update(bits.value | (ALL_BITS & ~bits.known), constant)
    known = ALL_BITS & ~(low ^ high)
    return Bits(known, low & known)


def rounding_mode(bits: Bits) -> int | None:
    """The rounding mode if it is known."""
    return (bits.value & ROUNDING_BITS) >> ROUNDING_SHIFT if bits.known & ROUNDING_BITS == ROUNDING_BITS else None


def _constant_update(function: Function, layout: Layout, instruction: Instruction) -> int | None:
    """The constant with which an instruction changes the first dword of %cr0, in all cases; None if it does something
    else.
    """
    args = instruction.args
    execution = args.get("exec")
    always = isinstance(execution, Execution) and execution.size == 1 and execution.no_mask and not args.get("pred")
    if not always or instruction.desc.semantics not in CONTROL_UPDATES:
        return None
    constants = []
    for name, op in args.items():
        if isinstance(op, Immediate):
            if op.type.name not in _WORDS or op.modifier != NO_MODIFIER:
                return None
            constants.append(op.bits & ALL_BITS)
        elif isinstance(op, General):
            if not _is_first_dword(function, layout, op):
                return None
        elif name.startswith("src"):
            return None
    return constants[0] if len(constants) == 1 else None


def _is_first_dword(function: Function, layout: Layout, op: General) -> bool:
    plain = op.row == op.col == 0 and op.modifier == NO_MODIFIER
    return plain and layout.root(op.var) == (CR0, 0) and function.variable_type(op.var).name in _WORDS
