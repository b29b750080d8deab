"""What the check of undefined values wants of an engine, and the codes of its findings."""

from __future__ import annotations

from typing import Protocol

from visakit.language.operands import Raw, VectorOperand
from visakit.language.program import Instruction
from visakit.language.types import DataType
from vsim.checks.shadows import TypeOf
from vsim.semantics.algebra import Lanes, Mask, Read, Space, Write

BRANCH, ADDRESS, ATOMIC, STORED, MASK = "K010", "K011", "K012", "K013", "K014"
"""Codes: an undefined value decides where lanes go, is an address, an operand of an atomic, is left in a buffer,
decides which lanes access memory.
"""


class ShadowMachine(Protocol):
    """What an engine offers for shadows: registers and memory for them, and a place for findings.

    Operands are those of :class:`vsim.semantics.algebra.Machine`, of which readers give undefined bits in an unsigned
    type of the elements' size, and writers take them so.
    """

    type_of_lanes: TypeOf

    def reader(self, op: VectorOperand, count: int, by_lane: bool) -> Read:
        """The undefined bits of a register operand."""

    def writer(self, op: VectorOperand, count: int) -> Write:
        """Stores undefined bits of a register operand."""

    def raw_reader(self, op: Raw, offset: int, count: int, data_type: DataType, by_lane: bool) -> Read:
        """The undefined bits of a part of a raw operand."""

    def raw_writer(self, op: Raw, offset: int, count: int, data_type: DataType) -> Write:
        """Stores them."""

    def predicate_reader(self, index: int, offset: int, count: int) -> Read:
        """The undefined lanes of a predicate, as a mask."""

    def predicate_writer(self, index: int, offset: int, count: int) -> Write:
        """Stores them."""

    def predicate_as_integer(self, index: int) -> Read:
        """The undefined lanes of a predicate as the bits of one UD lane."""

    def nowhere(self, count: int) -> Mask:
        """The mask that holds in none of so many lanes."""

    def is_defined(self, shadow: Lanes) -> bool:
        """Whether it is known that a shadow is all zeros."""

    def any_lane(self, mask: Mask) -> Mask:
        """One lane: whether a mask holds in any."""

    def is_tracked(self, variable: int) -> bool:
        """Whether a variable has a shadow; variables with thread numbers, and those set up at entry, have none."""

    def beside(self, space: Space, address: Lanes) -> tuple[Space, Lanes] | None:
        """The memory of shadows of a space, and the address there; None for one that is always defined, as images
        are.
        """

    def origins(self, space: Space, address: Lanes) -> tuple[Space, Lanes] | None:
        """The memory of origins of a space: for each dword, the instruction that left undefined bytes; None where the
        end of the launch does not report them.
        """

    def load_elements(
        self, space: Space, address: Lanes, data_type: DataType, count: int, mask: Mask, instruction: Instruction
    ) -> list[Lanes]:
        """As the machine's own, but no other check watches it."""

    def store_elements(
        self, space: Space, address: Lanes, values: list[Lanes], mask: Mask, instruction: Instruction
    ) -> None:
        """As the machine's own, but no other check watches it."""

    def report(self, code: str, lanes: Mask) -> None:
        """A finding of the instruction that executes if a mask holds in any lane, once for a thread."""

    def note_left(self, lanes: Mask) -> int:
        """Note that the instruction that executes leaves undefined bytes in lanes; the number by which :meth:`origins`
        knows it, which is not 0.
        """
