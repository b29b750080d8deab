"""Launch files: JSON with a list of launches, arrays by file name, and expected results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace
from typing import NamedTuple, Self, TypedDict

import numpy as np

from visakit.diagnostics import LaunchError, did_you_mean
from visakit.json_text import JsonPlaces, read_json
from vsim.launch.array_files import ArrayFileError, Take, has_type, no_limit, read_array
from vsim.launch.arrays import Array
from vsim.launch.launch import (
    MAXIMUM_LOCAL,
    MAXIMUM_SIZE,
    SCALAR_TYPES,
    Argument,
    BufferArgument,
    Checked,
    ImageArgument,
    Launch,
    LocalArgument,
    SamplerArgument,
    ScalarArgument,
    launch_error,
    scalar_bytes,
)
from vsim.launch.paths import LaunchPaths, PathError, is_one_of
from vsim.launch.schema import ARGUMENTS, FILE, LAUNCH, SAMPLER_STATE, check_keys

CALLED = {"launches": "launch", "args": "argument", "inputs": "input", "constants": "constant", "outputs": "output"}
"""Names of the entries of lists and objects of launch files in messages."""


class _Checks(TypedDict):
    expect: Array | None
    rtol: float
    atol: float
    out: str
    shared: str


class LaunchEntries:
    """The common part of launch files of all targets: a list of launches, arrays by file name, expected results.

    Attributes:
        code: of errors about the file.
        read: paths of the arrays of the launch that is being read.
    """

    code = "S001"

    def __init__(self, tree: object, paths: LaunchPaths, name: str) -> None:
        """``tree`` is the parsed JSON; ``name`` is the file's name in messages.

        Raises:
            LaunchError: it has another shape.
        """
        self.paths, self.name = paths, name
        self.placed: Callable[[], AbstractContextManager[None]] = nullcontext
        """Context in which errors about parts of the file show their lines, if it is not inside an image."""
        self.read: list[str] = []
        self.take: Take = no_limit
        self.check: Take = no_limit
        """Called with the bytes of arrays before they are read: ``take`` for the memory of a launch, whose arrays count
        together, ``check`` for each array of expected results.
        """
        launches = tree.get("launches") if isinstance(tree, dict) else None
        if not isinstance(tree, dict) or not isinstance(launches, list):
            keys = tree if isinstance(tree, dict) else ()
            raise self.fail("a launch file is a JSON object with a list 'launches'", name, _launches_hint(keys))
        check_keys(tree, FILE, name, self.fail)
        if not launches:
            raise self.fail("there is nothing to run: 'launches' is empty", name)
        self.entries: list[object] = launches

    @classmethod
    def parse(cls, text: str, paths: LaunchPaths, name: str) -> Self:
        """A launch file as text.

        Raises:
            LaunchError: it is not JSON or has another shape.
        """
        tree, places = read_json(text, name, cls.code, LaunchError), JsonPlaces(text, name, CALLED)
        with places.shown():
            file = cls(tree, paths, name)
        file.placed = places.shown
        return file

    @classmethod
    def parse_embedded(cls, text: str, image: str, out_dir: str | None, allow_paths: bool) -> Self:
        """The launch file in an image; the linker noted the way from there to the arrays.

        They and the outputs are in the image's directory, the working one or ``out_dir``, unless paths are allowed.

        Raises:
            LaunchError: it is not JSON or has another shape.
        """
        tree = read_json(text, image, cls.code, LaunchError)
        way = tree.get("directory", "") if isinstance(tree, dict) else ""
        if not isinstance(way, str) or "\0" in way:
            raise launch_error(f"'directory' is the way to the files, found {way!r:.80}", image, code=cls.code)
        return cls(tree, LaunchPaths.embedded(image, way, out_dir, allow_paths), image)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self)} launch{'es' if len(self) != 1 else ''}>"

    def fail(self, message: str, where: str, hint: str = "") -> LaunchError:
        """An error about a part of the file."""
        return launch_error(message, where, hint, self.code)

    def array(self, name: object, where: str, take: Take) -> Array:
        """The contents of an array file (``.npy``, else bytes); ``take`` gets their size before they are read."""
        try:
            self.read.append(self.paths.input(name))
            return read_array(self.read[-1], take=take)
        except PathError as error:
            raise launch_error(str(error), where, error.hint, error.code or self.code) from None
        except ArrayFileError as error:
            raise self.fail(f"'{name}' cannot be read: {error}", where) from None

    def output(self, name: object, where: str) -> str:
        """The name of an output; empty for none. An existing one must be a file that may be replaced."""
        try:
            if name not in (None, ""):
                self.paths.output(name)
        except PathError as error:
            raise launch_error(str(error), where, error.hint, error.code or self.code) from None
        return str(name or "")

    def checks(self, item: Mapping[str, object], where: str) -> _Checks:
        """Expected results and output file of an array: the fields of :class:`Checked`."""
        wanted = item.get("expect")
        expect = None if wanted is None else self.array(wanted, f"{where}, expect", self.check)
        if expect is not None and not expect.size:
            raise self.fail(f"'{wanted}' has no elements, so nothing would be compared with it", f"{where}, expect")
        rtol, atol = self._tolerance(item, "rtol", where), self._tolerance(item, "atol", where)
        return {
            "expect": expect, "rtol": rtol, "atol": atol, "out": self.output(item.get("out"), f"{where}, out"),
            "shared": self.text(item, "shared", "", where),
        }  # fmt: skip

    def check_overwriting(self, item: Checked, where: str) -> None:
        """Refuse an output that is an array of its launch; an array of a later launch may be one."""
        if item.out and is_one_of(self.paths.output(item.out), self.read):
            raise self.fail(f"'{item.out}' would overwrite an array that the launch reads", f"{where}, out")

    def text(self, item: Mapping[str, object], key: str, default: str, where: str) -> str:
        """A value that is a text."""
        value = item.get(key, default)
        if not isinstance(value, str):
            raise self.fail(f"a text was expected, found {value!r:.80}", f"{where}, {key}")
        return value

    def truth(self, item: Mapping[str, object], key: str, where: str) -> bool:
        """A value that is true or false, also as 1 or 0; false if it is missing."""
        value = item.get(key, False)
        if value not in (False, True):
            raise self.fail(f"true or false was expected, found {value!r:.80}", f"{where}, {key}")
        return bool(value)

    def _tolerance(self, item: Mapping[str, object], key: str, where: str) -> float:
        value = item.get(key, 0.0)
        if not isinstance(value, (int, float)) or not 0 <= value <= sys.float_info.max:
            raise self.fail(f"a number from 0 on was expected, found {value!r:.80}", f"{where}, {key}")
        return float(value)


class Override(NamedTuple):
    """Values of the command line that replace those of a launch file.

    Attributes:
        sizes: values of ``global_size`` and ``local_size``.
        arguments: maps the kernel of a launch and the names of its arguments in the file to arguments by number.
    """

    sizes: Mapping[str, tuple[int, ...]]
    arguments: Callable[[str, Sequence[object]], Mapping[int, Argument]]


class LaunchFile(LaunchEntries):
    """Reads a launch file; shared buffers are kept from launch to launch."""

    def __init__(self, tree: object, paths: LaunchPaths, name: str) -> None:
        super().__init__(tree, paths, name)
        self.shared: dict[str, Array] = {}
        self.override = Override({}, lambda kernel, names: {})

    def launch(self, index: int) -> Launch:
        """The launch at an index; buffers are read now.

        Raises:
            LaunchError: S001, a value has another type than its key, or an array cannot be read.
        """
        with self.placed():
            return self._launch(index)

    def _launch(self, index: int) -> Launch:
        entry = self.entries[index]
        self.read.clear()
        where = f"{self.name}, launch {index}"
        items = entry.get("args", []) if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(items, list):
            raise launch_error("a launch is a JSON object whose 'args' is a list", f"{where}, args")
        check_keys(entry, LAUNCH, where, self.fail)
        size = self._sizes(entry, "global_size", where)
        if size is None:
            raise launch_error(
                "a launch has a 'global_size'", where, "it is the number of work-items, such as [64] or [64, 64]"
            )
        launch = Launch(
            self.text(entry, "kernel", "", where),
            size,
            self._sizes(entry, "local_size", where),
            _sizes(entry, "global_offset", where) or (0, 0, 0),
        )
        names = [item.get("name") if isinstance(item, dict) else None for item in items]
        given = self.override.arguments(launch.kernel, names)
        if given and max(given) >= len(items):
            items = items + [{}] * (max(given) + 1 - len(items))
        for number, item in enumerate(items):
            place = f"{where}, argument {number}"
            if not isinstance(item, dict):
                raise launch_error(f"an argument is a JSON object, found {item!r:.80}", place)
            argument = self._given(given[number], item, place) if number in given else self._argument(item, place)
            launch.args.append(argument)
            if name := self.text(item, "name", "", place):
                launch.names[name] = argument
        for number, argument in enumerate(launch.args):
            if isinstance(argument, Checked):
                self.check_overwriting(argument, f"{where}, argument {number}")
        return launch

    def _sizes(self, entry: Mapping[str, object], key: str, where: str) -> tuple[int, ...] | None:
        return self.override.sizes.get(key) or _sizes(entry, key, where)

    def _given(self, argument: Argument, item: Mapping[str, object], where: str) -> Argument:
        """An argument of the command line, with the file's checks and output of its array."""
        if not isinstance(argument, Checked) or not ({"buffer", "image"} & item.keys()):
            return argument
        checks = self.checks(item, where)
        if checks["shared"]:
            argument.array = self.shared.setdefault(checks["shared"], argument.array)
        return replace(argument, **checks)

    def _argument(self, item: Mapping[str, object], where: str) -> Argument:
        kinds = {kind.partition(" ")[0]: kind for kind in ARGUMENTS}
        kind = next((kind for kind in kinds if kind in item), None)
        if kind is None:
            keys, known = ", ".join(item) or "nothing", list(kinds)
            hint = next(filter(None, (did_you_mean(key, known) for key in item)), "")
            wanted = f"{', '.join(known[:-1])} and {known[-1]}"
            raise launch_error(f"an argument has one of {wanted}, found {keys:.80}", where, hint)
        check_keys(item, kinds[kind], where, self.fail)
        if kind == "buffer":
            return self._buffer(item, where)
        if kind == "image":
            array, checks = self._contents(item, "image", where), self.checks(item, where)
            form = self.text(item, "format", "rgba_f32", where)
            return ImageArgument(array, form, self.truth(item, "layered", where), **checks)
        if kind == "scalar":
            return self._scalar(item, where)
        if kind == "local":
            size = item["local"]
            if type(size) is not int or not 0 < size < MAXIMUM_LOCAL:
                message = f"'local' is a number of bytes below {MAXIMUM_LOCAL}, found {size!r:.80}"
                raise launch_error(message, f"{where}, local")
            return LocalArgument(size)
        return self._sampler(item["sampler"], f"{where}, sampler")

    def _buffer(self, item: Mapping[str, object], where: str) -> Argument:
        """A buffer; null is a null pointer. A file without a type leaves the type of the elements open."""
        if item["buffer"] is None:
            return ScalarArgument(bytes(8))
        is_later = self.text(item, "shared", "", where) in self.shared  # An earlier argument had the file's type.
        array = self._part(self._contents(item, "buffer", where), item.get("part"), where)
        has_elements = has_type(str(item["buffer"])) and not is_later
        return BufferArgument(array, "bits" if has_elements else "bytes", **self.checks(item, where))

    def _scalar(self, item: Mapping[str, object], where: str) -> ScalarArgument:
        """Numbers by value. Where the file does not say their type, the kernel may."""
        numbers = item["scalar"]
        if "type" in item:
            type_name = self.text(item, "type", "", where)
            where = f"{where}, {'scalar' if type_name in SCALAR_TYPES else 'type'}"
            return ScalarArgument(scalar_bytes(numbers, type_name, where), type=type_name, is_bits=True)
        is_real = any(isinstance(n, float) for n in (numbers if isinstance(numbers, list) else [numbers]))
        return ScalarArgument(scalar_bytes(numbers, "f32" if is_real else "i32", f"{where}, scalar"), numbers=numbers)

    def _contents(self, item: Mapping[str, object], key: str, where: str) -> Array:
        """The array of a buffer or image: its own, or one that several launches share."""
        shared = self.text(item, "shared", "", where)
        array = self.shared.get(shared) if shared else None
        if array is None:
            array = np.ascontiguousarray(self.array(item[key], f"{where}, {key}", self.take))
            if shared:
                self.shared[shared] = array
        return array

    def _part(self, array: Array, part: object, where: str) -> Array:
        """The part of an array that a buffer is, as a view; without one, the whole array."""
        if part is None:
            return array
        numbers = part if isinstance(part, list) and len(part) == 2 else ["", ""]
        first, count = (n if type(n) is int and n >= 0 else -1 for n in numbers)
        if first < 0 or count < 1 or first + count > array.size:
            words = f"'part' is [first element, how many] of {array.size} elements, found {part!r:.80}"
            raise self.fail(words, f"{where}, part")
        return array.reshape(-1)[first : first + count]

    def _sampler(self, state: object, where: str) -> SamplerArgument:
        """A sampler; missing keys have the defaults of :class:`SamplerArgument`."""
        if not isinstance(state, dict):
            raise self.fail(f"a JSON object was expected, found {state!r:.80}", where)
        check_keys(state, SAMPLER_STATE, where, self.fail)
        words = (self.text(state, f.name, str(f.default), where) for f in fields(SamplerArgument)[1:])
        return SamplerArgument(self.truth(state, "normalized", where), *words)


def _launches_hint(keys: Iterable[str]) -> str:
    """A hint for an object without 'launches'."""
    return "the key is called 'launches'" if did_you_mean("launches", keys) else ""


def _sizes(entry: Mapping[str, object], key: str, where: str) -> tuple[int, ...] | None:
    """One to three sizes of a launch, which true and false are not; None if it does not have them."""
    value = entry.get(key)
    if value is None:
        return None
    numbers = [value] if type(value) is int else value
    if (
        not isinstance(numbers, list)
        or not 1 <= len(numbers) <= 3
        or not all(type(n) is int and 0 <= n < MAXIMUM_SIZE for n in numbers)
    ):
        wanted = f"{key} is a list of one to three numbers below {MAXIMUM_SIZE}"
        raise launch_error(f"{wanted}, found {numbers!r:.80}", f"{where}, {key}")
    return tuple(numbers)


def parse_launch(text: str, directory: str, name: str, out_dir: str = "", sources: Sequence[str] = ()) -> LaunchFile:
    """A launch file as text; names of arrays are relative to ``directory``, those of outputs to ``out_dir``.

    ``sources`` are files that no output may overwrite.

    Raises:
        LaunchError: it is not JSON or has another shape.
    """
    return LaunchFile.parse(text, LaunchPaths(directory, out_dir, (), tuple(sources)), name)
