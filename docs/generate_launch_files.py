"""Writes ``docs/launch-files.md`` and the JSON Schema beside it out of the table of their keys (``make docs``)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from vsim.launch.schema import ARGUMENTS, FILE, FORMS, GRID_LAUNCH, LAUNCH, OUTPUT, SAMPLER_STATE, SHAPES, json_schema

PATH = Path(__file__).resolve().parent / "launch-files.md"
sys.path.insert(0, str(PATH.parent))

from folding import folded  # noqa: E402

HEAD = """# Launch files

Generated from `vsim/launch/schema.py` by `make docs`; [launch-files.schema.json](launch-files.schema.json) is the same as
a JSON Schema, for editors.

A launch file lists launches for `vsim --launch FILE` (or `vlink --launch FILE`, which puts it into the image): kernels,
sizes, arguments and expected results.

```json
{"launches": [
  {"kernel": "saxpy", "global_size": [4096], "local_size": [64], "args": [
    {"buffer": "y.npy", "expect": "y.expected.npy", "rtol": 1e-6, "out": "y.result.npy"},
    {"buffer": "x.npy"},
    {"scalar": 2.5, "type": "f32"},
    {"scalar": 4096, "type": "i32"}]}]}
```

`vsim PROGRAM --make-launch FILE` writes one to start from, out of the options `--kernel`, `--global-size` and `--arg`, or
with a launch of every kernel.

With `--launch FILE` these options replace keys in every launch that runs: `--global-size` and `--local-size` the sizes,
`--arg` the value of an argument (its expected result stays), and `--kernel` chooses the launches of one kernel. Without
`--launch`, `--global-size` and `--arg` describe a separate launch, even if the image has one.

Names of arrays are relative to the launch file, those of outputs to `--out-dir` (the working directory without it). With
`--out-dir`, buffers and images that the kernel may write and that have no `out` are saved, too: `l0_a1.npy` is argument 1
of launch 0. `--save NAME=FILE` saves one of them. Arrays are `.npy` files, whose elements must go with the pointer that the
kernel declares (S003); other files are bytes, which go with all. A key that is not on this page is an error (S001), as is
an expected array without elements. A result that differs from the expected array is shown, and the command exits with 1; a
launch without `expect` says *done*.
"""
TITLES = {
    FILE: "The file", LAUNCH: "A launch", "buffer": "Argument: a buffer", "scalar": "Argument: a value", "local": "Argument: local memory",
    "image": "Argument: an image", "sampler argument": "Argument: a sampler", SAMPLER_STATE: "The state of a sampler",
    GRID_LAUNCH: "A launch of the CTM target", OUTPUT: "An output of the CTM target",
}  # fmt: skip


def text() -> str:
    """The page."""
    out = [HEAD]
    for name in (FILE, LAUNCH, *ARGUMENTS, SAMPLER_STATE, GRID_LAUNCH, OUTPUT):
        shape = SHAPES[name]
        out += [f"## {TITLES[name]}", "", shape.meaning, "", "| key | value | meaning |", "|---|---|---|"]
        for key, entry in shape.keys.items():
            needed = " (required)" if entry.required else ""
            meaning = entry.meaning.replace("|", "\\|")
            out.append(f"| `{key}` | {FORMS[entry.form].words}{needed} | {meaning} |")
        out.append("")
    return folded("\n".join(out))


def schema() -> str:
    """The JSON Schema."""
    return json.dumps(json_schema(), indent=1) + "\n"


if __name__ == "__main__":
    PATH.write_text(text())
    PATH.with_suffix(".schema.json").write_text(schema())
