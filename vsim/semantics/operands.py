"""What operands mean before an engine fetches them: addresses in an indirect region, elements of packed immediates."""

from __future__ import annotations

from visakit.language import types
from visakit.language.operands import Immediate, Indirect, region_elements


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
