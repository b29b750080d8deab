"""Memory by its addresses."""

from __future__ import annotations

from visakit.levelzero import ze
from visakit.runtime import svm
from visakit.runtime.context import Context
from visakit.runtime.errors import CallError
from vsim.memory.memory import Buffer


def buffer_at(context: Context, pointer: int) -> Buffer | None:
    """The memory of kernels that a pointer is in: an allocation, or data of a program."""
    buffer = context.space.slots.get(pointer >> 32)
    inside = buffer is not None and buffer.address <= pointer < buffer.address + buffer.size
    return buffer if inside else None


def place_of(context: Context, pointer: int) -> int:
    """The address in this process of a pointer of kernels; other pointers are the program's own."""
    buffer = buffer_at(context, pointer)
    return pointer if buffer is None else buffer.host + pointer - buffer.address


def check_range(context: Context, pointer: int, size: int) -> None:
    """Refuse a range that begins in memory of kernels and exceeds it."""
    buffer = buffer_at(context, pointer)
    if buffer is None:
        try:
            svm.check_range(context, pointer, size)
        except CallError as problem:
            raise CallError(ze.ZE_RESULT_ERROR_INVALID_SIZE, problem.reason) from None
    elif size > buffer.address + buffer.size - pointer:
        left = buffer.address + buffer.size - pointer
        raise CallError(ze.ZE_RESULT_ERROR_INVALID_SIZE, f"{size} bytes at {pointer:#x}, of which {left} are there")
