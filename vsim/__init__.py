"""The simulator: executes linked images over ND-ranges. docs/python.md shows how."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vsim.launch import ImageArgument as Image
    from vsim.launch import SamplerArgument as Sampler
    from vsim.launch import expect
    from vsim.program import Program
    from vsim.result import LaunchResult

__all__ = ["Image", "LaunchResult", "Program", "Sampler", "expect", "load"]
_PLACES = {
    "Image": ("vsim.launch", "ImageArgument"),
    "Sampler": ("vsim.launch", "SamplerArgument"),
    "LaunchResult": ("vsim.result", "LaunchResult"),
    "Program": ("vsim.program", "Program"),
    "expect": ("vsim.launch", "expect"),
}
"""Where the public names are defined."""


def load(path: str) -> Program:
    """Load an image.

    Raises:
        FormatError: the file is not an image or is damaged.
    """
    from vsim.program import load as load_program

    return load_program(path)


def __getattr__(name: str) -> object:
    # numpy and the engines are loaded when something needs them.
    import importlib

    if name in _PLACES:
        module, attribute = _PLACES[name]
        return getattr(importlib.import_module(module), attribute)
    raise AttributeError(name)
