"""Launches of CTM images: a grid of processors in groups, inputs, constants and outputs; launch files and results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import TextIO

import numpy as np

from visakit.ctm.launch import GridLaunch, GridLaunchFile
from visakit.ctm.machine import Deadline, ProcessorGroups, Step
from visakit.ctm.printer import instruction_text
from visakit.ctm.processors import Options
from visakit.ctm.program import FloatConstant, IntConstant, ShaderModule, read_module
from visakit.diagnostics import Diagnostic, LaunchError, Span
from visakit.files import UsageError, read_bytes, read_text
from vsim.command.numbers import ALL_NUMBERS, Numbers
from vsim.command.report import LaunchRow, check_array, has_failed, report_json, report_text, save_array
from vsim.launch.arrays import Array
from vsim.launch.paths import LaunchPaths

POSITION = 0
"""The register whose r and g hold a processor's (i, j) at the start; no public text says which it is."""
MAXIMUM_PROCESSORS = 1 << 24
"""Processors of a launch, for each of which 64 bytes of outputs are kept."""
BATCH = 1 << 12
"""Processors that run side by side: enough for numpy, and their registers stay in a cache."""
Watch = Callable[[int, Step], None]
"""Is told each step of a group, with the group's number."""


class ShaderProgram:
    """An image ready to run.

    Args:
        module: the result of the linker.
        options: the open points of the machine.
    """

    def __init__(self, module: ShaderModule, options: Options | None = None) -> None:
        self.module, self.options = module, options or Options()

    def launch(
        self,
        width: int,
        height: int = 1,
        inputs: Mapping[int, Array] | None = None,
        floats: Mapping[int, FloatConstant] | None = None,
        integers: Mapping[int, IntConstant] | None = None,
        booleans: Mapping[int, bool] | None = None,
        trace: Watch | None = None,
        max_seconds: float | None = None,
        traced: Numbers = ALL_NUMBERS,
    ) -> dict[int, Array]:
        """Run one processor for each point of a grid.

        Args:
            inputs: arrays of shape (height, width, 4) by number, read by fetches.
            floats, integers, booleans: constants that replace those of the image.
            trace: is called with the number and each step of a group while it runs.
            max_seconds: when to give up; None for never.
            traced: the groups that ``trace`` is about.

        Returns:
            The four outputs, float32 of shape (height, width, 4); a processor that was killed leaves zeros.

        Raises:
            LaunchError: T060, the grid is empty or an input has another shape.
            SimulationError: the program did something undefined, or did not end.
        """
        if width < 1 or height < 1:
            raise LaunchError(Diagnostic("T060", f"a grid of {width} x {height} has no processors"))
        if width * height > MAXIMUM_PROCESSORS:
            message = f"a grid of {width} x {height} has more than {MAXIMUM_PROCESSORS} processors"
            raise LaunchError(Diagnostic("T060", message, None, "run a part of it in each launch"))
        module = replace(
            self.module,
            floats=self.module.floats | dict(floats or {}),
            integers=self.module.integers | dict(integers or {}),
            booleans=self.module.booleans | dict(booleans or {}),
        )
        ready = _checked_inputs(inputs or {})
        outputs = {n: np.zeros((height, width, 4), np.float32) for n in range(4)}
        i, j = _processor_order(width, height)
        deadline = None if max_seconds is None else Deadline.after(max_seconds)
        size = self.options.group
        for first, end, is_traced in _batches(-(-i.size // size), max(1, BATCH // size), traced if trace else None):
            here = slice(first * size, min(end * size, i.size))
            watch = partial(trace, first) if trace is not None and is_traced else None
            machine = ProcessorGroups(module, self.options, ready, end - first, trace=watch, deadline=deadline)
            _run_batch(machine, i[here], j[here], outputs)
        return outputs


def _batches(groups: int, most: int, traced: Numbers | None) -> Iterator[tuple[int, int, bool]]:
    """Groups that run together, from one to before another, and whether they are traced: those run alone."""
    first = 0
    while first < groups:
        end = min(first + most, groups)
        is_traced = traced is not None and first in traced
        if traced is not None:
            end = first + 1 if is_traced else next((n for n in range(first + 1, end) if n in traced), end)
        yield first, end, is_traced
        first = end


def _checked_inputs(inputs: Mapping[int, Array]) -> dict[int, Array]:
    ready = {n: np.asarray(a, np.float32) for n, a in inputs.items()}
    for n, a in ready.items():
        if a.ndim != 3 or a.shape[2] != 4 or not a.size:
            raise LaunchError(Diagnostic("T060", f"input {n} has the shape {a.shape}, expected (height, width, 4)"))
    return ready


def _processor_order(width: int, height: int) -> tuple[Array, Array]:
    """Coordinates of all processors, in quads of 2 x 2 where the grid has two rows."""
    rows = 2 if height > 1 else 1
    j, i = np.mgrid[0:height, 0:width]
    key = (j // rows * ((width + 1) // 2) + i // 2) * 4 + j % rows * 2 + i % 2
    order = np.argsort(key.ravel(), kind="stable")
    return i.ravel()[order], j.ravel()[order]


def _run_batch(machine: ProcessorGroups, i: Array, j: Array, outputs: Mapping[int, Array]) -> None:
    """Run a processor at each of the coordinates, of which there may be fewer than the groups have; collect outputs."""
    count = i.size
    machine.temps[POSITION, 0, :count], machine.temps[POSITION, 1, :count] = i, j
    machine.dead[count:] = True
    machine.run()
    alive = ~machine.dead[:count]
    for n, output in outputs.items():
        output[j[alive], i[alive]] = machine.outputs[n, :, :count][:, alive].T


def options_from(settings: Sequence[str], group: int) -> Options:
    """Options out of ``NAME=VALUE`` settings.

    Raises:
        UsageError: there is no such option, or it does not have such a value.
    """
    options = Options(group=group)
    for setting in settings:
        name, _, value = setting.partition("=")
        known = [f.name for f in fields(Options)]
        if name not in known:
            raise UsageError(f"--ctm {setting}: there is no option '{name}'; options are {', '.join(known)}")
        value_of = {name: _option_value(setting, name, getattr(options, name), value)}
        options = replace(options, **value_of)  # type: ignore[arg-type]
    return options


def _option_value(setting: str, name: str, old: object, text: str) -> bool | int | str:
    """The value of an option, of the type that it has."""
    if isinstance(old, bool) and text in ("0", "1", "true", "false"):
        return text in ("1", "true")
    if isinstance(old, int) and not isinstance(old, bool) and text.isdecimal():
        return int(text)
    if isinstance(old, str) and text in ("frame", "literal"):
        return text
    raise UsageError(f"--ctm {setting}: '{text}' is not a value of '{name}'")


def load(source: str | os.PathLike[str] | bytes | ShaderModule, options: Options | None = None) -> ShaderProgram:
    """Load an image: a file, the bytes of one, or the result of the linker.

    Raises:
        FormatError: it is not an image, or damaged.
        LaunchError: T061, it is an object.
    """
    if isinstance(source, ShaderModule):
        module = source
    elif isinstance(source, bytes):
        module = read_module(source, "<image>")
    else:
        module = read_module(read_bytes(os.fspath(source)), os.fspath(source))
    if not module.executable:
        hint = f"link it: vlink {module.name} -o image.bin"
        raise LaunchError(Diagnostic("T061", "this is an object, not an image", Span(module.name, 0), hint))
    return ShaderProgram(module, options)


class GridSession:
    """Runs launches of a program and remembers what came out, as :class:`vsim.command.session.LaunchSession` does.

    Args:
        image: the program's name in the report.
        out_dir: where outputs go; None for where the launch file says.
        output: where the report goes.
        traced: the groups of which a trace is.
        allow_paths: whether the launch in an image may use files anywhere.
        max_seconds: when to give up a launch; None for never.
    """

    def __init__(
        self,
        program: ShaderProgram,
        image: str,
        out_dir: str | None,
        output: TextIO,
        allow_paths: bool = False,
        max_seconds: float | None = None,
        traced: Numbers = ALL_NUMBERS,
    ) -> None:
        self.program, self.image, self.out_dir, self.max_seconds = program, image, out_dir, max_seconds
        self.output, self.traced, self.allow_paths = output, traced, allow_paths
        self.trace: TextIO | None = None
        """Where the steps of groups go; None for nowhere."""
        self.rows: list[LaunchRow] = []
        self.read: set[str] = {image}
        """Files that the trace does not replace."""

    @property
    def failed(self) -> bool:
        """Whether a result was not as expected."""
        return has_failed(self.rows)

    def run_file(self, path: str) -> None:
        """The launches of a launch file.

        Raises:
            LaunchError: the launch file or one of its arrays cannot be read.
            SimulationError: the program did something undefined, or did not end.
        """
        directory = os.path.dirname(os.path.abspath(path))
        paths = LaunchPaths(directory, self.out_dir or directory, (), (path, self.image))
        self.read.add(path)
        self._run_all(GridLaunchFile.parse(read_text(path), paths, path), directory)

    def run_linked(self) -> None:
        """The launch that the linker put into the image; outputs go to ``out_dir`` or the working directory.

        Raises:
            LaunchError: it does not exist, it is damaged, or it leads out of the directories of this run.
            SimulationError: the program did something undefined, or did not end.
        """
        text = self.program.module.launch
        if not text:
            hint = "name a launch file with --launch, or link one with vlink --launch"
            raise LaunchError(Diagnostic("T060", "the image has no launch", Span(self.image, 0), hint))
        file = GridLaunchFile.parse_embedded(text, self.image, self.out_dir, self.allow_paths)
        self._run_all(file, os.getcwd())

    def _run_all(self, file: GridLaunchFile, directory: str) -> None:
        """Every launch of a file; outputs go to the directory unless the session has one."""
        for index in range(len(file)):
            launch = file.launch(index)
            self.read.update(file.read)
            self._run(launch, index, directory)

    def _run(self, launch: GridLaunch, index: int, directory: str) -> None:
        """Run, write outputs, compare."""
        watch = None if self.trace is None else TraceWriter(self.trace).step
        found = self.program.launch(
            launch.width, launch.height, launch.inputs, launch.floats, launch.integers, launch.booleans, watch,
            self.max_seconds, self.traced,
        )  # fmt: skip
        module = self.program.module
        kernel = os.path.basename(module.file or self.image)
        row: LaunchRow = {"launch": f"launch {index}", "kernel": kernel, "checks": []}
        for number, wanted in launch.outputs.items():
            row["checks"] += check_array(number, found[number], wanted)
            if wanted.out:
                save_array(os.path.join(self.out_dir or directory, wanted.out), found[number])
        self.rows.append(row)

    def report(self, as_json: bool) -> None:
        """Write the report."""
        if as_json:
            self.output.write(report_json({"image": self.image, "platform": "ctm"}, self.rows) + "\n")
        elif self.rows:
            self.output.write(report_text(self.rows, "output") + "\n")


class TraceWriter:
    """Writes steps as a table: slot, instruction, whether the group jumped, the state of each processor.

    That is ``*``, or its branch counter, or ``-`` for one out of a loop.
    """

    def __init__(self, output: TextIO) -> None:
        self.output = output
        self.group: int | None = None

    def step(self, group: int, s: Step) -> None:
        """Write one step, below its group's number if another group came before it."""
        if group != self.group:
            self.group = group
            self.output.write(f"group {group}\n")
        marks = " ".join("*" if a else str(c) if c >= 0 else "-" for a, c in zip(s.active, s.counts, strict=True))
        loops = " ".join(f"[{count} left, aL {al}]" for count, al in s.loops)
        moved = {None: "     ", True: "jump ", False: "stay "}[s.jumped]
        self.output.write(f"{s.pc:4} {moved} {marks}  {instruction_text(s.words)}  {loops}".rstrip() + "\n")
