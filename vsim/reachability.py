"""What a kernel can execute: the instructions that control flow reaches, through calls too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from visa.diagnostics import Diagnostic, LaunchError
from visa.image import Image
from visa.program import Body, Instruction
from vsim.refused import RAW_MESSAGES, REFUSED
from vsim.semantics.messages import NoTwin, twin


@dataclass
class Reached:
    """Bodies that can run, the kernel first, and of each the numbers of the instructions that can."""

    bodies: list[Body] = field(default_factory=list)
    instructions: dict[int, list[int]] = field(default_factory=dict)

    def of(self, body: Body) -> list[int]:
        """Numbers of the instructions of a body."""
        return self.instructions[id(body)]

    def __iter__(self) -> Iterator[tuple[Body, int, Instruction]]:
        """Each instruction with its body and number."""
        return ((body, n, body.instructions[n]) for body in self.bodies for n in self.of(body))


def _takes_all(body: Body, instruction: Instruction) -> bool:
    """Whether a jump or return takes every active lane."""
    execution = instruction.args.get("exec")
    return instruction.args.get("pred") is None and (execution is None or execution.size == 1 or execution.size >= (body.simd_size or 32))


def _targets(body: Body, labels: dict[int, int], n: int) -> list[int]:
    """Where lanes can be after an instruction, in the same body."""
    i = body.instructions[n]
    name, args = i.form.mnemonic, i.args
    if name in ("ret", "fret"):
        return [] if _takes_all(body, i) else [n + 1]
    if name in ("goto", "jmp"):
        return [labels[args["label"]]] + ([] if _takes_all(body, i) else [n + 1])
    if name == "call":
        return [labels[args["label"]], n + 1]
    if name == "switchjmp":
        return [*(labels[label] for label in args["labels"]), n + 1]
    return [n + 1]


def _walk(body: Body) -> list[int]:
    labels = {i.args["label"]: n for n, i in enumerate(body.instructions) if i.form.mnemonic in (".label", ".function")}
    seen, todo = set[int](), [0]
    while todo:
        n = todo.pop()
        while n < len(body.instructions) and n not in seen:
            seen.add(n)
            n, *others = _targets(body, labels, n) or [len(body.instructions)]
            todo += others
    return sorted(seen)


def reachable(image: Image, kernel: Body) -> Reached:
    """Everything that a kernel can execute. An ``ifcall`` counts as a call of every function."""
    found, todo = Reached(), [kernel]
    while todo:
        body = todo.pop(0)
        if id(body) in found.instructions:
            continue
        found.bodies.append(body)
        found.instructions[id(body)] = numbers = _walk(body)
        for n in numbers:
            i = body.instructions[n]
            if i.form.mnemonic == "fcall":
                callee = image.callee(body, i.args["name"])
                todo += [callee] if callee else []
            elif i.form.mnemonic == "ifcall":
                todo += image.module.functions
    return found


def refusal(instruction: Instruction, grf_size: int) -> str:
    """Why an instruction cannot be executed; empty if it can."""
    if instruction.form.semantics in RAW_MESSAGES:
        try:
            twin(instruction, grf_size)
        except NoTwin as problem:
            return str(problem)
    return REFUSED.get(instruction.form.semantics, "")


def check(image: Image, kernel: Body) -> None:
    """Refuse a kernel that can reach an instruction without a public functional definition.

    Raises:
        LaunchError: S022 for each such instruction, with its line and the reason.
    """
    found = []
    for body, n, i in reachable(image, kernel):
        why = refusal(i, image.grf_size)
        if why:
            what = f"kernel '{kernel.name}' reaches {i.form.mnemonic} (instruction {n} of '{body.name}'), which cannot be executed"
            found.append(Diagnostic("S022", f"{what}: {why}", image.span(body, i.line)))
    if found:
        raise LaunchError(found)
