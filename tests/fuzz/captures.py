"""Captures of the OpenCL Intercept Layer with files that are damaged, missing, exchanged; each is replayed.

An input has a line for each file: its name and its contents in hexadecimal digits. The first names the case whose program runs.
"""

from __future__ import annotations

import functools
import io
import random
import re
import tempfile
from pathlib import Path

from support.programs import build

from fuzz.mutation import mutate_bytes
from fuzz.reading import DATA, kept
from fuzz.target import Target
from vsim.command.session import LaunchSession, ResultOptions
from vsim.launch.launch_file import parse_launch
from vsim.program import Program
from vsim.sources.capture_writer import CaptureWriter
from vsim.sources.captures import read_capture
from vsim.sources.replay import Tolerance, run_replay

CASES = ("img_kinds", "wg_reduce_slm", "mem_constant_table", "basic_vector_types")
NAMES = (
    "Argument0.bin", "Argument1.bin", "Argument9999.bin", "Local1.txt", "Image_MetaData_0.txt", "Sampler0.txt",
    "SVM_Arg_Offset_0.txt", "SVM_Arg_Offset_1.txt", "kernel.cl", "enqueueNumber.txt", "Pre/x",
)  # fmt: skip
CONTENTS = (
    b"", b"0", b"-1", b"9" * 20, b"4294967295 \n1 \n0 \n", b"16 16 16\n", b"NULL", b"1e9", b"\xff\xfe", b"8\n8\n1\n16\n0\n0\n4318\n4277\n4337",
)  # fmt: skip
SIZES = (0, 1, 2, 3, 7, 16, 64, 255, 1 << 16, (1 << 31), (1 << 32) - 1, 1 << 63)


@functools.cache
def program(case: str) -> Program:
    """The program of a case."""
    folder = next(p for p in sorted((DATA / "cases" / case).iterdir()) if p.is_dir())
    made = Program(build(folder, folder.name))
    made.memory.limit = 1 << 28
    return made


def pack(case: str, files: dict[str, bytes]) -> bytes:
    """An input."""
    return "".join(f"{name} {data.hex()}\n" for name, data in {case: b"", **files}.items()).encode()


def unpack(data: bytes) -> tuple[str, dict[str, bytes]]:
    """The case and the files of an input."""
    lines = [line.partition(" ") for line in data.decode().splitlines()]
    return lines[0][0], {name: bytes.fromhex(digits) for name, _, digits in lines[1:]}


@functools.cache
def samples() -> list[bytes]:
    """A capture of the first launch of each kernel of some cases."""
    found = kept("capture")
    for case in CASES:
        launches = DATA / "cases" / case / "launch.json"
        file = parse_launch(launches.read_text(), str(launches.parent), "launch.json")
        with tempfile.TemporaryDirectory() as folder:
            writer, seen = CaptureWriter(folder, {}, ""), set()
            for launch in map(file.launch, range(len(file))):
                if launch.kernel not in seen:
                    seen.add(launch.kernel)
                    capture = writer.before(program(case), launch)
                    program(case).run(launch, engine="numpy")
                    capture.write_result()
            for one in sorted(Path(folder).iterdir()):
                files = {p.relative_to(one).as_posix(): p.read_bytes() for p in sorted(one.rglob("*")) if p.is_file()}
                found.append(pack(case, files))
    return found


def make(seed: int) -> bytes:
    """The input of a seed."""
    source = random.Random(f"capture {seed}")
    case, files = unpack(source.choice(samples()))
    for _ in range(source.choice((1, 1, 2, 3))):
        name = source.choice(sorted(files))
        data, what = files[name], source.randrange(6)
        if what == 0:
            del files[name]
        elif what == 1:
            files[name] = source.choice(CONTENTS)
        elif what == 2:
            files[source.choice((*NAMES, name.replace("0", "1"), name.replace("Pre", "Post")))] = data
        elif what == 3:
            files[name] = files[source.choice(sorted(files))]
        elif what == 4 and (numbers := list(re.finditer(rb"\d+", data))) and len(data) < 500:
            at = source.choice(numbers)
            files[name] = data[: at.start()] + str(source.choice(SIZES)).encode() + data[at.end() :]
        else:
            files[name] = mutate_bytes(source, data)
    return pack(case, files)


def check(data: bytes) -> str:
    """Replay a capture; a result that differs is as good as one that does not."""
    case, files = unpack(data)
    with tempfile.TemporaryDirectory() as folder:
        for name, contents in files.items():
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(contents)
        session = LaunchSession(program(case), ResultOptions(), output=io.StringIO(), engine="numpy", max_seconds=5)
        run_replay(session, read_capture(folder), Tolerance(None, None))
    return "differs" if session.failed else "accepted"


TARGETS = [Target("capture", "captures of the OpenCL Intercept Layer", make, check, 500)]
