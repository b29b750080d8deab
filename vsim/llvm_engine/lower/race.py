"""The race check in compiled code: behind each access stands the test of the words of its memory, in the form that the
access has: a row of words for a row of lanes, scattered words for scattered lanes (``runtime/race.py``).

Where the words say that nobody may race, they are updated; else a function out of line goes through the lanes. In a
launch that records the test is whether the memory is marked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from visa import types
from visa.program import Instruction
from vsim.checks.accesses import ARRIVAL, ATOMIC, DEPARTURE, NO_LANE, READ, WRITE, fence_of
from vsim.llvm_engine.ir.emitter import UNLIKELY
from vsim.llvm_engine.ir.intrinsics import masked_read
from vsim.llvm_engine.ir.values import Value
from vsim.llvm_engine.lower.findings import FindingExits
from vsim.llvm_engine.lower.race_ids import RaceIds
from vsim.llvm_engine.lower.race_words import RaceWords, Test
from vsim.llvm_engine.lower.state import FunctionState
from vsim.llvm_engine.memory.each_lane import Offsets
from vsim.llvm_engine.memory.part import LanePart, mask_bits
from vsim.llvm_engine.memory.scatter import LaneLoops
from vsim.llvm_engine.memory.watch import OnlyRead
from vsim.llvm_engine.runtime import context as cx
from vsim.llvm_engine.runtime.race import CHECK_ARGUMENTS, EVENT_ARGUMENTS, FINE, LOG_ARGUMENTS, RECORDING
from vsim.semantics.core import unsigned_of
from vsim.semantics.messages import meaning

_WATCHED = (cx.FLAT, cx.FLAT_WRITTEN, cx.SURFACE, cx.SURFACE_WRITTEN, cx.LOCAL)
_MARKING = 3
"""The kind of an access whose units are marked in any case."""
_LONGEST_ROW, _LONGEST_NARROW_ROW = 64, 32
"""Units of a row that are tested at once, and lanes of a row that are less than a unit each."""


@dataclass(frozen=True)
class _Lanes:
    """Lanes of an access with offsets from a host pointer, or of the space if that is its base.

    ``lost``: emits which of them have lost what they stored to another lane of the instruction, or have only read in an
    atomic operation; None where none can.
    """

    part: LanePart
    pointer: str
    offsets: Offsets
    vector: Value | None
    kind: int
    lost: Callable[[], Value] | None = None


class RaceWatch:
    """The accesses of one function; see :class:`vsim.llvm_engine.memory.watch.AccessWatch`."""

    def __init__(self, state: FunctionState, findings: FindingExits, loops: LaneLoops) -> None:
        self.state, self.b, self.loops = state, state.b, loops
        self.recording = RECORDING in state.dispatch.checks
        self.ids = RaceIds(state, findings)
        self.words = RaceWords(self.ids, state.module.race_unit, self.recording, FINE in state.dispatch.checks)
        self.unit = state.module.race_unit
        self.total = 0
        """Lanes of the message whose parts are lowered."""

    def begin(self, lanes: int) -> None:
        """A message of so many lanes."""
        self.total = lanes

    # -- accesses ------------------------------------------------------------------------------------------

    def row(self, part: LanePart, pointer: str, vector: Value | None, stores: bool) -> None:
        """Words of a row for a row of lanes."""
        kind = WRITE if stores else READ
        if self._is_watched(part, kind):
            steps = [i * part.size for i in range(part.lanes)]
            self._row(part, _Lanes(part, pointer, steps, vector, kind), vector)

    def one(self, part: LanePart, pointer: str, vector: Value | None, values: Sequence[Value] | None) -> None:
        """The words of one place, whatever lanes there are."""
        kind = READ if values is None else WRITE
        if self._is_watched(part, kind):
            steps = [0] * part.lanes
            lanes = _Lanes(part, pointer, steps, vector, kind, self._lost(part, pointer, steps, vector, values))
            self._row(replace(part, lanes=1), lanes, None)
            self._mark_lost(lanes)

    def each(
        self, part: LanePart, pointer: str, offsets: Offsets, vector: Value | None, values: Sequence[Value] | None
    ) -> None:
        """Words for each lane."""
        kind = READ if values is None else WRITE
        if self._is_watched(part, kind):
            lost = self._lost(part, pointer, offsets, vector, values)
            lanes = _Lanes(part, pointer, offsets, vector, kind, lost)
            self._scattered(lanes)
            self._mark_lost(lanes)

    def loop(self, part: LanePart, offset: Value, vector: Value | None, values: Sequence[Value] | None) -> None:
        """All lanes out of line."""
        kind = READ if values is None else WRITE
        if self._is_watched(part, kind):
            lost = (
                None if values is None or part.lanes == 1 else lambda: self._lost_of_loop(part, offset, vector, values)
            )
            lanes = _Lanes(part, part.space.pointer or "null", offset, vector, kind, lost)
            self._go_through(lanes)
            self._mark_lost(lanes)

    def changed(self, part: LanePart, offset: Value, vector: Value | None, only_read: OnlyRead) -> None:
        """Atomics, out of line as they are themselves."""
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

    # -- events --------------------------------------------------------------------------------------------

    def fence(self, instruction: Instruction) -> None:
        """Record a fence, in a launch that records."""
        kind = fence_of(meaning(instruction, self.state.dispatch.grf_size))
        if kind is not None and self.recording:
            self._event(kind)

    def arrived(self, number: str) -> None:
        """Record that the thread is about to arrive at a named barrier (i64), in a launch that records."""
        if self.recording:
            self._event(ARRIVAL, number, self.openings(number))

    def openings(self, number: str) -> str:
        """How often a named barrier of the group has opened, i64."""
        b = self.b
        named = b.assign(f"load ptr, ptr {b.offset('%worker', cx.WORKER_NAMED)}, align 8")
        at = b.assign(f"getelementptr i64, ptr {b.offset(named, cx.NAMED_OPENINGS)}, i64 {number}")
        return b.assign(f"load i64, ptr {at}, align 8")

    def departed(self, number: str) -> None:
        """Record that the thread goes on behind a named barrier, in a launch that records."""
        if self.recording:
            b = self.b
            record = b.assign(f"load ptr, ptr {b.offset('%worker', cx.WORKER_THREAD)}, align 8")
            at = b.assign(f"getelementptr i64, ptr {b.offset(record, cx.RECORD_WAITS)}, i64 {number}")
            waits = b.assign(f"load i64, ptr {at}, align 8")
            self._event(DEPARTURE, number, b.assign(f"sub i64 {waits}, 1"))

    def _event(self, kind: int, number: str = "0", opening: str = "0") -> None:
        signals, waits = self.ids.counts()
        values = (str(kind), self.ids.now(), signals, waits, self.ids.site(), number, opening)
        self.b.declare("race_event", "void", ", ".join(["ptr", *["i64"] * len(EVENT_ARGUMENTS)]))
        self.b.emit(f"call void @race_event(ptr %ctx, {', '.join(f'i64 {v}' for v in values)}) #2")

    # -- tests ---------------------------------------------------------------------------------------------

    def _row(self, part: LanePart, lanes: _Lanes, vector: Value | None) -> None:
        """The test of the units of a part that follow each other; ``lanes`` are those that go out of line."""
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
            tests.append(self.words.row(at, 0, count, mask, stores, part.space.kind == cx.LOCAL))
            self._decide(tests, self.words.misplaced(place, part.size), lanes)
            return
        for first in range(0, count, _LONGEST_ROW):
            width = min(_LONGEST_ROW, count - first)
            mask = None
            if vector is not None:
                mask = b.lanes(vector, [(first + i) * unit // part.size for i in range(width)])
            tests.append(self.words.row(place, first, width, mask, stores, part.space.kind == cx.LOCAL))
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
        for k in range(max(part.size // unit, 1)):
            at = place + b.const(k * unit, types.UQ) if k else place
            tests.append(self.words.scattered(at, mask, lanes.kind == WRITE, part.space.kind == cx.LOCAL))
        self._decide(tests, misplaced if misplaced is None else misplaced & mask, lanes)

    def _decide(self, tests: Sequence[Test], misplaced: Value | None, lanes: _Lanes) -> None:
        """Behind the tests: what is suspicious goes out of line, else the words are updated."""
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
        scratch = b.scratch(8 * part.lanes + 64)
        b.store(self._wide(lanes), scratch, 8)
        local = "0"
        if part.space.kind == cx.LOCAL:
            local = b.hoist(f"ptrtoint ptr {b.field('%worker', cx.WORKER_SLM, 'ptr')} to i64")
        signals, waits = ids.counts()
        known = {
            "unit_bits": str(self.unit.bit_length() - 1), "kind": str(kind), "me.w": ids.now(), "signals": signals,
            "waits": waits, "local": local, "site": ids.site(), "lane0": str(self._first_lane(part)), "lost": lost,
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
        call = self.loops.call
        there = [
            self.b.load(part.element, part.lanes, call("load", part, column, vector, [], True, more), 64)
            for column, more in part.elements_at(offset)
        ]
        return self._differ(there, values, vector, part.lanes)

    def _differ(self, there: Sequence[Value], values: Sequence[Value], vector: Value | None, lanes: int) -> Value:
        """The active lanes whose values are not those that are there."""
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
