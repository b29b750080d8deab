"""The output of ``vsim --cost PLATFORM``: text, and rows for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vsim.cost.constants import Constant
from vsim.cost.costs import KernelCosts
from vsim.cost.floor import PipeFloor


def cost_text(costs: Sequence[KernelCosts]) -> str:
    """The costs of kernels for people."""
    return "".join("\n".join(_lines(one)) + "\n" for one in costs)


def _lines(costs: KernelCosts) -> Iterator[str]:
    launches = sum(1 for _ in costs.profile.launches)
    yield f"cost of '{costs.profile.kernel}' on {costs.platform.name}, {launches} launch{'es' if launches > 1 else ''}"
    yield f"  occupancy: {_occupancy(costs)}"
    yield f"  roofline: {_roofline(costs)}"
    bound = f", by {costs.floor.bound} ({costs.floor.mark})" if costs.floor.bound else ""
    yield f"  floor: no fewer than {_number(costs.floor.cycles)} cycles{bound}"
    rows = [["pipe", "work", "", "cycles", "constants"], *map(_cells, costs.floor.pipes)]
    widths = [max(len(row[n]) for row in rows) for n in range(4)]
    for pipe, work, unit, cycles, mark in rows:
        cells = f"{pipe:{widths[0]}}  {work:>{widths[1]}} {unit:{widths[2]}}  {cycles:>{widths[3]}}  {mark}"
        yield f"    {cells.rstrip()}"
    yield from _assumed(costs)
    yield from _unknown(costs)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.2f}"


def _cells(pipe: PipeFloor) -> list[str]:
    cycles = "unknown" if pipe.cycles is None else _number(pipe.cycles)
    return [pipe.name, _number(pipe.work), pipe.unit, cycles, pipe.mark]


def _occupancy(costs: KernelCosts) -> str:
    found = costs.occupancy
    text = f"{found.threads} threads per EU with {costs.registers.mode.registers} registers"
    if found.groups is None or found.share is None:
        return text
    of = f"{100 * found.share:.0f}% of its threads"
    return f"{text}; a core holds {found.groups} groups, {of}, limited by {found.limited_by}"


def _roofline(costs: KernelCosts) -> str:
    found = costs.roofline
    text = f"{found.operations:,} operations of floats, {found.bytes:,} bytes"
    if found.intensity is not None:
        text += f", {found.intensity:.3g} a byte"
    if found.ridge is not None:
        text += f"; the device is balanced at {found.ridge:.3g}"
    return text


def _assumed(costs: KernelCosts) -> Iterator[str]:
    yield "  assumptions of Intel's compiler, no measurements:"
    yield f"    {_number(costs.path)} cycles for a thread alone, by its scheduler's latencies in the order of the text"
    if costs.loops is None:
        return
    if costs.loop_cycles is None:
        yield f"    {len(costs.loops.loops) - 1} loops in ze_info; the text has others, so that their trips are unknown"
        return
    yield f"    {_number(costs.loop_cycles)} cycles for a thread, by its costs of loops in ze_info and the exact trips"


def _unknown(costs: KernelCosts) -> Iterator[str]:
    """Costs without published numbers, and costs that were not counted."""
    missing = sorted({one.name for p in costs.floor.pipes for one in p.constants if one.value is None})
    if missing:
        yield f"  unknown of {costs.platform.name}: {', '.join(missing)}"
    if not costs.profile.buffers:
        yield "  not counted: traffic of memory; --profile-detail counts it"


# -- JSON --------------------------------------------------------------------------------------------------------


def cost_row(costs: KernelCosts) -> dict[str, object]:
    """The costs of a kernel for JSON; null is unknown."""
    found, line = costs.occupancy, costs.roofline
    constants = {one for pipe in costs.floor.pipes for one in pipe.constants}
    return {
        "kernel": costs.profile.kernel,
        "platform": costs.platform.name,
        "occupancy": {
            "registers": costs.registers.mode.registers,
            "threads": found.threads,
            "groups": found.groups,
            "share": found.share,
            "limited_by": found.limited_by,
        },
        "roofline": {
            "operations": line.operations,
            "bytes": line.bytes,
            "peak_operations_per_clock": line.peak,
            "bytes_per_clock": line.bandwidth,
        },
        "floor": {
            "cycles": costs.floor.cycles,
            "bound": costs.floor.bound,
            "mark": costs.floor.mark,
            "pipes": [
                {"name": p.name, "work": p.work, "unit": p.unit, "cycles": p.cycles, "mark": p.mark}
                for p in costs.floor.pipes
            ],
        },
        "compiler": {"critical_path": costs.path, "loop_costs": costs.loop_cycles},
        "constants": [_constant_row(one) for one in sorted(constants, key=lambda one: one.name)],
    }


def _constant_row(one: Constant) -> dict[str, object]:
    return {"name": one.name, "value": one.value, "mark": one.mark, "source": one.source}
