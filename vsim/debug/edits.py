"""Changes of values that the user makes while a launch has stopped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from visakit.diagnostics import DebugError
from vsim.debug.expressions import Expression
from vsim.debug.footprints import Use
from vsim.debug.scope import Scope
from vsim.debug.stage import Stage
from vsim.launch.arrays import Array


@dataclass(frozen=True)
class ValueEdit:
    """A change that happens each time that the launch comes to its time; a call makes it, and gives the places.

    Attributes:
        target: the text of ``wanted``, for messages.
        data: the new value, in the elements of ``wanted``.
        lane: row and lane in whose functions names mean something.
        frame: the function among those of the lane, from the innermost on.
    """

    stage: Stage
    target: str
    wanted: Expression
    data: Array
    lane: tuple[int, int]
    frame: int

    def __call__(self) -> list[Use]:
        stage, execution = self.stage, self.stage.execution
        place, batch, row = stage.place_of(self.lane), execution.batch, self.lane[0]
        if place is None or batch is None:
            return []
        activation, number = place
        for _ in range(self.frame):
            back = activation.back
            activation, number = (activation, number) if back is None else (back.activation, max(0, back.pc - 1))
        is_caller = activation.registers is not place[0].registers
        convenience, sources = stage.watching.convenience, stage.sources
        scope = Scope(execution, activation, np.array([row]), number, sources, is_caller, convenience)
        try:
            own = self.wanted.value(scope).location
        except DebugError as error:  # Earlier changes have led elsewhere.
            stage.watching.note(f"'{self.target}' is not set again at this time: {error.diagnostics[0].message}")
            return []
        assert own is not None
        if own.data is not None:
            execution.checkpoints[-1].pages.keep_all([own.data])
        own.write(batch.threads, self.data)
        return [part.use(row, len(batch.lanes)) for _, part in own.parts]
