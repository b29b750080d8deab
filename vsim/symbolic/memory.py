"""Memory of a thread on symbols: a log of accesses, whose loaded values are symbols.

Contents of memory are inputs: a load gives a symbol, the same one for the same address as long as nothing may have
written there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from visakit.language.program import Function
from vsim.symbolic import terms
from vsim.symbolic.loop_terms import where_known
from vsim.symbolic.spaces import ATOMIC, FLAT, LOCAL, READ, SCRATCH_MEMORY, WRITE, SymbolicSpace
from vsim.symbolic.symbols import NO_LANE
from vsim.symbolic.terms import Condition, Term, term_key

if TYPE_CHECKING:
    from vsim.symbolic.thread import SymbolicThread


class LaneAccess(NamedTuple):
    """What a lane accesses: its number, the condition under which it does, and its byte address."""

    lane: int
    guard: Condition
    address: Term


class ExecutedMessage(NamedTuple):
    """One execution of a message.

    Attributes:
        size: bytes that each lane accesses.
        values: stored terms, elements by lanes.
        loaded: symbols of the loaded elements, elements by lanes.
        phase: how many barriers the thread has passed.
    """

    kind: str
    space: SymbolicSpace
    size: int
    lanes: tuple[LaneAccess, ...]
    function: Function
    number: int
    phase: int
    values: Sequence[Sequence[Term]] = ()
    loaded: Sequence[Sequence[Term]] = ()
    rounds: tuple[tuple[int, Term], ...] = ()
    """The closed loops that it is in, and the symbols of their rounds."""


class LanewiseAccess(NamedTuple):
    """What a message accesses: an address and a guard, with the number of the lane, for each lane.

    Attributes:
        size: bytes of an element.
    """

    space: SymbolicSpace
    addresses: Sequence[Term]
    guards: Sequence[tuple[int, Condition]]
    size: int

    def lanes(self) -> Iterator[tuple[Term, tuple[int, Condition]]]:
        """Addresses and guards, by lane."""
        return zip(self.addresses, self.guards, strict=True)


class SymbolicMemory:
    """The messages of a thread."""

    def __init__(self, thread: SymbolicThread) -> None:
        self.thread = thread
        self.messages: list[ExecutedMessage] = []
        self.loaded_values: dict[tuple[object, ...], tuple[Term, Term]] = {}
        """Symbols of loads by space, address and size, with the address."""

    def _log(
        self,
        kind: str,
        access: LanewiseAccess,
        size: int,
        values: Sequence[Sequence[Term]] = (),
        loaded: Sequence[Sequence[Term]] = (),
    ) -> None:
        lanes = tuple(
            LaneAccess(lane, guard, self.thread.launch.simplified(address))
            for address, (lane, guard) in access.lanes()
            if guard is not False
        )
        kept = [k for k, (_, guard) in enumerate(access.guards) if guard is not False]
        values, loaded = ([[column[k] for k in kept] for column in columns] for columns in (values, loaded))
        thread = self.thread
        function = thread.activation.machine.function
        self.messages.append(
            ExecutedMessage(
                *(kind, access.space, size, lanes, function, thread.number, thread.phase, tuple(values), tuple(loaded)),
                tuple(thread.loops),
            )
        )

    def _with_known_places(self, access: LanewiseAccess) -> LanewiseAccess:
        """An access with simplified addresses; addresses without a known memory are simplified for running lanes.

        An address that a branch computes is ``If(lanes of the branch, address, undefined)``.
        """
        launch, found = self.thread.launch, list[Term]()
        space = access.space
        for address, (_, guard) in access.lanes():
            own = launch.simplified(address)
            if space.kind == FLAT and not isinstance(guard, bool) and not launch.candidates(space, own):
                own = launch.simplified(where_known(own, terms.implied_by(launch.simplified(guard))))
            found.append(own)
        return access._replace(addresses=found)

    def load(self, access: LanewiseAccess, count: int) -> list[list[Term]]:
        """``count`` consecutive elements for each lane: elements by lanes."""
        access, columns = self._with_known_places(access), []
        space, size = access.space, access.size
        for k in range(count):
            name = self.thread.symbols.fresh("load")
            pairs = enumerate(access.lanes())
            columns.append([self._value(name, n, space, a, k * size, size, lane) for n, (a, (lane, _)) in pairs])
        self._log(READ, access, size * count, loaded=columns)
        return columns

    def _value(
        self, name: str, number: int, space: SymbolicSpace, address: Term, offset: int, size: int, lane: int
    ) -> Term:
        """The symbol of the value that a lane loads, the ``number``-th of its message."""
        launch, symbols = self.thread.launch, self.thread.symbols
        address = launch.simplified(address)
        key = (space.kind, term_key(space.surface), term_key(address), offset, size)
        if key not in self.loaded_values:
            is_own = lane != NO_LANE and symbols.free(address)
            found = symbols.number(name, 8 * size, lane) if is_own else symbols.number(f"{name}.{number}", 8 * size)
            self.loaded_values[key] = found, address
            launch.loaded(found, space, address, offset, size)
        return self.loaded_values[key][0]

    def store(self, access: LanewiseAccess, columns: Sequence[Sequence[Term]]) -> None:
        """Consecutive elements for each lane."""
        self._log(WRITE, self._with_known_places(access), access.size * len(columns), values=columns)
        self.forget(access.space)

    def atomic(self, access: LanewiseAccess, columns: Sequence[Sequence[Term]], op: str) -> list[Term]:
        """The old values, of which nothing is known."""
        access, size = self._with_known_places(access), access.size
        name = self.thread.symbols.fresh("old")
        number = self.thread.symbols.number
        found = [
            number(name, 8 * size, lane) if lane != NO_LANE else number(f"{name}.{k}", 8 * size)
            for k, (lane, _) in enumerate(access.guards)
        ]
        self._log(ATOMIC, access, size, values=columns)
        self.forget(access.space)
        return found

    # -- facts of contents ---------------------------------------------------------------------------------

    def forget(self, space: SymbolicSpace) -> None:
        """A store may have changed the loaded values of a kind of memory."""
        own = (SCRATCH_MEMORY, LOCAL)
        self.loaded_values = {
            key: value
            for key, value in self.loaded_values.items()
            if (key[0] != space.kind if space.kind in own else key[0] in own)
        }

    def forget_all(self) -> None:
        """Nothing is known of contents any more."""
        self.loaded_values = {}

    def forget_shared(self) -> None:
        """Other threads may have written."""
        self.loaded_values = {key: value for key, value in self.loaded_values.items() if key[0] == SCRATCH_MEMORY}
