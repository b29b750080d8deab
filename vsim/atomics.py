"""Global atomics: which instructions are one, and whether results depend on the order in which threads come."""

from __future__ import annotations

from collections.abc import Iterable

from visa.isa.enums import ATOMICS, LSC_ATOMICS, LSC_SFIDS
from visa.isa.record import InstructionDesc
from visa.program import SLM, Instruction
from vsim.refused import RAW_MESSAGES

_COMMUTES = ("add", "sub", "inc", "dec", "min", "max", "minsint", "maxsint", "and", "or", "xor")
_LSC_PREFIX = "lsc_atomic_"
_OP_NAMES = {v: k for k, v in ATOMICS.items()}


def is_local(instruction: Instruction) -> bool:
    """Whether a message goes to local memory."""
    return instruction.args.get("surface") == SLM or instruction.args.get("sfid") == LSC_SFIDS["slm"]


def _may_be_atomic(desc: InstructionDesc) -> bool:
    return "atomic" in desc.mnemonic or desc.semantics in RAW_MESSAGES


def global_atomic(instruction: Instruction, grf_size: int) -> Instruction | None:
    """The atomic on global memory or an image that an instruction is, a raw message as its twin; None if it is none."""
    if not _may_be_atomic(instruction.desc):
        return None
    if instruction.desc.semantics in RAW_MESSAGES:
        from vsim.semantics.messages import NoEquivalent, equivalent

        try:
            found = equivalent(instruction, grf_size)
        except NoEquivalent:
            return None
        return global_atomic(found, grf_size) if found else None
    return None if is_local(instruction) else instruction


def depends_on_order(instructions: Iterable[Instruction], grf_size: int) -> bool:
    """Whether global atomics give results that depend on which thread comes first: old values that are used, exchanges, sums of floats."""
    found = (global_atomic(i, grf_size) for i in instructions)
    return any(i is not None and (i.args["dst"].var or _operation(i) not in _COMMUTES) for i in found)


def _operation(atomic: Instruction) -> str:
    """What it does, by the data port's word for it."""
    name = atomic.desc.mnemonic
    return (
        LSC_ATOMICS[name.removeprefix(_LSC_PREFIX)]
        if name.startswith(_LSC_PREFIX)
        else _OP_NAMES.get(atomic.args["op"], "")
    )
