"""What runs while native code is made: the reference engine, which may end first.

LLVM takes seconds for a large kernel, the reference engine less for a small launch of it. So where compiling takes
longer than a moment, the launch begins on the reference engine. If native code is ready before it ends, the memory is
put back as it was and the launch begins anew: nothing of it depends on how far the other had come.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vsim.engines.llvm.kernels import LEAST_INSTRUCTIONS
from vsim.launch.arrays import Bytes
from vsim.launch.dispatch import Dispatch
from vsim.memory.memory import Buffer

MAXIMUM_BYTES = 256 << 20
"""Memory beyond which putting it back costs more than it may gain."""
THREADS_AT_ONCE = 256
"""Hardware threads of a batch: few, so that an instruction takes microseconds and the end of compiling is seen soon."""


class NativeCodeIsReady(Exception):
    """The reference engine stopped, as native code can run the launch."""


class Snapshot:
    """The bytes of all memory that a launch may write, as they were."""

    def __init__(self, places: list[Bytes]) -> None:
        self.saved = [(place, place.copy()) for place in places]

    def restore(self) -> None:
        """Put them back."""
        for place, saved in self.saved:
            np.copyto(place, saved)


def _writable(dispatch: Dispatch) -> list[Bytes]:
    """The memory that a launch may write: each place once."""
    surfaces = dispatch.all_surfaces
    images = [s for s in surfaces if not isinstance(s, Buffer)]
    buffers = {*dispatch.memory.slots.values(), *(s for s in surfaces if isinstance(s, Buffer))}
    places = [b.data for b in buffers if b.writable] + [i.bytes for i in images]
    found = {(int(p.__array_interface__["data"][0]), p.nbytes): p for p in places if p.flags.writeable}
    return list(found.values())


def overtake(dispatch: Dispatch, max_seconds: float | None, is_ready: Callable[[], bool]) -> bool:
    """Run a launch on the reference engine until native code is ready; whether it came to its end.

    A launch whose result depends on the order of its groups waits for native code, so that it is the same every time;
    so do launches with a schedule or observers, and those over much memory.

    Raises:
        SimulationError: the program did something without a defined result, or took too long.
    """
    from vsim.engines.numpy.engine import run

    if (
        dispatch.instruction_count < LEAST_INSTRUCTIONS
        or dispatch.needs_order
        or dispatch.schedule
        or dispatch.is_observed
    ):
        return False
    places = _writable(dispatch)
    if sum(p.nbytes for p in places) > MAXIMUM_BYTES:
        return False
    snapshot = Snapshot(places)

    def look() -> None:
        if is_ready():
            raise NativeCodeIsReady

    try:
        run(dispatch, max_seconds, look, THREADS_AT_ONCE)
    except NativeCodeIsReady:
        snapshot.restore()
        return False
    return True
