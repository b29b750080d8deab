"""What checks find: who did what with which memory or register, and what the other side was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from visakit.language.program import Function
from vsim.checks.selection import GUARD, Checking, Wanted, checking

if TYPE_CHECKING:
    from visakit.diagnostics import Diagnostic
    from vsim.checks.queued import LaunchAccesses
    from vsim.launch.dispatch import Dispatch


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
"""What the name of the program's accesses to mapped memory begins with; the function that mapped it stands behind."""


class OtherSide(NamedTuple):
    """One side of a conflict.

    Attributes:
        site, who: where, and who.
        kind: ``read``, ``write``, ``atomic``, ``barrier`` or ``wait``.
        launch: the launch that it belongs to, if that is another one.
        command: the command of a queue that it was, if it was no kernel; then nobody was anywhere.
    """

    site: Site
    who: Who
    kind: str
    launch: Dispatch | None = None
    command: str = ""

    @property
    def is_program(self) -> bool:
        """Whether it is what the program does in mapped memory."""
        return self.command.startswith(MAPPED)


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
    other: OtherSide | None = None
    hint: str = ""
    count: int = 1

    def _repr_html_(self) -> str:
        from visakit.notebook import table

        rows = [("check", self.check), ("memory", self.memory), ("seen", self.count), ("hint", self.hint)]
        return table(f"{self.message} [{self.code}]", ("", ""), [row for row in rows if row[1]])

    @property
    def key(self) -> tuple[str, Site, Site | None, int, str]:
        """What findings are grouped by: the same defect at the same instructions (of the same program)."""
        launch = self.other.launch if self.other else None
        site, command = (self.other.site, self.other.command) if self.other else (None, "")
        return self.code, self.site, site, id(launch.image) if launch else 0, command


class Findings:
    """The findings of one launch, as the engine tells them."""

    def __init__(self, checking: Checking) -> None:
        self.checking = checking
        self.left_out = 0
        """Instances beyond what the engine had room for."""
        self.keeps_accesses = False
        """Whether the launch is compared with others: the engine leaves what it did to memory in ``accesses``."""
        self.accesses: LaunchAccesses | None = None
        self._found: dict[tuple[str, Site, Site | None, int, str], Finding] = {}

    @property
    def checks(self) -> frozenset[str]:
        """The checks that watch the launch."""
        return self.checking.checks

    @property
    def guards(self) -> bool:
        """Whether accesses outside arguments are looked for, so that these need addresses of their own."""
        return GUARD in self.checks

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Finding]:
        """In the order of the text: by function, instruction, code, and who it was."""
        return iter(sorted(self._found.values(), key=lambda f: (f.site, f.code, f.who)))

    def diagnostics(self, dispatch: Dispatch) -> list[Diagnostic]:
        """What commands say of the findings of a launch."""
        from vsim.checks.report import diagnostics

        return diagnostics(dispatch)

    def add(self, finding: Finding) -> None:
        """One more; of those with the same key the first one in the order of who it was is shown, all are counted."""
        known = self._found.get(finding.key)
        if known is None:
            self._found[finding.key] = finding
            return
        first = min(known, finding, key=lambda f: f.who)
        self._found[finding.key] = replace(first, count=known.count + finding.count)


def watching(check: Wanted) -> Findings | None:
    """Where the checks that somebody asks for note what they find; None where the list is empty.

    Raises:
        UsageError: there is no such check.
    """
    found = checking(check)
    return None if found is None else Findings(found)


def site_of(functions: list[Function], function: Function, instruction: int) -> Site:
    """The site of an instruction of one of an image's functions."""
    return Site(next(n for n, f in enumerate(functions) if f is function), instruction)
