"""The work-items of a launch, and the work-groups that they are cut into."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from visakit.diagnostics import Diagnostic, LaunchError, Span
from visakit.forks import cached_property
from visakit.language.program import widest_instruction
from visakit.usage import warn
from vsim.launch.launch import Launch, dimensions
from vsim.launch.payload import encoded
from vsim.launch.signature import KernelSignature

Size = tuple[int, int, int]
"""Work-items or groups in three dimensions."""
MAXIMUM_GROUP_ITEMS = 1024
MAXIMUM_DEFAULT_GROUP = 256
MAXIMUM_GROUPS = 1 << 62
"""Work-groups of a launch, which are counted in 64 bits with a sign."""
_TRIPLE = struct.Struct("<3I")


class Group(NamedTuple):
    """A work-group: its id in three dimensions and its size in work-items (smaller at the rim of the ND-range)."""

    id: Size
    size: Size

    @property
    def items(self) -> int:
        """Its work-items."""
        x, y, z = self.size
        return x * y * z


@dataclass(frozen=True, eq=False)
class NdRange:
    """The work-items of a launch, cut into groups; ``dims`` are the dimensions that the launch names."""

    global_size: Size
    local_size: Size
    offset: Size
    dims: int

    @cached_property
    def group_counts(self) -> Size:
        """Groups along each dimension."""
        x, y, z = (-(-g // n) for g, n in zip(self.global_size, self.local_size, strict=True))
        return x, y, z

    @cached_property
    def group_count(self) -> int:
        """All groups."""
        x, y, z = self.group_counts
        return x * y * z

    def group(self, index: int) -> Group:
        """The work-group with a linear index, x fastest."""
        counts = self.group_counts
        x, y, z = index % counts[0], index // counts[0] % counts[1], index // (counts[0] * counts[1])
        sizes = [min(n, g - i * n) for n, g, i in zip(self.local_size, self.global_size, (x, y, z), strict=True)]
        return Group((x, y, z), (sizes[0], sizes[1], sizes[2]))


def range_of(signature: KernelSignature, launch: Launch) -> NdRange:
    """The ND-range of a launch; without a local size it is the kernel's, else one is chosen.

    Raises:
        LaunchError: there are no work-items, or the kernel cannot run in these work-groups.
    """
    size, required = dimensions(launch.global_size), signature.required_size
    if 0 in size:
        raise signature.error(f"the global size {launch.global_size} has a zero")
    local = launch.local_size or required or (_default_local_size(size[0], signature),)
    local_size = dimensions(local)
    if required and local_size != dimensions(required):
        raise signature.error(f"the kernel requires work-groups of {required}, the launch has {tuple(local)}")
    items = local_size[0] * local_size[1] * local_size[2]
    if not 0 < items <= MAXIMUM_GROUP_ITEMS:
        raise signature.error(
            f"a work-group of {tuple(local)} has {items} work-items, 1 to {MAXIMUM_GROUP_ITEMS} are possible"
        )
    if items > 1 and not signature.says_simd and _leaves_something(signature):
        raise _unknown_width(signature)
    nd_range = NdRange(size, local_size, dimensions(launch.global_offset, 0), len(launch.global_size))
    if nd_range.group_count > MAXIMUM_GROUPS:
        raise signature.error(f"the launch has {nd_range.group_count} work-groups, 1 to {MAXIMUM_GROUPS} are possible")
    if signature.counts_threads:
        _warn_of_parts_of_threads(signature, nd_range)
    return nd_range


def _leaves_something(signature: KernelSignature) -> bool:
    """Whether a kernel has messages or calls: without, it leaves nothing, however many threads run."""
    from visakit.rules.extents import has_message  # with the table

    return any(has_message(i.desc) or i.desc.flow.calls_function for i in signature.kernel.instructions)


def _unknown_width(signature: KernelSignature) -> LaunchError:
    """The error of a kernel of unknown SIMD size, in groups of several work-items."""
    lanes = widest_instruction(signature.kernel)
    message = "neither its text nor ze_info says how many work-items a hardware thread has"
    return signature.error(message, f"write .kernel_attr SimdSize={lanes} into the text, if {lanes} are meant")


def _warn_of_parts_of_threads(signature: KernelSignature, found: NdRange) -> None:
    """Warn where several threads of a row have the same ``%thread_x``, as groups do not begin where threads do."""
    simd, (width, height, depth) = signature.simd, found.local_size
    is_apart = width % simd and found.group_counts[0] > 1
    if height * depth > 1 or not (is_apart or found.offset[0] % simd):
        return
    what = f"groups of {width}" if is_apart else f"an offset of {found.offset[0]}"
    message = (
        f"kernel '{signature.name}' reads %thread_x, which counts threads of {simd} work-items, and {what} "
        f"{'cut' if is_apart else 'cuts'} threads apart: some have the same number"
    )
    hint = f"take a local size that is a multiple of {simd}" if is_apart else f"take a multiple of {simd}"
    warn(Diagnostic("S005", message, Span(signature.image.file, 0), hint, severity="warning"))


def _default_local_size(first: int, signature: KernelSignature) -> int:
    """The smallest divisor of the first dimension that fills a hardware thread, else the largest up to 256.

    Kernels that count threads get whole threads, though the last group be smaller than the others.
    """
    simd, largest = signature.simd, min(first, MAXIMUM_DEFAULT_GROUP)
    if signature.counts_threads and first > simd:
        return next((d for d in range(simd, largest + 1, simd) if first % d == 0), simd)
    return next(
        (d for d in range(simd, largest + 1) if first % d == 0),
        next(d for d in range(largest, 0, -1) if first % d == 0),
    )


_IMPLICIT_LENGTH = 112
"""The length in the structure itself: its reserved words at the end do not count."""
_LEAST_ROW = 16
_IMPLICIT = struct.Struct("<4B3I3QQ3QQ3II2Q16x")


IMPLICIT_BYTES = _IMPLICIT.size
"""Bytes of the structure; the table of local ids follows it."""


def implicit_arguments(nd_range: NdRange, simd: int, printf: int, table: int) -> bytes:
    """The memory at ``%impl_arg_buf_ptr``, or in ``arg[...]``: the driver's implicit arguments, version 0.

    Args:
        printf: the address of the buffer that the kernel prints to; 0 for none.
        table: the address of the local ids of a group (:func:`local_id_table`).

    Its length and version, dimensions and lanes as bytes; the local size; as 64 bits the global size, the buffer for
    printf, the offset and the table of local ids; the groups; addresses for ray tracing and assertions, which there are
    none.
    """
    head = _IMPLICIT_LENGTH, 0, nd_range.dims, simd
    sizes = *nd_range.local_size, *nd_range.global_size, printf, *nd_range.offset
    groups = *nd_range.group_counts, 0, 0, 0
    return _IMPLICIT.pack(*head, *sizes, table, *groups)


def local_id_table(size: Size, simd: int) -> bytes:
    """The local ids of a whole group: for each thread words of x, then y, then z, in rows of 16 words at least."""
    width, height, depth = size
    threads = -(-width * height * depth // simd)
    items = np.arange(threads * simd).reshape(threads, simd)
    table = np.zeros((threads, 3, max(simd, _LEAST_ROW)), "<u2")
    for axis, ids in enumerate((items % width, items // width % height, items // (width * height))):
        table[:, axis, :simd] = ids
    return table.tobytes()


_TRIPLES: dict[str, Callable[[NdRange], Size]] = {
    "global_id_offset": lambda r: r.offset, "enqueued_local_size": lambda r: r.local_size,
    "global_size": lambda r: r.global_size, "group_count": lambda r: r.group_counts,
}  # fmt: skip


def payload_template(signature: KernelSignature, nd_range: NdRange) -> bytes:
    """The payload of a kernel over an ND-range, at its register offsets, with zeros where arguments go."""
    payload = bytearray(signature.layout.template)
    for at, field in signature.layout.range_values:
        triple = _TRIPLES.get(field.kind)
        if triple is not None:
            put_triple(payload, at, triple(nd_range))
        else:
            payload[at : at + field.size] = encoded(nd_range.dims, field.size)
    return bytes(payload)


def put_triple(payload: bytearray, at: int, size: Size) -> None:
    """Write three dimensions into a payload, each as a dword."""
    _TRIPLE.pack_into(payload, at, *size)
