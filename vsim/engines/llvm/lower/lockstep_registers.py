"""Lockstep registers: vectors that are the same in all lanes which run in a loop (:mod:`vsim.analysis.lockstep`).

Storage holds the whole vector, as lanes that have left the loop keep other values, and beside it a scalar: the result
of the last writer in all lanes that run. In the loop a vector out of storage has that scalar as a fact,
under the mask of the lanes that run.
"""

from __future__ import annotations

from collections.abc import Sequence

from vsim.analysis.lockstep import LockstepLoop, Place
from vsim.engines.llvm.ir.affine import AffineLanes, AssumedMask
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.storage import AFFINE_SLOT, Key, Storage
from vsim.engines.llvm.memory.part import first_active
from vsim.semantics.core import unsigned_of


class LockstepRegisters:
    """The lockstep registers of one function, known from its second emission on.

    Args:
        lanes: of a thread.
        loops: the innermost ones first.
    """

    def __init__(self, b: Builder, storage: Storage, lanes: int, loops: Sequence[LockstepLoop]) -> None:
        self.b, self.storage, self.lanes = b, storage, lanes
        self.written: dict[int, Place] = {
            pc: place for loop in loops for place, writers in loop.writers.items() for pc in writers
        }
        """The lockstep register that an instruction writes."""
        self.loops: dict[Place, list[LockstepLoop]] = {}
        for loop in loops:
            for place in loop.writers:
                self.loops.setdefault(place, []).append(loop)

    def with_scalar(self, key: Key, low: int, value: Value, pc: int, running: Value | None) -> Value:
        """A value that an instruction reads for the lanes that run, with the scalar as a fact about these.

        Only variables are read from storage for the lanes that run: predicates are read whole, addresses for all lanes.
        """
        size = value.type.size
        of_all_lanes = running is not None and value.lanes == running.lanes == self.lanes
        if running is None or not of_all_lanes or not value.type.is_integer:
            return value
        place = key[1], low, size
        if not any(loop.holds(place, pc) for loop in self.loops.get(place, ())):
            return value
        scalar = self.b.load(unsigned_of(size), 1, self._slot(place), 8)
        known = AffineLanes(self.b.retype(scalar, value.type), 0, value.lanes, assumptions=(AssumedMask(running.text),))
        return value.copy(value.type).with_facts(affine=known)

    def keep(self, place: Place, value: Value, running: Value | None) -> None:
        """Keep the scalar of a value that all running lanes have written."""
        known = value.facts.affine
        holding = frozenset[str]() if running is None else running.facts.implies | {running.text}
        if value.lanes == 1:
            scalar = value
        elif known and known.distances() == [0] * value.lanes and known.is_certain_inside(holding):
            scalar = known.first_lane
        else:
            scalar = self.b.lane(value, first_active(self.b, running, value.lanes))
        self.b.store(self.b.retype(scalar, unsigned_of(place[2])), self._slot(place), 8)

    def _slot(self, place: Place) -> str:
        root, low, size = place
        return self.storage.pointer((f"{AFFINE_SLOT}S{root}.{low}.", size))
