"""Launch files of the CTM target (docs/ctm.md): a grid, its inputs and constants, and what comes of its outputs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

import visakit.ctm.table as table
from visakit.ctm.program import FloatConstant, IntConstant
from vsim.launch.arrays import Array
from vsim.launch.launch import Checked
from vsim.launch.launch_file import LaunchEntries
from vsim.launch.schema import GRID_LAUNCH, OUTPUT, check_keys

MAXIMUM_GRID = 1 << 16
"""What width and height of a grid stay below."""


@dataclass
class GridLaunch:
    """One run of a program over a grid.

    Attributes:
        inputs: arrays of shape (height, width, 4) by number, read by fetches.
        floats, integers, booleans: constants that replace those of the image.
        outputs: the expected outputs, and where they go.
    """

    width: int
    height: int = 1
    inputs: dict[int, Array] = field(default_factory=dict)
    floats: dict[int, FloatConstant] = field(default_factory=dict)
    integers: dict[int, IntConstant] = field(default_factory=dict)
    booleans: dict[int, bool] = field(default_factory=dict)
    outputs: dict[int, Checked] = field(default_factory=dict)


class GridLaunchFile(LaunchEntries):
    """Reads a launch file.

    Raises:
        LaunchError: T062, something in it is not what docs/ctm.md shows, or an array cannot be read.
    """

    code = "T062"

    def launch(self, index: int) -> GridLaunch:
        """The launch at an index; arrays are read now."""
        with self.placed():
            return self._launch(index)

    def _launch(self, index: int) -> GridLaunch:
        where, entry = f"{self.name}, launch {index}", self.entries[index]
        self.read.clear()
        if not isinstance(entry, dict):
            raise self.fail(f"a launch is a JSON object, found {entry!r}", where)
        check_keys(entry, GRID_LAUNCH, where, self.fail)
        launch = GridLaunch(
            self._size(entry.get("width"), "width", where), self._size(entry.get("height", 1), "height", where)
        )
        for number, path in self._part(entry, "inputs", where).items():
            at = self._number(number, table.TEX_INPUTS, "an input", where)
            launch.inputs[at] = self.array(path, f"{where}, input {at}", self.take)
        for name, value in self._part(entry, "constants", where).items():
            self._constant(launch, name, value, f"{where}, constant {name}")
        for number, item in self._part(entry, "outputs", where).items():
            at = self._number(number, table.OUTPUTS, "an output", where)
            launch.outputs[at] = self._output(item, f"{where}, output {at}")
        for at, output in launch.outputs.items():
            self.check_overwriting(output, f"{where}, output {at}")
        return launch

    def _size(self, value: object, key: str, where: str) -> int:
        if type(value) is not int or not abs(value) < MAXIMUM_GRID:
            raise self.fail(f"'{key}' is a number of processors below {MAXIMUM_GRID}, found {value!r:.80}", where)
        return value

    def _part(self, entry: Mapping[str, object], key: str, where: str) -> Mapping[str, object]:
        part = entry.get(key, {})
        if not isinstance(part, dict):
            raise self.fail(f"'{key}' is a JSON object, found {part!r}", where)
        return part

    def _number(self, text: str, limit: int, what: str, where: str) -> int:
        """The number that a register has in the file."""
        if not text.isdecimal() or len(text) > 9 or int(text) >= limit:
            raise self.fail(f"{what} is a number from 0 to {limit - 1}, found '{text:.80}'", where)
        return int(text)

    def _constant(self, launch: GridLaunch, name: str, value: object, where: str) -> None:
        """A constant that replaces one of the image."""
        kind, number = name[:1], name[1:]
        if kind == "c":
            x, y, z, w = self._values(value, 4, where)
            launch.floats[self._number(number, table.FLOAT_CONSTANTS, "a float constant", where)] = (x, y, z, w)
        elif kind == "i":
            given = self._values(value, 3, where)
            for part, (what, low, high) in zip(given, table.INT_CONSTANT, strict=True):
                if not (low <= part <= high and part == int(part)):
                    raise self.fail(f"the {what} is a whole number from {low} to {high}, found {part:g}", where)
            turns, start, step = map(int, given)
            launch.integers[self._number(number, table.INT_CONSTANTS, "an integer constant", where)] = (
                turns,
                start,
                step,
            )
        elif kind == "b":
            if value not in (False, True):  # 0 and 1, too
                raise self.fail(f"the constant is true or false, found {value!r:.80}", where)
            launch.booleans[self._number(number, table.BOOL_CONSTANTS, "a boolean constant", where)] = bool(value)
        else:
            raise self.fail(f"constants are called c0, i0, b0 and so on, found '{name}'", where)

    def _values(self, value: object, count: int, where: str) -> list[float]:
        """So many numbers."""
        limit = sys.float_info.max
        given = value if isinstance(value, list) else []
        numbers = [float(n) for n in given if isinstance(n, (int, float)) and -limit <= n <= limit]
        if not isinstance(value, list) or len(numbers) != count or len(value) != count:
            raise self.fail(f"the constant is a list of {count} numbers, found {value!r:.80}", where)
        return numbers

    def _output(self, item: object, where: str) -> Checked:
        """What a launch file says of an output: a file name, or an object with that and the expected result."""
        if isinstance(item, str):
            return Checked(out=self.output(item, where))
        if not isinstance(item, dict):
            raise self.fail(f"an output is a file name or a JSON object, found {item!r}", where)
        check_keys(item, OUTPUT, where, self.fail)
        found = Checked(**self.checks(item, where))
        if found.expect is not None and found.expect.dtype.kind != "f":
            # Outputs are floats: integers are compared as numbers, not as the bits of floats.
            found.expect = found.expect.astype(np.float64)
        return found
