"""Which checks run, as command lines, Python and environment variables name them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from visakit.diagnostics import Diagnostic, UsageError, did_you_mean
from vsim.checks.names import ALL, GUARD, IMPLIED, NAMES

if TYPE_CHECKING:
    from vsim.checks.suppressions import Suppressions

SHOWN = 100
"""Default number of findings shown for a launch."""


@dataclass(frozen=True)
class Checking:
    """The checks that watch a launch, and which of their findings are shown.

    Attributes:
        checks: the requested checks, with implied ones (:data:`IMPLIED`).
        limit: how many findings of a launch are shown; the rest is counted.
        suppressions: known findings, which are not shown; None for no file.
    """

    checks: frozenset[str]
    limit: int = SHOWN
    suppressions: Suppressions | None = None

    def __post_init__(self) -> None:
        implied = {IMPLIED[check] for check in self.checks if check in IMPLIED}
        object.__setattr__(self, "checks", self.checks | implied)


Wanted = str | Iterable[str] | Checking
"""A choice of checks: names with commas between them, several names, or a full :class:`Checking`."""


def checking(wanted: Wanted, what: str = "check") -> Checking | None:
    """The requested checks; None for none.

    Raises:
        UsageError: an unknown check.
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
            raise UsageError(Diagnostic("U001", f"{what} names '{word}', which is not a check; {hint}"))
    return frozenset(found)


def parse_checking(names: str, limit: int | None, suppressions: str | None, what: str = "--check") -> Checking:
    """Checks and shown findings, from texts: names of checks, a number of findings, the file of suppressions.

    Raises:
        UsageError: an unknown check, given by the option ``what``.
        FormatError: K091, a line of the file is no suppression.
        FileError: it cannot be read.
    """
    from visakit.files import read_text
    from vsim.checks.suppressions import parse_suppressions

    checks = parse_checks(names, what)
    known = None if suppressions is None else parse_suppressions(read_text(suppressions), suppressions)
    return Checking(checks, limit or SHOWN, known)


class CheckOptions(NamedTuple):
    """The options of a command line about checks."""

    check: str | None
    guard: bool
    limit: int | None
    suppressions: str | None

    @property
    def said(self) -> dict[str, object]:
        """Values by option."""
        return {
            "--check": self.check, "--guard": self.guard, "--check-limit": self.limit,
            "--suppressions": self.suppressions,
        }  # fmt: skip

    @property
    def names(self) -> str:
        """The checks that are wanted, with commas between them; empty for none."""
        return ",".join([*filter(None, [self.check]), *([GUARD] if self.guard else [])])

    def checking(self) -> Checking | None:
        """The requested checks and shown findings; None without checks.

        Raises:
            UsageError: an unknown check, or options about findings without a check.
            FormatError: K091, a line of the file is not a suppression.
            FileError: it cannot be read.
        """
        if self.check is None and not self.guard:
            for name in ("--check-limit", "--suppressions"):
                if self.said[name] is not None:
                    raise UsageError(f"{name} goes with --check or --guard")
            return None
        return parse_checking(self.names, self.limit, self.suppressions)
