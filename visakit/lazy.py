"""Public names of a package that are loaded on first use, so that importing the package is cheap."""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # Commands load this before they handle interrupts (visakit.start).
    from collections.abc import Callable, Mapping


def lazy_attributes(package: str, places: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Args:
        places: by name where it is defined: ``module``, or ``module:name`` if it has another name there.
    """

    def find(name: str) -> object:
        place = places.get(name)
        if place is None:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module, _, attribute = place.partition(":")
        value: object = getattr(importlib.import_module(module), attribute or name)
        setattr(sys.modules[package], name, value)
        return value

    return find, lambda: sorted({*vars(sys.modules[package]), *places})
