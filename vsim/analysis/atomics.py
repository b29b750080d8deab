"""Global atomics: which instructions are one, and whether results depend on the order in which threads come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from visakit.isa.enums import ATOMICS, LSC_SFIDS
from visakit.isa.record import Access
from visakit.language.program import SLM, Function, Instruction
from vsim.semantics.refused import RAW_MESSAGES

_FAMILIES = {
    "add": "sum", "sub": "sum", "inc": "sum", "dec": "sum", "min": "min", "max": "max", "minsint": "minsint",
    "maxsint": "maxsint", "and": "and", "or": "or", "xor": "xor",
}  # fmt: skip
"""Operations whose order does not count among those of one family; it does among those of different ones."""
_BITWISE = ("and", "or", "xor")
_OP_NAMES = {v: k for k, v in ATOMICS.items()}
Kind = tuple[str, object]
"""A family of atomics, and what says the size of an element; None for bitwise ones, where the size does not count."""


class ThreadOrder(NamedTuple):
    """Whether results of a kernel depend on the order in which threads come.

    Attributes:
        counts: whether the results of every launch depend on the order.
        apart: else those of a launch do in which two of these share memory, to which atomics of different kinds go:
            places of pointers in the payload (0 and above), and numbers of surfaces (inverted, so below 0).
    """

    counts: bool
    apart: tuple[int, ...] = ()


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
    """Whether global atomics may give results that depend on which thread comes first.

    Old values that are used do, exchanges, sums of floats, and operations of different kinds on one element.
    """
    found = [atomic for i in instructions if (atomic := global_atomic(i, grf_size)) is not None]
    kinds = {_kind(atomic) for atomic in found}
    return None in kinds or len(kinds) > 1


def order(functions: Iterable[Function], grf_size: int, pointers: frozenset[int]) -> ThreadOrder:
    """What the order of threads means to a kernel and the functions that it may call.

    Args:
        functions: the kernel first.
        pointers: places of pointers in the kernel's payload.
    """
    kernel, *others = functions
    if not depends_on_order((i for f in (kernel, *others) for i in f.instructions), grf_size):
        return ThreadOrder(False)
    found = {n: atomic for n, i in enumerate(kernel.instructions) if (atomic := global_atomic(i, grf_size)) is not None}
    kinds = [_kind(atomic) for atomic in found.values()]
    if None in kinds or any(global_atomic(i, grf_size) for f in others for i in f.instructions):
        return ThreadOrder(True)
    from vsim.analysis.lanes.atomic_places import places_of  # which few kernels need

    kinds_at: dict[int | None, set[Kind | None]] = {}
    for place, kind in zip(places_of(kernel, grf_size, pointers, found), kinds, strict=True):
        kinds_at.setdefault(place, set()).add(kind)
    if None in kinds_at or any(len(own) > 1 for own in kinds_at.values()):
        return ThreadOrder(True)
    return ThreadOrder(False, tuple(sorted(place for place in kinds_at if place is not None)))


def _kind(atomic: Instruction) -> Kind | None:
    """The kind of an atomic; None if its result depends on the order even among its own kind."""
    family = _FAMILIES.get(_operation(atomic))
    if atomic.args["dst"].var or family is None:
        return None
    return family, None if family in _BITWISE else (atomic.args.get("data_size"), atomic.args.get("width"))


def _operation(atomic: Instruction) -> str:
    """The operation by the data port's name: a field of the data port's own instructions, the table for LSC ones."""
    if "op" in atomic.args:
        return _OP_NAMES.get(atomic.args["op"], "")
    return atomic.desc.operation
