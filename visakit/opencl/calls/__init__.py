"""The functions of OpenCL: each checks its parameters as the specification says, and calls methods of objects.

A function takes numbers, as its prototype has them; a pointer is one, too, and a handle comes as its object. It gives
nothing where the status is all that the program gets, else the object or address. Refusals are exceptions.
"""

from __future__ import annotations

from visakit.runtime.calls import Call, ServedCalls

CALLS = ServedCalls(lambda kind, handle: kind.find(handle))
entry, also = CALLS.entry, CALLS.also


def load() -> dict[str, Call]:
    """All of them."""
    from visakit.opencl.calls import (  # noqa: F401
        contexts,
        enqueue,
        images,
        kernels,
        memory,
        platforms,
        programs,
        references,
        svm,
    )  # fmt: skip

    return CALLS
