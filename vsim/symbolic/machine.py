"""What the semantics drive while the symbolic engine runs a thread of a launch.

Operands and masks are those of :class:`~vsim.symbolic.stretch_operands.StretchOperands`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from visakit.diagnostics import SimulationError
from visakit.language.operands import SURFACE
from visakit.language.program import BINDLESS, SCRATCH, SLM, STATELESS, Function, Instruction
from visakit.language.types import DataType
from vsim.analysis.control_flow import takes_all
from vsim.launch.payload import SCRATCH_HANDLE
from vsim.semantics.algebra import Step
from vsim.semantics.flow import has_followers, reach
from vsim.semantics.memory import execution_of
from vsim.symbolic import terms
from vsim.symbolic.algebra import AnyMask, SymbolicLanes, SymbolicMask, spread
from vsim.symbolic.memory import LanewiseAccess
from vsim.symbolic.operands import Read, ReadMask
from vsim.symbolic.places import any_of
from vsim.symbolic.spaces import FLAT, HANDLES, LOCAL, SCRATCH_MEMORY, TABLE, URB, SymbolicSpace
from vsim.symbolic.stretch import THREAD
from vsim.symbolic.stretch_operands import StretchOperands
from vsim.symbolic.terms import Condition, Term

if TYPE_CHECKING:
    from vsim.symbolic.thread import SymbolicThread

MAXIMUM_DEPTH = 32
"""Calls within calls that are followed."""


class SymbolicMachine(StretchOperands):
    """The :class:`~vsim.semantics.algebra.Machine` of one function of a thread."""

    def __init__(self, thread: SymbolicThread, function: Function) -> None:
        launch = thread.launch
        super().__init__(function, launch.grf_size, thread.new_registers(function), launch.algebra, launch.float_modes)
        self.thread, self.dispatch = thread, launch
        self.labels = {i.args["label"]: n for n, i in enumerate(function.instructions) if i.desc.flow.is_label}
        self.number = 0
        """Of the instruction that is being prepared or executed."""

    def note_write(self, kind: int, number: int, places: Sequence[Sequence[int]], lanes: Sequence[int]) -> None:
        self.thread.note_write(self, kind, number, places, lanes)

    def anything(self, count: int, bits: int) -> list[Term]:
        if not self.thread.may_forget_registers:
            return super().anything(count, bits)
        symbols, lanes = self.dispatch.symbols, self.own_lanes(count)
        if lanes is None:
            return [symbols.number(symbols.fresh("indirect"), bits) for _ in range(count)]
        name = symbols.fresh("indirect")
        return [symbols.number(name, bits, lane) for lane in lanes]

    # -- thread --------------------------------------------------------------------------------------------

    def cannot(self, text: str, instruction: Instruction | None = None) -> SimulationError:
        return self.thread.cannot(text, instruction or self.instruction)

    def symbol_address(self, instruction: Instruction) -> int | None:
        """Address of the function or data symbol that faddr names; None if it is not defined."""
        return self.dispatch.image.symbol_address(self.function, instruction.args["name"])

    def decoded(self, instruction: Instruction, prepare: Callable[[int], Step]) -> Step:
        """Sends a raw message by the step for the value of its descriptor, which must be known."""
        read, steps = self.reader(instruction.args["desc"], 1), dict[int, Step]()

        def step() -> object:
            value = terms.folded(read().terms[0])
            if not isinstance(value, int):
                raise self.cannot("the descriptor of a message depends on inputs", instruction)
            if value not in steps:
                steps[value] = prepare(value)
            return steps[value]()

        return step

    # -- memory --------------------------------------------------------------------------------------------

    def flat(self) -> SymbolicSpace:
        """The 64-bit address space."""
        return SymbolicSpace(FLAT)

    def slm(self) -> SymbolicSpace:
        """Local memory."""
        return SymbolicSpace(LOCAL)

    def urb(self) -> SymbolicSpace:
        """The buffer that the launch names ``%urb``."""
        return SymbolicSpace(URB)

    def surface(self, index: int) -> SymbolicSpace:
        """The surface that a surface variable names."""
        known = {SLM: LOCAL, SCRATCH: SCRATCH_MEMORY, STATELESS: FLAT}
        if index in known:
            return SymbolicSpace(known[index])
        number = terms.folded(self.registers.state(SURFACE, index, 0))
        return SymbolicSpace(HANDLES if index == BINDLESS else TABLE, number)

    def surface_by_handle(self, kind: str, value: SymbolicLanes) -> SymbolicSpace:
        """The surface behind an LSC surface operand (bti, ss, bss, surf)."""
        if kind == "ss":
            return SymbolicSpace(SCRATCH_MEMORY)
        handle = terms.folded(value.terms[0])
        if kind == "surf" and handle == SCRATCH_HANDLE:
            return SymbolicSpace(SCRATCH_MEMORY)
        return SymbolicSpace(TABLE if kind == "bti" else HANDLES, handle)

    def for_blocks(self, space: SymbolicSpace) -> SymbolicSpace:
        """The space as loads at one address see it."""
        return space

    def _guards(self, count: int, mask: AnyMask) -> list[tuple[int, Condition]]:
        """Lane and condition of each of the accesses of a message; :data:`THREAD` for accesses of no lane."""
        lanes = self.own_lanes(count)
        found = spread([True] if mask is True else mask.terms, count)
        guards = None if self.stretch is None else self.stretch.guards
        if lanes is None:
            execution = execution_of(self.instruction)
            number = execution.offset if execution and execution.size == count else THREAD
            whole = True if self.stretch is None else self.stretch.any
            return [
                (number + k if number != THREAD else THREAD, terms.conjunction(whole, c)) for k, c in enumerate(found)
            ]
        if guards is None:
            return list(zip(lanes, found, strict=True))
        return [(lane, terms.conjunction(guards[lane], c)) for lane, c in zip(lanes, found, strict=True)]

    def load(
        self, space: SymbolicSpace, address: SymbolicLanes, data_type: DataType, mask: AnyMask, instruction: Instruction
    ) -> SymbolicLanes:
        """Gather: one element for each lane."""
        return self.load_elements(space, address, data_type, 1, mask, instruction)[0]

    def load_elements(
        self,
        space: SymbolicSpace,
        address: SymbolicLanes,
        data_type: DataType,
        count: int,
        mask: AnyMask,
        instruction: Instruction,
    ) -> list[SymbolicLanes]:
        """Consecutive elements for each lane."""
        lanes = self._lane_count(address, mask, instruction)
        guards = self._guards(lanes, mask)
        access = LanewiseAccess(space, spread(address.terms, lanes), guards, data_type.size)
        columns = self.thread.memory.load(access, count)
        return [self.algebra.of(data_type, column) for column in columns]

    def _lane_count(self, address: SymbolicLanes, mask: AnyMask, instruction: Instruction) -> int:
        execution = execution_of(instruction)
        known = [len(address.terms), 1 if mask is True else len(mask.terms)]
        return max(*known, execution.size if execution and self.own_lanes(execution.size) is not None else 1)

    def store(
        self,
        space: SymbolicSpace,
        address: SymbolicLanes,
        value: SymbolicLanes,
        mask: AnyMask,
        instruction: Instruction,
    ) -> None:
        """Scatter: one element for each lane."""
        self.store_elements(space, address, [value], mask, instruction)

    def store_elements(
        self,
        space: SymbolicSpace,
        address: SymbolicLanes,
        values: list[SymbolicLanes],
        mask: AnyMask,
        instruction: Instruction,
    ) -> None:
        """Write consecutive elements for each lane."""
        lanes = max(self._lane_count(address, mask, instruction), *(len(v.terms) for v in values))
        columns = [spread(v.terms, lanes) for v in values]
        guards = self._guards(lanes, mask)
        self.thread.memory.store(
            LanewiseAccess(space, spread(address.terms, lanes), guards, values[0].type.size), columns
        )

    def atomic(
        self,
        space: SymbolicSpace,
        op: str,
        address: SymbolicLanes,
        data_type: DataType,
        sources: list[SymbolicLanes],
        mask: AnyMask,
        instruction: Instruction,
    ) -> SymbolicLanes:
        """Atomic operations; the old values are unknown."""
        lanes = self._lane_count(address, mask, instruction)
        columns = [spread(s.terms, lanes) for s in sources]
        guards = self._guards(lanes, mask)
        access = LanewiseAccess(space, spread(address.terms, lanes), guards, data_type.size)
        found = self.thread.memory.atomic(access, columns, op)
        return self.algebra.of(data_type, found)

    def mapped(self, space: SymbolicSpace, address: SymbolicLanes, size: int, mask: AnyMask) -> SymbolicMask:
        """The lanes that could read: not known."""
        return SymbolicMask([self.thread.symbols.condition("mapped", lane) for lane in range(len(address.terms))])

    def require_shape(self, found: SymbolicLanes, wanted: int, mask: AnyMask, instruction: Instruction) -> None:
        """See that the payload of a block message has the shape of its instruction."""
        if terms.folded(found.terms[0]) != wanted:
            raise self.cannot("the shape of a block depends on inputs", instruction)

    def require_length(self, needed: SymbolicLanes, given: int, mask: AnyMask, instruction: Instruction) -> None:
        """See that a message has the registers that its payload asks for."""
        value = terms.folded(needed.terms[0])
        if not isinstance(value, int) or value > given:
            raise self.cannot("the length of a message depends on inputs", instruction)

    # -- control flow --------------------------------------------------------------------------------------

    def _taken(self, lanes: ReadMask, if_any: bool = False) -> Callable[[], list[Condition]]:
        """The lanes that take a jump, call or return: see :func:`vsim.engines.numpy.control_flow.taken_lanes`."""
        instruction, simd = self.instruction, self.dispatch.lanes
        part = reach(instruction)
        offset, room = part.offset, max(0, min(part.size, simd - part.offset))
        ignores_mask = instruction.desc.flow.is_call and part.no_mask
        follow = has_followers(self.function, part)
        takes_everything = follow and not ignores_mask and takes_all(instruction, self.function.jump_lanes)

        def taken() -> list[Condition]:
            mask = lanes()
            if takes_everything or (mask is True and room == simd):
                return [True] * simd
            chosen = spread([True] if mask is True else mask.terms, room)[:room]
            found = [False] * offset + list(chosen) + [False] * (simd - offset - room)
            return self._with_followers(found, range(offset, offset + room), if_any) if follow else found

        return taken

    def _with_followers(self, found: list[Condition], own: range, if_any: bool) -> list[Condition]:
        """Lanes outside of a jump follow: with any lane of it, or when no lane of it stays."""
        guards = self.thread.guards
        if if_any:
            moves = any_of([terms.conjunction(guards[k], found[k]) for k in own])
        else:
            moves = terms.negation(any_of([terms.conjunction(guards[k], terms.negation(found[k])) for k in own]))
        return [c if k in own else moves for k, c in enumerate(found)]

    def goto(self, label: int, lanes: ReadMask) -> Step:
        """These lanes go on at the label."""
        target, following, taken = self.labels[label], self.number + 1, self._taken(lanes)
        return lambda: self.thread.split(taken(), target, following)

    def jump(self, label: int, taken: Callable[[], SymbolicMask] | None) -> Step:
        """All lanes of the thread go on at the label if the condition holds."""
        target, following, simd = self.labels[label], self.number + 1, self.dispatch.lanes

        def step() -> bool:
            found = [True] if taken is None else taken().terms
            return self.thread.split(spread(found, simd)[:simd], target, following)

        return step

    def switch(self, labels: tuple[int, ...], index: Read) -> Step:
        """All lanes go on at the label with that number; beyond the last at the next instruction."""
        targets, following = [self.labels[label] for label in labels], self.number + 1

        def step() -> bool:
            value = index().terms[0]
            cases = [(terms.equal(value, n, 32), target) for n, target in enumerate(targets)]
            return self.thread.switch(cases, following)

        return step

    def leave(self, lanes: ReadMask) -> Step:
        """These lanes return from the subroutine or function, or end in the kernel."""
        following, taken = self.number + 1, self._taken(lanes)
        return lambda: self.thread.split(taken(), None, following)

    def call(self, label: int, lanes: ReadMask, instruction: Instruction) -> Step:
        """These lanes run a subroutine of the same function and come back."""
        target, following, taken = self.labels[label], self.number + 1, self._taken(lanes, if_any=True)
        return lambda: self.thread.call(self, target, taken(), following, instruction)

    def call_function(self, name: int, lanes: ReadMask, instruction: Instruction) -> Step:
        """These lanes run the function that a string names."""
        following, taken = self.number + 1, self._taken(lanes, if_any=True)
        callee = self.dispatch.image.callee(self.function, name)

        def step() -> bool:
            if callee is None:
                raise self.cannot(f"function '{self.function.strings[name]}' is not defined", instruction)
            return self.thread.call_function(callee, taken(), following, instruction)

        return step

    def call_address(self, address: Read, lanes: ReadMask, instruction: Instruction) -> Step:
        """The lanes run the function at an address, which must be known."""
        following, taken = self.number + 1, self._taken(lanes, if_any=True)

        def step() -> bool:
            value = terms.folded(address().terms[0])
            callee = self.dispatch.image.function_at(value) if isinstance(value, int) else None
            if callee is None:
                raise self.cannot("the called function depends on inputs", instruction)
            return self.thread.call_function(callee, taken(), following, instruction)

        return step

    def barrier(self, signal: bool, wait: bool, instruction: Instruction) -> Step:
        """Arrive at the work-group's barrier, wait until all its threads have arrived, or both."""
        number = self.number
        return lambda: self.thread.barrier(number, signal, wait, instruction)

    def named_barrier(self, number: Read, arrivals: Read | None, instruction: Instruction) -> Step:
        """Named barriers order threads in ways that are not followed."""

        def step() -> object:
            self.thread.named_barrier(self.number, instruction)
            return None

        return step

    # -- images --------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> object:
        """Images and samplers."""
        if name in ("image", "sampler", "image_by_handle", "with_image", "with_sampler", "pixel"):
            raise self.cannot("images and samplers are not followed")
        raise AttributeError(name)
