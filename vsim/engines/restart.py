"""Launches that begin anew: on other code, with the memory that they may write as it was."""

from __future__ import annotations

import numpy as np

from vsim.launch.arrays import Bytes, address_of
from vsim.launch.dispatch import Dispatch
from vsim.memory.memory import Buffer

MAXIMUM_BYTES = 256 << 20
"""Memory beyond which putting it back costs more than it may gain."""


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
    found = {(address_of(p), p.nbytes): p for p in places if p.flags.writeable}
    return list(found.values())


def must_wait(dispatch: Dispatch) -> bool:
    """Whether a launch cannot begin anew: its order counts, or it is observed."""
    return bool(dispatch.needs_order or dispatch.schedule or dispatch.is_observed)


def snapshot_of(dispatch: Dispatch) -> Snapshot | None:
    """The memory that a launch may write; None if it is too much."""
    places = _writable(dispatch)
    return None if sum(p.nbytes for p in places) > MAXIMUM_BYTES else Snapshot(places)
