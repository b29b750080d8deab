"""Types of the elements that pointers lead to, as kernels declare them."""

from __future__ import annotations

import re

import numpy as np

from vsim.arrays import Array, DType
from vsim.launch import SCALAR_TYPES

_POINTER = re.compile(r"([a-z]+)\d*\*(?:;\d+)?")


def pointed_type(declared: str) -> DType | None:
    """The type of the numbers that ``float4*`` (in ze_info ``float4*;8``) leads to; None for structures and others."""
    found = _POINTER.fullmatch(declared)
    return np.dtype(SCALAR_TYPES[found[1]]) if found is not None and found[1] in SCALAR_TYPES else None


def as_elements(array: Array, declared: str) -> Array:
    """Bytes as the numbers that a pointer leads to, in place; an array that has a type, or more axes, as it is."""
    dtype = pointed_type(declared)
    if dtype is None or array.dtype != np.uint8 or array.ndim != 1 or array.size % dtype.itemsize:
        return array
    return array.view(dtype)
