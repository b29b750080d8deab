"""Which instructions of a launch executed, and how often: observers of both engines."""

from __future__ import annotations

import numpy as np

from visakit.language.program import Function
from visakit.objects.image import LinkedImage
from vsim.launch.arrays import Offsets
from vsim.launch.dispatch import Executed
from vsim.observe.observer import Observer


class Coverage(Observer):
    """Marks the instructions that executed.

    Args:
        executed: the marks, by number of the function in the image.
    """

    def __init__(self, image: LinkedImage, executed: Executed) -> None:
        self.marks = {id(f): executed[number] for number, f in enumerate(image.module.all_functions)}

    def ran(self, function: Function, start: int, end: int, threads: int, lanes: int) -> None:
        self.marks[id(function)][start:end] = True


class InstructionCounts(Observer):
    """Counts how often each instruction ran, over all launches that it watches.

    Attributes:
        threads: by name of a function, how often hardware threads executed each of its instructions.
        lanes: the lanes that ran then, summed up.
    """

    def __init__(self) -> None:
        self.threads: dict[str, Offsets] = {}
        self.lanes: dict[str, Offsets] = {}

    def ran(self, function: Function, start: int, end: int, threads: int, lanes: int) -> None:
        for counts, number in ((self.threads, threads), (self.lanes, lanes)):
            if function.name not in counts:
                counts[function.name] = np.zeros(len(function.instructions), np.int64)
            counts[function.name][start:end] += number
