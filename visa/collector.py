"""Python's garbage collector and large syntax trees."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def collect_rarely() -> None:
    """Collect garbage only after 200,000 new objects instead of 700, for a process that runs one command.

    Loading modules makes tens of thousands of objects that stay; looking for garbage among them is a tenth of a start.
    """
    gc.set_threshold(200_000, 20, 20)


@contextmanager
def paused_collection() -> Iterator[None]:
    """No garbage collection meanwhile.

    A syntax tree is large and free of cycles, and walking it again and again takes longer than making it.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if not gc.get_freeze_count():
                # Into the oldest generation without looking at it: the next young collection would walk the whole tree.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
