"""Launches of CTM images: a grid of processors in groups, inputs, constants and outputs; launch files and results."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ctm.machine import Machine, Options, Step
from ctm.printer import instruction_text
from ctm.program import Module, read_module
from visa.diagnostics import Diagnostic, LaunchError, Span
from visa.files import UsageError, read_bytes, read_text

Array = npt.NDArray[Any]
POSITION = 0
"""The register whose r and g hold a processor's (i, j) at the start; no public text says which it is."""


@dataclass
class Program:
    """An image ready to run."""

    module: Module
    options: Options = field(default_factory=Options)

    def launch(
        self, width: int, height: int = 1, inputs: dict[int, Array] | None = None, floats: dict[int, Any] | None = None, integers: dict[int, Any] | None = None,
        booleans: dict[int, bool] | None = None, trace: list[tuple[int, list[Step]]] | None = None,
    ) -> dict[int, Array]:  # fmt: skip
        """Run one processor for each point of a grid.

        Args:
            inputs: arrays of shape (height, width, 4) by number, read by fetches.
            floats, integers, booleans: constants that replace those of the image.
            trace: receives the steps of every group, with the group's number.

        Returns:
            The four outputs, float32 of shape (height, width, 4); a processor that was killed leaves zeros.
        """
        if width < 1 or height < 1:
            raise LaunchError(Diagnostic("T060", f"a grid of {width} x {height} has no processors"))
        module = replace(self.module, floats=self.module.floats | (floats or {}), integers=self.module.integers | (integers or {}),
                         booleans=self.module.booleans | (booleans or {}))  # fmt: skip
        ready = {n: np.asarray(a, np.float32) for n, a in (inputs or {}).items()}
        for n, a in ready.items():
            if a.ndim != 3 or a.shape[2] != 4 or not a.size:
                raise LaunchError(Diagnostic("T060", f"input {n} has the shape {a.shape}, expected (height, width, 4)"))
        outputs = {n: np.zeros((height, width, 4), np.float32) for n in range(4)}
        i, j = self._order(width, height)
        size = self.options.group
        for group, start in enumerate(range(0, i.size, size)):
            machine = Machine(module, self.options, ready, trace=[] if trace is not None else None)
            count = min(size, i.size - start)
            here = slice(start, start + count)
            machine.temps[POSITION, 0, :count], machine.temps[POSITION, 1, :count] = i[here], j[here]
            machine.dead[count:] = True
            machine.run()
            if trace is not None:
                trace.append((group, machine.trace or []))
            alive = ~machine.dead[:count]
            for n, output in outputs.items():
                output[j[here][alive], i[here][alive]] = machine.outputs[n, :, :count][:, alive].T
        return outputs

    def _order(self, width: int, height: int) -> tuple[Array, Array]:
        """Coordinates of all processors, in quads of 2 x 2 where the grid has two rows."""
        rows = 2 if height > 1 else 1
        j, i = np.mgrid[0:height, 0:width]
        key = (j // rows * ((width + 1) // 2) + i // 2) * 4 + j % rows * 2 + i % 2
        order = np.argsort(key.ravel(), kind="stable")
        return i.ravel()[order], j.ravel()[order]


def options_from(settings: list[str], group: int) -> Options:
    """Options out of ``NAME=VALUE`` settings.

    Raises:
        UsageError: there is no such option, or the value is none of its values.
    """
    options = Options(group=group)
    for setting in settings:
        name, _, value = setting.partition("=")
        old = getattr(options, name, None)
        if old is None:
            raise UsageError(
                f"--ctm {setting}: there is no option '{name}'; options are {', '.join(f.name for f in fields(Options))}"
            )
        if isinstance(old, bool) and value in ("0", "1", "true", "false"):
            options = replace(options, **{name: value in ("1", "true")})  # type: ignore[arg-type]
        elif isinstance(old, int) and not isinstance(old, bool) and value.isdigit():
            options = replace(options, **{name: int(value)})  # type: ignore[arg-type]
        elif isinstance(old, str) and value in ("frame", "literal"):
            options = replace(options, break_rule=value)
        else:
            raise UsageError(f"--ctm {setting}: '{value}' is no value of '{name}'")
    return options


def load(path: str, options: Options | None = None) -> Program:
    """Load an image.

    Raises:
        FormatError: it is none, or damaged.
    """
    return _program(read_bytes(path), path, options or Options())


def _program(data: bytes, path: str, options: Options) -> Program:
    module = read_module(data, path)
    if not module.executable:
        raise LaunchError(
            Diagnostic("T061", "this is an object, not an image", Span(path, 0), f"link it: vlink {path} -o image.bin")
        )
    return Program(module, options)


def run_file(
    image: str, launch: str, options: Options, out_dir: str | None, show_trace: bool
) -> tuple[list[dict[str, Any]], bool]:
    """The launches of a launch file: rows for the report, and whether a result was wrong.

    Raises:
        LaunchError: the launch file or one of its arrays cannot be read.
    """
    program = load(image, options)
    directory = os.path.dirname(os.path.abspath(launch))

    def array(path: Any) -> Array:
        try:
            found: Array = np.load(os.path.join(directory, str(path)), allow_pickle=False)
            return found
        except (OSError, ValueError, EOFError) as error:
            raise LaunchError(Diagnostic("T062", f"'{path}' cannot be read: {error}", Span(launch, 0))) from None

    try:
        tree = json.loads(read_text(launch))
        rows, failed = [], False
        for number, entry in enumerate(tree["launches"]):
            constants = entry.get("constants", {})
            kinds: dict[str, dict[int, Any]] = {"c": {}, "i": {}, "b": {}}
            for name, value in constants.items():
                kinds[name[0]][int(name[1:])] = bool(value) if name[0] == "b" else tuple(value)
            steps: list[tuple[int, list[Step]]] | None = [] if show_trace else None
            found = program.launch(int(entry["width"]), int(entry.get("height", 1)), {int(n): array(p) for n, p in entry.get("inputs", {}).items()},
                                   kinds["c"], kinds["i"], kinds["b"], steps)  # fmt: skip
            if steps is not None:
                print(trace_text(program.module, steps))
            checks = []
            for name, where in entry.get("outputs", {}).items():
                result = found[int(name)]
                if isinstance(where, dict) and where.get("expect"):
                    good = np.allclose(
                        result,
                        array(where["expect"]),
                        rtol=float(where.get("rtol", 0)),
                        atol=float(where.get("atol", 0)),
                        equal_nan=True,
                    )
                    checks.append(
                        {"argument": int(name), "ok": bool(good), "difference": "" if good else "the results differ"}
                    )
                    failed |= not good
                out = where.get("out") if isinstance(where, dict) else where
                if out:
                    path = os.path.join(out_dir, out) if out_dir else os.path.join(directory, out)
                    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
                    np.save(path, result)
            rows.append(
                {
                    "launch": f"launch {number}",
                    "kernel": os.path.basename(program.module.file or image),
                    "checks": checks,
                }
            )
        return rows, failed
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LaunchError(
            Diagnostic("T062", f"the launch file has another form than docs/ctm.md shows: {error!r}", Span(launch, 0))
        ) from None


def trace_text(module: Module, groups: list[tuple[int, list[Step]]]) -> str:
    """Steps as a table: slot, instruction, whether the group jumped, and for each processor ``*`` or its branch counter (``-`` for one out of a loop)."""
    out = []
    for group, steps in groups:
        out.append(f"group {group}")
        for s in steps:
            marks = " ".join("*" if a else str(c) if c >= 0 else "-" for a, c in zip(s.active, s.counts, strict=True))
            loops = " ".join(f"[{count} left, aL {al}]" for count, al in s.loops)
            moved = {None: "     ", True: "jump ", False: "stay "}[s.jumped]
            out.append(f"{s.pc:4} {moved} {marks}  {instruction_text(s.words)}  {loops}".rstrip())
    return "\n".join(out)
