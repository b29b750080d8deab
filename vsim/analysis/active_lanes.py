"""The lanes in which an instruction takes effect: running lanes of its mask for which its predicate holds.

Both engines count blocks: threads, and lanes that run. For most instructions that is enough; :class:`LaneRule` says
which ones need a separate count.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

from visakit.isa.record import Flow, Rule
from visakit.language.operands import Execution, PredicateControl
from visakit.language.program import Function, Instruction
from vsim.analysis.control_flow import control_flow, takes_all
from vsim.semantics.memory import execution_of


class LanesFrom(enum.Enum):
    """From which counts the active lanes of an instruction follow."""

    RUNNING = enum.auto()
    """They are the lanes that run."""
    THREADS = enum.auto()
    """Every thread has :attr:`LaneRule.width` of them."""
    COUNTED = enum.auto()
    """They depend on a predicate, or on a part of the lanes that run."""


class LaneRule(NamedTuple):
    """The lanes in which an instruction takes effect.

    Attributes:
        source: what their number follows from.
        width: the most of them in a thread.
        execution: of :attr:`LanesFrom.COUNTED` the part of the lanes that run, else None.
        predicate: the predicate that chooses some of them; None without one.
    """

    source: LanesFrom
    width: int
    execution: Execution | None = None
    predicate: PredicateControl | None = None


def lane_rule(function: Function, instruction: Instruction, lanes: int) -> LaneRule:
    """The rule for an instruction of a function.

    A branch, call or return is active in all lanes that come to it; which of them it takes is another matter
    (:func:`may_divide`). An instruction without lanes, such as a barrier, counts once for each thread.

    Args:
        lanes: of a thread.
    """
    execution = execution_of(instruction)
    if execution is None or instruction.desc.is_directive:
        return LaneRule(LanesFrom.THREADS, 1)
    if instruction.desc.flow is not Flow.NEXT:
        is_of_thread = function.is_cm and execution.size == 1
        return LaneRule(LanesFrom.THREADS, 1) if is_of_thread else LaneRule(LanesFrom.RUNNING, lanes)
    predicate = _predicate(instruction)
    if predicate is not None:
        return LaneRule(LanesFrom.COUNTED, execution.size, execution, predicate)
    if execution.no_mask:
        return LaneRule(LanesFrom.THREADS, execution.size)
    if execution.offset == 0 and execution.size >= lanes:
        return LaneRule(LanesFrom.RUNNING, lanes)
    return LaneRule(LanesFrom.COUNTED, execution.size, execution)


def lane_rules(function: Function, lanes: int) -> list[LaneRule]:
    """The rule for each instruction of a function; ``lanes``: of a thread."""
    return [lane_rule(function, i, lanes) for i in function.instructions]


def counted_at(function: Function, rules: Sequence[LaneRule]) -> list[int | None]:
    """For each instruction the one whose counter holds its active lanes; None where they follow from other counts.

    That is an earlier instruction of the block if it has the same part of the lanes, and neither has a predicate.
    """
    found: list[int | None] = [None] * len(function.instructions)
    for start, end in control_flow(function).blocks():
        parts: dict[Execution, int] = {}
        for number in range(start, end):
            rule = rules[number]
            if rule.execution is not None:
                whole = rule.predicate is None
                found[number] = parts.setdefault(rule.execution, number) if whole else number
    return found


def _predicate(instruction: Instruction) -> PredicateControl | None:
    """The predicate that switches lanes off: one that is a result, or selects a source, does not."""
    desc = instruction.desc
    if not desc.has_predicate or desc.writes_predicate or Rule.SELECTS in desc.rules:
        return None
    found: PredicateControl | None = instruction.args.get("pred")
    return found


def may_divide(function: Function, instruction: Instruction, lanes: int) -> bool:
    """Whether some of the lanes that come to a branch or return may take it, and others not."""
    divides = instruction.desc.flow in (Flow.GOTO, Flow.JUMP, Flow.RETURN)
    return divides and not takes_all(instruction, 1 if function.is_cm else lanes)
