"""What checks find: who did what with which memory or register, and what the other side was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from visa.program import Function
from vsim.checks.selection import parse_checks


class Site(NamedTuple):
    """An instruction: its function, by number in the image's module (``all_functions``), and its own number there."""

    function: int
    instruction: int


class Who(NamedTuple):
    """Who executed an instruction.

    Attributes:
        group: the work-group's linear number, x fastest.
        thread: the hardware thread of the group.
        lane: of the thread; -1 where it is about the whole thread.
        epoch: barriers of the group that the thread had passed.
    """

    group: int
    thread: int
    lane: int = -1
    epoch: int = 0


class Access(NamedTuple):
    """One side of a conflict: ``kind`` is ``read``, ``write`` or ``atomic``."""

    site: Site
    who: Who
    kind: str


@dataclass(frozen=True)
class Finding:
    """One defect, with its first instance in the order of groups, threads and lanes.

    Attributes:
        code: stable, as of every diagnostic: K001 to K009 races, K010 to K019 undefined values, K020 to K029
            divergence, K030 to K039 calls, K040 to K049 accesses outside an argument.
        check: the check that found it, as :mod:`vsim.checks.selection` names it.
        message: what is wrong, without the place and without who it was.
        site, who: where, and who was first.
        memory: the name of the buffer or register, with the offset: ``'y' at offset 64``; may be empty.
        other: the other side, where there is one.
        hint: what would help; may be empty.
        count: how often it was seen.
    """

    code: str
    check: str
    message: str
    site: Site
    who: Who
    memory: str = ""
    other: Access | None = None
    hint: str = ""
    count: int = 1

    @property
    def key(self) -> tuple[str, Site, Site | None]:
        """What findings are grouped by: the same defect at the same instructions."""
        return self.code, self.site, self.other.site if self.other else None


class Findings:
    """The findings of one launch.

    Args:
        checks: those that watch the launch.
        limit: how many different findings are kept; what is beyond is only counted.
    """

    def __init__(self, checks: frozenset[str], limit: int = 100) -> None:
        self.checks, self.limit = checks, limit
        self.left_out = 0
        """Findings beyond the limit."""
        self._found: dict[tuple[str, Site, Site | None], Finding] = {}

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Finding]:
        """In the order of the text: by function, instruction and code."""
        return iter(sorted(self._found.values(), key=lambda f: (f.site, f.code, f.who)))

    def add(self, finding: Finding) -> None:
        """One more; of those with the same key the first one in the order of who it was is shown, all are counted."""
        known = self._found.get(finding.key)
        if known is None:
            if len(self._found) >= self.limit:
                self.left_out += finding.count
                return
            self._found[finding.key] = finding
            return
        first = min(known, finding, key=lambda f: f.who)
        self._found[finding.key] = replace(first, count=known.count + finding.count)


def site_of(functions: list[Function], function: Function, instruction: int) -> Site:
    """The site of an instruction of one of an image's functions."""
    return Site(next(n for n, f in enumerate(functions) if f is function), instruction)


def watching(check: str | Iterable[str]) -> Findings | None:
    """Where the checks that somebody asks for note what they find; None where the list is empty.

    Raises:
        UsageError: there is no such check.
    """
    checks = parse_checks(check, "check")
    return Findings(checks) if checks else None
