"""What integers are at most, scalars or all lanes of a vector, as far as it follows from how they were computed: so
that places in a memory of known size need no check.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

_RESULTS: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "and": min,
    "or": lambda x, y: min(x + y, (1 << max(x, y).bit_length()) - 1),
}
"""What the result of an operation is at most, of what its operands are."""
_SHIFTS: dict[str, Callable[[int, int], int]] = {"shl": lambda x, n: x << n, "lshr": lambda x, n: x >> n}
"""The same, by a constant number of bits."""
_FLAGS = frozenset(("nuw", "nsw", "nneg", "disjoint", "exact"))


_VECTOR = re.compile(r"(\w+) <\d+ x i(\d+)> (%[\w.]+|<[^>]*>)(?:, (%[\w.]+|<[^>]*>)| to )")
_NOTED = frozenset((*_RESULTS, *_SHIFTS, "zext", "trunc"))


@lru_cache(4096)
def _ends_of(constant: str) -> tuple[int, int] | None:
    """The smallest and the largest element of a constant vector of numbers, if none is negative."""
    words = [word.split()[-1] for word in constant.strip("<>").split(",")]
    return (min(map(int, words)), max(map(int, words))) if all(word.isdecimal() for word in words) else None


class Ranges:
    """What values of a function are at most, unsigned, by name."""

    def __init__(self) -> None:
        self.most: dict[str, int] = {}

    def of(self, text: str) -> int | None:
        """What a name or number is at most; None if nothing is known."""
        if text.startswith("%"):
            return self.most.get(text)
        if text.startswith("<"):
            ends = _ends_of(text)
            return ends and ends[1]
        return int(text) if text.isdecimal() else None

    def is_index(self, text: str) -> bool:
        """Whether a name has a number of 32 bits that is the same with a sign."""
        most = self.of(text)
        return most is not None and most < 1 << 31

    def note(self, name: str, text: str) -> None:
        """Remember what follows for the result of an instruction, whose operands are values and numbers."""
        operation = text[: text.find(" ")]
        if operation not in _NOTED:
            return
        if "<" in text:
            self._note_vector(name, text)
            return
        if not self.most and operation != "and":
            return
        words = [word for word in text.replace(",", "").split() if word not in _FLAGS]
        if operation in ("zext", "trunc"):
            kind, found = words[4], self.of(words[2])
        else:
            kind, found = words[1], self._result(operation, words[2], words[3])
        if found is not None and found < 1 << int(kind[1:]):
            self.most[name] = found

    def _note_vector(self, name: str, text: str) -> None:
        """The same for a vector."""
        match = _VECTOR.match(text)
        if match is None:
            return
        operation, bits, one, other = match.groups()
        largest = (1 << int(bits)) - 1
        x, found = self.of(one), None
        if operation == "zext":
            found = largest if x is None else x
        elif operation == "trunc":
            found = x
        elif operation == "lshr":
            counts = _ends_of(other) if other.startswith("<") else None
            found = (largest if x is None else x) >> (counts[0] if counts else 0)
        else:
            found = self._result(operation, one, other)
        if found is not None and found <= largest:
            self.most[name] = found

    def _result(self, operation: str, one: str, other: str) -> int | None:
        x, y = self.of(one), self.of(other)
        if operation == "and" and (x is None or y is None):
            return x if y is None else y
        if x is None or y is None or (operation in _SHIFTS and other.startswith("%")):
            return None
        return (_SHIFTS.get(operation) or _RESULTS[operation])(x, y)
