"""Activations of functions, and where their lanes are.

Lanes that cannot go on together wait at the pc (the number of an instruction) where they go on. The smallest pc runs
first, so that lanes reconverge as early as they can (the literature calls the general form thread frontiers). That is
exact for structured and unstructured flow alike::

    0  (P1) goto over      lanes 0 to 3 take it: they wait at 3, lanes 4 to 7 wait at 1 and run next
    1  add ...
    2  mul ...
    3  over:               the running lanes reach a pc where others wait, and all eight go on together
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from visakit.language.program import Function
from vsim.engines.numpy.algebra import Mask, any_lane
from vsim.engines.numpy.prepared import PreparedFunction
from vsim.engines.numpy.registers import RegisterFile
from vsim.engines.numpy.threads import HardwareThreads
from vsim.launch.arrays import Array, Bools

if TYPE_CHECKING:
    from vsim.observe.observer import Event


class ReturnPoint(NamedTuple):
    """Where lanes go on when the activation that they run has ended."""

    activation: Activation
    pc: int
    lanes: Bools


class SavedActivation(NamedTuple):
    """Where the lanes of an activation are. Masks are never changed, so that they need no copies."""

    pc: int
    back: ReturnPoint | None
    places: tuple[dict[int, Bools], dict[int, Bools], dict[int, Bools]]
    children: int
    running: bool
    active: Bools


class Activation:
    """One activation of a function, or of a subroutine in it (which shares the function's registers).

    ``running`` says whether lanes run now; they are ``active`` (threads x 32), at ``pc``. ``waiting`` are lanes by the
    pc where they continue, ``blocked`` are the lanes that wait at a barrier. ``counts``: whether the limit of the depth
    of calls counts it.
    """

    def __init__(
        self,
        prepared: PreparedFunction,
        registers: RegisterFile,
        pc: int,
        lanes: Bools,
        back: ReturnPoint | None = None,
        counts: bool = True,
    ) -> None:
        self.prepared, self.registers, self.pc, self.back = prepared, registers, pc, back
        self.waiting: dict[int, Bools] = {}
        self.blocked: dict[int, Bools] = {}
        self.held: dict[int, Bools] = {}
        """Lanes that would wait, but others of their thread are at a barrier, and with them the whole thread."""
        self.depth: int = 0 if back is None else back.activation.depth + counts
        self.children = 0
        if back is not None:
            back.activation.children += 1
        self.running, self.active = False, lanes
        self.threads: Mask = True
        self._parts: dict[tuple[int, int], Mask] = {}
        self._run(lanes)

    def _run(self, lanes: Bools) -> None:
        """These lanes run now."""
        self.running, self.active, self._parts = True, lanes, {}
        rows = self.active_rows
        self.threads = True if rows.all() else rows[:, None]

    @contextlib.contextmanager
    def only(self, rows: Bools) -> Iterator[None]:
        """For a while the running lanes are those of some threads (threads x 1)."""
        active = self.active
        self._run(active & rows)
        yield
        self._run(active)

    def saved(self) -> SavedActivation:
        """Where its lanes are."""
        places = dict(self.waiting), dict(self.blocked), dict(self.held)
        return SavedActivation(self.pc, self.back, places, self.children, self.running, self.active)

    def restore(self, saved: SavedActivation) -> None:
        """Let its lanes be where they were."""
        self.pc, self.back, places, self.children, is_running, active = saved
        self.waiting, self.blocked, self.held = (dict(own) for own in places)
        self._run(active)
        self.running = is_running

    @property
    def function(self) -> Function:
        """The function that is active."""
        return self.prepared.function

    @property
    def is_subroutine(self) -> bool:
        """Whether it is one of a subroutine, which has the registers of its function."""
        return self.back is not None and self.back.activation.registers is self.registers

    @property
    def active_rows(self) -> Bools:
        """The threads with running lanes."""
        return any_lane(self.active)

    @property
    def has_ended(self) -> bool:
        """Whether no lane will run any more."""
        return not (self.running or self.waiting or self.blocked or self.held or self.children)

    def lanes(self, offset: int, size: int) -> Mask:
        """The running lanes of a part of the execution mask; True if all of them run."""
        key = (offset, size)
        found = self._parts.get(key)
        if found is None:
            part = self.active[:, offset : offset + size]
            found = self._parts[key] = True if part.all() else np.ascontiguousarray(part)
        return found

    # -- lanes wait and meet -------------------------------------------------------------------------------

    def wait(self, pc: int, lanes: Bools) -> None:
        """Lanes go on at a pc later."""
        self.waiting[pc] = self.waiting[pc] | lanes if pc in self.waiting else lanes

    def block(self, pc: int, lanes: Bools) -> None:
        """A barrier holds lanes up; they go on at a pc when it opens."""
        self.blocked[pc] = self.blocked[pc] | lanes if pc in self.blocked else lanes

    def hold(self, rows: Bools) -> None:
        """No lane of these threads runs until :meth:`let_go`."""
        _move(self.waiting, self.held, rows)

    def let_go(self, rows: Bools) -> None:
        """Lanes of these threads run again."""
        _move(self.held, self.waiting, rows)

    def rows_inside(self) -> Bools:
        """The threads with lanes that wait here or are held up."""
        found = np.zeros(len(self.active), bool)
        for places in (self.waiting, self.blocked, self.held):
            for lanes in places.values():
                found |= any_lane(lanes)
        return found

    def stop(self) -> None:
        """No lanes run: they wait or have ended."""
        self.running = False

    def split(self, *parts: tuple[int, Array]) -> None:
        """The running lanes go on at several pcs: at each those of a mask."""
        for pc, lanes in parts:
            if lanes.any():
                self.wait(pc, lanes)
        self.running = False

    def resume(self, before: int) -> bool:
        """Take up the waiting lanes with the smallest pc, if it lies before another one."""
        pc = min(self.waiting, default=before)
        if pc >= before:
            return False
        self.pc = pc
        self._run(self.waiting.pop(pc))
        return True

    def reconverge(self, end: int) -> int:
        """Lanes that wait where the running ones are join them; gives where the next ones wait, at most ``end``."""
        stop = min(self.waiting, default=end)
        if stop == self.pc and self.waiting:
            self._run(self.active | self.waiting.pop(stop))
            stop = min(self.waiting, default=end)
        return min(stop, end)


def _move(source: dict[int, Bools], target: dict[int, Bools], rows: Bools) -> None:
    """Move the lanes of some threads from one set of places to another."""
    for pc, lanes in list(source.items()):
        part = lanes & rows[:, None]
        if not part.any():
            continue
        target[pc] = target[pc] | part if pc in target else part
        rest = lanes & ~rows[:, None]
        if rest.any():
            source[pc] = rest
        else:
            del source[pc]


class Running:
    """What executes: an activation, views of its registers, and the threads that are in it.

    Prepared steps look here each time they run.
    """

    activation: Activation
    """There is one whenever a step runs."""
    event: Event
    """The instruction that executes, in launches whose observers want to know."""

    def __init__(self, threads: HardwareThreads) -> None:
        self.threads = threads
        self.at_fault: tuple[int, int] | None = None
        """Row and lane of the last fault; -1 for a whole thread."""
        self.views: Mapping[int, Array] = {}
        self._registers: RegisterFile | None = None
        """Those that hold predefined variables of the threads."""

    def saved(self) -> tuple[Activation, RegisterFile | None]:
        """What executes, and the registers that hold predefined variables."""
        return self.activation, self._registers

    def restore(self, saved: tuple[Activation, RegisterFile | None]) -> None:
        """Execute it again."""
        self.use(saved[0])
        self._registers = saved[1]

    def restart(self) -> None:
        """Other threads begin: they do not find what those before have left in predefined variables."""
        self._registers = None

    def enter(self, activation: Activation) -> None:
        """Run the steps of this activation, with the threads' predefined variables as the one before left them."""
        self.carry_out()
        self.use(activation)
        self._registers = activation.registers
        self._registers.carry_in(self.threads)

    def carry_out(self) -> None:
        """Let the threads' predefined variables be as what runs has left them."""
        if self._registers is not None:
            self._registers.carry_out(self.threads)

    def use(self, activation: Activation) -> None:
        """Run the steps of this activation, which has the predefined variables of the one before."""
        self.activation, self.views = activation, activation.registers.views
