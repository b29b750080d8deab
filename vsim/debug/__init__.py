"""A debugger of launches that also goes backwards: see docs/debugging.md, and :class:`vsim.debug.session.Session`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vsim.debug.session import Session as Session
    from vsim.debug.stops import Stop as Stop

_WHERE = {"Session": "vsim.debug.session", "Stop": "vsim.debug.stops"}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_WHERE[name]), name)
