"""Which instructions are about a hardware thread as a whole, so that they leave out lanes where the thread has
diverged (manual: chapter 3, "Mixing Uniform and Divergent Control Flow"; RET; LSC_UNTYPED).
"""

from __future__ import annotations

from visakit.isa.enums import LSC_ORDERS
from visakit.isa.record import Flow, MemoryKind
from visakit.language.operands import Execution
from visakit.language.program import Instruction

JUMPED_OVER, ENDED, BLOCK_OFF = "K023", "K024", "K025"
"""Codes: a jump of the whole thread over a label where lanes wait; a return of the whole thread while lanes wait; a
block that is not moved, as its lane is off.
"""


def code_of_lanes_left(instruction: Instruction) -> str:
    """The code of findings about waiting lanes that a jump or return of a whole thread skips; empty for instructions
    of lanes. A ``goto`` of size 1 moves all running lanes, and skips none.
    """
    flow = instruction.desc.flow
    if flow.is_scalar_jump:
        return JUMPED_OVER
    return ENDED if flow is Flow.RETURN and instruction.args["exec"].size == 1 else ""


def lane_of_block(instruction: Instruction) -> int | None:
    """The lane by whose execution mask a message moves a block for the whole thread; None for other instructions, and
    for blocks that are moved in any case, or as a predicate says.
    """
    args = instruction.args
    execution: Execution | None = args.get("exec")
    if execution is None or execution.size != 1 or execution.no_mask or args.get("pred") is not None:
        return None
    if instruction.desc.memory is MemoryKind.NONE:
        return None
    is_block = args.get("order") == LSC_ORDERS["t"] or "blocks" in args
    return execution.offset if is_block else None
