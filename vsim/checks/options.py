"""Options of commands that choose the checks of launches, and the findings to show."""

from __future__ import annotations

from typing import Annotated

from visakit.commands.command import flag, option, positive
from vsim.checks.names import NAMES
from vsim.checks.selection import SHOWN

PANEL = "Checks"

CheckOption = Annotated[
    str | None,
    option(
        "--check",
        "LIST",
        "Watch launches: race, undefined, divergence, calls, or all of these; race-items, guard.",
        PANEL,
        autocompletion=lambda: [*NAMES, "all"],
    ),
]
GuardOption = Annotated[
    bool, flag("--guard", "Report accesses outside an argument that is a part of larger memory.", PANEL)
]
LimitOption = Annotated[
    int | None,
    option("--check-limit", "N", f"Findings of a launch to show; {SHOWN} if missing.", PANEL, parser=positive),
]
SuppressionsOption = Annotated[
    str | None, option("--suppressions", "FILE", "Findings that are known, and not shown.", PANEL)
]
