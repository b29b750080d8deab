"""Emits one function as a native function: the machine that the semantics drive, and the control flow around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

from visa import types
from visa.operands import (
    SAMPLER,
    SURFACE,
    Address,
    Execution,
    General,
    Immediate,
    Indirect,
    PredicateControl,
    Raw,
    VectorOperand,
)
from visa.program import (
    BINDLESS,
    FIRST_VARIABLE,
    NAMED_SAMPLER,
    PREDEFINED_VARIABLES,
    SCRATCH,
    SLM,
    STATELESS,
    Function,
    Instruction,
)
from visa.types import DataType
from vsim import threads
from vsim.abi import SAMPLER_HANDLE_SHIFT, URB
from vsim.llvm_engine import Unsupported, native, support
from vsim.llvm_engine import context as cx
from vsim.llvm_engine.access import Access, Place, Where
from vsim.llvm_engine.coverage import Coverage
from vsim.llvm_engine.flow import Dominators, Flow, analyse, is_uniform
from vsim.llvm_engine.images import ImageNumber, Images
from vsim.llvm_engine.ir import GROUP, LAUNCH, MASK, THREAD, Affine, BasePointer, Builder, Value, ir_type, literal
from vsim.llvm_engine.registers import BlockUse, Key, Registers
from vsim.llvm_engine.surfaces import place_in_table
from vsim.llvm_engine.texels import Texels
from vsim.memory import SLM_ADDRESS_MASK, SamplerState
from vsim.registers import CR0, layout_of, operand_type
from vsim.semantics import SEMANTICS
from vsim.semantics.algebra import ImageView

_SHARED_SIZES = [max(64, -(-t.size * n // 64) * 64) for _, t, n in PREDEFINED_VARIABLES]
SHARED_OFFSETS = [cx.SHARED_REGISTERS + sum(_SHARED_SIZES[:i]) for i in range(len(_SHARED_SIZES))]
SHARED_SIZE = cx.SHARED_REGISTERS + sum(_SHARED_SIZES)
MAXIMUM_DEPTH = 1000


class Elements(NamedTuple):
    """The elements of a register that the lanes of an operand are."""

    numbers: list[int]
    one: bool
    """All lanes are the same element."""
    consecutive: bool
    last: int


@cache
def elements(count: int, vertical: int | None = None, width: int | None = None, horizontal: int | None = 1) -> Elements:
    """The elements of a region; without one, as many as there are lanes, one after the other."""
    h, v = horizontal or 0, vertical or 0
    return listed(
        [i * h for i in range(count)] if width is None else [(i // width) * v + (i % width) * h for i in range(count)]
    )


def listed(numbers: list[int]) -> Elements:
    """Elements by number."""
    return Elements(numbers, len(set(numbers)) == 1, numbers == list(range(len(numbers))), max(numbers))


@dataclass
class Unit:
    """What the functions of one module share."""

    dispatch: Any
    full: bool
    row: int = 0  # lanes in a row of local ids that is known to count up; 0 if it is not known
    intrinsics: dict[str, str] = field(default_factory=dict)
    helpers: dict[str, str] = field(default_factory=dict)
    wanted: list[Function] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)

    def function(self, function: Function) -> str:
        """The name of a function, which is emitted later."""
        if id(function) not in self.numbers:
            self.numbers[id(function)] = len(self.numbers)
            self.wanted.append(function)
        return f"@body{self.numbers[id(function)]}"


class FunctionLowering:
    """See :class:`vsim.semantics.algebra.Machine`: every call emits code at the current place."""

    def __init__(self, unit: Unit, function: Function) -> None:
        self.unit, self.function, self.dispatch = unit, function, unit.dispatch
        self.grf_size: int = unit.dispatch.grf_size
        self.layout = layout_of(function)
        self.is_kernel = function.is_kernel
        self.flow: Flow = analyse(function, self.is_kernel)
        self.lanes_total: int = unit.dispatch.simd if self.is_kernel else function.simd_size or unit.dispatch.simd
        self.calls = any(i.desc.mnemonic in ("fcall", "ifcall") for i in function.instructions)
        self.shares = self.calls or not self.is_kernel
        self.coroutine = self.is_kernel and unit.dispatch.has_barrier
        self.here = 0
        self.builder = self.algebra = Builder(unit.intrinsics)
        self.steps: dict[int, Callable[[], None]] = {}
        """What emits an instruction, for the second emission, where there is one and preparing it emitted nothing."""
        self.live: dict[int, int] | None = None
        self.extents: dict[Key, int] = {}
        self.unwritten: set[Key] = set()
        """Storage that is read before it is written: it begins with zeros."""
        self.return_sites: dict[int, list[tuple[int, int]]] = {}
        self.coverage = (
            Coverage(unit.dispatch.image.module.all_functions, function, self.flow.starts)
            if unit.dispatch.coverage is not None
            else None
        )

    # -- emission ------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The function as IR: emitted once to learn what blocks use, then again knowing what is live; straight code once."""
        self.straight = len(self.flow.starts) == 1 and not self._successors(0, len(self.function.instructions))
        if not self.straight:
            helpers = dict(self.unit.helpers)
            self._emit()
            self.unit.helpers = helpers
            self.extents = {
                key: self._rounded(key, high)
                for key, high in self.registers.extents.items()
                if not self.registers.always(key)
            }
            self.live = self._liveness()
            self._find_carried(self.live)
        self._emit()
        if self.straight:
            self.unwritten = self.uses[-1].exposed
        return self._assemble()

    def _emit(self) -> None:
        b = self.builder
        b.begin("started" if self.coroutine else "begin" if self.is_kernel else "entry")
        if self.is_kernel and not self.coroutine:
            b.hoists, b.levels = True, {"%ctx": LAUNCH, "%worker": LAUNCH, "%variant": LAUNCH, "%group_x": GROUP}
        self.keys: dict[Key, int] = {}
        self.cold: list[str] = []
        self.faults: list[tuple[tuple[str, ...], str]] = []
        self.registers = Registers(b, self._pointer, self._size)
        self.registers.always = lambda key: (
            key[0] == "V" and (key[1] in self.layout.file_offsets or self._is_shared(key))
        )
        self.access = Access(b, "%ctx", self._fault, self.unit.helpers)
        self.texels = Texels(b, self._fault, self.unit.helpers, self.unit.row)
        self.images = Images(b, self._fault, self.dispatch)
        self.uses: dict[int, BlockUse] = {}
        self.return_sites.clear()
        self._begin_block(-1)
        self._prologue()
        if not self.straight:
            self._end_block(-1)
            b.emit(f"br label %{self._check(0)}")
        for start, end in self._blocks():
            self._block(start, end)
        for region in self.flow.regions:
            self._return_point(region)
        self._record_faults()
        self._epilogue()

    def _liveness(self) -> dict[int, int]:
        """Keys that some later block reads, as bits, for each block (and -1 for the entry)."""
        blocks = [-1, *self.flow.starts]
        self.successors = {-1: {0}} | {start: self._successors(start, end) for start, end in self._blocks()}
        self.bits: dict[Key, int] = {}
        self.writers: dict[Key, set[int]] = {}
        for n, use in self.uses.items():
            for key in use.exposed | use.written:
                self.bits.setdefault(key, 1 << len(self.bits))
            for key in use.written:
                self.writers.setdefault(key, set()).add(n)
        exposed = {n: self._as_bits(use.exposed) for n, use in self.uses.items()}
        killed = {
            n: self._as_bits(key for key, covered in use.covered.items() if covered >= self._size(key))
            for n, use in self.uses.items()
        }
        joins = set(self.flow.joins)
        live_in, live_out = dict.fromkeys(blocks, 0), dict.fromkeys(blocks, 0)
        changed = True
        while changed:
            changed = False
            for n in reversed(blocks):
                out = 0
                for s in self.successors[n]:
                    out |= live_in[s]
                into = exposed[n] | (out & ~killed[n])
                if n in joins and (following := self.flow.next_join(n)) is not None:
                    into |= live_in[following]
                if into != live_in[n] or out != live_out[n]:
                    live_in[n], live_out[n], changed = into, out, True
        self.unwritten = {key for key, bit in self.bits.items() if bit & live_in[0]} - self.uses[-1].written
        return live_out

    def _as_bits(self, keys: Iterable[Key]) -> int:
        found = 0
        for key in keys:
            found |= self.bits[key]
        return found

    def _blocks(self) -> list[tuple[int, int]]:
        """First instruction of each block and of what follows it."""
        return list(pairwise([*self.flow.starts, len(self.function.instructions)]))

    def _find_carried(self, live: dict[int, int]) -> None:
        """Keys that one block alone writes, by that block, and those of them that storage need not hold: only later blocks under its rule read them."""
        dominates = self.dominates = Dominators(self._edges(), -1).dominates
        self.carried = {
            key: next(iter(blocks))
            for key, blocks in self.writers.items()
            if len(blocks) == 1 and key[0] != "P" and not self.registers.always(key)
        }
        readers: dict[Key, list[int]] = {}
        for n, use in self.uses.items():
            for key in use.exposed | {k for k in use.merged if live[n] & self.bits[k]}:
                readers.setdefault(key, []).append(n)
        self.unstored = self._as_bits(
            key
            for key, block in self.carried.items()
            if all(n > block and dominates(block, n) for n in readers.get(key, ()))
        )

    def _edges(self) -> dict[int, set[int]]:
        """Ways between blocks as they are emitted. A join has a node of its own (-2 - start), from which the way leads over its block to the next join,
        if its lanes are all gone."""
        joins = set(self.flow.joins)
        edges = {n: {-2 - s if s in joins else s for s in found} for n, found in self.successors.items()}
        for start in joins:
            following = None if start in self.flow.together else self.flow.next_join(start)
            edges[-2 - start] = {start} if following is None else {start, -2 - following}
        return edges

    def _successors(self, start: int, end: int) -> set[int]:
        last = end - 1
        i = self.function.instructions[last]
        found = {last + 1} if last + 1 < len(self.function.instructions) else set()
        name = i.desc.mnemonic
        if name in ("goto", "jmp", "call"):
            found.add(self.flow.labels[i.args["label"]])
        elif name == "switchjmp":
            found |= {self.flow.labels[n] for n in i.args["labels"]}
        elif name in ("ret", "fret"):
            region = self.flow.region_of(last)
            if region in self.flow.regions:
                found |= {after for sites in self.return_sites.values() for _, after in sites}
        following = self.flow.next_join(last)
        if following is not None:
            found.add(following)
        return {f for f in found if f < len(self.function.instructions)}

    def _assemble(self) -> str:
        """The function's text. A kernel without barriers is the loop over its threads, too."""
        b = self.builder
        head: list[str] = []
        fresh: list[str] = []
        for key, size in self.keys.items():
            if self._is_shared(key) or (key[0] == "V" and key[1] in self.layout.file_offsets):
                continue
            name = self._slot(key)
            head.append(f"  {name} = alloca [{size} x i8], align 64")
            if key in self.unwritten:
                zeros = f"i{8 * size} 0" if size <= 8 else f"<{size} x i8> zeroinitializer"
                fresh.append(f"  store {zeros}, ptr {name}, align 64" if size <= 2048 else self._memset(name, size))
        if self.layout.file_offsets:
            head.append(f"  %file = alloca [{self.layout.file_size} x i8], align 64")
            fresh.append(self._memset("%file", self.layout.file_size))
        if self.shares and self.is_kernel:
            head.append(f"  %shared = alloca [{SHARED_SIZE} x i8], align 64")
            fresh.append(self._memset("%shared", SHARED_SIZE))
        em = ir_type(MASK, self.lanes_total)
        # Masks lie in bytes: as vectors of bits LLVM places them, and what follows, wrongly in the frame of a coroutine.
        head.append("  %em = alloca [8 x i8], align 8")
        head += [f"  %wait{j} = alloca [8 x i8], align 8" for j in self.flow.joins]
        fresh += [f"  store {em} zeroinitializer, ptr %wait{j}, align 8" for j in self.flow.joins]
        for region in self.flow.regions:
            head.append(f"  %held{region} = alloca [8 x i8], align 8\n  %site{region} = alloca i32, align 4")
        if self.coverage:
            declared, cleared = self.coverage.declaration()
            head, fresh = head + declared, fresh + cleared
        if b.scratch_bytes:
            head.append(f"  %scratch = alloca [{b.scratch_bytes} x i8], align 64")
        function = [*b.heads[THREAD], *b.lines, *self.cold]
        if not self.is_kernel:
            signature = f"define internal void {self.unit.function(self.function)}(ptr noalias %ctx, ptr %worker, ptr %shared, {em} %mask) #0 {{"
            return "\n".join([signature, "entry:", *head, *fresh, *function, "}"])
        if self.coroutine:
            signature = (
                f"define ptr @kernel({support.COMMON}, i64 %thread, i64 %group_x, ptr %frame) #0 presplitcoroutine {{"
            )
            start = [f"  %coro = call token @llvm.coro.id(i32 {cx.ARENA_ALIGN}, ptr null, ptr null, ptr null)", "  %frame_size = call i64 @llvm.coro.size.i64()",
                     f"  %frame_size_at = getelementptr i8, ptr %worker, i64 {cx.WORKER_FRAME_SIZE}",
                     "  store i64 %frame_size, ptr %frame_size_at, align 8", "  %frame_align = call i64 @llvm.coro.align.i64()",
                     f"  %frame_align_at = getelementptr i8, ptr %worker, i64 {cx.WORKER_FRAME_ALIGN}", "  store i64 %frame_align, ptr %frame_align_at, align 8",
                     "  %handle = call ptr @llvm.coro.begin(token %coro, ptr %frame)"]  # fmt: skip
            # All threads begin by waiting: so the code in front of the first barrier is in the resumed part alone, not in two functions.
            begin = ["  %begin = call i8 @llvm.coro.suspend(token none, i1 false)",
                     "  switch i8 %begin, label %suspend [ i8 0, label %started i8 1, label %cleanup ]", "started:"]  # fmt: skip
            return "\n".join([signature, "entry:", *start, *head, *fresh, *begin, *function, "}"])
        launch, group, thread = support.one_by_one(self.dispatch.schedule is not None)
        signature = f"define void @group({support.GROUP_ARGUMENTS}) #0 {{"
        return "\n".join(
            [
                signature,
                "entry:",
                *head,
                *b.heads[LAUNCH],
                launch,
                *b.heads[GROUP],
                group,
                *fresh,
                *function,
                thread,
                "}",
            ]
        )

    def _memset(self, pointer: str, size: int) -> str:
        self.builder.declare("llvm.memset.p0.i64", "void", "ptr, i8, i64, i1")
        return f"  call void @llvm.memset.p0.i64(ptr align 64 {pointer}, i8 0, i64 {size}, i1 false)"

    # -- storage -------------------------------------------------------------------------------------------

    def _is_shared(self, key: Key) -> bool:
        return self.shares and key[0] == "V" and key[1] < FIRST_VARIABLE

    def _size(self, key: Key) -> int:
        """Bytes of storage, of predicates lanes: as many as the code touches, when that is known."""
        if (known := self.extents.get(key)) is not None:
            return known
        kind, number = key
        if kind == "P":
            return self._rounded(key, max(self.function.predicates[number - 1].elements, 32))
        if kind == "A":
            return 4 * max(self.function.addresses[number].elements, 1)
        if kind == "S":
            return 4
        return _SHARED_SIZES[number] if number < FIRST_VARIABLE else self.layout.sizes[number]

    def _rounded(self, key: Key, high: int) -> int:
        """A size to which accesses of that extent fit: of predicates a number of lanes that LLVM has integers for."""
        return max(8, 1 << (high - 1).bit_length()) if key[0] == "P" else high

    def _slot(self, key: Key) -> str:
        return f"%r{key[0]}{key[1]}"

    def _pointer(self, key: Key) -> str:
        size = self._size(key) // 8 if key[0] == "P" else self._size(key)
        self.keys[key] = -(-size // 64) * 64 if size > 64 else 1 << (max(size, 1) - 1).bit_length()
        if self._is_shared(key):
            return self.builder.offset("%shared", SHARED_OFFSETS[key[1]])
        if key[0] == "V" and key[1] in self.layout.file_offsets:
            return self.builder.offset("%file", self.layout.file_offsets[key[1]])
        return self._slot(key)

    # -- beginning and end ---------------------------------------------------------------------------------

    def _prologue(self) -> None:
        b = self.builder
        if not self.is_kernel:
            self.together = False
            self.em: Any = Value(b, MASK, self.lanes_total, "%mask")
            b.emit(f"store {self.em.typed}, ptr %em, align 8")
            return
        if self.shares:
            b.emit(f"store i64 %thread, ptr {b.offset('%shared', cx.SHARED_THREAD)}, align 8")
            b.emit(f"store i64 0, ptr {b.offset('%shared', cx.SHARED_DEPTH)}, align 8")
        self.together = True
        self.em = self._everybody()
        self._store_full()
        self._inputs()
        self._identity()

    def _everybody(self) -> Any:
        """The mask of a kernel's lanes that are work-items: True where every thread is full."""
        b, lanes = self.builder, self.lanes_total
        if self.unit.full:
            return True
        b.declare("llvm.umin.i64", "i64", "i64, i64")
        left = b.once(f"sub i64 {b.field('%variant', cx.VARIANT_ITEMS)}, {b.once(f'mul i64 %thread, {lanes}')}")
        gone = b.once(f"sub i64 {lanes}, {b.once(f'call i64 @llvm.umin.i64(i64 {left}, i64 {lanes})')}")
        bits = b.once(f"lshr i64 {(1 << lanes) - 1}, {gone}")
        return Value(
            b,
            MASK,
            lanes,
            b.once(f"bitcast i{lanes} {b.once(f'trunc i64 {bits} to i{lanes}')} to {ir_type(MASK, lanes)}"),
        )

    def _store_full(self) -> None:
        everybody = self._everybody()
        text = self.builder.splat_literal("true", MASK, self.lanes_total) if everybody is True else everybody.text
        self.builder.emit(f"store {ir_type(MASK, self.lanes_total)} {text}, ptr %em, align 8")

    def _inputs(self) -> None:
        """Payload into registers: common values from the payload, local ids from the table of the group's shape."""
        b, dispatch = self.builder, self.dispatch
        payload, ids = b.field("%variant", cx.VARIANT_PAYLOAD, "ptr"), b.field("%variant", cx.VARIANT_IDS, "ptr")
        grf, row = dispatch.grf_size, threads.id_row_bytes(dispatch)
        rows = dispatch.local_id_rows
        mine = b.assign(f"mul i64 %thread, {row * 3}")
        ids = b.assign(f"getelementptr i8, ptr {ids}, i64 {mine}")
        for var, offset, size in threads.input_places(dispatch):
            root, start = self.layout.root(var)
            count, element = (
                (size // 4, types.UD) if size % 4 == 0 else (size // 2, types.UW) if size % 2 == 0 else (size, types.UB)
            )
            if size == 8:
                count, element = 1, types.UQ
            if size in (16, 32, 64) and grf <= offset < grf + rows * row:
                count, element = size // 2, types.UW
            if grf <= offset < grf + rows * row:
                if self.unit.row:
                    axis, byte = divmod(offset - grf, row)
                    first = b.value(
                        types.UW, 1, f"load i16, ptr {b.offset(ids, axis * row)}, align 2, !invariant.load !0"
                    )
                    value = self._local_ids(axis, byte // 2, count, first)
                else:
                    value = b.load(element, count, b.offset(ids, offset - grf), 16)
                self.registers.write(("V", root), start, count, value)
                continue
            for k in range(count):
                at = offset + k * element.size
                words = [dispatch.handles.get(at + n) for n in range(0, element.size, 4)]
                if None not in words:
                    value = b.const(sum(w << 32 * n for n, w in enumerate(words) if w), element)
                else:
                    value = b.argument(element, payload, at)
                    value.base_pointer = (
                        BasePointer(payload, at) if element is types.UQ and at in dispatch.pointers else None
                    )
                self.registers.write(("V", root), start + k * element.size, 1, value)
        for kind, index, number in threads.state_defaults(dispatch):
            self.registers.write(("S", kind << 16 | index), 0, 1, b.const(number, types.UD))
        for kind, index, offset in threads.state_inputs(dispatch):
            value = b.load(types.UD, 1, b.offset(payload, offset), 1)
            self.registers.write(("S", (1 if kind == 1 else 0) << 16 | index), 0, 1, value)

    def _local_ids(self, axis: int, start: int, count: int, first: Value) -> Value:
        """Local ids of lanes from one on; lane 0 has the first. Threads are whole rows, or part of one row, of their group: along a row x counts up,
        from row to row y does."""
        b, row = self.builder, min(self.unit.row, count)
        jump = b.const(axis, first.type) if row < count else None
        if axis == 0:
            lanes = [i % self.unit.row for i in range(start, start + count)]
        elif axis == 1:
            lanes = [i // self.unit.row for i in range(start, start + count)]
        else:
            return first
        if not any(lanes):
            return first
        text = "<" + ", ".join(f"i16 {i}" for i in lanes) + ">"
        value = b.broadcast(first, count) + Value(b, first.type, count, text)
        value.affine = Affine(first, 1 if axis == 0 else 0, row, jump, tiny=True, offset=lanes[0])
        return value

    def _identity(self) -> None:
        """%r0 and the other registers that say which thread this is, where the function reads them."""
        b, number = self.builder, partial(self.builder.const, data_type=types.UQ)
        thread, group = Value(b, types.UQ, 1, "%thread"), [self._group_id(axis) for axis in range(3)]
        used = {self.layout.root(v)[0] for v in self._variables_used()}

        def word(register: int, index: int, value: Value, data_type: DataType = types.UD) -> None:
            if register in used or self.shares:
                self.registers.write(("V", register), index * data_type.size, 1, b.cast(value, data_type, later=True))

        slot = Value(b, types.UQ, 1, b.field("%worker", cx.WORKER_SLOT)).later("add", thread)
        numbers = {
            1: group[0],
            2: thread.later("and", number(255)),
            5: slot.later("and", number(1023)),
            6: group[1],
            7: group[2],
        }
        for n in range(16):
            word(threads.R0, n, numbers.get(n, number(0)))
        sr0, msg0 = self._slot_registers(slot)
        word(threads.HW_ID, 0, slot)
        word(threads.SR0, 0, sr0)
        word(threads.MSG0, 0, msg0)
        for axis in range(3):
            word(threads.GROUP_ID + axis, 0, group[axis])
        if {threads.THREAD_X, threads.THREAD_X + 1} & used or self.shares:
            self._thread_numbers(word)

    def _group_id(self, axis: int) -> Value:
        b = self.builder
        return (
            b.argument(types.UQ, "%worker", cx.WORKER_GROUP + 8 * axis) if axis else Value(b, types.UQ, 1, "%group_x")
        )

    def _slot_registers(self, slot: Value) -> tuple[Value, Value]:
        """%sr0 and %msg0: bits of a thread's slot."""
        platform, b = self.dispatch.image.platform, self.builder

        def bits(shift: int, mask: int, to: int = 0) -> Value:
            found = slot.later("lshr", b.const(shift, types.UQ))
            return (found.later("and", b.const(mask, types.UQ)) if mask else found).later("shl", b.const(to, types.UQ))

        few = platform in ("dg2", "pvc", "xehp")
        joined = bits(0, 7).later("or", bits(3, 3 if few else 7, 4))
        if not few:
            return joined, bits(6, 0)
        return joined.later("or", bits(5, 0, 7 if platform == "dg2" else 8)), b.const(0, types.UQ)

    def _thread_numbers(self, word: Callable[..., None]) -> None:
        """%thread_x and %thread_y of hand-written kernels: the work-item's x in units of threads, and its y."""
        b = self.builder
        size = b.assign(f"load i64, ptr {b.offset('%ctx', cx.LOCAL_SIZE)}, align 8")
        ysize = b.assign(f"load i64, ptr {b.offset('%ctx', cx.LOCAL_SIZE + 8)}, align 8")
        linear = b.assign(f"mul i64 %thread, {self.dispatch.simd}")
        x = b.assign(f"urem i64 {linear}, {size}")
        y = b.assign(f"urem i64 {b.assign(f'udiv i64 {linear}, {size}')}, {ysize}")
        for axis, (local, per) in enumerate(((x, size), (y, ysize))):
            first = b.assign(f"load i64, ptr {b.offset('%ctx', cx.OFFSETS + 8 * axis)}, align 8")
            at = b.assign(f"add i64 {b.assign(f'mul i64 {self._group_id(axis).text}, {per}')}, {local}")
            at = b.assign(f"add i64 {at}, {first}")
            if axis == 0:
                at = b.assign(f"udiv i64 {at}, {self.dispatch.simd}")
            word(threads.THREAD_X + axis, 0, Value(b, types.UQ, 1, at), types.UW)

    def _variables_used(self) -> set[int]:
        from visa.cisa.references import VARIABLE, references

        return {index for i in self.function.instructions for what, index in references(i) if what == VARIABLE}

    def _epilogue(self) -> None:
        b = self.builder
        b.label("exit")
        if not self.coroutine:
            self._leave(failed=False)
            return
        if self.coverage:
            self.coverage.publish(b)
        b.emit("%last = call i8 @llvm.coro.suspend(token none, i1 true)")
        b.emit("switch i8 %last, label %suspend [ i8 0, label %never i8 1, label %cleanup ]")
        b.label("never")
        b.emit("unreachable")
        b.label("cleanup")
        b.emit("%freed = call ptr @llvm.coro.free(token %coro, ptr %handle)")
        b.emit("br label %suspend")
        b.label("suspend")
        b.emit(native.coroutine_end()[1])
        b.emit("ret ptr %handle")

    def _leave(self, failed: bool) -> None:
        """The end of a function that is no coroutine, or of a thread of a kernel."""
        if self.coverage:
            self.coverage.publish(self.builder)
        self.builder.emit("br label %next" if self.is_kernel and not failed else "ret void")

    # -- faults --------------------------------------------------------------------------------------------

    def _fault(self, condition: str, kind: int, number: str, size: str, where: Where) -> None:
        """Leave the function if the condition holds, with a record of what was wrong."""
        b = self.builder
        bad, good, before, way = b.new_label("fault"), b.new_label("ok"), b.mark(), b.lines
        b.emit(f"br i1 {condition}, label %{bad}, label %{good}, !prof !1")
        b.lines = self.cold
        b.label(bad, before)
        lane, step, count, address = where()
        self.faults.append(
            ((str(kind), str(self.here), lane, str(step), str(count), address, number, size), b.end_block("faults"))
        )
        b.lines = way
        b.label(good, before)

    def _record_faults(self) -> None:
        """All faults of the function end here: what was wrong and who did it goes into the context."""
        if not self.faults:
            return
        b = self.builder
        b.label("faults")
        ends = [end for _, end in self.faults]
        record = [
            b.phi([Value(b, types.UQ, 1, text) for text in column], ends).typed
            for column in zip(*(values for values, _ in self.faults), strict=True)
        ]
        record.insert(1, f"i64 {self.unit.numbers[id(self.function)]}")
        b.emit(f"call void @record_fault(ptr %ctx, ptr %worker, {', '.join(record)}, i64 {self._thread()})")
        if self.coroutine:
            b.emit("br label %exit")
        else:
            self._leave(failed=True)

    # -- blocks --------------------------------------------------------------------------------------------

    def _check(self, place: int) -> str:
        """The label by which a block is entered: a join first gathers the lanes that wait there."""
        if place >= len(self.function.instructions):
            return "exit"
        return f"check{place}" if place in self.flow.joins else f"block{place}"

    def _next(self, place: int) -> str:
        """Where a thread goes on none of whose lanes run any more: the next waiting place, or the way out."""
        following = self.flow.next_join(place)
        if following is not None:
            return self._check(following)
        region = self.flow.region_of(place)
        return f"return{region}" if region in self.flow.regions else "exit"

    def _block(self, start: int, end: int) -> None:
        b, em = self.builder, ir_type(MASK, self.lanes_total)
        if start in self.flow.joins:
            b.label(f"check{start}")
            if start in self.flow.together:
                b.emit(f"store {em} zeroinitializer, ptr %wait{start}, align 8")
                self._store_full()
                b.emit(f"br label %block{start}")
            else:
                running = Value(b, MASK, self.lanes_total, b.assign(f"load {em}, ptr %em, align 8"))
                waiting = Value(b, MASK, self.lanes_total, b.assign(f"load {em}, ptr %wait{start}, align 8"))
                both = running | waiting
                b.emit(f"store {em} zeroinitializer, ptr %wait{start}, align 8")
                b.emit(f"store {both.typed}, ptr %em, align 8")
                b.emit(f"br i1 {b.any(both)}, label %block{start}, label %{self._next(start)}")
        if not self.straight:
            b.label(f"block{start}")
            self._begin_block(start)
        self.block = start
        self.together = start in self.flow.together
        self.em = (
            self._everybody()
            if self.together
            else Value(b, MASK, self.lanes_total, b.assign(f"load {em}, ptr %em, align 8"))
        )
        if self.coverage:
            self.coverage.mark(b, start)
        self.ended = False
        self.running_lanes: dict[tuple[int, int], Value] = {}
        again = self.live is None and not self.straight
        for n in range(start, end):
            self.here = n
            i = self.function.instructions[n]
            self.execution = i.args.get("exec")
            step = self.steps.pop(n, None)
            if step is None:
                b.assigned = False
                step = SEMANTICS[i.desc.semantics](self, i)
                if again and not b.assigned:
                    self.steps[n] = step
            step()
            if self.ended:
                break
        if not self.ended:
            self._end_block(start)
            b.emit(f"br label %{self._check(end)}")

    def _begin_block(self, block: int) -> None:
        if self.straight:
            self.uses[block] = self.registers.begin_block(lambda key: False)
        elif self.live is None:
            self.uses[block] = self.registers.begin_block()
        else:
            live, bits = self.live[block] & ~self.unstored, self.bits
            self.uses[block] = self.registers.begin_block(
                lambda key: bool(live & bits.get(key, 0)), lambda left: self.dominates(left, block)
            )

    def _end_block(self, block: int) -> None:
        if self.live is not None:
            live, bits = self.live[block], self.bits
            self.registers.carry(block, lambda key: self.carried.get(key) == block and bool(live & bits.get(key, 0)))
        self.registers.end_block()

    def _leave_block(self) -> None:
        self._end_block(self.block)
        self.ended = True

    # -- flow ----------------------------------------------------------------------------------------------

    def _full(self) -> Value:
        b = self.builder
        if self.em is True:
            return Value(b, MASK, self.lanes_total, b.splat_literal("true", MASK, self.lanes_total))
        found: Value = self.em
        return found

    def _taken(self, lanes: Callable[[], Any], instruction: Instruction) -> Any:
        """The running lanes for which a mask of an instruction holds: a mask over all lanes, or True for all that run."""
        execution = instruction.args["exec"]
        if instruction.args.get("pred") is None and (execution.size == 1 or execution.size >= self.lanes_total):
            return True
        value = lanes()
        if value is True:
            return True
        b = self.builder
        offset, size = (execution.offset, execution.size) if execution.size > 1 else (0, self.lanes_total)
        value = b.broadcast(value, min(size, self.lanes_total)) if value.lanes == 1 else value
        if value.lanes > self.lanes_total:
            value = b.shuffle(value, list(range(self.lanes_total)))
        if value.lanes < self.lanes_total:
            zero = Value(b, MASK, value.lanes, "zeroinitializer")
            picks = [i - offset if offset <= i < offset + value.lanes else value.lanes for i in range(self.lanes_total)]
            text = ", ".join(f"i32 {p}" for p in picks)
            value = b.value(
                MASK,
                self.lanes_total,
                f"shufflevector {value.typed}, {zero.typed}, <{self.lanes_total} x i32> <{text}>",
            )
        return value & self._full()

    def _wait(self, place: int, lanes: Value) -> None:
        b = self.builder
        old = Value(b, MASK, self.lanes_total, b.assign(f"load {lanes.ir}, ptr %wait{place}, align 8"))
        b.emit(f"store {(old | lanes).typed}, ptr %wait{place}, align 8")

    def _local_joins_only(self, place: int, target: int) -> bool:
        """Whether no lanes can wait between a forward jump and its target."""
        following = self.flow.next_join(place)
        return self.together or following is None or following >= target

    def goto(self, label: int, lanes: Callable[[], Any]) -> Callable[[], None]:
        i = self.function.instructions[self.here]
        place, target = self.here, self.flow.labels[label]

        def step() -> None:
            b = self.builder
            if is_uniform(self.function, i, self.flow.uniform_predicates) and i.args.get("pred") is not None:
                condition = self._first_bit(i.args["pred"])
                self._uniform_jump(place, target, condition)
                return
            taken = self._taken(lanes, i)
            if taken is True:
                self._uniform_jump(place, target, None)
                return
            em = ir_type(MASK, self.lanes_total)
            rest = self._full() & ~taken
            if target > place:
                self._wait(target, taken)
                b.emit(f"store {rest.typed}, ptr %em, align 8")
                some = b.any(rest)
                self._leave_block()
                b.emit(f"br i1 {some}, label %{self._check(place + 1)}, label %{self._next(place)}")
            else:
                self._wait(place + 1, rest)
                b.emit(f"store {em} {taken.text}, ptr %em, align 8")
                some = b.any(taken)
                self._leave_block()
                self._poll()
                b.emit(f"br i1 {some}, label %{self._check(target)}, label %{self._check(place + 1)}")

        return step

    def _poll(self) -> None:
        """At a loop's end: leave if the run is to stop."""
        b = self.builder
        pointer = b.offset("%ctx", cx.STOP)
        stop = b.assign(f"load volatile i64, ptr {pointer}, align 8")
        asked = b.assign(f"icmp ne i64 {stop}, 0")
        go_on = b.new_label("again")
        b.emit(f"br i1 {asked}, label %exit, label %{go_on}, !prof !1")
        b.label(go_on)

    def _first_bit(self, predicate: PredicateControl) -> str:
        """An i1 for a predicate that is the same in all lanes, or of which only the first counts."""
        b = self.builder
        size = self.lanes_total if predicate.mode else 1
        bits = self.predicate_bits(predicate, Execution(size, 0))()
        return bits.text if bits.lanes == 1 else b.assign(f"extractelement {bits.typed}, i64 0")

    def _uniform_jump(self, place: int, target: int, condition: str | None) -> None:
        """All running lanes go to the target if the condition holds."""
        b = self.builder
        direct = target <= place or self._local_joins_only(place, target)
        full = self._full()
        self._leave_block()
        if target <= place:
            self._poll()
        if direct:
            to = self._check(target)
            b.emit(
                f"br label %{to}"
                if condition is None
                else f"br i1 {condition}, label %{to}, label %{self._check(place + 1)}"
            )
            return
        if condition is not None:
            leaving = b.new_label("leaving")
            b.emit(f"br i1 {condition}, label %{leaving}, label %{self._check(place + 1)}")
            b.label(leaving)
        self._wait(target, full)
        b.emit(f"store {full.ir} zeroinitializer, ptr %em, align 8")
        b.emit(f"br label %{self._next(place)}")

    def jump(self, label: int, taken: Callable[[], Any] | None) -> Callable[[], None]:
        place, target = self.here, self.flow.labels[label]
        pred = self.function.instructions[self.here].args.get("pred")

        def step() -> None:
            self._uniform_jump(place, target, None if pred is None else self._first_bit(pred))

        return step

    def switch(self, labels: tuple[int, ...], index: Callable[[], Value]) -> Callable[[], None]:
        place = self.here

        def step() -> None:
            b = self.builder
            value = index()
            full = self._full()
            direct = all(self._local_joins_only(place, self.flow.labels[n]) for n in labels)
            self._leave_block()
            arms = []
            blocks: list[tuple[str, int]] = []
            for n, label in enumerate(labels):
                target = self.flow.labels[label]
                name = b.new_label("case")
                arms.append(f"i32 {n}, label %{name}")
                blocks.append((name, target))
            b.emit(f"switch i32 {value.text}, label %{self._check(place + 1)} [ {' '.join(arms)} ]")
            for name, target in blocks:
                b.label(name)
                if target > place and not direct:
                    self._wait(target, full)
                    b.emit(f"store {full.ir} zeroinitializer, ptr %em, align 8")
                    b.emit(f"br label %{self._next(place)}")
                    continue
                if target <= place:
                    self._poll()
                b.emit(f"br label %{self._check(target)}")

        return step

    def leave(self, lanes: Callable[[], Any]) -> Callable[[], None]:
        i = self.function.instructions[self.here]
        place = self.here

        def step() -> None:
            b = self.builder
            taken = self._taken(lanes, i)
            if taken is True:
                b.emit(f"store {ir_type(MASK, self.lanes_total)} zeroinitializer, ptr %em, align 8")
                self._leave_block()
                b.emit(f"br label %{self._next(place)}")
                return
            rest = self._full() & ~taken
            b.emit(f"store {rest.typed}, ptr %em, align 8")
            some = b.any(rest)
            self._leave_block()
            b.emit(f"br i1 {some}, label %{self._check(place + 1)}, label %{self._next(place)}")

        return step

    def call(self, label: int, lanes: Callable[[], Any], instruction: Instruction) -> Callable[[], None]:
        place, target = self.here, self.flow.labels[label]

        def step() -> None:
            b = self.builder
            taken = self._taken(lanes, instruction)
            full = self._full()
            sites = self.return_sites.setdefault(target, [])
            number = len(sites)
            sites.append((number, place + 1))
            b.emit(f"store {full.typed}, ptr %held{target}, align 8")
            b.emit(f"store i32 {number}, ptr %site{target}, align 4")
            some = "true"
            if taken is not True:
                b.emit(f"store {taken.typed}, ptr %em, align 8")
                some = b.any(taken)
            else:
                b.emit(f"store {full.typed}, ptr %em, align 8")
            self._leave_block()
            b.emit(f"br i1 {some}, label %{self._check(target)}, label %return{target}")

        return step

    def _return_point(self, region: int) -> None:
        b = self.builder
        b.label(f"return{region}")
        held = Value(
            b, MASK, self.lanes_total, b.assign(f"load {ir_type(MASK, self.lanes_total)}, ptr %held{region}, align 8")
        )
        b.emit(f"store {held.typed}, ptr %em, align 8")
        site = b.assign(f"load i32, ptr %site{region}, align 4")
        sites = self.return_sites.get(region, [])
        arms = " ".join(f"i32 {n}, label %{self._check(after)}" for n, after in sites)
        b.emit(f"switch i32 {site}, label %exit [ {arms} ]")

    # -- calls ---------------------------------------------------------------------------------------------

    def call_function(self, name: int, lanes: Callable[[], Any], instruction: Instruction) -> Callable[[], None]:
        target = self.dispatch.image.callee(self.function, name)

        def step() -> None:
            taken = self._taken(lanes, instruction)
            if target is None:
                raise Unsupported(f"a call of the undefined function '{self.function.strings[name]}'")
            self._before_call()
            self._call(self.unit.function(target), self._full() if taken is True else taken)
            self._after_call()

        return step

    def _before_call(self) -> None:
        b = self.builder
        self.registers.flush(lambda key: self._is_shared(key), forget=True)
        pointer = b.offset("%shared", cx.SHARED_DEPTH)
        depth = b.assign(f"load i64, ptr {pointer}, align 8")
        deeper = b.assign(f"add i64 {depth}, 1")
        b.emit(f"store i64 {deeper}, ptr {pointer}, align 8")
        self._fault(
            b.assign(f"icmp ugt i64 {deeper}, {MAXIMUM_DEPTH}"), cx.DEPTH, "0", "0", lambda: ("0", 0, 0, deeper)
        )
        self.saved_depth = depth

    def _after_call(self) -> None:
        b = self.builder
        b.emit(f"store i64 {self.saved_depth}, ptr {b.offset('%shared', cx.SHARED_DEPTH)}, align 8")
        fault = b.assign(f"load i64, ptr {b.offset('%ctx', cx.FAULT)}, align 8")
        stop = b.assign(f"load volatile i64, ptr {b.offset('%ctx', cx.STOP)}, align 8")
        either = b.assign(f"or i64 {fault}, {stop}")
        failed = b.assign(f"icmp ne i64 {either}, 0")
        good = b.new_label("returned")
        b.emit(f"br i1 {failed}, label %exit, label %{good}, !prof !1")
        b.label(good)

    def _call(self, name: str, mask: Value) -> None:
        b = self.builder
        some, called, behind = b.any(mask), b.new_label("call"), b.new_label("called")
        b.emit(f"br i1 {some}, label %{called}, label %{behind}")
        b.label(called)
        b.emit(f"call void {name}(ptr %ctx, ptr %worker, ptr %shared, {mask.typed})")
        b.emit(f"br label %{behind}")
        b.label(behind)

    def call_address(
        self, address: Callable[[], Value], lanes: Callable[[], Any], instruction: Instruction
    ) -> Callable[[], None]:
        def step() -> None:
            b, image = self.builder, self.dispatch.image
            value = address()
            taken = self._taken(lanes, instruction)
            mask = self._full() if taken is True else taken
            self._before_call()
            base = len(image.module.kernels)
            functions = image.module.functions
            done, wild = b.new_label("done"), b.new_label("wild")
            names = [
                (b.new_label("target"), image.function_address(base + n), f)
                for n, f in enumerate(functions)
                if f.simd_size == self.lanes_total
            ]
            arms = " ".join(f"i32 {a}, label %{label}" for label, a, _ in names)
            b.emit(f"switch i32 {value.text}, label %{wild} [ {arms} ]")
            for label, _, f in names:
                b.label(label)
                self._call(self.unit.function(f), mask)
                b.emit(f"br label %{done}")
            b.label(wild)
            self._fault("true", cx.CALL, "0", "0", lambda: ("0", 0, 0, b.assign(f"zext i32 {value.text} to i64")))
            b.emit(f"br label %{done}")
            b.label(done)
            self._after_call()

        return step

    def barrier(self, signal: bool, wait: bool, instruction: Instruction) -> Callable[[], None]:
        def step() -> None:
            if not wait:
                return
            if not self.coroutine:
                raise Unsupported("a barrier in a function")
            b = self.builder
            state = b.assign("call i8 @llvm.coro.suspend(token none, i1 false)")
            go_on = b.new_label("resumed")
            b.emit(f"switch i8 {state}, label %suspend [ i8 0, label %{go_on} i8 1, label %cleanup ]")
            b.label(go_on)

        return step

    # -- operands ------------------------------------------------------------------------------------------

    def type_of(self, op: VectorOperand) -> DataType:
        return operand_type(self.function, op)

    def _region(self, op: General, count: int) -> tuple[Key, int, Elements, DataType]:
        """Storage, byte of the first element and elements of a region."""
        data_type = self.function.variable_type(op.var)
        index = elements(count, *op.region)
        root, start = self.layout.root(op.var)
        low = start + op.row * self.grf_size + op.col * data_type.size
        if root >= FIRST_VARIABLE and low + (index.last + 1) * data_type.size > self.layout.sizes[root]:
            raise Unsupported("a region outside its variable")
        return ("V", root), low, index, data_type

    def reader(self, op: VectorOperand, count: int, by_lane: bool = True) -> Callable[[], Value]:
        b = self.builder
        if isinstance(op, General):
            key, low, index, data_type = self._region(op, count)
            register_type = types.UW if data_type is types.BF else data_type
            if key == ("V", 0):
                return lambda: b.const(0, register_type)
            return lambda: self._read(key, low, index, register_type, by_lane)
        if isinstance(op, Immediate):
            return lambda: self._immediate(op, count)
        if isinstance(op, Address):
            width = max(1, min(op.width, count))
            return lambda: self.registers.read(("A", op.var), 4 * op.offset, width, types.UD)
        if isinstance(op, Indirect):
            return lambda: self._read_indirect(op, count)
        raise Unsupported(f"an operand of class {type(op).__name__}")

    def _window(self, key: Key, low: int, index: Elements, data_type: DataType) -> int:
        """How many elements to touch for those of ``index``: a power of two where the variable is long enough."""
        span = index.last + 1
        wide = 1 << (span - 1).bit_length()
        return wide if low + wide * data_type.size <= self._size(key) else span

    def _read(self, key: Key, low: int, index: Elements, data_type: DataType, by_lane: bool = False) -> Value:
        b, count = self.builder, len(index.numbers)
        if index.one:
            return self.registers.read(key, low + index.last * data_type.size, 1, data_type)
        if index.consecutive:
            return self.registers.read(key, low, count, data_type, self._reading(count) if by_lane else None)
        wide = self._window(key, low, index, data_type)
        whole = b.broadcast(self.registers.read(key, low, wide, data_type), wide)
        return b.shuffle(whole, index.numbers)

    def _immediate(self, op: Immediate, count: int) -> Value:
        b, t, bits = self.builder, op.type, op.bits
        if t in (types.V, types.UV):
            nibbles = [bits >> (4 * i) & 15 for i in range(8)]
            values = [n - 16 if t is types.V and n > 7 else n for n in nibbles]
            own = types.W if t is types.V else types.UW
            if count == 1:
                return b.const(values[0], own)
            found = Value(b, own, count, "<" + ", ".join(f"i16 {values[i % 8]}" for i in range(count)) + ">")
            row, step = min(count, 8), values[1] - values[0]
            if values[:row] == list(range(values[0], values[0] + row * step, step or 1)):
                found.affine = Affine(
                    b.const(values[0], own), step, row, None if row == count else b.const(0, own), min(values) >= 0
                )
            return found
        if t is types.VF:
            codes = [bits >> (8 * i) & 255 for i in range(4)]
            reals = [
                (-1.0 if c & 128 else 1.0) * (0.0 if not c & 127 else 2.0 ** ((c >> 4 & 7) - 3) * (1 + (c & 15) / 16))
                for c in codes
            ]
            if count == 1:
                return b.const(reals[0], types.F)
            return Value(
                b,
                types.F,
                count,
                "<" + ", ".join(f"float {literal(reals[i % 4], types.F)}" for i in range(count)) + ">",
            )
        own = types.UW if t is types.BF else t
        value = bits & ((1 << 8 * t.size) - 1)
        if t.is_float and t is not types.BF:
            as_integer = {2: types.UW, 4: types.UD, 8: types.UQ}[t.size]
            number = literal(value, as_integer)
            return Value(b, t, 1, f"bitcast (i{8 * t.size} {number} to {ir_type(t, 1)})")
        return b.const(value, own)

    def _indirect_offsets(self, op: Indirect, count: int, size: int) -> tuple[Value, Value]:
        """Address elements (one or one for each lane) and byte offsets in the register file, both UQ."""
        b = self.builder
        v, w, h = op.region
        if v is None and w is not None:
            chosen, inner = (
                [op.element + i // w for i in range(count)],
                [op.offset + (i % w) * (h or 0) * size for i in range(count)],
            )
        elif v is None:
            chosen, inner = [op.element] * count, [op.offset + i * (h or 0) * size for i in range(count)]
        else:
            chosen = [op.element] * count
            inner = [op.offset + ((i // (w or 1)) * v + (i % (w or 1)) * (h or 0)) * size for i in range(count)]
        base = self._read(("A", op.var), 0, listed(chosen), types.UD)
        if len(set(inner)) == 1:
            offsets = b.const(inner[0], types.UD)
        else:
            offsets = Value(b, types.UD, count, "<" + ", ".join(f"i32 {o}" for o in inner) + ">")
        return base, base + offsets

    def _read_indirect(self, op: Indirect, count: int) -> Value:
        b = self.builder
        own = types.UW if op.type is types.BF else op.type
        self.registers.flush(lambda key: key[0] == "V" and key[1] in self.layout.file_offsets, forget=False)
        _, place = self._indirect_offsets(op, count, own.size)
        limit = b.const(max(self.layout.file_size - own.size, 0), types.UD)
        place = b.select(place < limit, place, limit)
        if place.lanes == 1:
            wide = b.cast(place, types.UQ)
            pointer = b.assign(f"getelementptr i8, ptr %file, i64 {wide.text}")
            return b.load(own, 1, pointer, 1)
        wide = b.cast(place, types.UQ)
        pointers = b.assign(f"getelementptr i8, ptr %file, {wide.typed}")
        parts = []
        for lane in range(count):
            pointer = b.assign(f"extractelement <{count} x ptr> {pointers}, i64 {lane}")
            parts.append(b.load(own, 1, pointer, 1))
        vector = ir_type(own, count)
        text = "poison"
        for lane, part in enumerate(parts):
            text = b.assign(f"insertelement {vector} {text}, {part.typed}, i64 {lane}")
        return Value(b, own, count, text)

    def writer(self, op: VectorOperand, count: int) -> Callable[[Value, Any], None]:
        if isinstance(op, General):
            key, low, index, _ = self._region(op, count)
            if key == ("V", 0):
                return lambda value, mask: None
            return lambda value, mask: self._write(key, low, index, value, mask)
        if isinstance(op, Address):
            return lambda value, mask: self._write(
                ("A", op.var), 4 * op.offset, elements(count), self.builder.cast(value, types.UD), mask
            )
        if isinstance(op, Indirect):
            return lambda value, mask: self._write_indirect(op, count, value, mask)
        raise Unsupported(f"an operand of class {type(op).__name__}")

    def _write(self, key: Key, low: int, index: Elements, value: Value, mask: Any) -> None:
        b, numbers, t = self.builder, index.numbers, value.type
        count = len(numbers)
        if value.lanes > count:
            value = b.shuffle(value, list(range(count)))
        if mask is not True and mask.lanes > count:
            mask = b.shuffle(mask, list(range(count)))
        if index.consecutive:
            if mask is True:
                self.registers.write(key, low, count, value)
            else:
                self.registers.merge(key, low, count, value, mask)
            return
        wide = self._window(key, low, index, t)
        old = b.broadcast(self.registers.read(key, low, wide, t), wide)
        value = b.broadcast(value, count)
        if mask is not True:
            value = b.select(mask, value, b.shuffle(old, numbers))
        spread = (
            b.shuffle(value, [numbers.index(i) if i in numbers else 0 for i in range(wide)]) if wide != count else value
        )
        picks = ", ".join(f"i32 {wide + i if i in numbers else i}" for i in range(wide))
        merged = b.value(t, wide, f"shufflevector {old.typed}, {spread.typed}, <{wide} x i32> <{picks}>")
        self.registers.write(key, low, wide, merged)

    def _write_indirect(self, op: Indirect, count: int, value: Value, mask: Any) -> None:
        b, size = self.builder, value.type.size
        self.registers.flush(lambda key: key[0] == "V" and key[1] in self.layout.file_offsets, forget=True)
        _, place = self._indirect_offsets(op, count, size)
        place = b.broadcast(place, count)
        region = Place(cx.REGISTER, "%file", str(self.layout.file_size))
        wide = b.cast(place, types.UQ)
        self.access.store(region, wide, [b.broadcast(value, count)], mask)
        self.registers.flush(lambda key: key[0] == "V" and key[1] in self.layout.file_offsets, forget=True)

    def _raw_place(self, op: Raw, offset: int, size: int) -> tuple[Key, int]:
        """Storage and first byte of a part of a message."""
        root, start = self.layout.root(op.var)
        low = start + op.offset + offset
        if root >= FIRST_VARIABLE and low + size > self.layout.sizes[root]:
            raise Unsupported("a message outside its variable")
        return ("V", root), low

    def raw_reader(
        self, op: Raw, offset: int, count: int, data_type: DataType, by_lane: bool = False
    ) -> Callable[[], Value]:
        if op.var == 0:
            return lambda: self.builder.const(0, data_type)
        key, low = self._raw_place(op, offset, count * data_type.size)
        return lambda: self.registers.read(key, low, count, data_type, self._reading(count) if by_lane else None)

    def raw_writer(self, op: Raw, offset: int, count: int, data_type: DataType) -> Callable[[Value, Any], None]:
        if op.var == 0:
            return lambda value, mask: None
        key, low = self._raw_place(op, offset, count * data_type.size)
        return lambda value, mask: self._write(key, low, elements(count), value, mask)

    def address_of(self, op: General) -> Callable[[], Value]:
        root, start = self.layout.root(op.var)
        if root not in self.layout.file_offsets:
            raise Unsupported("the address of a predefined variable")
        at = (
            self.layout.file_offsets[root]
            + start
            + op.row * self.grf_size
            + op.col * self.function.variable_type(op.var).size
        )
        return lambda: self.builder.const(at, types.UD)

    # -- masks ---------------------------------------------------------------------------------------------

    def mask(self, execution: Execution, predicate: PredicateControl | None) -> Callable[[], Any]:
        bits = self.predicate_bits(predicate, execution) if predicate else None

        def mask() -> Any:
            running = True if execution.no_mask else self._running(execution.offset, execution.size)
            if bits is None:
                return running
            return bits() if running is True else running & bits()

        return mask

    def _running(self, offset: int, size: int) -> Any:
        total = self.lanes_total
        if self.em is True and offset + size <= total:
            return True
        if offset == 0 and size == total:
            return self.em
        found = self.running_lanes.get((offset, size))
        if found is None:
            found = self.running_lanes[offset, size] = self._some_lanes(offset, size)
        return found

    def _reading(self, count: int) -> Value | None:
        """The mask of the lanes for which the instruction of this moment reads ``count`` elements; None for all."""
        execution = self.execution
        if execution is None or execution.no_mask or execution.size != count or count == 1:
            return None
        running = self._running(execution.offset, count)
        return None if running is True else running

    def _some_lanes(self, offset: int, size: int) -> Value:
        b, total = self.builder, self.lanes_total
        full = self._full()
        if offset + size <= total:
            return b.shuffle(full, list(range(offset, offset + size)))
        zero = Value(b, MASK, total, "zeroinitializer")
        picks = ", ".join(f"i32 {i if i < total else total}" for i in range(offset, offset + size))
        return b.value(MASK, size, f"shufflevector {full.typed}, {zero.typed}, <{size} x i32> <{picks}>")

    def thread_mask(self) -> Any:
        return True

    def predicate_bits(self, predicate: PredicateControl, execution: Execution) -> Callable[[], Value]:
        def bits() -> Value:
            b = self.builder
            running = self._reading(execution.size) if execution is self.execution and not predicate.mode else None
            value = self.registers.read(("P", predicate.var), execution.offset, execution.size, MASK, running)
            if predicate.mode:
                value = Value(b, MASK, 1, b.any(value) if predicate.mode == "any" else b.all(value))
            return ~value if predicate.inverse else value

        return bits

    def predicate_reader(self, index: int, offset: int, count: int) -> Callable[[], Value]:
        return lambda: self.registers.read(("P", index), offset, count, MASK, self._reading(count))

    def predicate_writer(self, index: int, offset: int, count: int) -> Callable[[Value, Any], None]:
        return lambda value, mask: self._write(("P", index), offset, elements(count), value, mask)

    def predicate_as_integer(self, index: int) -> Callable[[], Value]:
        def read() -> Value:
            b = self.builder
            count = min(32, self.function.predicates[index - 1].elements)
            value = b.broadcast(self.registers.read(("P", index), 0, count, MASK), count)
            if count == 1:
                return b.cast(value, types.UD)
            packed = b.assign(f"bitcast {value.typed} to i{count}")
            return Value(b, types.UD, 1, packed if count == 32 else b.assign(f"zext i{count} {packed} to i32"))

        return read

    def predicate_from_integer(self, value: Value, count: int) -> Value:
        b = self.builder
        if count == 1:
            return b.value(MASK, 1, f"trunc i32 {value.text} to i1")
        packed = value.text if count == 32 else b.assign(f"trunc i32 {value.text} to i{count}")
        return b.value(MASK, count, f"bitcast i{count} {packed} to <{count} x i1>")

    # -- state ---------------------------------------------------------------------------------------------

    def state_reader(self, kind: int, index: int, element: int) -> Callable[[], Value]:
        return lambda: self.registers.read(("S", kind << 16 | element << 8 | index), 0, 1, types.UD)

    def state_writer(self, kind: int, index: int, element: int) -> Callable[[Value, Any], None]:
        return lambda value, mask: self._write(
            ("S", kind << 16 | element << 8 | index), 0, elements(1), self.builder.cast(value, types.UD), mask
        )

    def symbol_address(self, instruction: Instruction) -> int | None:
        found: int | None = self.dispatch.image.symbol_address(self.function, instruction.args["name"])
        return found

    def cannot(self, text: str, instruction: Instruction | None = None) -> Unsupported:
        return Unsupported(text)

    def rounding(self) -> Value | None:
        if not self.dispatch.float_modes.rounding:
            return None
        b = self.builder
        return (self._control() >> b.const(4, types.UD)) & b.const(3, types.UD)

    def denormals(self, data_type: DataType) -> Value | None:
        bit = self.dispatch.float_modes.flushed.get(data_type)
        if bit is None:
            return None
        b = self.builder
        return (self._control() & b.const(bit, types.UD)) == b.const(0, types.UD)

    def _control(self) -> Value:
        return self.registers.read(("V", CR0), 0, 1, types.UD)

    # -- memory --------------------------------------------------------------------------------------------

    def flat(self) -> Place:
        return Place(cx.FLAT)

    def slm(self) -> Place:
        b = self.builder
        return Place(
            cx.LOCAL,
            b.field("%worker", cx.WORKER_SLM, "ptr"),
            b.field("%ctx", cx.SLM_SIZE),
            address_mask=SLM_ADDRESS_MASK,
        )

    def _thread(self) -> str:
        """Number of the thread in its group."""
        return "%thread" if self.is_kernel else self.builder.field("%shared", cx.SHARED_THREAD)

    def _scratch(self) -> Place:
        b = self.builder
        base, size = b.field("%worker", cx.WORKER_SCRATCH, "ptr"), b.field("%ctx", cx.SCRATCH_SIZE)
        at = b.once(f"mul i64 {self._thread()}, {size}")
        return Place(cx.SCRATCH, b.once(f"getelementptr i8, ptr {base}, i64 {at}"), size)

    def surface(self, index: int) -> Place:
        if index == SLM:
            return self.slm()
        if index == SCRATCH:
            return self._scratch()
        if index == STATELESS:
            return self.flat()
        if index == BINDLESS:
            raise Unsupported("a bindless surface")
        return self._table(self.registers.read(("S", SURFACE << 16 | index), 0, 1, types.UD))

    def _table(self, number: Value) -> Place:
        b = self.builder
        table = b.field("%ctx", cx.SURFACES, "ptr")
        if number.constant is not None:
            place = (
                number.constant
                if number.constant < cx.SURFACE_LIMIT or number.constant == URB
                else cx.SURFACE_LIMIT - 1
            )
            entry = place_in_table(False, place) * cx.SURFACE_ENTRY
            return Place(cx.SURFACE, b.field(table, entry, "ptr"), b.field(table, entry + 8), str(number.constant))
        limit = b.const(cx.SURFACE_LIMIT - 1, types.UD)
        held = b.cast(b.select(number < limit, number, limit), types.UQ).text
        at = b.assign(f"getelementptr [{cx.SURFACE_ENTRY} x i8], ptr {table}, i64 {held}")
        pointer = b.assign(f"load ptr, ptr {at}, align 8, !invariant.load !0")
        size = b.assign(f"load i64, ptr {b.offset(at, 8)}, align 8, !invariant.load !0")
        return Place(cx.SURFACE, pointer, size, held)

    def urb(self) -> Place:
        return self._table(self.builder.const(URB, types.UD))

    def surface_by_handle(self, kind: str, value: Value) -> Place:
        if kind == "ss":
            return self._scratch()
        if kind == "bti":
            return self._table(value)
        raise Unsupported(f"a surface of kind {kind}")

    # -- images --------------------------------------------------------------------------------------------

    def image(self, index: int) -> ImageNumber:
        return ImageNumber(index == BINDLESS, self.registers.read(("S", SURFACE << 16 | index), 0, 1, types.UD))

    def image_by_handle(self, kind: str, value: Value) -> ImageNumber:
        return ImageNumber(kind != "bti", value)

    def with_image(
        self, image: ImageNumber, mask: Any, instruction: Instruction, act: Callable[[ImageView, Any], list[Value]]
    ) -> list[Value]:
        return self.images.with_image(image, lambda view: act(view, mask))

    def with_sampler(
        self,
        image: ImageNumber,
        sampler: int,
        mask: Any,
        instruction: Instruction,
        act: Callable[[ImageView, SamplerState, Any], list[Value]],
    ) -> list[Value]:
        b, number = self.builder, self.registers.read(("S", SAMPLER << 16 | sampler), 0, 1, types.UD)
        number = number >> b.const(SAMPLER_HANDLE_SHIFT, types.UD) if sampler == NAMED_SAMPLER else number
        return self.images.with_image(
            image, lambda view: self.images.with_sampler(number, lambda state: act(view, state, mask))
        )

    def pixel(self, execution: Execution) -> Callable[[], list[Value]]:
        if not self.is_kernel:
            raise Unsupported("a render target in a function")
        return lambda: [self._global_ids(axis, execution) for axis in range(2)]

    def _global_ids(self, axis: int, execution: Execution) -> Value:
        """Global ids of the lanes along an axis: from the table of local ids of the group's shape."""
        b, row = self.builder, threads.id_row_bytes(self.dispatch)
        ids = b.field("%variant", cx.VARIANT_IDS, "ptr")
        mine = b.assign(f"getelementptr i8, ptr {ids}, i64 {b.assign(f'mul i64 %thread, {row * 3}')}")
        local = b.load(types.UW, execution.size, b.offset(mine, row * axis + 2 * execution.offset), 2)
        size, offset = (
            b.assign(f"load i64, ptr {b.offset('%ctx', place + 8 * axis)}, align 8")
            for place in (cx.LOCAL_SIZE, cx.OFFSETS)
        )
        start = b.assign(f"mul i64 {size}, {self._group_id(axis).text}")
        first = b.assign(f"add i64 {offset}, {start}")
        return b.value(types.D, 1, f"trunc i64 {first} to i32") + b.cast(local, types.D)

    def named_barrier(self, *_: Any) -> Any:
        raise Unsupported("a named barrier")

    # -- checked access ------------------------------------------------------------------------------------

    def load(self, space: Place, address: Value, data_type: DataType, mask: Any, instruction: Instruction) -> Value:
        return self.load_elements(space, address, data_type, 1, mask, instruction)[0]

    def store(self, space: Place, address: Value, value: Value, mask: Any, instruction: Instruction) -> None:
        self.store_elements(space, address, [value], mask, instruction)

    def load_elements(
        self, space: Place, address: Value, data_type: DataType, count: int, mask: Any, instruction: Instruction
    ) -> list[Value]:
        return (self.texels if space.inside else self.access).load(space, address, data_type, mask, count)

    def store_elements(
        self, space: Place, address: Value, values: list[Value], mask: Any, instruction: Instruction
    ) -> None:
        (self.texels if space.inside else self.access).store(space, address, values, mask)

    def mapped(self, space: Place, address: Value, size: int, mask: Any) -> Value:
        return self.access.mapped(space, address, size, mask)

    def atomic(
        self,
        space: Place,
        op: str,
        address: Value,
        data_type: DataType,
        sources: list[Value],
        mask: Any,
        instruction: Instruction,
    ) -> Value:
        return self.access.atomic(space, op, address, data_type, sources, mask)
