"""One way to watch a launch: the events of a launch, which both engines tell to observers.

An :class:`Observer` overrides the methods of the events that it wants; other events cost nothing. The reference engine
calls a method when the event happens, once for all hardware threads of a batch that take part. On the fast engine the
checks get events while a function is lowered (``lower/observers``), and emit code; the observers of a caller get
:meth:`Observer.ran` when the launch is over, from counters in compiled code. docs/observers.md has examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Concatenate, NamedTuple, ParamSpec, TypeAlias, TypeVar

if TYPE_CHECKING:
    from visakit.diagnostics import SimulationError
    from visakit.language.operands import Execution
    from visakit.language.program import Function, Instruction
    from visakit.language.types import DataType
    from vsim.launch.arrays import Array, Bools
    from vsim.launch.bound_launch import BoundLaunch
    from vsim.launch.ndrange import Group
    from vsim.observe.messages import BufferCounts, MessageCounts
    from vsim.observe.timeline import Timeline
    from vsim.semantics.algebra import Lanes, Machine, Mask, Opaque

P = ParamSpec("P")
R = TypeVar("R")
# Each engine has its own of these.
Engine: TypeAlias = "Opaque"
"""What an engine prepares functions with: ``BatchExecution``, ``LoweringMachine`` or, on the host, ``LaunchPlan``."""
Access: TypeAlias = "Opaque"
"""An access of lanes to memory."""
Frame: TypeAlias = "Opaque"
"""An activation of a function or subroutine: the same object in :meth:`Observer.call` and :meth:`Observer.returned`."""


class Event:
    """An instruction at which something happens.

    Attributes:
        function: its function.
        number: its number there.
    """

    __slots__ = ("function", "number")

    def __init__(self, function: Function, number: int) -> None:
        self.function, self.number = function, number

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at instruction {self.number} of '{self.function.name}'>"

    @property
    def instruction(self) -> Instruction:
        return self.function.instructions[self.number]

    @property
    def rows(self) -> Array:
        """The threads of the batch that take part, by their rows in the arrays of :meth:`variable`."""
        raise NotImplementedError

    @property
    def groups(self) -> Array:
        """The linear number of the work-group of each thread that takes part, x fastest."""
        raise NotImplementedError

    @property
    def threads(self) -> Array:
        """The number of each of these threads in its group."""
        raise NotImplementedError

    @property
    def lanes(self) -> Bools:
        """The lanes that run, of these threads: threads x 32."""
        raise NotImplementedError

    def variable(self, name: str) -> Array:
        """The elements of a general variable in its own type, or the bits of a predicate: rows of the batch x elements.
        They may be changed.

        Raises:
            KeyError: the function has no such variable, or does not use it.
        """
        raise NotImplementedError


class ObservedOperand(NamedTuple):
    """An operand that is read or written.

    Attributes:
        name: of the variable, as the text has it: ``V32(0,4)``, ``P1``.
        by_lane: whether each element belongs to the lane of its number.
        shown_as: the type in which elements are shown; None for their own.
    """

    name: str
    by_lane: bool = True
    shown_as: DataType | None = None


class Observer:
    """An observer of launches: a subclass overrides the events that it wants.

    An exception that a method raises ends the launch.
    """

    interrupts = False
    """Whether :meth:`before` may stop a batch that continues later: then all its threads run together, also in loops
    that most of them have left.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    # -- the launch ----------------------------------------------------------------------------------------

    def launch_begin(self, launch: BoundLaunch) -> None:
        """A launch begins."""

    def launch_end(self, error: Exception | None) -> None:
        """It is over; ``error`` is what ended it before its end, None for nothing."""

    def watches(self, launch: BoundLaunch, group: Group) -> bool:
        """Whether the observer wants the events of a work-group. Groups that run together with it are seen, too."""
        return True

    def chooses(self, function: Function, number: int) -> bool:
        """Whether it wants :meth:`before`, :meth:`after` and :meth:`fault` of an instruction."""
        return True

    # -- functions are prepared ----------------------------------------------------------------------------

    def prepare(self, engine: Engine) -> None:
        """An engine prepares functions for a batch of threads. This is an event of the engines' own observers."""

    def machine(self, machine: Machine) -> Machine:
        """The machine that the semantics drive, or another one around it. As :meth:`prepare`."""
        return machine

    # -- threads and instructions --------------------------------------------------------------------------

    def threads_begin(self, event: Event) -> None:
        """All threads of some work-groups begin, at the first instruction of the kernel."""

    def threads_end(self, event: Event) -> None:
        """All threads of these work-groups have ended."""

    def before(self, event: Event) -> None:
        """An instruction executes next."""

    def after(self, event: Event) -> None:
        """An instruction has executed."""

    def fault(self, event: Event, error: SimulationError) -> None:
        """An instruction ends the launch with a fault, in place of :meth:`after`."""

    def ran(self, function: Function, start: int, end: int, threads: int, lanes: Lanes) -> None:
        """Consecutive instructions have executed in some threads, with so many running lanes in all of them.

        Args:
            start, end: the first of the instructions, and the one behind the last.
            threads, lanes: sums over threads, and over the times that they came here.
        """

    def took_effect(self, function: Function, number: int, lanes: Lanes) -> None:
        """An instruction whose lanes are not those of :meth:`ran` has taken effect in so many lanes, summed up: one
        under a predicate, or the first one of its block for a part of the lanes
        (:func:`vsim.analysis.active_lanes.counted_at`).
        """

    def branched(self, function: Function, number: int, taken: Lanes, both: Lanes) -> None:
        """Threads have come to a branch or return that lanes may take or not.

        Args:
            taken: threads whose running lanes all took it.
            both: threads of which some lanes took it, and some did not.
        """

    def sent(self, function: Function, number: int, counts: MessageCounts) -> None:
        """The messages of an instruction to memory have done so much, in all threads; told when the launch is over."""

    def served(self, counts: BufferCounts) -> None:
        """Messages have done so much to a buffer, an image, local or scratch memory; told when the launch is over."""

    def timed(self, timeline: Timeline) -> None:
        """The threads of the launch have executed, called and waited so; told when the launch is over."""

    # -- operands and memory -------------------------------------------------------------------------------

    def masked(self, event: Event, mask: Mask, execution: Execution) -> None:
        """The lanes in which an instruction takes effect are known: predicate and execution mask."""

    def read(self, event: Event, operand: ObservedOperand, values: Lanes) -> None:
        """An operand was read: threads x elements, one row where all threads have the same."""

    def write(self, event: Event, operand: ObservedOperand, values: Lanes) -> None:
        """An operand is written next, in the lanes of :meth:`masked`."""

    def access(self, event: Event, access: Access) -> None:
        """Lanes access memory next; they may be outside."""

    def accessed(self, event: Event, access: Access) -> None:
        """Lanes have accessed memory."""

    # -- barriers, calls and jumps -------------------------------------------------------------------------

    def barrier(self, event: Event, signals: bool) -> None:
        """Threads come to a barrier; ``signals``: they arrive at the one of their work-group."""

    def arrived(self, rows: Lanes, numbers: Lanes) -> None:
        """Threads arrive next at the named barriers with these numbers."""

    def departed(self, rows: Lanes, numbers: Lanes) -> None:
        """Threads leave the named barriers with these numbers."""

    def stuck(self, event: Event, row: int) -> None:
        """A thread waits for ever at a barrier; a fault follows."""

    def skips(self, event: Event, end: int, taken: Mask) -> None:
        """Threads go from here to another instruction of the function, behind this one; lanes of theirs that wait in
        between stay there.

        Args:
            end: the other instruction.
            taken: the threads that go there.
        """

    def call(self, event: Event, frame: Frame) -> None:
        """Lanes call a function or a subroutine: ``frame.function``."""

    def returned(self, frame: Frame, rows: Lanes) -> None:
        """Threads return from a call."""


def listeners(observers: Iterable[Observer], event: Callable[Concatenate[Observer, P], R]) -> list[Callable[P, R]]:
    """The methods for an event, given as :class:`Observer` has it, of those observers that want it."""
    name = event.__name__
    return [getattr(o, name) for o in observers if getattr(type(o), name) is not event]
