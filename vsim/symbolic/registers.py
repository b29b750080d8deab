"""Registers whose contents are terms: bytes of variables, bits of predicates, elements of address variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import z3

from visakit.language.program import FIRST_VARIABLE
from vsim.semantics.registers import Layout
from vsim.symbolic import terms
from vsim.symbolic.terms import Condition, Term

PREDICATE_BITS = 32


class Piece(NamedTuple):
    """A byte of a term: the term, its bytes, and the number of the byte."""

    whole: Term
    size: int
    byte: int


ZERO = Piece(0, 1, 0)


def pieces_of(x: Term, size: int) -> list[Piece]:
    """The bytes of a term of ``size`` bytes."""
    return [Piece(x, size, k) for k in range(size)]


def joined(pieces: list[Piece]) -> Term:
    """The term that bytes are, the lowest first; one that was stored in one piece comes back as it was."""
    first, count = pieces[0], len(pieces)
    if all(isinstance(p.whole, int) for p in pieces):
        return sum((p.whole >> (8 * p.byte) & 255) << (8 * k) for k, p in enumerate(pieces))
    together = all(p.size == first.size and p.byte == first.byte + k for k, p in enumerate(pieces))
    if together and all(terms.same_term(p.whole, first.whole) for p in pieces):
        return terms.extract(first.whole, 8 * first.byte, 8 * count, 8 * first.size)
    return z3.simplify(z3.Concat(*[terms.expression(_byte(p), 8) for p in reversed(pieces)]))


def _byte(p: Piece) -> Term:
    return terms.extract(p.whole, 8 * p.byte, 8, 8 * p.size)


Contents = Callable[[int, int], list[Piece]]
"""Bytes with which a root variable of a number and a size begins."""


def zeros(root: int, size: int) -> list[Piece]:
    """Contents of variables of a kernel that starts."""
    return [ZERO] * size


def unknown(root: int, size: int) -> list[Piece]:
    """Contents of which nothing is known: a symbol ``r<root>.<byte>`` for each byte."""
    return [Piece(z3.BitVec(f"r{root}.{k}", 8), 1, 0) for k in range(size)]


class SymbolicRegisters:
    """The registers of one activation of a function.

    Args:
        contents: of variables that were not written yet.
        predicates: the bits of a predicate that was not written yet.
        states: an element of a surface or sampler variable that was not written yet.
        check: called for each element that is read, as some instructions read thousands.
    """

    def __init__(
        self,
        layout: Layout,
        contents: Contents = zeros,
        predicates: Callable[[int], list[Condition]] = lambda number: [False] * PREDICATE_BITS,
        states: Callable[[int, int, int], Term] = lambda kind, index, element: 0,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.check = check
        self.layout, self.contents, self.new_predicate, self.new_state = layout, contents, predicates, states
        self._bytes: dict[int, list[Piece]] = {}
        self._predicates: dict[int, list[Condition]] = {}
        self._addresses: dict[int, list[Term]] = {}
        self.states: dict[tuple[int, int, int], Term] = {}

    def copy(self) -> SymbolicRegisters:
        """The same contents, which change apart from these."""
        found = SymbolicRegisters(self.layout, self.contents, self.new_predicate, self.new_state, self.check)
        found._bytes = {key: list(own) for key, own in self._bytes.items()}
        found._predicates = {key: list(own) for key, own in self._predicates.items()}
        found._addresses = {key: list(own) for key, own in self._addresses.items()}
        found.states = dict(self.states)
        return found

    def give_back(self, to: SymbolicRegisters) -> None:
        """Let other registers have these contents, in the lists that they have; new contents are forgotten."""
        pairs = ((self._bytes, to._bytes), (self._predicates, to._predicates), (self._addresses, to._addresses))
        for own, other in pairs:
            for key in [key for key in other if key not in own]:
                del other[key]
            for key, found in own.items():
                other.setdefault(key, [])[:] = found
        to.states = dict(self.states)

    def bytes_of(self, root: int) -> list[Piece]:
        """The bytes of a root variable, to read and to change."""
        found = self._bytes.get(root)
        if found is None:
            size = self.layout.sizes[root] if root >= FIRST_VARIABLE else self.layout.room(root)
            found = self._bytes[root] = self.contents(root, size)
        return found

    def predicate(self, number: int) -> list[Condition]:
        """The bits of a predicate variable, to read and to change."""
        if number not in self._predicates:
            self._predicates[number] = self.new_predicate(number)
        return self._predicates[number]

    def address(self, number: int) -> list[Term]:
        """The elements of an address variable, to read and to change."""
        if number not in self._addresses:
            self._addresses[number] = [0] * max(1, self.layout.function.addresses[number].elements)
        return self._addresses[number]

    def state(self, kind: int, index: int, element: int) -> Term:
        """An element of a surface or sampler variable."""
        key = (kind, index, element)
        return self.states[key] if key in self.states else self.new_state(*key)

    def read(self, root: int, offset: int, size: int) -> Term:
        """``size`` bytes of a root variable as a term."""
        self.check()
        return joined(self.bytes_of(root)[offset : offset + size])

    def write(self, root: int, offset: int, size: int, value: Term, where: Condition = True) -> None:
        """Store a term of ``size`` bytes where a condition holds."""
        if where is False:
            return
        if where is not True:
            value = terms.pick(where, value, self.read(root, offset, size), 8 * size)
        self.bytes_of(root)[offset : offset + size] = pieces_of(value, size)

    # -- the register file of variables whose addresses are taken ------------------------------------------

    def places(self, size: int, step: int) -> list[tuple[int, int, int]]:
        """The places of an element in the register file: address, root variable and offset in it."""
        found = []
        for root, at in self.layout.file_offsets.items():
            end = self.layout.file_sizes[root] - size
            found += [(at + offset, root, offset) for offset in range(0, end + 1, step)]
        return found

    def place_of(self, address: int, size: int) -> tuple[int, int] | None:
        """The root variable and the offset at an address of the register file; None outside."""
        for root, at in self.layout.file_offsets.items():
            if at <= address and address + size <= at + self.layout.file_sizes[root]:
                return root, address - at
        return None
