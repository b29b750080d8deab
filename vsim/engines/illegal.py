"""Instructions that modules may have, but no text: why an engine fails that has no semantics for them."""

from __future__ import annotations

from visakit.diagnostics import Diagnostic, SimulationError
from visakit.rules.instruction_rules import Rules
from visakit.text.printer import FunctionPrinter
from vsim.analysis.reachability import reachable
from vsim.launch.dispatch import Dispatch

_ERROR = "V"
"""What codes of errors begin with; those of warnings begin otherwise."""


def illegal_instruction(dispatch: Dispatch) -> SimulationError | None:
    """The error about the first instruction in reach of a launch that breaks a rule of texts; None if none does."""
    image = dispatch.image
    reached = reachable(image, dispatch.kernel)
    for function in reached.functions:
        for i, violation in Rules(function, dispatch.grf_size, platform=image.platform).broken():
            number = next(n for n, other in enumerate(function.instructions) if other is i)
            if not violation.code.startswith(_ERROR) or number not in reached.instructions[id(function)]:
                continue
            shown = FunctionPrinter(function).instruction(i)
            message = f"{violation.message} in '{shown}' (instruction {number} of '{function.name}')"
            hint = f"no text has such an instruction, so the module is damaged ({violation.code})"
            span, labels = image.place(function, i)
            return SimulationError(Diagnostic("S020", message, span, hint, labels))
    return None
