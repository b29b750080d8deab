"""The text of a lowered function: its signature, its stack slots, and for kernels the loops or the coroutine around the
code of a thread.

Every register, waiting mask and return site is a stack slot (``alloca``) in the entry block, which LLVM promotes to SSA
values. Masks are stored as bytes: LLVM misplaces vectors of bits, and all later fields, in the frame of a coroutine.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from vsim.engines.llvm.ir.emitter import GROUP, LAUNCH, THREAD
from vsim.engines.llvm.ir.types import splat
from vsim.engines.llvm.lower.recursion import Recursion
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.lower.storage import SHARED_SIZE, Key, is_shadow
from vsim.engines.llvm.support import cooperative, driver

LARGEST_ZERO_STORE = 512
"""Bytes of a stack slot up to which one store clears it. A slot that one store of a vector covers is promoted as that
vector, of which each access to a part is a shuffle; one that memset clears is promoted in parts.
"""


@dataclass
class Slots:
    """Lines that make the stack slots of a function, and lines that clear them for each thread."""

    made: list[str] = field(default_factory=list)
    cleared: list[str] = field(default_factory=list)


def assemble(state: FunctionState, recursion: Recursion, unwritten: Set[Key]) -> str:
    """The text of a function that was emitted. A kernel without barriers is the loop over its threads, too.

    Args:
        unwritten: registers that are read before they are written: they begin with zeros.
    """
    b, slots = state.b, _slots(state, recursion, unwritten)
    code = [*b.preheaders[THREAD], *b.lines, *state.cold]
    if state.is_coroutine and state.module.takes_turns:
        return _waiting_function(state, slots, code)
    if not state.is_kernel:
        arguments = f"ptr noalias %ctx, ptr %worker, ptr %shared, {state.mask_ir} %mask"
        signature = f"define internal void {state.module.symbol(state.function)}({arguments}) #0 {{"
        return "\n".join([signature, "entry:", *slots.made, *slots.cleared, *code, "}"])
    if state.is_coroutine:
        arguments = f"{driver.COMMON}, i64 %thread, i64 %group_x, ptr %frame"
        signature = f"define ptr @kernel({arguments}) #0 presplitcoroutine {{"
        begin, suspend = driver.coroutine_begin(), driver.coroutine_first_suspend()
        return "\n".join([signature, "entry:", begin, *slots.made, *slots.cleared, suspend, *code, "}"])
    loops = driver.loops(ordered=state.dispatch.schedule is not None, transposed=state.module.transposed)
    signature = f"define void @group({driver.GROUP_ARGUMENTS}) #0 {{"
    launch = [*slots.made, *b.preheaders[LAUNCH], loops.groups]
    group = [*b.preheaders[GROUP], loops.threads]
    return "\n".join([signature, "entry:", *launch, *group, *slots.cleared, *code, loops.ends, "}"])


def _waiting_function(state: FunctionState, slots: Slots, code: list[str]) -> str:
    """The text of a kernel or function in which a thread that takes turns can wait."""
    signature, entrance = f"define ptr @kernel({driver.COMMON}, i64 %thread, i64 %group_x) #0 presplitcoroutine {{", []
    if not state.is_kernel:
        bits = f"i{state.lanes} %mask.bits"  # which a frame holds better than a vector of bits
        arguments = f"ptr noalias %ctx, ptr %worker, ptr %shared, {bits}"
        signature = f"define internal ptr {state.module.symbol(state.function)}({arguments}) #0 presplitcoroutine {{"
        entrance = [f"  %mask = bitcast {bits} to {state.mask_ir}"]
    begin, suspend = cooperative.function_begin(), cooperative.function_first_suspend()
    return "\n".join([signature, "entry:", *slots.made, begin, *slots.cleared, suspend, *entrance, *code, "}"])


def _slots(state: FunctionState, recursion: Recursion, unwritten: Set[Key]) -> Slots:
    slots = Slots()
    for key, size in state.storage.own_slots():
        name = state.storage.slot(key)
        slots.made.append(f"  {name} = alloca [{size} x i8], align 64")
        if key in unwritten:
            slots.cleared.append(_ones(state, name, size) if is_shadow(key) else _zeros(state, name, size))
    _shared_slots(state, slots)
    slots.made.append("  %em = alloca [8 x i8], align 8")
    for number in sorted(set(state.reconvergence.points.values())):
        slots.made.append(f"  %wait{number} = alloca [8 x i8], align 8")
        slots.cleared.append(f"  store {state.mask_ir} zeroinitializer, ptr %wait{number}, align 8")
    for subroutine in state.flow.subroutines:
        slots.made.append(f"  %held{subroutine} = alloca [8 x i8], align 8")
        slots.made.append(f"  %site{subroutine} = alloca i32, align 4")
    for buffer in state.prefetcher.buffers.values():
        slots.made += buffer.slots()
        slots.cleared += buffer.cleared()
    slots.made += state.prefetcher.inductions.made()
    slots.cleared += state.prefetcher.inductions.cleared()
    made, cleared = recursion.declaration()
    slots.made += made
    slots.cleared += cleared
    if state.b.temporary_bytes:
        slots.made.append(f"  %scratch = alloca [{state.b.temporary_bytes} x i8], align 64")
    return slots


def _shared_slots(state: FunctionState, slots: Slots) -> None:
    """The register file, and the block that functions share; the shadows of both."""
    if state.layout.file_offsets or state.layout.has_indirect:
        slots.made.append(f"  %file = alloca [{state.layout.file_size} x i8], align 64")
        slots.cleared.append(_memset(state, "%file", state.layout.file_size))
        if state.dispatch.watches_undefined:
            slots.made.append(f"  %undefined_file = alloca [{state.layout.file_size} x i8], align 64")
            slots.cleared += _undefined_file(state)
    if state.shares and state.is_kernel:
        shared = 2 * SHARED_SIZE if state.dispatch.watches_undefined else SHARED_SIZE
        slots.made.append(f"  %shared = alloca [{shared} x i8], align 64")
        slots.cleared.append(_memset(state, "%shared", SHARED_SIZE))
        if state.dispatch.watches_undefined:
            slots.made.append(f"  %undefined_shared = getelementptr i8, ptr %shared, i64 {SHARED_SIZE}")
            slots.cleared.append(_memset(state, "%undefined_shared", SHARED_SIZE, -1))


def _zeros(state: FunctionState, pointer: str, size: int) -> str:
    if size > LARGEST_ZERO_STORE:
        return _memset(state, pointer, size)
    zeros = f"i{8 * size} 0" if size <= 8 else f"<{size} x i8> zeroinitializer"
    return f"  store {zeros}, ptr {pointer}, align 64"


def _ones(state: FunctionState, pointer: str, size: int) -> str:
    if size > LARGEST_ZERO_STORE:
        return _memset(state, pointer, size, -1)
    return f"  store <{size} x i8> {splat('i8 -1', size)}, ptr {pointer}, align 64"


def _undefined_file(state: FunctionState) -> list[str]:
    """The shadow of the register file: all undefined but the predefined variables that lie there."""
    lines = [_memset(state, "%undefined_file", state.layout.file_size, -1)]
    for n, (_, at, size) in enumerate(state.layout.carried):
        lines.append(f"  %defined{n} = getelementptr i8, ptr %undefined_file, i64 {at}")
        lines.append(f"  call void @llvm.memset.p0.i64(ptr %defined{n}, i8 0, i64 {size}, i1 false)")
    return lines


def _memset(state: FunctionState, pointer: str, size: int, value: int = 0) -> str:
    state.b.declare("llvm.memset.p0.i64", "void", "ptr, i8, i64, i1")
    return f"  call void @llvm.memset.p0.i64(ptr align 64 {pointer}, i8 {value}, i64 {size}, i1 false)"
