"""Where a launch that has stopped is: the lane in focus, the functions that it is in, the other threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from vsim.debug.execution import SteppedLaunch
from vsim.debug.expressions import parse
from vsim.debug.places import Places, Spot
from vsim.debug.problems import COMMAND, problem
from vsim.debug.scope import Scope
from vsim.debug.source.variables import SourceVariables
from vsim.debug.threads import Focus
from vsim.debug.values import DebugValue
from vsim.debug.watching import Watching
from vsim.engines.numpy.activation import Activation
from vsim.engines.numpy.algebra import any_lane
from vsim.launch.arrays import Array, Bools
from vsim.observe.positions import next_instruction
from vsim.program import Program


class Frame(NamedTuple):
    """A function or subroutine that runs.

    Attributes:
        spot: the next instruction, of callers the one behind the call.
        is_call: whether others are below it, so that the call is the instruction before.
    """

    activation: Activation
    spot: Spot
    is_call: bool


class ThreadState(NamedTuple):
    """Lanes of a thread that are at one place."""

    group: int
    thread: int
    lanes: tuple[int, ...]
    spot: Spot
    state: str
    """``running``, ``waiting`` (for others of the thread) or ``barrier``."""


class Stage:
    """What commands look at.

    Attributes:
        execution: the launch.
        focus: the lane that commands are about.
        frame_number: the function among :meth:`frames` whose variables are meant.
    """

    execution: SteppedLaunch

    def __init__(self, program: Program) -> None:
        self.program = program
        self.places = Places(program.image)
        self.sources = SourceVariables(self.places)
        self.watching = Watching(self.places, self.sources)
        self.focus, self.frame_number = Focus(), 0
        self.history: list[DebugValue] = []

    def lane(self) -> tuple[int, int] | None:
        """Row and lane in focus; None if they are not in the batch that runs."""
        row = self.execution.rows(self.focus.group, self.focus.thread)
        return None if row is None else (row, self.focus.lane)

    @property
    def here(self) -> Spot:
        """The instruction in focus; the first one of the kernel before the launch."""
        frames = self.frames()
        kernel = self.execution.dispatch.kernel
        return (
            frames[min(self.frame_number, len(frames) - 1)].spot
            if frames
            else Spot(kernel, next_instruction(kernel, 0))
        )

    def frames(self) -> list[Frame]:
        """The functions that the lane in focus is in, the innermost first; empty if it does not run."""
        found = self.place_of(self.lane())
        if found is None:
            return []
        activation, number = found
        frames = [Frame(activation, Spot(activation.function, next_instruction(activation.function, number)), False)]
        while activation.back is not None:
            activation, pc, _ = activation.back
            frames.append(Frame(activation, Spot(activation.function, max(0, pc - 1)), True))
        return frames

    def innermost(self) -> Frame:
        """Where the lane in focus is.

        Raises:
            DebugError: D001, it does not run.
        """
        frames = self.frames()
        if not frames:
            raise problem(
                COMMAND, f"lane {self.focus} does not run", "'run' or 'start' begins; 'thread' chooses another one"
            )
        return frames[0]

    def place_of(self, lane: tuple[int, int] | None) -> tuple[Activation, int] | None:
        """Activation and pc of a lane; None if it has ended."""
        batch = self.execution.batch
        if batch is None or lane is None:
            return None
        for activation in reversed(batch.execution.scheduler.live):
            for pc, lanes, _ in lanes_of(activation):
                if lanes[lane]:
                    return activation, pc
        return None

    def threads(self) -> list[ThreadState]:
        """Where the threads of the groups that run are, lanes at one place together."""
        batch = self.execution.batch
        if batch is None:
            return []
        groups, threads = batch.numbers()
        found: dict[tuple[int, int, Spot, str], set[int]] = {}
        for activation in reversed(batch.execution.scheduler.live):
            function = activation.function
            for pc, lanes, state in lanes_of(activation):
                spot = Spot(function, next_instruction(function, pc))
                for row in np.flatnonzero(any_lane(lanes)).tolist():
                    key = int(groups[row]), int(threads[row]), spot, state
                    found.setdefault(key, set()).update(np.flatnonzero(lanes[row]).tolist())
        states = [ThreadState(g, t, tuple(sorted(lanes)), spot, s) for (g, t, spot, s), lanes in found.items()]
        return sorted(states, key=lambda s: (s.group, s.thread, s.lanes))

    def select(self, focus: Focus) -> None:
        """Put another lane into focus.

        Raises:
            DebugError: D001, it is not in a group that runs.
        """
        row = self.execution.rows(focus.group, focus.thread)
        batch = self.execution.batch
        if (
            row is None
            or batch is None
            or not 0 <= focus.lane < batch.lanes.shape[1]
            or not batch.lanes[row, focus.lane]
        ):
            running = sorted({int(g) for g in batch.numbers()[0]}) if batch is not None else []
            hint = f"group {running[0]} runs" if running else "no group runs"
            dispatch, group = self.execution.dispatch, focus.group
            if group < dispatch.group_count and focus.thread < dispatch.threads_of(dispatch.group(group)):
                hint += f"; 'tbreak PLACE thread {group}.{focus.thread}' gets there"
            raise problem(COMMAND, f"there is no lane {focus} now", hint)
        self.focus, self.frame_number = focus, 0

    def active(self) -> Bools:
        """Which lanes of the thread in focus run at its place (of 32)."""
        lane = self.lane()
        found = self.place_of(lane)
        none = np.zeros(32, bool)
        if lane is None or found is None:
            return none
        for pc, lanes, _ in lanes_of(found[0]):
            if pc == found[1] and lanes[lane]:
                active: Bools = lanes[lane[0]]
                return active
        return none

    # -- values --------------------------------------------------------------------------------------------

    def scope(self) -> Scope:
        """What names mean in the frame in focus."""
        frames, lane = self.frames(), self.lane()
        frame = frames[min(self.frame_number, len(frames) - 1)] if frames else None
        rows = np.array([lane[0] if lane is not None else 0])
        activation, number = (None, 0) if frame is None else (frame.activation, frame.spot.number)
        is_caller = frame is not None and frame.activation.registers is not frames[0].activation.registers
        return Scope(self.execution, activation, rows, number, self.sources, is_caller, self.watching.convenience)

    def evaluate(self, text: str) -> DebugValue:
        """The value of an expression in the thread in focus: one row.

        Raises:
            DebugError: D002, it cannot be read, or has no value here.
        """
        return parse(text).value(self.scope())

    def remember(self, value: DebugValue) -> str:
        """Keep a value as ``$1``, ``$2`` ...; gives its name."""
        self.history.append(value)
        name = f"${len(self.history)}"
        kept = DebugValue(value.data.copy(), value.type, value.by_lane, value.name, value.undefined)
        self.watching.convenience |= {name: kept, "$": kept}
        return name

    def focus_on(self, row: int, lanes: Array) -> None:
        """Put the first of some lanes of a thread of the batch into focus."""
        batch = self.execution.batch
        if batch is None:
            return
        groups, threads = batch.numbers()
        self.focus = Focus(int(groups[row]), int(threads[row]), int(lanes[0]) if lanes.size else 0)

    def lanes_in_focus(self) -> Iterator[tuple[ThreadState, int, tuple[int, ...]]]:
        """The lanes of the thread in focus, with their work-items; none if no thread runs."""
        if self.execution.batch is None:
            return
        axes = [self.scope().work_items(axis, False)[0] for axis in range(3)]
        for state in self.threads():
            if state[:2] == self.focus[:2]:
                for lane in state.lanes:
                    yield state, lane, tuple(int(axis[lane]) for axis in axes if lane < axis.size)

    def keep_focus(self) -> None:
        """Let the focus be on a thread of the batch that runs, and on a lane that has not ended."""
        batch = self.execution.batch
        if batch is None or self.execution.rows(self.focus.group, self.focus.thread) is not None:
            return
        running = batch.execution.running.activation.active
        row = int(any_lane(running).argmax())
        self.focus_on(row, np.flatnonzero(running[row]))


def lanes_of(activation: Activation) -> Iterator[tuple[int, Bools, str]]:
    """Where lanes of an activation are: pc, lanes (threads x 32), and whether they run, wait, or are at a barrier."""
    if activation.running:
        yield activation.pc, activation.active, "running"
    for places, state in (
        (activation.waiting, "waiting"),
        (activation.held, "waiting"),
        (activation.blocked, "barrier"),
    ):
        for pc, lanes in sorted(places.items()):
            yield pc, lanes, state
