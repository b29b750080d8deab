"""Element types of pointers as kernels declare them, and the arrays that match them."""

from __future__ import annotations

import re

import numpy as np

from visakit.diagnostics import Diagnostic, LaunchError, Span
from vsim.launch.arrays import Array, DType
from vsim.launch.launch import SCALAR_TYPES, BufferArgument, ScalarArgument
from vsim.launch.signature import KernelSignature

_WORDS = {code: word for word, code in reversed(SCALAR_TYPES.items())}
"""Types in the words of launch files by numpy's."""


def our_type(word: str) -> str:
    """A type in the words of launch files: ``f32`` also for numpy's ``f4``; other words are unchanged."""
    return word if word in SCALAR_TYPES else _WORDS.get(word, word)


_DECLARED = re.compile(r"([a-z]+)\d*(\*?)(?:;\d+)?")


def pointed_type(declared: str, pointer: str = "*") -> DType | None:
    """The type of the numbers that ``float4*`` (in ze_info ``float4*;8``) leads to; None for structures and others.

    Args:
        pointer: empty for the numbers of a value, ``float4``.
    """
    match = _DECLARED.fullmatch(declared)
    code = SCALAR_TYPES.get(match[1]) if match is not None and match[2] == pointer else None
    return None if code is None else np.dtype(code)


def as_elements(array: Array, declared: str) -> Array:
    """Bytes as numbers of the pointer's element type, in place; typed or multidimensional arrays are unchanged."""
    dtype = pointed_type(declared)
    if dtype is None or array.dtype != np.uint8 or array.ndim != 1 or array.size % dtype.itemsize:
        return array
    return array.view(dtype)


def check_elements(signature: KernelSignature, index: int, argument: BufferArgument) -> None:
    """Hold the type of an array against the pointer that the kernel declares, however the array was given.

    Both are floats, or both are whole numbers or truth values, of one size; a complex number is a pair of floats. All
    pointers take structures, and pointers to structures and ``void`` take all arrays. Pointers to whole numbers take
    bits of floats, or packed numbers, from launch files. All pointers take bytes without a type.

    Raises:
        LaunchError: S003, its elements are of another kind or size.
    """
    given = argument.array.dtype
    known = signature.element_types.setdefault(index, set())
    if argument.contents == "bytes" or given in known:
        return
    wanted = pointed_type(signature.argument_types.get(index, ""))
    if wanted is not None and given.kind != "V" and (argument.contents == "elements" or wanted.kind == "f"):
        is_float = given.kind in "fc"
        size = given.itemsize // 2 if given.kind == "c" else given.itemsize
        if is_float != (wanted.kind == "f") or size != wanted.itemsize:
            code, word = wanted.str[1:], _WORDS[wanted.str[1:]]
            hint = f"give elements of {word}, such as zeros:64:{word}; in Python pass array.view('{code}') "
            hint += f"if that is what its bytes are, else array.astype('{code}')"
            raise _mismatch(signature, index, f"the array has elements of type {given}", hint)
    if argument.contents == "elements":
        known.add(given)


def check_scalar(signature: KernelSignature, index: int, argument: ScalarArgument) -> None:
    """Hold the type of a scalar's or vector's numbers against the type that the kernel declares.

    Both are floats, or both are whole numbers, of one size. In launch files whole numbers take the bits of floats, and
    floats those of unsigned numbers, as ``--make-launch`` writes NaNs.

    Raises:
        LaunchError: S003, the numbers are of another kind or size.
    """
    wanted, given = pointed_type(signature.argument_types.get(index, ""), ""), np.dtype(SCALAR_TYPES[argument.type])
    if wanted is None:
        return
    takes_bits = argument.is_bits and (wanted.kind != "f" or given.kind == "u")
    takes_kind = (wanted.kind == "f") == (given.kind == "f") or takes_bits
    if not takes_kind or wanted.itemsize != given.itemsize:
        hint = f"give the type {_WORDS[wanted.str[1:]]}, or none"
        raise _mismatch(signature, index, f"the value has type {argument.type}", hint)


def _mismatch(signature: KernelSignature, index: int, found: str, hint: str) -> LaunchError:
    """The error of an argument whose type is not the declared one."""
    declared = signature.argument_types[index].partition(";")[0]
    message = f"kernel '{signature.name}': {signature.describe(index)} is {declared}, and {found}"
    return LaunchError(Diagnostic("S003", message, Span("<launch>", 0), hint))
