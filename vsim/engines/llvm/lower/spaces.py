"""Memory spaces of messages: flat memory, local memory, scratch, surfaces by number."""

from __future__ import annotations

from dataclasses import replace

from visakit.language import types
from visakit.language.operands import SURFACE
from visakit.language.program import BINDLESS, SCRATCH, SLM, STATELESS
from vsim.checks.names import GUARD
from vsim.engines.llvm import Unsupported
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.surfaces import table_index
from vsim.engines.llvm.ir.emitter import INVARIANT_LOAD
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.lower.storage import state_key
from vsim.engines.llvm.memory.space import MemorySpace
from vsim.launch.arguments import URB
from vsim.launch.payload import SCRATCH_HANDLE, SURFACE_HANDLE_STEP
from vsim.memory.memory import SLM_ADDRESS_MASK, SLM_STEP


class Spaces:
    """The memory spaces of one function."""

    def __init__(self, state: FunctionState) -> None:
        self.state, self.watched = state, state.dispatch.watches_undefined
        self.guarded, self.counted = GUARD in state.dispatch.checks, state.dispatch.tells_messages

    def flat(self) -> MemorySpace:
        """The 64-bit address space."""
        return MemorySpace(cx.FLAT)

    def _counts(self, number: int) -> str | None:
        """The counts of local memory or of scratch, in launches whose messages are counted."""
        if not self.counted:
            return None
        b = self.state.b
        memories = b.field(b.field("%ctx", cx.MESSAGES, "ptr"), cx.MESSAGES_MEMORIES, "ptr")
        return b.hoist(f"getelementptr i8, ptr {memories}, i64 {number * cx.MEMORY_SIZE}")

    def for_blocks(self, space: MemorySpace) -> MemorySpace:
        """The space as loads at one address see it."""
        lenient = self.state.dispatch.lenient_reads and space.kind in (cx.FLAT, cx.SURFACE)
        return replace(space, zeros_beyond=True) if lenient else space

    def slm(self) -> MemorySpace:
        """Local memory of the work-group."""
        b = self.state.b
        pointer, size = b.field("%worker", cx.WORKER_SLM, "ptr"), b.field("%ctx", cx.SLM_SIZE)
        room, writable = size, None
        if self.state.dispatch.signature.image.lenient_reads:
            room, writable = b.hoist(f"and i64 {b.hoist(f'add i64 {size}, {SLM_STEP - 1}')}, {-SLM_STEP}"), size
        undefined = b.field("%worker", cx.WORKER_SLM_UNDEFINED, "ptr") if self.watched else None
        return MemorySpace(
            cx.LOCAL,
            pointer,
            room,
            writable=writable,
            address_mask=SLM_ADDRESS_MASK,
            undefined=undefined,
            counts=self._counts(cx.LOCAL_MEMORY),
            least=self.state.dispatch.signature.slm_size,
        )

    def scratch(self) -> MemorySpace:
        """Scratch memory of the thread."""
        b = self.state.b
        base, size = b.field("%worker", cx.WORKER_SCRATCH, "ptr"), b.field("%ctx", cx.SCRATCH_SIZE)
        at = b.hoist(f"mul i64 {self.state.thread}, {size}")
        undefined = None
        if self.watched:
            shadow = b.field("%worker", cx.WORKER_SCRATCH_UNDEFINED, "ptr")
            undefined = b.hoist(f"getelementptr i8, ptr {shadow}, i64 {at}")
        pointer, counts = b.hoist(f"getelementptr i8, ptr {base}, i64 {at}"), self._counts(cx.SCRATCH_MEMORY)
        return MemorySpace(cx.SCRATCH, pointer, size, undefined=undefined, counts=counts)

    def surface(self, index: int) -> MemorySpace:
        """The surface that a surface variable names when the instruction executes."""
        if index == SLM:
            return self.slm()
        if index == SCRATCH:
            return self.scratch()
        if index == STATELESS:
            return self.flat()
        number = self.surface_number(index)
        return self._by_handle(number) if index == BINDLESS else self._by_number(number)

    def surface_number(self, index: int) -> Value:
        """What a surface variable holds."""
        return self.state.registers.read(state_key(SURFACE, index), 0, 1, types.UD)

    def surface_by_handle(self, kind: str, value: Value) -> MemorySpace:
        """The surface behind an LSC surface operand."""
        if kind == "ss" or (kind == "surf" and value.constant == SCRATCH_HANDLE):
            return self.scratch()
        if kind == "surf" and value.constant is None and self.state.dispatch.scratch_size:
            return self._image_or_scratch(value)
        return self._by_number(value) if kind == "bti" else self._by_handle(value)

    def _image_or_scratch(self, handle: Value) -> MemorySpace:
        """What a handle means that is known when the instruction executes, as that of functions is."""
        if self.state.dispatch.checks:
            raise Unsupported("scratch memory by a handle that is known at run time, in a launch that checks watch")
        b, image, scratch = self.state.b, self._by_handle(handle), self.scratch()
        own = (handle == b.const(SCRATCH_HANDLE, types.UD)).text

        def either(kind: str, one: str | None, other: str | None) -> str:
            return b.assign(f"select i1 {own}, {kind} {one}, {kind} {other}")

        size = either("i64", scratch.size, image.size)
        writable = either("i64", scratch.size, image.writable) if image.writable else None
        pointer = either("ptr", scratch.pointer, image.pointer)
        counts = either("ptr", scratch.counts, image.counts) if self.counted else None
        return replace(image, pointer=pointer, size=size, writable=writable, counts=counts)

    def _by_handle(self, handle: Value) -> MemorySpace:
        """The memory of a bindless image; of an invalid handle that of the last surface, which few launches have.

        The number is for fault records, where surfaces by handle have another range than those of the binding table.
        """
        b = self.state.b
        number = b.cast(b.udiv(handle, b.const(SURFACE_HANDLE_STEP, types.UD)), types.UD)
        limit = b.const(cx.SURFACE_LIMIT - 1, types.UD)
        exists = (number < limit) & ((handle & b.const(SURFACE_HANDLE_STEP - 1, types.UD)) == b.const(0, types.UD))
        held = b.select(exists, number, limit) + b.const(cx.SURFACE_LIMIT, types.UD)
        table = b.field("%ctx", cx.SURFACES, "ptr")
        shown = b.assign(f"add i64 {b.cast(handle, types.UQ).text}, {cx.BINDLESS_NUMBER}")
        return self._entry(table, b.cast(held, types.UQ).text, shown)

    def _entry(self, table: str, index: str, number: str) -> MemorySpace:
        """The surface of an entry of the table."""
        b = self.state.b
        at = b.assign(f"getelementptr [{cx.SURFACE_ENTRY} x i8], ptr {table}, i64 {index}")
        pointer = b.assign(f"load ptr, ptr {at}, align 8, {INVARIANT_LOAD}")
        size = b.assign(f"load i64, ptr {b.offset(at, 8)}, align 8, {INVARIANT_LOAD}")
        writable = None
        if self.state.dispatch.separates_writes:
            writable = b.assign(f"load i64, ptr {b.offset(at, cx.WRITTEN_SURFACES + 8)}, align 8, {INVARIANT_LOAD}")
        undefined = origins = None
        if self.watched:
            undefined, origins = (
                b.assign(f"load ptr, ptr {b.offset(at, cx.UNDEFINED_SURFACES + n)}, align 8, {INVARIANT_LOAD}")
                for n in (0, 8)
            )
        address = None
        if self.guarded:
            address = b.assign(f"load i64, ptr {b.offset(at, cx.SURFACE_ADDRESSES)}, align 8, {INVARIANT_LOAD}")
        counts = None
        if self.counted:
            counts = b.assign(f"load ptr, ptr {b.offset(at, cx.SURFACE_COUNTS)}, align 8, {INVARIANT_LOAD}")
        return MemorySpace(
            *(cx.SURFACE, pointer, size, number),
            writable=writable,
            undefined=undefined,
            origins=origins,
            address=address,
            counts=counts,
        )

    def urb(self) -> MemorySpace:
        """The buffer that the launch names ``%urb``."""
        return self._by_number(self.state.b.const(URB, types.UD))

    def _by_number(self, number: Value) -> MemorySpace:
        b = self.state.b
        table = b.field("%ctx", cx.SURFACES, "ptr")
        if number.constant is not None:
            known = number.constant
            exists = known < cx.SURFACE_LIMIT or known == URB
            entry = table_index(False, known if exists else cx.SURFACE_LIMIT - 1) * cx.SURFACE_ENTRY
            writable = None
            if self.state.dispatch.separates_writes:
                writable = b.field(table, entry + cx.WRITTEN_SURFACES + 8)
            pointer, size = b.field(table, entry, "ptr"), b.field(table, entry + 8)
            undefined = origins = None
            if self.watched:
                undefined, origins = (b.field(table, entry + cx.UNDEFINED_SURFACES + n, "ptr") for n in (0, 8))
            address = b.field(table, entry + cx.SURFACE_ADDRESSES) if self.guarded else None
            counts = b.field(table, entry + cx.SURFACE_COUNTS, "ptr") if self.counted else None
            return MemorySpace(
                *(cx.SURFACE, pointer, size, str(known)),
                writable=writable,
                undefined=undefined,
                origins=origins,
                address=address,
                counts=counts,
            )
        limit = b.const(cx.SURFACE_LIMIT - 1, types.UD)
        held = b.cast(b.select(number < limit, number, limit), types.UQ).text
        return self._entry(table, held, held)
