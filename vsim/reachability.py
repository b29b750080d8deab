"""What a kernel can execute: the instructions that control flow reaches, through calls too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from visa.diagnostics import Diagnostic, LaunchError
from visa.image import LinkedImage
from visa.program import Function, Instruction
from vsim.refused import RAW_MESSAGES, REFUSED
from vsim.semantics.messages import NoEquivalent, equivalent


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


def _takes_all(function: Function, instruction: Instruction) -> bool:
    """Whether a jump or return takes every active lane."""
    execution = instruction.args.get("exec")
    return instruction.args.get("pred") is None and (
        execution is None or execution.size == 1 or execution.size >= (function.simd_size or 32)
    )


def _targets(function: Function, labels: dict[int, int], n: int) -> list[int]:
    """Where lanes can be after an instruction, in the same function."""
    i = function.instructions[n]
    name, args = i.desc.mnemonic, i.args
    if name in ("ret", "fret"):
        return [] if _takes_all(function, i) else [n + 1]
    if name in ("goto", "jmp"):
        return [labels[args["label"]]] + ([] if _takes_all(function, i) else [n + 1])
    if name == "call":
        return [labels[args["label"]], n + 1]
    if name == "switchjmp":
        return [*(labels[label] for label in args["labels"]), n + 1]
    return [n + 1]


def _walk(function: Function) -> list[int]:
    labels = {
        i.args["label"]: n for n, i in enumerate(function.instructions) if i.desc.mnemonic in (".label", ".function")
    }
    seen, todo = set[int](), [0]
    while todo:
        n = todo.pop()
        while n < len(function.instructions) and n not in seen:
            seen.add(n)
            n, *others = _targets(function, labels, n) or [len(function.instructions)]
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
        found.instructions[id(function)] = numbers = _walk(function)
        for n in numbers:
            i = function.instructions[n]
            if i.desc.mnemonic == "fcall":
                callee = image.callee(function, i.args["name"])
                todo += [callee] if callee else []
            elif i.desc.mnemonic == "ifcall":
                todo += image.module.functions
    return found


def refusal(instruction: Instruction, grf_size: int) -> str:
    """Why an instruction cannot be executed; empty if it can."""
    if instruction.desc.semantics in RAW_MESSAGES:
        try:
            equivalent(instruction, grf_size)
        except NoEquivalent as problem:
            return str(problem)
    return REFUSED.get(instruction.desc.semantics, "")


def check(image: LinkedImage, kernel: Function) -> None:
    """Refuse a kernel that can reach an instruction without a public functional definition.

    Raises:
        LaunchError: S022 for each such instruction, with its line and the reason.
    """
    found = []
    for function, n, i in reachable(image, kernel):
        why = refusal(i, image.grf_size)
        if why:
            what = f"kernel '{kernel.name}' reaches {i.desc.mnemonic} (instruction {n} of '{function.name}'), which cannot be executed"
            found.append(Diagnostic("S022", f"{what}: {why}", image.span(function, i.line)))
    if found:
        raise LaunchError(found)
