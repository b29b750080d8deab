"""Which checks run, as command lines, Python and environment variables name them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from visakit.diagnostics import Diagnostic, UsageError, did_you_mean

if TYPE_CHECKING:
    from vsim.checks.suppressions import Suppressions

RACE, RACE_ITEMS, UNDEFINED, DIVERGENCE, CALLS = "race", "race-items", "undefined", "divergence", "calls"
GUARD = "guard"
NAMES = (RACE, RACE_ITEMS, UNDEFINED, DIVERGENCE, CALLS, GUARD)
ALL = frozenset((RACE, UNDEFINED, DIVERGENCE, CALLS))
"""What ``all`` stands for. Asked for by themselves are ``guard``, which gives arguments other addresses, and
``race-items``, which also reports what only sub-group barriers order, of which compiled code has no trace.
"""
IMPLIED = {RACE_ITEMS: RACE}
"""A check that another one is a part of: races of work-items are looked for together with those of threads."""
SHOWN = 100
"""How many findings of a launch are shown unless somebody wants more or fewer."""


@dataclass(frozen=True)
class Checking:
    """The checks that watch a launch, and which of their findings are shown.

    Attributes:
        checks: those that were asked for, with those that they imply (:data:`IMPLIED`).
        limit: how many findings of a launch are shown; the rest is counted.
        suppressions: what is known, and not to be shown; None for nothing.
    """

    checks: frozenset[str]
    limit: int = SHOWN
    suppressions: Suppressions | None = None

    def __post_init__(self) -> None:
        implied = {IMPLIED[check] for check in self.checks if check in IMPLIED}
        object.__setattr__(self, "checks", self.checks | implied)


Wanted = str | Iterable[str] | Checking
"""How checks are asked for: names with commas between them, several names, or with what is shown of their findings."""


def checking(wanted: Wanted, what: str = "check") -> Checking | None:
    """The checks that are asked for; None where there are none.

    Raises:
        UsageError: there is no such check.
    """
    found = wanted if isinstance(wanted, Checking) else Checking(parse_checks(wanted, what))
    return found if found.checks else None


def parse_checks(wanted: str | Iterable[str], what: str = "--check") -> frozenset[str]:
    """The checks that a list names, separated by commas if it is one text; ``all`` stands for :data:`ALL`.

    Args:
        what: the option or argument that the list is of, for errors.

    Raises:
        UsageError: there is no such check.
    """
    words = wanted.split(",") if isinstance(wanted, str) else list(wanted)
    found: set[str] = set()
    for word in (w.strip() for w in words):
        if word == "all":
            found |= ALL
        elif word in NAMES:
            found.add(word)
        elif word or len(words) > 1:
            hint = did_you_mean(word, [*NAMES, "all"]) or f"checks are {', '.join(NAMES)} and all"
            raise UsageError(Diagnostic("U001", f"{what} names '{word}', which is no check; {hint}"))
    return frozenset(found)


def parse_checking(names: str, limit: int | None, suppressions: str | None, what: str = "--check") -> Checking:
    """What is watched and shown, out of texts: names of checks, a number of findings, the file of what is known.

    Raises:
        UsageError: there is no such check; ``what`` has named it.
        FormatError: K091, a line of the file is no suppression.
        FileError: it cannot be read.
    """
    from visakit.files import read_text
    from vsim.checks.suppressions import parse_suppressions

    checks = parse_checks(names, what)
    known = None if suppressions is None else parse_suppressions(read_text(suppressions), suppressions)
    return Checking(checks, limit or SHOWN, known)


class CheckOptions(NamedTuple):
    """What a command line says of checks."""

    check: str | None
    guard: bool
    limit: int | None
    suppressions: str | None

    @property
    def said(self) -> dict[str, object]:
        """What was given, by the options."""
        return {
            "--check": self.check, "--guard": self.guard, "--check-limit": self.limit,
            "--suppressions": self.suppressions,
        }  # fmt: skip

    @property
    def names(self) -> str:
        """The checks that are wanted, with commas between them; empty for none."""
        return ",".join([*filter(None, [self.check]), *([GUARD] if self.guard else [])])

    def checking(self) -> Checking | None:
        """What is watched, and what is shown of it; None where nobody asks for checks.

        Raises:
            UsageError: there is no such check, or options are about findings that nobody looks for.
            FormatError: K091, a line of the file of suppressions is none.
            FileError: it cannot be read.
        """
        if self.check is None and not self.guard:
            for name in ("--check-limit", "--suppressions"):
                if self.said[name] is not None:
                    raise UsageError(f"{name} goes with --check or --guard")
            return None
        return parse_checking(self.names, self.limit, self.suppressions)
