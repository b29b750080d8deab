"""Contents of buffers that a command line describes: zeros, ones, ascending and random numbers."""

from __future__ import annotations

import re

import numpy as np

from visakit.diagnostics import UsageError, did_you_mean
from vsim.launch.arrays import Array
from vsim.launch.launch import SCALAR_TYPES

_FORM = re.compile(r"(zeros|ones|iota|random):(\d{1,19}):(\w+?)(?::seed(\d{1,18}))?")
_NUMPY_TYPES = ("i1", "u1", "i2", "u2", "f2", "i4", "u4", "f4", "f8")
"""Type names of numpy with another meaning here: ``i8`` has 8 bits."""
MAXIMUM_NUMBERS = 1 << 28
"""How many numbers are computed for a buffer; zeros cost nothing, and may be more."""


def is_generated(text: str) -> bool:
    """Whether a text has the form of an array that is made."""
    return _FORM.fullmatch(text) is not None


_OTHER_WORDS = {"arange": "iota", "range": "iota", "linspace": "iota", "rand": "random", "zero": "zeros", "one": "ones"}
"""Names of generated arrays in other tools."""


def form_hint(text: str) -> str:
    """The missing part of a text that nearly describes an array, as the end of an error message; empty otherwise."""
    word, *rest = text.split(":")
    form = _OTHER_WORDS.get(word, word)
    if form not in _FORM.pattern[1:].partition(")")[0].split("|"):
        return ""
    count = next((part for part in rest if part.isdigit()), "64")
    given = next((part for part in rest if part in SCALAR_TYPES or part in _NUMPY_TYPES), "f32")
    return f"; did you mean '{form}:{count}:{given}'?"


def generated_array(text: str) -> Array | None:
    """The array of ``zeros:N:TYPE``, ``ones:N:TYPE``, ``iota:N:TYPE`` or ``random:N:TYPE:seedS``; None for others.

    ``iota`` counts from 0, and begins again where the whole numbers of the type end. Random floats are multiples of
    1/2048 from 0 to before 1, which all types have; whole numbers are anywhere in their type. The same seed gives the
    same numbers, and none is seed 0.

    Raises:
        UsageError: it is too large, or of no type of numbers.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    form, count, type_name, seed = match.groups()
    dtype = SCALAR_TYPES.get(type_name) or (type_name if type_name in _NUMPY_TYPES else "")
    if not dtype:
        known = f"types are {', '.join(list(SCALAR_TYPES)[:11])}, or f4 as in numpy"
        hint = did_you_mean(type_name, SCALAR_TYPES) or known
        raise UsageError(f"'{type_name}' in '{text}' is not a type of numbers; {hint}")
    if seed is not None and form != "random":
        raise UsageError(f"'{text}' has a seed, which only random numbers have")
    if form != "zeros" and int(count) > MAXIMUM_NUMBERS:
        raise UsageError(f"'{text}' is too large: at most {MAXIMUM_NUMBERS} numbers are made")
    try:
        if form == "zeros":
            return np.zeros(int(count), dtype)
        if form == "ones":
            return np.ones(int(count), dtype)
        if form == "iota":
            return (np.arange(int(count)) % _whole_numbers(np.dtype(dtype))).astype(dtype)
        source = np.random.default_rng(int(seed or 0))
        if np.dtype(dtype).kind == "f":
            return (source.integers(0, 2048, int(count)) / 2048).astype(dtype)
        limits = np.iinfo(dtype)
        return source.integers(limits.min, limits.max, int(count), dtype, endpoint=True)
    except (MemoryError, ValueError) as error:
        raise UsageError(f"'{text}' is too large: {error}") from None


def _whole_numbers(dtype: np.dtype[np.generic]) -> int:
    """How many whole numbers from 0 on a type has one after the other; no more than are ever counted."""
    if dtype.kind == "f":
        return 1 << {2: 11, 4: 24}.get(dtype.itemsize, 32)
    return 1 << min(8 * dtype.itemsize - (dtype.kind == "i"), 32)
