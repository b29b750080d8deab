"""``visakit prove --equal``: the kernels of two programs, compared one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vsim.program import Program
    from vsim.prove.equal import EqualOptions
    from vsim.prove.subject import Subject
    from vsim.prove.verdict import Verdict


def prove_kernels(
    first: Subject, second: Program, options: EqualOptions, out: str | None, files: Sequence[str]
) -> list[Verdict]:
    """The verdicts on the kernels of two programs, which are printed as they come.

    Args:
        first: the first program; a kernel without a name stands for all of them.
        files: the names of the programs.
    """
    from vsim.prove import refutation
    from vsim.prove.equal import prove_equal
    from vsim.prove.report import lines_of

    found = []
    for one, other in _pairs(first, second):
        verdict = prove_equal(one, other, options)
        if verdict.refutation is not None and out is not None:
            launch = verdict.refutation.launch
            verdict.refutation.where = refutation.write(one, launch, out, verdict.property, files)
        for line in lines_of(one.program, verdict, other.program):
            print(line, flush=True)
        found.append(verdict)
    return found


def _pairs(first: Subject, second: Program) -> list[tuple[Subject, Subject]]:
    """The kernels that are compared: those of equal names, or the only ones."""
    names = [first.kernel] if first.kernel else first.program.kernels
    pairs = []
    for name in names:
        is_renamed = name not in second.kernels and len(names) == 1 and len(second.kernels) == 1
        other = second.kernels[0] if is_renamed else name
        pairs.append((first._replace(kernel=name), first._replace(program=second, kernel=other)))
    return pairs
