"""What a run of launches reports, for all targets: results compared and written, rows of a table or of JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from visakit.files import make_directory, write_file
from vsim.launch.array_files import write_array
from vsim.launch.arrays import Array
from vsim.launch.launch import Checked, compare


class Check(TypedDict):
    """The comparison of an array with its expected result; ``difference`` is empty where they agree."""

    argument: int
    ok: bool
    difference: str


class LaunchRow(TypedDict):
    """What the report says of a launch."""

    launch: str
    kernel: str
    engine: NotRequired[str]
    engine_reason: NotRequired[str]
    seconds: NotRequired[float]
    compile_seconds: NotRequired[float]
    checks: list[Check]
    fidelity: NotRequired[Mapping[str, object]]
    shown: NotRequired[dict[str, object]]
    findings: NotRequired[list[dict[str, object]]]


def check_array(number: int, array: Array, wanted: Checked) -> list[Check]:
    """The comparison of an argument or output with what is expected of it; none if nothing is."""
    if wanted.expect is None:
        return []
    difference = compare(array, wanted.expect, wanted.rtol, wanted.atol)
    return [{"argument": number, "ok": not difference, "difference": difference}]


def save_array(path: str, array: Array) -> None:
    """Write an array, with its shape and type if the name ends in ``.npy``; folders are made.

    Raises:
        FileError: F001, it cannot be written; what was there is as it was.
    """
    make_directory(os.path.dirname(os.path.abspath(path)))
    write_file(path, lambda stream: write_array(stream, array, path.endswith(".npy")))


def has_failed(rows: Sequence[LaunchRow]) -> bool:
    """Whether a result was not as expected."""
    return any(not check["ok"] for row in rows for check in row["checks"])


def report_json(head: Mapping[str, object], rows: Sequence[LaunchRow]) -> str:
    """The report as JSON; ``head`` says what ran."""
    return json.dumps({**head, "launches": rows}, indent=1)


def report_text(rows: Sequence[LaunchRow], result: str = "argument") -> str:
    """The report for people, a line for each launch and one for each wrong ``result``."""
    lines = []
    for row in rows:
        bad = [c for c in row["checks"] if not c["ok"]]
        state = "FAILED" if bad else "ok" if row["checks"] else "done"
        said = _times(row) + ([f"{len(row['checks'])} checked"] if row["checks"] else [])
        if "findings" in row:
            count = len(row["findings"])
            said.append(f"{count or 'no'} finding{'' if count == 1 else 's'}")
        lines.append(f"{row['kernel']}: {state}" + (f" ({', '.join(said)})" if said else ""))
        lines += [f"  {result} {c['argument']}: {c['difference']}" for c in bad]
    return "\n".join(lines)


def _times(row: LaunchRow) -> list[str]:
    """How long a launch took: what the compiler took, if it worked, apart from the rest."""
    if "seconds" not in row:
        return []
    compiled = min(row.get("compile_seconds", 0.0), row["seconds"])
    shown = [f"compiled {compiled * 1e3:.1f} ms"] if compiled else []
    return [*shown, f"ran {(row['seconds'] - compiled) * 1e3:.1f} ms"]
