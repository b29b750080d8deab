"""What checks find while compiled code runs: the block of records that it fills, and findings made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from visakit.language.program import Function, Module
from vsim.checks.findings import Site, Who
from vsim.checks.kinds import KINDS, Instance, code_of, finding_of, number_of
from vsim.checks.undefined import STORED
from vsim.checks.undefined_memory import UndefinedCheck
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.driver import axes
from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.support.templates import fill
from vsim.launch.arrays import Words
from vsim.launch.dispatch import Dispatch

ARGUMENTS = ("code", "site", "thread", "lane", "epoch", "address", "other", "times")
"""What ``record_finding`` is told, as i64; the work-group the worker knows."""
RECORD_FINDING = f"declare void @record_finding(ptr, ptr, {', '.join(['i64'] * len(ARGUMENTS))})"
MEET = "declare void @meet(ptr, ptr, i64, i64)"
"""What tells which instruction a thread comes to the group's barrier with: its number, and the thread's."""
KEYED = 1 << 32
"""Added to a code whose findings differ by another number."""
LEAST_RECORDS, RECORDS_PER_INSTRUCTION = 256, 4
_STORED = {
    "group": cx.FINDING_GROUP,
    "order": cx.FINDING_ORDER,
    "thread": cx.FINDING_THREAD,
    "lane": cx.FINDING_LANE,
    "epoch": cx.FINDING_EPOCH,
    "address": cx.FINDING_ADDRESS,
    "other": cx.FINDING_OTHER,
}
_ALL_BITS = (1 << 64) - 1


def keyed_number_of(code: str) -> int:
    """The number of a code, which says, too, whether findings with another second number are others."""
    return number_of(code) + (KEYED if KINDS[code].other else 0)


@cache
def recorder() -> str:
    """The module of ``record_finding``."""
    stores = [
        fill("findings", "store_field", name=name, n=n, offset=at) for n, (name, at) in enumerate(_STORED.items())
    ]
    arguments = ", ".join(f"i64 %{name}" for name in ARGUMENTS)
    places = {**axes("COUNTS", cx.COUNTS), **axes("WORKER_GROUP", cx.WORKER_GROUP)}
    record = fill("findings", "record_finding", arguments=arguments, stores="\n".join(stores), **places)
    return module([record, fill("findings", "meet", code=keyed_number_of("K022"))], {})


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


class FoundRecords:
    """The block of a launch, with room for a few findings at each instruction of the module."""

    def __init__(self, image_module: Module) -> None:
        self.functions = image_module.all_functions
        instructions = sum(len(f.instructions) for f in self.functions)
        capacity = 1 << max(LEAST_RECORDS, RECORDS_PER_INSTRUCTION * instructions).bit_length()
        self.words: Words = np.zeros((cx.FINDINGS_RECORDS + capacity * cx.FINDING_SIZE) // 8, np.uint64)
        self.words[cx.FINDINGS_MASK // 8] = capacity - 1
        self.words[cx.FINDINGS_LIMIT // 8] = capacity // 2

    def records(self) -> Iterator[Record]:
        """What was found, in no order that means anything."""
        table = self.words[cx.FINDINGS_RECORDS // 8 :].reshape(-1, cx.FINDING_SIZE // 8)
        for row in table[table[:, 0] != 0].view(np.int64):
            yield Record(*(int(v) for v in row))

    def write_to(
        self, dispatch: Dispatch, compiled: Sequence[Function], undefined: UndefinedCheck | None = None
    ) -> None:
        """Report the findings to the launch; ``compiled`` are the functions of the compiled module by number.

        Args:
            undefined: the check of undefined values, if it watches the launch.
        """
        assert dispatch.findings is not None
        numbers = {id(f): n for n, f in enumerate(self.functions)}
        for r in self.records():
            site = Site(numbers[id(compiled[r.site >> 32])], r.site & 0xFFFF_FFFF)
            who = Who(r.group, r.thread, r.lane, r.epoch)
            code, other = code_of(r.code & KEYED - 1), r.other & _ALL_BITS
            if undefined is not None and code == STORED:  # The final contents decide.
                undefined.note(site, who)
                continue
            if KINDS[code].other:
                other = Site(numbers[id(compiled[other >> 32])], other & 0xFFFF_FFFF).number
            instance = Instance(site, who, r.address & _ALL_BITS, other, r.times)
            dispatch.findings.add(finding_of(dispatch, code, instance))
        dispatch.findings.left_out += int(self.words[cx.FINDINGS_LEFT_OUT // 8])
