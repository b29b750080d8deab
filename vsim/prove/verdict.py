"""Verdicts: proved, refuted by a launch, or unknown, and why."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import NamedTuple

from visakit.language.program import Function, Instruction
from vsim.launch.launch import Launch


class Outcome(enum.StrEnum):
    """How a proof ends."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


class Remark(NamedTuple):
    """An instruction that a verdict is about, its number, and a remark; ``side`` is 1 for the second of two kernels."""

    function: Function
    number: int
    why: str
    hint: str = ""
    side: int = 0

    @property
    def instruction(self) -> Instruction:
        """The instruction."""
        return self.function.instructions[self.number]


@dataclass
class Refutation:
    """A launch that shows that a property does not hold, and the results of the engines.

    ``place`` is the instruction at fault, if it was looked for.
    """

    launch: Launch
    place: Remark | None
    engines: dict[str, str]
    where: str = ""
    """The launch file, if it was written."""


@dataclass
class Verdict:
    """What is known of a property of a kernel.

    Attributes:
        scope: the launches that it is about.
        bounds: limits that were used.
        places: of ``unknown``, the instructions at fault.
        asked: questions to the solver.
    """

    kernel: str
    property: str
    outcome: Outcome
    scope: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    places: list[Remark] = field(default_factory=list)
    refutation: Refutation | None = None
    seconds: float = 0.0
    asked: int = 0
    notes: list[str] = field(default_factory=list)
