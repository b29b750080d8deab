"""Control flow of a batch: which lanes of which threads are where, calls, barriers (manual: execution model).

Every activation of a function is a :class:`Context`. Lanes that cannot go on together wait in ``pending`` at the place where they go on; the
smallest place runs first, so that lanes meet again as early as they can. That is exact for structured and unstructured flow alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from visa.diagnostics import SimulationError
from visa.program import Function, Instruction
from vsim.numpy_engine.machine import Code, Frame, Mask, NumpyMachine
from vsim.registers import layout_of
from vsim.semantics import SEMANTICS

Array = npt.NDArray[Any]
MAXIMUM_DEPTH = 1000
NARROW_THREADS = 32
"""Batches of fewer threads are not worth narrowing."""
NAMED_BARRIERS = 32
_NEEDS_ALL = {
    "barrier",
    "sbarrier.signal",
    "sbarrier.wait",
    "nbarrier.signal",
    "nbarrier.wait",
    "call",
    "fcall",
    "ifcall",
    "ret",
    "fret",
}


class Context:
    """One activation of a function, or of a subroutine in it. ``em`` are the lanes that run now, threads x 32."""

    def __init__(
        self, code: Code, frame: Frame, pc: int, em: Array, parent: Context | None, return_pc: int, held: Array | None
    ) -> None:
        self.code, self.frame, self.pc = code, frame, pc
        self.parent, self.return_pc, self.held = parent, return_pc, held
        self.pending: dict[int, Array] = {}
        self.blocked: dict[int, Array] = {}
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.children = 0
        if parent is not None:
            parent.children += 1
        self.em: Array | None = None
        self.set(em)

    def set(self, em: Array | None) -> None:
        """Make these the running lanes."""
        self.em = em
        self._cache: dict[tuple[int, int], Mask] = {}
        if em is not None:
            rows: Any = em.any(axis=1)
            self.threads: Mask = True if rows.all() else rows[:, None]

    def lanes(self, offset: int, size: int) -> Mask:
        """The running lanes of a part of the execution mask; True if all of them run."""
        key = (offset, size)
        found = self._cache.get(key)
        if found is None:
            assert self.em is not None
            part = self.em[:, offset : offset + size]
            found = self._cache[key] = True if part.all() else part
        return found

    def wait(self, pc: int, lanes: Array) -> None:
        """Lanes go on at a place later."""
        self.pending[pc] = self.pending[pc] | lanes if pc in self.pending else lanes

    def next(self) -> bool:
        """Take up the waiting lanes with the smallest place."""
        if not self.pending:
            self.em = None
            return False
        self.pc = min(self.pending)
        self.set(self.pending.pop(self.pc))
        return True


class Execution(NumpyMachine):
    """Runs a batch of threads to its end."""

    def __init__(self, dispatch: Any, threads: int, groups: Array) -> None:
        super().__init__(dispatch, threads)
        self.groups = groups
        self.codes: dict[int, Code] = {}
        self.live: list[Context] = []
        self.signalled = np.zeros(threads, np.int64)
        self.waited = np.zeros(threads, np.int64)
        group_count = int(groups.max(initial=0)) + 1
        self.named_arrivals, self.named_openings = (np.zeros((group_count, NAMED_BARRIERS), np.int64) for _ in range(2))
        self.named_waits = np.zeros((threads, NAMED_BARRIERS), np.int64)
        self.deadline: Callable[[], None] | None = None

    def reset(self) -> None:
        """Memory and registers as they are before a thread starts; the prepared code stays."""
        for array in (
            self.signalled,
            self.waited,
            self.named_arrivals,
            self.named_openings,
            self.named_waits,
            *self.shared.values(),
            *self.surface_state.values(),
        ):
            array[:] = 0
        for space in (self.slm_space, self.scratch_space):
            if space is not None:
                space.data[:] = 0

    # -- preparation ---------------------------------------------------------------------------------------

    def prepare(self, function: Function) -> Code:
        """The code of a function, prepared once for the batch."""
        key = id(function)
        if key in self.codes:
            return self.codes[key]
        code = Code(function, layout_of(function))
        if self.dispatch.coverage is not None:
            code.executed = self.dispatch.coverage[self.dispatch.image.module.all_functions.index(function)]
        self.codes[key] = code
        saved = getattr(self, "code", None), getattr(self, "function", None)
        self.code, self.function = code, function
        for n, i in enumerate(function.instructions):
            if i.desc.mnemonic in (".label", ".function"):
                code.labels[i.args["label"]] = n
        for n, i in enumerate(function.instructions):
            self.here = n
            code.steps.append(SEMANTICS[i.desc.semantics](self, i))
        if saved[0] is not None:
            self.code, self.function = saved[0], saved[1]  # type: ignore[assignment]
        return code

    def bind_slots(self, context: Context) -> None:
        """Views that were asked for after the frame was made."""
        self.context, self.views, self.code, self.function = (
            context,
            context.frame.views,
            context.code,
            context.code.function,
        )

    # -- the loop ------------------------------------------------------------------------------------------

    def start(self, function: Function, em: Array) -> Context:
        code = self.prepare(function)
        context = Context(code, self.new_frame(code), 0, em, None, 0, None)
        self.live = [context]
        return context

    def run(self) -> None:
        """Run until every lane has ended.

        Raises:
            SimulationError: an access outside a buffer, or threads that wait for each other.
        """
        with np.errstate(all="ignore"):
            while self.live:
                context = next((c for c in reversed(self.live) if c.em is not None or c.pending), None)
                if context is None:
                    raise self._deadlock()
                if context.em is None and not context.next():
                    continue
                self.bind_slots(context)
                self._run_context(context)
                self._finish_if_done(context)

    def _run_context(self, context: Context, limit: int | None = None) -> None:
        """Run a context until it calls, blocks or ends; with a limit, until all its lanes are at or behind that place."""
        steps = context.code.steps
        end = len(steps) if limit is None else limit
        count = 0
        while context.em is not None:
            pc = context.pc
            stop = min(context.pending, default=end)
            if pc == stop and stop in context.pending:
                context.set(context.em | context.pending.pop(stop))
                stop = min(context.pending, default=end)
            moved, first = False, pc
            while pc < stop:
                self.here = pc
                moved = bool(steps[pc]())
                pc += 1
                if moved:
                    break
            if context.code.executed is not None:
                context.code.executed[first:pc] = True
            if moved:
                if self.context is not context:
                    return
                if self.deadline is not None:
                    count += 1
                    if count & 255 == 0:
                        self.deadline()
                if context.em is None and (min(context.pending, default=end) >= end if limit is not None else False):
                    return
                if context.em is None and not context.next():
                    return
            else:
                context.pc = pc
                if pc >= end and not (pc == stop and stop in context.pending and limit is None):
                    if limit is not None:
                        assert context.em is not None
                        context.wait(pc, context.em)
                        context.em = None
                        return
                    context.set(None)
                    if not context.next():
                        return

    def _finish_if_done(self, context: Context) -> None:
        """A context whose lanes have all left gives them back to its caller."""
        if context.em is None and not context.pending and not context.blocked and not context.children:
            self.live.remove(context)
            parent = context.parent
            if parent is not None:
                parent.children -= 1
                assert context.held is not None
                parent.wait(context.return_pc, context.held)

    def _deadlock(self) -> SimulationError:
        context = next(c for c in self.live if c.blocked)
        pc, lanes = next(iter(context.blocked.items()))
        row = int(np.flatnonzero(lanes.any(axis=1))[0])
        self.context = context
        return self.fault_at(
            row,
            0,
            "a barrier waits for threads of the work-group that never arrive",
            context.code.function.instructions[pc - 1],
        )

    # -- flow ----------------------------------------------------------------------------------------------

    def _active(self, context: Context, lanes: Mask) -> Array:
        """A mask over the running lanes as threads x 32."""
        assert context.em is not None
        if lanes is True:
            return context.em
        full = np.zeros_like(context.em)
        part = np.broadcast_to(lanes, (self.threads, max(lanes.shape[1], 1)))
        full[:, self._offset : self._offset + part.shape[1]] = part
        if part.shape[1] == 1 and self._size > 1:
            full[:, self._offset : self._offset + self._size] = part
        result: Array = full & context.em
        return result

    _offset = 0
    _size = 32

    def _place_of(self, instruction: Instruction) -> tuple[int, int]:
        execution = instruction.args["exec"]
        return (execution.offset, execution.size) if execution.size > 1 else (0, 32)

    def _lanes_at(self, lanes: Callable[[], Mask], place: tuple[int, int]) -> Callable[[Context], Array]:
        def active(context: Context) -> Array:
            self._offset, self._size = place
            return self._active(context, lanes())

        return active

    def _instruction(self) -> Instruction:
        return self.function.instructions[self.here]

    def goto(self, label: int, lanes: Callable[[], Mask]) -> Callable[[], Any]:
        target, following = self.code.labels[label], self.here + 1
        active = self._lanes_at(lanes, self._place_of(self._instruction()))
        simple = target < following and self._is_simple_loop(target, following)

        def step() -> Any:
            context = self.context
            taken = active(context)
            if not taken.any():
                return None
            rest = context.em & ~taken
            if simple and self.threads >= NARROW_THREADS:
                rows = taken.any(axis=1)
                if np.count_nonzero(rows) * 4 <= 3 * self.threads:
                    self._run_narrow(context, target, following, taken, np.flatnonzero(rows))
                    if rest.any():
                        context.wait(following, rest)
                    context.em = None
                    return True
            context.wait(target, taken)
            if rest.any():
                context.wait(following, rest)
            context.em = None
            return True

        return step

    def _is_simple_loop(self, target: int, following: int) -> bool:
        """Whether a loop does nothing that needs the other threads: no barrier, no call, no end, no look at %cr0."""
        names = {i.desc.mnemonic for i in self.function.instructions[target:following]}
        modes = self.dispatch.float_modes
        return not names & _NEEDS_ALL and not modes.rounding and not modes.flushed

    def _run_narrow(self, context: Context, target: int, following: int, lanes: Array, index: Array) -> None:
        """Run a loop for the few threads that are still in it, on a copy of their registers."""
        saved = (
            self.threads,
            self.shared,
            self.surface_state,
            self.slm_space,
            self.scratch_space,
            self.locate,
            self.pixels,
        )
        assert self.slm_space is not None and self.scratch_space is not None
        self.threads = index.size
        self.surface_state = {k: v[index] for k, v in saved[2].items()}
        self.slm_space = replace(self.slm_space, base=self.slm_space.base[index])
        self.scratch_space = replace(self.scratch_space, base=self.scratch_space.base[index])
        outer = self.locate
        self.locate = lambda row, lane: outer(int(index[row]), lane)
        outer_pixels = self.pixels
        self.pixels = lambda: [axis[index] for axis in outer_pixels()]
        inner = Context(context.code, context.frame.rows(index), target, lanes[index], None, 0, None)
        self.bind_slots(inner)
        try:
            self._run_context(inner, following)
        finally:
            self.threads, self.shared, _, self.slm_space, self.scratch_space, self.locate, self.pixels = saved
        for key, state in self.surface_state.items():
            if key not in saved[2]:
                saved[2][key] = np.zeros((self.threads, 1), np.uint32)
            saved[2][key][index] = state
        self.surface_state = saved[2]
        context.frame.take_back(index, inner.frame)
        self.bind_slots(context)
        for place, waiting in inner.pending.items():
            full = np.zeros((self.threads, 32), bool)
            full[index] = waiting
            context.wait(place, full)

    def jump(self, label: int, taken: Callable[[], Mask] | None) -> Callable[[], Any]:
        target, following = self.code.labels[label], self.here + 1

        def step() -> Any:
            context = self.context
            rows = np.ones((self.threads, 1), bool) if taken is None else np.broadcast_to(taken(), (self.threads, 1))
            return self._split(context, [(target, rows), (following, ~rows)])

        return step

    def _split(self, context: Context, parts: list[tuple[int, Array]]) -> Any:
        for place, rows in parts:
            lanes = context.em & rows
            if lanes.any():
                context.wait(place, lanes)
        context.em = None
        return True

    def switch(self, labels: tuple[int, ...], index: Callable[[], Array]) -> Callable[[], Any]:
        targets, following = [self.code.labels[n] for n in labels], self.here + 1

        def step() -> Any:
            value = np.broadcast_to(index(), (self.threads, 1))
            parts = [(t, value == n) for n, t in enumerate(targets)] + [(following, value >= len(targets))]
            return self._split(self.context, parts)

        return step

    def _enter(self, code: Code, frame: Frame, pc: int, lanes: Array, return_pc: int, instruction: Instruction) -> Any:
        context = self.context
        if context.depth >= MAXIMUM_DEPTH:
            raise self.fault_at(
                int(np.flatnonzero(lanes.any(axis=1))[0]),
                0,
                f"calls are nested more than {MAXIMUM_DEPTH} deep",
                instruction,
            )
        rest = context.em & ~lanes
        if rest.any():
            context.wait(return_pc, rest)
        context.em = None
        child = Context(code, frame, pc, lanes, context, return_pc, lanes.copy())
        self.live.append(child)
        self.context = child
        return True

    def call(self, label: int, lanes: Callable[[], Mask], instruction: Instruction) -> Callable[[], Any]:
        target, following, code = self.code.labels[label], self.here + 1, self.code
        active = self._lanes_at(lanes, self._place_of(instruction))

        def step() -> Any:
            taken = active(self.context)
            return self._enter(code, self.context.frame, target, taken, following, instruction) if taken.any() else None

        return step

    def call_function(self, name: int, lanes: Callable[[], Mask], instruction: Instruction) -> Callable[[], Any]:
        following, function = self.here + 1, self.function
        active = self._lanes_at(lanes, self._place_of(instruction))
        target = self.dispatch.image.callee(function, name)

        def step() -> Any:
            taken = active(self.context)
            if not taken.any():
                return None
            if target is None:
                raise self.fault_at(
                    int(np.flatnonzero(taken.any(axis=1))[0]),
                    0,
                    f"function '{function.strings[name]}' is not defined",
                    instruction,
                )
            code = self.prepare(target)
            return self._enter(code, self.new_frame(code), 0, taken, following, instruction)

        return step

    def call_address(
        self, address: Callable[[], Array], lanes: Callable[[], Mask], instruction: Instruction
    ) -> Callable[[], Any]:
        following = self.here + 1
        active = self._lanes_at(lanes, self._place_of(instruction))

        def step() -> Any:
            context = self.context
            taken = active(context)
            if not taken.any():
                return None
            values = np.broadcast_to(address(), (self.threads, 1))
            rows = taken.any(axis=1)
            rest = context.em & ~taken
            if rest.any():
                context.wait(following, rest)
            for value in np.unique(values[rows]):
                chosen = taken & (values == value)
                function = self.dispatch.image.function_at(int(value))
                if function is None:
                    row = int(np.flatnonzero(chosen.any(axis=1))[0])
                    raise self.fault_at(row, 0, f"there is no function at address {int(value):#x}", instruction)
                code = self.prepare(function)
                if context.depth >= MAXIMUM_DEPTH:
                    raise self.fault_at(
                        int(np.flatnonzero(rows)[0]), 0, f"calls are nested more than {MAXIMUM_DEPTH} deep", instruction
                    )
                child = Context(code, self.new_frame(code), 0, chosen, context, following, chosen.copy())
                self.live.append(child)
            context.em = None
            self.context = self.live[-1]
            return True

        return step

    def leave(self, lanes: Callable[[], Mask]) -> Callable[[], Any]:
        following = self.here + 1
        active = self._lanes_at(lanes, self._place_of(self._instruction()))

        def step() -> Any:
            context = self.context
            rest = context.em & ~active(context)
            if rest.any():
                context.wait(following, rest)
            context.em = None
            return True

        return step

    def barrier(self, signal: bool, wait: bool, instruction: Instruction) -> Callable[[], Any]:
        following = self.here + 1
        self.code.arrivals[following] = self._arrived

        def go_on(rows: Array) -> None:
            self.waited[rows] += 1

        self.code.departures[following] = go_on

        def step() -> Any:
            if signal:
                self.signalled[self.context.em.any(axis=1)] += 1
            if wait:
                return self._wait_for(following)
            self._release()
            return None

        return step

    def named_barrier(
        self, number: Callable[[], Array], arrivals: Callable[[], Array] | None, instruction: Instruction
    ) -> Callable[[], Any]:
        following = self.here + 1

        def numbers() -> Array:
            found: Array = np.broadcast_to(number() & np.uint32(NAMED_BARRIERS - 1), (self.threads, 1))[:, 0]
            return found

        def signal() -> Any:
            assert arrivals is not None
            wanted, names = np.broadcast_to(arrivals(), (self.threads, 1))[:, 0], numbers()
            for row in np.flatnonzero(self.context.em.any(axis=1)):
                place = (self.groups[row], names[row])
                self.named_arrivals[place] += 1
                if self.named_arrivals[place] >= wanted[row]:
                    self.named_arrivals[place] = 0
                    self.named_openings[place] += 1
            self._release()

        if arrivals is not None:
            return signal
        rows_of_all = np.arange(self.threads)
        held: dict[str, Array] = {}

        def opened(rows: Array) -> Array:
            names = held["names"]
            result: Array = self.named_openings[self.groups, names] > self.named_waits[rows_of_all, names]
            return result

        def go_on(rows: Array) -> None:
            self.named_waits[rows_of_all[rows], held["names"][rows]] += 1

        self.code.arrivals[following], self.code.departures[following] = opened, go_on

        def wait() -> Any:
            rows = self.context.em.any(axis=1)
            held["names"] = np.where(rows, numbers(), held.get("names", np.zeros(self.threads, np.uint32)))
            return self._wait_for(following)

        return wait

    def _wait_for(self, following: int) -> Any:
        """Let the running threads go on for which the barrier is open, and block the others."""
        context = self.context
        rows = context.em.any(axis=1)
        ready = self.code.arrivals[following](rows) & rows
        self.code.departures[following](ready)
        if (ready == rows).all():
            self._release()
            return None
        passing, stuck = context.em & ready[:, None], context.em & ~ready[:, None]
        if passing.any():
            context.wait(following, passing)
        context.blocked[following] = context.blocked[following] | stuck if following in context.blocked else stuck
        context.em = None
        self._release()
        return True

    def _arrived(self, rows: Array) -> Array:
        """Threads whose whole group has signalled more often than they have waited."""
        least = np.full(int(self.groups.max()) + 1, np.iinfo(np.int64).max)
        np.minimum.at(least, self.groups, self.signalled)
        result: Array = least[self.groups] > self.waited
        return result

    def _release(self) -> None:
        """Let blocked threads go on for which their barrier is open now."""
        for context in self.live:
            for pc, lanes in list(context.blocked.items()):
                rows: Any = lanes.any(axis=1)
                ready = context.code.arrivals[pc](rows) & rows
                if ready.any():
                    context.code.departures[pc](ready)
                    context.wait(pc, lanes & ready[:, None])
                    left = lanes & ~ready[:, None]
                    if left.any():
                        context.blocked[pc] = left
                    else:
                        del context.blocked[pc]
