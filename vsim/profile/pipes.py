"""The pipe of an executed instruction, in the words of GTPin: FPU, INT, EM, XMX, CONTROL, SEND and its unit."""

from __future__ import annotations

from visakit.isa.enums import LSC_SFIDS, SHARED_FUNCTIONS
from visakit.isa.record import MemoryKind, Pipe
from visakit.language.operands import Predicate
from visakit.language.program import Function, Instruction
from vsim.analysis.atomics import is_local
from vsim.semantics.messages import meaning
from vsim.semantics.raw_message import NoEquivalent
from vsim.semantics.registers import operand_type

FPU, INT, SEND = "FPU", "INT", "SEND"
_LSC_UNITS = {number: name for name, number in LSC_SFIDS.items()}
_UNITS = {number: name for name, number in SHARED_FUNCTIONS.items() if name.isalpha() and number}
_BY_MEMORY = {MemoryKind.FLAT: "hdc", MemoryKind.SURFACE: "hdc", MemoryKind.URB: "urb"}


def pipe_of(function: Function, instruction: Instruction, grf_size: int) -> str:
    """The pipe of an instruction of a function: ``SEND`` with its unit behind a point; empty for a directive.

    An instruction of the table's pipe ALU is FPU or INT by the type of its destination; of its first source if it
    writes a predicate.
    """
    pipe = instruction.desc.pipe
    if pipe is Pipe.NOTHING:
        return ""
    if pipe is Pipe.SEND:
        return f"{SEND}.{_unit(instruction, grf_size)}"
    if pipe is not Pipe.ALU:
        return pipe.name
    args = instruction.args
    typed = args.get("dst")
    if typed is None or isinstance(typed, Predicate):
        typed = args.get("src0", typed)
    return FPU if operand_type(function, typed).is_float else INT


def _unit(instruction: Instruction, grf_size: int) -> str:
    """The unit that a message goes to, by its name in assembly text; hdc is the data port before LSC."""
    try:
        instruction = meaning(instruction, grf_size)
    except NoEquivalent:
        return _UNITS.get(instruction.args.get("sfid", 0), "unknown")
    desc, args = instruction.desc, instruction.args
    if is_local(instruction):
        return "slm"
    if desc.category == "lsc":
        return "tgm" if desc.memory is MemoryKind.IMAGE else _LSC_UNITS.get(args.get("sfid", 0), "ugm")
    if desc.flow.is_barrier or desc.category == "misc":
        return "gateway" if desc.flow.is_barrier else _UNITS.get(args.get("sfid", 0), "unknown")
    if desc.memory is MemoryKind.IMAGE and desc.category == "sampler":
        return "sampler"
    return _BY_MEMORY.get(desc.memory, "hdc")
