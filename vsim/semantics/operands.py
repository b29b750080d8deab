"""What operands mean before an engine fetches them: addresses in an indirect region, elements of packed immediates."""

from __future__ import annotations

from visakit.diagnostics import RegisterValue
from visakit.language import types
from visakit.language.operands import (
    Address,
    Execution,
    General,
    Immediate,
    Indirect,
    Raw,
    VectorOperand,
    region_elements,
)
from visakit.language.program import Function, Instruction


def indirect_elements(op: Indirect, count: int) -> tuple[list[int], list[int]]:
    """For each lane of an indirect region the element of the address variable, and the bytes that are added to it.

    ``r[A0(0),8]<4;2,1>:d`` has one address for all lanes: elements 0, 0, 0, 0 and bytes 8, 12, 24, 28.
    ``r[A0(0),8]<2,1>:d`` (rows without a vertical stride) has one for each row: elements 0, 0, 1, 1, bytes 8, 12, 8,
    12.
    """
    vertical, width, horizontal = op.region
    if vertical is None and width is not None:
        elements = [op.element + lane // width for lane in range(count)]
        within = region_elements((0, width, horizontal), count)
    else:
        elements = [op.element] * count
        within = region_elements((vertical, width, horizontal), count)
    return elements, [op.offset + n * op.type.size for n in within]


def address_register(
    function: Function, instruction: Instruction, lane: int, address: int
) -> tuple[RegisterValue, ...]:
    """The element of an address variable that led to a register; none where several operands may have done so.

    Args:
        lane: counted from the first one of the instruction.
        address: of the register.
    """
    operands = [op for op in instruction.args.values() if isinstance(op, Indirect)]
    execution: Execution | None = instruction.args.get("exec")
    if len(operands) != 1 or execution is None or lane >= execution.size:
        return ()
    elements, added = indirect_elements(operands[0], execution.size)
    name = f"{function.addresses[operands[0].var].name}({elements[lane]})"
    return (RegisterValue(name, str(types.UD), execution.offset + lane, str(address - added[lane])),)


def is_lane_source(op: VectorOperand | Raw, count: int, by_lane: bool, execution: Execution | None) -> bool:
    """Whether an operand of so many elements is a register of which each lane has one, or all lanes the same one.

    Args:
        by_lane: whether the reader of a raw operand reads by lane.
    """
    is_register = isinstance(op, Address) or (isinstance(op, General | Raw) and op.var != 0)
    is_of_lanes = by_lane or not isinstance(op, Raw)
    return is_register and is_of_lanes and (count == 1 or (execution is not None and count == execution.size))


def packed_elements(op: Immediate) -> list[int] | list[float] | None:
    """The elements of a packed-vector immediate; None if it is a plain number.

    ``v`` packs signed nibbles, ``uv`` unsigned ones, ``vf`` 8-bit floats.
    """
    if op.type is types.VF:
        return [_small_float(op.bits >> (8 * n) & 255) for n in range(4)]
    if op.type not in (types.V, types.UV):
        return None
    nibbles = [op.bits >> (4 * n) & 15 for n in range(8)]
    return [n - 16 if op.type is types.V and n > 7 else n for n in nibbles]


def _small_float(code: int) -> float:
    """Sign, three bits of exponent (excess 3), four of fraction; zeros, but no subnormals, infinities or NaNs."""
    magnitude = 2.0 ** ((code >> 4 & 7) - 3) * (1 + (code & 15) / 16) if code & 127 else 0.0
    return -magnitude if code & 128 else magnitude
