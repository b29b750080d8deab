"""Terms and conditions of a loop that is closed, and the elements of registers that it writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import z3

from vsim.symbolic import terms
from vsim.symbolic.stretch import ADDRESS, VARIABLE
from vsim.symbolic.symbols import NO_LANE
from vsim.symbolic.terms import Condition, Term

ROUND_BITS = 64
"""Of the number of a round."""


class Cell(NamedTuple):
    """An element that a loop writes: kind and number of the variable, first byte (bit, element), bytes, and lane."""

    kind: int
    number: int
    start: int
    size: int
    lane: int

    @property
    def bits(self) -> int:
        """Its width."""
        return {VARIABLE: 8 * self.size, ADDRESS: 32}.get(self.kind, 1)


def grown_term(start: Term, step: int, number: Term, bits: int) -> Term:
    """``start + step * number``, of so many bits."""
    count = terms.extract(number, 0, bits, ROUND_BITS)
    return terms.plus(start, terms.times(count, step, bits), bits)


def fits_32_bits(start: Term, step: int, number: Term, signed: bool) -> Condition:
    """Whether ``start + step * number`` is a number of 32 bits."""
    whole = terms.expression(terms.extend(start, 32, ROUND_BITS, signed), ROUND_BITS)
    value = whole + number * terms.signed(step, 32)
    low, high = (-(1 << 31), (1 << 31) - 1) if signed else (0, (1 << 32) - 1)
    return z3.And(z3.ULE(number, 1 << 32), value >= low, value <= high)


def where_known(term: Term, known: Sequence[Condition]) -> Term:
    """A term where conditions are known to hold."""
    pairs = [
        (c.arg(0), z3.BoolVal(False)) if z3.is_not(c) else (c, z3.BoolVal(True))
        for c in known
        if not isinstance(c, bool)
    ]
    return term if isinstance(term, (int, bool)) or not pairs else z3.substitute(term, *pairs)


def without_guard(condition: Condition, guard: Condition) -> list[Term] | None:
    """The other parts of a conjunction that begins with a guard; None if it does not."""
    found: list[Term] = []
    while not terms.same_term(condition, guard):
        if isinstance(condition, bool):
            return None if condition else [z3.BoolVal(False)]
        if z3.is_and(condition) and condition.num_args() == 2:
            found.append(condition.arg(1))
            condition = condition.arg(0)
        elif guard is True:
            return [*found, condition]
        else:
            return None
    return found


def guard_prefixes(condition: Condition, guard: Condition) -> list[Condition]:
    """A guard, and the conjunctions that lead from it to a condition."""
    found = [condition]
    while not terms.same_term(found[0], guard) and z3.is_and(found[0]) and found[0].num_args() == 2:
        found.insert(0, found[0].arg(0))
    return [guard, *found]


def same_terms(x: Sequence[Term], y: Sequence[Term]) -> bool:
    """Whether two lists have the same terms."""
    return len(x) == len(y) and all(terms.same_term(a, b) for a, b in zip(x, y, strict=True))


def equal_terms(x: Term | None, y: Term) -> bool:
    """Whether a term is there, and is the same as another one."""
    return x is not None and terms.same_term(x, y)


def distinct_conditions(conditions: Sequence[Condition]) -> list[Condition]:
    """Conditions, each once."""
    found: list[Condition] = []
    for c in conditions:
        if not any(terms.same_term(c, known) for known in found):
            found.append(c)
    return found


def separate_cells(log: Sequence[tuple[tuple[int, int, int, int], int]]) -> list[Cell]:
    """Cells that do not overlap; elements of different sizes at one place become bytes."""
    lanes: dict[tuple[int, int, int, int], int] = {}
    for key, lane in log:
        lanes[key] = lane if lanes.get(key, lane) == lane else NO_LANE
    taken: dict[tuple[int, int], dict[int, set[tuple[int, int]]]] = {}
    for kind, number, start, size in lanes:
        for n in range(start, start + size):
            taken.setdefault((kind, number), {}).setdefault(n, set()).add((start, size))
    found: list[Cell] = []
    for (kind, number, start, size), lane in lanes.items():
        if all(len(taken[kind, number][n]) == 1 for n in range(start, start + size)):
            found.append(Cell(kind, number, start, size, lane))
        else:
            found += [Cell(kind, number, n, 1, NO_LANE) for n in range(start, start + size)]
    return sorted(set(found))
