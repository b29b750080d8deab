"""The suffixes of mnemonics, such as ``.sat`` and ``.ugm``: which field each sets, and to which value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple


@dataclass(frozen=True, eq=False)
class Choice:
    """A suffix that selects one of several values of a field. With a default it may be missing."""

    field: str
    values: dict[str, int]
    default: int | None = None

    @cached_property
    def names(self) -> dict[int, str]:
        return {v: k for k, v in reversed(self.values.items())}


class Flag(NamedTuple):
    """A suffix that sets a field to 1. Without a field it is accepted and not stored."""

    field: str
    word: str


class Hint(NamedTuple):
    """A suffix that counts for nothing, in front of one of the same words; the bytes have no place for it."""

    name: str
    values: dict[str, int]


class Number(NamedTuple):
    """A suffix that is an integer; ``prefix`` and ``base`` say how it is written."""

    field: str
    prefix: str = ""
    base: int = 10


class Saturate:
    """``.sat`` behind a mnemonic: stored as the modifier of the destination."""


class FenceFlags(NamedTuple):
    """The letters behind a fence, one bit each."""

    letters: tuple[tuple[str, str, int], ...] = (
        ("L1", "l1", 1),
        ("E", "flush", 1),
        ("I", "flush", 2),
        ("S", "flush", 4),
        ("C", "flush", 8),
        ("R", "flush", 16),
    )


class TargetFlags(NamedTuple):
    """The ``<RTI><A>...`` flags of a render-target write, bits of ``mode``."""

    bits: tuple[tuple[str, int], ...]


Suffix = Choice | Flag | Hint | Number | Saturate | FenceFlags | TargetFlags

SAT = Saturate()
CHANNELS = {"".join(c for i, c in enumerate("RGBA") if mask >> i & 1): mask for mask in range(1, 16)}
