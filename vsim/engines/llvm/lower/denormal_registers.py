"""Registers that hold results of operations on floats alone, between blocks, where they may be denormals.

Where the processor takes denormal operands as zeros, a result is multiplied by one when a block ends, as readers in
other blocks may want its bits (``ir/denormals.py``); in a loop that adds to a register this takes as long as the sum.
If nothing but such results, and constants, is ever written to a register, its readers can do that instead, and
operations need not. As for affine registers, the first emission of a function makes the assumption from the writers so
far, and later ones check it.
"""

from __future__ import annotations

from collections.abc import Mapping

from visakit.language.types import DF, DataType, F
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.denormals import is_plain_constant
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.storage import VARIABLE, Key, Storage


class DenormalRegisters:
    """What registers hold in storage, in one emission.

    Args:
        assumed: the type of the floats of each such register; None: in the first emission, what writers left so far.
    """

    def __init__(self, b: Builder, storage: Storage, assumed: Mapping[Key, DataType] | None) -> None:
        self.b, self.storage = b, storage
        self.learns = assumed is None and b.takes_zeros
        self.assumed = assumed or {}
        self.found: dict[Key, DataType | None] = {}
        """The type of the results that were written so far; None if something else was."""
        self.wrong: set[Key] = set()
        """Registers to which something else was written, in spite of the assumption."""

    def learned(self) -> dict[Key, DataType]:
        """What later emissions may assume."""
        return {key: t for key, t in self.found.items() if t is not None}

    def learn(self, key: Key, value: Value) -> None:
        """A block leaves a value for others."""
        if not self.learns or _is_constant(value):
            return
        t = value.type if key[0] == VARIABLE and not self.storage.is_visible(key) and _is_result(value) else None
        self.found[key] = t if self.found.get(key, t) is t else None

    def differs(self, key: Key) -> None:
        """Something else is written to a register."""
        self.found[key] = None
        if key in self.assumed:
            self.wrong.add(key)

    def left(self, key: Key, value: Value) -> Value:
        """What goes to storage for a value."""
        t = self.assumed.get(key)
        if t is None or _is_constant(value):
            return value
        if value.type is not t or not _is_result(value):
            self.wrong.add(key)
            return value
        return value.facts.denormal or value

    def type_in(self, key: Key, wanted: DataType) -> DataType | None:
        """The type of the results that storage holds; None if it holds something else."""
        if not self.learns:
            return self.assumed.get(key)
        return self.found.get(key, wanted if wanted in (F, DF) and key[0] == VARIABLE else None)


def _is_result(value: Value) -> bool:
    return value.type in (F, DF) and value.facts.denormal is not None


def _is_constant(value: Value) -> bool:
    """Whether a value is a zero, or a constant that is no denormal."""
    return value.constant == 0 or (value.type in (F, DF) and is_plain_constant(value))
