"""The output of ``visakit registers``: a table of kernels, or all about one of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import NotRequired, TypedDict

from visakit.language.source_lines import source_lines
from visakit.text.printer import FunctionPrinter
from vsim.cost.compiled import CompilerNumbers
from vsim.cost.pressure import LiveVariable
from vsim.cost.registers import KernelRegisters

_SHOWN = 24
"""Variables of the peak that are shown; JSON has all."""
_PLACES = 4
"""Definitions or uses of a variable that are shown."""


class VariableRow(TypedDict):
    """A variable that is held at the peak; lines are 0 where unknown."""

    name: str
    bytes: int
    declared: int
    definitions: list[int]
    uses: list[int]
    held_for_waiting_lanes: bool
    input: bool


class ModeRow(TypedDict):
    """A register mode; ``over`` are the bytes that are too many for it at the peak."""

    registers: int
    threads: int
    fits: bool
    over: int


class PlaceRow(TypedDict):
    """An instruction, and the bytes that are held there."""

    index: int
    line: int
    bytes: int
    live_bytes: int


class CompilerRow(TypedDict):
    """What the compiler reports; null where it does not."""

    registers: int | None
    spill_bytes: int | None
    private_bytes: int | None
    pressure: int | None


class RegisterRow(TypedDict):
    """The registers of a kernel or function."""

    name: str
    is_kernel: bool
    file: str
    platform: str
    simd: int
    register_bytes: int
    peak: PlaceRow
    peak_registers: int
    live_peak_bytes: int
    peak_source: str
    registers: int
    threads: int
    spill_bytes: int
    spill_dwords_per_lane: int
    spilled: list[str]
    flag_bits: int
    address_elements: int
    modes: list[ModeRow]
    variables: list[VariableRow]
    instructions: list[PlaceRow]
    compiler: NotRequired[CompilerRow]


def row_of(use: KernelRegisters) -> RegisterRow:
    """A kernel or function for JSON."""
    subject, found = use.subject, use.pressure
    function = subject.function
    places = [
        PlaceRow(index=pc, line=i.line, bytes=found.held[pc], live_bytes=found.live[pc])
        for pc, i in enumerate(function.instructions)
    ]
    nothing = PlaceRow(index=0, line=0, bytes=0, live_bytes=0)
    row = RegisterRow(
        name=function.name, is_kernel=function.is_kernel, file=subject.file, platform=subject.platform.name,
        simd=function.simd_size, register_bytes=found.grf_size, peak=places[found.peak] if places else nothing,
        peak_registers=found.peak_registers, live_peak_bytes=found.live_peak_bytes, peak_source=_source(use),
        registers=use.mode.registers, threads=use.mode.threads, spill_bytes=use.spills.bytes,
        spill_dwords_per_lane=use.spills.dwords(function.simd_size), spilled=list(use.spills.names),
        flag_bits=found.flags, address_elements=found.addresses,
        modes=[ModeRow(registers=m.registers, threads=m.threads, fits=m.fits, over=m.over) for m in use.modes],
        variables=[_variable_row(v) for v in found.variables()], instructions=places,
    )  # fmt: skip
    if subject.compiled is not None:
        said = subject.compiled
        row["compiler"] = CompilerRow(
            registers=said.registers,
            spill_bytes=said.spill_bytes,
            private_bytes=said.private_bytes,
            pressure=said.pressure,
        )
    return row


def _variable_row(variable: LiveVariable) -> VariableRow:
    return VariableRow(
        name=variable.name, bytes=variable.bytes, declared=variable.declared, definitions=list(variable.definitions),
        uses=list(variable.uses), held_for_waiting_lanes=variable.waits, input=variable.is_input,
    )  # fmt: skip


def _source(use: KernelRegisters) -> str:
    """The source line of the peak; empty where FILE and LOC do not say it."""
    places = source_lines(use.subject.function)
    place = places[use.pressure.peak] if places else None
    return str(place) if place else ""


def report(uses: Sequence[KernelRegisters], as_json: bool, whole: bool = False, listing: bool = False) -> str:
    """The report: JSON, or a table; of one kernel, or if it is asked for, all about it."""
    if as_json:
        return json.dumps({"kernels": [row_of(use) for use in uses]}, indent=1)
    if len(uses) == 1 or whole or listing:
        return "\n\n".join(details(use, listing) for use in uses)
    return table(uses)


# -- text --------------------------------------------------------------------------------------------------------


def table(uses: Sequence[KernelRegisters]) -> str:
    """A line for each kernel or function."""
    says = any(use.subject.compiled for use in uses)
    head = ["kernel", "platform", "SIMD", "peak", "of", "threads", "spills", "a lane", "line"]
    head += ["compiler: pressure", "of", "spills"] if says else []
    rows = [head, *(_cells(use, says) for use in uses)]
    files = {use.subject.file for use in uses}
    if len(files) > 1:
        for cells, file in zip(rows, ["file", *(use.subject.file for use in uses)], strict=True):
            cells.append(file)
    return _aligned(rows, "<<>>>>>>>" + (">>>" if says else "") + "<")


def _cells(use: KernelRegisters, says: bool) -> list[str]:
    function, found, spilled = use.subject.function, use.pressure, use.spills
    line = function.instructions[found.peak].line if function.instructions else 0
    cells = [
        function.name,
        use.subject.platform.name,
        str(function.simd_size),
        f"{found.peak_bytes / found.grf_size:.1f}",
    ]
    cells += [str(use.mode.registers), str(use.mode.threads), str(spilled.bytes)]
    cells += [str(spilled.dwords(function.simd_size)), str(line or "")]
    if says:
        said = use.subject.compiled or CompilerNumbers()
        cells += ["" if n is None else str(n) for n in (said.pressure, said.registers, said.spill_bytes)]
    return cells


def _aligned(rows: Sequence[Sequence[str]], sides: str) -> str:
    """Rows of cells under each other; ``sides`` has < or > for each column."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=False))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def details(use: KernelRegisters, listing: bool = False) -> str:
    """All about one kernel or function; with a listing, the bytes at each instruction."""
    return "\n".join(_details(use, listing))


def _details(use: KernelRegisters, listing: bool) -> Iterator[str]:
    subject, found = use.subject, use.pressure
    function = subject.function
    kind = "kernel" if function.is_kernel else "function"
    yield (
        f"{kind} '{function.name}' of {subject.file}: {subject.platform.name}, SIMD{function.simd_size}, "
        f"registers of {found.grf_size} bytes"
    )
    printer = FunctionPrinter(function)
    if function.instructions:
        source = _source(use)
        yield f"peak: {_registers(found.peak_bytes, found.grf_size)} at {_place(use, found.peak)}" + (
            f", {source}" if source else ""
        )
        yield f"    {printer.instruction(function.instructions[found.peak])}"
        waiting = found.peak_bytes - found.live[found.peak]
        if waiting:
            yield f"    {waiting:,} of these bytes are held for lanes that wait elsewhere"
    yield from _modes(use)
    yield from _spills(use)
    if found.flags or found.addresses:
        yield f"beside them: {found.flags} bits of predicates, {found.addresses} elements of addresses, at most"
    if subject.compiled is not None:
        yield from _compiler(use)
    yield from _variables(use)
    if listing:
        yield from _listing(use, printer)


def _registers(size: int, grf_size: int) -> str:
    return f"{size / grf_size:.1f} registers ({size:,} bytes)"


def _place(use: KernelRegisters, pc: int) -> str:
    line = use.subject.function.instructions[pc].line
    return f"line {line}" if line else f"instruction {pc}"


def _modes(use: KernelRegisters) -> Iterator[str]:
    for mode in use.modes:
        mark = "*" if mode.registers == use.mode.registers else " "
        state = "fits" if mode.fits else f"{mode.over:,} bytes too many"
        yield f"  {mark} {mode.registers:3} registers: {mode.threads:2} threads per EU, {state}"
    following = use.next_mode
    if following is not None and following.over:
        yield (
            f"{following.threads} threads per EU take {following.registers} registers: "
            f"{following.over:,} bytes must go from the peak"
        )


def _spills(use: KernelRegisters) -> Iterator[str]:
    spilled, lanes = use.spills, use.subject.function.simd_size
    if not spilled.bytes and not spilled.excess:
        yield "spills: none predicted"
        return
    names = ", ".join(spilled.names[:_SHOWN]) + (", ..." if len(spilled.names) > _SHOWN else "")
    yield f"spills: {spilled.bytes:,} bytes predicted, {spilled.dwords(lanes)} dwords a lane: {names}"


def _compiler(use: KernelRegisters) -> Iterator[str]:
    said = use.subject.compiled
    assert said is not None
    parts = [
        text.format(number)
        for number, text in (
            (said.registers, "{} registers"),
            (said.spill_bytes, "{:,} bytes of spills"),
            (said.private_bytes, "{:,} bytes of private memory"),
            (said.pressure, "{} registers before allocation"),
        )
        if number is not None
    ]
    if parts:
        yield f"Intel's compiler reports {', '.join(parts)}"


def _variables(use: KernelRegisters) -> Iterator[str]:
    variables = use.pressure.variables()
    if not variables:
        return
    instructions = use.subject.function.instructions
    has_lines = any(i.line for i in instructions)

    def places(numbers: Sequence[int]) -> str:
        shown = [str(instructions[n].line if has_lines else n) for n in numbers]
        rest = len(shown) - _PLACES
        return " ".join(shown[:_PLACES]) + (f" +{rest}" if rest > 0 else "")

    yield f"at the peak ({'lines' if has_lines else 'instructions'}):"
    rows = [["  bytes", "variable", "declared", "written", "read", ""]]
    rows += [_variable_cells(v, places) for v in variables[:_SHOWN]]
    yield _aligned(rows, "><><<<")
    if len(variables) > _SHOWN:
        rest = variables[_SHOWN:]
        yield f"  and {len(rest)} more of {sum(v.bytes for v in rest):,} bytes; --json shows all"


def _variable_cells(variable: LiveVariable, places: Callable[[Sequence[int]], str]) -> list[str]:
    written = places(variable.definitions)
    note = "held for waiting lanes" if variable.waits else ""
    return [
        f"{variable.bytes:,}", variable.name, str(variable.declared or ""),
        ("input " + written).strip() if variable.is_input else written, places(variable.uses), note,
    ]  # fmt: skip


def _listing(use: KernelRegisters, printer: FunctionPrinter) -> Iterator[str]:
    found = use.pressure
    yield ""
    yield "registers  line"
    for pc, i in enumerate(use.subject.function.instructions):
        here = ">" if pc == found.peak else " "
        yield f"{here}{found.held[pc] / found.grf_size:8.1f}  {i.line or '':4}  {printer.instruction(i)}"
