"""Memory of a thread on symbols whose contents are functions of addresses: for comparisons of two kernels.

A load gives the value that the work-item stored there last, else ``memory.<region>.<epoch>.<size>(offset)``, a function
of which nothing is known. Two threads that load from one place so get the same term, whatever kernels they run. A new
epoch begins where others may have written: behind each barrier, and behind atomics of the region.

Work-items see their own stores and those of the whole thread, as in launches without races.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import z3

from visakit.language.program import Function
from visakit.objects.image import SLOT
from vsim.launch.bound_launch import PRIVATE_MEMORY
from vsim.memory.memory import SLM_ADDRESS_MASK
from vsim.symbolic import terms
from vsim.symbolic.limits import Undecided
from vsim.symbolic.loop_terms import where_known
from vsim.symbolic.memory import LanewiseAccess, SymbolicMemory
from vsim.symbolic.spaces import ATOMIC, LOCAL, READ, SCRATCH_MEMORY, WRITE, SymbolicBuffer, SymbolicSpace
from vsim.symbolic.symbols import NO_LANE
from vsim.symbolic.terms import Condition, Term, identity, term_key

if TYPE_CHECKING:
    from vsim.symbolic.thread import SymbolicThread

MEMORY, UNDEFINED = "memory", "undefined"
"""Beginnings of the names of functions: of contents that launches choose, and of undefined contents."""
FIRST_EPOCH = "0.0"
"""The epoch of the contents that a launch begins with."""
_BITS = 64


class RegionPlace(NamedTuple):
    """Where an access goes, if ``condition`` holds: a region of memory and the byte in it."""

    condition: Condition
    region: str
    offset: Term
    buffer: SymbolicBuffer | None = None


class SharedAccess(NamedTuple):
    """An access of a lane, or the thread, to a buffer."""

    kind: str
    function: Function
    number: int
    lane: int
    lanes: Sequence[Condition]
    guard: Condition
    buffer: SymbolicBuffer
    offset: Term
    size: int


class Effect(NamedTuple):
    """A store of an element, or an atomic operation, of a lane or the whole thread (:data:`NO_LANE`).

    Attributes:
        kind: ``write`` or ``atomic``; of an atomic ``values`` are its operands and ``op`` says which one it is.
        lanes: the condition of each lane to be there, for effects of the thread.
        phase: how many barriers the thread has passed.
    """

    kind: str
    function: Function
    number: int
    lane: int
    lanes: Sequence[Condition]
    guard: Condition
    region: str
    offset: Term
    size: int
    values: tuple[Term, ...]
    phase: int
    op: str = ""


class LoadedPlace(NamedTuple):
    """An element that a load looked at: its value in the region's epoch, and the condition of the load."""

    value: Term
    region: str
    epoch: str
    offset: Term
    size: int
    guard: Condition
    lane: int
    function: Function
    number: int


def split_offset(offset: Term) -> tuple[Term, int]:
    """An offset as a term (None for none) and a number that is added to it."""
    if isinstance(offset, int):
        return None, offset
    if offset.decl().kind() == z3.Z3_OP_BADD and z3.is_bv_value(offset.arg(0)):
        rest = offset.children()[1:]
        whole = rest[0]
        for own in rest[1:]:
            whole = whole + own
        return z3.simplify(whole), offset.arg(0).as_long()
    return offset, 0


def is_aligned(offset: Term, size: int) -> bool:
    """Whether an offset is a multiple of a size, as far as its term shows."""
    if isinstance(offset, int):
        return offset % size == 0
    if size & (size - 1):
        return False
    if size == 1:
        return True
    low = z3.simplify(z3.Extract(size.bit_length() - 2, 0, offset))
    return bool(z3.is_bv_value(low) and low.as_long() == 0)


class _Stored(NamedTuple):
    lane: int
    guard: Condition
    parts: list[Term]
    base: Term
    start: int
    offset: Term
    size: int
    value: Term


class ContentsMemory(SymbolicMemory):
    """The memory that a thread of a kernel looks at and changes.

    Args:
        owner: the name of the kernel's side, which is part of the names of its undefined contents.
        elements: bytes of the elements of an argument, by the argument's number.
    """

    def __init__(self, thread: SymbolicThread, owner: str, elements: dict[int, int]) -> None:
        super().__init__(thread)
        self.owner, self.elements = owner, elements
        self.effects: list[Effect] = []
        self.accesses: list[SharedAccess] = []
        self.loads: dict[int, list[LoadedPlace]] = {}
        """By the number of the term of the value."""
        self._places_found: dict[tuple[object, ...], tuple[object, list[RegionPlace]]] = {}
        self._stored: dict[str, list[_Stored]] = {}
        self.constants: dict[str, bytes] = {}
        """Contents of regions that nothing writes."""
        self._atomics: dict[str, int] = {}
        """Atomic operations on a region."""

    # -- places --------------------------------------------------------------------------------------------

    def _places(self, space: SymbolicSpace, address: Term, lane: int, guard: Condition) -> list[RegionPlace]:
        key = (space.kind, term_key(space.surface), term_key(address), lane, term_key(guard))
        if key not in self._places_found:
            self._places_found[key] = (space, address, guard), self._found_places(space, address, lane, guard)
        return self._places_found[key][1]

    def _found_places(self, space: SymbolicSpace, address: Term, lane: int, guard: Condition) -> list[RegionPlace]:
        launch = self.thread.launch
        address = launch.simplified(address)
        if not isinstance(address, int) and self.thread.symbols.free(address) & self.thread.symbols.free(guard):
            starts = [] if lane == NO_LANE else [self.thread.starts[lane]]
            address = launch.simplified(where_known(address, [*starts, *terms.implied_by(guard)]))
        if space.kind == LOCAL:
            return [RegionPlace(True, "local", launch.simplified(terms.both_bits(address, SLM_ADDRESS_MASK, _BITS)))]
        if space.kind == SCRATCH_MEMORY:
            return [RegionPlace(True, "scratch", address)]
        found = launch.candidates(space, address)
        if not found:
            why = "which memory it accesses depends on values that are not followed"
            raise Undecided(why, self.thread.activation.machine.function, self.thread.number)
        places = []
        for buffer in found:
            here: Condition = True
            if len(found) > 1:
                slot = buffer.address // SLOT
                here = launch.simplified(terms.equal(terms.extract(address, 32, 32, _BITS), slot, 32))
            if here is not False:
                offset = launch.simplified(terms.less(address, buffer.address, _BITS))
                places.append(RegionPlace(here, self._region(buffer), offset, buffer))
        return places

    def _accessed(
        self, kind: str, space: SymbolicSpace, address: Term, lane: int, guard: Condition, size: int
    ) -> list[RegionPlace]:
        """The places of an access, which is remembered if others see them."""
        places = self._places(space, address, lane, guard) if guard is not False else []
        thread = self.thread
        for place in places:
            if place.buffer is not None and not self._is_own(place.region):
                where = terms.conjunction(guard, place.condition)
                function, lanes = thread.activation.machine.function, () if lane != NO_LANE else tuple(thread.guards)
                self.accesses.append(
                    SharedAccess(kind, function, thread.number, lane, lanes, where, place.buffer, place.offset, size)
                )
        return places

    def _region(self, buffer: SymbolicBuffer) -> str:
        if buffer.argument is not None:
            return f"argument {buffer.argument}"
        if buffer.name == PRIVATE_MEMORY:
            return "private"
        slot = self.thread.launch.bound.memory.slots.get(buffer.address // SLOT)
        if buffer.is_writable or slot is None:
            return buffer.name
        data = slot.data.tobytes()
        region = f"{buffer.name} {zlib.crc32(data):08x}"
        self.constants[region] = data
        return region

    def _epoch(self, region: str) -> str:
        return f"{self.thread.phase}.{self._atomics.get(region, 0)}"

    def _is_own(self, region: str) -> bool:
        """Whether no other thread sees a region."""
        return region in ("private", "scratch")

    def _is_by_lane(self, count: int) -> bool:
        return self.thread.activation.machine.own_lanes(count) is not None

    # -- loads ---------------------------------------------------------------------------------------------

    def load(self, access: LanewiseAccess, count: int) -> list[list[Term]]:
        space, size, by_lane = access.space, access.size, self._is_by_lane(len(access.guards))
        columns: list[list[Term]] = [[] for _ in range(count)]
        for address, (number, guard) in access.lanes():
            lane = number if by_lane else NO_LANE
            places = self._accessed(READ, space, address, lane, guard, size * count)
            parts = {identity(t) for t in terms.parts_of(guard)}
            for k, column in enumerate(columns):
                value: Term = 0
                for place in places:
                    offset = self._moved(place.offset, k * size)
                    own = self._found(place.region, offset, size, lane, parts, guard)
                    value = terms.pick(place.condition, own, value, 8 * size)
                column.append(value)
        return columns

    def _moved(self, offset: Term, by: int) -> Term:
        return self.thread.launch.simplified(terms.plus(offset, by, _BITS)) if by else offset

    def _found(self, region: str, offset: Term, size: int, lane: int, parts: set[int], guard: Condition) -> Term:
        """What a lane finds at a place: its last store there, else the contents of the region."""
        base, start = split_offset(offset)
        chain: list[tuple[Condition, Term]] = []
        found: Term = None
        for stored in reversed(self._stored.get(region, [])):
            if NO_LANE not in (lane, stored.lane) and stored.lane != lane:
                continue
            where = self._where(stored, parts)
            if where is False:
                continue
            if (stored.base is None) == (base is None) and (base is None or stored.base.eq(base)):
                distance = terms.signed((start - stored.start) % (1 << _BITS), _BITS)
                if distance <= -size or distance >= stored.size:
                    continue
                if distance < 0 or distance + size > stored.size:
                    found = self._in_bytes(region, offset, size, lane, parts, guard)
                    break
                value = terms.extract(stored.value, 8 * distance, 8 * size, 8 * stored.size)
                if where is True:
                    found = value
                    break
                chain.append((where, value))
                continue
            chain += self._perhaps(stored, offset, size, where)
        if found is None:
            found = self._contents(region, offset, size, guard, lane)
        for where, value in reversed(chain):
            found = terms.pick(where, value, found, 8 * size)
        return found

    def _where(self, stored: _Stored, parts: set[int]) -> Condition:
        """The condition of a store, for one who loads under some conditions."""
        left: Condition = True
        for own in stored.parts:
            if identity(terms.negation(own)) in parts:
                return False
            if identity(own) not in parts:
                left = terms.conjunction(left, own)
        return stored.guard if stored.guard is False else left

    def _perhaps(self, stored: _Stored, offset: Term, size: int, where: Condition) -> list[tuple[Condition, Term]]:
        """What a load finds of a store that may be at the same place: conditions and values."""
        launch = self.thread.launch
        if stored.size == size and is_aligned(stored.offset, size) and is_aligned(offset, size):
            same = launch.simplified(terms.equal(stored.offset, offset, _BITS))
            return [] if same is False else [(terms.conjunction(where, same), stored.value)]
        x, y = terms.expression(offset, _BITS), terms.expression(stored.offset, _BITS)
        overlap = launch.simplified(z3.And(z3.ULT(x, y + stored.size), z3.ULT(y, x + size)))
        if overlap is False:
            return []
        name = self.thread.symbols.fresh(f"{UNDEFINED}.parts")
        return [(terms.conjunction(where, overlap), self.thread.symbols.number(name, 8 * size))]

    def _in_bytes(self, region: str, offset: Term, size: int, lane: int, parts: set[int], guard: Condition) -> Term:
        own = [self._found(region, self._moved(offset, k), 1, lane, parts, guard) for k in range(size)]
        return self.thread.launch.simplified(z3.Concat(*[terms.expression(x, 8) for x in reversed(own)]))

    def _contents(self, region: str, offset: Term, size: int, guard: Condition, lane: int) -> Term:
        """What the region holds at a place, in elements of the region where that is possible."""
        if not region.startswith("argument "):
            return self._function(region, offset, size, guard, lane)
        element = self.elements.get(int(region.split()[1]), size)
        if size > element and size % element == 0:
            own = [
                self._function(region, self._moved(offset, k), element, guard, lane) for k in range(0, size, element)
            ]
            return z3.Concat(*reversed(own))
        base, start = split_offset(offset)
        if size < element and is_aligned(0 if base is None else base, element) and start % element + size <= element:
            first = self._moved(base if base is not None else 0, start - start % element)
            whole = self._function(region, first, element, guard, lane)
            return terms.extract(whole, 8 * (start % element), 8 * size, 8 * element)
        return self._function(region, offset, size, guard, lane)

    def _function(self, region: str, offset: Term, size: int, guard: Condition, lane: int) -> Term:
        epoch = self._epoch(region)
        data = self.constants.get(region)
        if data is not None and isinstance(offset, int) and offset + size <= len(data):
            return int.from_bytes(data[offset : offset + size], "little")
        name = f"{UNDEFINED}.{self.owner}.{region}" if self._is_own(region) else f"{MEMORY}.{region}.{epoch}.{size}"
        function = z3.Function(name, z3.BitVecSort(_BITS), z3.BitVecSort(8 * size))
        value = function(terms.expression(offset, _BITS))
        if not self._is_own(region):
            owner, number = self.thread.activation.machine.function, self.thread.number
            place = LoadedPlace(value, region, epoch, offset, size, guard, lane, owner, number)
            self.loads.setdefault(identity(value), []).append(place)
            if epoch == FIRST_EPOCH and region.startswith("argument "):
                self.thread.launch.state_elements(int(region.split()[1]), offset, size, value)
        return value

    # -- stores --------------------------------------------------------------------------------------------

    def store(self, access: LanewiseAccess, columns: Sequence[Sequence[Term]]) -> None:
        space, size, by_lane = access.space, access.size, self._is_by_lane(len(access.guards))
        for n, (address, (number, guard)) in enumerate(access.lanes()):
            lane = number if by_lane else NO_LANE
            for place in self._accessed(WRITE, space, address, lane, guard, size * len(columns)):
                for k, column in enumerate(columns):
                    offset, where = self._moved(place.offset, k * size), terms.conjunction(guard, place.condition)
                    self._put(lane, where, place.region, offset, size, column[n])

    def _put(self, lane: int, guard: Condition, region: str, offset: Term, size: int, value: Term) -> None:
        base, start = split_offset(offset)
        found = _Stored(lane, guard, terms.parts_of(guard), base, start, offset, size, value)
        self._stored.setdefault(region, []).append(found)
        self._note(WRITE, lane, guard, region, offset, size, (value,))

    def _note(
        self,
        kind: str,
        lane: int,
        guard: Condition,
        region: str,
        offset: Term,
        size: int,
        values: tuple[Term, ...],
        op: str = "",
    ) -> None:
        """Remember an effect that others can see."""
        if self._is_own(region):
            return
        thread = self.thread
        function, lanes = thread.activation.machine.function, () if lane != NO_LANE else tuple(thread.guards)
        effect = Effect(
            kind, function, thread.number, lane, lanes, guard, region, offset, size, values, thread.phase, op
        )
        self.effects.append(effect)

    def atomic(self, access: LanewiseAccess, columns: Sequence[Sequence[Term]], op: str) -> list[Term]:
        space, size, by_lane = access.space, access.size, self._is_by_lane(len(access.guards))
        found, regions = list[Term](), set[str]()
        for n, (address, (number, guard)) in enumerate(access.lanes()):
            value: Term = 0
            lane = number if by_lane else NO_LANE
            for place in self._accessed(ATOMIC, space, address, lane, guard, size):
                where = terms.conjunction(guard, place.condition)
                name, values = _as_sum(op, tuple(column[n] for column in columns), 8 * size)
                self._note(ATOMIC, lane, where, place.region, place.offset, size, values, name)
                regions.add(place.region)
                name = f"{MEMORY}.{place.region}.old.{self._epoch(place.region)}.{size}"
                old = z3.Function(name, z3.BitVecSort(_BITS), z3.BitVecSort(8 * size))
                value = terms.pick(place.condition, old(terms.expression(place.offset, _BITS)), value, 8 * size)
            found.append(value)
        for region in regions:
            self._atomics[region] = self._atomics.get(region, 0) + 1
            self._stored.pop(region, None)
        return found

    # -- facts of contents ---------------------------------------------------------------------------------

    def forget_shared(self) -> None:
        self._stored = {region: own for region, own in self._stored.items() if self._is_own(region)}

    def forget_all(self) -> None:
        raise AssertionError("loops of compared threads are not closed")


def _as_sum(op: str, values: tuple[Term, ...], bits: int) -> tuple[str, tuple[Term, ...]]:
    """The operation and operands of an atomic; differences, increments and decrements as sums."""
    if op in ("inc", "dec"):
        return "add", (1 if op == "inc" else terms.minus(1, bits),)
    return ("add", (terms.minus(values[0], bits),)) if op == "sub" else (op, values)


def for_lane(effect: Effect | SharedAccess, lane: int) -> Condition:
    """The condition under which an effect or access is one of the work-item in a lane."""
    if effect.lane != NO_LANE:
        return effect.guard if effect.lane == lane else False
    here = effect.lanes[lane]
    if here is False:
        return False
    return terms.conjunction(here, where_known(effect.guard, [here, *terms.parts_of(here)]))
