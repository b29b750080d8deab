"""Register offsets of the values that ze_info names, in the registers that a hardware thread starts with.

::

    r0 | local ids of the thread's lanes | inline data | other arguments and sizes
       |                                 ^ offset 0 of ze_info
       ^ one register
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from visakit.language.program import Input
from visakit.objects.ze_info import KernelInfo, PayloadField

_ONE_REGISTER_SKIPPED = ("skl", "icllp", "tgllp")
"""Platforms that leave room for a register of local ids where the kernel wants none."""

PlacedField = tuple[int, PayloadField]
"""A value with its place in bytes from the first register."""


class PayloadPlaces(NamedTuple):
    """Offsets of all parts of a payload, in bytes from the first register.

    Attributes:
        ids: bytes of local ids, whole registers; they begin with the second register.
        start: where ze_info's offset 0 is.
        fields: the values, in ze_info's order.
    """

    ids: int
    start: int
    fields: list[PlacedField]


def payload_places(info: KernelInfo, grf_size: int, platform: str, inputs: Sequence[Input]) -> PayloadPlaces:
    """The places of a kernel's values.

    Args:
        grf_size: bytes of a register.
        inputs: the inputs of the kernel's text.
    """
    ids = round_up(info.per_thread_size, grf_size)
    start = grf_size + ids
    if not ids and platform in _ONE_REGISTER_SKIPPED:
        start += grf_size
    beyond = start + round_up(info.inline_size, grf_size) - info.inline_size
    beyond += _skipped(info, beyond, {item.offset for item in inputs})
    pieces = [piece for field in info.payload for piece in _pieces(field, info.inline_size)]
    fields = [((start if f.offset < info.inline_size else beyond) + f.offset, f) for f in pieces]
    return PayloadPlaces(ids, start, fields)


def _skipped(info: KernelInfo, beyond: int, taken: set[int]) -> int:
    """Bytes before the first value after the inline data, which begins at a multiple of its alignment.

    Offsets in ze_info do not count them. Pointers to local memory have the alignment of their target, vectors by value
    that of their size. Structures have none, so that the occupied places decide.
    """
    first = min(
        (f for f in info.payload if f.size and f.offset >= info.inline_size), key=lambda f: f.offset, default=None
    )
    if first is None or not info.inline_size:
        return 0
    at = beyond + first.offset
    aligned = round_up(at, first.slm_alignment if first.is_local_pointer else first.size)
    return aligned - at if aligned in taken and at not in taken else 0


def _pieces(field: PayloadField, inline_size: int) -> list[PayloadField]:
    """A value in registers: a structure that begins in the inline data continues after the gap."""
    inside = inline_size - field.offset
    if field.kind != "arg_byvalue" or not 0 < inside < field.size:
        return [field]
    rest = field._replace(offset=inline_size, size=field.size - inside, source_offset=field.source_offset + inside)
    return [field._replace(size=inside), rest]


def round_up(size: int, step: int) -> int:
    """The next multiple of a step."""
    return -(-size // step) * step
