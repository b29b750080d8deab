"""Initial contents of a hardware thread's registers (payload, local ids, r0, other predefined registers), and which
work-items its lanes are.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple, TypeVar

import numpy as np

from visakit.language.program import FIRST_SURFACE, FIRST_VARIABLE, Function, Instruction
from vsim.launch.arrays import Array
from vsim.launch.bound_launch import BoundLaunch
from vsim.launch.ndrange import Group
from vsim.launch.payload import local_id_row, local_id_step

THREAD_X, GROUP_ID, R0, HW_ID, SR0, MSG0, SCRATCH_LOCATION = 1, 3, 7, 12, 13, 20, 21
DISPATCH_MASK = 2
"""The element of %sr0 with the lanes that run when a thread begins, as bits."""
MOST_TOGETHER = 4
"""Threads of a group that run at once, at most."""
FEW_REMAIN = 4 * MOST_TOGETHER
"""Threads of a group from which on a remainder of :data:`MOST_TOGETHER` is small."""


Number = TypeVar("Number", int, Array)
"""A number of a work-item, or those of several."""


class SlotBits(NamedTuple):
    """Bits of a thread slot in a register: from which on, a mask of them (0: all higher ones), and where they go."""

    first: int
    mask: int
    to: int = 0


def slot_registers(platform: str) -> tuple[tuple[SlotBits, ...], tuple[SlotBits, ...]]:
    """%sr0 and %msg0 of a thread slot, so that the compiler's thread-number arithmetic gives the slot back."""
    low = SlotBits(0, 7)
    if platform in ("dg2", "pvc", "xehp"):
        return (low, SlotBits(3, 3, 4), SlotBits(5, 0, 7 if platform == "dg2" else 8)), ()
    return (low, SlotBits(3, 7, 4)), (SlotBits(6, 0),)


def slot_value(fields: tuple[SlotBits, ...], slot: int) -> int:
    """The value of such a register for a slot."""
    return sum((slot >> f.first & (f.mask or -1)) << f.to for f in fields)


def begins_rows(launch: BoundLaunch, row: int, transposed: bool) -> bool:
    """Whether rows of ``row`` lanes, along x or, transposed, along y, are rows of the whole group."""
    return row > 1 and launch.local_size[transposed] == row


def threads_in_flight(launch: BoundLaunch) -> int:
    """Threads of a group that may run at once where some may remain that do not: a power of two."""
    count = launch.threads_of(launch.group(0))
    return max(gcd(count, MOST_TOGETHER), min(count, 2)) if count < FEW_REMAIN else MOST_TOGETHER


def threads_together(launch: BoundLaunch) -> int:
    """Threads of a group that may run at once: a power of two that divides the number of threads of each group."""
    if any(g % n for g, n in zip(launch.global_size, launch.local_size, strict=True)):
        return 1
    return gcd(launch.threads_of(launch.group(0)), MOST_TOGETHER)


def local_ids(launch: BoundLaunch, group: Group, thread: int, transposed: bool = False) -> list[Array]:
    """Words of the local ids x, y, z of a thread's lanes; in lanes beyond the group the first id counts on.

    Args:
        transposed: y counts up from lane to lane, instead of x.
    """
    linear = thread * launch.simd + np.arange(launch.signature.simd)
    last = group.items - 1
    ids = _ids(np.minimum(linear, last), group, transposed)
    ids[transposed] += np.maximum(linear - last, 0)
    return [words.astype(np.uint16) for words in ids]


def _ids(linear: Number, group: Group, transposed: bool) -> list[Number]:
    """Local ids of work-items by their number in the group."""
    first, second = (1, 0) if transposed else (0, 1)
    size = group.size
    ids = [linear] * 3
    ids[first] = linear % size[first]
    ids[second] = linear // size[first] % size[second]
    ids[2] = linear // (size[0] * size[1]) % max(size[2], 1)
    return ids


def id_row_bytes(launch: BoundLaunch) -> int:
    """Bytes of the local ids of a thread along one dimension: whole registers."""
    return local_id_row(launch.signature.simd, launch.grf_size)


def id_step_bytes(launch: BoundLaunch) -> int:
    """Bytes from the local ids of a thread along one dimension to those along the next."""
    return local_id_step(launch.signature.simd, launch.grf_size)


def group_payload(launch: BoundLaunch, group: Group, private_address: int) -> Array:
    """The payload of all threads of a group of this size, threads x bytes, at its register offsets.

    ``private_address`` is the result of :meth:`BoundLaunch.private_memory`.
    """
    count = launch.threads_of(group)
    payload = launch.payload_of(group.size, private_address)
    data = np.tile(np.frombuffer(payload, np.uint8), (count, 1))
    first, step = launch.local_ids_at, id_step_bytes(launch)
    dimensions = min(launch.local_id_rows * id_row_bytes(launch) // step, 3)
    for t in range(count):
        for dimension, ids in enumerate(local_ids(launch, group, t)[:dimensions]):
            at = first + dimension * step
            data[t, at : at + ids.nbytes] = ids.view(np.uint8)
    return data


def local_id_variables(launch: BoundLaunch) -> list[int]:
    """The variables that begin with local ids of a thread's lanes."""
    ids = local_id_bytes(launch)
    return [variable for variable, offset, _ in input_places(launch) if offset in ids]


def local_id_bytes(launch: BoundLaunch) -> range:
    """The bytes of a thread's payload that hold its local ids, along three dimensions at most."""
    first = launch.local_ids_at
    return range(first, first + min(launch.local_id_rows, 3) * id_row_bytes(launch))


def r0_of(groups: Array, thread_numbers: Array) -> Array:
    """%r0 of threads in slots 0, 1, ...: group ids in dwords 1, 6 and 7, thread number in dword 2, slot in dword 5."""
    words = np.zeros((thread_numbers.size, 16), np.uint32)
    words[:, [1, 6, 7]] = groups
    words[:, 2] = thread_numbers & 0xFF
    words[:, 5] = np.arange(thread_numbers.size) & 0x3FF
    return words.view(np.uint8)


def input_places(launch: BoundLaunch) -> list[tuple[int, int, int]]:
    """Variable index, payload offset and size of the general inputs.

    An input that is larger than its variable is cut at the variable's end.
    """
    variables = launch.kernel.variables
    return [
        (i.index, i.offset, min(i.size, variables[i.index - FIRST_VARIABLE].size))
        for i in launch.kernel.inputs
        if i.variable_class == 0 and i.index >= FIRST_VARIABLE
    ]


def private_variables(launch: BoundLaunch) -> list[int]:
    """The variables with parts of the address of private memory."""
    places = launch.signature.layout.private_at
    inputs = input_places(launch) if places else []
    return [variable for variable, first, size in inputs if any(first <= at < first + size for at in places)]


def state_defaults(launch: BoundLaunch, function: Function) -> list[tuple[int, int, int]]:
    """Kind (``SURFACE`` or ``SAMPLER``), index and number of surfaces and samplers of a function for kernels without
    ze_info: T6 is surface 0, S0 sampler 0.
    """
    if not launch.by_inputs:
        return []
    from visakit.language.operands import SAMPLER, SURFACE  # late, here and below: launches of cached code need neither

    surfaces = [(SURFACE, FIRST_SURFACE + n, n) for n in range(len(function.surfaces))]
    return surfaces + [(SAMPLER, n, n) for n in range(len(function.samplers))]


def state_inputs(launch: BoundLaunch) -> list[tuple[int, int, int]]:
    """Kind, index and payload offset of surface and sampler inputs; kinds as of :func:`state_defaults`."""
    found = [i for i in launch.kernel.inputs if i.variable_class != 0]
    if not found:
        return []
    from visakit.language.operands import SAMPLER, SURFACE

    return [(SAMPLER if i.variable_class == 1 else SURFACE, i.index, i.offset) for i in found]


def lane_count(launch: BoundLaunch, group: Group, thread: int) -> int:
    """Active lanes of a thread when it begins: its work-items, all of them for ``Target="cm"``."""
    if launch.kernel.is_cm:
        return launch.lanes
    return min(launch.simd, group.items - thread * launch.simd)


def work_item(launch: BoundLaunch, group: Group, thread: int, lane: int) -> tuple[int, int, int]:
    """Global id of a lane; of one that is no work-item, that of the last one before it."""
    last = group.items - 1
    local = _ids(min(thread * launch.simd + min(lane, launch.simd - 1), last), group, transposed=False)
    ids = [o + g * n + i for o, g, n, i in zip(launch.offset, group.id, launch.local_size, local, strict=True)]
    return ids[0], ids[1], ids[2]


def place_of(launch: BoundLaunch, item: tuple[int, int, int]) -> tuple[int, int, int] | None:
    """The linear number of the group, the thread and the lane of a work-item; None for an unknown id."""
    local, of_group = [], []
    for n, first, count, size in zip(item, launch.offset, launch.global_size, launch.local_size, strict=True):
        if not first <= n < first + count:
            return None
        of_group.append((n - first) // size)
        local.append((n - first) % size)
    columns, rows, _ = launch.group_counts
    number = of_group[0] + columns * (of_group[1] + rows * of_group[2])
    width, height, _ = launch.group(number).size
    thread, lane = divmod(local[0] + width * (local[1] + height * local[2]), launch.simd)
    return number, thread, lane


def first_lane(instruction: Instruction) -> int:
    """The lane of a thread that is the first one of an instruction, which counts its own from 0."""
    from visakit.isa.record import Flow

    execution = instruction.args.get("exec")
    return execution.offset if instruction.desc.flow is Flow.NEXT and execution and execution.size > 1 else 0


def usual_place(launch: BoundLaunch, group: Group, item: int, transposed: bool) -> tuple[int, int]:
    """Thread and lane of a work-item of a group by its number, which counts up along x, or, ``transposed``, along y."""
    x, y, z = _ids(item, group, transposed)
    return divmod(x + group.size[0] * (y + group.size[1] * z), launch.simd)


def describe(launch: BoundLaunch, group: Group, thread: int, lane: int) -> str:
    """Lane, work-item and work-group, as errors name them; the thread for one of no lane, which is below 0."""
    who = f"lane {lane}, work-item {work_item(launch, group, thread, lane)}" if lane >= 0 else f"thread {thread}"
    return f"{who}, work-group ({group.id[0]}, {group.id[1]}, {group.id[2]})"
