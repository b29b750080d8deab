"""Operands and masks of one function whose instructions run alone or in a stretch (:mod:`vsim.symbolic.stretch`).

In a stretch a mask is the predicate alone, as the stretch adds its conditions, and the stretch is told which lane reads
and writes which elements.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from visakit.isa.enums import LSC_ORDERS
from visakit.isa.record import Access, Flow
from visakit.language.operands import Address, Execution, Indirect, PredicateControl, VectorOperand
from visakit.language.types import DataType
from vsim.semantics.algebra import Opaque
from vsim.semantics.core import BY_LANE
from vsim.semantics.memory import execution_of
from vsim.symbolic import terms
from vsim.symbolic.algebra import AnyMask, SymbolicLanes, SymbolicMask, spread
from vsim.symbolic.operands import Read, ReadMask, Write
from vsim.symbolic.stretch import ADDRESS, PREDICATE, THREAD, VARIABLE, Stretch
from vsim.symbolic.thread_state import SymbolicThreadState


class StretchOperands(SymbolicThreadState):
    """Operands and thread state that a stretch follows."""

    stretch: Stretch | None = None
    """The one that is being executed."""

    @abstractmethod
    def note_write(self, kind: int, number: int, places: Sequence[Sequence[int]], lanes: Sequence[int]) -> None:
        """Tell the loops around the instruction of its writes: indices of elements, and the lane of each."""

    # -- lanes of a stretch --------------------------------------------------------------------------------

    def own_lanes(self, count: int) -> Sequence[int] | None:
        """The lane of each of ``count`` elements of the instruction's operands; None where that has no meaning."""
        instruction = self.instruction
        execution = execution_of(instruction)
        if execution is None or execution.no_mask or execution.size != count or count == 1:
            return None
        flow = instruction.desc.flow
        is_by_lane = instruction.desc.semantics in BY_LANE or instruction.desc.access is Access.ATOMIC
        is_by_lane = is_by_lane or flow in (Flow.GOTO, Flow.RETURN) or flow.is_call
        if not is_by_lane or instruction.args.get("order") == LSC_ORDERS["t"]:
            return None
        return range(execution.offset, execution.offset + count)

    @property
    def is_relative(self) -> bool:
        """Whether the instruction's mask leaves the stretch's conditions out: each lane works on its own elements."""
        execution = execution_of(self.instruction)
        return execution is not None and self.own_lanes(execution.size) is not None

    def mask(self, execution: Execution, predicate: PredicateControl | None) -> ReadMask:
        if not self.is_relative or execution.no_mask:
            return super().mask(execution, predicate)
        bits = self.predicate_bits(predicate, execution) if predicate else None
        return (lambda: True) if bits is None else bits

    def _touch(self, kind: int, number: int, indices: Sequence[int], lane: int) -> None:
        if self.stretch is not None:
            self.stretch.read(kind, number, indices, lane)

    def _masked(self, mask: AnyMask, own: Sequence[bool], lanes: Sequence[int]) -> AnyMask:
        """A mask with the stretch's conditions for the lanes that need them."""
        assert self.stretch is not None
        if not any(own):
            return mask
        found = spread([True] if mask is True else mask.terms, len(lanes))
        guards = self.stretch.guards
        pairs = zip(found, own, lanes, strict=True)
        return SymbolicMask([terms.conjunction(c, guards[lane]) if needed else c for c, needed, lane in pairs])

    def _written(
        self, write: Callable[[Opaque, AnyMask], None], kind: int, number: int, places: list[Sequence[int]]
    ) -> Callable[[Opaque, AnyMask], None]:
        """A writer that tells the stretch whose the elements are; ``places`` are the indices of each element."""
        lanes = self.own_lanes(len(places))

        def told(value: Opaque, mask: AnyMask) -> None:
            stretch = self.stretch
            if stretch is not None and lanes is not None:
                own = [stretch.write(kind, number, at, lane) for at, lane in zip(places, lanes, strict=True)]
                mask = self._masked(mask, own, lanes)
            elif stretch is not None:
                for at in places:
                    stretch.write(kind, number, at, THREAD)
            self.note_write(kind, number, places, lanes or [THREAD] * len(places))
            write(value, mask)

        return told

    # -- operands ------------------------------------------------------------------------------------------

    def _read(self, root: int, offsets: list[int], t: DataType) -> Read:
        read, lanes = super()._read(root, offsets, t), self.own_lanes(len(offsets))
        if root == 0:
            return read
        if lanes is None or len(set(offsets)) < len(offsets):
            lanes, offsets = [THREAD], [*dict.fromkeys(offsets)]
            lanes = lanes * len(offsets)
        places = [(range(at, at + t.size), lane) for at, lane in zip(offsets, lanes, strict=True)]

        def settled() -> SymbolicLanes:
            if self.stretch is not None and self.stretch.owners.get((VARIABLE, root)):
                for at, lane in places:
                    self.stretch.read(VARIABLE, root, at, lane)
            return read()

        return settled

    def _write(self, root: int, offsets: list[int], size: int) -> Write:
        write = super()._write(root, offsets, size)
        return self._written(write, VARIABLE, root, [range(at, at + size) for at in offsets]) if root else write

    def reader(self, op: VectorOperand, count: int, by_lane: bool = True) -> Read:
        read = super().reader(op, count, by_lane)
        if isinstance(op, Address):
            width = max(1, min(op.width, count))
            elements = range(op.offset, op.offset + width)
            lanes = self.own_lanes(count) if width == count else None

            def settled() -> SymbolicLanes:
                for n, lane in zip(elements, lanes or [THREAD] * width, strict=True):
                    self._touch(ADDRESS, op.var, [n], lane)
                return read()

            return settled
        return self._everything(read) if isinstance(op, Indirect) else read

    def _everything(self, read: Read) -> Read:
        """A reader that may read any register."""

        def settled() -> SymbolicLanes:
            if self.stretch is not None:
                self.stretch.settle()
            return read()

        return settled

    def _address_writer(self, op: Address, count: int) -> Write:
        write = super()._address_writer(op, count)
        return self._written(write, ADDRESS, op.var, [[n] for n in range(op.offset, op.offset + count)])

    def _indirect_writer(self, op: Indirect, count: int) -> Write:
        write, lanes = super()._indirect_writer(op, count), self.own_lanes(count)

        def settled(value: SymbolicLanes, mask: AnyMask) -> None:
            if self.stretch is not None:
                for root, size in self.layout.file_sizes.items():
                    self.stretch.open(VARIABLE, root, size)
                if lanes is not None:
                    mask = self._masked(mask, [True] * count, lanes)
            for root, size in self.layout.file_sizes.items():
                elements = [range(n, min(n + op.type.size, size)) for n in range(0, size, op.type.size)]
                self.note_write(VARIABLE, root, elements, [THREAD] * len(elements))
            write(value, mask)

        return settled

    # -- predicates ----------------------------------------------------------------------------------------

    def predicate_bits(self, predicate: PredicateControl, execution: Execution) -> Callable[[], SymbolicMask]:
        bits, lanes = super().predicate_bits(predicate, execution), self.own_lanes(execution.size)
        numbers: Sequence[int] = range(execution.offset, execution.offset + execution.size)
        if predicate.mode:
            numbers, lanes = range(self.function.predicate_bits(predicate.var)), None
        return self._settled_bits(bits, predicate.var, numbers, lanes)

    def _settled_bits(
        self, bits: Callable[[], SymbolicMask], index: int, numbers: Sequence[int], lanes: Sequence[int] | None
    ) -> Callable[[], SymbolicMask]:
        def settled() -> SymbolicMask:
            for n, lane in zip(numbers, lanes or [THREAD] * len(numbers), strict=True):
                self._touch(PREDICATE, index, [n], lane)
            return bits()

        return settled

    def predicate_reader(self, index: int, offset: int, count: int) -> Callable[[], SymbolicMask]:
        bits = super().predicate_reader(index, offset, count)
        return self._settled_bits(bits, index, range(offset, offset + count), self.own_lanes(count))

    def predicate_writer(self, index: int, offset: int, count: int) -> Callable[[AnyMask, AnyMask], None]:
        write = super().predicate_writer(index, offset, count)
        return self._written(write, PREDICATE, index, [[n] for n in range(offset, offset + count)])

    def predicate_as_integer(self, index: int) -> Read:
        read, bits = super().predicate_as_integer(index), range(self.function.predicate_bits(index))

        def settled() -> SymbolicLanes:
            self._touch(PREDICATE, index, bits, THREAD)
            return read()

        return settled
