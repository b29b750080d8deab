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
    from vsim.observe.observer import Event, Observer
    from vsim.program import Program
    from vsim.result import Counters, LaunchResult

__all__ = [
    "Checking", "Counters", "Event", "Finding", "Image", "Kernel", "LaunchResult", "Observer", "Program", "Sampler",
    "expect", "load",
]  # fmt: skip
__getattr__, __dir__ = lazy_attributes(
    __name__,
    {
        "Checking": "vsim.checks.selection",
        "Counters": "vsim.result",
        "Event": "vsim.observe.observer",
        "Finding": "vsim.checks.findings",
        "Image": "vsim.launch.launch:ImageArgument",
        "Kernel": "vsim.kernel",
        "LaunchResult": "vsim.result",
        "Observer": "vsim.observe.observer",
        "Program": "vsim.program",
        "Sampler": "vsim.launch.launch:SamplerArgument",
        "expect": "vsim.launch.launch",
    },
)


def load(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | LinkedImage,
    platform: str | None = None,
    options: str = "",
) -> Program:
    """Load a program: an image, a zebin with vISA texts, or a source (``.cl``, SPIR-V), which ``ocloc`` compiles.

    Args:
        source: a file, the bytes of one, or an image of the linker.
        platform: the device of a source, None for the newest that the compiler knows; which zebin of a container.
        options: build options of a source.

    Raises:
        FileError: the file cannot be read.
        FormatError: it is none of these, is damaged, or does not compile.
        LinkError: the texts of a zebin have errors or do not fit together.
        UsageError: the argument is none of these; an image is for another platform; only sources have build options.
    """
    from vsim.program import load as load_program

    return load_program(source, platform, options)
