"""The functions of OpenCL: each checks its parameters as the specification says, and calls methods of objects.

A function takes numbers, as its prototype has them; a pointer is one, too. It gives nothing where the status is all
that the program gets, else the object or address. Refusals are exceptions.
"""

from __future__ import annotations

from collections.abc import Callable

Call = Callable[..., int | None]
CALLS: dict[str, Call] = {}


def entry(function: Call) -> Call:
    """Decorator that registers a function of OpenCL under its name."""
    CALLS[function.__name__] = function
    return function


def load() -> dict[str, Call]:
    """All of them."""
    from visakit.opencl.calls import contexts, enqueue, images, kernels, memory, platforms, programs, svm  # noqa: F401

    return CALLS
