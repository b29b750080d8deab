"""The simulator: executes linked images over ND-ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vsim.program import Program

__all__ = ["Program", "load"]


def load(path: str) -> Program:
    """Load an image.

    Raises:
        FormatError: the file is not an image or is damaged.
    """
    from vsim.program import load as load_program

    return load_program(path)


def __getattr__(name: str) -> Any:
    if name == "Program":
        from vsim.program import Program

        return Program
    raise AttributeError(name)
