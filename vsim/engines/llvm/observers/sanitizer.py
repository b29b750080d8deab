"""The memory that sanitized code (``passes/sanitize.py``) may access in a launch, and the reports that it makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from visakit.diagnostics import Diagnostic, SimulationError
from visakit.language.program import Function
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.tables import Range
from vsim.engines.llvm.observers.launch import CompiledObserver
from vsim.engines.llvm.passes.sanitize import SITE_BITS
from vsim.engines.llvm.plan import LaunchPlan
from vsim.launch.arrays import Array, Words, address_of
from vsim.launch.dispatch import Dispatch
from vsim.memory.images import SurfaceImage

SINK_BYTES = 64 << 20
"""Memory that forbidden accesses get instead: more than the frame of any thread takes."""


class Sanitizer(CompiledObserver):
    """The memory of one launch, as a list of addresses.

    Args:
        slots: the table of slots of the address space.
        others: what its other observers have it touch.
    """

    def __init__(self, dispatch: Dispatch, plan: LaunchPlan, slots: Words, others: Sequence[Range]) -> None:
        self.dispatch, self.functions = dispatch, plan.kernel.functions
        ranges = [*_of_plan(dispatch, plan), _range(slots, False), *_of_arguments(dispatch), *others]
        self.allowed = np.array([tuple(map(int, r)) for r in ranges], np.uint64)
        self.sink = np.zeros(SINK_BYTES, np.uint8)
        self.state: Words = np.zeros(cx.GUARD_WORDS, np.uint64)
        self.state[cx.GUARD_COUNT // 8] = len(self.allowed)
        self.state[cx.GUARD_RANGES // 8] = address_of(self.allowed)
        self.state[cx.GUARD_CONTEXT // 8] = address_of(plan.context)
        self.state[cx.GUARD_SINK // 8] = -(-address_of(self.sink) // cx.ARENA_ALIGN) * cx.ARENA_ALIGN
        guard = plan.kernel.native.guard
        assert guard is not None
        guard(address_of(self.state))

    def launch_end(self, error: Exception | None) -> None:
        """Look what code did.

        Raises:
            SimulationError: S090, it would have touched memory that is not its own.
        """
        if self.state[cx.GUARD_FLAG // 8]:
            raise _violation(self.dispatch, self.functions, self.state)


def _range(array: Array, writable: bool) -> Range:
    return address_of(array), array.nbytes, writable


def _of_plan(dispatch: Dispatch, plan: LaunchPlan) -> Iterator[Range]:
    """What all launches of a plan share."""
    yield _range(plan.context, True)
    yield _range(plan.surfaces, False)
    yield from (_range(array, False) for array in plan.keep)
    yield from (_range(payload, False) for _, payload in plan.payloads)
    for worker in plan.workers:
        yield _range(worker.block, True)
        yield address_of(worker.slm), dispatch.slm_room, True
        if dispatch.watches_undefined:
            yield int(worker.block[cx.WORKER_SLM_UNDEFINED // 8]), dispatch.slm_size, True
        yield _range(worker.scratch, True)
        yield from (_range(array, True) for array in (worker.arena, worker.handles) if array is not None)


def _of_arguments(dispatch: Dispatch) -> Iterator[Range]:
    """Buffers and images."""
    for buffer in dict.fromkeys(dispatch.memory.slots.values()):
        yield buffer.host, buffer.room, not buffer.read_only
    for surface in dispatch.all_surfaces:
        if isinstance(surface, SurfaceImage):
            yield _range(surface.array, surface.array.flags.writeable)
        else:
            yield surface.host, surface.room, not surface.read_only


def _violation(dispatch: Dispatch, functions: Sequence[Function], state: Words) -> SimulationError:
    """The error for the violation in the state."""
    place, size, write, site = (
        int(state[field // 8]) for field in (cx.GUARD_ADDRESS, cx.GUARD_SIZE, cx.GUARD_WRITE, cx.GUARD_SITE)
    )
    number, instruction = site >> SITE_BITS, (site & ((1 << SITE_BITS) - 1)) - 1
    function = functions[number]
    what = f"compiled code would have {'written' if write else 'read'} {size} bytes at {place:#x}"
    message, span = f"{what}, which is not memory of its launch, around its instructions in '{function.name}'", None
    if instruction >= 0:
        from visakit.text.printer import FunctionPrinter

        text = FunctionPrinter(function).instruction(function.instructions[instruction])
        message = (
            f"{what}, which is not memory of its launch, by '{text}' (instruction {instruction} of '{function.name}')"
        )
        span = dispatch.image.span(function, function.instructions[instruction].line)
    return SimulationError(Diagnostic("S090", message, span, "this is a bug of the simulator: please report it"))
