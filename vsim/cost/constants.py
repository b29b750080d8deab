"""The table of constants of platforms (``constants.toml``): every number has a mark and a source."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

from visakit.diagnostics import CostError, Diagnostic, did_you_mean
from visakit.language.platforms import PLATFORMS, Platform

MARKS = ("published", "derived", "assumed", "unknown")
COMPILER = "compiler"
"""Stands in the place of a platform for what Intel's scheduler assumes of all of them."""
_TABLE = Path(__file__).with_name("constants.toml")
_THREADS = re.compile(r"threads an EU at (\d+) registers$")


class Constant(NamedTuple):
    """A number of a platform; ``value`` is None where the mark is ``unknown``."""

    platform: str
    name: str
    value: float | None
    mark: str
    source: str


class Mode(NamedTuple):
    """A register mode: the registers of a thread, and the threads of an EU with it."""

    registers: int
    threads: int


@functools.cache
def table() -> dict[str, dict[str, Constant]]:
    """The constants by platform and name."""
    tree = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    sources = tree["sources"]
    found: dict[str, dict[str, Constant]] = {}
    for platform, name, value, mark, source in tree["constants"]["rows"]:
        known = None if mark == "unknown" else value
        found.setdefault(platform, {})[name] = Constant(platform, name, known, mark, sources[source])
    return found


def constant(platform: Platform, name: str) -> Constant:
    """A constant of a platform, whose value may be unknown.

    Raises:
        CostError: Q001, the table does not have it.
    """
    known = of_platform(platform)
    if name not in known:
        hint = did_you_mean(name, known) or f"the table has {', '.join(sorted(known))}"
        raise CostError(Diagnostic("Q001", f"there is no constant '{name}' of {platform.name}", hint=hint))
    return known[name]


def assumed_by_compiler(name: str) -> int:
    """A number that Intel's scheduler assumes, in cycles.

    Raises:
        KeyError: the table does not have it.
    """
    value = table()[COMPILER][name].value
    assert value is not None
    return int(value)


def of_platform(platform: Platform) -> dict[str, Constant]:
    """The constants of a platform by name.

    Raises:
        CostError: Q001, the table has none of it.
    """
    known = table().get(platform.name)
    if known is None:
        near = sorted(table().keys() - {COMPILER}, key=lambda name: abs(PLATFORMS[name].order - platform.order))[:2]
        message = f"the cost of '{platform.name}' is unknown: nothing is published of its registers and units"
        raise CostError(Diagnostic("Q001", message, hint=f"the nearest that are known are {' and '.join(near)}"))
    return known


def modes(platform: Platform) -> list[Mode]:
    """The register modes of a platform, the smallest first.

    Raises:
        CostError: Q001, the table has none of it.
    """
    found = []
    for name, one in of_platform(platform).items():
        if (match := _THREADS.match(name)) and one.value is not None:
            found.append(Mode(int(match[1]), int(one.value)))
    return sorted(found)


def most_threads(platform: Platform) -> Constant:
    """The threads of an EU in the register mode that allows most.

    Raises:
        CostError: Q001, the table has none of it.
    """
    return max(
        (one for name, one in of_platform(platform).items() if _THREADS.match(name)), key=lambda one: one.value or 0
    )
