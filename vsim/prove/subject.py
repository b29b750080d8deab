"""The launches of a kernel that a proof is about: which dimensions and group sizes, and their symbols."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from visakit.language.operands import General, region_elements
from visakit.language.program import FIRST_VARIABLE, Function
from vsim.launch import threads
from vsim.launch.dispatch import Dispatch
from vsim.launch.given_launch import GivenLaunch
from vsim.launch.launch import Launch
from vsim.launch.signature import KernelSignature
from vsim.launch.writer import skeleton
from vsim.program import Program
from vsim.prove.assumptions import Assumption, Assumptions
from vsim.semantics.memory import execution_of
from vsim.semantics.registers import layout_of
from vsim.symbolic.launch import AXES, MAXIMUM_GLOBAL, NdRangeShape, SymbolicLaunch
from vsim.symbolic.limits import Limits

_GROUP_ID_AT = {1: 24, 2: 28}
"""Bytes of %r0 with the group's id along y and z."""


class Subject(NamedTuple):
    """What a proof is about.

    Attributes:
        local_size: fixed sizes of a group; empty for any.
        dimensions: of the launches; 0 for the dimensions that the kernel reads.
    """

    program: Program
    kernel: str
    assumptions: Sequence[Assumption] = ()
    local_size: tuple[int, ...] = ()
    dimensions: int = 0

    @property
    def signature(self) -> KernelSignature:
        """Requirements of the kernel."""
        return self.program.signature(self.kernel)


def symbolic_launch(subject: Subject, limits: Limits | None = None) -> SymbolicLaunch:
    """The launches of a subject on symbols, with its assumptions as facts.

    Raises:
        LaunchError: P001, an assumption has no meaning.
    """
    sizes, dimensions = _group_of(subject), dimensions_of(subject)
    x, y, z = (*sizes, 1, 1, 1)[:3] if sizes else (None, None, None)
    dispatch = template(subject, dimensions)
    launch = SymbolicLaunch(dispatch, NdRangeShape(dimensions, (x, y, z)), limits=limits or Limits())
    own = Assumptions(launch)
    for assumption in subject.assumptions:
        own.add(assumption)
    return launch


def dimensions_of(subject: Subject) -> int:
    """The dimensions of the launches."""
    sizes = _group_of(subject)
    return subject.dimensions or max(len([n for n in sizes if n > 1]) or 1, looked_at(subject.signature))


def _group_of(subject: Subject) -> tuple[int, ...]:
    """The size of groups; empty if it may be any."""
    return subject.local_size or subject.signature.required_size or ()


def template(subject: Subject, dimensions: int) -> Dispatch:
    """A launch of the kernel, for places and addresses."""
    return subject.program.bind(any_launch(subject, dimensions))


def any_launch(subject: Subject, dimensions: int) -> Launch:
    """A launch of the kernel with arrays of some size."""
    signature = subject.signature
    sizes = _group_of(subject) or (signature.simd,) + (1,) * (dimensions - 1)
    return skeleton(GivenLaunch(signature, {}, tuple(sizes), tuple(sizes)))


def scope_of(launch: SymbolicLaunch) -> list[str]:
    """The launches that every verdict is about, in words."""
    count = launch.geometry.dimensions
    axes = "" if count == 1 else "s"
    sizes = [n for n in launch.geometry.local_size[:count] if n is not None]
    groups = f"groups of {'x'.join(map(str, sizes))}" if sizes else "groups of any size"
    return [
        f"launches of {count} dimension{axes} with whole {groups}, global offset 0",
        f"at most {MAXIMUM_GLOBAL} work-items along each dimension, "
        "each array apart from others, not NULL, below 4 GiB",
    ]


def looked_at(signature: KernelSignature) -> int:
    """How many dimensions of ids a kernel looks at."""
    found = 1
    for function in signature.image.functions_of(signature.kernel):
        found = max(found, _dimensions_of(function, signature))
    return found


def _dimensions_of(function: Function, signature: KernelSignature) -> int:
    """The last dimension whose ids an instruction of a function reads."""
    if not function.instructions:
        return 1
    layout = layout_of(function, signature.image.grf_size)
    ids = _id_bytes(signature) if function is signature.kernel else {}
    found = 1
    for instruction in function.instructions:
        execution = execution_of(instruction)
        for name, op in instruction.args.items():
            if name == "dst" or not isinstance(op, General):
                continue
            root, begin, size = layout.place(op)
            axis = root - threads.GROUP_ID
            if root < FIRST_VARIABLE and 1 <= axis < len(AXES):
                found = max(found, axis + 1)
            elements = region_elements(op.region, execution.size if execution else 1)
            places = [begin + n * size for n in elements]
            found = max([found, *(axis + 1 for axis in _axes_at(root, places, ids))])
    return found


def _axes_at(root: int, places: Sequence[int], ids: dict[tuple[int, int, int], int]) -> Iterator[int]:
    """The dimensions of ids that are at places of a variable."""
    if root == threads.R0 and len(places) == 1:
        yield from (axis for axis, at in _GROUP_ID_AT.items() if at in places)
    for (own, low, high), axis in ids.items():
        if own == root and any(low <= at < high for at in places):
            yield axis


def _id_bytes(signature: KernelSignature) -> dict[tuple[int, int, int], int]:
    """Bytes of variables that begin with local ids along y and z: root variable, first byte, end; with the axis."""
    from vsim.launch.payload import local_id_row, local_id_step

    kernel, layout = signature.kernel, signature.layout
    grf = signature.image.grf_size
    own, found = layout_of(kernel, grf), {}
    row, step = local_id_row(signature.simd, grf), local_id_step(signature.simd, grf)
    rows = min(layout.local_id_rows * row // step, 3)
    for declared in kernel.inputs:
        if declared.variable_class != 0 or declared.index < FIRST_VARIABLE:
            continue
        root, start = own.root(declared.index)
        for axis in range(1, rows):
            first = layout.local_ids_at + axis * step
            low, high = max(first, declared.offset), min(first + 2 * signature.simd, declared.offset + declared.size)
            if low < high:
                found[root, start + low - declared.offset, start + high - declared.offset] = axis
    return found
