"""The simulator: executes linked images over ND-ranges. docs/python.md documents every public name.

numpy and the engines are loaded when something needs them.
"""

from __future__ import annotations

import visakit.start  # noqa: F401 # first, so that an interrupt from here on ends a command

# isort: split

from typing import TYPE_CHECKING

from visakit.lazy import lazy_attributes

if TYPE_CHECKING:
    from vsim.checks.findings import Finding
    from vsim.checks.selection import Checking
    from vsim.kernel import Kernel
    from vsim.launch.launch import ImageArgument as Image
    from vsim.launch.launch import SamplerArgument as Sampler
    from vsim.launch.launch import expect
    from vsim.observe.observer import Event, Observer
    from vsim.program import Program, load
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
        "load": "vsim.program",
    },
)
