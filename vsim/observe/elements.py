"""Elements of variables, for messages about what belongs to no work-item: elements of blocks, and those of vectors in
kernels of one work-item a thread, whose lanes are elements.
"""

from __future__ import annotations

from visakit.isa.enums import LSC_ADDRESS_SIZES
from visakit.isa.record import Access
from visakit.language.operands import Indirect, Raw
from visakit.language.program import Function, Instruction
from visakit.rules.message_sizes import block_element
from vsim.semantics.messages import meaning
from vsim.semantics.operands import indirect_elements

_ADDRESS_BYTES = {LSC_ADDRESS_SIZES[name]: size for name, size in (("a16", 2), ("a32", 4), ("a64", 8))}
_LANE_BYTES = 4
"""Bytes of a lane where a message has one address."""


def element_of(function: Function, instruction: Instruction, lane: int, grf_size: int) -> tuple[str, bool]:
    """The element that belongs to a lane of an instruction, as "element 5 of 'A', ", empty where lanes are work-items,
    or the element is unknown; and whether it is one of a block, which belongs to the whole thread.

    It is the element with the address, of a variable or of an address variable; of a message with one address the
    loaded or stored element.

    Args:
        lane: counted within the instruction; of a block the number of the element.
    """
    if lane < 0:
        return "", False
    instruction = meaning(instruction, grf_size)
    if size := block_element(instruction):
        return _loaded_or_stored(function, instruction, size * lane), True
    return _element_of_lane(function, instruction, lane) if function.is_cm else "", False


def _element_of_lane(function: Function, instruction: Instruction, lane: int) -> str:
    args, execution = instruction.args, instruction.args.get("exec")
    for op in args.values():
        if isinstance(op, Indirect) and execution is not None and lane < execution.size:
            element = indirect_elements(op, execution.size)[0][lane]
            return f"element {element} of '{function.addresses[op.var].name}', "
    each = {"addresses": 8, "offsets": 4, "addr": _ADDRESS_BYTES.get(args.get("addr_size", 0), 0)}
    name = next((n for n in each if isinstance(args.get(n), Raw)), "")
    if name and each[name] and execution is not None and lane < execution.size:
        return _element(function, args[name], each[name] * lane)
    return "" if name else _loaded_or_stored(function, instruction, _LANE_BYTES * lane)


def _loaded_or_stored(function: Function, instruction: Instruction, byte: int) -> str:
    args, data = instruction.args, {Access.LOAD: ("dst",), Access.STORE: ("src", "src1")}
    raw = next((args[n] for n in data.get(instruction.desc.access, ()) if isinstance(args.get(n), Raw)), None)
    return "" if raw is None else _element(function, raw, byte)


def _element(function: Function, raw: Raw, byte: int) -> str:
    if not raw.var:
        return ""
    size = function.variable_type(raw.var).size
    return f"element {(raw.offset + byte) // size} of '{function.variable_name(raw.var)}', "
