"""What is wrong with a piece of text."""

from __future__ import annotations

from visakit.text.syntax import Placed

IN_EXPRESSIONS = "expressions are made of numbers, %sizeof(V) and %DispatchSimd"
"""Hint for a part that an expression does not have."""


class Problem(Exception):
    """What is wrong with a part of a statement, and where that stands; without a place it is the statement's head."""

    def __init__(self, code: str, message: str, hint: str = "", at: Placed | None = None) -> None:
        self.code, self.message, self.hint, self.at = code, message, hint, at
        super().__init__(message)


class FollowUp(Problem):
    """An error that only follows from a reported one; it is not reported."""
