"""Where launches stop: the breakpoints, watchpoints and catchpoints of a session."""

from __future__ import annotations

from vsim.command.numbers import Numbers
from vsim.debug.expressions import parse
from vsim.debug.problems import COMMAND, problem, without_place
from vsim.debug.stage import Stage
from vsim.debug.stops import BREAK, CATCH, EVENTS, Breakpoint
from vsim.debug.threads import Threads
from vsim.program import Program


class StopTable(Stage):
    """Breakpoints, and the expressions that they watch.

    Attributes:
        breakpoints: by number.
    """

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.breakpoints: dict[int, Breakpoint] = {}
        self._next_number = 1

    def add_breakpoint(
        self,
        place: str,
        condition: str = "",
        threads: Threads | None = None,
        temporary: bool = False,
        log: str = "",
    ) -> Breakpoint:
        """Stop in front of an instruction: see :meth:`vsim.debug.places.Places.find` for places.

        Raises:
            DebugError: D003, there is no such place; D002, the condition cannot be read.
        """
        spot = self.places.find(place, self.here)
        return self._add(
            BREAK, place, spots=(spot,), condition=parse(condition) if condition else None, threads=threads,
            temporary=temporary, log=log,
        )  # fmt: skip

    def add_watchpoint(
        self, expression: str, kind: str = "watchpoint", condition: str = "", threads: Threads | None = None
    ) -> Breakpoint:
        """Stop behind an instruction that changes (``watchpoint``), reads (``rwatch``) or accesses (``awatch``) a
        variable, a predicate or memory.

        Raises:
            DebugError: D002, the expression names nothing that can be watched.
        """
        watched = parse(expression)
        value = watched.value(self.scope())
        location = value.location
        if location is None:
            raise without_place(expression, "watched")
        own = (
            {} if location.is_memory else {"function": "" if location.holder.owner is None else self.here.function.name}
        )
        if not location.is_memory and threads is None:
            focus = self.focus
            threads = Threads(_only(focus.group), _only(focus.thread), text=f"{focus.group}.{focus.thread}")
        return self._add(
            kind, expression, watched=watched, location=location if location.is_memory else None,
            condition=parse(condition) if condition else None, threads=threads, function=own.get("function", ""),
        )  # fmt: skip

    def add_catchpoint(self, event: str, threads: Threads | None = None) -> Breakpoint:
        """Stop at an event: one of :data:`vsim.debug.stops.EVENTS`.

        Raises:
            DebugError: D001, there is no such event, or checks do not watch the launch.
        """
        if event not in EVENTS:
            raise problem(COMMAND, f"'{event}' cannot be caught", f"events are {', '.join(EVENTS)}")
        if event == "check" and self.execution.dispatch.findings is None:
            raise problem(COMMAND, "no check watches the launch", "begin with --check all, or one of the checks")
        return self._add(CATCH, event, threads=threads)

    def _add(self, kind: str, what: str, **parts: object) -> Breakpoint:
        found = Breakpoint(self._next_number, kind, what, **parts)  # type: ignore[arg-type] # fields by name
        self.breakpoints[found.number] = found
        self._next_number += 1
        self.changed()
        return found

    def delete(self, number: int) -> None:
        """Forget a breakpoint.

        Raises:
            DebugError: D001, no breakpoint has this number.
        """
        self.breakpoint(number)
        del self.breakpoints[number]
        self.changed()

    def breakpoint(self, number: int) -> Breakpoint:
        """A breakpoint by its number.

        Raises:
            DebugError: D001, no breakpoint has this number.
        """
        if number not in self.breakpoints:
            known = ", ".join(map(str, self.breakpoints)) or "none"
            raise problem(COMMAND, f"there is no breakpoint {number}", f"there are: {known}")
        return self.breakpoints[number]

    def changed(self) -> None:
        """Breakpoints have changed."""
        self.watching.breakpoints = list(self.breakpoints.values())
        self.watching.reset()


def _only(number: int) -> Numbers:
    return Numbers((range(number, number + 1),))
