"""The property ``undefined``: no undefined register reaches memory, an address or a branch.

A value depends on an undefined register if it can differ while nothing else does: it is asked for with the registers'
symbols, and with others. Arguments, and the contents of arrays before the launch, are defined. The contents
of local and private memory, and registers that a closed loop wrote, are not followed: values that depend on them are
unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

import z3

from visakit.language.program import Function
from vsim.prove.bounds import PropertyViolation
from vsim.prove.verdict import Remark
from vsim.symbolic import terms
from vsim.symbolic.launch import SymbolicLaunch
from vsim.symbolic.queries import Possible, Solver
from vsim.symbolic.spaces import FLAT, HANDLES, TABLE
from vsim.symbolic.terms import Condition, Term
from vsim.symbolic.thread import SymbolicThread

LEFT_BY_LOOPS = ("any!", "after!", "other!", "state!")
"""Beginnings of the names of symbols for what loops leave in registers."""
INDIRECT = "indirect!"
"""The beginning of the names of symbols for registers whose addresses depend on inputs."""
NOT_FOLLOWED = (*LEFT_BY_LOOPS, INDIRECT)


def violations(thread: SymbolicThread, solver: Solver) -> Iterator[PropertyViolation]:
    """The instructions that an undefined value may reach, each once, and again if the solver has an example of it.

    Raises:
        Undecided: a limit of the proof is reached.
    """
    launch, found = thread.launch, dict[tuple[int, int], bool]()
    perhaps = _not_followed(launch)
    for function, number, what, term, guard in _uses(thread):
        key = id(function), number
        if found.get(key):
            continue
        launch.limits.at(function, number)
        names = launch.symbols.free(term)
        undefined = {n for n in names if n in launch.symbols.known and launch.symbols.known[n].is_undefined}
        for own, is_certain in ((undefined, True), (undefined | (names & perhaps), False)):
            condition = _differs(launch, term, guard, own) if own else False
            if condition is False:
                continue
            answer = solver.possible(condition)
            if answer.possible is Possible.NO:
                continue
            certain = is_certain and answer.possible is Possible.YES
            why = f"{what} {'may be' if certain else 'is not shown not to be'} undefined"
            if certain or key not in found:
                found[key] = certain
                yield PropertyViolation(Remark(function, number, why), condition, certain)
            break


def _uses(thread: SymbolicThread) -> Iterator[tuple[Function, int, str, Term, Condition]]:
    """Function, number, description, the term, and the condition under which it counts."""
    for message in thread.memory.messages:
        place = message.function, message.number
        for access in message.lanes:
            yield *place, "whether a lane accesses memory", access.guard, True
            yield *place, "an address", access.address, access.guard
        guards = [access.guard for access in message.lanes]
        for column in message.values:
            for value, guard in zip(column, guards, strict=True):
                yield *place, "a value that is left in memory", value, guard
    for function, number, condition, guard in thread.branches:
        yield function, number, "the condition of a branch", condition, guard


def _not_followed(launch: SymbolicLaunch) -> frozenset[str]:
    """The names of symbols that may stand for undefined values."""
    return unfollowed_loads(launch) | {n for n in launch.symbols.known if n.startswith(NOT_FOLLOWED)}


def unfollowed_loads(launch: SymbolicLaunch) -> frozenset[str]:
    """The names of symbols for contents of memory that begins undefined, or of memory that is not known."""
    found = set[str]()
    for value in launch.loads:
        own = launch.candidates(value.space, value.address)
        is_array = value.space.kind in (FLAT, TABLE, HANDLES) and all(b.name != "private memory" for b in own)
        if not is_array or not own:
            found.add(value.symbol.decl().name())
    return frozenset(found)


def _differs(launch: SymbolicLaunch, term: Term, guard: Condition, names: set[str]) -> Condition:
    """The condition under which a term depends on symbols."""
    symbols = launch.symbols.expressions
    pairs = [(symbols[n], z3.Const(f"{n}'", symbols[n].sort())) for n in sorted(names)]
    if isinstance(term, (int, bool)):
        return False
    return launch.simplified(terms.conjunction(guard, term != z3.substitute(term, *pairs)))
