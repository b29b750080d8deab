"""Reachability: the instructions that a kernel can execute, through calls too.

What cannot be reached need not be executable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from visakit.diagnostics import Diagnostic, LaunchError
from visakit.isa.record import Flow
from visakit.language.program import SCRATCH, Function, Instruction
from visakit.objects.image import LinkedImage
from vsim.analysis.control_flow import control_flow
from vsim.semantics.lsc import address_kind
from vsim.semantics.messages import equivalent
from vsim.semantics.raw_message import AtRunTime, NoEquivalent
from vsim.semantics.refused import RAW_MESSAGES, REFUSED, returns_to_nobody


@dataclass
class Reached:
    """Functions that can run, the kernel first, and of each the numbers of the instructions that can."""

    functions: list[Function] = field(default_factory=list)
    instructions: dict[int, list[int]] = field(default_factory=dict)

    def of(self, function: Function) -> list[int]:
        """Numbers of the instructions of a function."""
        return self.instructions[id(function)]

    def __iter__(self) -> Iterator[tuple[Function, int, Instruction]]:
        """Each instruction with its function and number."""
        return ((function, n, function.instructions[n]) for function in self.functions for n in self.of(function))


def _reached(function: Function, begin: Iterable[int] = (0,)) -> list[int]:
    """Numbers of the instructions that control reaches from the function's beginning, or from others."""
    flow = control_flow(function)
    seen, todo = set[int](), list(begin)
    while todo:
        n = todo.pop()
        while n < flow.end and n not in seen:
            seen.add(n)
            n, *others = flow.successors(n, function.jump_lanes) or [flow.end]
            todo += others
    return sorted(seen)


def reachable(image: LinkedImage, kernel: Function) -> Reached:
    """Everything that a kernel can execute. An ``ifcall`` counts as a call of every function."""
    found, todo = Reached(), [kernel]
    while todo:
        function = todo.pop(0)
        if id(function) in found.instructions:
            continue
        found.functions.append(function)
        found.instructions[id(function)] = numbers = _reached(function)
        for n in numbers:
            i = function.instructions[n]
            if i.desc.flow is Flow.CALL_FUNCTION:
                callee = image.callee(function, i.args["name"])
                todo += [callee] if callee else []
            elif i.desc.flow is Flow.CALL_ADDRESS:
                todo += image.module.functions
    return found


def refusal(instruction: Instruction, grf_size: int) -> str:
    """Why an instruction cannot be executed; empty if it can."""
    if instruction.desc.semantics in RAW_MESSAGES:
        try:
            equivalent(instruction, grf_size)
        except AtRunTime:
            return ""
        except NoEquivalent as problem:
            return str(problem)
    return REFUSED.get(instruction.desc.semantics, "")


def _ends_callers(kernel: Function, function: Function, n: int) -> str:
    """Why an instruction cannot end the thread, because it has callers to end; empty if it does not, or can."""
    if function.instructions[n].desc.flow is not Flow.END:
        return ""
    called = function is not kernel or n in _reached(function, control_flow(function).subroutines)
    return "a last message ends the thread in the kernel itself, not in subroutines and functions" if called else ""


def check(image: LinkedImage, kernel: Function) -> None:
    """Refuse a kernel that can reach an instruction without a public functional definition, or its own fret.

    Raises:
        LaunchError: S022 or S023 for each such instruction, with its line and the reason.
    """
    found = []
    for function, n, i in reachable(image, kernel):
        why = refusal(i, image.grf_size) or _ends_callers(kernel, function, n)
        lost = returns_to_nobody(function, i.desc)
        what = f"kernel '{kernel.name}' reaches {i.desc.mnemonic} (instruction {n} of '{function.name}')"
        if why:
            message = f"{what}, which cannot be executed: {why}"
            found.append(Diagnostic("S022", message, image.span(function, i.line)))
        if lost:
            message, hint = f"{what}, which returns to the caller of a function: a kernel has none", "end it with ret"
            found.append(Diagnostic("S023", message, image.span(function, i.line), hint))
    if found:
        raise LaunchError(found)


def touches_scratch(image: LinkedImage, kernel: Function) -> bool:
    """Whether a kernel, or a function that it calls, can read or write scratch memory; most that have some leave it to
    spills, which only the finalizer makes.
    """
    return any(touches_scratch_itself(instruction) for _, _, instruction in reachable(image, kernel))


def touches_scratch_itself(instruction: Instruction) -> bool:
    """Whether an instruction can read or write scratch memory."""
    args = instruction.args
    if instruction.desc.semantics in RAW_MESSAGES or args.get("surface") == SCRATCH:
        return True
    return "addr_type" in args and address_kind(instruction) in ("ss", "surf")  # whose handle may be that of scratch
