"""Messages of the Debug Adapter Protocol, as far as the server reads and writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import BinaryIO, NotRequired, TypedDict

MAXIMUM_MESSAGE = 64 << 20


class Request(TypedDict):
    """What an editor asks."""

    seq: int
    type: str
    command: str
    arguments: NotRequired[Mapping[str, object]]


class SourceName(TypedDict, total=False):
    """A source: a file, or a text that ``source`` gives."""

    name: str
    path: str
    sourceReference: int


class BreakpointInfo(TypedDict, total=False):
    """A breakpoint, as it was set or refused."""

    id: int
    verified: bool
    message: str
    source: SourceName
    line: int
    instructionReference: str


class StackFrame(TypedDict, total=False):
    """A function that runs."""

    id: int
    name: str
    source: SourceName
    line: int
    column: int
    instructionPointerReference: str


class Variable(TypedDict, total=False):
    """A value; ``variablesReference`` is not 0 where it has elements."""

    name: str
    value: str
    type: str
    variablesReference: int
    indexedVariables: int
    evaluateName: str
    memoryReference: str


class Instruction(TypedDict, total=False):
    """A line of ``disassemble``."""

    address: str
    instruction: str
    symbol: str
    location: SourceName
    line: int


def read_message(stream: BinaryIO) -> Request | None:
    """The next message; None at the end of the stream.

    Raises:
        ValueError: it is none.
    """
    size = -1
    while True:
        line = stream.readline(4096)
        if not line:
            return None
        text = line.strip()
        if not text:
            break
        name, _, value = text.partition(b":")
        if name.lower() == b"content-length":
            size = int(value)
    if not 0 <= size <= MAXIMUM_MESSAGE:
        raise ValueError("a message has no Content-Length")
    found: Request = json.loads(stream.read(size))
    return found


def write_message(stream: BinaryIO, message: Mapping[str, object]) -> None:
    """Write a message."""
    body = json.dumps(message).encode()
    stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    stream.flush()
