"""The check of calls: what callees must leave as it was, and the stack, which stays in its block of private memory."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from visakit.language.program import Function
from vsim.checks.kept_registers import KEPT, MISPLACED_STACK, STACK_POINTER, moves_stack
from vsim.engines.numpy.activation import Activation, Running
from vsim.engines.numpy.algebra import any_lane
from vsim.engines.numpy.machine import BatchExecution
from vsim.engines.numpy.observers.findings import BatchFindings
from vsim.engines.numpy.observers.saving import SavedObserver, contents, together
from vsim.launch.arrays import Bools, Bytes, Offsets
from vsim.observe.observer import Event, Observer


class KeptRegisters(NamedTuple):
    """Predefined variables of all threads of the batch at a call."""

    call: Event
    registers: dict[int, Bytes]


class CallsObserver(Observer):
    """Compares registers before and behind the calls of a batch, and watches the stack pointer."""

    running: Running
    private_address: int
    blocks: Offsets
    """The block of private memory that is the stack of each thread, from 1 on; 0 where that is not known yet."""

    def __init__(self, findings: BatchFindings) -> None:
        self.findings, self.stack_size = findings, findings.dispatch.private_size
        self.kept = WeakKeyDictionary[Activation, KeptRegisters]()
        """By active function the registers that it must keep."""

    def prepare(self, engine: BatchExecution) -> None:
        self.running, self.private_address = engine.running, engine.private_address
        self.blocks = np.zeros(engine.threads.count, np.int64)

    def threads_begin(self, event: Event) -> None:
        self.blocks[:] = 0

    def saved(self) -> SavedObserver:
        kept = list(self.kept.items())

        def restore() -> None:
            self.kept = WeakKeyDictionary(kept)

        blocks = [self.blocks] if hasattr(self, "blocks") else []  # A batch gets blocks when it is prepared.
        return together(contents(blocks), SavedObserver(0, restore))

    def call(self, event: Event, frame: Activation) -> None:
        """Note the registers that a function must keep."""
        if not frame.is_subroutine:
            self.running.carry_out()
            threads = self.running.threads
            self.kept[frame] = KeptRegisters(event, {r.number: threads.predefined(r.number).copy() for r in KEPT})

    def returned(self, frame: Activation, rows: Bools) -> None:
        """Report registers that have changed."""
        kept, threads = self.kept.get(frame), self.running.threads
        if kept is None:
            return
        self.running.carry_out()
        for register in KEPT:
            old, new = kept.registers[register.number], threads.predefined(register.number)
            differs = (old[:, : register.size] != new[:, : register.size]).any(axis=1)
            self.findings.report_threads(register.code, kept.call, rows & differs, address=register.number)

    def chooses(self, function: Function, number: int) -> bool:
        grf_size = self.findings.dispatch.grf_size
        return bool(self.stack_size) and moves_stack(function, grf_size, function.instructions[number])

    def after(self, event: Event) -> None:
        """Report a stack pointer that leaves its thread's block."""
        self.running.carry_out()
        threads = self.running.threads
        rows = any_lane(self.running.activation.active)
        offsets = threads.predefined(STACK_POINTER).view(np.uint64)[:, 0].astype(np.int64) - self.private_address
        known = self.blocks if threads.rows is None else self.blocks[threads.rows]
        blocks = np.where(known == 0, offsets.view(np.uint64) // np.uint64(self.stack_size) + 1, known).astype(np.int64)
        self.blocks[threads.rows if threads.rows is not None else slice(None)] = np.where(rows, blocks, known)
        used = offsets - (blocks - 1) * self.stack_size
        outside = rows & ((used < 0) | (used > self.stack_size))
        self.findings.report_threads(MISPLACED_STACK, event, outside, address=STACK_POINTER, other=used)
