"""Which instructions of a launch executed, gathered from the bits that compiled code sets for its blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from visakit.language.program import Function
from vsim.analysis.control_flow import control_flow
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.coverage import block_words
from vsim.engines.llvm.host.tables import Range, address
from vsim.engines.llvm.observers.launch import CompiledObserver
from vsim.engines.llvm.plan import LaunchPlan
from vsim.launch.arrays import Words
from vsim.launch.dispatch import Dispatch


class ExecutedBlocks(CompiledObserver):
    """The gathered bits of a launch: a bit for the first instruction of each block that executed."""

    compiled: Sequence[Function]

    def __init__(self, dispatch: Dispatch) -> None:
        self.dispatch, self.functions = dispatch, dispatch.image.module.all_functions
        self.words: Words = np.zeros(sum(map(block_words, self.functions)), np.uint64)

    def prepare(self, engine: LaunchPlan) -> None:
        self.compiled = engine.kernel.functions
        engine.context[cx.COVERAGE // 8] = address(self.words)

    def ranges(self) -> list[Range]:
        return [(address(self.words), self.words.nbytes, True)]

    def launch_end(self, error: Exception | None) -> None:
        """Write down in the launch which instructions of the compiled functions executed: whole blocks."""
        assert self.dispatch.coverage is not None
        at = 0
        for number, function in enumerate(self.functions):
            words = self.words[at : at + block_words(function)]
            at += words.size
            if words.any() and any(function is c for c in self.compiled):
                bits = np.unpackbits(words.view(np.uint8), bitorder="little")
                for start, end in control_flow(function).blocks():
                    if bits[start]:
                        self.dispatch.coverage[number][start:end] = True
