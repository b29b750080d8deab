"""``visakit prove`` on kernels, one by one: their properties, or their equality with the kernels of another program.

Verdicts are printed as they come, and launches that refute go to a folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vsim.program import Program
    from vsim.prove.equal import EqualOptions
    from vsim.prove.subject import Subject
    from vsim.prove.verdict import Verdict


def prove_properties(
    subject: Subject, properties: Sequence[str], limits: tuple[int, int], out: str | None, image: str
) -> list[Verdict]:
    """The verdicts on properties of a kernel; of all kernels, where the subject names none.

    Args:
        limits: seconds for each property, and megabytes.
        out: the folder for launch files.
        image: the program's file.
    """
    from vsim.prove.prover import prove

    own = [subject._replace(kernel=name) for name in kernels_of(subject)]
    return [_shown(v, one, out, [image]) for one in own for v in prove(one, properties, *limits)]


def prove_kernels(
    first: Subject, second: Program, options: EqualOptions, out: str | None, files: Sequence[str]
) -> list[Verdict]:
    """The verdicts on the kernels of two programs.

    Args:
        first: the first program; a kernel without a name stands for all of them.
        files: the names of the programs.
    """
    from vsim.prove.equal import prove_equal

    pairs = _pairs(first, second)
    return [_shown(prove_equal(one, other, options), one, out, files, second) for one, other in pairs]


def kernels_of(subject: Subject) -> list[str]:
    """The kernel that a subject names, or all of its program."""
    return [subject.kernel] if subject.kernel else subject.program.kernels


def _shown(
    verdict: Verdict, subject: Subject, out: str | None, files: Sequence[str], second: Program | None = None
) -> Verdict:
    """The verdict, which is printed; the launch of a refutation is written into the folder ``out``."""
    from vsim.prove import refutation
    from vsim.prove.report import lines_of

    if verdict.refutation is not None and out is not None:
        launch = verdict.refutation.launch
        verdict.refutation.where = refutation.write(subject, launch, out, verdict.property, files)
    for line in lines_of(subject.program, verdict, second):
        print(line, flush=True)
    return verdict


def _pairs(first: Subject, second: Program) -> list[tuple[Subject, Subject]]:
    """The kernels that are compared: those of equal names, or the only ones."""
    names = kernels_of(first)
    pairs = []
    for name in names:
        is_renamed = name not in second.kernels and len(names) == 1 and len(second.kernels) == 1
        other = second.kernels[0] if is_renamed else name
        pairs.append((first._replace(kernel=name), first._replace(program=second, kernel=other)))
    return pairs
