"""What every launch asks of a kernel's instructions, in short (:class:`visakit.objects.image.KernelSummary`)."""

from __future__ import annotations

from visakit.binary.references import asks_for_ids, counts_threads
from visakit.isa.record import Flow
from visakit.language.program import Function
from visakit.objects.image import KernelSummary, LinkedImage
from vsim.analysis.atomics import order
from vsim.analysis.control_flow import may_repeat
from vsim.analysis.spin_loops import spins
from vsim.semantics.messages import flow_of


def summarize(image: LinkedImage, kernel: Function, pointers: frozenset[int]) -> KernelSummary:
    """The summary of a kernel.

    Args:
        pointers: places of pointers in its payload.

    Raises:
        SimulationError: S021, an alias names itself.
    """
    functions, grf_size = image.functions_of(kernel), image.grf_size
    waits_for_memory = any(spins(function, grf_size) for function in functions)
    atomics = order(functions, grf_size, pointers)
    calls = any(i.desc.flow.calls_function for i in kernel.instructions)
    return KernelSummary(
        instructions=len(kernel.instructions),
        repeats=may_repeat(kernel),
        has_barrier=any(i.desc.flow is Flow.BARRIER for i in kernel.instructions),
        waits_elsewhere=_waits_elsewhere(image, kernel, calls),
        spins=waits_for_memory,
        needs_order=waits_for_memory or atomics.counts,
        asks_for_ids=calls and any(asks_for_ids(function) for function in image.module.functions),
        counts_threads=counts_threads(kernel),
        calls=calls,
        apart=atomics.apart,
    )


def _waits_elsewhere(image: LinkedImage, kernel: Function, calls: bool) -> bool:
    """Whether threads wait for each other at named or split barriers, or in functions that the kernel calls."""
    grf_size = image.grf_size
    flows = {flow_of(i, grf_size) for i in kernel.instructions}
    if Flow.NAMED_BARRIER in flows or Flow.SIGNAL in flows:
        return True
    if not calls or not any(flow_of(i, grf_size).is_barrier for f in image.module.functions for i in f.instructions):
        return False
    from vsim.analysis.waiting import waiting_functions  # which few kernels need

    return any(f is not kernel for f in waiting_functions(image, kernel))
