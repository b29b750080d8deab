"""Launches as a command line describes them: sizes, and a value for each argument of a kernel."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from visa.diagnostics import Diagnostic, LaunchError, Span, UsageError, did_you_mean
from visa.usage import whole_number
from vsim.array_files import ArrayFileError, read_array
from vsim.conversion import ArgumentConverter
from vsim.generated_arrays import generated_array, is_generated
from vsim.launch import (
    Argument,
    BufferArgument,
    Checked,
    Launch,
    LocalArgument,
    ScalarArgument,
    scalar_bytes,
)
from vsim.program import Program
from vsim.signature import KernelSignature


class Given(NamedTuple):
    """A launch as the command line gives it.

    Attributes:
        signature: what its kernel wants.
        args: by index; those that are missing are made.
        files: names of the files that arguments came from, by index.
        outs: names of the files that arguments are to be saved in, by index.
    """

    signature: KernelSignature
    args: Mapping[int, Argument]
    files: Mapping[int, str]
    outs: Mapping[int, str]
    global_size: tuple[int, ...] | None
    local_size: tuple[int, ...] | None


def described_launch(
    program: Program, kernel: str, global_size: str | None, local_size: str | None, values: Sequence[str]
) -> Launch:
    """A launch out of sizes such as ``64,64`` and values such as ``0=2.5f``; arguments go by number or by name.

    Raises:
        UsageError: one of them has another form, or a number is missing.
    """
    arguments = {name: argument_value(value) for name, value in _named_values(values).items()}
    local = sizes(local_size, "--local-size") if local_size else None
    found = Launch(kernel, sizes(global_size or "1", "--global-size"), local)
    signature = program.signature(kernel)
    names = {name: index for index, name in signature.argument_names.items()}
    by_index = {names.get(n, _index(n)): v for n, v in arguments.items()}
    if all(isinstance(k, int) for k in by_index):
        missing = next((i for i in range(len(arguments)) if i not in by_index), None)
        if missing is not None:
            raise UsageError(f"--arg gives arguments from 0 on without a gap; argument {missing} is missing")
        found.args = [_as_wanted(signature, i, by_index[i]) for i in range(len(arguments))]
    else:
        found.args = list(arguments.values())
        found.names = {n: v for n, v in arguments.items() if isinstance(_index(n), str)}
    return found


def given_launch(
    signature: KernelSignature,
    global_size: str | None,
    local_size: str | None,
    values: Sequence[str],
    save: Mapping[str, str],
) -> Given:
    """What the command line gives of a launch, by the numbers of the kernel's arguments.

    Raises:
        UsageError: a value has another form, or is for an argument that the kernel does not have.
    """
    numbers = {name: index for index, name in signature.argument_names.items()}
    if signature.info is None:
        numbers = {name: index for index, name in enumerate(signature.inputs)}

    def number(name: str) -> int:
        index = numbers.get(name, _index(name))
        if isinstance(index, str):
            hint = did_you_mean(name, numbers) or f"arguments are {', '.join(numbers)}"
            raise UsageError(f"kernel '{signature.name}' has no argument '{name}'; {hint}")
        return index

    texts = {number(name): value for name, value in _named_values(values).items()}
    args = {index: _as_wanted(signature, index, argument_value(text)) for index, text in texts.items()}
    return Given(
        signature,
        args,
        {i: texts[i] for i, a in args.items() if isinstance(a, Checked) and not is_generated(texts[i])},
        {number(name): file for name, file in save.items()},
        sizes(global_size, "--global-size") if global_size else None,
        sizes(local_size, "--local-size") if local_size else None,
    )


def _named_values(values: Sequence[str]) -> dict[str, str]:
    """The values of ``--arg`` by name or number."""
    found = {}
    for item in values:
        name, equals, value = item.partition("=")
        if not equals:
            raise UsageError(f"--arg takes NAME_OR_INDEX=VALUE, found '{item}'")
        found[name] = value
    return found


def _index(name: str) -> int | str:
    """The number of an argument that goes by it; its name of any other."""
    number = whole_number(name)
    return name if number is None else number


def _as_wanted(signature: KernelSignature, index: int, argument: Argument) -> Argument:
    """An argument as the kernel wants it: an array may be an image."""
    if isinstance(argument, BufferArgument) and index in signature.image_arguments:
        return ArgumentConverter(signature).argument(index, argument.array)
    return argument


def named_files(values: Sequence[str]) -> dict[str, str]:
    """File names by the argument that is saved in them, out of values such as ``y=result.npy``.

    Raises:
        UsageError: one of them has another form.
    """
    found = {}
    for item in values:
        name, _, file = item.partition("=")
        if not name or not file:
            raise UsageError(f"--save takes NAME_OR_INDEX=FILE, found '{item}'")
        found[name] = file
    return found


def sizes(text: str, option: str) -> tuple[int, ...]:
    """One to three sizes.

    Raises:
        UsageError: they have another form.
    """
    parts = text.split(",")
    numbers = [n for n in (whole_number(p.strip()) for p in parts) if n is not None]
    if not 1 <= len(numbers) == len(parts) <= 3:
        raise UsageError(f"{option} takes X[,Y[,Z]], found '{text:.80}'")
    return tuple(numbers)


MAXIMUM_NUMBER_LENGTH = 400
"""Characters: no float has more before its point."""
_NUMBER = r"(-?(?:(0[xX][0-9a-fA-F]+|\d+)|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|nan))(?::(\w+)|(f))?"
"""A number, and behind a colon its type, or an f for a float."""


def argument_value(text: str) -> Argument:
    """What a value means: a number (``5``, ``2.5f``, ``7:u64``), ``FILE.npy``, ``null``, ``zeros:N:TYPE`` (also
    ``iota`` and ``random``, :mod:`vsim.generated_arrays`) or ``local:BYTES``.

    Raises:
        UsageError: it is none of them.
        LaunchError: the file cannot be read.
    """
    if m := re.fullmatch(r"local:([1-9]\d{0,18})", text):
        return LocalArgument(int(m[1]))
    if text == "null":
        return ScalarArgument(bytes(8))
    generated = generated_array(text)
    if generated is not None:
        return BufferArgument(generated)
    if text.endswith(".npy") or os.path.exists(text):
        return _array_file(text)
    return _number(text)


def _array_file(path: str) -> Argument:
    try:
        return BufferArgument(np.ascontiguousarray(read_array(path)))
    except ArrayFileError as error:
        raise LaunchError(Diagnostic("S001", f"'{path}' cannot be read: {error}", Span(path, 0))) from None


def _number(text: str) -> Argument:
    m = re.fullmatch(_NUMBER, text) if len(text) <= MAXIMUM_NUMBER_LENGTH else None
    if not m:
        raise UsageError(
            f"'{text:.80}' is not a number, an array file, zeros:N:TYPE, iota:N:TYPE, random:N:TYPE or local:BYTES"
        )
    number, integer, type_name, suffix = m.groups()
    type_name = type_name or ("i32" if integer and not suffix else "f32")
    value = int(number, 16 if "x" in number.lower() else 10) if integer else float(number)
    return ScalarArgument(scalar_bytes(value, type_name, "--arg"))
