"""Answers to questions about objects: values as bytes, and how they are given."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from visakit.runtime import cl, host
from visakit.runtime.errors import CallError, require
from visakit.runtime.objects import ApiObject

Subject = TypeVar("Subject")
Answers = Mapping[int, Callable[[Subject], bytes]]
"""By the name of a question, how it is answered."""


def u32(value: int) -> bytes:
    """``cl_uint``, ``cl_bool``, ``cl_int`` and enumerations."""
    return (int(value) & 0xFFFFFFFF).to_bytes(4, "little")


def u64(value: int) -> bytes:
    """``cl_ulong``, bit fields, ``size_t`` and pointers."""
    return int(value).to_bytes(8, "little")


def sizes(values: Sequence[int]) -> bytes:
    """An array of ``size_t``."""
    return host.pack_sizes(values)


def text(value: str) -> bytes:
    """A text with its zero."""
    return value.encode("utf-8", "surrogateescape") + b"\0"


def handle(value: ApiObject | None) -> bytes:
    """An object, or null."""
    return u64(value.handle if value is not None else 0)


def handles(values: Sequence[ApiObject]) -> bytes:
    """An array of objects."""
    return host.pack_sizes([v.handle for v in values])


def versioned(entries: Sequence[tuple[tuple[int, int, int], str]]) -> bytes:
    """An array of ``cl_name_version``."""
    return b"".join(struct.pack("<I64s", version(*numbers), name.encode()) for numbers, name in entries)


def version(major: int, minor: int, patch: int = 0) -> int:
    """``cl_version``."""
    return major << 22 | minor << 12 | patch


def give(data: bytes, size: int, value: int, size_ret: int) -> None:
    """Write an answer to the caller's memory.

    Raises:
        CallError: there is less room than it takes.
    """
    if value:
        require(size >= len(data), cl.CL_INVALID_VALUE, f"the answer has {len(data)} bytes, there is room for {size}")
        host.write(value, data)
    host.write_size(size_ret, len(data))


def answer(answers: Answers[Subject], subject: Subject, name: int, size: int, value: int, size_ret: int) -> None:
    """Answer a query about an object.

    Raises:
        CallError: it is not known, or there is too little room.
    """
    question = answers.get(name)
    if question is None:
        raise CallError(cl.CL_INVALID_VALUE, f"{name:#x} is no question that has an answer here")
    give(question(subject), size, value, size_ret)
