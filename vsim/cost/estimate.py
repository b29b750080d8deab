"""What Intel's compiler assumes of a kernel: latencies of its scheduler along the executed instructions, and the costs
of loops that it writes into ze_info (``IGC_EnableKernelCostInfo=1``).

Neither is a measurement. The *critical path* is the time that one thread takes alone, if it issues its instructions in
the order of the text and waits for operands as long as the scheduler assumes; it waits at the end of a block for
nothing. The compiler's own instructions and their order are others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from visakit.isa.enums import LSC_CACHES
from visakit.isa.record import Flow
from visakit.language.operands import Address, Predicate
from visakit.language.program import Function, Instruction
from visakit.objects.yaml_lines import Tree
from vsim.analysis.control_flow import ControlFlow, control_flow
from vsim.analysis.register_accesses import Accesses, Register
from vsim.cost.constants import assumed_by_compiler
from vsim.profile.counts import FunctionCounts
from vsim.profile.pipes import pipe_of
from vsim.semantics.registers import layout_of

_MESSAGES = {
    "SEND.gateway": "latency of a barrier", "SEND.sampler": "latency of a sampler",
    "SEND.hdc": "latency of the older data port", "SEND.tgm": "latency of a typed load from L3",
    "SEND.ugm": "latency of a load from L3",
}  # fmt: skip
_WIDE = 16


def latency(function: Function, i: Instruction, grf_size: int) -> int:
    """Cycles from the issue of an instruction to the moment at which its results can be read, as the scheduler has it.

    Directives take none.
    """
    pipe, args = pipe_of(function, i, grf_size), i.args
    lanes = args["exec"].size if "exec" in args else 1
    if not pipe:
        return 0
    if pipe == "SEND.ugm" and args.get("l1") == LSC_CACHES["ca"]:
        return assumed_by_compiler("latency of a load from L1")
    if pipe.startswith("SEND"):
        local = f"latency of local memory {'at SIMD32' if lanes > _WIDE else 'up to SIMD16'}"
        return assumed_by_compiler(local if pipe == "SEND.slm" else _MESSAGES.get(pipe, "latency of another message"))
    if pipe == "XMX":
        return assumed_by_compiler("latency of a systolic product of one row") + int(args["count"]) - 1
    if pipe == "CONTROL":
        return assumed_by_compiler("latency of a branch")
    name = "latency of mathematics" if pipe == "EM" else "latency of arithmetic"
    if pipe != "EM" and isinstance(args.get("dst"), (Predicate, Address)):
        return assumed_by_compiler("latency of predicates and addresses")
    more = f"{name}, more at SIMD{lanes}"
    return assumed_by_compiler(name) + (assumed_by_compiler(more) if lanes >= _WIDE else 0)


def issue_cycles(function: Function, i: Instruction, grf_size: int) -> int:
    """Cycles in which an instruction keeps its thread from issuing another one, as the scheduler has it."""
    pipe = pipe_of(function, i, grf_size)
    if not pipe:
        return 0
    lanes = i.args["exec"].size if "exec" in i.args else 1
    passes = 1 if pipe.startswith("SEND") or pipe == "CONTROL" else max(1, lanes * 4 // grf_size)
    return passes * assumed_by_compiler(
        "cycles to issue mathematics" if pipe == "EM" else "cycles to issue an instruction"
    )


def block_cycles(function: Function, flow: ControlFlow, grf_size: int) -> dict[int, int]:
    """For each block of a function the cycles until its last instruction has been issued."""
    accesses = Accesses(function, layout_of(function, grf_size))
    found = {}
    for start, end in flow.blocks():
        now, ready = 0, dict[Register, int]()
        for pc in range(start, end):
            i = function.instructions[pc]
            own = list(accesses.of(i))
            now = max([now, *(ready.get(access.register, 0) for access in own)])
            done = now + latency(function, i, grf_size)
            now += issue_cycles(function, i, grf_size)
            for access in own:
                if access.writes:
                    ready[access.register] = max(done, ready.get(access.register, 0))
        found[start] = now
    return found


def critical_path(counts: FunctionCounts, grf_size: int, threads: int) -> float:
    """Cycles that a thread takes alone, on average over the threads: blocks as often as they were executed."""
    flow = control_flow(counts.function)
    cycles = block_cycles(counts.function, flow, grf_size)
    total = sum(int(counts.executions[start]) * cycles[start] for start in flow.starts)
    return total / max(1, threads)


class CompiledLoop(NamedTuple):
    """A loop, or the body of the kernel, in the compiler's cost of a kernel; the loops in it follow it.

    Attributes:
        cycles, loaded, stored: of one iteration without the loops in it, in cycles and bytes.
        loops: directly in it.
    """

    cycles: int
    loaded: int
    stored: int
    loops: int


class KernelCost(NamedTuple):
    """The compiler's cost of a kernel: the body, then the loops in the order of the text, outer ones first."""

    loops: tuple[CompiledLoop, ...]

    def cycles(self, trips: Mapping[int, float]) -> float:
        """Cycles of a thread, with the trips of each loop by its number; the body is number 0."""
        return sum(loop.cycles * trips.get(number, 0.0) for number, loop in enumerate(self.loops))


def kernel_cost(tree: Tree, name: str) -> KernelCost | None:
    """The cost of a kernel in ze_info; None if the compiler was not asked for it."""
    for entry in tree.get("kernels_cost_info") or []:
        if isinstance(entry, dict) and entry.get("name") == name:
            costs = entry.get("Kcm_loop_costs") or entry.get("kcm_loop_costs")
            rows = [row for row in costs if isinstance(row, dict)] if isinstance(costs, list) else []
            keys = ("cycle", "bytes_loaded", "bytes_stored", "num_loops")
            values = [[n for key in keys if isinstance(n := row.get(key), int) and n >= 0] for row in rows]
            if rows and all(len(row) == len(keys) for row in values):
                return KernelCost(tuple(CompiledLoop(*row) for row in values))
    return None


def loop_headers(flow: ControlFlow) -> list[int]:
    """The first instructions of the loops of a function's main part, in the order of the text."""
    return sorted({target for source, target in flow.backward if source < flow.main_end})


def exact_trips(counts: FunctionCounts, cost: KernelCost, threads: int) -> dict[int, float] | None:
    """How often a thread ran the body and each loop of the compiler's cost, on average; None if the text has other
    loops than the compiler had when it wrote them.
    """
    flow = control_flow(counts.function)
    headers = loop_headers(flow)
    if len(headers) != len(cost.loops) - 1:
        return None
    own = {n: int(counts.executions[pc]) / max(1, threads) for n, pc in enumerate(headers, 1)}
    return {0: 1.0, **own}


def has_barrier(function: Function) -> bool:
    """Whether threads of a group meet in a function."""
    return any(i.desc.flow is Flow.BARRIER or i.desc.flow.is_barrier for i in function.instructions)
