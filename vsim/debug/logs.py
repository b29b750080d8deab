"""Texts of log points: expressions in braces give their values."""

from __future__ import annotations

import re

from visakit.diagnostics import DebugError
from vsim.debug.expressions import parse
from vsim.debug.scope import Scope
from vsim.debug.values import shown_compact
from vsim.launch.arrays import Array

_PART = re.compile(r"\{([^{}]*)\}")


def log_text(text: str, scope: Scope, active: Array) -> str:
    """A text with the values of its expressions in one thread."""

    def value(match: re.Match[str]) -> str:
        try:
            return shown_compact(parse(match[1]).value(scope), 0, active)
        except DebugError as error:
            return f"<{error.diagnostics[0].message}>"

    return _PART.sub(value, text)
