"""A profile as JSON: the exact counts, and everything that the other reports show (docs/profile.md)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from visakit import __version__
from vsim.profile.profile import InstructionRow, KernelProfile, LineRow

VERSION = 1
"""Of the format: a number that grows when a reader must change."""


def profile_json(profiles: Sequence[KernelProfile]) -> str:
    """The profiles of some kernels as one JSON document."""
    tree = {"format": VERSION, "visakit": __version__, "kernels": [kernel_tree(profile) for profile in profiles]}
    return json.dumps(tree, indent=1) + "\n"


def kernel_tree(profile: KernelProfile) -> dict[str, object]:
    """The profile of one kernel for JSON."""
    return {
        "kernel": profile.kernel,
        "image": profile.image.file,
        "platform": profile.image.platform,
        "simd": profile.simd,
        "launches": [launch._asdict() for launch in profile.launches],
        "executions": profile.executions,
        "utilization": profile.utilization,
        "pipes": [row._asdict() for row in profile.pipes],
        "lines": [_line(row) for row in profile.lines],
        "instructions": [_instruction(row) for row in profile.rows],
    } | ({"buffers": [vars(buffer) for buffer in profile.buffers.values()]} if profile.buffers else {})


def _line(row: LineRow) -> dict[str, object]:
    counts = {"executions": row.executions, "active": row.active, "possible": row.possible}
    return {"file": row.place.file, "line": row.place.line, "text": row.text, **counts}


def _instruction(row: InstructionRow) -> dict[str, object]:
    tree = row._asdict() | {"place": row.place and {"file": row.place.file, "line": row.place.line}}
    ways, messages, waits = tree.pop("ways"), tree.pop("messages"), tree.pop("waits")
    tree |= {"branch": dict(zip(("taken", "not_taken", "both"), ways, strict=True))} if ways else {}
    tree |= {"barrier": vars(waits)} if waits else {}
    return tree | ({"messages": vars(messages)} if messages else {})
