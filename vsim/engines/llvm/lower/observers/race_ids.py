"""Ids of threads in words of the race check, as compiled code computes them (``host/race.py``)."""

from __future__ import annotations

from collections.abc import Sequence

from visakit.language import types
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.observers.findings import FindingExits
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.memory.part import mask_bits


class RaceIds:
    """Who the thread is that runs a function."""

    def __init__(self, state: FunctionState, findings: FindingExits) -> None:
        self.state, self.b, self.findings = state, state.b, findings
        self.traits = state.module.race_traits

    def field(self, offset: int) -> str:
        """A field of the launch's block, i64."""
        return self.b.field(self.b.field("%ctx", cx.RACE, "ptr"), offset)

    def number(self, offset: int) -> Value:
        """The low half of a field."""
        return self.narrow(self.field(offset))

    def narrow(self, text: str) -> Value:
        """The low half of an i64."""
        return Value(self.b, types.UD, 1, self.b.assign(f"trunc i64 {text} to i32"))

    @property
    def epochs(self) -> int:
        """The bits of a word that hold the epoch."""
        return (self.traits.epochs - 1) << self.traits.flags

    @property
    def flags(self) -> int:
        """The bits of a word that hold flags."""
        return (1 << self.traits.flags) - 1

    def publish(self) -> None:
        """Leave the thread's first id to the functions that its kernel calls."""
        self.b.emit(f"store i64 {self.first()}, ptr {self.b.offset('%shared', cx.SHARED_RACE)}, align 8")

    def first(self) -> str:
        """The thread's id before the first barrier, i64."""
        b = self.b
        if not self.state.is_kernel:
            return b.field("%shared", cx.SHARED_RACE)
        return b.hoist(f"add i64 {self._group()}, {self._thread()}")

    def group(self) -> Value:
        """The first id of the thread's group."""
        b = self.b
        if self.state.is_kernel:
            return self.narrow(self._group())
        rank = b.hoist(f"sub i64 {self.first()}, {self.field(cx.RACE_FIRST_ID)}")
        within = b.hoist(f"urem i64 {rank}, {self.field(cx.RACE_SPAN)}")
        return self.narrow(b.hoist(f"sub i64 {self.first()}, {within}"))

    def _thread(self) -> str:
        if self.traits.lanes:
            return self.b.hoist(f"mul i64 {self.state.thread}, {self.traits.ids << self.traits.shift}")
        return self.b.hoist(f"shl i64 {self.state.thread}, {self.traits.shift}")

    def _group(self) -> str:
        """The first id of the group of a kernel, i64."""
        b, x = self.b, self.state.group_id(0).text
        y, z = (b.field("%worker", cx.WORKER_GROUP + 8 * axis) for axis in (1, 2))
        columns, rows = (b.field("%ctx", cx.COUNTS + 8 * axis) for axis in (0, 1))
        plane = b.hoist(f"add i64 {b.hoist(f'mul i64 {z}, {rows}')}, {y}")
        number = b.hoist(f"add i64 {b.hoist(f'mul i64 {plane}, {columns}')}, {x}")
        own = b.hoist(f"mul i64 {number}, {self.field(cx.RACE_SPAN)}")
        return b.hoist(f"add i64 {own}, {self.field(cx.RACE_FIRST_ID)}")

    def counts(self) -> tuple[str, str]:
        """How often the thread has arrived at the group's barrier, and gone on, i64."""
        b = self.b
        if not self.traits.barriers:
            return "0", "0"
        if self.state.module.takes_turns:
            record = b.assign(f"load ptr, ptr {b.offset('%worker', cx.WORKER_THREAD)}, align 8")
            places = (b.offset(record, cx.RECORD_ARRIVALS), b.offset(record, cx.RECORD_DEPARTURES))
            signals, waits = (b.assign(f"load i64, ptr {place}, align 8") for place in places)
            return signals, waits
        epoch = self.findings.epoch()
        return epoch, epoch

    def now(self) -> str:
        """The thread's id (that of its first lane, if each has one) with the barriers behind it, i64."""
        b = self.b
        if not self.traits.barriers:
            return self.first()
        epoch = b.assign(f"and i64 {self.counts()[0]}, {self.traits.epochs - 1}")
        return b.assign(f"add i64 {self.first()}, {b.assign(f'shl i64 {epoch}, {self.traits.flags}')}")

    @property
    def step(self) -> int:
        """From the id of a lane to that of the next one; 0 where the thread has one id."""
        return 1 << self.traits.shift if self.traits.lanes else 0

    def of_lanes(self, lanes: Sequence[int]) -> Value:
        """The current ids of lanes of the thread."""
        b = self.b
        mine = b.broadcast(self.narrow(self.now()), len(lanes))
        return mine + b.vector([lane * self.step for lane in lanes], types.UD) if self.step else mine

    def of_all(self, is_atomic: bool = False) -> str:
        """The id of what all running work-items of the thread do, i64: if just one runs it is that of the one."""
        b, running, lane = self.b, self.state.at.running, str(self.traits.lanes + is_atomic)
        if running is not True:
            bits = mask_bits(b, running, self.state.lanes)
            b.declare("llvm.cttz.i64", "i64", "i64, i1")
            first = b.assign(f"call i64 @llvm.cttz.i64(i64 {bits}, i1 false)")
            is_one = b.assign(f"icmp eq i64 {self.findings.lanes_in(bits)}, 1")
            lane = b.assign(f"select i1 {is_one}, i64 {first}, i64 {lane}")
        return b.assign(f"add i64 {self.now()}, {b.assign(f'mul i64 {lane}, {self.step}')}")

    def count_step(self) -> None:
        """Count that the thread orders its work-items, if several run, in a launch that records."""
        b, running, several = self.b, self.state.at.running, "1"
        if running is not True:
            count = self.findings.lanes_in(mask_bits(b, running, self.state.lanes))
            several = b.assign(f"zext i1 {b.assign(f'icmp ugt i64 {count}, 1')} to i64")
        b.declare("race_ordered", "void", "ptr, i64, i64")
        b.emit(f"call void @race_ordered(ptr %ctx, i64 {self.now()}, i64 {several}) #2")

    def site(self) -> str:
        """The instruction that is lowered: number of the function times 2**32, and its own."""
        return str((self.state.module.number(self.state.function) << 32) + self.state.at.pc)
