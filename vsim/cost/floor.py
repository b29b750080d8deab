"""A floor: the fewest cycles in which a device can execute the counted instructions, by pipe and by level of memory.

Each pipe of an EU takes at least one cycle for an instruction, and one for as many active lanes as it has. The work is
spread evenly over all EUs, all pipes work at the same time, no thread waits for another, and nothing is issued late: no
device does better. The data port of a core moves the bytes between registers and caches, and between registers and
local memory, in and out at the same time. Barriers of a thread follow one another, and a device holds a number of
threads at a time. A launch of fewer threads than EUs fills as many as it has threads. What the finalizer may remove or
put together is not counted, or by half: moves and barriers of groups of one thread not at all, sums, products and logic
by half, as two of them may become one instruction (mad, add3, bfn).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from visakit.isa.record import Flow, MemoryKind
from visakit.isa.systolic import NAMES, bits_of, group_of
from visakit.language.operands import Predicate
from visakit.language.platforms import Platform
from visakit.language.program import Function, Instruction
from visakit.rules.message_sizes import DATA, message_sizes
from vsim.cost.constants import COMPILER, Constant, constant, most_threads, table
from vsim.profile.pipes import FPU, INT, pipe_of
from vsim.profile.profile import KernelProfile
from vsim.semantics.messages import meaning
from vsim.semantics.raw_message import NoEquivalent
from vsim.semantics.registers import operand_type

EM, XMX = "EM", "XMX"
_PORTS = {"local memory": ("SEND.slm",), "buffers": ("SEND.ugm", "SEND.hdc")}
"""Messages that a core's data port answers; messages to local memory may take another way."""
_HALF_BITS = 16
_REMOVED = frozenset({"move"})
"""Categories of instructions that the finalizer may leave out: it propagates copies."""
_PASSES = {"hf": "lanes of FP16", "bf": "lanes of FP16", "df": "lanes of FP64"}


class PipeFloor(NamedTuple):
    """The least that a pipe, or a level of memory, takes.

    Attributes:
        name: of the pipe or level.
        work: the count, in ``unit``.
        cycles: the fewest for it; None where a constant that it takes is unknown.
        constants: that the number follows from.
    """

    name: str
    work: float
    unit: str
    cycles: float | None
    constants: tuple[Constant, ...]

    @property
    def mark(self) -> str:
        """The weakest mark of its constants."""
        marks = {one.mark for one in self.constants}
        return next((m for m in ("unknown", "assumed", "derived", "published") if m in marks), "published")


class Floor(NamedTuple):
    """The floor of a kernel's launches: the largest of the floors of its pipes and levels."""

    pipes: tuple[PipeFloor, ...]

    @property
    def cycles(self) -> float:
        """The fewest cycles of all launches together."""
        return max((pipe.cycles for pipe in self.pipes if pipe.cycles is not None), default=0.0)

    @property
    def mark(self) -> str:
        """The mark of the pipe or level that it comes from."""
        return next((p.mark for p in self.pipes if p.name == self.bound), "published")

    @property
    def bound(self) -> str:
        """The pipe or level that the floor comes from; empty if nothing is known."""
        return next((p.name for p in self.pipes if p.cycles is not None and p.cycles == self.cycles and p.cycles), "")


class Counted(NamedTuple):
    """What was counted of an instruction: executions by threads, and active lanes."""

    function: Function
    instruction: Instruction
    executions: int
    active: int


def counted(profile: KernelProfile) -> list[Counted]:
    """The instructions that a profile counted."""
    return [
        Counted(own.function, i, int(own.executions[n]), own.active(n))
        for own in profile.counts.functions
        for n, i in enumerate(own.function.instructions)
        if own.executions[n]
    ]


class Units(NamedTuple):
    """The EUs that a launch can fill: ``filled`` is None where the device's are not known."""

    known: Constant
    filled: float | None

    @classmethod
    def of(cls, platform: Platform, threads: int) -> Units:
        """The EUs of a platform for a number of hardware threads."""
        known = constant(platform, "EUs")
        return cls(known, None if known.value is None else min(known.value, max(1, threads)))


def floor(platform: Platform, profile: KernelProfile) -> Floor:
    """The floor of a kernel's launches on a platform.

    Raises:
        CostError: Q001, the table has no constants of the platform.
    """
    rows = counted(profile)
    threads = max((note.threads for note in profile.launches), default=1)
    units = Units.of(platform, threads)
    pipes = [_issue(platform, name, rows, profile.grf_size, units) for name in (FPU, INT, EM, XMX)]
    pipes.append(_messages(platform, rows, profile.grf_size, units))
    pipes += [_data_port(platform, name, rows, profile.grf_size, threads) for name in _PORTS]
    if any(note.threads > note.groups for note in profile.launches):
        pipes.append(_barriers(platform, rows, units, threads))
    if profile.buffers:
        pipes.append(_memory(platform, profile))
    return Floor(tuple(pipe for pipe in pipes if pipe.work))


def _issue(platform: Platform, pipe: str, rows: Iterable[Counted], grf_size: int, units: Units) -> PipeFloor:
    """The floor of a pipe by the instructions issued to it."""
    cycles: float | None = 0.0
    work, used = 0.0, {units.known}
    for row in rows:
        if pipe_of(row.function, row.instruction, grf_size) != pipe:
            continue
        share = _share(row.instruction)
        if not share:
            continue
        lanes, passes = _lanes(platform, pipe, row)
        work += row.active * share
        used.add(lanes)
        if lanes.value is None:
            cycles = None
        elif cycles is not None:
            cycles += share * max(row.executions, row.active * passes / lanes.value)
    if cycles is not None and units.filled is not None:
        cycles /= units.filled
    return PipeFloor(pipe, work, "operations of lanes", cycles, tuple(sorted(used, key=lambda one: one.name)))


def _share(i: Instruction) -> float:
    """The part of an instruction that the finalizer leaves at least."""
    if i.desc.category in _REMOVED:
        return 0.0
    return 0.5 if i.desc.joins else 1.0


def _lanes(platform: Platform, pipe: str, row: Counted) -> tuple[Constant, float]:
    """The constant with the lanes of a pipe for an instruction, and the passes of each lane."""
    args = row.instruction.args
    if pipe == XMX:
        precision = NAMES.get(args.get("src1_precision", 0), "")
        width = bits_of(precision) if precision else _HALF_BITS
        products = args["count"] * args["depth"] * group_of(precision, NAMES[args["src2_precision"]])
        return constant(platform, "multiply-adds of halves in XMX"), products * max(width, 4) / _HALF_BITS
    if pipe == EM:
        return constant(platform, "lanes of mathematics"), 1.0
    if pipe == INT:
        return constant(platform, "lanes of integers"), _narrow(row)
    typed = args.get("src0") if isinstance(args.get("dst"), Predicate) else args.get("dst")
    name = operand_type(row.function, typed).name if typed is not None else "f"
    return constant(platform, _PASSES.get(name, "lanes of FP32")), 1.0


def _narrow(row: Counted) -> float:
    """Passes of a lane of an integer: half of one where elements are words or bytes, as these go two at a time."""
    dst = row.instruction.args.get("dst")
    size = 4 if dst is None or isinstance(dst, Predicate) else operand_type(row.function, dst).size
    return 0.5 if size < 4 else 1.0


def _messages(platform: Platform, rows: Iterable[Counted], grf_size: int, units: Units) -> PipeFloor:
    """The floor of the pipe that sends messages: one a cycle."""
    sent = sum(row.executions for row in rows if pipe_of(row.function, row.instruction, grf_size).startswith("SEND"))
    cycles = None if units.filled is None else sent / units.filled
    return PipeFloor("SEND", float(sent), "messages", cycles, (units.known,))


def _data_port(platform: Platform, name: str, rows: Iterable[Counted], grf_size: int, threads: int) -> PipeFloor:
    """The floor of the cores' data ports: the larger of the bytes read and the bytes written."""
    read = written = 0.0
    for row in rows:
        if pipe_of(row.function, row.instruction, grf_size) in _PORTS[name]:
            moved = lane_bytes(row.instruction, grf_size)
            read += row.active * moved.read
            written += row.active * moved.written
    known = [constant(platform, name) for name in ("EUs", "EUs a core", "bytes a clock of a core's data port")]
    units, share, rate = (one.value for one in known)
    work = max(read, written)
    cycles = work / rate / min(units / share, threads) if units and share and rate else None
    return PipeFloor(name, work, "bytes", cycles, tuple(known))


def _barriers(platform: Platform, rows: Iterable[Counted], units: Units, threads: int) -> PipeFloor:
    """The floor of barriers: those of all threads, by the threads that the device holds at a time."""
    met = sum(row.executions for row in rows if row.instruction.desc.flow is Flow.BARRIER)
    slots = most_threads(platform)
    latency = table()[COMPILER]["latency of a barrier"]
    cycles = None
    if units.known.value and slots.value and latency.value:
        cycles = met * latency.value / min(units.known.value * slots.value, threads)
    return PipeFloor("barriers", float(met), "waits of threads", cycles, (units.known, slots, latency))


class LaneBytes(NamedTuple):
    """Bytes that an active lane of a message reads and writes."""

    read: float = 0.0
    written: float = 0.0


def lane_bytes(i: Instruction, grf_size: int) -> LaneBytes:
    """The bytes of a lane; none where nothing says so."""
    try:
        i = meaning(i, grf_size)
    except NoEquivalent:
        return LaneBytes()
    if i.desc.memory is MemoryKind.NONE:
        return LaneBytes()
    sizes, lanes = message_sizes(i, grf_size), max(1, i.args["exec"].size if "exec" in i.args else 1)
    result, *sources = (sizes.get(name, 0) / lanes for name in DATA)
    return LaneBytes(result, max(sources))


def _memory(platform: Platform, profile: KernelProfile) -> PipeFloor:
    """The floor of memory: the cache lines that launches touched, without lines that the last cache may hold."""
    touched = sum(b.footprint for b in profile.buffers.values() if b.kind in ("global", "image"))
    cache, rate = constant(platform, "bytes of the last cache"), constant(platform, "bytes a clock of memory")
    known = cache.value is not None and rate.value
    cycles = max(0.0, touched - (cache.value or 0)) / rate.value if known and rate.value else None
    return PipeFloor("memory", float(touched), "bytes", cycles, (cache, rate))
