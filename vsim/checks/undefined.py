"""The check of undefined values: a machine around an engine's, which runs the semantics on values with shadows.

The semantics do not know of it: they get readers that give values with shadows (:mod:`vsim.checks.shadows`), compute
with the algebra of such values, and hand them to writers, which store value and shadow apart. Copying undefined values
is what compilers do all day, and no finding. It matters where a value decides something: which lanes go on, which
memory is accessed, what an atomic does; and in a buffer at the end of the launch.

Registers have a second register file for shadows, memory a second memory at the same addresses; both belong to the
engine (:class:`ShadowMachine`). Lanes that do not execute never report.
"""

from __future__ import annotations

from collections.abc import Callable

from visakit.language import types
from visakit.language.operands import (
    EVERY_LANE,
    Address,
    Execution,
    General,
    Indirect,
    PredicateControl,
    Raw,
    VectorOperand,
)
from visakit.language.program import Function, Instruction
from visakit.language.types import DataType
from vsim.checks.shadow_machine import ADDRESS, ATOMIC, BRANCH, MASK, ShadowMachine
from vsim.checks.shadows import ShadowAlgebra, Tracked
from vsim.memory.memory import SamplerState
from vsim.semantics.algebra import ImageReference, ImageView, Lanes, Machine, Mask, Read, ReadMask, Space, Step, Write
from vsim.semantics.conversion import element_type
from vsim.semantics.core import unsigned_of


class DecidedFlow:
    """Control flow behind a look at the masks and values that decide it."""

    def __init__(self, inner: Machine, shadows: ShadowMachine, algebra: ShadowAlgebra) -> None:
        self.inner, self.shadows, self.algebra = inner, shadows, algebra

    def _decided_by(self, lanes: ReadMask, go: Callable[[ReadMask], Step]) -> Step:
        """A step of the engine behind a look at the lanes that it is for."""

        def plain() -> Mask:
            found = lanes()
            return found if found is True else found.value

        step = go(plain)

        def checked() -> object:
            found = lanes()
            if found is not True and found.shadow is not None:
                self.shadows.report(BRANCH, found.shadow.lanes())
            return step()

        return checked

    def goto(self, label: int, lanes: ReadMask) -> Step:
        return self._decided_by(lanes, lambda plain: self.inner.goto(label, plain))

    def jump(self, label: int, taken: ReadMask | None) -> Step:
        if taken is None:
            return self.inner.jump(label, None)
        return self._decided_by(self._in_running_threads(taken), lambda plain: self.inner.jump(label, plain))

    def _in_running_threads(self, lanes: ReadMask) -> ReadMask:
        """Of a mask the lanes of threads that are here."""

        def read() -> Tracked | Mask:
            found, here = lanes(), self.inner.thread_mask()
            if found is True or found.shadow is None or here is True:
                return found
            return Tracked(self.algebra, found.value, self.algebra.of_lanes(found.shadow.lanes() & here))

        return read

    def switch(self, labels: tuple[int, ...], index: Read) -> Step:
        return self._decided_by_value(index, lambda plain: self.inner.switch(labels, plain))

    def _decided_by_value(self, value: Read, go: Callable[[Read], Step]) -> Step:
        step = go(lambda: value().value)

        def checked() -> object:
            undefined, here = self.algebra.union(value()), self.inner.thread_mask()
            if undefined is not None:
                lanes = undefined.lanes()
                self.shadows.report(BRANCH, lanes if here is True else lanes & here)
            return step()

        return checked

    def call(self, label: int, lanes: ReadMask, instruction: Instruction) -> Step:
        return self._decided_by(lanes, lambda plain: self.inner.call(label, plain, instruction))

    def call_function(self, name: int, lanes: ReadMask, instruction: Instruction) -> Step:
        return self._decided_by(lanes, lambda plain: self.inner.call_function(name, plain, instruction))

    def call_address(self, address: Read, lanes: ReadMask, instruction: Instruction) -> Step:
        def go(plain: ReadMask) -> Step:
            return self._decided_by_value(address, lambda at: self.inner.call_address(at, plain, instruction))

        return self._decided_by(lanes, go)

    def leave(self, lanes: ReadMask) -> Step:
        return self._decided_by(lanes, self.inner.leave)

    def named_barrier(self, number: Read, arrivals: Read | None, instruction: Instruction) -> Step:
        many = None if arrivals is None else lambda: arrivals().value
        return self._decided_by_value(number, lambda at: self.inner.named_barrier(at, many, instruction))


class UndefinedMachine:
    """The :class:`~vsim.semantics.algebra.Machine` of a launch that is checked for undefined values."""

    def __init__(self, inner: Machine, shadows: ShadowMachine) -> None:
        self.inner, self.shadows = inner, shadows
        self.function: Function = inner.function
        self.grf_size: int = inner.grf_size
        self.algebra = ShadowAlgebra(inner.algebra, shadows.type_of_lanes)
        self.type_of, self.cannot, self.symbol_address = inner.type_of, inner.cannot, inner.symbol_address
        self.flat, self.slm, self.surface, self.urb = inner.flat, inner.slm, inner.surface, inner.urb
        self.for_blocks = inner.for_blocks
        self.image, self.barrier = inner.image, inner.barrier
        flow = DecidedFlow(inner, shadows, self.algebra)
        self.goto, self.jump, self.switch, self.leave = flow.goto, flow.jump, flow.switch, flow.leave
        self.call, self.call_function, self.call_address = flow.call, flow.call_function, flow.call_address
        self.named_barrier = flow.named_barrier

    # -- values --------------------------------------------------------------------------------------------

    def _tracked(self, value: Lanes, bits: Lanes, size: int, source: object = None) -> Tracked:
        """A value with its undefined bits; ``source`` is the operand that has it."""
        known = self.shadows.is_defined(bits)
        return Tracked(self.algebra, value, None if known else self.algebra.of_bits(bits, size), source)

    def _tracked_mask(self, mask: Mask, undefined: Mask) -> Tracked:
        known = self.shadows.is_defined(undefined)
        return Tracked(self.algebra, mask, None if known else self.algebra.of_lanes(undefined))

    def _defined(self, value: Lanes) -> Tracked:
        return Tracked(self.algebra, value)

    def _bits(self, x: Tracked, size: int) -> Lanes:
        """The undefined bits of a value, zeros included."""
        if x.shadow is None:
            return self.algebra.inner.const(0, unsigned_of(size))
        return x.shadow.bits(size)

    def _undefined(self, *values: Tracked | Mask) -> Mask | None:
        """The lanes in which any of some values is undefined; None if nowhere."""
        shadow = self.algebra.union(*values)
        return None if shadow is None else shadow.lanes()

    def _report(self, code: str, lanes: Mask | None, mask: Tracked | Mask) -> None:
        """A finding where lanes are undefined that execute."""
        if lanes is None:
            return
        executing = mask if mask is True else mask.value
        self.shadows.report(code, lanes if executing is True else lanes & executing)

    # -- operands ------------------------------------------------------------------------------------------

    def reader(self, op: VectorOperand, count: int, by_lane: bool = True) -> Read:
        read = self.inner.reader(op, count, by_lane)
        if self._is_tracked(op):
            undefined, size = self.shadows.reader(op, count, by_lane), element_type(self.inner.type_of(op)).size
            return lambda: self._tracked(read(), undefined(), size, op)
        return lambda: self._defined(read())

    def writer(self, op: VectorOperand, count: int) -> Write:
        write = self.inner.writer(op, count)
        if isinstance(op, Address):
            return self._address_writer(write)
        if not self._is_tracked(op):
            return lambda value, mask: write(value.value, mask if mask is True else mask.value)
        return self._both(write, self.shadows.writer(op, count), element_type(self.inner.type_of(op)).size)

    def _is_tracked(self, op: VectorOperand) -> bool:
        """Whether an operand has a shadow: general variables, directly or by address."""
        return isinstance(op, Indirect) or (isinstance(op, General) and self.shadows.is_tracked(op.var))

    def _address_writer(self, write: Write) -> Write:
        """Address variables are for addresses: a write of an undefined value to one is reported."""

        def store(value: Tracked, mask: Tracked | Mask) -> None:
            self._report(ADDRESS, self._undefined(value, mask), mask)
            write(value.value, mask if mask is True else mask.value)

        return store

    def _both(self, write: Write, write_shadow: Write, size: int) -> Write:
        """A writer of values and their shadows."""
        a = self.algebra.inner

        def store(value: Tracked, mask: Tracked | Mask) -> None:
            bits = self._bits(value, size)
            if mask is True or mask.shadow is None:
                plain = mask if mask is True else mask.value
                write(value.value, plain)
                write_shadow(bits, plain)
                return
            # Where it is undefined whether a lane is written, its value is undefined.
            t, unknown = unsigned_of(size), mask.shadow.lanes()
            write(value.value, mask.value)
            write_shadow(a.select(unknown, a.const(t.maximum, t), bits), mask.value | unknown)

        return store

    def raw_reader(self, op: Raw, offset: int, count: int, data_type: DataType, by_lane: bool = False) -> Read:
        read = self.inner.raw_reader(op, offset, count, data_type, by_lane)
        if not self.shadows.is_tracked(op.var):
            return lambda: self._defined(read())
        undefined = self.shadows.raw_reader(op, offset, count, data_type, by_lane)
        return lambda: self._tracked(read(), undefined(), data_type.size)

    def raw_writer(self, op: Raw, offset: int, count: int, data_type: DataType) -> Write:
        write = self.inner.raw_writer(op, offset, count, data_type)
        if not self.shadows.is_tracked(op.var):
            return lambda value, mask: write(value.value, mask if mask is True else mask.value)
        return self._both(write, self.shadows.raw_writer(op, offset, count, data_type), data_type.size)

    def address_of(self, op: General) -> Read:
        read = self.inner.address_of(op)
        return lambda: self._defined(read())

    def state_reader(self, kind: int, index: int, element: int) -> Read:
        read = self.inner.state_reader(kind, index, element)
        return lambda: self._defined(read())

    def state_writer(self, kind: int, index: int, element: int) -> Write:
        return self._address_writer(self.inner.state_writer(kind, index, element))

    # -- masks and predicates ------------------------------------------------------------------------------

    def mask(self, execution: Execution, predicate: PredicateControl | None) -> ReadMask:
        mask = self.inner.mask(execution, predicate)
        if predicate is None:
            return lambda: self._plain_mask(mask())
        unknown, running = self._unknown_bits(predicate, execution), self.inner.mask(execution, None)

        def read() -> Tracked:
            undefined, lanes = unknown(), running()
            return self._tracked_mask(mask(), undefined if lanes is True else undefined & lanes)

        return read

    def _plain_mask(self, mask: Mask) -> Tracked | Mask:
        return True if mask is True else self._defined(mask)

    def _unknown_bits(self, predicate: PredicateControl, execution: Execution) -> ReadMask:
        """The lanes for which a predicate control is undefined."""
        if not predicate.mode:
            return self.shadows.predicate_reader(predicate.var, execution.offset, execution.size)
        whole = Execution(self.function.predicate_bits(predicate.var), execution.mask & EVERY_LANE.mask)
        read, running = self.shadows.predicate_reader(predicate.var, 0, whole.size), self.inner.mask(whole, None)

        def of_all() -> Mask:
            undefined, lanes = read(), running()
            return self.shadows.any_lane(undefined if lanes is True else undefined & lanes)

        return of_all

    def predicate_bits(self, predicate: PredicateControl, execution: Execution) -> Read:
        bits, unknown = self.inner.predicate_bits(predicate, execution), self._unknown_bits(predicate, execution)
        return lambda: self._tracked_mask(bits(), unknown())

    def predicate_reader(self, index: int, offset: int, count: int) -> Read:
        bits = self.inner.predicate_reader(index, offset, count)
        unknown = self.shadows.predicate_reader(index, offset, count)
        return lambda: self._tracked_mask(bits(), unknown())

    def predicate_writer(self, index: int, offset: int, count: int) -> Write:
        write, write_shadow = (
            self.inner.predicate_writer(index, offset, count),
            self.shadows.predicate_writer(index, offset, count),
        )

        def store(value: Tracked, mask: Tracked | Mask) -> None:
            unknown = value.shadow.lanes() if value.shadow is not None else self.shadows.nowhere(count)
            plain = mask if mask is True else mask.value
            write(value.value, plain)
            if mask is not True and mask.shadow is not None:
                write_shadow(unknown | mask.shadow.lanes(), mask.value | mask.shadow.lanes())
            else:
                write_shadow(unknown, plain)

        return store

    def predicate_as_integer(self, index: int) -> Read:
        read = self.inner.predicate_as_integer(index)
        unknown = self.shadows.predicate_as_integer(index)
        return lambda: self._tracked(read(), unknown(), 4)

    def predicate_from_integer(self, value: Tracked, count: int) -> Tracked:
        found = self.inner.predicate_from_integer(value.value, count)
        if value.shadow is None:
            return self._defined(found)
        return self._tracked_mask(found, self.inner.predicate_from_integer(value.shadow.bits(4), count))

    def rounding(self) -> Tracked | int | None:
        found = self.inner.rounding()
        return found if found is None or isinstance(found, int) else self._defined(found)

    def denormals(self, data_type: DataType) -> Tracked | Mask | None:
        found = self.inner.denormals(data_type)
        return None if found is None else self._plain_mask(found)

    def thread_mask(self) -> Tracked | Mask:
        return self._plain_mask(self.inner.thread_mask())

    # -- memory --------------------------------------------------------------------------------------------

    def surface_by_handle(self, kind: str, value: Tracked) -> Space:
        self._report(ADDRESS, self._undefined(value), True)
        return self.inner.surface_by_handle(kind, value.value)

    def _access(self, address: Tracked, mask: Tracked | Mask) -> tuple[Lanes, Mask]:
        """Address and mask of an access, as the engine takes them; an undefined one is reported."""
        self._report(ADDRESS, self._undefined(address), mask)
        if mask is True:
            return address.value, True
        if mask.shadow is not None:
            self._report(MASK, mask.shadow.lanes(), True)
        return address.value, mask.value

    def load(
        self, space: Space, address: Tracked, data_type: DataType, mask: Tracked | Mask, instruction: Instruction
    ) -> Tracked:
        return self.load_elements(space, address, data_type, 1, mask, instruction)[0]

    def load_elements(
        self,
        space: Space,
        address: Tracked,
        data_type: DataType,
        count: int,
        mask: Tracked | Mask,
        instruction: Instruction,
    ) -> list[Tracked]:
        at, lanes = self._access(address, mask)
        values = self.inner.load_elements(space, at, data_type, count, lanes, instruction)
        beside = self.shadows.beside(space, at)
        if beside is None:
            return [self._defined(v) for v in values]
        t = unsigned_of(data_type.size)
        bits = self.shadows.load_elements(*beside, t, count, lanes, instruction)
        return [self._tracked(v, b, t.size) for v, b in zip(values, bits, strict=True)]

    def store(
        self, space: Space, address: Tracked, value: Tracked, mask: Tracked | Mask, instruction: Instruction
    ) -> None:
        self.store_elements(space, address, [value], mask, instruction)

    def store_elements(
        self, space: Space, address: Tracked, values: list[Tracked], mask: Tracked | Mask, instruction: Instruction
    ) -> None:
        at, lanes = self._access(address, mask)
        self.inner.store_elements(space, at, [v.value for v in values], lanes, instruction)
        beside = self.shadows.beside(space, at)
        if beside is None:
            return
        size = self._size(values[0].value)
        self.shadows.store_elements(*beside, [self._bits(v, size) for v in values], lanes, instruction)
        undefined = self._undefined(*values)
        if undefined is not None:
            undefined = undefined if lanes is True else undefined & lanes
            self._note_origins(space, at, size * len(values), undefined, instruction)

    def _size(self, value: Lanes) -> int:
        t = self.algebra.type_of(value)
        assert t is not None
        return t.size

    def _note_origins(self, space: Space, address: Lanes, size: int, lanes: Mask, instruction: Instruction) -> None:
        """Note for each dword that lanes touch which instruction it was."""
        a = self.algebra.inner
        first = address & a.const(~3 & types.UQ.maximum, types.UQ)
        origins = self.shadows.origins(space, first)
        if origins is not None:
            where, at = origins
            site = a.const(self.shadows.note_left(lanes), types.UD)
            for k in range(0, size, 4):
                self.shadows.store_elements(where, at + a.const(k, types.UQ), [site], lanes, instruction)

    def atomic(
        self,
        space: Space,
        op: str,
        address: Tracked,
        data_type: DataType,
        sources: list[Tracked],
        mask: Tracked | Mask,
        instruction: Instruction,
    ) -> Tracked:
        at, lanes = self._access(address, mask)
        self._report(ATOMIC, self._undefined(*sources), mask)
        beside, t = self.shadows.beside(space, at), unsigned_of(data_type.size)
        a = self.algebra.inner
        # First, as a fault is about the memory and not about its shadow.
        old = self.inner.atomic(space, op, at, data_type, [s.value for s in sources], lanes, instruction)
        if beside is not None:
            (before,) = self.shadows.load_elements(*beside, t, 1, lanes, instruction)
            if op != "store" and not self.shadows.is_defined(before):
                bad = before != a.const(0, t)
                self.shadows.report(ATOMIC, bad if lanes is True else bad & lanes)
            self.shadows.store_elements(*beside, [a.const(0, t)], lanes, instruction)
        return self._defined(old)

    def mapped(self, space: Space, address: Tracked, size: int, mask: Tracked | Mask) -> Tracked | Mask:
        at, lanes = self._access(address, mask)
        return self._plain_mask(self.inner.mapped(space, at, size, lanes))

    def require_shape(self, found: Tracked, wanted: int, mask: Tracked | Mask, instruction: Instruction) -> None:
        self._report(ADDRESS, self._undefined(found), mask)
        self.inner.require_shape(found.value, wanted, mask if mask is True else mask.value, instruction)

    def require_length(self, needed: Tracked, given: int, mask: Tracked | Mask, instruction: Instruction) -> None:
        self._report(ADDRESS, self._undefined(needed), mask)
        self.inner.require_length(needed.value, given, mask if mask is True else mask.value, instruction)

    def decoded(self, instruction: Instruction, prepare: Callable[[int], Step]) -> Step:
        read, send = self.reader(instruction.args["desc"], 1), self.inner.decoded(instruction, prepare)

        def step() -> object:
            self._report(ADDRESS, self._undefined(read()), True)
            return send()

        return step

    # -- images, which count as defined --------------------------------------------------------------------

    def pixel(self, execution: Execution) -> Callable[[], list[Tracked]]:
        read = self.inner.pixel(execution)
        return lambda: [self._defined(v) for v in read()]

    def image_by_handle(self, kind: str, value: Tracked) -> ImageReference:
        self._report(ADDRESS, self._undefined(value), True)
        return self.inner.image_by_handle(kind, value.value)

    def with_image(
        self,
        image: ImageReference,
        mask: Tracked | Mask,
        instruction: Instruction,
        act: Callable[[ImageView, Tracked | Mask], list[Tracked]],
    ) -> list[Tracked]:
        def inner(view: ImageView, lanes: Mask) -> list[Lanes]:
            return self._flat(act(self._view(view), self._plain_mask(lanes)))

        return self._unflat(self.inner.with_image(image, mask if mask is True else mask.value, instruction, inner))

    def sampler(self, index: int) -> Tracked:
        return self._defined(self.inner.sampler(index))

    def with_sampler(
        self,
        image: ImageReference,
        sampler: Tracked,
        mask: Tracked | Mask,
        instruction: Instruction,
        act: Callable[[ImageView, SamplerState, Tracked | Mask], list[Tracked]],
    ) -> list[Tracked]:
        def inner(view: ImageView, state: SamplerState, lanes: Mask) -> list[Lanes]:
            return self._flat(act(self._view(view), state, self._plain_mask(lanes)))

        self._report(ADDRESS, self._undefined(sampler), mask)
        plain = mask if mask is True else mask.value
        return self._unflat(self.inner.with_sampler(image, sampler.value, plain, instruction, inner))

    def _view(self, view: ImageView) -> ImageView:
        return view._replace(sizes=[self._defined(s) for s in view.sizes])

    def _flat(self, values: list[Tracked]) -> list[Lanes]:
        """Values and their shadows, as lane values of the engine."""
        return [part for v in values for part in (v.value, self._bits(v, self._size(v.value)))]

    def _unflat(self, parts: list[Lanes]) -> list[Tracked]:
        return [self._tracked(v, b, self._size(v)) for v, b in zip(parts[0::2], parts[1::2], strict=True)]
