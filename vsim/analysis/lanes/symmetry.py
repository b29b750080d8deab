"""Lane symmetry: whether all lanes run the same program, each with its own registers.

Compilers split wide instructions into instructions for a part of the lanes, with other registers::

    mul (M1, 16) V1(0,0)<1> V2(0,0)<1;1,0> 0x4:ud
    mul (M5, 16) V3(0,0)<1> V2(2,0)<1;1,0> 0x4:ud

In each block the instructions of a lane are compared one by one with those of lane 0: they do the same with the same
constants, and a one-to-one mapping leads from the lane's registers, byte by byte, to those of lane 0. Bytes that are
equal for all lanes are the same for both, written by the same instructions before. With ``0x8:ud`` in the second line
results depend on a lane's number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import NamedTuple

from visakit.isa.record import Access
from visakit.language.operands import Address, Execution, General, Indirect, Predicate, PredicateControl, Raw
from visakit.language.program import Function, Instruction
from vsim.semantics.registers import Layout, takes_address

EVERY = -1
"""The owner of bytes that are equal for all lanes."""
Place = tuple[str, int]
"""A register: its kind and number."""
Byte = tuple[Place, int]


class Touch(NamedTuple):
    """Bytes of a register (of a predicate: lanes) that an instruction reads or writes for a lane, or for all."""

    place: Place
    low: int
    size: int
    lane: int
    writes: bool


def by_lane(touches: Iterable[Touch]) -> dict[int, list[Touch]]:
    """Touches of each lane, and of all."""
    found: dict[int, list[Touch]] = {}
    for t in touches:
        found.setdefault(t.lane, []).append(t)
    return found


class LaneStep(NamedTuple):
    """An instruction and the registers that it touches, by lane."""

    instruction: Instruction
    touches: dict[int, list[Touch]]

    @property
    def is_whole(self) -> bool:
        """Whether it is executed once, and not for each lane."""
        execution = self.instruction.args.get("exec")
        return execution is None or execution.size == 1

    def covers(self, lane: int) -> bool:
        """Whether it is executed for a lane; a store that is executed once stands between the accesses of all lanes."""
        if self.is_whole:
            return self.instruction.desc.access not in (Access.NONE, Access.LOAD)
        execution = self.instruction.args["exec"]
        return bool(execution.offset <= lane < execution.offset + execution.size)

    def of(self, lane: int) -> list[Touch]:
        """Its touches for a lane."""
        return self.touches.get(lane, [])

    def shared(self) -> list[tuple[object, ...]]:
        """Its touches for all lanes; predicates without their bits, which are equal."""
        return [(t.place, t.place[0] != "P" and t.low, t.size, t.writes) for t in self.of(EVERY)]


class Symmetry:
    """The comparison of the lanes of a kernel with lane 0, by a mapping of their bytes.

    Args:
        owners: of each byte of a register the lane that it belongs to.
        images: bytes of lanes whose bytes of lane 0 are known, such as local ids; others are added.
        row: bytes of a row of arrays that are reached by address, with an element for each lane; or 0.
    """

    def __init__(
        self,
        kernel: Function,
        layout: Layout,
        owners: Mapping[Place, Mapping[int, int]],
        images: dict[Byte, Byte],
        row: int,
    ) -> None:
        self.kernel, self.layout, self.owners, self.images, self.row = kernel, layout, owners, images, row
        self.origins = {(owners[place][byte], image): (place, byte) for (place, byte), image in images.items()}
        self.known: set[tuple[Touch, Touch]] = set()
        self.writers: dict[int, list[dict[Touch, object]]] = {}

    def holds(self, blocks: Iterable[Sequence[LaneStep]], simd: int) -> bool:
        """Whether all lanes run the same program, in blocks of instructions."""
        return all(self._are_like_first(block, simd) for block in blocks)

    def _are_like_first(self, block: Sequence[LaneStep], simd: int) -> bool:
        self._note_writers(block)
        of_lanes = [[step for step in block if step.covers(lane)] for lane in range(simd)]
        return all(
            len(own) == len(of_lanes[0]) and all(map(self._is_like, own, of_lanes[0], repeat(lane)))
            for lane, own in enumerate(of_lanes)
            if lane
        )

    def _note_writers(self, block: Sequence[LaneStep]) -> None:
        """Note the writes for all lanes that precede each instruction of a block."""
        written: dict[Place, dict[Touch, object]] = {}
        self.writers = {}
        for n, step in enumerate(block):
            touches = [t for found in step.touches.values() for t in found]
            places = {t.place for t in touches if not t.writes}
            self.writers[id(step)] = [written[place].copy() for place in sorted(places) if place in written]
            if step.is_whole:
                reads = any(not t.writes for t in touches) or step.instruction.desc.access is not Access.NONE
                writer = n if reads else self._operation(step)
                for t in touches:
                    if t.writes:
                        written.setdefault(t.place, {})[t] = writer

    def _is_like(self, step: LaneStep, first: LaneStep, lane: int) -> bool:
        touches, others = step.of(lane), first.of(0)
        if step is not first and (self._operation(step), self.writers[id(step)]) != (
            self._operation(first),
            self.writers[id(first)],
        ):
            return False
        return len(touches) == len(others) and all(map(self._leads, touches, others))

    def _leads(self, own: Touch, first: Touch) -> bool:
        """Whether the mapping may lead from the bytes of a lane to those of lane 0."""
        if (own, first) in self.known:
            return True
        if (own.size, own.writes) != (first.size, first.writes):
            return False
        if not all(
            self._is_image((own.place, own.low + n), (first.place, first.low + n), own.lane) for n in range(own.size)
        ):
            return False
        self.known.add((own, first))
        return True

    def _is_image(self, byte: Byte, image: Byte, lane: int) -> bool:
        owner, owner_of_image = (self.owners.get(place, {}).get(at) for place, at in (byte, image))
        if owner != lane:  # Equal for all lanes, or never written.
            return owner == owner_of_image and (owner is None or byte == image)
        return (
            owner_of_image == 0
            and self.images.setdefault(byte, image) == image
            and self.origins.setdefault((lane, image), byte) == byte
        )

    def _operation(self, step: LaneStep) -> tuple[object, ...]:
        """An instruction without the registers of lanes."""
        i = step.instruction
        array = takes_address(self.kernel, i)
        place = array and (array.var, self.layout.place(array)[1] // max(1, self.row))
        args = ((name, self._without_register(op)) for name, op in sorted(i.args.items()))
        return i.desc, place, step.shared(), *args

    def _without_register(self, op: object) -> object:
        if isinstance(op, Execution):
            return op.size, op.no_mask, op.payload
        if isinstance(op, General):
            return self.kernel.variable_type(op.var), replace(op, var=0, row=0, col=0)
        if isinstance(op, Raw):
            return self.kernel.variable_type(op.var) if op.var else None
        if isinstance(op, Indirect):
            return replace(op, var=0, element=0)
        if isinstance(op, Address):
            return replace(op, var=0, offset=0)
        if isinstance(op, Predicate | PredicateControl):
            return replace(op, var=0)
        return tuple(map(self._without_register, op)) if isinstance(op, list | tuple) else op
