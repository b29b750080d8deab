"""The registers that operands name, each as a whole, and the registers that are computed from some."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set
from typing import TypeVar

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
    readers: dict[R, list[Set[R]]] = {}
    for sources, results in zip(reads, writes, strict=True):
        for source in sources:
            readers.setdefault(source, []).append(results)
    found, worklist = set[R](), list(first)
    while worklist:
        register = worklist.pop()
        if register not in found:
            found.add(register)
            for results in readers.get(register, ()):
                worklist += results
    return frozenset(found)
