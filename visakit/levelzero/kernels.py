"""Kernels: the size of their groups, and their state at a launch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from visakit.levelzero import ze
from visakit.levelzero.memory import buffer_at
from visakit.levelzero.modules import ApiModule
from visakit.runtime import host
from visakit.runtime.errors import require
from visakit.runtime.kernels import HeldArgument, Kernel, Setting, local_bytes
from visakit.runtime.queue import Queue
from vsim.launch.launch import MAXIMUM_SIZE, ScalarArgument

Size = tuple[int, int, int]


class ZeKernel(Kernel):
    """A kernel with its arguments and the size of its groups.

    Attributes:
        offset: where the ids of work-items begin.
        indirect: kinds of memory that it accesses by pointers in memory; it may access all in any case.
    """

    def __init__(self, module: ApiModule, name: str) -> None:
        super().__init__(module.program, name)
        self.module, self.device = module, module.device
        required = self.signatures[self.device].required_size
        self.group: Size = _three(required or (1, 1, 1))
        self.required: Size | None = _three(required) if required else None
        self.offset: Size = (0, 0, 0)
        self.indirect = 0

    def set_argument(self, index: int, size: int, value: int) -> None:
        """Set an argument. Without a value a number is 0, and a pointer null.

        A number that is set with fewer bytes than it has keeps the others, which are 0 at first, as on Intel's driver.
        """
        parameter = self.parameter(index)
        if parameter.kind == "value" and (not value or size < parameter.size):
            wrong = ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE
            require(size or not value, wrong, "the value has no bytes")
            given = host.read(value, size) if value else bytes(parameter.size)
            self.arguments[index] = Setting(ScalarArgument(given + self._kept(index)[len(given) :]), None)
        elif parameter.kind == "buffer":
            wrong = ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE
            require(size == host.POINTER, wrong, f"a pointer has 8 bytes, found {size}")
            pointer = host.read_sizes(value, 1)[0] if value else 0
            known = not pointer or buffer_at(self.program.context, pointer) is not None
            where = f"{pointer:#x} is in no memory that was allocated for kernels"
            require(known, ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, where)
            self.arguments[index] = Setting(ScalarArgument(pointer.to_bytes(8, "little")), None)
        else:
            super().set_argument(index, size, value)

    def _kept(self, index: int) -> bytes:
        """The value that a number has."""
        setting = self.arguments[index]
        held = setting.argument if setting is not None else None
        return held.data if isinstance(held, ScalarArgument) else bytes(self.parameters[index].size)

    def set_group(self, size: Size) -> None:
        """Set the size of groups.

        Raises:
            CallError: it has no such groups.
        """
        wrong = ze.ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION
        require(all(size) and math.prod(size) <= self.device.model.group, wrong, f"groups of {size}")
        require(self.required in (None, size), wrong, f"groups are {self.required}")
        self.group = size

    def suggest(self, whole: Size) -> Size:
        """A size of groups for a global size: divisors, the first axis first, whole threads if it can be."""
        if self.required is not None:
            return self.required
        left, found = min(self.device.model.group, 256), []
        for size in whole:
            best = next(d for d in range(min(size, left), 0, -1) if not size % d)
            found.append(best)
            left //= best
        return _three(found)

    def check_launch(self) -> list[HeldArgument]:
        """The arguments of a launch.

        Raises:
            CallError: one was not set, or there is too little local memory.
        """
        given = self.given()
        used, there = local_bytes(self, self.device), self.device.model.local
        much = f"groups want {used} bytes of local memory, there are {there}"
        require(used <= there, ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, much)
        return given

    def launch(self, queue: Queue, counts: Size, group: Size, offset: Size, given: Sequence[HeldArgument]) -> None:
        """Run it in a queue.

        Raises:
            CallError: the kernel did something without a defined result; the report is printed.
        """
        if not all(counts):
            return
        whole = check_sizes(counts, group, offset)
        command = queue.running
        turn = command.event.turn if command is not None else None
        self.run(self.device, (whole, group, offset), given, turn)


def check_sizes(counts: Size, group: Size, offset: Size) -> Size:
    """The global size of a number of groups.

    Raises:
        CallError: the device does not count so far.
    """
    whole = _three([count * size for count, size in zip(counts, group, strict=True)])
    small = all(first + size < MAXIMUM_SIZE for first, size in zip(offset, whole, strict=True))
    require(small, ze.ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION, "the device counts work-items with 32 bits")
    return whole


def _three(size: Sequence[int]) -> Size:
    x, y, z = (*size, 1, 1)[:3]
    return x, y, z
