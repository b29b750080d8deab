"""The functions that the driver exports: names and parameters, out of ``entry_points.txt``."""

from __future__ import annotations

from importlib.resources import files

from visakit.runtime.interface import EntryPoint, entry_point


def entry_points() -> list[EntryPoint]:
    """All functions, those of the dispatch table first and in its order."""
    text = files("visakit.opencl").joinpath("entry_points.txt").read_text("utf-8")
    return [entry_point(line) for line in text.splitlines() if not line.startswith("#")]


IN_C = ("clGetExtensionFunctionAddress", "clGetExtensionFunctionAddressForPlatform")
"""Functions in C: the library itself has the addresses of its functions."""


def served_points() -> list[EntryPoint]:
    """The functions that Python has."""
    return [point for point in entry_points() if point.is_served and point.name not in IN_C]
