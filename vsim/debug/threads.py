"""Threads and lanes as Intel's gdb writes them: ``1.2:3`` is lane 3 of thread 2 of work-group 1, ``*`` all of them."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from visakit.diagnostics import UsageError
from vsim.command.numbers import ALL_NUMBERS, Numbers, parse_numbers
from vsim.debug.problems import COMMAND, problem
from vsim.launch.arrays import Array, Bools

_FORM = re.compile(r"(?:(?P<group>[^.:]+)\.)?(?P<thread>[^.:]+)?(?::(?P<lane>.+))?")
HINT = "write GROUP.THREAD:LANE, as 1.2:3, 1.*, 0.2:[0-3], or 2:* in the group at hand"


class Threads(NamedTuple):
    """Lanes of threads of work-groups."""

    groups: Numbers = ALL_NUMBERS
    threads: Numbers = ALL_NUMBERS
    lanes: Numbers = ALL_NUMBERS
    text: str = ""

    def of(self, groups: Array, threads: Array, lanes: Bools) -> Bools:
        """Which lanes of some threads are among them (threads x 32)."""
        rows = [g in self.groups and t in self.threads for g, t in zip(groups.tolist(), threads.tolist(), strict=True)]
        columns = [lane in self.lanes for lane in range(lanes.shape[1])]
        found: Bools = lanes & np.array(rows)[:, None] & np.array(columns)[None, :]
        return found


class Focus(NamedTuple):
    """The lane that commands are about."""

    group: int = 0
    thread: int = 0
    lane: int = 0

    def __str__(self) -> str:
        return f"{self.group}.{self.thread}:{self.lane}"


def _numbers(text: str | None, default: Numbers) -> Numbers:
    if text is None:
        return default
    if text == "*":
        return ALL_NUMBERS
    inner = text[1:-1] if text[:1] == "[" and text[-1:] == "]" else text
    try:
        return parse_numbers(",".join(inner.replace(",", " ").split()) or "?", "")
    except UsageError:
        raise problem(COMMAND, f"'{text}' is no number of threads or lanes", HINT) from None


def parse_threads(text: str, group: int) -> Threads:
    """Threads by their notation; ``group`` is meant where it names none.

    Raises:
        DebugError: D001, it is no such notation.
    """
    match = _FORM.fullmatch(text)
    if match is None or not text:
        raise problem(COMMAND, f"'{text}' is no thread", HINT)
    own = _numbers(match["group"], Numbers((range(group, group + 1),)))
    return Threads(own, _numbers(match["thread"], ALL_NUMBERS), _numbers(match["lane"], ALL_NUMBERS), text)
