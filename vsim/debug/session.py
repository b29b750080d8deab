"""A debugging session: launches that run forward and backwards, stops, and the lane that commands are about.

:class:`Session` is the interface for commands, the DAP server and tests. Times are counts of
executed instructions in a group; docs/debugging.md has examples.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from visakit.diagnostics import SimulationError
from vsim.checks.report import diagnostics
from vsim.checks.selection import Wanted
from vsim.debug.checkpoints import START, LanePosition
from vsim.debug.edits import ValueEdit
from vsim.debug.execution import INTERVAL, SEARCH_INTERVAL, SteppedLaunch
from vsim.debug.expressions import Expression, parse
from vsim.debug.origin import OriginSearch, ValueOrigin
from vsim.debug.problems import COMMAND, problem, without_place
from vsim.debug.steps import Choose, StepBack, last_where, step_ends
from vsim.debug.stop_table import StopTable
from vsim.debug.stops import CATCH, TITLES, Hit, Stop
from vsim.debug.values import DebugValue, converted, shown_compact
from vsim.debug.watching import Arrives, Mark, call_of
from vsim.engines.numpy.algebra import any_lane
from vsim.launch.launch import Launch
from vsim.launch.options import schedule_of
from vsim.launch.schedule import Schedule
from vsim.observe.assertions import failed_assertions
from vsim.observe.printf import PrintfRecords
from vsim.program import Program


class Session(StopTable):
    """Debugs the launches of a program.

    Args:
        launches: one after the other; their arrays are used in place.
        schedule: as of :meth:`vsim.Program.launch`.
        check: checks that watch the launch.
        engine: runs the unwatched groups.

    Attributes:
        stop: the last stop.
        results: what kernels printed, by launch.
    """

    def __init__(
        self,
        program: Program,
        launches: Iterable[Launch],
        *,
        schedule: Schedule | str | None = None,
        check: Wanted = "",
        engine: str = "auto",
    ) -> None:
        super().__init__(program)
        self.schedule, self.check, self.engine = schedule_of(schedule), check, engine
        self.stop: Stop | None = None
        self.results: list[str] = []
        self.launch_number = -1
        self._given = iter(launches)
        self.launches: list[Launch] = []
        self._past: list[SteppedLaunch] = []
        """Launches before the current one."""
        self.execution = self._next_launch()

    def _next_launch(self) -> SteppedLaunch:
        """Begin with the next launch.

        Raises:
            DebugError: D001, there are no launches.
        """
        number = self.launch_number + 1
        if number == len(self.launches):
            launch = next(self._given, None)
            if launch is None:
                hint = "'run' begins again, 'reverse-continue' goes back" if number else ""
                raise problem(COMMAND, "the last launch has ended" if number else "there is no launch", hint)
            self.launches.append(launch)
        if number > 0:
            self._past = [*self._past[: number - 1], self.execution]
        self.launch_number = number
        launch = self.launches[number]
        execution = SteppedLaunch(self.program, launch, self.watching, self.schedule, self.check, self.engine)
        self.watching.use(execution)
        self.execution = execution
        return execution

    # -- forward -------------------------------------------------------------------------------------------

    def run(self) -> Stop:
        """Run from the first launch on, from its beginning."""
        self.restart()
        return self.resume()

    def restart(self) -> None:
        """Go back to the beginning of the first launch, with the memory as it was."""
        self.execution.restart()
        while self.launch_number > 0:
            self.launch_number -= 1
            self.execution = self._past[self.launch_number]
            self.execution.restart()
        self.watching.use(self.execution)
        self.results, self.stop, self.frame_number = [], None, 0

    def resume(self, arrives: Arrives | None = None) -> Stop:
        """Run until something stops the launch: a breakpoint, a fault, the end of the last launch, or a step.

        Raises:
            DebugError: D001, the last launch has ended.
        """
        lines: list[str] = []
        while True:
            if self.execution.has_ended:
                self._next_launch()
                lines.append(self._begins())
            stop = self._resume_launch(arrives)
            if stop is not None:
                stop.lines = [*lines, *stop.lines]
                return self._stopped(stop)

    def _begins(self) -> str:
        return f"launch {self.launch_number} of '{self.execution.dispatch.kernel.name}' begins"

    def detach(self) -> Stop | None:
        """Run the launches to their end, without stops but for faults and interrupts; None if they have ended."""
        self.breakpoints.clear()
        self.changed()
        stop = None
        while not self.execution.has_ended and (stop is None or stop.reason == "launch"):
            stop = self.resume()
        return stop

    def leave(self) -> None:
        """The debugger is left, and the launch has ended."""

    def _resume_launch(self, arrives: Arrives | None) -> Stop | None:
        """Run on in the current launch; None if it has ended and another one follows."""
        execution, watching = self.execution, self.watching
        watching.arrives, watching.hits = arrives, []
        watching.lane = self.lane() if arrives is not None else None
        part = execution.part
        try:
            while True:
                halted = execution.run(_end_of(execution, part) if arrives is not None else None)
                if halted:
                    return self._stop_of(watching.hits)
                if execution.fault is not None:
                    return self._at_fault(execution.fault)
                pending = watching.take_pending()
                if pending:
                    return self._stop_of(pending)
                if execution.has_ended:
                    return self._at_end()
                if arrives is not None:
                    return Stop("step", [f"the thread {self.focus.group}.{self.focus.thread} has ended"])
        except KeyboardInterrupt:
            return self._interrupted()
        finally:
            watching.arrives = None

    def _interrupted(self) -> Stop:
        """The fast engine has no state to show: its work is undone, and the next group begins on the other engine."""
        execution, lines = self.execution, ["interrupted"]
        if execution.batch is None and not execution.has_ended:
            execution.go_to(execution.position)
            self.keep_focus()
            lines.append(f"the fast engine's work is undone; group {self.focus.group} begins on the reference engine")
        return Stop("interrupt", lines)

    def _at_fault(self, error: SimulationError) -> Stop:
        stop = Stop("fault", [str(error)])
        if self.execution.batch is not None:
            running = self.execution.batch.execution.running
            if running.at_fault is not None:
                self.focus_on(running.at_fault[0], np.array([max(0, running.at_fault[1])]))
        return stop

    def _at_end(self) -> Stop | None:
        """The launch has ended: a stop if it was the last one."""
        execution = self.execution
        printf = execution.dispatch.arguments.printf
        self.results.append("" if printf is None else PrintfRecords.of(printf, self.program.memory).text())
        failed = failed_assertions(execution.dispatch, self.program.memory)
        lines = [str(d) for d in (*(failed.diagnostics if failed else ()), *diagnostics(execution.dispatch))]
        launch = next(self._given, None)
        if launch is not None:
            self.launches.append(launch)
        if self.launch_number + 1 < len(self.launches):
            if any(b.kind == CATCH and b.what == "launch" and b.enabled for b in self.breakpoints.values()):
                self._next_launch()
                return Stop("launch", [*lines, self._begins()])
            return None
        return Stop("end", [*lines, f"the launch of '{execution.dispatch.kernel.name}' has ended"])

    def _stop_of(self, hits: list[Hit]) -> Stop:
        """The stop of some hits. The lane in focus stays if the first hit has it; else the hit's first lane comes."""
        lines, numbers, reason = [], [], "step"
        for hit in hits:
            b = hit.breakpoint
            if b is None:
                continue
            title = TITLES[b.kind].removeprefix("hw ")
            lines.append(f"{title} {b.number}" + (f", {hit.text}" if hit.text else ""))
            numbers.append(b.number)
            reason = "watchpoint" if b.is_watch else b.kind
            if b.temporary:
                self.breakpoints.pop(b.number, None)
        real = [hit for hit in hits if hit.breakpoint is not None]
        if real:
            lane = self.lane()
            lanes = real[0].lanes
            if lane is None or not lanes[lane]:
                row = int(any_lane(lanes).argmax())
                self.focus_on(row, np.flatnonzero(lanes[row]))
        self.changed()
        return Stop(reason, lines, tuple(numbers))

    def _stopped(self, stop: Stop) -> Stop:
        stop.position = self.execution.position
        self.stop, self.frame_number = stop, 0
        self.keep_focus()
        return stop

    # -- steps ---------------------------------------------------------------------------------------------

    def step(self, count: int = 1, *, over: bool = False, instruction: bool = False, reverse: bool = False) -> Stop:
        """Go on (or back) until the lane in focus comes to another line, or to its next instruction.

        Args:
            over: calls count as one step.
        """
        stop = Stop("step")
        for _ in range(count):
            frame = self.innermost()
            line, call = self.places.line_key(frame.spot), call_of(frame.activation)
            if reverse:
                stop = self._reverse(StepBack(call.depth, over, instruction))
            else:
                stop = self.resume(step_ends(line, call, over, instruction))
            if stop.reason != "step" or stop.lines:
                break
        return stop

    def finish(self, reverse: bool = False) -> Stop:
        """Run until the function in focus has returned; in reverse, back to where it was called.

        Raises:
            DebugError: D001, it is the kernel, which nothing called.
        """
        frame = self.innermost() if self.frame_number == 0 else self.frames()[self.frame_number]
        depth = call_of(frame.activation).depth
        if depth == 0:
            raise problem(COMMAND, "the kernel was not called, and returns to nothing", "'continue' runs on")
        return self._run_to(lambda mark: mark.call.depth < depth, reverse)

    def until(self, reverse: bool = False) -> Stop:
        """As a step over calls that does not go around a loop again: to an instruction farther on."""
        frame = self.innermost()
        depth, number, line = call_of(frame.activation).depth, frame.spot.number, self.places.line_key(frame.spot)

        def passed(mark: Mark) -> bool:
            on = mark.spot.number < number if reverse else mark.spot.number > number
            return mark.call.depth < depth or (mark.call.depth == depth and on and mark.line != line)

        return self._run_to(passed, reverse)

    def advance(self, place: str, reverse: bool = False) -> Stop:
        """Run until the lane in focus is at a place.

        Raises:
            DebugError: D003, there is no such place.
        """
        spot = self.places.find(place, self.here)
        return self._run_to(lambda mark: mark.spot == spot, reverse)

    def _run_to(self, arrives: Arrives, reverse: bool) -> Stop:
        """Run to the next instruction of the lane for which a condition holds, or back to the last one."""
        return self._reverse(last_where(arrives)) if reverse else self.resume(arrives)

    # -- backwards -----------------------------------------------------------------------------------------

    def reverse_continue(self) -> Stop:
        """Go back to the last stop of a breakpoint, or to the beginning of the launch."""
        return self._reverse(None)

    def _reverse(self, choose: Choose | None) -> Stop:
        """Go back to the last hit of a breakpoint before the position, or to where a step ends."""
        execution, watching = self.execution, self.watching
        end, origin = execution.position, execution.position
        lane = self.lane()
        marks: list[Mark] = []
        watching.collects, execution.interval = True, SEARCH_INTERVAL
        try:
            while end > START:
                if choose is None:
                    end = execution.checkpoints.end_of_last(end, watching.may_hit)
                    if end == START:
                        break
                begin, found, last = self._search(end, None if choose is None else lane)
                marks = [*(m for m in found if m.position < origin), *marks]
                step = choose(marks) if choose is not None else None
                if last is not None and (step is None or last[0] >= step):
                    return self._arrive(last[0], [hit for at, hit in watching.collected if at == last[0]])
                if step is not None:
                    return self._arrive(step, [])
                if choose is not None and begin.part < origin.part:
                    break
                if begin >= end:
                    break
                end = begin
            return self._at_beginning(origin, choose is not None)
        except KeyboardInterrupt:
            return self._stopped(self._interrupted())
        finally:
            watching.collects, execution.interval = False, INTERVAL
            watching.lane = None

    def _search(
        self, end: LanePosition, lane: tuple[int, int] | None
    ) -> tuple[LanePosition, list[Mark], tuple[LanePosition, Hit] | None]:
        """Collect hits and the lane's instructions from the last checkpoint before a position up to it."""
        execution, watching = self.execution, self.watching
        before = LanePosition(end.part, end.time - 1) if end.time > 0 else LanePosition(end.part - 1, 1 << 60)
        checkpoint = execution.checkpoints.before(before)
        execution.restore(checkpoint)
        begin = execution.position
        watching.reset()
        watching.collected.clear()
        watching.marks.clear()
        watching.lane = lane
        execution.run(end)
        hits = [(at, hit) for at, hit in watching.collected if at < end]
        for hit in watching._pending:
            if hit.back < end:
                hits.append((hit.back, hit))
        last = max(hits, key=lambda found: found[0], default=None)
        watching.collected.clear()
        watching.collected.extend(hits)
        return begin, list(watching.marks), last

    def _arrive(self, position: LanePosition, hits: list[Hit]) -> Stop:
        self.watching.collects = False
        self.execution.go_to(position)
        self.watching.reset()
        return self._stopped(self._stop_of(hits))

    def _at_beginning(self, origin: LanePosition, stays: bool) -> Stop:
        """Nothing is before: at the beginning of the launch, of a step at that of the group."""
        self.watching.collects = False
        self.execution.go_to(LanePosition(origin.part, 0) if stays and not origin >= self._end else LanePosition(0, 0))
        self.watching.reset()
        return self._stopped(Stop("begin", ["nothing is before: this is the beginning"]))

    @property
    def _end(self) -> LanePosition:
        return LanePosition(len(self.execution.parts), 0)

    def go_to(self, time: int, group: int | None = None) -> Stop:
        """Go to a time of a group, by default of the group that runs.

        Raises:
            DebugError: D001, there is no such group.
        """
        execution = self.execution
        count = execution.dispatch.group_count
        if group is not None and not group < count:
            raise problem(COMMAND, f"there is no group {group}", f"groups are 0 to {count - 1}")
        part = min(execution.part, len(execution.parts) - 1) if group is None else execution.part_of(group)
        try:
            execution.go_to(LanePosition(part, time))
        except KeyboardInterrupt:
            return self._stopped(self._interrupted())
        finally:
            self.watching.reset()
        if execution.part > part:
            return self._stopped(Stop("step", [f"the group has ended before time {time}"]))
        return self._stopped(Stop("step"))

    # -- values --------------------------------------------------------------------------------------------

    def set(self, target: str, value: str | Expression) -> DebugValue:
        """Change a variable, predicate or memory, or a value ``$name``; a change happens again when the launch comes
        to this time again, forward or backwards.

        Raises:
            DebugError: D002, one of them has no value; D001, the target cannot be changed.
        """
        given = (parse(value) if isinstance(value, str) else value).value(self.scope())
        if target.startswith("$") and target[1:2].isalpha():
            self.watching.convenience[target] = given
            return given
        wanted = parse(target)
        found = wanted.value(self.scope())
        location, batch = found.location, self.execution.batch
        if batch is None:
            raise problem(COMMAND, f"no group runs in which '{target}' could change", "'start' begins the launch")
        if location is None:
            raise without_place(target, "changed")
        if given.count not in (1, found.count):
            raise problem(COMMAND, f"'{target}' has {found.count} elements, the value {given.count}")
        data, lane = converted(given.data, location.dtype), self.lane()
        if location.dtype != found.data.dtype and (data != converted(given.data, found.data.dtype)).any():
            raise problem(COMMAND, f"the compiler keeps '{target}' in {8 * location.dtype.itemsize} bits here")
        if lane is not None:
            self.execution.edit(ValueEdit(self, target, wanted, data, lane, self.frame_number))
        return wanted.value(self.scope())

    def origin(self, text: str) -> list[ValueOrigin]:
        """Which instructions wrote a variable or memory, and from what, back to the kernel's arguments. Of a variable
        with an element for each lane, that of the lane in focus is meant.

        Raises:
            DebugError: D002, the expression has no value; D001, it is a result, and nothing wrote it.
        """
        value = self.evaluate(text)
        location, lane = value.location, self.lane()
        if location is None:
            raise without_place(text, "traced back")
        lane = lane or (0, 0)
        name, number = value.name or text, slice(None)
        if value.by_lane:
            location = location.of_element(lane[1])
            name, number = f"{name}[{lane[1]}]", slice(lane[1], lane[1] + 1)
        own = DebugValue(value.data[:, number], value.type)
        search = OriginSearch(self.execution, self.places)
        found = search.run(name, shown_compact(own), location.holder, location.wanted(lane[0]), lane[0])
        self.watching.reset()
        return found


def _end_of(execution: SteppedLaunch, part: int) -> LanePosition | None:
    """The beginning of the part behind one, beyond which no step goes."""
    return LanePosition(part + 1, 0) if part + 1 < len(execution.parts) else None
