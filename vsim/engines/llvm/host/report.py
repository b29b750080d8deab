"""Faults as errors: the instruction, the lane and the memory of a fault record."""

from __future__ import annotations

from collections.abc import Sequence

from visakit.diagnostics import Diagnostic, RegisterValue, SimulationError
from visakit.language.calls import size_difference, uncallable
from visakit.language.operands import Indirect
from visakit.language.program import Function, Instruction
from visakit.rules.message_sizes import length_difference, shape_difference
from vsim.analysis.arrays.lane_writes import lane_writes
from vsim.analysis.split_instructions import half_of_lane
from vsim.analysis.waiting import group_barriers
from vsim.checks.findings import Who
from vsim.checks.kinds import ended_instance, finding_of
from vsim.checks.names import DIVERGENCE
from vsim.engines.llvm import RecordedFault, RefusedInstruction
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.abi import FaultRecord
from vsim.engines.llvm.host.tables import TURNS_ARENA_BYTES
from vsim.engines.llvm.host.workers import MAXIMUM_DEPTH, NESTED_BYTES
from vsim.launch import threads
from vsim.launch.arrays import Words
from vsim.launch.dispatch import Dispatch
from vsim.launch.payload import SCRATCH_HANDLE
from vsim.memory.images import SurfaceImage
from vsim.memory.memory import Buffer, shown_offset
from vsim.observe.positions import ThreadPosition
from vsim.semantics.operands import address_register
from vsim.semantics.registers import layout_of

_ALL_BITS = (1 << 64) - 1
_STOPPED = (cx.WORKER_STOPPED, cx.WORKER_STOPPED_FUNCTION, cx.WORKER_STOPPED_THREAD)
_WRITES = (cx.FLAT_WRITTEN, cx.SURFACE_WRITTEN)


def read_record(context: Words) -> FaultRecord:
    """The fault that stopped a launch."""
    start = cx.FAULT_INFO // 8
    fields = context[start : start + len(cx.FAULT_FIELDS)].view("i8")
    return FaultRecord(*(int(v) for v in fields))


def fault(
    dispatch: Dispatch, functions: Sequence[Function], context: Words, transposed: bool, width: int
) -> SimulationError | RefusedInstruction:
    """The error that the fault of a launch stands for.

    Args:
        functions: those of the compiled module by number.
        transposed: y counts up along the lanes (:func:`vsim.launch.threads.local_ids`).
        width: work-items of a thread; 0 for as many as the launch says.
    """
    record = read_record(context)
    if record.kind == cx.REFUSED:
        return RefusedInstruction(functions[record.function], record.instruction)
    record = _first_outside(dispatch, record)
    group = dispatch.group(_group_number(dispatch, record))
    function = functions[record.function] if record.function < len(functions) else dispatch.kernel
    number, half_lane = half_of_lane(function, _number(dispatch, function, record), record.lane)
    record = record._replace(lane=half_lane)
    instruction = function.instructions[number]
    from vsim.observe.elements import element_of

    element, is_block = element_of(function, instruction, record.lane, dispatch.grf_size)
    thread, lane = record.thread, threads.first_lane(instruction) + (0 if is_block else record.lane)
    if transposed or width:
        thread, lane = threads.usual_place(dispatch, group, thread * (width or dispatch.simd) + lane, transposed)
    if width and record.kind == cx.REGISTER:
        number, record = _in_usual_lane(dispatch, function, number, record, lane)
        instruction = function.instructions[number]
    from visakit.text.printer import FunctionPrinter

    where = element + threads.describe(dispatch, group, thread, -1 if is_block else lane)
    text = FunctionPrinter(function).instruction(instruction)
    if record.kind == cx.BARRIER and DIVERGENCE in dispatch.checks:
        _report_ended(dispatch, function, number, record)
    tail = f" by '{text}' (instruction {number} of '{function.name}', {where})"
    span, labels = dispatch.image.place(function, instruction)
    hint = dispatch.image.line_hint(function)
    registers: tuple[RegisterValue, ...] = ()
    if record.kind == cx.REGISTER:
        registers = address_register(function, instruction, record.lane, record.address)
    message = _what(dispatch, record, function, instruction) + tail
    found = Diagnostic("S030", message, span, hint, labels, registers=registers)
    if record.kind not in cx.OF_ONE_LANE:
        return SimulationError(found)
    return RecordedFault(found, function, number, record.sources(), lane)


def _group_number(dispatch: Dispatch, record: FaultRecord) -> int:
    """The number of the group among all groups."""
    x, y, _ = dispatch.group_counts
    return record.group_x + x * (record.group_y + y * record.group_z)


def _number(dispatch: Dispatch, function: Function, record: FaultRecord) -> int:
    """The number of the instruction; threads that do not take turns record none for the only barrier of a function."""
    if record.kind == cx.BARRIER and not dispatch.takes_turns and len(barriers := group_barriers(function)) == 1:
        return barriers[0]
    return record.instruction


def _in_usual_lane(
    dispatch: Dispatch, function: Function, number: int, record: FaultRecord, lane: int
) -> tuple[int, FaultRecord]:
    """The instruction that reached an element of a private array for a lane, and the fault there, where a thread of
    fewer lanes had the fault in another one.
    """
    layout, instruction = layout_of(function, dispatch.grf_size), function.instructions[number]
    (size,) = {op.type.size for op in instruction.args.values() if isinstance(op, Indirect)}
    behind = lane - record.lane - threads.first_lane(instruction)
    writes = lane_writes(function, layout, [(0, len(function.instructions))])
    here = [w for w in writes if number in w.instructions]
    for w in writes if here else ():
        mine = w.target.var == here[0].target.var and w.first >= here[0].first
        if mine and 0 <= lane - w.execution.offset < w.execution.size:
            number = w.instructions[lane - w.execution.offset]
            break
    first = threads.first_lane(function.instructions[number])
    return number, record._replace(lane=lane - first, address=record.address + behind * size)


def _report_ended(dispatch: Dispatch, function: Function, number: int, record: FaultRecord) -> None:
    """Report a barrier for which threads wait for ever."""
    findings = dispatch.findings
    assert findings is not None
    who = Who(_group_number(dispatch, record), record.thread)
    instance = ended_instance(dispatch, function, number, who, record.address)
    findings.add(finding_of(dispatch, "K020", instance))


def positions(
    dispatch: Dispatch, functions: Sequence[Function], workers: Sequence[Words], width: int
) -> list[ThreadPosition]:
    """Where the threads were that workers ran when a launch was stopped; ``width``: see :func:`fault`."""
    found = []
    for block in workers:
        place, function, thread = (int(block[at // 8]) for at in _STOPPED)
        if place:
            x, y, z = (int(n) for n in block[cx.WORKER_GROUP // 8 : cx.WORKER_GROUP // 8 + 3])
            columns, rows, _ = dispatch.group_counts
            group = dispatch.group(x + columns * (y + rows * z))
            thread = thread * (width or dispatch.simd) // dispatch.simd
            own = functions[function] if function < len(functions) else dispatch.kernel
            found.append(ThreadPosition(group, thread, own, place - 1))
            others = range(dispatch.threads_of(group)) if dispatch.has_barrier else ()
            found += [ThreadPosition(group, t, own, None) for t in others if t != thread]
    return found


def _what(dispatch: Dispatch, record: FaultRecord, function: Function, instruction: Instruction) -> str:
    """What went wrong."""
    if record.kind == cx.UNDEFINED:
        return f"function '{function.strings[instruction.args['name']]}' is not defined"
    if record.kind == cx.BARRIER:
        return "a barrier waits for threads of the work-group that never arrive"
    if record.kind == cx.CALL:
        return uncallable(dispatch.image.function_at(record.address), record.address, dispatch.lanes)
    if record.kind == cx.CALL_SIZES:
        callee = dispatch.image.function_at(record.address)
        assert callee is not None, "the call found it at this address"
        return f"{size_difference(instruction, callee)},"
    if record.kind == cx.DEPTH:
        nested = record.address - 1
        if nested < MAXIMUM_DEPTH:
            return f"calls are nested {nested} deep, and their variables take more than {NESTED_BYTES >> 20} MiB,"
        return f"calls are nested more than {nested} deep"
    if record.kind == cx.FRAMES:
        return f"the variables of threads that wait take more than {TURNS_ARENA_BYTES >> 20} MiB,"
    if record.kind == cx.SHAPE:
        return shape_difference(record.number, record.size)
    if record.kind == cx.LENGTH:
        return length_difference(record.number, record.size)
    if record.kind == cx.REGISTER:
        return layout_of(function, dispatch.grf_size).outside(record.address)
    if record.kind == cx.IMAGE:
        return f"surface {record.number} is used as an image, but is not one,"
    if record.kind in _WRITES and (written := _read_only(dispatch, record)):
        return f"write of {record.bytes} bytes to {written}"
    return f"access of {record.bytes} bytes outside {_memory(dispatch, record)}"


def _read_only(dispatch: Dispatch, record: FaultRecord) -> str:
    """The read-only array that a write would have gone to, and where in it; empty if it went elsewhere."""
    at = record.address & _ALL_BITS
    if record.kind == cx.FLAT_WRITTEN:
        found = dispatch.memory.slots.get(at >> 32)
        at -= found.address if found else 0
    else:
        surface = _surface(dispatch, record.number)
        found = surface if isinstance(surface, Buffer) else None
    if found is None or not found.read_only or not 0 <= at <= found.size - record.bytes:
        return ""
    return f"'{dispatch.name_of(found)}', an array that is read-only, at offset {at}"


def _first_outside(dispatch: Dispatch, record: FaultRecord) -> FaultRecord:
    """Of lanes that follow each other the first whose element is outside."""
    step, start, size = record.step, record.address, record.size
    if record.kind in _WRITES and _read_only(dispatch, record):
        return record
    if record.kind in (cx.FLAT, cx.FLAT_WRITTEN):
        buffer = dispatch.memory.slots.get((start & _ALL_BITS) >> 32)
        room = 0 if buffer is None else buffer.room if record.kind == cx.FLAT else buffer.size
        start, size = (start - buffer.address, room) if buffer else (-1, 0)
    inside = (size - start) // step if step and 0 <= start < size else 0
    return record._replace(lane=record.lane + inside, address=record.address + inside * step)


def _surface(dispatch: Dispatch, number: int) -> Buffer | SurfaceImage | None:
    """The surface that a record speaks of."""
    if number >= cx.BINDLESS_NUMBER:
        return dispatch.bindless.get(number - cx.BINDLESS_NUMBER)
    return dispatch.surfaces.get(number)


def _surface_name(dispatch: Dispatch, number: int) -> str:
    """What messages call a surface, or memory of an image."""
    surface = _surface(dispatch, number)
    if surface is None:
        is_scratch = number == cx.BINDLESS_NUMBER + SCRATCH_HANDLE
        return "scratch memory" if is_scratch else f"surface {number % cx.BINDLESS_NUMBER}"
    return dispatch.name_of(surface) if isinstance(surface, Buffer) else surface.name


def _memory(dispatch: Dispatch, record: FaultRecord) -> str:
    """The memory that was accessed, and where."""
    at, size = record.address, record.size
    if record.kind in (cx.FLAT, cx.FLAT_WRITTEN):
        at &= _ALL_BITS
        buffer = dispatch.memory.slots.get(at >> 32)
        if buffer is None:
            return dispatch.nowhere(at)
        return f"'{dispatch.name_of(buffer)}', which has {buffer.size} bytes, at offset {at - buffer.address}"
    if record.kind in (cx.SURFACE, cx.SURFACE_WRITTEN):
        name, surface = _surface_name(dispatch, record.number), _surface(dispatch, record.number)
        size = surface.size if isinstance(surface, Buffer) else size
    elif record.kind == cx.LOCAL:
        name, size = "local memory", dispatch.slm_size
    else:
        name = "scratch memory"
    return f"'{name}', which has {size} bytes, at offset {shown_offset(at, size)}"
