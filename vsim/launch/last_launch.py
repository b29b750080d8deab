"""Launches that are like the last one of their kernel: they are bound already."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from vsim.launch.arrays import Array
from vsim.launch.binding import number_in_payload
from vsim.launch.dispatch import Dispatch
from vsim.launch.launch import Argument, ImageArgument, SamplerArgument


class LastLaunch(NamedTuple):
    """The last launch of a kernel, for another one with the same arrays and with numbers that are equal, or others.

    ``shape`` determines the ND-range and the order of groups. Weak references identify the arrays, which live as long
    as the caller wants. ``protections`` is the address space's count of changed protections.
    """

    shape: tuple[object, ...]
    arguments: tuple[object, ...]
    dispatch: Dispatch
    protections: int

    @classmethod
    def of(cls, shape: tuple[object, ...], arguments: Sequence[object], dispatch: Dispatch) -> LastLaunch | None:
        """A launch that has run; None if it cannot be repeated."""
        images = dispatch.signature.image_arguments
        if not can_repeat(dispatch):
            return None
        if not all(_constant(value, number in images) for number, value in enumerate(arguments)):
            return None
        known = tuple(_known_by(value, number in images) for number, value in enumerate(arguments))
        return cls(shape, known, dispatch, dispatch.memory.protections)

    def again(
        self, shape: tuple[object, ...], arguments: Sequence[object], convert: Callable[[int, object], Argument]
    ) -> LastLaunch | None:
        """The same launch with these arguments; None if more than numbers differ.

        Args:
            convert: makes an argument of a number and a value.

        Raises:
            LaunchError: the kernel does not take a number.
        """
        if (
            shape != self.shape
            or len(arguments) != len(self.arguments)
            or self.protections != self.dispatch.memory.protections
        ):
            return None
        pairs = zip(arguments, self.arguments, strict=True)
        changed = [n for n, (value, known) in enumerate(pairs) if value is not known and not _same(value, known)]
        if not changed:
            return self
        if not all(_is_number(arguments[n]) for n in changed):
            return None
        dispatch = with_numbers(self.dispatch, [(n, convert(n, arguments[n])) for n in changed])
        if dispatch is None:
            return None
        known = [arguments[n] if n in changed else key for n, key in enumerate(self.arguments)]
        return self._replace(arguments=tuple(known), dispatch=dispatch)


def can_repeat(dispatch: Dispatch) -> bool:
    """Whether a launch can be repeated: buffers of messages must be cleared."""
    return dispatch.arguments.printf is dispatch.arguments.assertions is None


def with_numbers(dispatch: Dispatch, changed: Iterable[tuple[int, Argument]]) -> Dispatch | None:
    """A launch with other numbers for some arguments; None where more follows from them than bytes of the payload."""
    values = []
    for index, argument in changed:
        value = number_in_payload(dispatch.signature, index, argument)
        if value is None:
            return None
        values.append(value)
    return dispatch.with_numbers(values)


class _ReadOnly(weakref.ref[Array]):
    """An array that is read-only."""

    __slots__ = ()


class _Image(NamedTuple):
    """An array that a kernel takes as an image, and what makes that image of it."""

    array: weakref.ref[Array]
    form: tuple[object, ...]

    def is_still(self, value: object) -> bool:
        """Whether an argument is this image."""
        array = value.array if isinstance(value, ImageArgument) else value
        return array is self.array() and _constant(value, True) and _form(value) == self.form


def _form(image: object) -> tuple[object, ...]:
    """What makes an image of an array; both may change in place."""
    if isinstance(image, ImageArgument):
        return image.array.shape, image.array.dtype, image.format, image.layered
    assert isinstance(image, np.ndarray)
    return image.shape, image.dtype


def _known_by(value: object, is_image: bool) -> object:
    """The key of an argument for :func:`_same`."""
    if is_image:
        array = value.array if isinstance(value, ImageArgument) else value
        assert isinstance(array, np.ndarray)
        return _Image(weakref.ref(array), _form(value))
    if isinstance(value, SamplerArgument):
        return replace(value)
    if type(value) is not np.ndarray:
        return value
    return weakref.ref(value) if value.flags.writeable else _ReadOnly(value)


def _same(value: object, other: object) -> bool:
    if type(other) is weakref.ReferenceType:
        array: Array | None = other()
        return array is not None and array is value and bool(array.flags.writeable)  # which may have changed
    if value is other:
        return True
    if isinstance(other, _Image):
        return other.is_still(value)
    if type(other) is _ReadOnly:
        return other() is value and isinstance(value, np.ndarray) and not value.flags.writeable
    if type(value) is not type(other):
        return False
    if isinstance(value, np.generic):
        return isinstance(other, np.generic) and value.tobytes() == other.tobytes()
    return bool(value == other and (value or repr(value) == repr(other)))  # 0.0 is not -0.0


def _constant(value: object, is_image: bool) -> bool:
    """Whether an argument keeps its meaning while it is the same object: an array or a number, not a list.

    Of an image that is read-only kernels get a copy.
    """
    if is_image:
        array = value.array if isinstance(value, ImageArgument) else value
        return type(array) is np.ndarray and array.flags.writeable
    return bool(type(value) is np.ndarray and value.shape) or _is_number(value) or isinstance(value, SamplerArgument)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number, np.bool_))
