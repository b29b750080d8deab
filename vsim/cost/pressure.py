"""Register pressure: the bytes that a function's registers take at each instruction.

A register allocator gives a variable whole registers, or a place in a register that its alignment allows. So a variable
of a register or more takes whole registers; a smaller one takes its bytes, twice as many where its alignment is larger
than it, as parts between remain empty (the estimate of Intel's compiler). ``%r0``, which identifies a thread, occupies
a register until its last read, and so do arguments and results of calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from visakit.language.program import ARG, FIRST_VARIABLE, Function
from visakit.language.types import ALIGNMENT_BYTES, ALIGNMENTS
from visakit.objects.payload import round_up
from vsim.analysis.register_accesses import PAYLOAD_REGISTERS, R0, Bank, Register
from vsim.analysis.register_liveness import LiveRegisters, live_registers

_WHOLE = {ALIGNMENTS.index("GRF"), ALIGNMENTS.index("2GRF")}
"""Alignments that are registers, of whatever size these are."""


class LiveVariable(NamedTuple):
    """A variable that a function holds at its peak.

    Attributes:
        bytes: that it takes.
        declared: the line of its declaration; 0 if that is not known.
        definitions, uses: numbers of the instructions that write and read it.
        waits: whether it is held for lanes that wait alone; lanes that run do not need it.
        is_input: whether it is a part of the payload.
    """

    name: str
    bytes: int
    declared: int
    definitions: tuple[int, ...]
    uses: tuple[int, ...]
    waits: bool
    is_input: bool


class Pressure(NamedTuple):
    """The registers of a function.

    Attributes:
        held: bytes that a thread holds at each instruction.
        live: without registers that are held for waiting lanes alone.
        peak: the instruction with the most bytes held, the first of equals.
        flags: bits of predicates, and ``addresses`` elements of address variables, at their peaks.
    """

    function: Function
    grf_size: int
    registers: LiveRegisters
    held: tuple[int, ...]
    live: tuple[int, ...]
    peak: int
    flags: int
    addresses: int

    @property
    def peak_bytes(self) -> int:
        """Bytes at the peak."""
        return self.held[self.peak] if self.held else 0

    @property
    def peak_registers(self) -> int:
        """Registers at the peak, rounded up."""
        return -(-self.peak_bytes // self.grf_size)

    @property
    def live_peak_bytes(self) -> int:
        """Bytes at the peak of the registers that the running lanes need."""
        return max(self.live, default=0)

    def variables(self) -> list[LiveVariable]:
        """The variables that are held at the peak, the largest first."""
        if not self.held:
            return []
        found, pc = self.registers, self.peak
        live = set(found.among(found.live[pc]))
        inputs = {found.layout.root(i.index)[0] for i in self.function.inputs if not i.variable_class}
        rows = []
        for register in found.among(found.held[pc]):
            if register.file is Bank.GENERAL:
                rows.append(
                    LiveVariable(
                        self.function.variable_name(register.number),
                        footprint(self.function, register, self.grf_size),
                        _declared(self.function, register.number),
                        found.definitions.get(register, ()),
                        found.uses.get(register, ()),
                        register not in live,
                        register.number in inputs,
                    )
                )
        return sorted(rows, key=lambda row: -row.bytes)


def pressure(function: Function, grf_size: int) -> Pressure:
    """The register pressure of a function.

    Args:
        grf_size: bytes of a register.

    Raises:
        SimulationError: S021, an alias names itself.
    """
    found = live_registers(function, grf_size)
    sizes = [footprint(function, r, grf_size) if r.file is Bank.GENERAL else 0 for r in found.registers]
    held, live = _sums(found.held, sizes), _sums(found.live, sizes)
    peak = max(range(len(held)), key=lambda pc: held[pc]) if held else 0
    others = {file: [_elements(function, r, file) for r in found.registers] for file in Bank if file}
    most = {file: max(_sums(found.held, counts), default=0) for file, counts in others.items()}
    flags, addresses = most[Bank.PREDICATE], most[Bank.ADDRESS]
    return Pressure(function, grf_size, found, held, live, peak, flags, addresses)


def footprint(function: Function, register: Register, grf_size: int) -> int:
    """Bytes that a general register takes."""
    number = register.number
    if number == R0:
        return grf_size
    size = function.variable_size(number, grf_size)
    if number in PAYLOAD_REGISTERS:
        return _payload_size(function, number, grf_size)
    if size >= grf_size:
        return round_up(size, grf_size)
    code = function.variables[number - FIRST_VARIABLE].align if number >= FIRST_VARIABLE else 0
    alignment = grf_size if code in _WHOLE else min(ALIGNMENT_BYTES[code], grf_size)
    return min(2 * size, alignment) if size < alignment else size


def _payload_size(function: Function, number: int, grf_size: int) -> int:
    """Bytes of %arg or %retval that calls of a function, or it itself, use."""
    field, own = ("arg_grf", function.input_size) if number == ARG else ("ret_grf", function.return_size)
    counts = [i.args[field] for i in function.instructions if i.desc.flow.calls_function]
    most: int = max([own, *counts])
    return most * grf_size


def _elements(function: Function, register: Register, file: Bank) -> int:
    """Bits of a predicate, or elements of an address variable; 0 for a register of another file."""
    if register.file is not file:
        return 0
    if file is Bank.PREDICATE:
        return function.predicate_bits(register.number)
    return function.addresses[register.number].elements


def _sums(sets: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """The size of each of some sets, which change by few registers from one to the next."""
    found, total, before = [], 0, 0
    for now in sets:
        changed = now ^ before
        while changed:
            bit = changed & -changed
            size = sizes[bit.bit_length() - 1]
            total += size if now & bit else -size
            changed ^= bit
        found.append(total)
        before = now
    return tuple(found)


def _declared(function: Function, number: int) -> int:
    return function.variables[number - FIRST_VARIABLE].line if number >= FIRST_VARIABLE else 0
