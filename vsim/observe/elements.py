"""Elements of vector variables, for messages about kernels of one work-item a thread: their lanes are elements."""

from __future__ import annotations

from visakit.isa.enums import LSC_ADDRESS_SIZES
from visakit.isa.record import Access
from visakit.language.operands import Indirect, Raw
from visakit.language.program import Function, Instruction
from vsim.semantics.messages import meaning
from vsim.semantics.operands import indirect_elements

_ADDRESS_BYTES = {LSC_ADDRESS_SIZES[name]: size for name, size in (("a16", 2), ("a32", 4), ("a64", 8))}
_BLOCK_BYTES = 4
"""Bytes of a lane where a message has one address."""


def element_of(function: Function, instruction: Instruction, lane: int, grf_size: int) -> str:
    """The element that belongs to a lane of an instruction, as "element 5 of 'A', "; empty where lanes are work-items,
    or the element is unknown.

    It is the element with the address, of a variable or of an address variable; of a message with one address the
    loaded or stored element.

    Args:
        lane: counted within the instruction.
    """
    if not function.is_cm or lane < 0:
        return ""
    instruction = meaning(instruction, grf_size)
    args, execution = instruction.args, instruction.args.get("exec")
    for op in args.values():
        if isinstance(op, Indirect) and execution is not None and lane < execution.size:
            element = indirect_elements(op, execution.size)[0][lane]
            return f"element {element} of '{function.addresses[op.var].name}', "
    each = {"addresses": 8, "offsets": 4, "addr": _ADDRESS_BYTES.get(args.get("addr_size", 0), 0)}
    name = next((n for n in each if isinstance(args.get(n), Raw)), "")
    if name and each[name] and execution is not None and lane < execution.size:
        return _element(function, args[name], each[name] * lane)
    data = {Access.LOAD: ("dst",), Access.STORE: ("src", "src1")}.get(instruction.desc.access, ())
    raw = next((args[n] for n in data if isinstance(args.get(n), Raw)), None)
    return "" if name or raw is None else _element(function, raw, _BLOCK_BYTES * lane)


def _element(function: Function, raw: Raw, byte: int) -> str:
    if not raw.var:
        return ""
    size = function.variable_type(raw.var).size
    return f"element {(raw.offset + byte) // size} of '{function.variable_name(raw.var)}', "
