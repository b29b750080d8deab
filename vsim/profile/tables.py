"""Profiles as files of other tools: CSV, LCOV's tracefile, folded stacks and speedscope."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from visakit.language.source_lines import SourcePlace
from vsim.profile.profile import InstructionRow, KernelProfile, share

SPEEDSCOPE_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
NO_LINES = "# no instruction belongs to a line of a file: compile with -g"
_COLUMNS = (
    "kernel", "function", "number", "file", "line", "pipe", "executions", "width", "active", "utilization",
    "taken", "not_taken", "both", "text",
)  # fmt: skip
_MESSAGE_COLUMNS = (
    "messages", "read", "written", "lines", "used", "unaligned", "passes", "fewest_passes", "atomics", "serial",
)  # fmt: skip


def profile_csv(profiles: Sequence[KernelProfile]) -> str:
    """A row for each instruction (RFC 4180)."""
    out = io.StringIO()
    writer = csv.writer(out)
    has_messages = any(profile.messages for profile in profiles)
    columns = _MESSAGE_COLUMNS if has_messages else ()
    writer.writerow((*_COLUMNS, *columns))
    for profile in profiles:
        for row in profile.rows:
            file, line = row.place or ("", "")
            writer.writerow((
                profile.kernel, row.function, row.number, file, line, row.pipe, row.executions, row.width, row.active,
                f"{share(row.active, row.possible):.4f}", *(row.ways or ("", "", "")), row.text,
                *("" if row.messages is None else getattr(row.messages, column) for column in columns),
            ))  # fmt: skip
    return out.getvalue()


# -- LCOV --------------------------------------------------------------------------------------------------------


def profile_lcov(profiles: Sequence[KernelProfile]) -> str:
    """A tracefile of LCOV (geninfo(1)): how often threads came to each line, and the ways of its branches."""
    lines = [line for profile in profiles for line in _tracefile(profile)]
    return _text(lines or [NO_LINES])


def _text(lines: Sequence[str]) -> str:
    """Lines of a format without escapes: breaks in names of files appear as Python writes them."""
    return "".join(line.replace("\n", "\\n").replace("\r", "\\r") + "\n" for line in lines)


def _tracefile(profile: KernelProfile) -> Iterator[str]:
    files: dict[str, list[InstructionRow]] = {}
    texts = profile.image.texts()  # Nobody can open these.
    for row in profile.rows:
        if row.place is not None and row.place.file not in texts:
            files.setdefault(row.place.file, []).append(row)
    first = {row.function: row for rows in files.values() for row in sorted(rows, key=_line_of, reverse=True)}
    for file, rows in sorted(files.items()):
        yield f"TN:{profile.kernel}"
        yield f"SF:{file}"
        own = (row for row in first.values() if row.place is not None and row.place.file == file)
        yield from _functions(sorted(own, key=_line_of))
        yield from _branches(rows)
        lines: dict[int, int] = {}
        for row in rows:
            line = _line_of(row)
            lines[line] = max(lines.get(line, 0), row.executions)
        yield from (f"DA:{line},{count}" for line, count in sorted(lines.items()))
        yield f"LF:{len(lines)}"
        yield f"LH:{sum(count > 0 for count in lines.values())}"
        yield "end_of_record"


def _functions(first: list[InstructionRow]) -> Iterator[str]:
    """Records of functions, by the first instruction of each."""
    yield from (f"FN:{_line_of(row)},{row.function}" for row in first)
    yield from (f"FNDA:{row.executions},{row.function}" for row in first)
    yield f"FNF:{len(first)}"
    yield f"FNH:{sum(row.executions > 0 for row in first)}"


def _branches(rows: list[InstructionRow]) -> Iterator[str]:
    found = 0, 0
    for row in rows:
        if row.ways is None:
            continue
        taken, passed, both = row.ways
        counts = taken + both, passed + both
        for way, count in enumerate(counts):
            yield f"BRDA:{_line_of(row)},{row.number},{way},{count if row.executions else '-'}"
        found = found[0] + 2, found[1] + sum(count > 0 for count in counts)
    yield f"BRF:{found[0]}"
    yield f"BRH:{found[1]}"


def _line_of(row: InstructionRow) -> int:
    return row.place.line if row.place is not None else 0


# -- stacks ------------------------------------------------------------------------------------------------------


def profile_folded(profiles: Sequence[KernelProfile]) -> str:
    """Folded stacks for flame graphs: frames, and the instructions that were executed there; a leaf is a line."""
    lines = []
    for profile in profiles:
        for stack, count in _stacks(profile).items():
            lines.append(";".join(_frame(*frame).replace(";", ":") for frame in stack) + f" {count}")
    return _text(lines)


Frame = tuple[str, SourcePlace | None]
"""A function, or a line of one."""


def _stacks(profile: KernelProfile) -> dict[tuple[Frame, ...], int]:
    """Executions by stack of frames, from the kernel to a source line."""
    found = Counter[tuple[Frame, ...]]()
    for (names, place), count in profile.stacks.items():
        frames: list[Frame] = [(name, None) for name in names]
        found[(*frames, *([(names[-1], place)] if place else []))] += count
    return found


def _frame(function: str, place: SourcePlace | None) -> str:
    return function if place is None else f"{place.file.rpartition('/')[2]}:{place.line}"


def profile_speedscope(profiles: Sequence[KernelProfile]) -> str:
    """A file of speedscope: a sampled profile for each kernel, whose weights are executed instructions."""
    frames: dict[Frame, int] = {}
    shown = [_speedscope_profile(profile, partial(_index, frames)) for profile in profiles]
    tree = {
        "$schema": SPEEDSCOPE_SCHEMA,
        "shared": {"frames": [_speedscope_frame(*frame) for frame in frames]},
        "profiles": shown,
        "name": ", ".join(profile.kernel for profile in profiles),
        "activeProfileIndex": 0,
        "exporter": "visakit",
    }
    return json.dumps(tree) + "\n"


def _index(frames: dict[Frame, int], frame: Frame) -> int:
    return frames.setdefault(frame, len(frames))


def _speedscope_profile(profile: KernelProfile, index: partial[int]) -> dict[str, object]:
    stacks = _stacks(profile)
    return {
        "type": "sampled", "name": profile.kernel, "unit": "none", "startValue": 0, "endValue": sum(stacks.values()),
        "samples": [[index(frame) for frame in stack] for stack in stacks], "weights": list(stacks.values()),
    }  # fmt: skip


def _speedscope_frame(function: str, place: SourcePlace | None) -> dict[str, object]:
    where = {} if place is None else {"file": place.file, "line": place.line}
    return {"name": _frame(function, place)} | where
