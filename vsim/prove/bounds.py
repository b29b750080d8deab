"""The property ``bounds``: every access is inside its memory, and nothing writes memory that must not be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from vsim.memory.memory import SLM_ADDRESS_MASK
from vsim.prove.verdict import Remark
from vsim.symbolic import terms
from vsim.symbolic.launch import SymbolicLaunch
from vsim.symbolic.memory import ExecutedMessage, LaneAccess
from vsim.symbolic.queries import Possible, Solver
from vsim.symbolic.spaces import LOCAL, READ, SymbolicBuffer
from vsim.symbolic.terms import Condition, Term
from vsim.symbolic.thread import SymbolicThread


class PropertyViolation(NamedTuple):
    """A condition under which a property does not hold, at an instruction.

    Attributes:
        is_certain: the solver said so.
        other: number of the other instruction, of a conflict between two.
        visible: what must hold, too, for a launch to show it.
        second: of a conflict between two work-items, terms of the first one as those of the second one.
        any_lanes: lanes that stand for any lane, of the first work-item and of the second one; -1 for none.
    """

    place: Remark
    condition: Condition
    is_certain: bool
    other: int = -1
    visible: Condition = True
    second: Callable[[Term], Term] | None = None
    any_lanes: tuple[int, int] = (-1, -1)


def offset_in(message: ExecutedMessage, access: LaneAccess, buffer: SymbolicBuffer) -> Term:
    """Where in a buffer an access begins, as 64 bits."""
    if message.space.kind == LOCAL:
        return terms.both_bits(access.address, SLM_ADDRESS_MASK, 64)
    return terms.less(access.address, buffer.address, 64)


def inside(message: ExecutedMessage, access: LaneAccess, buffer: SymbolicBuffer) -> Condition:
    """Whether an access is inside a buffer and is allowed there."""
    if message.kind != READ and not buffer.is_writable:
        return False
    return fits(buffer.size, offset_in(message, access, buffer), message.size)


def fits(size: Term, offset: Term, count: int) -> Condition:
    """Whether ``count`` bytes from an offset on are within ``size`` bytes."""
    if isinstance(size, int) and size < count:
        return False
    room = terms.less(size, count, 64)
    found = terms.negation(terms.below(room, offset, 64, False))
    if isinstance(size, int):
        return found
    return terms.conjunction(terms.negation(terms.below(size, count, 64, False)), found)


def outside(launch: SymbolicLaunch, message: ExecutedMessage, access: LaneAccess) -> Condition:
    """The condition under which an access is outside of the memory that it may be meant for."""
    within: Condition = False
    for buffer in launch.candidates(message.space, access.address):
        within = terms.disjunction(within, inside(message, access, buffer))
    return launch.simplified(terms.conjunction(access.guard, terms.negation(within)))


def violations(thread: SymbolicThread, solver: Solver) -> Iterator[PropertyViolation]:
    """The accesses that may be outside, each instruction once, and again if the solver has an example of it.

    Raises:
        Undecided: a limit of the proof is reached.
    """
    launch, found = thread.launch, dict[tuple[int, int], bool]()
    for message in thread.memory.messages:
        key = id(message.function), message.number
        launch.limits.at(message.function, message.number)
        for access in message.lanes:
            if found.get(key):
                break
            condition = outside(launch, message, access)
            answer = solver.possible(condition)
            is_certain = answer.possible is Possible.YES
            if answer.possible is not Possible.NO and (is_certain or key not in found):
                found[key] = is_certain
                yield PropertyViolation(_place(launch, message, access, is_certain), condition, is_certain)


def _place(launch: SymbolicLaunch, message: ExecutedMessage, access: LaneAccess, is_certain: bool) -> Remark:
    candidates = launch.candidates(message.space, access.address)
    names = " or ".join(f"'{b.name}'" for b in candidates)
    if not candidates:
        why = "which memory it accesses depends on values that are not followed"
    elif is_certain:
        why = f"it may access {names} outside"
    else:
        why = f"the solver does not know whether it stays inside {names}"
    return Remark(message.function, message.number, why, _hint(launch, access, candidates))


def _hint(launch: SymbolicLaunch, access: LaneAccess, candidates: list[SymbolicBuffer]) -> str:
    """What to assume: the sizes and the inputs that the access depends on."""
    symbols = launch.symbols
    names = symbols.free(access.address) | symbols.free(access.guard)
    loaded = next((v for v in launch.loads if v.symbol.decl().name() in names), None)
    if loaded is not None:
        own = launch.candidates(loaded.space, loaded.address)
        if own and own[0].argument is not None:
            name = own[0].name
            return f"the address depends on elements of '{name}': assume of them, such as 'each({name}) < ...'"
    sizes = [f"size({b.name})" for b in candidates if b.argument is not None]
    inputs = sorted({symbols.known[n].base for n in names if n in symbols.known and symbols.known[n].is_input})
    inputs = [n for n in inputs if not n.startswith(("local_id", "group_id", "size("))] or ["global_size"]
    if not sizes:
        return ""
    return f"assume how {sizes[0]} and {', '.join(inputs[:3])} go together, such as '{inputs[0]} <= {sizes[0]} / 4'"
