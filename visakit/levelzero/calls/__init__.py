"""The functions of Level Zero: each checks its parameters as the specification says, and calls methods of objects.

A function takes numbers, as its prototype has them; a pointer is one, too. Refusals are exceptions.
"""

from __future__ import annotations

from collections.abc import Callable

Call = Callable[..., int | None]
CALLS: dict[str, Call] = {}


def entry(function: Call) -> Call:
    """Decorator that registers a function of Level Zero under its name."""
    CALLS[function.__name__] = function
    return function


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
        sysman,
        virtual_memory,
    )  # fmt: skip

    return CALLS
