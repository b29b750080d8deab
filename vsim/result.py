"""The result of a launch."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from visakit.language.program import Function, Instruction
from vsim.launch.dispatch import Dispatch
from vsim.launch.ndrange import Size

if TYPE_CHECKING:  # Few launches print, are checked or are asked how exact they were.
    from visakit.diagnostics import Diagnostic
    from vsim.checks.findings import Finding
    from vsim.observe.fidelity import Report
    from vsim.observe.printf import PrintfRecords


class Counters(NamedTuple):
    """How much of a launch ran.

    Attributes:
        work_items, groups: counts of the work-items and groups of the launch.
        threads: hardware threads of ``simd`` work-items each.
        simd: work-items of a hardware thread.
        instructions: different instructions that executed; None unless the launch ran with ``profile``.
    """

    work_items: int
    groups: int
    threads: int
    simd: int
    instructions: int | None


@dataclass(slots=True, eq=False, repr=False)
class LaunchResult:
    """A launch that ran. Nothing in it changes any more.

    Attributes:
        dispatch: the launch that ran.
        engine: the engine that ran it: ``llvm``, or ``numpy``, also for a kernel that only this engine can run, or
            whose native code took longer to make than the reference engine to run it.
        seconds: duration in the engine, from the checked launch to the end.
        printed: the text that it printed, or the records of it; :attr:`printf` is the text.
        engine_reason: why the reference engine ran it instead of ``llvm`` or ``auto``; else empty.
        compile_seconds: the part of ``seconds`` in which native code was compiled or loaded: 0 if it was in memory.
    """

    dispatch: Dispatch
    engine: str
    seconds: float
    printed: str | PrintfRecords = ""
    compile_seconds: float = 0.0
    engine_reason: str = ""

    def __repr__(self) -> str:
        return f"<LaunchResult of '{self.kernel}': {self.seconds * 1e3:.3f} ms on {self.engine}>"

    def _repr_html_(self) -> str:
        from visakit.notebook import diagnostics, table

        counters = self.counters._asdict()
        rows = [
            ("engine", self.engine),
            ("seconds", f"{self.seconds:.6f}"),
            ("compiled", f"{self.compile_seconds:.6f}"),
        ]
        rows += [(name.replace("_", " "), str(count)) for name, count in counters.items() if count is not None]
        return table(self.kernel, ("", ""), rows) + diagnostics(self.diagnostics)

    @property
    def kernel(self) -> str:
        """The name of the kernel."""
        return self.dispatch.kernel.name

    @property
    def grf_size(self) -> int:
        """Bytes of a register."""
        return self.dispatch.grf_size

    @property
    def global_size(self) -> tuple[int, int, int]:
        """Work-items along each dimension."""
        return self.dispatch.global_size

    @property
    def local_size(self) -> tuple[int, int, int]:
        """Work-items of a group along each dimension, chosen where the launch did not say; the last may be smaller."""
        return self.dispatch.local_size

    @property
    def counters(self) -> Counters:
        """How much ran."""
        return _counters(self.dispatch)

    @property
    def printf(self) -> str:
        """The kernel's printed text."""
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
    def findings(self) -> list[Finding]:
        """Findings of checks without suppressed ones, in the order of the text; empty for a launch without checks."""
        if not self.dispatch.findings:
            return []
        from vsim.checks.report import kept

        return kept(self.dispatch)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The same as commands say it: with places, instructions and work-items."""
        if not self.dispatch.findings:
            return []
        from vsim.checks.report import diagnostics

        return diagnostics(self.dispatch)

    @property
    def fidelity(self) -> Report | None:
        """How exact the instructions were that executed; None unless the launch ran with ``profile``."""
        if self.dispatch.coverage is None:
            return None
        from vsim.observe.fidelity import report

        return report(self.executed, self.grf_size, self.dispatch.float_modes)


def _counters(dispatch: Dispatch) -> Counters:
    """Groups of one size, which all but those at the rims have, are counted together."""
    first, end = dispatch.part or (0, dispatch.group_count)
    sizes: dict[Size, int] = {}
    if (first, end) == (0, dispatch.group_count):
        along = [_lengths(g, n) for g, n in zip(dispatch.global_size, dispatch.local_size, strict=True)]
        for x, y, z in itertools.product(*along):
            sizes[x[0], y[0], z[0]] = x[1] * y[1] * z[1]
    else:
        for number in range(first, min(end, dispatch.group_count)):
            size = dispatch.group(number).size
            sizes[size] = sizes.get(size, 0) + 1
    items = sum(x * y * z * count for (x, y, z), count in sizes.items())
    threads = sum(-(-x * y * z // dispatch.simd) * count for (x, y, z), count in sizes.items())
    marks = dispatch.coverage
    executed = None if marks is None else sum(int(np.count_nonzero(m)) for m in marks.values())
    return Counters(items, sum(sizes.values()), threads, dispatch.simd, executed)


def _lengths(items: int, local: int) -> list[tuple[int, int]]:
    """Along one dimension the sizes of groups, and how many there are of each."""
    whole, rest = divmod(items, local)
    return [(size, count) for size, count in ((local, whole), (rest, 1)) if size and count]
