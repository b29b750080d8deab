"""A rule that a module breaks, without a place in a text."""

from __future__ import annotations

from typing import NamedTuple


class Violation(NamedTuple):
    """A broken rule: code, message, hint and the field whose operand is guilty (empty for the whole instruction)."""

    code: str
    message: str
    hint: str = ""
    field: str = ""
