"""The race check in compiled code: a test of the words of its memory follows each access, in the access's form: a row
of words for a row of lanes, scattered words for scattered lanes (``host/race.py``).

Where the words exclude a race, they are updated; else a function out of line goes through the lanes. In a launch that
records, the test is whether the memory is marked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from visakit.forks import cached_property
from visakit.language import types
from vsim.analysis.exchanges import is_for_lanes, ordering_steps
from vsim.analysis.unread import ReadElements, read_elements
from vsim.checks.accesses import ARRIVAL, ATOMIC, DEPARTURE, NO_LANE, READ, WHOLE, WRITE, fence_of
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.race import FINE, RECORDING
from vsim.engines.llvm.ir.emitter import UNLIKELY
from vsim.engines.llvm.ir.intrinsics import masked_read
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.observers.findings import FindingExits
from vsim.engines.llvm.lower.observers.race_ids import RaceIds
from vsim.engines.llvm.lower.observers.race_words import RaceWords, Test
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.memory.part import LanePart, mask_bits
from vsim.engines.llvm.memory.scalarised import Offsets
from vsim.engines.llvm.memory.scatter import OutOfLineAccess
from vsim.engines.llvm.memory.watch import OnlyRead
from vsim.engines.llvm.support.race import CHECK_ARGUMENTS, EVENT_ARGUMENTS, LOG_ARGUMENTS
from vsim.observe.observer import Event, Observer
from vsim.semantics.core import unsigned_of
from vsim.semantics.messages import meaning

if TYPE_CHECKING:
    from vsim.engines.llvm.lower.machine import LoweringMachine

_WATCHED = (cx.FLAT, cx.FLAT_WRITTEN, cx.SURFACE, cx.SURFACE_WRITTEN, cx.LOCAL)
_MARKING = 3
"""The kind of an access whose units are marked in any case."""
_LONGEST_ROW, _LONGEST_NARROW_ROW = 64, 32
"""Units of a row that are tested at once, and lanes of a row that are less than a unit each."""


@dataclass(frozen=True)
class _Lanes:
    """Lanes of an access with offsets from a host pointer, or of the space if that is its base.

    ``lost``: emits the mask of lanes whose stored value was overwritten by another lane of the instruction, or that
    only read in an atomic operation; None where no lane can.
    """

    part: LanePart
    pointer: str
    offsets: Offsets
    vector: Value | None
    kind: int
    lost: Callable[[], Value] | None = None


class RaceChecks(Observer):
    """The accesses of one function; see :class:`vsim.engines.llvm.memory.watch.AccessWatch`."""

    out_of_line: OutOfLineAccess

    def __init__(self, state: FunctionState, findings: FindingExits) -> None:
        self.state, self.b = state, state.b
        self.recording = RECORDING in state.dispatch.checks
        self.ids = RaceIds(state, findings)
        self.words = RaceWords(self.ids, state.module.race_unit, self.recording, FINE in state.dispatch.checks)
        self.unit = state.module.race_unit
        self.total = 0
        """Lanes of the message whose parts are lowered."""

    def prepare(self, engine: LoweringMachine) -> None:
        self.out_of_line = engine.access.out_of_line
        engine.access.watched_by(self)
        engine.texels.watch = self

    def threads_begin(self, event: Event) -> None:
        if self.state.shares:
            self.ids.publish()

    def begin(self, lanes: int) -> None:
        """A message of so many lanes."""
        self.total = lanes

    # -- accesses ------------------------------------------------------------------------------------------

    def row(self, part: LanePart, pointer: str, vector: Value | None, stores: bool, first: int = 0) -> None:
        """Words of a row for a row of lanes."""
        kind = WRITE if stores else READ
        if not self._is_watched(part, kind):
            return
        lanes = _Lanes(part, pointer, [i * part.size for i in range(part.lanes)], vector, kind)
        read = self._read_of(part, kind, first)
        if read != [(0, part)]:
            for start, own in read:
                self._scattered(replace(lanes, part=own, pointer=self.b.offset(pointer, start)))
        elif self.ids.step and stores and part.size < self.unit and self._is_for_lanes():
            self._go_through(lanes)  # Lanes with parts of one unit are told apart one by one.
        else:
            self._row(part, lanes, vector)

    def one(self, part: LanePart, pointer: str, vector: Value | None, values: Sequence[Value] | None) -> None:
        """The words of one place, whatever lanes there are."""
        kind = READ if values is None else WRITE
        if self._is_watched(part, kind):
            steps = [0] * part.lanes
            lanes = _Lanes(part, pointer, steps, vector, kind, self._lost(part, pointer, steps, vector, values))
            if self.ids.step and kind == WRITE and self._is_for_lanes():
                self._mark_shared(lanes)
            for start, own in self._read_of(part, kind):
                at = replace(lanes, part=own, pointer=self.b.offset(pointer, start))
                self._row(replace(own, lanes=1), at, None)
            self._mark_lost(lanes)

    def each(
        self, part: LanePart, pointer: str, offsets: Offsets, vector: Value | None, values: Sequence[Value] | None
    ) -> None:
        """Words for each lane."""
        kind = READ if values is None else WRITE
        if self._is_watched(part, kind):
            lost = self._lost(part, pointer, offsets, vector, values)
            lanes = _Lanes(part, pointer, offsets, vector, kind, lost)
            for start, own in self._read_of(part, kind):
                self._scattered(replace(lanes, part=own, pointer=self.b.offset(pointer, start)))
            if not self.ids.step:
                self._mark_lost(lanes)

    def loop(self, part: LanePart, offset: Value, vector: Value | None, values: Sequence[Value] | None) -> None:
        """All lanes out of line."""
        kind = READ if values is None else WRITE
        if self._is_watched(part, kind):
            lost = (
                None if values is None or part.lanes == 1 else lambda: self._lost_of_loop(part, offset, vector, values)
            )
            lanes = _Lanes(part, part.space.pointer or "null", offset, vector, kind, lost)
            for start, own in self._read_of(part, kind):
                at = offset + self.b.const(start, offset.type) if start else offset
                self._go_through(replace(lanes, part=own, offsets=at))
            self._mark_lost(lanes)

    def changed(self, part: LanePart, offset: Value, vector: Value | None, only_read: OnlyRead) -> None:
        """The check of atomics, which is out of line like the atomics."""
        if self._is_watched(part, ATOMIC):
            looks = only_read() if self.recording else None
            lost = None if looks is None else lambda: looks
            self._go_through(_Lanes(part, part.space.pointer or "null", offset, vector, ATOMIC, lost))

    def _is_watched(self, part: LanePart, kind: int) -> bool:
        """Whether others share the memory; notes how little of it is changed at once."""
        if part.space.kind not in _WATCHED:
            return False
        module = self.state.module
        if kind != READ:
            module.smallest_change = min(module.smallest_change, part.element.size)
        return True

    def _read_of(self, part: LanePart, kind: int, first: int = 0) -> list[tuple[int, LanePart]]:
        """The parts of a load that the program reads, with the bytes in front of each; of other accesses all.

        Args:
            first: the number of the part's first element.
        """
        found = self.elements_read.get(self.state.at.pc) if kind == READ else None
        if found is None:
            return [(0, part)]
        runs = found.within(first, part.count)
        return [(start * part.element.size, replace(part, count=count)) for start, count in runs]

    @cached_property
    def elements_read(self) -> dict[int, ReadElements]:
        """Loads of the function of which some elements are not read."""
        return read_elements(self.state.function, self.state.dispatch.grf_size)

    # -- events --------------------------------------------------------------------------------------------

    def before(self, event: Event) -> None:
        """Record a fence, and count what orders work-items, in a launch that records."""
        kind = fence_of(meaning(event.instruction, self.state.dispatch.grf_size))
        if not self.recording:
            return
        if kind is not None:
            self._event(kind)
        if self.state.at.pc in self.ordering:
            self.ids.count_step()

    def arrived(self, rows: str, numbers: str) -> None:
        """Record that the thread is about to arrive at a named barrier (i64), in a launch that records."""
        if self.recording:
            self._event(ARRIVAL, numbers, self.openings(numbers))

    def openings(self, number: str) -> str:
        """How often a named barrier of the group has opened, i64."""
        b = self.b
        named = b.assign(f"load ptr, ptr {b.offset('%worker', cx.WORKER_NAMED)}, align 8")
        at = b.assign(f"getelementptr i64, ptr {b.offset(named, cx.NAMED_OPENINGS)}, i64 {number}")
        return b.assign(f"load i64, ptr {at}, align 8")

    def departed(self, rows: str, numbers: str) -> None:
        """Record that the thread has left a named barrier, in a launch that records."""
        if self.recording:
            b = self.b
            record = b.assign(f"load ptr, ptr {b.offset('%worker', cx.WORKER_THREAD)}, align 8")
            at = b.assign(f"getelementptr i64, ptr {b.offset(record, cx.RECORD_WAITS)}, i64 {numbers}")
            waits = b.assign(f"load i64, ptr {at}, align 8")
            self._event(DEPARTURE, numbers, b.assign(f"sub i64 {waits}, 1"))

    def _event(self, kind: int, number: str = "0", opening: str = "0") -> None:
        signals, waits = self.ids.counts()
        values = (str(kind), self.ids.now(), signals, waits, self.ids.site(), number, opening)
        self.b.declare("race_event", "void", ", ".join(["ptr", *["i64"] * len(EVENT_ARGUMENTS)]))
        self.b.emit(f"call void @race_event(ptr %ctx, {', '.join(f'i64 {v}' for v in values)}) #2")

    # -- tests ---------------------------------------------------------------------------------------------

    def _row(self, part: LanePart, lanes: _Lanes, vector: Value | None) -> None:
        """The test of consecutive units of a part; ``lanes`` go out of line if it fails."""
        b, unit, stores = self.b, self.unit, lanes.kind == WRITE
        if self._goes_out_of_line(part) or (part.size < unit and part.lanes > _LONGEST_NARROW_ROW):
            self._go_through(lanes)
            return
        place, count = self.words.place(lanes.pointer), part.size * part.lanes // unit
        tests = []
        if part.size < unit:
            at, mask = self.words.unit_of(place), None
            count = 1
            if part.lanes > 1:
                count, mask = self.words.units_of_row(place, part.size, part.lanes, vector)
            ids = self._whole_ids(count)
            tests.append(self.words.row(at, 0, ids, mask, stores, part.space.kind == cx.LOCAL))
            self._decide(tests, self.words.misplaced(place, part.size), lanes)
            return
        for first in range(0, count, _LONGEST_ROW):
            width = min(_LONGEST_ROW, count - first)
            mask, own = None, [(first + i) * unit // part.size for i in range(width)]
            if vector is not None:
                mask = b.lanes(vector, own)
            is_one = part.lanes == 1  # which stands for all of a message, if there are several
            ids = self._whole_ids(width) if is_one else self._lane_ids([part.first + lane for lane in own])
            tests.append(self.words.row(place, first, ids, mask, stores, part.space.kind == cx.LOCAL))
        self._decide(tests, self.words.misplaced(place, unit), lanes)

    def _goes_out_of_line(self, part: LanePart) -> bool:
        """Whether the lanes of a part have no test in line: where threads take turns, and lanes of odd sizes."""
        return self.state.module.takes_turns or bool(part.size % self.unit and self.unit % part.size)

    def _scattered(self, lanes: _Lanes) -> None:
        """The test of units of lanes anywhere."""
        b, unit, part = self.b, self.unit, lanes.part
        if self._goes_out_of_line(part):
            self._go_through(lanes)
            return
        mask = lanes.vector if lanes.vector is not None else b.all_lanes(part.lanes)
        place, tests = self.words.place(lanes.pointer, self._wide(lanes)), []
        misplaced = self.words.misplaced(place, min(part.size, unit))
        place = place if part.size >= unit else self.words.unit_of(place)
        ids = self._lane_ids(range(part.first, part.first + part.lanes))

        def shared(replaced: Value) -> None:
            self._if_suspicious(b.any(replaced), lambda: self._go_through(lanes), lambda: None)

        for k in range(max(part.size // unit, 1)):
            at = place + b.const(k * unit, types.UQ) if k else place
            is_local = part.space.kind == cx.LOCAL
            tests.append(self.words.scattered(at, ids, mask, lanes.kind == WRITE, is_local, shared))
        self._decide(tests, misplaced if misplaced is None else misplaced & mask, lanes)

    def _decide(self, tests: Sequence[Test], misplaced: Value | None, lanes: _Lanes) -> None:
        """After the tests: suspicious lanes go out of line, else the words are updated."""
        b = self.b
        some = [b.any(t.suspicious) for t in tests] + ([b.any(misplaced)] if misplaced is not None else [])
        condition = some[0]
        for other in some[1:]:
            condition = b.assign(f"or i1 {condition}, {other}")

        def usual() -> None:
            for test in tests:
                test.update()

        self._if_suspicious(condition, lambda: self._go_through(lanes), usual)

    def _if_suspicious(self, condition: str, away: Callable[[], None], usual: Callable[[], None]) -> None:
        """One thing off the hot path if a condition (i1) holds, else another here."""
        b = self.b
        rare, often, behind = b.new_label("raced"), b.new_label("unraced"), b.new_label("watched")
        before, hot = b.mark(), b.lines
        b.branch(condition, rare, often, UNLIKELY)
        b.lines = self.state.cold
        b.label(rare, before)
        away()
        b.jump(behind)
        b.lines = hot
        b.label(often, before)
        usual()
        b.jump(behind)
        b.label(behind, before)

    # -- out of line ---------------------------------------------------------------------------------------

    def _wide(self, lanes: _Lanes) -> Value:
        """Offsets of the lanes, uq."""
        b, offsets, count = self.b, lanes.offsets, lanes.part.lanes
        if isinstance(offsets, Value):
            return b.broadcast(b.cast(offsets, types.UQ), count)
        return b.vector(offsets, types.UQ) if count > 1 else b.const(offsets[0], types.UQ)

    def _go_through(self, lanes: _Lanes) -> None:
        """Call the function that checks or records each of the lanes."""
        lost = "0"
        if self.recording and lanes.lost is not None:
            lost = mask_bits(self.b, lanes.lost(), lanes.part.lanes)
        self._call(lanes, lanes.kind, lanes.vector, lost)

    def _call(self, lanes: _Lanes, kind: int, vector: Value | None, lost: str) -> None:
        b, part, ids = self.b, lanes.part, self.ids
        scratch = b.temporary(8 * part.lanes + 64)
        b.store(self._wide(lanes), scratch, 8)
        local = "0"
        if part.space.kind == cx.LOCAL:
            local = b.hoist(f"ptrtoint ptr {b.field('%worker', cx.WORKER_SLM, 'ptr')} to i64")
        signals, waits = ids.counts()
        known = {
            "unit_bits": str(self.unit.bit_length() - 1), "kind": str(kind), "me.w": self._first_id(part, kind),
            "signals": signals, "waits": waits, "local": local, "site": ids.site(), "lost": lost,
            "lane0": str(self._first_lane(part)), "id_step": str(ids.step if self._is_for_lanes() else 0),
            "items": self._items(part) if self.recording else "0",
        }  # fmt: skip
        name, arguments = ("race_log", LOG_ARGUMENTS) if self.recording else ("race_check", CHECK_ARGUMENTS)
        b.declare(name, "void", ", ".join(["ptr", "ptr", "ptr", *["i64"] * (2 + len(arguments))]))
        active = mask_bits(b, vector, part.lanes)
        texts = ", ".join(f"i64 {v}" for v in (active, str(part.size), *(known[a] for a in arguments)))
        b.emit(f"call void @{name}(ptr %ctx, ptr {lanes.pointer}, ptr {scratch}, {texts}) #2")

    def _first_lane(self, part: LanePart) -> int:
        """The lane of the thread that the part's first one is; none in messages of blocks and of single lanes.

        Where all lanes do the same, the first one stands for them.
        """
        execution = self.state.at.execution
        if execution is None or execution.size == 1 or self.total not in (1, execution.size):
            return NO_LANE
        return execution.offset + part.first

    # -- work-items ----------------------------------------------------------------------------------------

    @cached_property
    def ordering(self) -> frozenset[int]:
        """Instructions of the function that order the work-items of a thread, in a launch that records their races."""
        dispatch = self.state.dispatch
        return ordering_steps(self.state.function, dispatch.grf_size) if dispatch.races_of_items else frozenset()

    def _is_for_lanes(self) -> bool:
        """Whether the message is one of lanes, and no other for the thread as a whole."""
        execution = self.state.at.execution
        return is_for_lanes(execution) and execution is not None and self.total in (1, execution.size)

    def _whole_ids(self, count: int) -> Value:
        """The id of what all running work-items of the thread do, so many times."""
        if not self.ids.step:
            return self.ids.of_lanes([0] * count)
        return self.b.broadcast(self.ids.narrow(self.ids.of_all()), count)

    def _lane_ids(self, lanes: Iterable[int]) -> Value:
        """The ids of lanes of the message."""
        if not self._is_for_lanes() or self.total == 1:
            return self._whole_ids(len([*lanes]))
        execution = self.state.at.execution
        assert execution is not None
        return self.ids.of_lanes([execution.offset + lane for lane in lanes])

    def _first_id(self, part: LanePart, kind: int) -> str:
        """The id of the first lane of a part, i64."""
        execution, ids = self.state.at.execution, self.ids
        if not ids.step:
            return ids.now()
        if execution is None or not self._is_for_lanes():
            return self.ids.of_all(kind == ATOMIC)
        return self.b.assign(f"add i64 {ids.now()}, {(execution.offset + part.first) * ids.step}")

    def _items(self, part: LanePart) -> str:
        """The lanes whose access it is as bits, i64; 0 if each has its own."""
        state, execution = self.state, self.state.at.execution
        if not state.dispatch.races_of_items or (self._is_for_lanes() and part.lanes > 1):
            return "0"
        running = None if state.at.running is True else state.at.running
        bits = mask_bits(self.b, running, state.lanes)
        if execution is None or not self._is_for_lanes():
            return self.b.assign(f"or i64 {bits}, {WHOLE}")
        if self.total > 1:
            return "0"
        return self.b.assign(f"and i64 {bits}, {((1 << execution.size) - 1) << execution.offset}")

    def _mark_shared(self, lanes: _Lanes) -> None:
        """Mark a place that several lanes store to, in a launch that is checked."""
        b, bits = self.b, mask_bits(self.b, lanes.vector, lanes.part.lanes)
        if self.total == 1:
            bits = str((1 << self.state.lanes) - 1)
        less = b.assign(f"sub i64 {bits}, 1")
        several = b.assign(f"icmp ne i64 {b.assign(f'and i64 {bits}, {less}')}, 0")
        self._if_suspicious(several, lambda: self._call(lanes, _MARKING, lanes.vector, "0"), lambda: None)

    # -- lanes of one instruction --------------------------------------------------------------------------

    def _lost(
        self, part: LanePart, pointer: str, offsets: Offsets, vector: Value | None, values: Sequence[Value] | None
    ) -> Callable[[], Value] | None:
        """Which lanes do not find their values where they stored them; None if there cannot be any."""
        if values is None or part.lanes == 1 or all(v.lanes == 1 for v in values):
            return None

        def emit() -> Value:
            b, lanes = self.b, part.lanes
            mask, there = vector if vector is not None else b.all_lanes(lanes), []
            wide = self._wide(_Lanes(part, pointer, offsets, vector, WRITE))
            for k in range(part.count):
                start = b.offset(pointer, k * part.element.size)
                at = b.assign(f"getelementptr i8, ptr {start}, {wide.typed}")
                there.append(masked_read(b, "gather", part.element, at, 1, mask))
            return self._differ(there, values, vector, lanes)

        return emit

    def _lost_of_loop(self, part: LanePart, offset: Value, vector: Value | None, values: Sequence[Value]) -> Value:
        """The same of lanes with addresses of the space."""
        call = self.out_of_line.call
        there = [
            self.b.load(part.element, part.lanes, call("load", part, column, vector, [], rare=True), 64)
            for column in part.elements_at(offset)  # The store has checked all of them.
        ]
        return self._differ(there, values, vector, part.lanes)

    def _differ(self, there: Sequence[Value], values: Sequence[Value], vector: Value | None, lanes: int) -> Value:
        """The active lanes whose values differ from memory's."""
        b = self.b
        found: Value | None = None
        for mine, now in zip(values, there, strict=True):
            bits = unsigned_of(mine.type.size)
            differs = b.bitcast(b.broadcast(mine, lanes), bits) != b.bitcast(now, bits)
            found = differs if found is None else found | differs
        assert found is not None
        return found if vector is None else found & vector

    def _mark_lost(self, lanes: _Lanes) -> None:
        """Mark the units at which lanes lost their values, in a launch that is checked."""
        if self.recording or lanes.lost is None:
            return
        lost = lanes.lost()
        self._if_suspicious(self.b.any(lost), lambda: self._call(lanes, _MARKING, lost, "0"), lambda: None)
