"""Which instructions of a launch executed, and how often: observers of both engines."""

from __future__ import annotations

from visakit.language.program import Function
from visakit.objects.image import LinkedImage
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
