"""The check of calls: what callees must leave as it was, and the stack, which stays in its block of private memory."""

from __future__ import annotations

import numpy as np

from visakit.language.program import Function
from vsim.checks.kept_registers import KEPT, MISPLACED_STACK, STACK_POINTER, moves_stack
from vsim.engines.numpy.activation import Activation, KeptRegisters
from vsim.engines.numpy.algebra import any_lane
from vsim.engines.numpy.findings import BatchFindings, Place
from vsim.engines.numpy.threads import HardwareThreads
from vsim.launch.arrays import Bools, Offsets
from vsim.semantics.algebra import Step
from vsim.semantics.registers import Layout


class BatchCallChecks:
    """What is looked at around the calls of a batch."""

    def __init__(self, findings: BatchFindings, private_address: int) -> None:
        self.findings, self.running, self.private_address = findings, findings.running, private_address
        self.stack_size = findings.dispatch.private_size
        self.blocks: Offsets = np.zeros(self.running.threads.count, np.int64)
        """The block of private memory that is the stack of each thread, from 1 on; 0 where that is not known yet."""

    def restart(self) -> None:
        """Other threads begin."""
        self.blocks[:] = 0

    def begin(self, activation: Activation, place: Place) -> None:
        """A function is called: note what it must keep."""
        self.running.carry_out()
        threads = self.running.threads
        activation.kept = KeptRegisters(place, {r.number: threads.predefined(r.number).copy() for r in KEPT})

    def returned(self, activation: Activation, rows: Bools) -> None:
        """Threads return from a function: report what is not as it was."""
        kept, threads = activation.kept, self.running.threads
        assert kept is not None
        for register in KEPT:
            old, new = kept.registers[register.number], threads.predefined(register.number)
            differs = (old[:, : register.size] != new[:, : register.size]).any(axis=1)
            self.findings.report_threads(register.code, kept.place, rows & differs, address=register.number)

    def behind(self, function: Function, layout: Layout, number: int, step: Step) -> Step:
        """A step, behind which a stack pointer that leaves its thread's block is reported if the step moves it."""
        if not (self.stack_size and moves_stack(function, layout, function.instructions[number])):
            return step

        def checked() -> object:
            moved = step()
            self._look(self.running.threads, (function, number))
            return moved

        return checked

    def _look(self, threads: HardwareThreads, place: Place) -> None:
        self.running.carry_out()
        rows = any_lane(self.running.activation.active)
        offsets = threads.predefined(STACK_POINTER).view(np.uint64)[:, 0].astype(np.int64) - self.private_address
        known = self.blocks if threads.rows is None else self.blocks[threads.rows]
        blocks = np.where(known == 0, offsets.view(np.uint64) // np.uint64(self.stack_size) + 1, known).astype(np.int64)
        self.blocks[threads.rows if threads.rows is not None else slice(None)] = np.where(rows, blocks, known)
        used = offsets - (blocks - 1) * self.stack_size
        outside = rows & ((used < 0) | (used > self.stack_size))
        self.findings.report_threads(MISPLACED_STACK, place, outside, address=STACK_POINTER, other=used)
