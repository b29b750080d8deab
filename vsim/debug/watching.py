"""What happens at instructions that are watched: breakpoints are hit, watched values change, steps arrive."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from visakit.diagnostics import DebugError, SimulationError
from visakit.isa.record import Flow
from vsim.checks.report import diagnostics
from vsim.debug.checkpoints import Checkpoint, LanePosition
from vsim.debug.execution import SteppedLaunch
from vsim.debug.expressions import Expression
from vsim.debug.places import Places, Spot
from vsim.debug.scope import Scope
from vsim.debug.source.variables import SourceVariables
from vsim.debug.stops import ACCESS_WATCH, CATCH, READ_WATCH, WATCH, Breakpoint, Hit
from vsim.debug.values import DebugValue, shown_compact
from vsim.debug.watcher import Halt, Watcher
from vsim.engines.numpy.activation import Activation
from vsim.engines.numpy.algebra import any_lane
from vsim.engines.numpy.memory import MessageAccess
from vsim.launch.arrays import Array, address_of
from vsim.launch.ndrange import Group
from vsim.observe.observer import Event, Frame
from vsim.observe.trace import group_number

_BARRIERS = (Flow.BARRIER, Flow.SIGNAL, Flow.NAMED_BARRIER)
MOST_MARKS = 50_000


class CaughtCall(NamedTuple):
    """A call of a function or subroutine, also where the launch runs once more: how deep it is, when its function was
    called, and which one that is.
    """

    depth: int
    birth: int
    function: int


class Mark(NamedTuple):
    """An instruction that the lane in focus executes: when, where, and in which call."""

    position: LanePosition
    spot: Spot
    line: tuple[str, int]
    call: CaughtCall


Arrives = Callable[[Mark], bool]
"""Whether a step ends in front of an instruction."""


def call_of(activation: Activation) -> CaughtCall:
    """The call that an activation is."""
    depth, own = 0, activation
    while own.back is not None:
        own, depth = own.back.activation, depth + 1
    return CaughtCall(depth, activation.registers.birth, id(activation.function))


class Watching(Watcher):
    """The watcher of an execution: it finds hits, and halts for them or collects them.

    Attributes:
        arrives: whether a step ends; None while the launch continues.
        lane: row and lane whose instructions a step counts; None for none.
        collects: hits are kept and nothing halts: so a launch is searched backwards.
        hits: the hits of the stop, or the collected ones.
        marks: the instructions of the lane while hits are collected.
        logged: texts of log points.
    """

    def __init__(self, places: Places, sources: SourceVariables | None = None) -> None:
        self.places, self.sources = places, sources
        self._execution: SteppedLaunch | None = None
        self.breakpoints: list[Breakpoint] = []
        self.arrives: Arrives | None = None
        self.lane: tuple[int, int] | None = None
        self.collects = False
        self.hits: list[Hit] = []
        self.collected: deque[tuple[LanePosition, Hit]] = deque(maxlen=MOST_MARKS)
        self.marks: deque[Mark] = deque(maxlen=MOST_MARKS)
        self.logged: list[str] = []
        self.convenience: dict[str, DebugValue] = {}
        self._pending: list[Hit] = []
        self._old: dict[int, tuple[DebugValue, Array, Activation]] = {}
        self._touched: dict[int, tuple[bytes, bool, Array]] = {}
        self._known_findings = 0
        self._told: set[str] = set()
        """Findings that a stop has shown."""
        self._by_spot: dict[tuple[int, int], list[Breakpoint]] = {}
        self._watches: list[Breakpoint] = []
        self._catches: dict[str, Breakpoint] = {}
        self._looks = False
        """Whether something is looked at before each instruction."""

    @property
    def execution(self) -> SteppedLaunch:
        """The watched launch."""
        assert self._execution is not None
        return self._execution

    @property
    def _activation(self) -> Activation:
        """The activation that runs."""
        assert self.execution.batch is not None
        return self.execution.batch.execution.running.activation

    def note(self, text: str) -> None:
        """Let the next stop show a text; once, though a launch comes by more often."""
        if text not in self.logged:
            self.logged.append(text)

    def use(self, execution: SteppedLaunch) -> None:
        """Watch another launch."""
        self._execution = execution
        self._told.clear()
        self.reset()

    def reset(self) -> None:
        """Nothing has happened yet; breakpoints may have changed."""
        self.hits, self._pending, self._old, self._touched = [], [], {}, {}
        enabled = [b for b in self.breakpoints if b.enabled]
        self._by_spot = {}
        for b in enabled:
            for spot in b.spots:
                self._by_spot.setdefault((id(spot.function), spot.number), []).append(b)
        self._watches = [b for b in enabled if b.is_watch]
        self._catches = {b.what: b for b in enabled if b.kind == CATCH}
        self._looks = bool(self._watches or self._catches)
        self._known_findings = self._findings()
        reads = any(b.kind in (READ_WATCH, ACCESS_WATCH) and b.location is None for b in self._watches)
        self.execution.recorder.steps = [] if reads else None

    def _findings(self) -> int:
        found = self.execution.dispatch.findings
        return 0 if found is None else len(found)

    # -- which groups --------------------------------------------------------------------------------------

    def wants(self, groups: Sequence[Group]) -> bool:
        """Whether anything may stop in some groups."""
        if self.arrives is not None:
            return True
        return any(self._wants(b, group) for b in self.breakpoints if b.enabled for group in groups)

    def _wants(self, b: Breakpoint, group: Group) -> bool:
        dispatch = self.execution.dispatch
        if b.kind == CATCH and b.what in ("launch", "fault"):
            return False
        if b.spots and not self._may_reach(b):
            return False
        number = group_number(dispatch.nd_range, group)
        if b.threads is not None and number not in b.threads.groups:
            return False
        if b.condition is None:
            return True
        scope = _GroupScope(number, group)
        return all(scope.may_hold(part) for part in (b.condition.conjuncts or (b.condition,)))

    def may_hit(self, checkpoint: Checkpoint) -> bool:
        """Whether anything that stops the launch may have happened between a checkpoint and the next one."""
        return any(self._may_hit(b, checkpoint) for b in self.breakpoints if b.enabled)

    def _may_hit(self, b: Breakpoint, checkpoint: Checkpoint) -> bool:
        executed = checkpoint.executed
        if executed is None:
            return True
        if b.spots:
            return any((id(spot.function), spot.number) in executed for spot in b.spots)
        data = None if b.location is None or b.kind != WATCH else b.location.data
        if b.location is not None and data is not None and self.execution.shares(data):
            return checkpoint.pages.may_have(data, b.location.columns)
        return b.what not in ("launch", "fault")

    def _may_reach(self, b: Breakpoint) -> bool:
        """Whether the kernel may come to a breakpoint."""
        reached = self.execution.dispatch.image.functions_of(self.execution.dispatch.kernel)
        return any(spot.function is f for spot in b.spots for f in reached)

    # -- events --------------------------------------------------------------------------------------------

    def before(self, event: Event) -> None:
        """An instruction comes next.

        Raises:
            Halt: the launch stops here.
        """
        here = self._by_spot.get((id(event.function), event.number), ())
        if not (here or self._looks or self._pending or self.lane is not None):
            return
        activation, position = self._activation, self.execution.position
        hits, self._pending = self._pending, []
        for b in here:
            hits += self._reached(b, activation, position)
        hits += self._caught(event, activation, position)
        self._look_at_all(event, activation)
        mark = self._mark(event, activation, position)
        if self.collects:
            self.collected.extend((hit.back, hit) for hit in hits)
            if mark is not None:
                self.marks.append(mark)
            return
        hits = [hit for hit in hits if self._counts(hit)]
        if mark is not None and self.arrives is not None and self.arrives(mark):
            hits.append(Hit(None, activation.active, "", position))
        if hits:
            self.hits = hits
            raise Halt

    def _mark(self, event: Event, activation: Activation, position: LanePosition) -> Mark | None:
        if self.lane is None or not activation.active[self.lane]:
            return None
        spot = Spot(event.function, event.number)
        return Mark(position, spot, self.places.line_key(spot), call_of(activation))

    def _counts(self, hit: Hit) -> bool:
        """Count a hit; whether the launch stops for it."""
        b = hit.breakpoint
        if b is None:
            return True
        b.hits += 1
        if b.ignore > 0:
            b.ignore -= 1
            return False
        if b.log:
            self.logged.append(hit.text)
            return False
        return True

    def _reached(self, b: Breakpoint, activation: Activation, position: LanePosition) -> Iterable[Hit]:
        lanes = self._chosen(b, activation.active)
        if b.condition is not None and lanes.any():
            lanes = self._holding(b.condition, activation, lanes)
        if lanes.any():
            yield Hit(b, lanes, self._log_text(b, activation, lanes) if b.log else "", position)

    def _chosen(self, b: Breakpoint, lanes: Array) -> Array:
        """The lanes that a breakpoint is for."""
        assert self.execution.batch is not None
        return lanes if b.threads is None else b.threads.of(*self.execution.batch.numbers(), lanes)

    def _holding(self, condition: Expression, activation: Activation, lanes: Array) -> Array:
        """The lanes in which a condition holds; one without a value holds, so that its error shows."""
        rows = np.flatnonzero(any_lane(lanes))
        found = np.zeros_like(lanes)
        try:
            found[rows] = condition.holds(self._scope(activation, rows), lanes[rows])
        except DebugError as error:
            found[rows] = lanes[rows]
            self.logged.append(f"condition '{condition.text}': {error.diagnostics[0].message}")
        return found

    def _scope(self, activation: Activation, rows: Array) -> Scope:
        return Scope(
            self.execution, activation, rows, self.execution.number, self.sources, convenience=self.convenience
        )

    def _log_text(self, b: Breakpoint, activation: Activation, lanes: Array) -> str:
        from vsim.debug.logs import log_text

        row = int(any_lane(lanes).argmax())
        return log_text(b.log, self._scope(activation, np.array([row])), lanes[row])

    def _caught(self, event: Event, activation: Activation, position: LanePosition) -> Iterable[Hit]:
        flow = event.instruction.desc.flow
        if "barrier" in self._catches and flow in _BARRIERS:
            yield from self._reached(self._catches["barrier"], activation, position)
        if "check" in self._catches and self._findings() != self._known_findings:
            self._known_findings = self._findings()
            yield Hit(self._catches["check"], activation.active, self._new_finding(), position)

    def _new_finding(self) -> str:
        """What a check has just found."""
        texts = [str(d) for d in diagnostics(self.execution.dispatch)]
        new = [text for text in texts if text not in self._told]
        self._told.update(texts)
        return "; ".join(new)

    # -- watchpoints ---------------------------------------------------------------------------------------

    def goes_on(self, event: Event) -> None:
        """The launch continues with an instruction in front of which it has halted."""
        if self._watches:
            self._look_at_all(event, self._activation)

    def _look_at_all(self, event: Event, activation: Activation) -> None:
        """Note the values of all registers that are watched, in front of an instruction."""
        for b in self._watches:
            if b.location is None:
                self._look(b, event, activation)
        if self.execution.recorder.steps is not None:
            self.execution.recorder.steps.clear()

    def _look(self, b: Breakpoint, event: Event, activation: Activation) -> None:
        """Note the value of a register that is watched."""
        self._old.pop(b.number, None)
        if b.watched is None or (b.function and event.function.name != b.function):
            return
        lanes = self._chosen(b, activation.active)
        rows = np.flatnonzero(any_lane(lanes))
        if rows.size:
            try:
                value = b.watched.value(self._scope(activation, rows))
            except DebugError:
                return  # A variable of the source that the compiler keeps nowhere here.
            self._old[b.number] = value, rows, activation

    def after(self, event: Event) -> None:
        """An instruction has executed; its changes are reported in front of the next one."""
        for b in self._watches:
            if b.location is not None:
                self._after_access(b, event)
            elif b.number in self._old:
                self._after_registers(b, event, *self._old.pop(b.number))
        if self._pending and self.execution.time == self.execution.first_time:
            self.execution.first_time = -1

    def _after_registers(
        self, b: Breakpoint, event: Event, old: DebugValue, rows: Array, activation: Activation
    ) -> None:
        assert b.watched is not None
        try:
            new = b.watched.value(self._scope(activation, rows))
        except DebugError:
            return
        changed = _bits(old.data) != _bits(new.data)
        lanes = np.zeros_like(activation.active)
        is_read = self._was_read(new, rows) if b.kind != WATCH else np.zeros(len(rows), bool)
        is_changed = changed.any(axis=1) if b.kind != READ_WATCH else np.zeros(len(rows), bool)
        for n, row in enumerate(rows.tolist()):
            if not (is_changed[n] or is_read[n]):
                continue
            own = (
                np.flatnonzero(changed[n]) if new.by_lane and is_changed[n] else np.flatnonzero(activation.active[row])
            )
            lanes[row, own if own.size else 0] = True
        if b.condition is not None and lanes.any():
            lanes = self._holding(b.condition, activation, lanes)
        if lanes.any():
            n = int(np.flatnonzero(lanes[rows].any(axis=1))[0])
            text = _change(b, old, new, n) if is_changed[n] else f"{b.what} is read: {shown_compact(new, n)}"
            self._found(b, event, lanes, text)

    def _was_read(self, value: DebugValue, rows: Array) -> Array:
        location, steps = value.location, self.execution.recorder.steps
        if location is None or not steps:
            return np.zeros(len(rows), bool)
        reads = [
            (own, u) for _, own in location.parts for u in steps[-1].uses if u.holder == own.holder and not u.writes
        ]
        return np.array([any(u.elements(row, own.wanted(row)).size for own, u in reads) for row in rows.tolist()])

    def access(self, event: Event, access: MessageAccess) -> None:
        """Lanes access memory next: watched memory among it is noted."""
        for b in self._watches:
            if b.location is None or b.location.data is None:
                continue
            lanes = self._touching(b, access)
            if lanes is not None:
                data = b.location.data[b.location.columns].tobytes()
                self._touched[b.number] = data, access.writes, lanes

    def _touching(self, b: Breakpoint, access: MessageAccess) -> Array | None:
        """The lanes of an access that touch watched memory, threads x 32; None for none."""
        location, found = b.location, np.zeros(access.address.size, bool)
        assert location is not None and location.data is not None
        watched = location.columns.reshape(-1) + address_of(location.data)
        low, high = int(watched.min()), int(watched.max()) + 1
        try:
            parts = access.parts()
        except SimulationError:
            return None
        for data, offsets, lanes in parts:
            at = offsets + address_of(data)
            found[slice(None) if lanes is None else lanes] = (at < high) & (at + access.size > low)
        if not found.any():
            return None
        active = self._activation.active
        spread = access.spread(found)
        if spread.shape[1] > active.shape[1] or spread.shape[1] == 1:
            return self._chosen(b, active & any_lane(np.broadcast_to(spread, (len(active), spread.shape[1])))[:, None])
        lanes32 = np.zeros_like(active)
        lanes32[:, : spread.shape[1]] = spread
        return self._chosen(b, lanes32)

    def _after_access(self, b: Breakpoint, event: Event) -> None:
        old, writes, lanes = self._touched.pop(b.number, (b"", False, np.zeros((0, 0), bool)))
        location = b.location
        if not lanes.any() or location is None or location.data is None:
            return
        now = location.data[location.columns].tobytes()
        if (b.kind == WATCH and now == old) or (b.kind == READ_WATCH and writes):
            return

        def value(raw: bytes) -> DebugValue:
            data = np.frombuffer(raw, location.dtype).reshape(1, -1)
            return DebugValue(data, location.dtype.name)

        text = (
            _change(b, value(old), value(now), 0)
            if now != old
            else f"{b.what} is {_verb(writes)}: {shown_compact(value(now))}"
        )
        if b.condition is not None:
            lanes = self._holding(b.condition, self._activation, lanes)
        if lanes.any():
            self._found(b, event, lanes, text)

    def _found(self, b: Breakpoint, event: Event, lanes: Array, text: str) -> None:
        """A watched value was used by the instruction that has executed."""
        own = self.execution.position
        where = f"by '{self.places.text(Spot(event.function, event.number))}' ({event.function.name}+{event.number})"
        self._pending.append(Hit(b, lanes, f"{text}\n  {where}", own._replace(time=own.time - 1)))

    def called(self, event: Event, frame: Frame) -> None:
        """Lanes call a function."""
        b = self._catches.get("call")
        if b is not None:
            lanes = self._chosen(b, frame.active)
            if lanes.any():
                name = (
                    self.places.label_before(frame.function, frame.pc) if frame.is_subroutine else frame.function.name
                )
                self._pending.append(Hit(b, lanes, f"call of '{name}'", self.execution.position))

    def take_pending(self) -> list[Hit]:
        """What the last instruction of a group did."""
        found, self._pending = self._pending, []
        return [hit for hit in found if self._counts(hit)]


def _bits(data: Array) -> Array:
    """Elements as bits, in which a NaN equals itself."""
    data = np.ascontiguousarray(data)
    return data if data.dtype.kind != "f" else data.view(f"u{data.dtype.itemsize}")


def _change(b: Breakpoint, old: DebugValue, new: DebugValue, row: int) -> str:
    return f"{b.what}: {shown_compact(old, row)} -> {shown_compact(new, row)}"


def _verb(writes: bool) -> str:
    return "written" if writes else "read"


class _GroupScope:
    """A group before it runs: conditions on numbers of groups alone have a value."""

    def __init__(self, number: int, group: Group) -> None:
        self.known = {"$group": number} | {f"$group_{a}": n for a, n in zip("xyz", group.id, strict=True)}

    def may_hold(self, condition: Expression) -> bool:
        """Whether a condition may hold in the group."""
        if not condition.names or not condition.names <= self.known.keys():
            return True
        value = condition.evaluate(self)  # type: ignore[arg-type] # it asks for these names alone
        return bool(value.data.any())

    def find(self, name: str) -> DebugValue:
        """The number of a group."""
        return DebugValue(np.array([[self.known[name]]], np.int64), "q")
