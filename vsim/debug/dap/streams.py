"""Messages of the Debug Adapter Protocol as bytes."""

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


def read_message(stream: BinaryIO) -> Request | None:
    """The next message; None at the end of the stream.

    Raises:
        ValueError: the bytes are no message of the protocol.
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
            if not value.strip().isdigit():
                raise ValueError("a Content-Length is no number")
            size = int(value)
    if not 0 <= size <= MAXIMUM_MESSAGE:
        raise ValueError(f"a message has no Content-Length up to {MAXIMUM_MESSAGE}")
    body = stream.read(size)
    if len(body) < size:
        raise ValueError(f"a message ends after {len(body)} of {size} bytes")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"a message is no JSON: {error}") from None
    return _request(found)


def _request(found: object) -> Request:
    """A message that is a request.

    Raises:
        ValueError: it has no command.
    """
    if not isinstance(found, dict) or not isinstance(found.get("command"), str):
        raise ValueError("a message is no request: it has no 'command'")
    if not isinstance(found.get("seq"), int):
        raise ValueError(f"the request '{found['command']}' has no 'seq'")
    arguments = found.get("arguments") or {}
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments of '{found['command']}' are no object")
    return {"seq": found["seq"], "type": "request", "command": found["command"], "arguments": arguments}


def write_message(stream: BinaryIO, message: Mapping[str, object]) -> None:
    """Write a message."""
    body = json.dumps(message).encode()
    stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    stream.flush()
