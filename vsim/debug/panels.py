"""Panels of the full-screen view: what each shows of a session, as lines with a mark."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import NamedTuple

from visakit.diagnostics import DebugError
from visakit.language.source_lines import SourcePlace
from vsim.debug.checkpoints import LanePosition
from vsim.debug.expressions import parse
from vsim.debug.places import Spot
from vsim.debug.session import Session
from vsim.debug.threads import Focus
from vsim.debug.values import lane_list, shown_compact
from vsim.launch.launch import BufferArgument
from vsim.observe.trace import shown_place

HERE, STOP, GREY, CHANGED = "here", "stop", "grey", "changed"
"""Marks: the instruction or line that comes next, a breakpoint, lanes that do not run, a value that has changed."""
SHOWN_ELEMENTS = 8


class PanelLine(NamedTuple):
    """A line of a panel.

    Attributes:
        mark: one of the constants above; empty for a plain line.
    """

    text: str
    mark: str = ""


def title(session: Session) -> str:
    """Where the launch is, in one line."""
    execution, spot = session.execution, session.here
    line = shown_place(session.places.span(spot))
    place = f"{session.focus} in {spot.function.name}+{spot.number} at {line}" if session.frames() else "no lane runs"
    return f"{execution.dispatch.kernel.name}: {place}, time {execution.time}"


def source(session: Session, height: int) -> Iterator[PanelLine]:
    """Lines of the source around the one in focus."""
    places, here = session.places, session.here
    span = places.span(here)
    if not places.source_text(span):
        yield PanelLine(places.files.problem(span.file) if span.line else "the program has no lines", GREY)
        return
    stops = {places.span(s).line for b in session.breakpoints.values() if b.enabled for s in b.spots}
    lines = places.files.lines(span.file) or []
    first = _first(span.line - 1, height, len(lines))
    for number in range(first + 1, min(first + height, len(lines)) + 1):
        mark = HERE if number == span.line else STOP if number in stops else ""
        text = places.files.text(SourcePlace(span.file, number))
        yield PanelLine(f"{_SIGNS[mark]}{number:4} {text}", mark)


_SIGNS = {"": "  ", HERE: "=>", STOP: "b "}


def instructions(session: Session, height: int) -> Iterator[PanelLine]:
    """Instructions around the one in focus."""
    here, function = session.here, session.here.function
    stops = {s for b in session.breakpoints.values() if b.enabled for s in b.spots}
    known = [n for n, i in enumerate(function.instructions) if i.desc.flow.is_label or not i.desc.is_directive]
    first = _first(bisect_left(known, here.number), height, len(known))
    for number in known[first : first + height]:
        spot = Spot(function, number)
        mark = HERE if spot == here else STOP if spot in stops else ""
        yield PanelLine(f"{_SIGNS[mark]}{number:4} {session.places.text(spot)}", mark)


def _first(at: int, height: int, count: int) -> int:
    """The first of so many lines that a panel shows, so that one is in its middle."""
    return max(0, min(at - height // 2, count - height))


class Values:
    """Names and values; a mark shows values that changed since the last stop."""

    def __init__(self, names: Callable[[Session], Iterator[str]]) -> None:
        self.names = names
        self.old: dict[str, str] = {}
        self.new: dict[str, str] = {}
        self.at: tuple[int, LanePosition, Focus] | None = None

    def lines(self, session: Session, height: int) -> Iterator[PanelLine]:
        """A line for each name that has a value."""
        at = session.launch_number, session.execution.position, session.focus
        if at != self.at:
            same_lane = self.at is not None and self.at[2] == session.focus
            self.old, self.new, self.at = self.new if same_lane else {}, {}, at
        scope, active = session.scope(), session.active()
        for name in self.names(session):
            try:
                value = parse(name).value(scope)
            except DebugError:
                continue
            shown = self.new[name] = shown_compact(value, 0, active)
            mark = CHANGED if self.old.get(name, shown) != shown else ""
            yield PanelLine(f"{name:12} {value.type:5} {shown}", mark)


def register_names(session: Session) -> Iterator[str]:
    """Variables of the source, then those of the function that are no other's alias, and predicates."""
    function = session.here.function
    known = session.scope().source_names()
    yield from known
    yield from (v.name for v in function.variables if v.alias is None)
    yield from (p.name for p in function.predicates)


def memory_names(session: Session) -> Iterator[str]:
    """The first elements of each buffer argument, of local memory and of scratch memory."""
    execution = session.execution
    scope = session.scope()
    given = execution.launch.args
    buffers = [n for n, a in zip(execution.dispatch.signature.names_in_order, given, strict=False)
               if isinstance(a, BufferArgument)]  # fmt: skip
    own = {"slm": execution.dispatch.slm_size, "scratch": execution.dispatch.scratch_size}
    for name in [*buffers, *(name for name, size in own.items() if size)]:
        try:
            found = scope.memory(name)
        except DebugError:
            continue
        if found is not None:
            yield f"{name}[0]@{max(1, min(SHOWN_ELEMENTS, found.size // found.dtype.itemsize))}"


def lanes(session: Session, height: int) -> Iterator[PanelLine]:
    """The lanes of the thread in focus: their work-items, and where they are."""
    for state, lane, item in session.lanes_in_focus():
        mark = HERE if lane == session.focus.lane else "" if state.state == "running" else GREY
        yield PanelLine(f"{lane:2} {item!s:14} {state.state:8} +{state.spot.number}", mark)


def threads(session: Session, height: int) -> Iterator[PanelLine]:
    """The threads of the groups that run."""
    for state in session.threads():
        is_focus = state[:2] == session.focus[:2] and session.focus.lane in state.lanes
        text = f"{state.group}.{state.thread}:{lane_list(state.lanes):9} {state.state:8}"
        yield PanelLine(f"{text} {state.spot.function.name}+{state.spot.number}", HERE if is_focus else "")
