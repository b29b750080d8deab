"""Findings of checks: the access, its thread and lane, the memory or register, and the other side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from visakit.language.program import Function
from vsim.checks.names import GUARD
from vsim.checks.selection import Checking, Wanted, checking

if TYPE_CHECKING:
    from vsim.checks.accesses import LaunchAccesses
    from vsim.launch.bound_launch import BoundLaunch


class Site(NamedTuple):
    """An instruction: its function, by number in the image's module (``all_functions``), and its own number there."""

    function: int
    instruction: int

    @property
    def number(self) -> int:
        """Both in one number."""
        return self.function << 32 | self.instruction


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


MAPPED = "the program in memory of "
"""Prefix of the name of the program's accesses to mapped memory; the mapping function follows."""


class OtherSide(NamedTuple):
    """One side of a conflict.

    Attributes:
        site, who: where, and who.
        kind: ``read``, ``write``, ``atomic``, ``barrier`` or ``wait``.
        launch: the launch that it belongs to, if that is another one.
        command: the command of a queue, if the side is not a kernel; then ``site`` and ``who`` mean nothing.
    """

    site: Site
    who: Who
    kind: str
    launch: BoundLaunch | None = None
    command: str = ""

    @property
    def is_program(self) -> bool:
        """Whether it is an access of the program to mapped memory."""
        return self.command.startswith(MAPPED)


@dataclass(frozen=True)
class Finding:
    """One defect, with its first instance in the order of groups, threads and lanes.

    Attributes:
        code: stable, as of every diagnostic: K001 to K009 races, K010 to K019 undefined values, K020 to K029
            divergence, K030 to K039 calls, K040 to K049 accesses outside an argument.
        check: the check that found it, as :mod:`vsim.checks.selection` names it.
        message: the defect, without place, thread and lane.
        site, who: the instruction, and the first thread and lane.
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
    other: OtherSide | None = None
    hint: str = ""
    count: int = 1

    def _repr_html_(self) -> str:
        from visakit.notebook import table

        rows = [("check", self.check), ("memory", self.memory), ("seen", self.count), ("hint", self.hint)]
        return table(f"{self.message} [{self.code}]", ("", ""), [row for row in rows if row[1]])

    @property
    def key(self) -> tuple[str, Site, Site | None, int, str]:
        """Key that groups findings: the same defect at the same instructions (of the same program)."""
        launch = self.other.launch if self.other else None
        site, command = (self.other.site, self.other.command) if self.other else (None, "")
        return self.code, self.site, site, id(launch.image) if launch else 0, command


class Findings:
    """The findings of one launch, as the engine tells them."""

    def __init__(self, checking: Checking) -> None:
        self.checking = checking
        self.left_out = 0
        """Instances beyond the engine's capacity."""
        self.keeps_accesses = False
        """Whether the launch is compared with others: the engine leaves its accesses in ``accesses``."""
        self.accesses: LaunchAccesses | None = None
        self._found: dict[tuple[str, Site, Site | None, int, str], Finding] = {}

    @property
    def checks(self) -> frozenset[str]:
        """The checks that watch the launch."""
        return self.checking.checks

    @property
    def guards(self) -> bool:
        """Whether accesses outside arguments are checked, so that arguments need separate addresses."""
        return GUARD in self.checks

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Finding]:
        """In the order of the text: by function, instruction, code, and who it was."""
        return iter(sorted(self._found.values(), key=lambda f: (f.site, f.code, f.who)))

    def saved(self) -> Callable[[], None]:
        """What brings the findings back that are known now, and no others."""
        found, left_out, accesses = dict(self._found), self.left_out, self.accesses

        def restore() -> None:
            self._found, self.left_out, self.accesses = dict(found), left_out, accesses

        return restore

    def add(self, finding: Finding) -> None:
        """One more; of those with the same key the first one in the order of who it was is shown, all are counted."""
        known = self._found.get(finding.key)
        if known is None:
            self._found[finding.key] = finding
            return
        first = min(known, finding, key=lambda f: f.who)
        self._found[finding.key] = replace(first, count=known.count + finding.count)


def watching(check: Wanted) -> Findings | None:
    """The collection for findings of the given checks; None for an empty list.

    Raises:
        UsageError: an unknown check.
    """
    found = checking(check)
    return None if found is None else Findings(found)


def site_of(functions: list[Function], function: Function, instruction: int) -> Site:
    """The site of an instruction of one of an image's functions."""
    return Site(next(n for n, f in enumerate(functions) if f is function), instruction)
