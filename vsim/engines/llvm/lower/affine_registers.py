"""Affine registers: facts about the lanes of a register that hold at every read, whichever block has written it.

Storage holds registers that several blocks write between these, and a vector in storage has no facts. But if all
writers leave the same value in every lane, or lanes at the same distances, then every reader finds such a value;
storage holds the first lane alone, and the others need no register. Examples are an induction variable that the
compiler keeps for every lane, and the address of a matrix's row, which is uniform for a thread because of the size of
the work-group::

    mul (M1, 16) ROW(0,0)<1> Y(0,0)<1;1,0> PITCH(0,0)<0;1,0>      in front of a loop
    add (M1, 16) ROW(0,0)<1> ROW(0,0)<1;1,0> 0x10:d               in it

The sum is uniform only if ROW was. So shapes are assumed: the first emission of a function assumes the shapes that the
blocks before have left, in the order of the text, and a later emission checks them. An emission whose assumptions fail
is thrown away, and the next one does without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from vsim.engines.llvm.ir.affine import AffineLanes, BasePointer
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.lower.lockstep_registers import LockstepRegisters
from vsim.engines.llvm.lower.storage import AFFINE_SLOT, VARIABLE, Key, Storage
from vsim.semantics.core import unsigned_of


@dataclass(frozen=True)
class AffineShape:
    """Lanes in rows: those of a row are ``stride`` apart, and the rows a scalar (see :mod:`affine`).

    ``stride`` 0 and one row: the same in all lanes. Elements have ``size`` bytes, and may be floats then.
    """

    size: int
    lanes: int
    stride: int
    row: int
    small: bool = False
    zeros: int = 0
    """How many of the lowest bits of the first lane are zero."""
    base_pointer: BasePointer | None = None

    @property
    def is_same(self) -> bool:
        """Whether all lanes are the same."""
        return not self.stride and self.row == self.lanes

    def joined(self, other: AffineShape) -> AffineShape | None:
        """The shape of a value that has one of two shapes."""
        if (self.size, self.lanes) != (other.size, other.lanes) or self.stride != other.stride:
            return None
        row = min(self.row, other.row)
        if self.row % row or other.row % row:
            return None
        pointer = self.base_pointer if self.base_pointer == other.base_pointer else None
        zeros = min(self.zeros, other.zeros)
        return replace(self, row=row, small=self.small and other.small, zeros=zeros, base_pointer=pointer)

    def scalars_of(self, value: Value, inside: Mask | None) -> list[Value] | None:
        """The first lane, and behind it the distance of rows where there are several, of a value of this shape; None
        for another one. ``inside``: see :func:`_shape`.
        """
        found = _shape(value, self.lanes, inside)
        if found is None or found.joined(self) != self:
            return None
        if self.is_same and value.lanes == 1:
            return [value]
        known = value.affine_over(self.lanes)
        known = known and known.in_rows_of(self.row)
        if known is None:
            return None
        if self.row == self.lanes:
            return [known.first_lane]
        return [known.first_lane, known.row_stride or value.builder.const(0, value.type)]

    def value(self, b: Builder, scalars: list[Value]) -> Value:
        """The lanes; vectors are emitted where they are used."""
        first, *row_stride = scalars
        first = first.with_low_zeros(self.zeros)
        if self.is_same:
            found = first
        else:
            lanes = range(self.lanes)
            found = first.deferred("add", b.vector([i % self.row * self.stride for i in lanes], first.type))
            if row_stride:
                rows = b.vector([i // self.row for i in lanes], first.type)
                found = found.deferred("add", row_stride[0].deferred("mul", rows))
            known = AffineLanes(first, self.stride, self.row, row_stride[0] if row_stride else None, self.small)
            found = found.with_facts(affine=known)
        return found.with_facts(base_pointer=self.base_pointer)


def _shape(value: Value, lanes: int, inside: Mask | None) -> AffineShape | None:
    """The shape of a value of so many lanes, of which those count that are inside a mask; None: all of them."""
    size, pointer = value.type.size, value.facts.base_pointer
    pointer = pointer and pointer.moved(0)
    if value.lanes == 1:
        return AffineShape(size, lanes, 0, lanes, zeros=value.low_zeros, base_pointer=pointer)
    known = value.facts.affine
    if known is None or known.steps or not value.type.is_integer:
        return None
    holding = set() if inside is None or inside is True else inside.facts.implies | {inside.text}
    if not known.is_certain_inside(holding):
        return None
    zeros = known.first_lane.low_zeros
    return AffineShape(size, lanes, known.stride, known.row, known.small, zeros, pointer)


Place = tuple[int, int]
"""Bytes of a register: the first one, and the one behind the last."""
Places = Mapping[Place, AffineShape]


class RegisterUse(Protocol):
    """The facts of the dry run that shapes depend on (:class:`vsim.engines.llvm.lower.dry_run.StorageUse`)."""

    @property
    def unwritten(self) -> frozenset[Key]:
        """Registers that are read before they are written: they begin with zeros."""

    def is_dead_if_inactive(self, key: Key, block: int) -> bool:
        """Whether a register is dead in inactive lanes while a block runs."""


class AffineRegisters:
    """The shapes of one emission's registers.

    Args:
        assumed: what readers take for granted; None: in the first emission, the shapes of all writers so far.
        lockstep: registers that are the same in the lanes which run in a loop.
    """

    def __init__(
        self, b: Builder, storage: Storage, assumed: Mapping[Key, Places] | None, lockstep: LockstepRegisters
    ) -> None:
        self.b, self.storage, self.lockstep = b, storage, lockstep
        self.learns = assumed is None
        self.found: dict[Key, dict[Place, AffineShape | None]] = {}
        """What writers left so far; None where that has no shape."""
        self.assumed = assumed or {}
        self.affine_in_running_lanes: dict[Key, set[int]] = {}
        """Blocks that write a register in all lanes that run, so that it has a shape if the others read it no more."""
        self.taken: set[tuple[Key, Place, AffineShape]] = set()
        """What readers took for granted."""
        self.wrong: set[Key] = set()
        """Registers whose writers broke an assumption."""

    def has(self, key: Key) -> bool:
        """Whether a register can have a shape: only code that names it sees it."""
        return key[0] == VARIABLE and (key in self.assumed or (self.learns and not self.storage.is_visible(key)))

    def places(self, key: Key) -> Places:
        """What can be taken for granted of a register in storage."""
        if not self.learns:
            return self.assumed.get(key, {})
        return {place: shape for place, shape in self.found.get(key, {}).items() if shape}

    def load(self, key: Key, place: Place) -> Value:
        """What is in storage, by its shape."""
        shape = self.places(key)[place]
        self.taken.add((key, place, shape))
        scalars = [
            self.b.load(unsigned_of(shape.size), 1, self.storage.pointer(slot), 8)
            for slot in slots_of(key, place, shape)
        ]
        return shape.value(self.b, scalars)

    def learn(self, key: Key, place: Place, value: Value | None, running: Mask, block: int) -> None:
        """A block leaves a value for others, None for one that is written in some of the lanes that run."""
        if value is None:
            self._learn(key, place, None)
            return
        lanes = (place[1] - place[0]) // value.type.size
        shape = _shape(value, lanes, None)
        if shape is None and (shape := _shape(value, lanes, running)):
            self.affine_in_running_lanes.setdefault(key, set()).add(block)
        self._learn(key, place, shape)

    def leave(self, key: Key, place: Place, value: Value, inside: Mask | None) -> bool:
        """Store a value that a block leaves for others by its shape, if it has the expected one.

        Args:
            inside: the lanes that count for them; None: all.
        """
        shape = self.assumed.get(key, {}).get(place)
        scalars = shape.scalars_of(value, inside) if shape else None
        if shape is None or scalars is None:
            self.differs(key, place)
            return False
        for slot, scalar in zip(slots_of(key, place, shape), scalars, strict=True):
            self.b.store(scalar, self.storage.pointer(slot), 8)
        return True

    def _learn(self, key: Key, place: Place, shape: AffineShape | None) -> None:
        before = self.found.setdefault(key, {})
        for other in list(before):
            if other != place and _overlap(other, place):
                before[other] = shape = None
        known = before.get(place, shape)
        before[place] = known.joined(shape) if known and shape else None

    def differs(self, key: Key, place: Place) -> None:
        """Bytes of a register are written whose lanes have no shape."""
        if self.learns:
            self._learn(key, place, None)
        elif any(_overlap(place, other) for other in self.assumed.get(key, ())):
            self.wrong.add(key)

    def learned(self, use: RegisterUse) -> dict[Key, Places]:
        """The shapes that later emissions may assume, given the use of storage."""
        found = dict[Key, Places]()
        for key in self.found:
            are_dead_if_inactive = all(
                use.is_dead_if_inactive(key, block) for block in self.affine_in_running_lanes.get(key, ())
            )
            places = {p: s for p, s in self.places(key).items() if not s.stride or key not in use.unwritten}
            if are_dead_if_inactive and places:  # unwritten registers begin with zeros, which are uniform
                found[key] = places
        return found

    def relied_only_on(self, shapes: Mapping[Key, Places]) -> bool:
        """Whether readers took nothing for granted but those shapes."""
        return all(shapes.get(key, {}).get(place) == shape for key, place, shape in self.taken)

    def slots(self, keys: Iterable[Key]) -> set[Key]:
        """The slots of the scalars of registers."""
        return {
            slot
            for key in keys
            for place, shape in self.assumed.get(key, {}).items()
            for slot in slots_of(key, place, shape)
        }


def slots_of(key: Key, place: Place, shape: AffineShape) -> list[Key]:
    """The slots of a shape's scalars."""
    count = 1 if shape.row == shape.lanes else 2
    return [(f"{AFFINE_SLOT}{key[1]}.{place[0]}.", n) for n in range(count)]


def _overlap(one: Place, other: Place) -> bool:
    return one[0] < other[1] and other[0] < one[1]
