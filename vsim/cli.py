"""The command ``vsim``."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visa.command import ErrorFormat, run, show_version
from visa.files import UsageError

if TYPE_CHECKING:
    from vsim.launch import Launch
    from vsim.program import Program


def vsim(
    image: Annotated[str, typer.Argument(help="A linked image.", show_default=False)],
    launch: Annotated[str | None, typer.Option(help="Launch file (JSON).")] = None,
    kernel: Annotated[str, typer.Option(help="Kernel to run.")] = "",
    global_size: Annotated[str | None, typer.Option(help="X[,Y[,Z]] work-items.")] = None,
    local_size: Annotated[str | None, typer.Option(help="X[,Y[,Z]] work-items in a group.")] = None,
    arg: Annotated[list[str] | None, typer.Option(help="NAME_OR_INDEX=VALUE: a number (5, 2.5f, 7:u64), FILE.npy, zeros:N:TYPE, local:BYTES.")] = None,
    engine: Annotated[str, typer.Option(help="llvm or numpy.")] = "llvm",
    threads: Annotated[int | None, typer.Option(min=1, help="Worker threads.")] = None,
    out_dir: Annotated[str | None, typer.Option(help="Where outputs go.")] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Give up a launch that takes longer.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Report as JSON.")] = False,
    error_format: Annotated[ErrorFormat, typer.Option(help="Style of diagnostics.")] = ErrorFormat.human,
    version: Annotated[bool, typer.Option("--version", callback=show_version("vsim"), is_eager=True, help="Show the version.")] = False,
) -> None:
    """Execute a linked image."""
    if engine not in ("llvm", "numpy"):
        raise UsageError("--engine takes llvm or numpy")
    from vsim.program import load
    from vsim.session import Session

    program = load(image)
    session = Session(program, engine, threads, out_dir, max_seconds)
    if global_size or arg:
        session.run_one(_command_line_launch(program, kernel, global_size, local_size, arg or []), "the command line")
    else:
        session.run_file(image, launch, kernel)
    session.report(json_output)
    if session.failed:
        raise typer.Exit(1)


def _sizes(text: str, option: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(p.strip().isdigit() for p in parts):
        raise UsageError(f"{option} takes X[,Y[,Z]], found '{text}'")
    return tuple(int(p) for p in parts)


def _command_line_launch(program: Program, kernel: str, global_size: str | None, local_size: str | None, args: list[str]) -> Launch:
    from vsim.launch import Launch

    values: dict[str, Any] = {}
    for item in args:
        name, equals, value = item.partition("=")
        if not equals:
            raise UsageError(f"--arg takes NAME_OR_INDEX=VALUE, found '{item}'")
        values[name] = _value(value)
    found = Launch(kernel, _sizes(global_size or "1", "--global-size"), _sizes(local_size, "--local-size") if local_size else None)
    names = _argument_names(program, kernel or (program.kernels[0] if len(program.kernels) == 1 else ""))
    count = len(values)
    by_index = {names.get(n, int(n) if n.isdigit() else n): v for n, v in values.items()}
    if all(isinstance(k, int) for k in by_index):
        if sorted(by_index) != list(range(count)):
            raise UsageError(f"--arg gives arguments from 0 on without a gap; argument {next(i for i in range(count) if i not in by_index)} is missing")
        found.args = [by_index[i] for i in range(count)]
    else:
        found.args = list(values.values())
        found.names = {n: v for n, v in values.items() if not n.isdigit()}
    return found


def _argument_names(program: Program, kernel: str) -> dict[str, int]:
    for k in program.tree.get("kernels_misc_info") or []:
        if k.get("name") == kernel:
            return {str(a.get("name")): int(a["index"]) for a in k.get("args_info") or []}
    return {}


def _value(text: str) -> Any:
    import numpy as np

    from vsim.launch import SCALAR_TYPES, BufferArg, LocalArg, ScalarArg, scalar_bytes

    m = re.fullmatch(r"local:([1-9]\d*)", text)
    if m:
        return LocalArg(int(m[1]))
    m = re.fullmatch(r"zeros:(\d+):(\w+)", text)
    if m and m[2] in SCALAR_TYPES:
        try:
            return BufferArg(np.zeros(int(m[1]), SCALAR_TYPES[m[2]]))
        except (MemoryError, ValueError) as error:
            raise UsageError(f"'{text}' is too large: {error}") from None
    if text.endswith(".npy") or os.path.exists(text):
        from visa.diagnostics import Diagnostic, LaunchError, Span

        try:
            return BufferArg(np.ascontiguousarray(np.load(text)) if text.endswith(".npy") else np.fromfile(text, np.uint8))
        except (OSError, ValueError) as error:
            raise LaunchError(Diagnostic("S001", f"'{text}' cannot be read: {error}", Span(text, 0))) from None
    m = re.fullmatch(r"(-?(?:(0[xX][0-9a-fA-F]+|\d+)|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|nan))(?::(\w+)|(f))?", text)
    if not m:
        raise UsageError(f"'{text}' is not a number, an array file, zeros:N:TYPE or local:BYTES")
    number, integer, type_name, suffix = m.groups()
    type_name = type_name or ("i32" if integer and not suffix else "f32")
    return ScalarArg(scalar_bytes(int(number, 16 if "x" in number.lower() else 10) if integer else float(number), type_name, "--arg"))


def main() -> None:
    """Entry point."""
    run("vsim", vsim)
