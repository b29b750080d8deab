"""Python values as the arguments of a launch, converted to the types that the kernel declares."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from visakit.diagnostics import Diagnostic, LaunchError, Span, counted
from visakit.objects.ze_info import PayloadField
from vsim.launch.arguments import NULL
from vsim.launch.arrays import Array
from vsim.launch.launch import (
    SCALAR_TYPES,
    Argument,
    BufferArgument,
    ImageArgument,
    Launch,
    LocalArgument,
    SamplerArgument,
    ScalarArgument,
    array_problem,
    scalar_bytes,
)
from vsim.launch.signature import KernelSignature
from vsim.memory.images import ImageFormat

_CODES = {
    "i1": "<b", "u1": "<B", "i2": "<h", "u2": "<H", "i4": "<i", "u4": "<I", "i8": "<q", "u8": "<Q",
    "f2": "<e", "f4": "<f", "f8": "<d",
}  # fmt: skip
"""How :mod:`struct` writes a number, by numpy's name of its type."""
_TYPES_BY_SIZE = {
    (2, True): "f16", (8, True): "f64", (1, False): "i8", (2, False): "i16", (8, False): "i64",
}  # fmt: skip
"""The type of a number where the kernel declares none, by its bytes and whether it is real; others have four bytes."""


class _Rule(NamedTuple):
    """An argument by value: whether it is local memory, its declared type and elements, and its bytes."""

    local: bool
    type: str
    elements: int
    size: int

    @property
    def is_address(self) -> bool:
        """Whether it can be the address of a buffer."""
        return SCALAR_TYPES.get(self.type) == "u8" and self.elements == 1


class ArgumentConverter:
    """Turns Python values into arguments of one kernel.

    Raises:
        LaunchError: S003 for a value that the argument cannot be; the message names the argument.
    """

    def __init__(self, signature: KernelSignature) -> None:
        self.signature = signature
        self.rules: dict[int, _Rule] = {}

    def __repr__(self) -> str:
        return f"<ArgumentConverter of '{self.signature.name}'>"

    def fail(self, index: int, message: str, hint: str = "") -> LaunchError:
        return LaunchError(
            Diagnostic(
                "S003",
                f"kernel '{self.signature.name}': {self.signature.describe(index)} {message}",
                Span("<launch>", 0),
                hint,
            )
        )

    def argument(self, index: int, value: object) -> Argument:
        """The argument that a value is."""
        if isinstance(value, (BufferArgument, ScalarArgument, LocalArgument, ImageArgument, SamplerArgument)):
            return value
        if isinstance(value, np.ndarray) and value.shape != ():
            return self._array(index, value)
        if isinstance(value, (np.generic, np.ndarray)):
            return ScalarArgument(self._numpy_scalar(index, value))
        if value is None and self._takes_null(index):
            return ScalarArgument(NULL)
        rule = self._rule(index)
        if rule.local and isinstance(value, int):
            return LocalArgument(value)
        if isinstance(value, (int, float, bool, list, tuple)):
            return ScalarArgument(self._scalar(index, value, rule))
        raise self.fail(
            index,
            f"cannot be a {type(value).__name__}",
            "pass a numpy array, a number, a numpy scalar (also of a structured dtype), Image or Sampler",
        )

    def _numpy_scalar(self, index: int, value: np.generic | Array) -> bytes:
        """A number of the kind that the kernel declares, if it fits; the bytes where it declares none."""
        rule, given = self._rule(index), value.dtype
        kinds = {"f": "f", "b": "iu", "i": "iu", "u": "iu"}
        if given.kind not in kinds or self._declared(index) is None or rule.elements != 1:
            return value.tobytes()
        wanted = np.dtype(SCALAR_TYPES[rule.type])
        if wanted == given:
            return value.tobytes()
        if wanted.kind not in kinds[given.kind]:
            hint = f"pass {'float' if wanted.kind == 'f' else 'int'}(value)"
            if wanted.itemsize == given.itemsize:
                hint += f", or value.view('{wanted.str[1:]}') if that is what its bits are"
            raise self.fail(index, f"is {self._shown(index, rule.type)}, and the scalar is of type {given}", hint)
        return self._scalar(index, float(value) if wanted.kind == "f" else int(value), rule)

    def read_numbers(self, launch: Launch) -> tuple[int, str]:
        """Have the scalars of a launch file that say no type have that of the kernel's argument.

        Returns:
            The number of an argument that cannot be one, and why; an empty text if all can.
        """
        names = {id(argument): name for name, argument in launch.names.items()}
        for index, argument in enumerate(launch.args):
            if isinstance(argument, ScalarArgument) and argument.numbers is not None:
                name = names.get(id(argument), "")
                known = self.signature.names_in_order
                try:
                    found = self.argument(known.index(name) if name in known else index, argument.numbers)
                except LaunchError as error:
                    return index, error.diagnostics[0].message
                if isinstance(found, ScalarArgument):
                    argument.data = found.data
        return 0, ""

    def _array(self, index: int, array: Array) -> Argument:
        problem, hint = array_problem(array)
        if problem:
            raise self.fail(index, problem, hint)
        if index not in self.signature.image_arguments:
            return BufferArgument(array)
        format = ImageFormat.of(array)
        if format is None:
            hint = "the last axis is 1, 2 or 4 channels; name the format with Image(array, format)"
            raise self.fail(index, f"is an image, but no format fits shape {array.shape} and type {array.dtype}", hint)
        return ImageArgument(array, str(format))

    def _rule(self, index: int) -> _Rule:
        """The parameter of an argument by value: its declaration, else its bytes in the payload."""
        rule = self.rules.get(index)
        if rule is None:
            rule = self.rules[index] = self._declared(index) or self._undeclared(index)
        return rule

    def _field(self, index: int) -> PayloadField | None:
        kinds = ("arg_byvalue", "arg_bypointer")
        return next((f for f in self.signature.fields.get(index, ()) if f.kind in kinds), None)

    def _declared(self, index: int) -> _Rule | None:
        match = re.fullmatch(r"([a-z]+)(\d*);(\d+)", self.signature.argument_types.get(index, ""))
        if match is None or match[1] not in SCALAR_TYPES:
            return None
        return _Rule(self._is_local(index), match[1], int(match[2] or 1), int(match[3]))

    def _undeclared(self, index: int) -> _Rule:
        if self.signature.info is None and not self.signature.surface_inputs:
            name = self.signature.declared_type(index)
            if name:
                return _Rule(False, name, 1, 0)
        field = self._field(index)
        return _Rule(self._is_local(index), "", 0, field.size or 4 if field else 4)

    def _takes_null(self, index: int) -> bool:
        """Whether an argument is a pointer to global or constant memory, by its declaration."""
        field = self._field(index)
        if field is None:
            return self.signature.info is None
        return field.kind == "arg_bypointer" and field.address_space in ("global", "constant")

    def _is_local(self, index: int) -> bool:
        field = self._field(index)
        return field is not None and field.address_mode == "slm"

    def _scalar(self, index: int, value: float | Sequence[object], rule: _Rule) -> bytes:
        """Numbers as bytes: of the type that the kernel declares, else as Python types suggest."""
        if rule.elements == 1:
            try:
                return struct.pack(_CODES[SCALAR_TYPES[rule.type]], value)
            except (struct.error, OverflowError):
                pass  # The slow path below takes all values that C takes, and reports errors.
        numbers = list(value) if isinstance(value, Sequence) else [value]
        if rule.elements and len(numbers) != rule.elements:
            many = counted(rule.elements, "element")
            message = f"is {self._shown(index, rule.type)}, which has {many}, found {len(numbers)}"
            raise self.fail(index, message, "an address takes an array: numpy.array of it" if rule.is_address else "")
        name = rule.type or _suggested_type(numbers, rule.size)
        dtype = np.dtype(SCALAR_TYPES[name])
        if dtype.kind == "i":
            # An unsigned number may be given for a signed argument of its width, as in C.
            bits = 8 * dtype.itemsize
            numbers = [n - (1 << bits) if isinstance(n, int) and 1 << bits - 1 <= n < 1 << bits else n for n in numbers]
        try:
            return scalar_bytes(numbers, name, "<launch>").ljust(rule.size, b"\0")
        except LaunchError as error:
            raise self.fail(index, f"is {self._shown(index, name)}: {error.diagnostics[0].message}") from None

    def _shown(self, index: int, name: str) -> str:
        return self.signature.argument_types.get(index, name).partition(";")[0]


def _suggested_type(numbers: Sequence[object], size: int) -> str:
    """The default element type of an argument of a number of bytes without a declaration."""
    real = any(isinstance(n, float) for n in numbers)
    return _TYPES_BY_SIZE.get((size // max(1, len(numbers)), real), "f32" if real else "i32")
