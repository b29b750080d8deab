"""Arguments of the library's entries: allowed values, and the error for others."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from types import FrameType

from visakit.diagnostics import Diagnostic, UsageError, VisaWarning, did_you_mean
from visakit.language.platforms import PLATFORMS, all_names, find

_OURS = frozenset({"vasm", "vlink", "vsim", "visakit"})
"""The packages of the toolchain."""


_MAXIMUM_DIGITS = 19
"""Of a whole number in a text: as many as 64 bits have."""


def whole_number(text: str) -> int | None:
    """The number of decimal digits; None if a text is something else, or longer than any valid number."""
    fits = text.isascii() and text.isdecimal() and len(text) <= _MAXIMUM_DIGITS
    return int(text) if fits else None


def shown(value: object) -> str:
    """A value in a message, in up to 80 characters; numbers that Python does not write in decimal are only named."""
    try:
        return f"{value!r:.80}"
    except ValueError:
        return "a number of thousands of digits"


def _caller() -> FrameType | None:
    """The frame of the library's caller."""
    return sys._getframe(1)


def warn(found: Diagnostic | Sequence[Diagnostic]) -> None:
    """Issue a warning of Python's at the line, outside of the toolchain, that called it."""
    level, frame = 1, _caller()
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in _OURS:
        level, frame = level + 1, frame.f_back
    warnings.warn(VisaWarning(found), stacklevel=level)


def check_text(value: object, what: str) -> str:
    """A text.

    Raises:
        UsageError: it is something else; the message begins with ``what``.
    """
    if isinstance(value, str):
        return value
    hint = "; decode the bytes first" if isinstance(value, (bytes, bytearray)) else ""
    raise UsageError(f"{what} is a str, found {type(value).__name__}{hint}")


def check_argument(value: str, what: str) -> None:
    """Check a text that a program gets as an argument.

    Raises:
        UsageError: it has a zero byte, or no bytes of the system stand for it; the message begins with ``what``.
    """
    try:
        zero = b"\0" in os.fsencode(value)
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} have {value[error.start]!a}, which no program can be given") from None
    if zero:
        raise UsageError(f"{what} have a zero byte, which no program can be given")


def check_name(value: object, what: str) -> str:
    """The name of a value in messages: a text or a path.

    Raises:
        UsageError: it is something else; the message begins with ``what``.
    """
    return check_text(os.fsdecode(value) if isinstance(value, os.PathLike) else value, what)


def check_bytes(value: object, what: str) -> bytes:
    """Bytes, also of a ``bytearray`` or ``memoryview``.

    Raises:
        UsageError: it is something else; the message begins with ``what``.
    """
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise UsageError(f"{what} is bytes, found {type(value).__name__}")


def check_platform(name: str | None) -> str | None:
    """The name of a platform as the tools write it; None for none.

    Raises:
        UsageError: there is no such platform.
    """
    if name is None:
        return None
    platform = find(check_text(name, "a platform"))
    if platform is None:
        hint = did_you_mean(name.lower(), all_names())
        raise UsageError(
            f"'{name}' is not a platform; {hint + ' ' if hint else ''}platforms are {', '.join(PLATFORMS)}; "
            "vsim --list-platforms shows the names of devices, too"
        )
    return platform.name


def refuse(given: Mapping[str, object], target: str) -> None:
    """Refuse options that images of a target do not have.

    Raises:
        UsageError: one of them is given.
    """
    exclude(f"images of the {target} target", given)


def exclude(option: str, others: Mapping[str, object], why: str = "") -> None:
    """Refuse options that would be dropped beside another one.

    Args:
        others: values of options without meaning beside it, by name; false for options that are not given.
        why: follows the names in the message, with a comma in front.

    Raises:
        UsageError: one of them is given.
    """
    if name := next((name for name, value in others.items() if value), ""):
        raise UsageError(f"{name} does not go with {option}{why}")
