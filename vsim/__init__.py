"""The simulator: executes linked images over ND-ranges. docs/python.md documents every public name.

numpy and the engines are loaded when something needs them.
"""

from __future__ import annotations

import visakit.start  # noqa: F401 # first, so that an interrupt from here on ends a command

# isort: split

import os
from typing import TYPE_CHECKING

from visakit.lazy import lazy_attributes

if TYPE_CHECKING:
    from visakit.objects.image import LinkedImage
    from vsim.checks.findings import Finding
    from vsim.checks.selection import Checking
    from vsim.kernel import Kernel
    from vsim.launch.launch import ImageArgument as Image
    from vsim.launch.launch import SamplerArgument as Sampler
    from vsim.launch.launch import expect
    from vsim.program import Program
    from vsim.result import Counters, LaunchResult

__all__ = ["Checking", "Counters", "Finding", "Image", "Kernel", "LaunchResult", "Program", "Sampler", "expect", "load"]
__getattr__, __dir__ = lazy_attributes(
    __name__,
    {
        "Checking": "vsim.checks.selection",
        "Counters": "vsim.result",
        "Finding": "vsim.checks.findings",
        "Image": "vsim.launch.launch:ImageArgument",
        "Kernel": "vsim.kernel",
        "LaunchResult": "vsim.result",
        "Program": "vsim.program",
        "Sampler": "vsim.launch.launch:SamplerArgument",
        "expect": "vsim.launch.launch",
    },
)


def load(source: str | os.PathLike[str] | bytes | bytearray | memoryview | LinkedImage) -> Program:
    """Load an image: a file, the bytes of one, or what the linker gave.

    Raises:
        FileError: the file cannot be read.
        FormatError: it is not an image or is damaged.
        UsageError: the source is none of these.
    """
    from vsim.program import load as load_program

    return load_program(source)
