"""One run of the command: launches in order, outputs written, results compared, everything reported."""

from __future__ import annotations

import json
import os
import struct
import time
from typing import Any

import numpy as np

from visa.diagnostics import Diagnostic, LaunchError, Span
from visa.files import read_text
from vsim.launch import BufferArg, ImageArg, Launch, LaunchFile, compare, parse_launch
from vsim.printf import printf_output
from vsim.program import Program


class Session:
    """Runs launches of a program and remembers what came out."""

    def __init__(self, program: Program, out_dir: str | None, **options: Any) -> None:
        """``options`` are those of :meth:`Program.run`."""
        self.program, self.out_dir, self.options = program, out_dir, options
        self.rows: list[dict[str, Any]] = []
        self.failed = False

    def run_file(self, image: str, path: str | None, kernel: str) -> None:
        """The launches of a launch file, of the image, or of a kernel without arguments."""
        if path is not None:
            file = parse_launch(read_text(path), os.path.dirname(os.path.abspath(path)), path)
        elif self.program.image.launch:
            directory = os.path.dirname(os.path.abspath(image))
            tree = json.loads(self.program.image.launch)
            file = LaunchFile(tree, os.path.join(directory, str(tree.get("directory", ""))), image)
        elif len(self.program.kernels) == 1 or kernel:
            self.run_one(Launch(kernel, (1,)), "the only kernel")
            return
        else:
            names = ", ".join(self.program.kernels) or "(none)"
            raise LaunchError(Diagnostic("S012", "the image has several kernels and no launch", Span(image, 0), f"name one with --kernel: {names}"))
        for index in range(len(file)):
            launch = file.launch(index)
            if not kernel or launch.kernel == kernel:
                self.run_one(launch, f"launch {index}", index)

    def run_one(self, launch: Launch, where: str, index: int = 0) -> None:
        """Run, write outputs, compare."""
        started = time.perf_counter()
        bound = self.program.run(launch, **self.options)
        row: dict[str, Any] = {"launch": where, "kernel": bound.kernel.name, "seconds": time.perf_counter() - started, "checks": []}
        if bound.coverage is not None:
            from vsim.fidelity import report

            row["fidelity"] = report(bound.executed, bound.grf_size).tree()
        if bound.printf is not None:
            print(printf_output(bound.printf, self.program.memory), end="")
            bound.printf.data[:4] = np.frombuffer(struct.pack("<I", 4), np.uint8)
        for number, argument in enumerate(launch.args):
            if not isinstance(argument, (BufferArg, ImageArg)):
                continue
            if argument.out or (self.out_dir and argument.expect is not None):
                self._save(argument.out or f"l{index}_a{number}.npy", argument.array)
            if argument.expect is not None:
                difference = compare(argument.array, argument.expect, argument.rtol, argument.atol)
                row["checks"].append({"argument": number, "ok": not difference, "difference": difference})
                self.failed |= bool(difference)
        self.rows.append(row)

    def _save(self, name: str, array: Any) -> None:
        path = os.path.join(self.out_dir, name) if self.out_dir else name
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        if path.endswith(".npy"):
            np.save(path, array)
        else:
            array.tofile(path)

    def report(self, as_json: bool) -> None:
        """Write the report to standard output."""
        if as_json:
            print(
                json.dumps(
                    {"image": self.program.image.file, "platform": self.program.image.platform, "engine": self.options["engine"], "launches": self.rows},
                    indent=1,
                )
            )
            return
        for row in self.rows:
            bad = [c for c in row["checks"] if not c["ok"]]
            state = "FAILED" if bad else "ok" if row["checks"] else "done"
            print(f"{row['kernel']}: {state} ({row['seconds'] * 1e3:.1f} ms, {len(row['checks'])} checked)")
            for c in bad:
                print(f"  argument {c['argument']}: {c['difference']}")
