"""Launch files that are written: out of a launch, whose arrays go to files beside them, or as a skeleton."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence

import numpy as np

from visakit.diagnostics import UsageError
from visakit.files import check_outputs, make_directory, write_text
from vsim.command.listing import ArgumentRow, argument_rows
from vsim.command.report import save_array
from vsim.launch.arrays import Array
from vsim.launch.element_types import pointed_type
from vsim.launch.given_launch import GivenLaunch
from vsim.launch.launch import (
    SCALAR_TYPES,
    Argument,
    BufferArgument,
    ImageArgument,
    Launch,
    LocalArgument,
    SamplerArgument,
    ScalarArgument,
)
from vsim.launch.signature import KernelSignature
from vsim.memory.images import AXES

LEAST_ELEMENTS = 4096
"""Elements of a buffer of a skeleton, where there are not more work-items."""
LEAST_WIDTH = 16
"""Texels of an image of a skeleton along each axis, where there are not more work-items."""
DEFAULT_ITEMS = 64
_WORDS = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}
_VECTOR_BYTES = 16
"""Of an element whose type is not known: those of the largest vector of floats that is common."""


def skeleton(given: GivenLaunch) -> Launch:
    """A launch of a kernel with all arguments: the given ones, and zeros for the others.

    Buffers have an element for each work-item, and a good many for a few; whether they are enough, the kernel knows.
    """
    signature = given.signature
    required = signature.required_size
    size = given.global_size or required or (DEFAULT_ITEMS,)
    launch = Launch(signature.name, size, given.local_size)
    rows = argument_rows(signature)
    surfaces = len(signature.surface_inputs) if signature.info is None else 0
    unknown = sorted(set(given.args) - {row["index"] for row in rows})
    if unknown:
        raise UsageError(f"kernel '{signature.name}' has no argument {unknown[0]}")
    for row in rows:
        index = row["index"]
        argument = given.args.get(index) or _made(signature, row, size)
        launch.args.append(argument)
        if signature.info is None and row["name"]:
            launch.names[row["name"]] = argument
    launch.args += [BufferArgument(np.zeros(LEAST_ELEMENTS, np.uint32)) for _ in range(surfaces)]
    return launch


def _made(signature: KernelSignature, row: ArgumentRow, size: tuple[int, ...]) -> Argument:
    """An argument that is not given."""
    kind = row["kind"]
    items = int(np.prod(size, dtype=object))
    if kind == "image":
        axes = AXES.get(signature.image_type(row["index"]), 2)
        along = [max(LEAST_WIDTH, n) for n in (*size, 1, 1)[:axes]]
        return ImageArgument(np.zeros((*reversed(along), 4), "f4"), "rgba_f32")
    if kind == "sampler":
        return SamplerArgument()
    if kind in ("global", "constant", "surface") or (kind == "input" and row["size"] == 8):
        dtype = pointed_type(row["type"])
        count = max(LEAST_ELEMENTS, items)
        return BufferArgument(np.zeros(count if dtype else count * _VECTOR_BYTES, dtype or np.uint8))
    if kind == "local":
        dtype = pointed_type(row["type"])
        return LocalArgument(LEAST_ELEMENTS * (dtype.itemsize if dtype else _VECTOR_BYTES))
    return ScalarArgument(bytes(row["size"] or 4))


class LaunchWriter:
    """Writes a launch file and the arrays that its launches have and no file holds yet.

    Args:
        path: of the launch file; its arrays are beside it: ``launch.y.npy``.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.entries: list[dict[str, object]] = []
        self.arrays: dict[str, Array] = {}
        self.inputs: set[str] = set()

    def add(self, given: GivenLaunch, alone: bool) -> None:
        """Add a launch; ``alone``: it will be the only one, and the names of its arrays need not say the kernel's."""
        launch, signature = skeleton(given), given.signature
        entry: dict[str, object] = {"kernel": signature.name, "global_size": list(launch.global_size)}
        if launch.local_size:
            entry["local_size"] = list(launch.local_size)
        args = []
        names = {id(argument): name for name, argument in launch.names.items()}
        for index, argument in enumerate(launch.args):
            word = signature.argument_names.get(index) or names.get(id(argument)) or str(index)
            name = word if alone else f"{signature.name}.{word}"
            item = self._item(signature, index, argument, name, given.files.get(index, ""))
            if index in given.outs:
                item["out"] = given.outs[index]
            if id(argument) in names:
                item["name"] = names[id(argument)]
            args.append(item)
        self.entries.append(entry | {"args": args})

    def _item(
        self, signature: KernelSignature, index: int, argument: Argument, name: str, file: str
    ) -> dict[str, object]:
        """An argument as launch files have it."""
        if isinstance(argument, BufferArgument):
            return {"buffer": self._array(argument.array, name, file)}
        if isinstance(argument, ImageArgument):
            item = {"image": self._array(argument.array, name, file), "format": argument.format}
            return item | ({"layered": True} if argument.layered else {})
        if isinstance(argument, LocalArgument):
            return {"local": argument.size}
        if isinstance(argument, SamplerArgument):
            state = vars(argument)
            return {"sampler": {key: state[key] for key in state if state[key] != getattr(SamplerArgument, key)}}
        is_pointer = any(f.address_space in ("global", "constant") for f in signature.fields.get(index, ()))
        if is_pointer and argument.data == bytes(8):
            return {"buffer": None}
        return scalar_item(argument.data, signature.argument_types.get(index, ""))

    def _array(self, array: Array, name: str, file: str) -> str:
        """The name of an array's file, as the launch file has it."""
        folder = os.path.dirname(os.path.abspath(self.path))
        if file:
            self.inputs.add(file)
            return os.path.relpath(file, folder)
        stem = os.path.splitext(os.path.basename(self.path))[0]
        own = f"{stem}.{name.replace('/', '_')}.npy"
        self.arrays[os.path.join(folder, own)] = array
        return own

    def write(self, inputs: Iterable[str]) -> None:
        """Write the arrays, then the launch file.

        Raises:
            UsageError: one of them is one of the inputs.
            FileError: F001, one cannot be written.
        """
        check_outputs([self.path, *self.arrays], [*inputs, *self.inputs])
        make_directory(os.path.dirname(os.path.abspath(self.path)))
        for path, array in self.arrays.items():
            save_array(path, array)
        text = json.dumps({"launches": self.entries}, indent=1, allow_nan=False) + "\n"
        write_text(self.path, text)


def scalar_item(data: bytes, declared: str) -> dict[str, object]:
    """An argument by value as launch files have it: numbers of the declared type (``float4;16``), else of whole words.

    Floats that JSON has no words for are written as their bits.
    """
    word = declared.partition(";")[0].rstrip("0123456789")
    size = np.dtype(SCALAR_TYPES.get(word, "u4")).itemsize
    name = word if word in SCALAR_TYPES and word != "bool" else _WORDS[size]
    if len(data) % size:
        name, size = "u8", 1
    numbers = np.frombuffer(data, SCALAR_TYPES[name])
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        name = _WORDS[size]
        numbers = np.frombuffer(data, SCALAR_TYPES[name])
    values = numbers.tolist()
    return {"scalar": values[0] if len(values) == 1 else values, "type": name}


def make_launch(path: str, launches: Sequence[GivenLaunch], inputs: Iterable[str]) -> None:
    """Write a launch file that can run: the given parts of each launch, and zeros for the rest.

    Raises:
        UsageError: the kernel has no such argument, or an output would replace an input.
        FileError: F001, a file cannot be written.
    """
    writer = LaunchWriter(path)
    for given in launches:
        writer.add(given, len(launches) == 1)
    writer.write(inputs)
