"""Launches as a command line describes them: sizes, and a value for each argument of a kernel."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from visakit.diagnostics import Diagnostic, LaunchError, Span, UsageError, did_you_mean
from visakit.usage import whole_number
from vsim.launch.array_files import ArrayFileError, Take, has_type, no_limit, read_array
from vsim.launch.conversion import ArgumentConverter
from vsim.launch.element_types import check_elements, our_type
from vsim.launch.generated_arrays import form_hint, generated_array, is_generated
from vsim.launch.given_launch import GivenLaunch
from vsim.launch.launch import (
    SCALAR_TYPES,
    Argument,
    BufferArgument,
    Checked,
    Launch,
    LocalArgument,
    ScalarArgument,
    scalar_bytes,
)
from vsim.launch.launch_file import LaunchFile, Override
from vsim.launch.signature import KernelSignature
from vsim.program import Program


def described_launch(
    program: Program, kernel: str, global_size: str | None, local_size: str | None, values: Sequence[str]
) -> Launch:
    """A launch out of sizes such as ``64,64`` and values such as ``0=2.5f``; arguments go by number or by name.

    Raises:
        UsageError: one of them has another form, or a number is missing.
    """
    local = sizes(local_size, "--local-size") if local_size else None
    texts = _named_values(values)
    signature, take = program.signature(kernel), program.memory.budget()
    numbers = _numbers(signature)
    for name in texts:
        _check_name(signature, numbers, name)
    arguments = {n: _value_of(n, text, _declared(signature, numbers.get(n)), take) for n, text in texts.items()}
    if global_size is None:
        raise UsageError("--global-size is missing: how many work-items run, such as 64 or 64,16")
    found = Launch(kernel, sizes(global_size, "--global-size"), local)
    names = numbers if signature.info else {}
    by_index = {names.get(n, _index(n)): v for n, v in arguments.items()}
    if len({numbers.get(n, _index(n)) for n in arguments}) < len(arguments):
        raise UsageError(f"--arg gives an argument of kernel '{signature.name}' by its name and by its number")
    if all(isinstance(k, int) for k in by_index):
        missing = next((i for i in range(len(arguments)) if i not in by_index), None)
        if missing is not None:
            raise UsageError(f"--arg gives arguments from 0 on without a gap; argument {missing} is missing")
        found.args = [_as_wanted(signature, i, by_index[i]) for i in range(len(arguments))]
    else:
        found.args = list(arguments.values())
        found.names = {n: v for n, v in arguments.items() if isinstance(_index(n), str)}
    return found


def override(
    program: Program,
    file: LaunchFile,
    kernel: str,
    global_size: str | None,
    local_size: str | None,
    values: Sequence[str],
) -> Override:
    """The sizes and arguments of the command line that replace those of a launch file.

    Args:
        kernel: the kernel whose launches change; empty for all.

    Raises:
        UsageError: a value has another form, or is for an argument that no launch has.
    """
    texts, take = _named_values(values), program.memory.budget()
    given = {"global_size": (global_size, "--global-size"), "local_size": (local_size, "--local-size")}
    replaced = {key: sizes(text, option) for key, (text, option) in given.items() if text}
    _check_names(texts, program, file, kernel)

    def arguments(name: str, called: Sequence[object]) -> dict[int, Argument]:
        if kernel not in ("", name or kernel):
            return {}
        return _replaced_arguments(program.signature(name or kernel), called, texts, take)

    return Override(replaced, arguments)


def _replaced_arguments(
    signature: KernelSignature, called: Sequence[object], texts: Mapping[str, str], take: Take
) -> dict[int, Argument]:
    """Arguments of one launch by number.

    Args:
        called: the names of the arguments in the launch file, which precede those of the kernel.
        texts: values by name or number; names of other kernels' arguments are skipped.
    """
    own, places = _numbers(signature), {word: n for n, word in enumerate(called) if isinstance(word, str)}
    replaced: dict[int, Argument] = {}
    for word, text in texts.items():
        index = places.get(word, own.get(word, _index(word)))
        if isinstance(index, str):
            continue
        if index in replaced:
            raise UsageError(f"--arg gives argument {index} of kernel '{signature.name}' twice")
        value = _value_of(word, text, _declared(signature, own.get(word, index)), take)
        replaced[index] = _as_wanted(signature, index, value)
    return replaced


def _check_names(texts: Mapping[str, str], program: Program, file: LaunchFile, kernel: str) -> None:
    """Refuse names of arguments that no launch of a file has."""
    names = [word for word in texts if isinstance(_index(word), str)]
    if not names:
        return
    known: dict[str, None] = {}
    for entry in file.entries:
        if isinstance(entry, dict) and kernel in ("", entry.get("kernel") or kernel):
            known |= dict.fromkeys(_numbers(program.signature(str(entry.get("kernel") or kernel))))
            items = entry.get("args")
            called = [item.get("name") for item in (items if isinstance(items, list) else ()) if isinstance(item, dict)]
            known |= dict.fromkeys(name for name in called if isinstance(name, str))
    for word in names:
        if word not in known:
            hint = did_you_mean(word, known) or f"arguments are {', '.join(known) or '(none)'}"
            raise UsageError(f"--arg: no launch in '{file.name}' has an argument '{word}'; {hint}")


def given_launch(
    signature: KernelSignature,
    global_size: str | None,
    local_size: str | None,
    values: Sequence[str],
    save: Mapping[str, str],
    take: Take = no_limit,
) -> GivenLaunch:
    """What the command line gives of a launch, by the numbers of the kernel's arguments.

    Args:
        take: is told of the bytes of files of arrays before they are read.

    Raises:
        UsageError: a value has another form, or is for an argument that the kernel does not have.
    """
    numbers = _numbers(signature)

    def number(name: str) -> int:
        index = numbers.get(name, _index(name))
        if isinstance(index, str):
            raise _no_argument(signature, numbers, name)
        return index

    named = _named_values(values)
    texts = {number(name): text for name, text in named.items()}
    args = {
        number(name): _as_wanted(
            signature, number(name), _value_of(name, text, signature.declared_type(number(name)), take)
        )
        for name, text in named.items()
    }
    return GivenLaunch(
        signature,
        args,
        sizes(global_size, "--global-size") if global_size else None,
        sizes(local_size, "--local-size") if local_size else None,
        {i: texts[i] for i, a in args.items() if isinstance(a, Checked) and not is_generated(texts[i])},
        {number(name): file for name, file in save.items()},
    )


def _numbers(signature: KernelSignature) -> dict[str, int]:
    """Numbers of the arguments by their names, and without ze_info those of the inputs."""
    if signature.info is None:
        return {name: index for index, name in enumerate(signature.inputs)}
    return {name: index for index, name in signature.argument_names.items()}


def _check_name(signature: KernelSignature, numbers: Mapping[str, int], name: str) -> None:
    """Refuse a name that no argument has, where ze_info has names; ``%urb`` and others are the launch's.

    Raises:
        UsageError: there is no such argument.
    """
    is_name = isinstance(_index(name), str) and not name.startswith("%")
    if signature.info is not None and numbers and is_name and name not in numbers:
        raise _no_argument(signature, numbers, name)


def _no_argument(signature: KernelSignature, numbers: Mapping[str, int], name: str) -> UsageError:
    """The error of a name that no argument has."""
    hint = did_you_mean(name, numbers) or f"arguments are {', '.join(numbers)}"
    return UsageError(f"kernel '{signature.name}' has no argument '{name}'; {hint}")


def _declared(signature: KernelSignature, index: int | None) -> str:
    return "" if index is None else signature.declared_type(index)


def _value_of(name: str, text: str, wanted: str, take: Take) -> Argument:
    """The value of an argument; errors name the argument."""
    try:
        return argument_value(text, wanted, take)
    except UsageError as error:
        raise UsageError(f"--arg {name}: {error.diagnostics[0].message}") from None


def _named_values(values: Sequence[str]) -> dict[str, str]:
    """The values of ``--arg`` by name or number."""
    found: dict[str, str] = {}
    for item in values:
        name, equals, value = item.partition("=")
        if not equals:
            raise UsageError(f"--arg takes NAME_OR_INDEX=VALUE, found '{item}'")
        if name in found:
            raise UsageError(f"--arg gives '{name}' twice: {found[name]} and {value}")
        found[name] = value
    return found


def _index(name: str) -> int | str:
    """The number of an argument that goes by it; its name of any other."""
    number = whole_number(name)
    return name if number is None else number


def _as_wanted(signature: KernelSignature, index: int, argument: Argument) -> Argument:
    """An argument as the kernel wants it: an array may be an image, elements without a type have the kernel's."""
    if isinstance(argument, BufferArgument) and index in signature.image_arguments:
        return ArgumentConverter(signature).argument(index, argument.array)
    if isinstance(argument, BufferArgument):
        check_elements(signature, index, argument)
    if isinstance(argument, ScalarArgument) and argument.numbers is not None:
        return ArgumentConverter(signature).argument(index, argument.numbers)
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
        raise UsageError(f"{option} takes one to three whole numbers, X[,Y[,Z]], found '{text:.80}'")
    return tuple(numbers)


MAXIMUM_ELEMENTS = 4096
"""Of a vector or structure: more than the payload of a kernel has room for."""
MAXIMUM_NUMBER_LENGTH = 400
"""Characters: no float has more before its point."""
_NUMBER = r"(-?(?:(0[xX][0-9a-fA-F]+|\d+)|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|nan))(?::(\w+)|(f))?"
"""A number, and behind a colon its type, or an f for a float."""


def argument_value(text: str, wanted: str = "", take: Take = no_limit) -> Argument:
    """The argument of a value: a number (``5``, ``2.5f``, ``7:u64``), the elements of a vector or structure
    (``[1,2,3,4]:f32``, ``[1:i32,2.5]``, each with its type or the type of all, laid out as in C), ``FILE.npy``,
    ``null``, ``zeros:N:TYPE`` (also ``ones``, ``iota`` and ``random``, :mod:`vsim.launch.generated_arrays`) or
    ``local:BYTES``.

    Args:
        wanted: the type of a number that says none, in the words of launch files; empty for i32, or f32 with a point.
        take: is told of the bytes of a file before they are read.

    Raises:
        UsageError: the text has none of these forms.
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
        return _array_file(text, take)
    if elements := re.fullmatch(r"\[(.*)\](?::(\w+))?", text):
        return _elements(elements[1].split(","), our_type(elements[2] or ""))
    return _number(text, wanted)


def _elements(texts: Sequence[str], type_name: str) -> ScalarArgument:
    """A vector or structure: each element begins at a multiple of its size, without padding at the end.

    Numbers without a type get the kernel's types, as in launch files.
    """
    if len(texts) > MAXIMUM_ELEMENTS:
        raise UsageError(f"a vector or structure has at most {MAXIMUM_ELEMENTS} elements, found {len(texts)}")
    elements = [_read_number(text.strip()) for text in texts]
    types = [element.type or type_name for element in elements]
    if not any(types):
        values = [element.value for element in elements]
        usual = "f32" if any(isinstance(value, float) for value in values) else "i32"
        return ScalarArgument(scalar_bytes(values, usual, "--arg"), numbers=values)
    if not all(types):
        raise UsageError(f"some elements of '[{','.join(texts):.80}]' have a type and others none; write [1,2]:TYPE")
    data = b""
    for element, own in zip(elements, types, strict=True):
        added = scalar_bytes(element.value, own, "--arg")
        data += bytes(-len(data) % len(added)) + added
    return ScalarArgument(data, type=types[0] if len({*types}) == 1 else "")


def _array_file(path: str, take: Take) -> Argument:
    try:
        array = np.ascontiguousarray(read_array(path, take=take))
        return BufferArgument(array, "elements" if has_type(path) else "bytes")
    except ArrayFileError as error:
        raise LaunchError(Diagnostic("S001", f"'{path}' cannot be read: {error}", Span(path, 0))) from None


class _Number(NamedTuple):
    """A number as it was written: its value, and its type if it says one."""

    value: float
    type: str

    @property
    def usual(self) -> str:
        """The type of numbers that say none."""
        return "i32" if isinstance(self.value, int) else "f32"


def _read_number(text: str) -> _Number:
    m = re.fullmatch(_NUMBER, text) if len(text) <= MAXIMUM_NUMBER_LENGTH else None
    if not m:
        known = "a number, a list such as [1,2,3]:f32, an array file, "
        known += "zeros:N:TYPE, ones:N:TYPE, iota:N:TYPE, random:N:TYPE or local:BYTES"
        raise UsageError(f"'{text:.80}' is not {known}{form_hint(text)}")
    number, integer, type_name, suffix = m.groups()
    value = int(number, 16 if "x" in number.lower() else 10) if integer else float(number)
    return _Number(value, "f32" if suffix else our_type(type_name or ""))


def _number(text: str, wanted: str) -> ScalarArgument:
    found = _read_number(text)
    if not found.type and wanted and isinstance(found.value, float) and SCALAR_TYPES[wanted][0] != "f":
        raise UsageError(f"the kernel takes a whole number, of type {wanted}, found '{text}'")
    return ScalarArgument(scalar_bytes(found.value, found.type or wanted or found.usual, "--arg"), type=found.type)
