"""The payload: the registers of a hardware thread when it starts (:mod:`visakit.objects.payload` has the places)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from visakit.language.program import Function
from visakit.objects.image import LinkedImage
from visakit.objects.payload import PlacedField, payload_places, round_up
from visakit.objects.ze_info import KernelInfo, PayloadField

SAMPLER_HANDLE_SHIFT = 4
"""Handles of bindless samplers are multiples of 16; the compiler sets flags in the low bits."""
SURFACE_HANDLE_STEP = 0x40
"""Bytes of a surface state; handles of bindless surfaces are multiples of it."""
SCRATCH_HANDLE = 0x20
"""The value of ``%scratchloc`` and ze_info's ``scratch_pointer``: the handle of a thread's scratch memory."""
IMPLICIT_HANDLE = 0
"""The handle of the memory of ``arg[...]``: implicit arguments of functions. No argument has it."""
RANGE_VALUES = ("global_id_offset", "enqueued_local_size", "global_size", "group_count", "work_dimensions")
"""Values that the ND-range alone decides."""
_NOT_ARGUMENTS = (
    *RANGE_VALUES, "local_size", "private_base_stateless", "const_base", "global_base", "inline_sampler",
    "buffer_offset", "packed_local_ids", "local_id", "indirect_data_pointer", "scratch_pointer",
)  # fmt: skip
"""Values that do not depend on arguments. (The address of a buffer is that of its first byte, so its offset is always
0. The indirect data is the payload as the driver leaves it in memory: only the prologue that a finalizer adds to a
kernel reads it, and its address is 0 here.)
"""
_DATA_SECTIONS = {"const_base": "data.const", "global_base": "data.global"}
_BUFFER_SPACES = ("global", "constant")
_ALIGNMENT = 64
_SLACK = 64
"""Bytes after the last value: three dwords fit at each place."""


class PayloadLayout(NamedTuple):
    """Where everything in the payload of a kernel goes.

    Attributes:
        template: the bytes that no launch changes, zeros elsewhere.
        arguments: values that arguments decide (and the printf buffer), each with its place, in ze_info's order.
        local_pointers: offsets of arguments in local memory.
        range_values: values that the ND-range decides, with their places.
        group_size_at: places of the size of the group, which is smaller at the rim of the ND-range.
        private_at: places of the address of private memory, which the engine allocates.
        handles: handles of surfaces, samplers and scratch memory as dwords by place: they depend on nothing but the
            argument's number.
        data: addresses of the program's data that surfaces lead to, by handle.
        data_surfaces: the same by number.
        pointers: places of known addresses of buffers and of private memory.
        local_id_rows: rows of local ids of a thread, one for each dimension that the kernel looks at; one for all three
            where a thread is a work-item.
        local_ids_at: where they begin.
    """

    template: bytes
    arguments: tuple[PlacedField, ...]
    local_pointers: tuple[PlacedField, ...]
    range_values: tuple[PlacedField, ...]
    group_size_at: tuple[int, ...]
    private_at: tuple[int, ...]
    handles: dict[int, int]
    data: dict[int, int]
    data_surfaces: dict[int, int]
    pointers: frozenset[int]
    local_id_rows: int
    local_ids_at: int

    def __repr__(self) -> str:
        return f"<PayloadLayout of {len(self.template)} bytes, {len(self.arguments)} of whose values arguments decide>"


def layout_of_inputs(kernel: Function) -> PayloadLayout:
    """The payload of a kernel without ze_info: its ``.input`` variables, at their declared offsets."""
    size = max([i.offset + i.size for i in kernel.inputs] + [_ALIGNMENT]) + _SLACK
    pointers = frozenset(i.offset for i in kernel.inputs if i.size == 8)
    return PayloadLayout(bytes(size), (), (), (), (), (), {}, {}, {}, pointers, 0, 0)


def layout_of(image: LinkedImage, kernel: Function, info: KernelInfo) -> PayloadLayout:
    """The payload of a kernel with ze_info."""
    grf = image.grf_size
    _, base, fields = payload_places(info, grf, image.platform, kernel.inputs)
    handles = _handles(fields)
    ends = [at + f.size for at, f in fields] + [i.offset + i.size for i in kernel.inputs]
    size = round_up(max([base, *ends]), _ALIGNMENT) + _SLACK
    return PayloadLayout(
        template=_template(image, size, fields, handles),
        arguments=_chosen(fields, lambda f: f.kind not in _NOT_ARGUMENTS and not f.is_local_pointer),
        local_pointers=_chosen(fields, lambda f: f.is_local_pointer),
        range_values=_chosen(fields, lambda f: f.kind in RANGE_VALUES),
        group_size_at=_places(fields, lambda f: f.kind == "local_size"),
        private_at=_places(fields, lambda f: f.kind == "private_base_stateless"),
        handles=_dwords_of(fields, handles),
        data={handles[at]: _data_address(image, f) for at, f in fields if f.kind in _DATA_SECTIONS and f.is_handle},
        data_surfaces={
            f.surface: _data_address(image, f)
            for _, f in fields
            if f.kind in _DATA_SECTIONS and f.surface is not None and not f.is_handle
        },
        pointers=frozenset(_places(fields, _is_address)),
        local_id_rows=-(-info.local_id_size // local_id_row(info.simd_size, grf)),
        local_ids_at=grf + info.local_id_offset,
    )


def local_id_row(simd: int, grf_size: int) -> int:
    """Bytes of the local ids of a thread along one dimension: whole registers."""
    return 64 if simd == 32 and grf_size == 32 else grf_size


def local_id_step(simd: int, grf_size: int) -> int:
    """Bytes from the local ids of a thread along one dimension to those along the next: a thread that is one work-item
    has three words in one row.
    """
    return 2 if simd == 1 else local_id_row(simd, grf_size)


def _chosen(fields: list[PlacedField], test: Callable[[PayloadField], bool]) -> tuple[PlacedField, ...]:
    return tuple((at, field) for at, field in fields if test(field))


def _is_address(field: PayloadField) -> bool:
    is_buffer = field.address_space in _BUFFER_SPACES and not field.is_handle
    return is_buffer or field.kind in ("buffer_address", "private_base_stateless")


def _places(fields: list[PlacedField], test: Callable[[PayloadField], bool]) -> tuple[int, ...]:
    return tuple(at for at, field in fields if test(field))


def _template(image: LinkedImage, size: int, fields: list[PlacedField], handles: dict[int, int]) -> bytes:
    """The bytes of a payload that no launch changes: handles, and the addresses of the program's own data."""
    data = bytearray(size)
    for at, field in fields:
        value = handles.get(at)
        if field.kind in _DATA_SECTIONS and value is None:
            value = _data_address(image, field)
        if value:
            data[at : at + field.size] = encoded(value, field.size)
    return bytes(data)


def _data_address(image: LinkedImage, field: PayloadField) -> int:
    """The address of the program's data that a value points to; 0 without such data."""
    return next((s.address for s in image.data if s.name == _DATA_SECTIONS[field.kind]), 0)


def _handles(fields: list[PlacedField]) -> dict[int, int]:
    """The handles of surfaces, samplers and scratch memory that values are, by place.

    Handles of the program's data follow those of the arguments.
    """
    handles: dict[int, int] = {}
    arguments = 1 + max((f.argument for _, f in fields), default=-1)
    for at, field in fields:
        if field.kind == "scratch_pointer":
            handles[at] = SCRATCH_HANDLE
        elif field.kind == "inline_sampler" or (field.is_handle and field.address_space == "sampler"):
            handles[at] = (field.sampler or 0) << SAMPLER_HANDLE_SHIFT
        elif field.is_handle and field.kind in _DATA_SECTIONS:
            handles[at] = surface_handle(arguments + list(_DATA_SECTIONS).index(field.kind))
        elif field.is_handle:
            handles[at] = surface_handle(field.argument)
    return handles


def _dwords_of(fields: list[PlacedField], handles: dict[int, int]) -> dict[int, int]:
    """Handles as dwords by place. A handle fills its value as a whole, with zeros above it."""
    dwords: dict[int, int] = {}
    for at, field in fields:
        if at in handles and field.size in (4, 8):
            dwords[at] = handles[at]
            if field.size == 8:
                dwords[at + 4] = 0
    return dwords


def surface_handle(argument: int) -> int:
    """The handle of the image that an argument is, or of the surface of a buffer; 0 is no argument's."""
    return SURFACE_HANDLE_STEP * (argument + 1)


def encoded(value: int, size: int) -> bytes:
    """A value as a number of bytes; of a wider value, the low ones."""
    return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
