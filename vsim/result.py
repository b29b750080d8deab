"""What a launch says when it is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from visa.program import Function, Instruction
from vsim.dispatch import Dispatch

if TYPE_CHECKING:  # Few launches print or are asked how exact they were.
    from vsim.fidelity import Report
    from vsim.printf import PrintfRecords


@dataclass(slots=True, eq=False, repr=False)
class LaunchResult:
    """A launch that ran. Nothing in it changes any more.

    Attributes:
        dispatch: what ran.
        engine: what ran it: ``llvm``, or ``numpy``, also for a kernel that only this engine can run.
        seconds: how long the engine took, of which the first launch of a kernel may be mostly compilation.
        printed: the text that it printed, or the records of it.
    """

    dispatch: Dispatch
    engine: str
    seconds: float
    printed: str | PrintfRecords = ""

    def __repr__(self) -> str:
        return f"<LaunchResult of '{self.kernel}': {self.seconds * 1e3:.3f} ms on {self.engine}>"

    @property
    def kernel(self) -> str:
        """The name of the kernel."""
        return self.dispatch.kernel.name

    @property
    def grf_size(self) -> int:
        """Bytes of a register."""
        return self.dispatch.grf_size

    @property
    def printf(self) -> str:
        """What the kernel printed."""
        return self.printed if isinstance(self.printed, str) else self.printed.text()

    @property
    def executed(self) -> list[tuple[Function, int, Instruction]]:
        """Instructions that executed, with function and number; empty unless the launch ran with ``profile``."""
        marks = self.dispatch.coverage or {}
        functions = self.dispatch.image.module.all_functions
        return [
            (functions[number], int(n), functions[number].instructions[n])
            for number in sorted(marks)
            for n in np.flatnonzero(marks[number])
        ]

    @property
    def fidelity(self) -> Report | None:
        """How exact the instructions were that executed; None unless the launch ran with ``profile``."""
        if self.dispatch.coverage is None:
            return None
        from vsim.fidelity import report

        return report(self.executed, self.grf_size)
