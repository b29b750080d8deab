"""Which checks run, as command lines, Python and environment variables name them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from visa.diagnostics import Diagnostic, UsageError, did_you_mean

if TYPE_CHECKING:
    from vsim.checks.suppressions import Suppressions

RACE, UNDEFINED, DIVERGENCE, CALLS, GUARD = "race", "undefined", "divergence", "calls", "guard"
NAMES = (RACE, UNDEFINED, DIVERGENCE, CALLS, GUARD)
DONE = frozenset((RACE, UNDEFINED, DIVERGENCE, CALLS))
"""The checks that both engines have whole; others are refused."""
ALL = frozenset((RACE, UNDEFINED, DIVERGENCE, CALLS)) & DONE
"""What ``all`` stands for; ``guard``, which is not there yet, will be asked for by itself."""
SHOWN = 100
"""How many findings of a launch are shown unless somebody wants more or fewer."""


@dataclass(frozen=True)
class Checking:
    """The checks that watch a launch, and which of their findings are shown.

    Attributes:
        limit: how many findings of a launch are shown; the rest is counted.
        suppressions: what is known, and not to be shown; None for nothing.
    """

    checks: frozenset[str]
    limit: int = SHOWN
    suppressions: Suppressions | None = None


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
    """The checks that a list names, separated by commas if it is one text; ``all`` is all but ``guard``.

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
        elif word in DONE:
            found.add(word)
        elif word or len(words) > 1:
            known = [name for name in NAMES if name in DONE]
            hint = did_you_mean(word, [*known, "all"]) or f"checks are {', '.join(known)} and all"
            raise UsageError(Diagnostic("U001", f"{what} names '{word}', which is no check; {hint}"))
    return frozenset(found)
