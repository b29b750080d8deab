"""The registers that operands name, each as a whole, and the registers that are computed from some."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set
from typing import Generic, TypeVar

from visakit.language.operands import Address, General, Indirect, Predicate, PredicateControl, Raw
from vsim.analysis.register_accesses import Bank, Register
from vsim.semantics.registers import Layout

R = TypeVar("R", int, Register)


def variables(layout: Layout, *operands: object) -> frozenset[int]:
    """The root variables among operands, but for %null."""
    return frozenset(layout.root(op.var)[0] for op in operands if isinstance(op, General | Raw) and op.var)


def registers(layout: Layout, *operands: object) -> frozenset[Register]:
    """The root variables among operands, but for %null, predicates and address variables."""
    found = {Register(Bank.GENERAL, root) for root in variables(layout, *operands)}
    for op in operands:
        if isinstance(op, Predicate | PredicateControl):
            found.add(Register(Bank.PREDICATE, op.var))
        elif isinstance(op, Address | Indirect):
            found.add(Register(Bank.ADDRESS, op.var))
    return frozenset(found)


def computed_from(first: Iterable[R], reads: Collection[Set[R]], writes: Collection[Set[R]]) -> frozenset[R]:
    """Some registers, and all that instructions compute from them, in any order of execution.

    Args:
        reads, writes: the registers of each instruction.
    """
    computed = ComputedRegisters[R]()
    for sources, results in zip(reads, writes, strict=True):
        computed.add_instruction(sources, results)
    computed.add(first)
    return frozenset(computed.found)


class ComputedRegisters(Generic[R]):
    """Some registers, and all that instructions compute from them, in any order of execution. Registers and
    instructions can be added at any time.
    """

    def __init__(self) -> None:
        self.found: set[R] = set()
        self._results: dict[R, list[Set[R]]] = {}
        """The results of the instructions that read a register."""

    def add(self, registers: Iterable[R]) -> None:
        """Add registers and their results."""
        worklist = list(registers)
        while worklist:
            register = worklist.pop()
            if register not in self.found:
                self.found.add(register)
                for results in self._results.get(register, ()):
                    worklist += results

    def add_instruction(self, reads: Set[R], writes: Set[R]) -> None:
        """Add an instruction, by its registers."""
        for register in reads:
            self._results.setdefault(register, []).append(writes)
        if not self.found.isdisjoint(reads):
            self.add(writes)
