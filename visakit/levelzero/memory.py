"""Memory by its addresses."""

from __future__ import annotations

from visakit.levelzero import ze
from visakit.runtime import cl, host
from visakit.runtime.allocation import ADDRESSES, is_mapped
from visakit.runtime.context import Context
from visakit.runtime.errors import CallError, require
from vsim.launch.arrays import Bytes
from vsim.memory.memory import Buffer


def buffer_at(context: Context, pointer: int) -> Buffer | None:
    """The memory of kernels that a pointer is in: an allocation, or data of a program."""
    buffer = context.space.slots.get(pointer >> 32)
    inside = buffer is not None and buffer.address <= pointer < buffer.address + buffer.size
    return buffer if inside else None


class Range:
    """Bytes at an address that a command uses, which the program may free before.

    Raises:
        CallError: the range begins in memory of kernels and exceeds it, or there is no memory.
    """

    def __init__(self, context: Context, pointer: int, size: int) -> None:
        self._context, self._pointer, self._size = context, pointer, size
        self._buffer = buffer_at(context, pointer)
        end = ADDRESSES if self._buffer is None else self._buffer.address + self._buffer.size
        left = max(end - pointer, 0)
        there = f"{size} bytes at {pointer:#x}, of which {left} are there"
        require(size <= left, ze.ZE_RESULT_ERROR_INVALID_SIZE, there)
        require(self._is_there(), ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"there is no memory at {pointer:#x}")

    def _is_there(self) -> bool:
        if buffer_at(self._context, self._pointer) is not self._buffer:
            return False
        return self._buffer is not None or is_mapped(self._pointer, self._size)

    @property
    def host(self) -> int:
        """Their address in this process.

        Raises:
            CallError: the program has freed them meanwhile, which is reported.
        """
        if not self._is_there():
            reason = f"{self._size} bytes at {self._pointer:#x} were freed before a command used them"
            self._context.report(f"visakit: {reason}\n")
            raise CallError(cl.CL_OUT_OF_RESOURCES, reason)
        return self._pointer if self._buffer is None else self._buffer.host + self._pointer - self._buffer.address

    @property
    def view(self) -> Bytes:
        """The bytes, in place; errors are those of the address."""
        return host.view(self.host, self._size)
