"""A launch with everything that an engine may ask of it, and nothing that it may change.

docs/architecture.md, "The way of a launch", explains payload and memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import prod
from operator import attrgetter, is_
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from visakit.diagnostics import Diagnostic, SimulationError
from visakit.language.program import Function
from visakit.objects.image import SLOT_OFFSET, LinkedImage
from vsim.checks.selection import GUARD, RACE_ITEMS, UNDEFINED
from vsim.launch.arguments import Arguments
from vsim.launch.arrays import Bools
from vsim.launch.ndrange import Group, NdRange, Size, put_triple
from vsim.launch.payload import encoded
from vsim.launch.signature import KernelSignature
from vsim.memory.images import SurfaceImage
from vsim.memory.memory import SLM_STEP, AddressSpace, Buffer, SamplerState

if TYPE_CHECKING:
    from vsim.checks.findings import Findings
    from vsim.launch.schedule import Schedule
    from vsim.observe.observer import Observer
    from vsim.observe.positions import ThreadPosition
    from vsim.observe.trace import Trace
    from vsim.semantics.registers import FloatModes

TIMEOUT = "S040"
LIMIT_HINT = "--max-seconds (in Python 'max_seconds') sets the limit"
PRIVATE_MEMORY = "private memory"
"""The name of the block that holds it."""
Executed = dict[int, Bools]
"""By number of a function, which of its instructions executed."""


class Groups(NamedTuple):
    """Progress of a launch: groups that have begun, and all of them."""

    begun: int
    total: int


@dataclass(frozen=True, eq=False, repr=False)
class Dispatch:
    """A launch, ready to run.

    Attributes:
        payload: the bytes of every group but for the group's size and the address of private memory, which
            :meth:`payload_of` adds.
        schedule: the order of groups and threads; None for the ascending one.
        part: the groups that run: from the first to before the second; None for all.
        coverage: marks of executed instructions, made by an observer; None without a profile.
        trace: receives the actions of threads, which makes the reference engine run the launch; None without a trace.
        findings: receives the findings of checks; None without checks.
        observers: observers of the launch besides its trace and checks.
    """

    signature: KernelSignature
    nd_range: NdRange
    arguments: Arguments
    payload: bytes
    memory: AddressSpace
    schedule: Schedule | None = None
    part: tuple[int, int] | None = None
    coverage: Executed | None = None
    trace: Trace | None = None
    findings: Findings | None = None
    observers: tuple[Observer, ...] = ()

    def __repr__(self) -> str:
        return f"<Dispatch of '{self.kernel.name}' over {self.global_size} in groups of {self.local_size}>"

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
    def lenient_reads(self) -> bool:
        """Whether some reads beyond the end of buffers and registers give zeros; checks report them instead."""
        return self.signature.image.lenient_reads and not self.checks

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
    def has_barrier(self) -> bool:
        """Whether the kernel itself has barriers that threads of its group wait at: not for groups of one thread,
        unless checks count their arrivals.
        """
        return self.signature.summary.has_barrier and (prod(self.local_size) > self.simd or self.findings is not None)

    @property
    def takes_turns(self) -> bool:
        """Whether the fast engine runs the threads of a group in turns, as they wait for each other elsewhere than at
        the group's barrier in the kernel itself.
        """
        return self.signature.summary.waits_elsewhere or self.overlaps_groups

    @property
    def overlaps_groups(self) -> bool:
        """Whether several groups are in flight if there is room, as threads may wait for other groups."""
        return self.signature.summary.spins or self.is_round_robin

    @property
    def is_round_robin(self) -> bool:
        """Whether a schedule asks that every thread runs up to its next access to memory, in turn."""
        return self.schedule is not None and self.schedule.is_round_robin

    @property
    def checks(self) -> frozenset[str]:
        """The checks that watch the launch, as :mod:`vsim.checks.selection` names them; ``guard`` where it has to."""
        if self.findings is None:
            return frozenset()
        wanted = self.findings.checks
        if self.notes_reads_behind:
            return wanted | {GUARD}
        return wanted if self.memory.guarded else wanted - {GUARD}

    @property
    def notes_reads_behind(self) -> bool:
        """Whether reads beyond the end of memory, which give zeros, are reported."""
        return self.findings is not None and self.signature.image.lenient_reads

    @property
    def watches_undefined(self) -> bool:
        """Whether the check of undefined values watches the launch."""
        return self.findings is not None and UNDEFINED in self.findings.checks

    @property
    def races_of_items(self) -> bool:
        """Whether races of the work-items of one thread are looked for."""
        return RACE_ITEMS in self.checks

    @property
    def is_observed(self) -> bool:
        """Whether checks or other observers watch it."""
        return bool(self.observers or (self.findings is not None and self.checks))

    @property
    def tells_runs(self) -> bool:
        """Whether observers want to know which instructions ran, and how often."""
        if not self.observers:
            return False
        from vsim.observe.observer import Observer, listeners

        return bool(listeners(self.observers, Observer.ran))

    @property
    def observed(self) -> tuple[frozenset[str], bool]:
        """What compiled code must have for observers: checks, counters."""
        return self.checks, self.tells_runs

    @property
    def is_watched(self) -> bool:
        """Whether observers or results depend on the order of threads, or the mapping of work-items to lanes."""
        return bool(self.is_observed or self.schedule or self.needs_order)

    @property
    def needs_order(self) -> bool:
        """Whether the groups must run one after the other so that results are the same every time."""
        return self.signature.summary.needs_order

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
        """All groups, also those outside of :attr:`part`."""
        return self.nd_range.group_count

    def group(self, index: int) -> Group:
        """The work-group with a linear index, x fastest."""
        return self.nd_range.group(index)

    def threads_of(self, group: Group) -> int:
        """Hardware threads of a group."""
        return -(-(group.size[0] * group.size[1] * group.size[2]) // self.simd)

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
        return self.signature.slm_size + self.arguments.slm_size

    @property
    def slm_room(self) -> int:
        """Bytes of it that kernels may read."""
        return -(-self.slm_size // SLM_STEP) * SLM_STEP if self.signature.image.lenient_reads else self.slm_size

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

    def with_numbers(self, values: Sequence[tuple[int, bytes]]) -> Dispatch:
        """The same launch with other numbers at some places of the payload."""
        changed = dict(values)
        kept = [(at, changed.get(at, data)) for at, data in self.arguments.values]
        return replace(self, arguments=self.arguments._replace(values=kept), payload=with_values(self.payload, values))

    def differs_in_numbers(self, other: Dispatch) -> bool:
        """Whether it is another launch or made of it by :meth:`with_numbers`, so that at most the payload differs."""
        if self is other:
            return True
        same = all(map(is_, _but_numbers(self), _but_numbers(other)))
        return same and self.arguments.surfaces is other.arguments.surfaces

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

    def timeout(self, seconds: float, positions: Iterable[ThreadPosition] = ()) -> SimulationError:
        """The error of a launch that took longer than it may, with where its threads were."""
        from vsim.observe.positions import notes  # which most launches do without

        message = f"kernel '{self.kernel.name}' did not end within {seconds:g} seconds"
        return SimulationError(Diagnostic(TIMEOUT, message, None, LIMIT_HINT, notes(self, positions)))


_but_numbers = attrgetter(*(f.name for f in fields(Dispatch) if f.name not in ("arguments", "payload")))
"""Of a launch, all that is the same with other numbers."""


def with_values(template: bytes, values: Iterable[tuple[int, bytes]]) -> bytes:
    """The payload that all groups share: a template with the values of arguments at their places."""
    payload = bytearray(template)
    for at, data in values:
        payload[at : at + len(data)] = data
    return bytes(payload)


def not_executed(image: LinkedImage) -> Executed:
    """Marks of all instructions of an image, as not executed."""
    return {n: np.zeros(len(function.instructions), bool) for n, function in enumerate(image.module.all_functions)}
