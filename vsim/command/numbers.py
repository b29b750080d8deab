"""Whole numbers that a command line lists: groups, threads, lanes."""

from __future__ import annotations

from visakit.diagnostics import UsageError
from visakit.usage import whole_number

MAXIMUM_NUMBER = 1 << 32


class Numbers:
    """Some whole numbers: ranges, each with its end; none for all numbers there are.

    Attributes:
        text: the list that the command line has; empty where it has none.
    """

    def __init__(self, ranges: tuple[range, ...] = (), text: str = "") -> None:
        self.ranges, self.text = ranges, text

    def __contains__(self, number: int) -> bool:
        return not self.ranges or any(number in r for r in self.ranges)


ALL_NUMBERS = Numbers()


def parse_numbers(text: str, option: str) -> Numbers:
    """Numbers out of a list such as ``0,4,8-15``; ``all`` for all.

    Raises:
        UsageError: it is no such list.
    """
    if text == "all":
        return ALL_NUMBERS
    ranges = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low, high = whole_number(first), whole_number(last if dash else first)
        if low is None or high is None or not low <= high < MAXIMUM_NUMBER:
            raise UsageError(f"{option} takes numbers such as 0,4,8-15 or all, found '{text}'")
        ranges.append(range(low, high + 1))
    return Numbers(tuple(ranges), text)
