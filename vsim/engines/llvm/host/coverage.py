"""Which instructions of a launch executed, gathered from the bits that compiled code sets for its blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from visakit.language.program import Function, Module
from vsim.analysis.control_flow import control_flow
from vsim.launch.dispatch import Dispatch


def _words(function: Function) -> int:
    return len(function.instructions) // 64 + 1


def first_word(module: Module, function: Function) -> int:
    """The first of the 64-bit words that hold the bits of a function."""
    functions = module.all_functions
    return sum(_words(f) for f in functions[: functions.index(function)])


class ExecutedBlocks:
    """The gathered bits of a launch: a bit for the first instruction of each block that executed."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.words = np.zeros(sum(_words(f) for f in module.all_functions), np.uint64)

    def write_to(self, dispatch: Dispatch, compiled: Sequence[Function]) -> None:
        """Write down in the launch which instructions of the compiled functions executed: whole blocks."""
        assert dispatch.coverage is not None
        at = 0
        for number, function in enumerate(self.module.all_functions):
            words = self.words[at : at + _words(function)]
            at += _words(function)
            if words.any() and any(function is c for c in compiled):
                bits = np.unpackbits(words.view(np.uint8), bitorder="little")
                for start, end in control_flow(function).blocks():
                    if bits[start]:
                        dispatch.coverage[number][start:end] = True
