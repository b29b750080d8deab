"""Registers of activations: arrays with a row for each hardware thread, and typed views of them."""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from visakit.language.program import FIRST_VARIABLE, Function
from vsim.engines.numpy.threads import HardwareThreads
from vsim.launch.arrays import Array, Bytes, DType, Dwords
from vsim.semantics.registers import Layout


class RegisterKind(enum.StrEnum):
    """What holds values of a function."""

    VARIABLE = enum.auto()
    FILE = enum.auto()
    """One piece for all variables whose addresses are taken, so that indirect operands can reach any of them."""
    PREDICATE = enum.auto()
    ADDRESS = enum.auto()


VARIABLE = RegisterKind.VARIABLE
Arrays = dict[tuple[RegisterKind, int], Array]
"""What holds registers, by kind and number."""


class View(NamedTuple):
    """Registers as elements of a type: of which kind they are, and the number of the (root) variable."""

    kind: RegisterKind
    number: int
    dtype: DType


FILE_BYTES = View(RegisterKind.FILE, 0, np.dtype("u1"))


def predicate_view(number: int) -> View:
    """The bits of a predicate variable, 32 columns."""
    return View(RegisterKind.PREDICATE, number, np.dtype("?"))


def address_view(number: int) -> View:
    """The elements of an address variable."""
    return View(RegisterKind.ADDRESS, number, np.dtype("u4"))


class LateArrays(Arrays):
    """The arrays of all registers, each made when it is asked for."""

    def __init__(self, make: Callable[[RegisterKind, int], Array]) -> None:
        self._make = make

    def __missing__(self, key: tuple[RegisterKind, int]) -> Array:
        found = self[key] = self._make(*key)
        return found


class SavedRegisters(NamedTuple):
    """Copies of the arrays of a register file, without the arrays that all activations share, and of its states."""

    arrays: Arrays
    states: dict[tuple[int, int, int], Dwords]


class RegisterViews(dict[int, Array]):
    """Typed views of a register file by the numbers that its function gave them, each made when it is asked for."""

    def __init__(self, layout: Layout, arrays: Arrays, views: list[View]) -> None:
        self._layout, self._arrays, self._views = layout, arrays, views

    def __missing__(self, number: int) -> Array:
        kind, index, dtype = self._views[number]
        base = _bytes_of(self._layout, self._arrays, index) if kind is VARIABLE else self._arrays[kind, index]
        found = self[number] = base.view(dtype)
        return found


class RegisterFile:
    """The registers of one activation, and the views of them that its function asked for while it was prepared.

    All activations share the threads' predefined variables. Predefined variables whose address the function takes are
    in its register file while it runs.
    """

    def __init__(self, layout: Layout, views: list[View], arrays: Arrays) -> None:
        self.layout, self.arrays, self._views = layout, arrays, views
        self._states: dict[tuple[int, int, int], Dwords] = {}
        self.birth = -1
        """The time at which its function was called, for a debugger that runs it again; -1 for a kernel."""
        self.shadow: RegisterFile | None = None
        """Which bits are undefined, in a launch that is checked for that."""
        self.views = RegisterViews(layout, arrays, views)

    @classmethod
    def fresh(cls, layout: Layout, views: list[View], threads: HardwareThreads, late: bool) -> RegisterFile:
        """Registers of an activation that begins: zeros; those of views, or with ``late`` any that is asked for."""
        arrays: Arrays = LateArrays(partial(_array, layout, threads)) if late else {}
        arrays[RegisterKind.FILE, 0] = np.zeros((threads.count, layout.file_size), np.uint8)
        for kind, number in () if late else {view[:2] for view in views}:
            if (kind, number) not in arrays and not (kind is VARIABLE and number in layout.file_offsets):
                arrays[kind, number] = _array(layout, threads, kind, number)
        return cls(layout, views, arrays)

    def beside(self, arrays: Arrays) -> RegisterFile:
        """Other arrays of the same shapes with the same views."""
        return RegisterFile(self.layout, self._views, arrays)

    def bytes_of(self, root: int) -> Bytes | None:
        """The bytes of a root variable, threads x bytes; None if the function does not use it."""
        is_in_file = root in self.layout.file_offsets
        return _bytes_of(self.layout, self.arrays, root) if is_in_file else self.find(VARIABLE, root)

    def find(self, kind: RegisterKind, number: int) -> Array | None:
        """The array of a register outside the register file; None if the function does not use it."""
        arrays = self.arrays
        return arrays[kind, number] if isinstance(arrays, LateArrays) or (kind, number) in arrays else None

    def state(self, kind: int, index: int, element: int) -> Dwords:
        """An element of a surface or sampler variable, threads x 1."""
        key = (kind, index, element)
        found = self._states.get(key)
        if found is None:
            count = len(self.arrays[RegisterKind.FILE, 0])
            found = self._states[key] = np.zeros((count, 1), np.uint32)
        return found

    def saved(self) -> SavedRegisters:
        """A copy, for :meth:`restore`."""
        own = {key: a.copy() for key, a in self.arrays.items() if not _is_shared(*key)}
        return SavedRegisters(own, {key: state.copy() for key, state in self._states.items()})

    def restore(self, saved: SavedRegisters) -> None:
        """Bring the contents back, in the same arrays, which views show."""
        for key, contents in saved.arrays.items():
            self.arrays[key][:] = contents
        for place, state in self._states.items():
            state[:] = saved.states.get(place, 0)

    def carry_in(self, threads: HardwareThreads) -> None:
        """Copy into the register file the threads' predefined variables that have a place in it."""
        for number, at, size in self.layout.carried:
            self.arrays[RegisterKind.FILE, 0][:, at : at + size] = threads.predefined(number)

    def carry_out(self, threads: HardwareThreads) -> None:
        """Copy them back to where other functions find them."""
        for number, at, size in self.layout.carried:
            threads.predefined(number)[:] = self.arrays[RegisterKind.FILE, 0][:, at : at + size]

    def rows(self, index: Array) -> RegisterFile:
        """A copy of some threads' registers."""
        found = self.beside(LateArrays(lambda kind, number: self.arrays[kind, number][index]))
        found._states = {key: state[index] for key, state in self._states.items()}
        return found

    def take_back(self, index: Array, copy: RegisterFile) -> None:
        """Write a copy of some threads' registers back."""
        for key, array in copy.arrays.items():
            self.arrays[key][index] = array
        for place, state in copy._states.items():
            self.state(*place)[index] = state


def _bytes_of(layout: Layout, arrays: Arrays, root: int) -> Bytes:
    at = layout.file_offsets.get(root)
    if at is not None:
        return arrays[RegisterKind.FILE, 0][:, at : at + layout.sizes[root]]
    return arrays[VARIABLE, root]


def _is_shared(kind: RegisterKind, number: int) -> bool:
    """Whether an array is one of the threads' predefined variables."""
    return kind is RegisterKind.VARIABLE and number < FIRST_VARIABLE


def _array(layout: Layout, threads: HardwareThreads, kind: RegisterKind, number: int) -> Array:
    function: Function = layout.function
    if kind is RegisterKind.PREDICATE:
        return np.zeros((threads.count, 32), bool)
    if kind is RegisterKind.ADDRESS:
        return np.zeros((threads.count, max(1, function.addresses[number].elements)), np.uint32)
    if number < FIRST_VARIABLE:
        return threads.predefined(number)
    return np.zeros((threads.count, layout.sizes[number]), np.uint8)
