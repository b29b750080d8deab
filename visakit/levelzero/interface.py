"""The functions that the driver gives the loader: tables, names, versions and parameters."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from visakit.runtime.interface import EntryPoint, entry_point

MAJOR = 1
"""The major version of the interface."""


class TableEntry(NamedTuple):
    """A place in a table.

    Attributes:
        version: of the interface that brings it, as the loader gives it: the major version in the upper 16 bits.
    """

    version: int
    function: EntryPoint


@cache
def tables() -> dict[str, list[TableEntry]]:
    """The entries of each table in their order, by the function that fills it."""
    text = files("visakit.levelzero").joinpath("entry_points.txt").read_text("utf-8")
    found: dict[str, list[TableEntry]] = {}
    entries: list[TableEntry] = []
    for line in text.splitlines():
        if line.startswith("["):
            entries = found[line.strip("[]")] = []
        elif not line.startswith("#"):
            version, _, rest = line.partition(" ")
            major, minor = map(int, version.split("."))
            entries.append(TableEntry(major << 16 | minor, entry_point(rest)))
    return found


IN_C = ("zeDriverGetExtensionFunctionAddress",)
"""Functions in C: the library itself has the addresses of its functions."""


def served_points() -> list[EntryPoint]:
    """The functions that Python has."""
    points = [entry.function for entries in tables().values() for entry in entries]
    return [point for point in points if point.is_served and point.name not in IN_C]
