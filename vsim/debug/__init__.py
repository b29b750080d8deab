"""A debugger of launches that also goes backwards: see docs/debugging.md, and :class:`vsim.debug.session.Session`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from visakit.lazy import lazy_attributes

if TYPE_CHECKING:
    from vsim.debug.session import Session as Session
    from vsim.debug.stops import Stop as Stop

__getattr__, __dir__ = lazy_attributes(__name__, {"Session": "vsim.debug.session", "Stop": "vsim.debug.stops"})
