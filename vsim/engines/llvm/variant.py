"""The variant of a kernel: every property of a launch that its compiled code depends on.

It is the key under which compiled code is kept, in memory and on disk. A property that lowering asks a launch for, and
that is no field here, would give a launch the code of another one.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from vsim.engines.llvm.host.surfaces import made_for
from vsim.launch.dispatch import Dispatch
from vsim.launch.threads import begins_rows, threads_in_flight, threads_together


class Variant(NamedTuple):
    """The properties of a launch that compiled code depends on, besides the image."""

    kernel: str
    simd: int
    grf_size: int
    full: bool
    """All lanes of every thread run when it begins."""
    row: int
    """Lanes in a row of consecutive local ids; 0 if that is not known."""
    begins_rows: bool
    """Such a row is a whole row of the group, which begins at local id 0."""
    transposed_row: int
    """The same if lanes went along y; 0 if they must not."""
    begins_transposed_rows: bool
    tiles: bool
    """Groups of several rows run one after the other, also with lanes along x."""
    local_id_rows: int
    """Dimensions of local ids in the payload."""
    counts: bool
    """Executions of instructions are counted."""
    counts_lanes: bool
    """Active lanes and the ways of branches are counted."""
    counts_messages: bool
    """Messages to memory are counted."""
    has_clocks: bool
    """Threads have clocks."""
    ordered: bool
    """A schedule gives the order of groups and threads."""
    round_robin: bool
    """The schedule switches threads at each access to memory."""
    has_barrier: bool
    surfaces: Hashable
    """Images and samplers (:func:`vsim.engines.llvm.host.surfaces.made_for`)."""
    checks: tuple[str, ...]
    """The checks that watch the launch, in alphabetical order."""
    exact: bool
    needs_order: bool
    """One worker runs it, as its results depend on the order of the groups."""
    lanes_may_wait: bool
    """The kernel may have had barriers of sub-groups that its text does not show."""
    threads: int
    """Threads of a group that the code may run at once."""

    @classmethod
    def of(cls, dispatch: Dispatch, full: bool, row: int, transposed_row: int) -> Variant:
        """The variant of a launch.

        Args:
            full, row, transposed_row: see :func:`vsim.engines.llvm.pipeline.translate`.

        Raises:
            Unsupported: the launch has more surfaces than compiled code can address.
        """
        checks, has_counts, counts_lanes, counts_messages, has_clocks = dispatch.observed
        return cls(
            kernel=dispatch.kernel.name,
            simd=dispatch.simd,
            grf_size=dispatch.grf_size,
            full=full,
            row=row,
            begins_rows=begins_rows(dispatch, row, False),
            transposed_row=transposed_row,
            begins_transposed_rows=begins_rows(dispatch, transposed_row, True),
            tiles=dispatch.goes_by_tiles,
            local_id_rows=dispatch.local_id_rows,
            counts=has_counts,
            counts_lanes=counts_lanes,
            counts_messages=counts_messages,
            has_clocks=has_clocks,
            ordered=dispatch.schedule is not None,
            round_robin=dispatch.is_round_robin,
            has_barrier=dispatch.has_barrier,
            surfaces=made_for(dispatch),
            checks=tuple(sorted(checks)),
            exact=dispatch.exact,
            needs_order=dispatch.needs_order,
            lanes_may_wait=dispatch.lanes_may_wait,
            threads=_threads_at_once(dispatch),
        )


def _threads_at_once(dispatch: Dispatch) -> int:
    """Threads of a group that the code for a launch may run at once."""
    if dispatch.has_barrier:
        return threads_together(dispatch)
    return threads_in_flight(dispatch) if dispatch.signature.summary.repeats else 1
