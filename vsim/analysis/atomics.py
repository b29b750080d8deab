"""Global atomics: which instructions are one, and whether results depend on the order in which threads come."""

from __future__ import annotations

from collections.abc import Iterable

from visakit.isa.enums import ATOMICS, LSC_SFIDS
from visakit.isa.record import Access
from visakit.language.program import SLM, Instruction
from vsim.semantics.refused import RAW_MESSAGES

_COMMUTES = ("add", "sub", "inc", "dec", "min", "max", "minsint", "maxsint", "and", "or", "xor")
_OP_NAMES = {v: k for k, v in ATOMICS.items()}


def is_local(instruction: Instruction) -> bool:
    """Whether a message goes to local memory."""
    return instruction.args.get("surface") == SLM or instruction.args.get("sfid") == LSC_SFIDS["slm"]


def global_atomic(instruction: Instruction, grf_size: int) -> Instruction | None:
    """The atomic on global memory or an image that an instruction is (a raw message: its equivalent), or None."""
    if instruction.desc.semantics in RAW_MESSAGES:
        from vsim.semantics.messages import meaning

        instruction = meaning(instruction, grf_size)
    return instruction if instruction.desc.access is Access.ATOMIC and not is_local(instruction) else None


def depends_on_order(instructions: Iterable[Instruction], grf_size: int) -> bool:
    """Whether global atomics give results that depend on which thread comes first.

    Old values that are used do, exchanges, and sums of floats.
    """
    found = (global_atomic(i, grf_size) for i in instructions)
    return any(i is not None and (i.args["dst"].var or _operation(i) not in _COMMUTES) for i in found)


def _operation(atomic: Instruction) -> str:
    """The operation by the data port's name: a field of the data port's own instructions, the table for LSC ones."""
    if "op" in atomic.args:
        return _OP_NAMES.get(atomic.args["op"], "")
    return atomic.desc.operation
