"""A rule that a module breaks, without a place in a text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Violation:
    """A broken rule: code, message, hint and the field whose operand is guilty (empty for the whole instruction)."""

    code: str
    message: str
    hint: str = ""
    field: str = ""
