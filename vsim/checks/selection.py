"""Which checks run, as command lines, Python and environment variables name them."""

from __future__ import annotations

from collections.abc import Iterable

from visa.diagnostics import Diagnostic, UsageError, did_you_mean

RACE, UNDEFINED, DIVERGENCE, CALLS, GUARD = "race", "undefined", "divergence", "calls", "guard"
ALL = frozenset((RACE, UNDEFINED, DIVERGENCE, CALLS))
"""What ``all`` stands for; ``guard`` is asked for by itself, as it needs arguments with sizes of their own."""
NAMES = (RACE, UNDEFINED, DIVERGENCE, CALLS, GUARD)
DONE = frozenset((RACE, DIVERGENCE))
"""The checks that both engines have whole; others are refused."""


def parse_checks(wanted: str | Iterable[str], what: str = "--check") -> frozenset[str]:
    """The checks that a list names, separated by commas if it is one text; ``all`` is four of them.

    Args:
        what: the option or argument that the list is of, for errors.

    Raises:
        UsageError: there is no such check.
    """
    words = wanted.split(",") if isinstance(wanted, str) else list(wanted)
    found: set[str] = set()
    for word in (w.strip() for w in words):
        if word == "all":
            found |= ALL & DONE
        elif word in NAMES:
            found.add(word)
        elif word or len(words) > 1:
            hint = did_you_mean(word, [*NAMES, "all"]) or f"checks are {', '.join(NAMES)} and all"
            raise UsageError(Diagnostic("U001", f"{what} names '{word}', which is no check", None, hint))
    if missing := sorted(found - DONE):
        hint = f"checks are {', '.join(n for n in NAMES if n in DONE)} and all"
        raise UsageError(Diagnostic("U001", f"{what} names '{missing[0]}', which is not there yet", None, hint))
    return frozenset(found)
