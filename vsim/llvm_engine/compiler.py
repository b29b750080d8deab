"""From a launch's kernel to IR: the kernel, what it can call, and the names of what is compiled apart from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from visa.collector import paused_collection
from visa.program import Function
from vsim.llvm_engine import native, support
from vsim.llvm_engine.function import FunctionLowering, Unit
from vsim.llvm_engine.ir import module


@dataclass
class Translation:
    """IR of a kernel with everything that it can call, its functions by number, and the modules of support that it needs."""

    text: str
    functions: list[Function]
    support: list[str]

    def objects(self) -> list[bytes]:
        """Object code of all of it, the kernel's first."""
        return [native.compile_object(self.text), *(support.compiled(text) for text in self.support)]


@paused_collection()
def translate(dispatch: Any, full: bool, row: int = 0) -> Translation:
    """The IR of a launch.

    Args:
        full: every thread has all its lanes.
        row: lanes in a row of local ids that is known to count up; 0 if it is not known.

    Raises:
        Unsupported: the kernel needs something that only the reference engine does.
    """
    unit = Unit(dispatch, full, row)
    unit.function(dispatch.kernel)
    texts: list[str] = []
    for function in unit.wanted:  # which grows meanwhile
        texts.append(FunctionLowering(unit, function).text())
    ordered = dispatch.schedule is not None
    unit.intrinsics["record_fault"] = support.RECORD_FAULT
    if dispatch.has_barrier:
        unit.intrinsics["coroutines"] = support.COROUTINES
    return Translation(
        module(texts, unit.intrinsics),
        unit.wanted,
        [support.driver(dispatch.has_barrier, ordered), *unit.helpers.values()],
    )
