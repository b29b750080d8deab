"""The functions of Level Zero: each checks its parameters as the specification says, and calls methods of objects.

A function takes numbers, as its prototype has them; a pointer is one, too, and a handle comes as its object. Refusals
are exceptions.
"""

from __future__ import annotations

from visakit.levelzero.parameters import find
from visakit.runtime.calls import Call, ServedCalls

CALLS = ServedCalls(find)
entry, also = CALLS.entry, CALLS.also


def load() -> dict[str, Call]:
    """All of them."""
    from visakit.levelzero.calls import (  # noqa: F401
        contexts,
        copies,
        devices,
        drivers,
        events,
        images,
        kernels,
        launches,
        lists,
        memory,
        modules,
        properties,
        sysman,
        virtual_memory,
    )  # fmt: skip

    return CALLS
