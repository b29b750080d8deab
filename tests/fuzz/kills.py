"""Commands that are killed while they write: what stands under an output's name is the old file or the new one, whole.

A command is killed at a moment between its start and its usual end, or soon after a file appears in its directory. Then it
runs once more, undisturbed: its outputs are right, and nothing that the killed one left lies beside them.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fuzz.target import SMALL_KERNEL, Finding, Target
from vasm.assembler import assemble_text
from vlink import link

OLD = b"an older file that was good\n" * 400
COPIES = 24
"""Kernels of a text: outputs of some hundred kilobytes."""


@dataclass(frozen=True)
class Tool:
    """A command line, its inputs, and the outputs that it writes."""

    words: tuple[str, ...]
    outputs: tuple[str, ...]


TOOLS = {
    "vasm": Tool(("-m", "vasm", "x.visaasm", "-g", "-o", "x.o", "--listing", "x.lst", "-MD", "-MF", "x.d"), ("x.o", "x.lst", "x.d")),
    "vdis": Tool(("-m", "vasm.vdis", "y.o", "-o", "y.visaasm"), ("y.visaasm",)),
    "vlink": Tool(("-m", "vlink", "y.o", "--data", "table=table.raw", "-o", "y.bin", "--map", "y.map"), ("y.bin", "y.map")),
    "vsim": Tool(("-m", "vsim", "z.bin", "--engine", "numpy", "--launch", "launch.json", "--out-dir", "."), ("one.npy", "two.raw")),
}  # fmt: skip


def _text() -> str:
    """A text that takes some time to write: many kernels."""
    body = "\n".join(f"mov (M1, 8) V(0,0)<1> {n}:ud" for n in range(40))
    rest = f".decl V v_type=G type=ud num_elts=8 align=GRF\n.kernel_attr SimdSize=8\n{body}\nret (M1, 1)\n"
    return ".version 4.1\n" + "".join(f'.kernel "k{n}"\n{rest}' for n in range(COPIES))


@functools.cache
def _inputs() -> dict[str, bytes]:
    """The input files of all tools."""
    text = _text()
    array = np.zeros(1 << 18, "u4")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.npy"
        np.save(path, array)
        saved = path.read_bytes()
    arguments = [{"buffer": "a.npy", "out": "one.npy"}]
    launches = [{"kernel": "k", "global_size": [8], "local_size": [8], "args": arguments},
                {"kernel": "k", "global_size": [8], "local_size": [8], "args": [{"buffer": "a.npy", "out": "two.raw"}]}]  # fmt: skip
    return {
        "x.visaasm": text.encode(),
        "y.o": assemble_text(text, "x.visaasm").object_bytes(debug=True),
        "table.raw": bytes(range(256)) * (1 << 13),
        "z.bin": link([assemble_text(SMALL_KERNEL, "z.visaasm").object_bytes()]).to_bytes(),
        "a.npy": saved,
        "launch.json": json.dumps({"launches": launches}).encode(),
    }


def _start(tool: Tool, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *tool.words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def _fill(folder: Path) -> None:
    for name, data in _inputs().items():
        (folder / name).write_bytes(data)


def _finish(tool: Tool, folder: Path) -> float:
    """Run a command undisturbed; the seconds that it takes."""
    started = time.monotonic()
    with _start(tool, folder) as process:
        said = process.communicate()[1]
    if process.returncode:
        raise Finding(f"{' '.join(tool.words)}: {said.decode('utf-8', 'replace')}")
    return time.monotonic() - started


@functools.cache
def _expected(name: str) -> tuple[dict[str, bytes], float]:
    """The outputs of a command, and the seconds that it takes."""
    tool = TOOLS[name]
    with tempfile.TemporaryDirectory(prefix="visakit-fuzz-kill-") as path:
        _fill(Path(path))
        _finish(tool, Path(path))
        seconds = _finish(tool, Path(path))
        return {output: (Path(path) / output).read_bytes() for output in tool.outputs}, seconds


def make(seed: int) -> bytes:
    """The input of a seed: the tool, whether its outputs are there already, and when it is killed.

    ``after`` is a share of its usual time; ``delay`` counts seconds from when a new file appears.
    """
    source = random.Random(f"kills {seed}")
    when = (
        {"after": source.random()}
        if source.random() < 0.25
        else {"delay": source.choice((0.0, source.random() * 0.004))}
    )
    return json.dumps({"tool": list(TOOLS)[seed % len(TOOLS)], "old": source.random() < 0.6, **when}).encode()


def _wait_for_a_file(folder: Path, process: subprocess.Popen[bytes], known: set[str]) -> None:
    while process.poll() is None and known.issuperset(os.listdir(folder)):
        pass


def _look(tool: Tool, folder: Path, expected: dict[str, bytes], old: bool) -> None:
    """Raise Finding if an output is neither the old file nor the new one."""
    for output in tool.outputs:
        path = folder / output
        if not path.exists():
            if old:
                raise Finding(f"the old '{output}' is gone")
            continue
        found = path.read_bytes()
        if found != expected[output] and not (old and found == OLD):
            raise Finding(f"'{output}' has {len(found)} bytes of {len(expected[output])}")


def check(data: bytes) -> str:
    """Kill a command, and check the files that it left."""
    given = json.loads(data)
    tool = TOOLS[given["tool"]]
    expected, seconds = _expected(given["tool"])
    folder = Path(tempfile.mkdtemp(prefix="visakit-fuzz-kill-"))
    try:
        _fill(folder)
        if given["old"]:
            for output in tool.outputs:
                (folder / output).write_bytes(OLD)
        known = set(os.listdir(folder))
        with _start(tool, folder) as process:
            if "after" in given:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(given["after"] * seconds)
            else:
                _wait_for_a_file(folder, process, known)
                time.sleep(given["delay"])
            process.kill()
            process.communicate()
        _look(tool, folder, expected, given["old"])
        left = {name for name in os.listdir(folder) if name not in known and name not in tool.outputs}
        _finish(tool, folder)
        _look(tool, folder, expected, False)
        if after := {name for name in os.listdir(folder) if name not in known and name not in tool.outputs}:
            raise Finding(f"beside the outputs there is still {sorted(after)}")
        return "ended before" if process.returncode == 0 else "left a file" if left else "left nothing"
    finally:
        shutil.rmtree(folder)


TARGETS = [Target("kills", "commands that are killed while they write", make, check, 100)]
