"""Vector induction variables: the sum of the increments is a scalar, as long as all relevant lanes are active.

For a vector ``k`` of a loop that one instruction increments by a constant in each round, and nothing else in the loop
writes, a stack slot holds the sum of the increments. The distance between the values of ``k`` at two places of the loop
is then the distance of their scalars, in each lane that was active at every increment between them, provided that
nothing outside of the loop wrote ``k`` meanwhile. A user of the scalar keeps the *active* lanes, and is invalidated by
other writes of ``k``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from vsim.analysis.induction import InductionVariable
from vsim.engines.llvm.ir.base_offset import BaseOffset
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.types import ir_type
from vsim.engines.llvm.ir.values import Value


@dataclass(frozen=True)
class InductionSlot:
    """A stack slot that counts along with a counter."""

    name: str
    variable: InductionVariable

    @property
    def ir(self) -> str:
        return ir_type(self.variable.data_type, 1)


class InductionVariables:
    """The induction variables of a function's loops, known from its first emission on."""

    def __init__(self, b: Builder, variables: Sequence[InductionVariable]) -> None:
        self.b, self.variables = b, variables
        self.slots: dict[int, InductionSlot] = {}
        """By the incrementing instruction."""
        self.writers: set[int] = set()
        """Instructions that write an induction variable outside of its loop."""

    def forget(self) -> None:
        """Forget all variables."""
        self.slots, self.writers = {}, set()

    def learn(self, writers: Mapping[int, Set[int]]) -> None:
        """Learn which instructions write which root variables."""
        for n, variable in enumerate(self.variables):
            wrote = writers.get(variable.root, frozenset[int]())
            if wrote & set(variable.loop) == {variable.pc}:
                self.slots[variable.pc] = InductionSlot(f"%count{n}", variable)
                self.writers |= wrote - {variable.pc}

    def with_base_offset(self, loop: range | None, root: int, low: int, value: Value) -> Value:
        """A value read from a variable in a loop, with its base offset if it is an induction variable."""
        b = self.b
        for slot in self.slots.values():
            variable = slot.variable
            if (variable.loop, variable.root, variable.low, variable.count) != (loop, root, low, value.lanes):
                continue
            facts = value.facts
            is_unknown = not (facts.base_offset or facts.affine or facts.interleaved)
            if value.type.size == variable.data_type.size and is_unknown:
                scalar = Value(b, value.type, 1, b.assign(f"load {slot.ir}, ptr {slot.name}, align 8"))
                return value.copy(value.type).with_facts(base_offset=BaseOffset(None, scalar, loop))
        return value

    def increment(self, pc: int) -> None:
        """Count along with an instruction."""
        b, slot = self.b, self.slots[pc]
        before = b.assign(f"load {slot.ir}, ptr {slot.name}, align 8")
        b.emit(f"store {slot.ir} {b.assign(f'add {slot.ir} {before}, {slot.variable.step}')}, ptr {slot.name}, align 8")

    def made(self) -> list[str]:
        """Lines that make the slots."""
        return [f"  {slot.name} = alloca {slot.ir}, align 8" for slot in self.slots.values()]

    def cleared(self) -> list[str]:
        """Lines at the beginning of the function."""
        return [f"  store {slot.ir} 0, ptr {slot.name}, align 8" for slot in self.slots.values()]
