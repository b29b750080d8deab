"""What scalar integers are at most, as far as it follows from how they were computed: so that places in a memory of
known size need no check.
"""

from __future__ import annotations

from collections.abc import Callable

_RESULTS: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "and": min,
    "or": lambda x, y: (1 << max(x, y).bit_length()) - 1,
}
"""What the result of an operation is at most, of what its operands are."""
_SHIFTS: dict[str, Callable[[int, int], int]] = {"shl": lambda x, n: x << n, "lshr": lambda x, n: x >> n}
"""The same, by a constant number of bits."""
_FLAGS = frozenset(("nuw", "nsw", "nneg", "disjoint", "exact"))


class Ranges:
    """What scalars of a function are at most, unsigned, by name."""

    def __init__(self) -> None:
        self.most: dict[str, int] = {}

    def of(self, text: str) -> int | None:
        """What a name or number is at most; None if nothing is known."""
        if text.startswith("%"):
            return self.most.get(text)
        return int(text) if text.isdecimal() else None

    def note(self, name: str, text: str) -> None:
        """Remember what follows for the result of an instruction, whose operands are values and numbers."""
        if not self.most or "<" in text:
            return
        words = [word for word in text.replace(",", "").split() if word not in _FLAGS]
        operation = words[0]
        if operation in ("zext", "trunc"):
            kind, found = words[4], self.of(words[2])
        elif operation in _RESULTS or operation in _SHIFTS:
            kind, found = words[1], self._result(operation, words[2], words[3])
        else:
            return
        if found is not None and found < 1 << int(kind[1:]):
            self.most[name] = found

    def _result(self, operation: str, one: str, other: str) -> int | None:
        x, y = self.of(one), self.of(other)
        if operation == "and" and (x is None or y is None):
            return x if y is None else y
        if x is None or y is None or (operation in _SHIFTS and other.startswith("%")):
            return None
        return (_SHIFTS.get(operation) or _RESULTS[operation])(x, y)
