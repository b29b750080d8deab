"""Findings of checks, made of the records that compiled code leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from visakit.language.program import Function
from vsim.checks.findings import Site, Who
from vsim.checks.kinds import KINDS, Instance, code_of, finding_of
from vsim.checks.shadow_machine import STORED
from vsim.checks.undefined_memory import UndefinedCheck
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.tables import Range
from vsim.engines.llvm.observers.launch import CompiledObserver
from vsim.engines.llvm.plan import LaunchPlan
from vsim.engines.llvm.support.findings import KEYED
from vsim.launch.arrays import Words, address_of
from vsim.launch.dispatch import Dispatch

LEAST_RECORDS, RECORDS_PER_INSTRUCTION = 256, 4
_ALL_BITS = (1 << 64) - 1


class Record(NamedTuple):
    """What was found at an instruction: see the record's fields in :mod:`abi`."""

    code: int
    site: int
    group: int
    order: int
    times: int
    thread: int
    lane: int
    epoch: int
    address: int
    other: int


class FoundRecords(CompiledObserver):
    """The block of a launch, with room for a few findings at each instruction of the module.

    Args:
        undefined: the check of undefined values, if it watches the launch.
    """

    compiled: Sequence[Function]
    """The functions of the compiled module by number."""

    def __init__(self, dispatch: Dispatch, undefined: UndefinedCheck | None = None) -> None:
        self.dispatch, self.undefined = dispatch, undefined
        self.functions = dispatch.image.module.all_functions
        instructions = sum(len(f.instructions) for f in self.functions)
        capacity = 1 << max(LEAST_RECORDS, RECORDS_PER_INSTRUCTION * instructions).bit_length()
        self.words: Words = np.zeros((cx.FINDINGS_RECORDS + capacity * cx.FINDING_SIZE) // 8, np.uint64)
        self.words[cx.FINDINGS_MASK // 8] = capacity - 1
        self.words[cx.FINDINGS_LIMIT // 8] = capacity // 2

    def prepare(self, engine: LaunchPlan) -> None:
        self.compiled = engine.kernel.functions
        engine.context[cx.FINDINGS // 8] = address_of(self.words)

    def ranges(self) -> list[Range]:
        return [(address_of(self.words), self.words.nbytes, True)]

    def records(self) -> Iterator[Record]:
        """What was found, in no order that means anything."""
        table = self.words[cx.FINDINGS_RECORDS // 8 :].reshape(-1, cx.FINDING_SIZE // 8)
        for row in table[table[:, 0] != 0].view(np.int64):
            yield Record(*(int(v) for v in row))

    def launch_end(self, error: Exception | None) -> None:
        """Add the findings to those of the launch."""
        assert self.dispatch.findings is not None
        numbers = {id(f): n for n, f in enumerate(self.functions)}
        for r in self.records():
            site = Site(numbers[id(self.compiled[r.site >> 32])], r.site & 0xFFFF_FFFF)
            who = Who(r.group, r.thread, r.lane, r.epoch)
            code, other = code_of(r.code & KEYED - 1), r.other & _ALL_BITS
            if self.undefined is not None and code == STORED:  # It depends on the end of the launch.
                self.undefined.note(site, who)
                continue
            if KINDS[code].other:
                other = Site(numbers[id(self.compiled[other >> 32])], other & 0xFFFF_FFFF).number
            instance = Instance(site, who, r.address & _ALL_BITS, other, r.times)
            self.dispatch.findings.add(finding_of(self.dispatch, code, instance))
        self.dispatch.findings.left_out += int(self.words[cx.FINDINGS_LEFT_OUT // 8])
