"""Python's garbage collector and large syntax trees."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

FEW = 20_000
"""Objects that the next young collection may walk: two milliseconds."""
LEAST_OLD = 500_000
"""Objects that are moved to the oldest generation before one looks for garbage there."""


def collect_rarely() -> None:
    """Collect garbage only after 200,000 new objects instead of 700, for a process that runs one command.

    Loading modules makes tens of thousands of objects that stay; looking for garbage among them is a tenth of a start.
    """
    gc.set_threshold(200_000, 20, 20)


class OldObjects:
    """Counts objects that were moved to the oldest generation, and collects garbage there when it is time.

    Python runs a full collection only when its other collections have moved there as many objects as a quarter of the
    existing ones. It does not count objects that ``freeze`` and ``unfreeze`` move, so cycles among them would never be
    freed.
    """

    def __init__(self) -> None:
        self.moved = 0
        """Objects since the last look."""
        self.limit = LEAST_OLD

    def take(self, count: int) -> None:
        """Move all objects, of which ``count`` are new, or collect garbage if it is time."""
        if self.moved < self.limit:
            gc.freeze()
            gc.unfreeze()
            self.moved += count
            return
        gc.collect()
        self.moved, self.limit = 0, max(LEAST_OLD, len(gc.get_objects()) // 4)


_OLD = OldObjects()


@contextmanager
def paused_collection() -> Iterator[None]:
    """Pause the garbage collector.

    A syntax tree is large and walking it again and again takes longer than making it. What a launch prepares is large,
    too, and is gone after it, but Python counts it as objects that live long, and would look at all of a program's.
    """
    collecting = gc.isenabled()
    before = gc.get_count()[0]
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            made = gc.get_count()[0] - before
            if made > FEW and not gc.get_freeze_count():
                # The next young collection would walk the whole tree.
                _OLD.take(made)
            gc.enable()
