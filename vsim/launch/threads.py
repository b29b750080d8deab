"""Initial contents of a hardware thread's registers: payload, local ids, r0, other predefined registers."""

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


def begins_rows(dispatch: BoundLaunch, row: int, turned: bool) -> bool:
    """Whether rows of ``row`` lanes, along x or turned along y, are rows of the whole group."""
    return row > 1 and dispatch.local_size[turned] == row


def threads_in_flight(dispatch: BoundLaunch) -> int:
    """Threads of a group that may run at once where some may remain that do not: a power of two."""
    count = dispatch.threads_of(dispatch.group(0))
    return max(gcd(count, MOST_TOGETHER), min(count, 2)) if count < FEW_REMAIN else MOST_TOGETHER


def threads_together(dispatch: BoundLaunch) -> int:
    """Threads of a group that may run at once: a power of two that divides the number of threads of each group."""
    if any(g % n for g, n in zip(dispatch.global_size, dispatch.local_size, strict=True)):
        return 1
    return gcd(dispatch.threads_of(dispatch.group(0)), MOST_TOGETHER)


def local_ids(dispatch: BoundLaunch, group: Group, thread: int, turned: bool = False) -> list[Array]:
    """Words of the local ids x, y, z of a thread's lanes (0 for lanes beyond the group).

    Args:
        turned: y counts up from lane to lane, instead of x.
    """
    linear = np.arange(thread * dispatch.simd, (thread + 1) * dispatch.simd)
    linear = np.minimum(linear, group.size[0] * group.size[1] * group.size[2] - 1)
    return [ids.astype(np.uint16) for ids in _ids(linear, group, turned)]


def _ids(linear: Number, group: Group, turned: bool) -> list[Number]:
    """Local ids of work-items by their number in the group."""
    first, second = (1, 0) if turned else (0, 1)
    size = group.size
    ids = [linear] * 3
    ids[first] = linear % size[first]
    ids[second] = linear // size[first] % size[second]
    ids[2] = linear // (size[0] * size[1]) % max(size[2], 1)
    return ids


def id_row_bytes(dispatch: BoundLaunch) -> int:
    """Bytes of the local ids of a thread along one dimension: whole registers."""
    return local_id_row(dispatch.simd, dispatch.grf_size)


def id_step_bytes(dispatch: BoundLaunch) -> int:
    """Bytes from the local ids of a thread along one dimension to those along the next."""
    return local_id_step(dispatch.simd, dispatch.grf_size)


def group_payload(dispatch: BoundLaunch, group: Group, private_address: int) -> Array:
    """The payload of all threads of a group of this size, threads x bytes, at its register offsets.

    ``private_address`` is the result of :meth:`BoundLaunch.private_memory`.
    """
    count = dispatch.threads_of(group)
    payload = dispatch.payload_of(group.size, private_address)
    data = np.tile(np.frombuffer(payload, np.uint8), (count, 1))
    first, step = dispatch.local_ids_at, id_step_bytes(dispatch)
    dimensions = min(dispatch.local_id_rows * id_row_bytes(dispatch) // step, 3)
    for t in range(count):
        for dimension, ids in enumerate(local_ids(dispatch, group, t)[:dimensions]):
            at = first + dimension * step
            data[t, at : at + 2 * dispatch.simd] = ids.view(np.uint8)
    return data


def r0_of(groups: Array, thread_numbers: Array) -> Array:
    """%r0 of threads in slots 0, 1, ...: group ids in dwords 1, 6 and 7, thread number in dword 2, slot in dword 5."""
    words = np.zeros((thread_numbers.size, 16), np.uint32)
    words[:, [1, 6, 7]] = groups
    words[:, 2] = thread_numbers & 0xFF
    words[:, 5] = np.arange(thread_numbers.size) & 0x3FF
    return words.view(np.uint8)


def input_places(dispatch: BoundLaunch) -> list[tuple[int, int, int]]:
    """Variable index, payload offset and size of the general inputs.

    An input that is larger than its variable is cut at the variable's end.
    """
    variables = dispatch.kernel.variables
    return [
        (i.index, i.offset, min(i.size, variables[i.index - FIRST_VARIABLE].size))
        for i in dispatch.kernel.inputs
        if i.operand_class == 0 and i.index >= FIRST_VARIABLE
    ]


def state_defaults(dispatch: BoundLaunch, function: Function) -> list[tuple[int, int, int]]:
    """Class, index and number of surfaces and samplers of a function for kernels without ze_info: T6 is surface 0, S0
    sampler 0.
    """
    if not dispatch.by_inputs:
        return []
    from visakit.language.operands import SAMPLER, SURFACE  # late, here and below: launches of cached code need neither

    surfaces = [(SURFACE, FIRST_SURFACE + n, n) for n in range(len(function.surfaces))]
    return surfaces + [(SAMPLER, n, n) for n in range(len(function.samplers))]


def state_inputs(dispatch: BoundLaunch) -> list[tuple[int, int, int]]:
    """Class, index and payload offset of surface and sampler inputs."""
    return [(i.operand_class, i.index, i.offset) for i in dispatch.kernel.inputs if i.operand_class != 0]


def lane_count(dispatch: BoundLaunch, group: Group, thread: int) -> int:
    """Active lanes of a thread when it begins: its work-items, all of them for ``Target="cm"``."""
    if dispatch.kernel.is_cm:
        return dispatch.lanes
    return min(dispatch.simd, group.size[0] * group.size[1] * group.size[2] - thread * dispatch.simd)


def work_item(dispatch: BoundLaunch, group: Group, thread: int, lane: int) -> tuple[int, int, int]:
    """Global id of a lane; of one that is no work-item, that of the last one before it."""
    last = group.size[0] * group.size[1] * group.size[2] - 1
    local = _ids(min(thread * dispatch.simd + min(lane, dispatch.simd - 1), last), group, turned=False)
    ids = [o + g * n + i for o, g, n, i in zip(dispatch.offset, group.id, dispatch.local_size, local, strict=True)]
    return ids[0], ids[1], ids[2]


def place_of(dispatch: BoundLaunch, item: tuple[int, int, int]) -> tuple[int, int, int] | None:
    """The linear number of the group, the thread and the lane of a work-item; None for an unknown id."""
    local, of_group = [], []
    for n, first, count, size in zip(item, dispatch.offset, dispatch.global_size, dispatch.local_size, strict=True):
        if not first <= n < first + count:
            return None
        of_group.append((n - first) // size)
        local.append((n - first) % size)
    columns, rows, _ = dispatch.group_counts
    number = of_group[0] + columns * (of_group[1] + rows * of_group[2])
    width, height, _ = dispatch.group(number).size
    thread, lane = divmod(local[0] + width * (local[1] + height * local[2]), dispatch.simd)
    return number, thread, lane


def first_lane(instruction: Instruction) -> int:
    """The lane of a thread that is the first one of an instruction, which counts its own from 0."""
    from visakit.isa.record import Flow

    execution = instruction.args.get("exec")
    return execution.offset if instruction.desc.flow is Flow.NEXT and execution and execution.size > 1 else 0


def usual_place(dispatch: BoundLaunch, group: Group, thread: int, lane: int) -> tuple[int, int]:
    """Thread and lane of the work-item of a lane when x counts up from lane to lane, unlike in this launch."""
    x, y, z = _ids(thread * dispatch.simd + lane, group, turned=True)
    return divmod(x + group.size[0] * (y + group.size[1] * z), dispatch.simd)


def describe(dispatch: BoundLaunch, group: Group, thread: int, lane: int) -> str:
    """Lane, work-item and work-group, as errors name them."""
    x, y, z = work_item(dispatch, group, thread, lane)
    return f"lane {lane}, work-item ({x}, {y}, {z}), work-group ({group.id[0]}, {group.id[1]}, {group.id[2]})"
