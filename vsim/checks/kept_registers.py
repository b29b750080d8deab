"""What a called function must leave as it was (manual, chapters 3 and 6: FCALL, FRET; what compilers rely on).

Variables of a function are its own; %arg is the callee's, %retval its result. What is left of the registers that the
functions of a thread share, a callee gives back as it got it.
"""

from __future__ import annotations

from typing import NamedTuple

from visakit.language.operands import Execution, General
from visakit.language.program import PREDEFINED_VARIABLES, Function, Instruction, predefined_size

_NUMBERS = {name: number for number, (name, _, _) in enumerate(PREDEFINED_VARIABLES)}
STACK_POINTER = _NUMBERS["%sp"]
MISPLACED_STACK = "K035"
"""The code of findings about a stack that leaves its block."""


class KeptRegister(NamedTuple):
    """A predefined variable: its number, its bytes, and the code of findings about it."""

    number: int
    size: int
    code: str


KEPT = tuple(
    KeptRegister(_NUMBERS[name], predefined_size(_NUMBERS[name], 0), code)
    for name, code in (("%sp", "K031"), ("%fp", "K032"), ("%r0", "K033"), ("%cr0", "K034"))
)


def moves_stack(function: Function, grf_size: int, instruction: Instruction) -> bool:
    """Whether an instruction writes the upper half of %sp, after which it has its new value: 64-bit additions that are
    made of two write the lower half first.
    """
    target = instruction.args.get("dst")
    if not isinstance(target, General):
        return False
    root, start = function.alias_root(target.var)
    if root != STACK_POINTER:
        return False
    size = function.variable_type(target.var).size
    execution = instruction.args.get("exec")
    lanes = execution.size if isinstance(execution, Execution) else 1
    return start + target.row * grf_size + (target.col + lanes) * size > predefined_size(STACK_POINTER, 0) // 2
