"""A launch as its threads see it: geometry, payload, surfaces and memory.

docs/architecture.md, "The way of a launch", explains payload and memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from visakit.language.program import Function
from visakit.objects.image import SLOT_OFFSET, LinkedImage
from visakit.objects.payload import round_up
from vsim.launch.arguments import Arguments
from vsim.launch.ndrange import Group, NdRange, Size, put_triple
from vsim.launch.payload import encoded
from vsim.launch.signature import KernelSignature
from vsim.memory.images import SurfaceImage
from vsim.memory.memory import SLM_STEP, AddressSpace, Buffer, SamplerState

if TYPE_CHECKING:
    from vsim.semantics.registers import FloatModes

PRIVATE_MEMORY = "private memory"
"""The name of the block that holds it."""


@dataclass(frozen=True, eq=False, repr=False)
class BoundLaunch:
    """A launch whose arguments are checked and have their places in payload and memory.

    Attributes:
        payload: the bytes of every group but for the group's size and the address of private memory, which
            :meth:`payload_of` adds.
    """

    signature: KernelSignature
    nd_range: NdRange
    arguments: Arguments
    payload: bytes
    memory: AddressSpace

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of '{self.kernel.name}' over {self.global_size} in groups of {self.local_size}>"

    # -- the kernel ----------------------------------------------------------------------------------------

    @property
    def image(self) -> LinkedImage:
        return self.signature.image

    @property
    def kernel(self) -> Function:
        return self.signature.kernel

    @property
    def exact(self) -> bool:
        """Whether transcendental functions of floats are rounded once (:mod:`vsim.semantics.approximations`)."""
        return not self.signature.image.approximate

    @property
    def grf_size(self) -> int:
        return self.signature.image.grf_size

    @property
    def simd(self) -> int:
        """Work-items of a hardware thread."""
        return self.signature.simd

    @property
    def lanes(self) -> int:
        """Lanes of a hardware thread in the kernel; some may be no work-items."""
        return self.kernel.lanes if self.kernel.is_cm else self.simd

    @property
    def by_inputs(self) -> bool:
        """Whether arguments went to ``.input`` variables, as the kernel has no ze_info."""
        return self.signature.info is None

    @property
    def float_modes(self) -> FloatModes:
        """The use of %cr0 by the kernel and the functions of the image."""
        return self.signature.float_modes

    # -- the ND-range --------------------------------------------------------------------------------------

    @property
    def global_size(self) -> Size:
        return self.nd_range.global_size

    @property
    def local_size(self) -> Size:
        return self.nd_range.local_size

    @property
    def offset(self) -> Size:
        """The first global id."""
        return self.nd_range.offset

    @property
    def group_counts(self) -> Size:
        """Groups along each dimension."""
        return self.nd_range.group_counts

    @property
    def group_count(self) -> int:
        """All groups."""
        return self.nd_range.group_count

    def group(self, index: int) -> Group:
        """The work-group with a linear index, x fastest."""
        return self.nd_range.group(index)

    def threads_of(self, group: Group) -> int:
        """Hardware threads of a group."""
        return -(-group.items // self.simd)

    # -- memory and payload --------------------------------------------------------------------------------

    @property
    def surfaces(self) -> dict[int, Buffer | SurfaceImage]:
        """Buffers and images by number of the surface."""
        return self.arguments.surfaces

    @property
    def bindless(self) -> dict[int, Buffer | SurfaceImage]:
        """Buffers and images by handle."""
        return self.arguments.bindless

    @property
    def all_surfaces(self) -> tuple[Buffer | SurfaceImage, ...]:
        """Buffers and images, by number or by handle."""
        return (*self.surfaces.values(), *self.bindless.values())

    def has_table(self, table: Mapping[int, Buffer | SurfaceImage]) -> bool:
        """Whether it is the table of surfaces by number or by handle, and not one of shadows."""
        return table is self.surfaces or table is self.bindless

    @property
    def samplers(self) -> dict[int, SamplerState]:
        """Samplers by number."""
        return self.arguments.samplers

    @property
    def handles(self) -> dict[int, int]:
        """Handles of surfaces and samplers as dwords by their place in the payload: the same in every launch."""
        return self.signature.layout.handles

    @property
    def pointers(self) -> frozenset[int]:
        """Places of known addresses of buffers in the payload."""
        return self.signature.layout.pointers

    @property
    def local_id_rows(self) -> int:
        """Rows of local ids of a thread: see :class:`vsim.launch.payload.PayloadLayout`."""
        return self.signature.layout.local_id_rows

    @property
    def local_ids_at(self) -> int:
        """Where these begin in the payload."""
        return self.signature.layout.local_ids_at

    @property
    def slm_size(self) -> int:
        """Bytes of local memory of a group."""
        return round_up(self.signature.slm_size + self.arguments.slm_size, self.signature.image.local_step)

    @property
    def slm_room(self) -> int:
        """Bytes of it that kernels may read."""
        return round_up(self.slm_size, SLM_STEP) if self.signature.image.lenient_reads else self.slm_size

    @property
    def scratch_size(self) -> int:
        """Bytes of scratch memory of a thread."""
        return self.signature.scratch_size

    @property
    def has_read_only(self) -> bool:
        """Whether there are arrays that the kernel must not write."""
        return bool(self.memory.read_only)

    @property
    def separates_writes(self) -> bool:
        """Whether kernels may read memory that they must not write: arrays, or zeros beyond the end of memory."""
        return self.has_read_only or self.signature.image.lenient_reads

    @property
    def has_private_memory(self) -> bool:
        """Whether the payload wants the address of :meth:`private_memory`."""
        return bool(self.signature.layout.private_at)

    @property
    def private_size(self) -> int:
        """Bytes of private memory of a thread, which have its stack; 0 where the kernel asks for none."""
        return max(self.signature.private_size, 64) if self.has_private_memory else 0

    def private_memory(self, thread_count: int) -> int:
        """The address of zeroed memory for a number of threads in flight; 0 if the kernel has no private memory."""
        if not self.has_private_memory:
            return 0
        block = self.memory.block(PRIVATE_MEMORY, self.private_size * thread_count)
        block.data[:] = 0
        return block.address

    def payload_of(self, group_size: Size, private_address: int) -> bytes:
        """The payload of groups of a size; :meth:`private_memory` gives ``private_address``."""
        layout = self.signature.layout
        if not layout.group_size_at and not layout.private_at:
            return self.payload
        data = bytearray(self.payload)
        for at in layout.group_size_at:
            put_triple(data, at, group_size)
        for at in layout.private_at:
            data[at : at + 8] = encoded(private_address, 8)
        return bytes(data)

    def name_of(self, buffer: Buffer) -> str:
        """The name of memory in faults and traces: its arguments in this launch, else the buffer's name.

        An array keeps its memory from launch to launch, where it may be other arguments.
        """
        end, unguarded = buffer.address + buffer.size, self.memory.unguarded
        names = [
            self.argument_name(index)
            for index, own in self.arguments.buffers.items()
            for start in {own.address, unguarded(own.address)}
            if buffer.address and buffer.address <= start and start + own.size <= end
        ]
        return " or ".join(dict.fromkeys(names)) or buffer.name

    def argument_name(self, index: int) -> str:
        """The name of an argument in findings and faults."""
        return self.arguments.inputs.get(index) or self.signature.buffer_name(index)

    def nowhere(self, address: int) -> str:
        """The name of an address outside of all buffers in faults; near 0 it belongs to the null pointers, if any."""
        offset = address - (1 << 64) if address >> 63 else address
        if self.arguments.nulls and abs(offset) < SLOT_OFFSET:
            return f"'{' or '.join(self.arguments.nulls)}', which has 0 bytes, at offset {offset}"
        return f"address {address:#x}, where there is no buffer,"
