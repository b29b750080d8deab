"""Spills: the variables that go to memory where a function holds more registers than its mode has.

The prediction colours nothing. Where the pressure is higher than what allocation leaves, it drops the variable that
saves most bytes for its accesses, which loops multiply, from everywhere but its own instructions, until the rest fits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from visakit.objects.payload import round_up
from vsim.analysis.control_flow import control_flow
from vsim.analysis.register_accesses import PAYLOAD_REGISTERS, Bank, Register
from vsim.cost.pressure import Pressure, footprint

RESERVED = 1
"""Registers of a mode that hold no variables: one for the header of messages to spilled memory. Assumed, from what
Intel's compiler left unused where it spilled."""
_LOOP = 10
"""How often a loop is assumed to run, as compilers assume it."""
_DWORD = 4


class Spills(NamedTuple):
    """Predicted spills of a function with a number of registers.

    Attributes:
        bytes: of the thread's memory that spilled variables take.
        names: of these variables.
        excess: bytes at the peak for which there is no register.
    """

    bytes: int
    names: tuple[str, ...]
    excess: int

    def dwords(self, lanes: int) -> int:
        """Dwords of each lane."""
        return -(-self.bytes // (_DWORD * max(1, lanes)))


def room(registers: int, grf_size: int) -> int:
    """Bytes that variables can take in a mode."""
    return (registers - RESERVED) * grf_size


def spills(found: Pressure, registers: int) -> Spills:
    """The predicted spills of a function in a mode with a number of registers."""
    limit, grf = room(registers, found.grf_size), found.grf_size
    held = list(found.held)
    excess = max(0, found.peak_bytes - limit)
    weights = _weights(found)
    spilled: list[Register] = []
    over = [pc for pc, size in enumerate(held) if size > limit]
    while over:
        worst = max(over, key=lambda pc: held[pc])
        register = _victim(found, worst, spilled, weights)
        if register is None:
            break
        spilled.append(register)
        _drop(found, register, held, grf)
        over = [pc for pc in over if held[pc] > limit]
    sizes = [round_up(found.function.variable_size(r.number, grf), grf) for r in spilled]
    return Spills(sum(sizes), tuple(found.function.variable_name(r.number) for r in spilled), excess)


def _weights(found: Pressure) -> dict[Register, float]:
    """How often each register is accessed, as loops are assumed to run."""
    depths = _depths(found)
    registers = found.registers
    return {
        r: float(
            sum(_LOOP ** depths[pc] for known in (registers.definitions, registers.uses) for pc in known.get(r, ()))
        )
        for r in registers.registers
    }


def _depths(found: Pressure) -> list[int]:
    """How many loops are around each instruction: branches back over it."""
    flow = control_flow(found.function)
    changes = [0] * (flow.end + 1)
    for source, target in flow.backward:
        changes[target] += 1
        changes[source + 1 if source < flow.end else flow.end] -= 1
    depths, depth = [], 0
    for change in changes:
        depth += change
        depths.append(min(depth, 6))
    return depths


def _victim(found: Pressure, pc: int, spilled: Sequence[Register], weights: dict[Register, float]) -> Register | None:
    """The register whose spill saves most at an instruction for its accesses; None if all are needed there."""
    registers = found.registers
    candidates = [
        r
        for r in registers.among(registers.held[pc])
        if r.file is Bank.GENERAL
        and r.number not in PAYLOAD_REGISTERS
        and r not in spilled
        and not _is_accessed(registers.definitions.get(r, ()), pc)
        and not _is_accessed(registers.uses.get(r, ()), pc)
    ]
    size = {r: footprint(found.function, r, found.grf_size) for r in candidates}
    return min(candidates, key=lambda r: (weights[r] / max(1, size[r]), -size[r], r), default=None)


def _is_accessed(instructions: Sequence[int], pc: int) -> bool:
    at = bisect_right(instructions, pc)
    return at > 0 and instructions[at - 1] == pc


def _drop(found: Pressure, register: Register, held: list[int], grf_size: int) -> None:
    """Take a register away but for the instructions that access it."""
    registers = found.registers
    bit, size = 1 << registers.registers.index(register), footprint(found.function, register, grf_size)
    own = {*registers.definitions.get(register, ()), *registers.uses.get(register, ())}
    for pc, some in enumerate(registers.held):
        if some & bit and pc not in own:
            held[pc] -= size
