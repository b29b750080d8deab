"""The command ``vsim``."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from typing import TYPE_CHECKING

from visa.command import parser, positive, run
from visa.elf import is_ctm
from visa.files import UsageError, read_bytes

if TYPE_CHECKING:
    from vsim.launch import Argument, Launch
    from vsim.program import Program, RunOptions


def options() -> argparse.ArgumentParser:
    """The command line."""
    p = parser("vsim", "Execute a linked image.")
    p.add_argument("image", help="a linked image")
    p.add_argument("--launch", metavar="FILE", help="launch file (JSON)")
    p.add_argument("--kernel", default="", metavar="NAME", help="kernel to run")
    p.add_argument("--global-size", metavar="X[,Y[,Z]]", help="work-items")
    p.add_argument("--local-size", metavar="X[,Y[,Z]]", help="work-items in a group")
    p.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="NAME_OR_INDEX=VALUE",
        help="a number (5, 2.5f, 7:u64), FILE.npy, zeros:N:TYPE, local:BYTES",
    )
    p.add_argument("--engine", choices=("llvm", "numpy"), default="llvm", help="what executes (default: llvm)")
    p.add_argument("--threads", type=positive, metavar="N", help="worker threads (default: one for each CPU)")
    p.add_argument("--workers", metavar="dask://HOST:PORT", help="spread the work-groups over a Dask cluster")
    p.add_argument(
        "--schedule",
        metavar="ORDER",
        help="order of groups and threads: round-robin, random:SEED or reverse (default: ascending)",
    )
    p.add_argument("--out-dir", metavar="DIR", help="where outputs go")
    p.add_argument("--max-seconds", type=float, metavar="SECONDS", help="give up a launch that takes longer")
    p.add_argument("--group", type=positive, default=16, metavar="N", help="CTM: processors in a group (default: 16)")
    p.add_argument("--trace", action="store_true", help="CTM: show every step of every group")
    p.add_argument(
        "--ctm",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="CTM: choose one of the open points of docs/ctm.md",
    )
    p.add_argument("--json", action="store_true", help="report as JSON")
    return p


def vsim(given: argparse.Namespace) -> int:
    """Run the launches that the command line or a launch file names."""
    data = read_bytes(given.image)
    if is_ctm(data):
        return _ctm(given)
    from visa.image import read_image
    from vsim.program import Program
    from vsim.schedule import parse_schedule
    from vsim.session import Session

    program = Program(read_image(data, given.image))
    options: RunOptions = {
        "engine": given.engine,
        "threads": given.threads,
        "max_seconds": given.max_seconds,
        "schedule": parse_schedule(given.schedule) if given.schedule else None,
    }
    cluster = None
    if given.workers:
        from vsim.cluster import Cluster

        cluster = Cluster(program, data, given.workers, **options)
    options["profile"] = given.json  # which parts on a cluster do not know
    session = Session(program, given.out_dir, cluster, output=sys.stdout, **options)
    if given.global_size or given.arg:
        session.run_one(
            _command_line_launch(program, given.kernel, given.global_size, given.local_size, given.arg),
            "the command line",
        )
    else:
        session.run_file(given.image, given.launch, given.kernel)
    session.report(given.json)
    return int(session.failed)


def _ctm(given: argparse.Namespace) -> int:
    """Run an image of the CTM target."""
    from ctm.simulator import options_from, run_file

    if not given.launch:
        raise UsageError("an image of the CTM target needs --launch FILE")
    rows, failed = run_file(given.image, given.launch, options_from(given.ctm, given.group), given.out_dir, given.trace)
    if given.json:
        print(json.dumps({"image": given.image, "platform": "ctm", "launches": rows}, indent=1))
    else:
        for row in rows:
            bad = [c for c in row["checks"] if not c["ok"]]
            state = "FAILED" if bad else "ok" if row["checks"] else "done"
            print(f"{row['kernel']}: {state} ({len(row['checks'])} checked)")
    return int(failed)


def _sizes(text: str, option: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(p.strip().isdigit() for p in parts):
        raise UsageError(f"{option} takes X[,Y[,Z]], found '{text}'")
    return tuple(int(p) for p in parts)


def _command_line_launch(
    program: Program, kernel: str, global_size: str | None, local_size: str | None, args: list[str]
) -> Launch:
    from vsim.launch import Launch

    values: dict[str, Argument] = {}
    for item in args:
        name, equals, value = item.partition("=")
        if not equals:
            raise UsageError(f"--arg takes NAME_OR_INDEX=VALUE, found '{item}'")
        values[name] = _value(value)
    found = Launch(
        kernel, _sizes(global_size or "1", "--global-size"), _sizes(local_size, "--local-size") if local_size else None
    )
    names = {name: index for index, name in program.signature(kernel).argument_names.items()}
    by_index = {names.get(n, int(n) if n.isdigit() else n): v for n, v in values.items()}
    if all(isinstance(k, int) for k in by_index):
        missing = next((i for i in range(len(values)) if i not in by_index), None)
        if missing is not None:
            raise UsageError(f"--arg gives arguments from 0 on without a gap; argument {missing} is missing")
        found.args = [by_index[i] for i in range(len(values))]
    else:
        found.args = list(values.values())
        found.names = {n: v for n, v in values.items() if not n.isdigit()}
    return found


_NUMBER = r"(-?(?:(0[xX][0-9a-fA-F]+|\d+)|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|nan))(?::(\w+)|(f))?"
"""A number, and behind a colon its type, or an f for a float."""


def _value(text: str) -> Argument:
    """What an argument on the command line means."""
    from vsim.launch import SCALAR_TYPES, LocalArgument

    if m := re.fullmatch(r"local:([1-9]\d*)", text):
        return LocalArgument(int(m[1]))
    m = re.fullmatch(r"zeros:(\d+):(\w+)", text)
    if m and m[2] in SCALAR_TYPES:
        return _zeros(int(m[1]), SCALAR_TYPES[m[2]], text)
    if text.endswith(".npy") or os.path.exists(text):
        return _array_file(text)
    return _number(text)


def _zeros(count: int, dtype: str, text: str) -> Argument:
    import numpy as np

    from vsim.launch import BufferArgument

    try:
        return BufferArgument(np.zeros(count, dtype))
    except (MemoryError, ValueError) as error:
        raise UsageError(f"'{text}' is too large: {error}") from None


def _array_file(path: str) -> Argument:
    import numpy as np

    from visa.diagnostics import Diagnostic, LaunchError, Span
    from vsim.launch import BufferArgument

    try:
        array = np.ascontiguousarray(np.load(path)) if path.endswith(".npy") else np.fromfile(path, np.uint8)
    except (OSError, ValueError) as error:
        raise LaunchError(Diagnostic("S001", f"'{path}' cannot be read: {error}", Span(path, 0))) from None
    return BufferArgument(array)


def _number(text: str) -> Argument:
    from vsim.launch import ScalarArgument, scalar_bytes

    m = re.fullmatch(_NUMBER, text)
    if not m:
        raise UsageError(f"'{text}' is not a number, an array file, zeros:N:TYPE or local:BYTES")
    number, integer, type_name, suffix = m.groups()
    type_name = type_name or ("i32" if integer and not suffix else "f32")
    value = int(number, 16 if "x" in number.lower() else 10) if integer else float(number)
    return ScalarArgument(scalar_bytes(value, type_name, "--arg"))


def main() -> None:
    """Entry point."""
    run("vsim", options(), vsim)
