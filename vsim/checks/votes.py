"""Votes of a work-group, as compilers write them: races on purpose, which no program can mend.

The library of Intel's compilers has ``work_group_any`` and ``work_group_all`` in this form: all threads store a number
to a place in local memory, and after a barrier those with a vote store another one. By the memory model of OpenCL C
equal values race, too, so a program that does this by itself has a finding. A compiler knows what its device does.

A finding is of this kind if the kernel calls such a function, by the SPIR-V in the compiler's program, and the
instructions around it are the library's: a barrier, a store, a barrier, a store, a barrier, a load, all of
constants and of one place, and no other access to local memory between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from visakit.isa.record import Access, Flow
from visakit.language.operands import Raw
from visakit.language.program import Function, Instruction
from visakit.objects.image import LinkedImage
from visakit.objects.spirv import voting_kernels
from visakit.objects.zebin import spirv_of
from visakit.rules.message_sizes import message_sizes
from vsim.analysis.atomics import is_local
from vsim.analysis.known_values import KnownValues
from vsim.checks.findings import Finding
from vsim.launch.dispatch import Dispatch
from vsim.semantics.messages import meaning
from vsim.semantics.registers import layout_of

_VOTE = (None, Access.STORE, None, Access.STORE, None, Access.LOAD)
"""The steps of a vote; None is a barrier."""
_STORES = (1, 3)
_OFFSETS = ("global_offset", "imm_offset")
"""What messages add to an address."""


class _Step(NamedTuple):
    """A barrier, or an access to local memory, which is None for a barrier."""

    number: int
    instruction: Instruction
    access: Access | None


def is_of_vote(dispatch: Dispatch, finding: Finding) -> bool:
    """Whether a finding is of a race that the compiler put into a vote."""
    if finding.code != "K001" or finding.other is None or finding.other.site != finding.site:
        return False
    function = dispatch.image.module.all_functions[finding.site.function]
    return is_vote(dispatch.image, dispatch.kernel, function, finding.site.instruction)


def is_vote(image: LinkedImage, kernel: Function, function: Function, number: int) -> bool:
    """Whether an instruction that a kernel executes is one of the stores of a vote that the compiler made."""
    return _is_vote(function, number, image.grf_size) and _calls_vote(image, kernel)


def _calls_vote(image: LinkedImage, kernel: Function) -> bool:
    """Whether the SPIR-V of a kernel has a vote."""
    try:
        return kernel.name in voting_kernels(spirv_of(image.zebin()))
    except ValueError:
        return False


def _is_vote(function: Function, number: int, grf_size: int) -> bool:
    """Whether the instructions around a store are those of a vote."""
    steps = list(_steps(function, grf_size))
    at = next((n for n, step in enumerate(steps) if step.number == number), None)
    if at is None:
        return False
    values = KnownValues(function, layout_of(function, grf_size))
    return any(_is_whole(steps[at - n : at - n + len(_VOTE)], values) for n in _STORES if at >= n)


def _steps(function: Function, grf_size: int) -> Iterator[_Step]:
    for number, own in enumerate(function.instructions):
        i = meaning(own, grf_size)
        if i.desc.flow is Flow.BARRIER:
            yield _Step(number, i, None)
        elif i.desc.access is not Access.NONE and is_local(i):
            yield _Step(number, i, i.desc.access)


def _is_whole(steps: list[_Step], values: KnownValues) -> bool:
    """Whether steps are those of a vote: the two stores have different constants, all accesses the same place."""
    if tuple(step.access for step in steps) != _VOTE:
        return False
    accesses = [step for step in steps if step.access is not None]
    if not all(_is_of_dword(step.instruction, values.layout.grf_size) for step in accesses):
        return False
    places = {_known(values, step, ("addr", "offsets")) for step in accesses}
    offsets = {tuple(step.instruction.args.get(name) for name in _OFFSETS) for step in accesses}
    stored = [_known(values, steps[n], ("src", "src1")) for n in _STORES]
    return len(places) == len(offsets) == 1 and None not in (*places, *stored) and stored[0] != stored[1]


def _is_of_dword(i: Instruction, grf_size: int) -> bool:
    """Whether a message is for the whole thread, and of one number of four bytes."""
    execution, sizes = i.args.get("exec"), message_sizes(i, grf_size)
    is_whole = execution is not None and execution.size == 1 and execution.no_mask
    return is_whole and 4 in (sizes.get(name) for name in ("src", "src1", "dst"))


def _known(values: KnownValues, step: _Step, names: tuple[str, ...]) -> int | None:
    """The constant in the operand that has one of some names; None if it is not known."""
    found = (step.instruction.args.get(name) for name in names)
    operand = next((op for op in found if isinstance(op, Raw)), None)
    return None if operand is None else values.of_message(step.number, operand)
