"""Branches and returns: which lanes go on where, and loops that only few threads are still in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from visakit.language.program import Function, Instruction
from vsim.analysis.active_lanes import may_divide
from vsim.analysis.control_flow import takes_all
from vsim.engines.numpy.activation import Activation, Running
from vsim.engines.numpy.algebra import Mask, any_lane
from vsim.engines.numpy.prepared import PreparedFunction
from vsim.engines.numpy.scheduler import Scheduler
from vsim.launch.arrays import Array, Bools
from vsim.observe.observer import Observer, listeners
from vsim.semantics.flow import has_followers, reach

NARROW_THREADS = 32
"""Batches of fewer threads are not worth narrowing."""
MASK_LANES = 32
Step = Callable[[], bool]


def taken_lanes(
    running: Running, lanes: Callable[[], Mask], function: Function, instruction: Instruction, simd: int, if_any: bool
) -> Callable[[], Bools]:
    """The lanes for which the mask of a jump, call or return holds, threads x 32: running ones, or for a call that
    ignores the execution mask any of the ``simd`` lanes of a thread.

    A mask of one lane holds for all lanes that the instruction is about. ``if_any``: see
    :func:`vsim.semantics.flow.has_followers`.
    """
    part = reach(instruction)
    offset, room = part.offset, max(0, min(part.size, simd - part.offset))
    ignores_mask = instruction.desc.flow.is_call and part.no_mask
    is_whole = room == simd and not ignores_mask
    follow = has_followers(function, part)
    takes_everything = follow and not ignores_mask and takes_all(instruction, function.jump_lanes)

    def taken() -> Bools:
        mask, active = lanes(), running.activation.active
        if takes_everything or (mask is True and is_whole):
            return active
        full = np.zeros_like(active)
        full[:, offset : offset + room] = mask if mask is True else mask[:, :room]
        if not ignores_mask:
            full &= active
        if follow:
            rest = np.ones_like(active) if ignores_mask else active.copy()
            rest[:, offset : offset + room] = False
            full |= rest & (any_lane(full) if if_any else ~any_lane(active & ~rest & ~full))[:, None]
        return full

    return taken


class BatchControlFlow:
    """Control flow within one function; see :class:`vsim.semantics.algebra.Machine`."""

    def __init__(
        self,
        prepared: PreparedFunction,
        running: Running,
        scheduler: Scheduler,
        simd: int,
        may_narrow: bool,
        spin_branches: frozenset[int] = frozenset(),
        observers: Sequence[Observer] = (),
    ) -> None:
        """``spin_branches``: backward branches of loops that wait for writes of other threads."""
        self.prepared, self.running, self.scheduler = prepared, running, scheduler
        self.simd, self.may_narrow, self.spin_branches = simd, may_narrow, spin_branches
        self.skips, self.branched = listeners(observers, Observer.skips), listeners(observers, Observer.branched)

    def _taken(self, lanes: Callable[[], Mask], if_any: bool = False) -> Callable[[], Bools]:
        prepared = self.prepared
        return taken_lanes(self.running, lanes, prepared.function, prepared.instruction, self.simd, if_any)

    def _tell_skip(self, end: int, lanes: Bools) -> None:
        for tell in self.skips:
            tell(self.running.event, end, any_lane(lanes))

    def _tells_branch(self) -> Callable[[Bools, Bools], None]:
        """A function that tells observers of a branch: lanes that take it, and lanes that run, threads x lanes each."""
        function, number = self.prepared.place
        if not self.branched or not may_divide(function, self.prepared.instruction, self.simd):
            return lambda chosen, active: None

        def tell(chosen: Bools, active: Bools) -> None:
            some, others = any_lane(chosen), any_lane(active & ~chosen)
            ways = [int(np.count_nonzero(way)) for way in (some & ~others, some & others)]
            for branched in self.branched:
                branched(function, number, *ways)

        return tell

    def goto(self, label: int, lanes: Callable[[], Mask]) -> Step:
        """These lanes go on at the label."""
        running, target, following = self.running, self.prepared.labels[label], self.prepared.following
        taken = self._taken(lanes, if_any=target < following)
        loop, spins = self._loop(target, following), self.prepared.here in self.spin_branches
        tell_branch = self._tells_branch()

        def step() -> bool:
            chosen = taken()
            tell_branch(chosen, running.activation.active)
            if not chosen.any():
                return False
            activation = running.activation
            rest = activation.active & ~chosen
            if loop is not None and loop.run(chosen):
                activation.split((following, rest))
            else:
                activation.split((target, chosen), (following, rest))
            if spins:
                self.scheduler.rest(any_lane(chosen))
            return True

        return step

    def jump(self, label: int, taken: Callable[[], Mask] | None) -> Step:
        """All lanes of the threads for which ``taken`` holds go on at the label."""
        target, following = self.prepared.labels[label], self.prepared.following
        spins, tell_branch = self.prepared.here in self.spin_branches, self._tells_branch()

        def step() -> bool:
            activation = self.running.activation
            active = activation.active
            going = active if taken is None else active & np.asarray(taken())
            self._tell_skip(target, going)
            tell_branch(going, active)
            if taken is None:
                activation.split((target, active))
            else:
                activation.split((target, going), (following, active & ~going))
            if spins:
                self.scheduler.rest(any_lane(going))
            return True

        return step

    def switch(self, labels: tuple[int, ...], index: Callable[[], Array]) -> Step:
        """All lanes of a thread go on at the label with that number; beyond the last at the next instruction."""
        targets, following = [self.prepared.labels[label] for label in labels], self.prepared.following

        def step() -> bool:
            activation, value = self.running.activation, index()
            active = activation.active
            cases = [(target, active & (value == n)) for n, target in enumerate(targets)]
            for target, going in cases:
                self._tell_skip(target, going)
            activation.split(*cases, (following, active & (value >= len(targets))))
            return True

        return step

    def leave(self, lanes: Callable[[], Mask]) -> Step:
        """These lanes return from the subroutine or function, or end in the kernel."""
        running, taken, following = self.running, self._taken(lanes), self.prepared.following
        end, tell_branch = len(self.prepared.function.instructions), self._tells_branch()

        def step() -> bool:
            activation, chosen = running.activation, taken()
            tell_branch(chosen, activation.active)
            self._tell_skip(end, chosen)
            activation.split((following, activation.active & ~chosen))
            return True

        return step

    def _loop(self, target: int, following: int) -> NarrowLoop | None:
        """The loop that a jump back closes, if the threads in it can run without the others."""
        if target >= following or not self.may_narrow or not self.prepared.can_run_alone(target, following):
            return None
        return NarrowLoop(self.prepared, self.running, self.scheduler, target, following)


class NarrowLoop:
    """A loop that threads can run without the others: the few that are still in it run it on a copy of their registers.

    ``target`` is the pc where the loop begins, ``following`` the one behind it.
    """

    def __init__(
        self, prepared: PreparedFunction, running: Running, scheduler: Scheduler, target: int, following: int
    ) -> None:
        self.prepared, self.running, self.scheduler = prepared, running, scheduler
        self.target, self.following = target, following

    def run(self, lanes: Bools) -> bool:
        """Run the loop for these lanes if their threads are few; afterwards they wait where they go on."""
        running, outer, everybody = self.running, self.running.activation, self.running.threads
        if everybody.count < NARROW_THREADS:
            return False
        rows = any_lane(lanes)
        if np.count_nonzero(rows) * 4 > 3 * everybody.count:
            return False
        index = np.flatnonzero(rows)
        running.threads = everybody.narrowed(index)
        inner = Activation(self.prepared, outer.registers.rows(index), self.target, lanes[index])
        running.use(inner)
        self.scheduler.run_activation(inner, self.following)
        outer.registers.take_back(index, inner.registers)
        running.threads = everybody
        running.use(outer)
        for pc, waiting in inner.waiting.items():
            full = np.zeros((everybody.count, MASK_LANES), bool)
            full[index] = waiting
            outer.wait(pc, full)
        return True
