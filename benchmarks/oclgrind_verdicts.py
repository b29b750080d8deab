"""Oclgrind's own kernels with defects, and what ``--check all`` says of them.

    python benchmarks/oclgrind_verdicts.py DIRECTORY [--device tgllp] [--engine llvm|numpy] [--only WORD] [--verbose]

DIRECTORY is ``tests/kernels`` of a checkout of Oclgrind (github.com/jrprice/Oclgrind), whose ``.sim`` files are the
launches and whose ``.ref`` files are its verdicts. Each kernel is compiled by ``ocloc`` (``VISAKIT_OCLOC`` names
another one) with and without optimisation, and launched as its file says and, where a group has more than one
work-item, with groups and buffers 16 times as large: groups there have four work-items, which one hardware thread
executes, so that nothing in them can race. A line for each: Oclgrind's verdict, ours, and the codes; exit 1 if one of
ours is another one, and not what docs/measurements/oclgrind.md has for the test.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import vsim
from visakit.compiler.ocloc import compile_source, compiler_driver
from visakit.diagnostics import SimulationError, VisaError
from vsim.program import Program

ROOT = Path(__file__).parent.parent
WIDER = 16
OPTIONS = ("", "-cl-opt-disable")
VERDICTS = {
    "data race": "race", "Uninitialized": "undefined", "divergence": "divergence", "events": "events",
    "Invalid wait": "events", "Invalid read": "memory", "Invalid write": "memory", "not aligned": "alignment", "static array": "bounds",
}  # fmt: skip
"""What Oclgrind's messages are about."""
TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8",
    "ulong": "u8", "float": "f4", "double": "f8", "size_t": "u8",
}  # fmt: skip
BARRIERS = frozenset(("K020", "K021", "K022"))
NOT_RUN = "not run: "
SHOWN_WIDER = ("race", "divergence")
Value = np.ndarray[tuple[int, ...], np.dtype[np.generic]]


def _number(text: str) -> float:
    return int(text, 16) if "x" in text else float(text)


class Given(NamedTuple):
    """An argument of a ``.sim`` file: the text in its brackets, and its numbers."""

    words: dict[str, str]
    numbers: list[str]

    @property
    def size(self) -> int:
        """In bytes."""
        return int(self.words["size"])

    def contents(self, type_name: str, times: int) -> Value:
        """Its bytes as an array of a type, so many times as long."""
        named = next((t for t in TYPES if t in self.words), re.sub(r"\d+$", "", type_name.rstrip("*")))
        dtype = np.dtype(TYPES.get(named, "i4" if self.size % 4 == 0 else "i1"))
        count = self.size // dtype.itemsize
        found = np.zeros(count * times, dtype)
        if "fill" in self.words:
            found[:] = np.array(float(self.words["fill"])).astype(dtype)
        elif "range" in self.words:
            first, step, _ = map(float, self.words["range"].split(":"))
            found[:] = (first + step * np.arange(count * times)).astype(dtype)
        elif self.numbers:
            found[:] = np.tile(np.array([_number(n) for n in self.numbers]).astype(dtype), times)[: count * times]
        return found


class Test(NamedTuple):
    """A launch of Oclgrind's: the source, the options of the build, the kernel, sizes and arguments."""

    path: Path
    source: Path
    options: str
    kernel: str
    sizes: tuple[tuple[int, ...], tuple[int, ...]]
    given: list[Given]

    @property
    def name(self) -> str:
        """Folder and file."""
        return f"{self.path.parent.name}/{self.path.stem}"

    @property
    def verdict(self) -> frozenset[str]:
        """What Oclgrind finds."""
        lines = self.path.with_suffix(".ref").read_text().splitlines()
        errors = [line for line in lines if line.startswith("ERROR")]
        return frozenset(next((kind for words, kind in VERDICTS.items() if words in e), "other") for e in errors)


def read(path: Path) -> Test:
    """A ``.sim`` file."""
    text = path.read_text()
    head = re.match(r"# ARGS: (.*)", text)
    options = shlex.split(head[1])[1:] if head else []
    lines = [line for line in (part.split("#")[0].strip() for part in text.splitlines()) if line]
    rest = "\n".join(lines[4:])
    given = []
    for words, numbers in re.findall(r"<([^>]*)>([^<]*)", rest):
        pairs = dict(word.split("=", 1) if "=" in word else (word, "") for word in words.split())
        given.append(Given(pairs, numbers.split()))
    sizes = tuple(int(n) for n in lines[2].split()), tuple(int(n) for n in lines[3].split())
    return Test(path, path.parent / lines[0], " ".join(options), lines[1], sizes, given)


def arguments(test: Test, program: Program, times: int) -> list[object]:
    """The arguments of a launch that is so many times as wide."""
    found: list[object] = []
    signature = program.signature(test.kernel)
    local = {field.argument for _, field in signature.layout.local_pointers}
    for number, given in enumerate(test.given):
        type_name = signature.argument_types.get(number, "int*").partition(";")[0]
        if number in local:
            found.append(given.size * times)
        elif type_name.endswith("*"):
            found.append(None if "null" in given.words else given.contents(type_name, times))
        else:
            value = given.contents(type_name, 1)
            is_struct = re.sub(r"\d+$", "", type_name) not in TYPES
            whole = value.view([("bytes", "u1", given.size)])[0]
            found.append(np.asarray(whole) if is_struct else value[0].item() if value.size == 1 else value.tolist())
    return found


def launch(test: Test, program: Program, times: int, engine: str) -> frozenset[tuple[str, str]]:
    """What is found: checks and codes; a fault stands as the check ``memory``.

    Sizes in a source do not grow with the launch: faults and undefined values of a wider one do not count.
    """
    size, group = test.sizes
    whole, part = ((n * times, *rest) for n, *rest in (size, group))
    try:
        result = program.launch(
            test.kernel,
            whole,
            part,
            arguments(test, program, times),
            engine=engine,
            check="all",
            show_printf=False,
            max_seconds=600,
        )
    except SimulationError as error:
        codes = {d.code for d in error.diagnostics}
        if times > 1 and not codes & BARRIERS:
            return frozenset()
        hangs = bool(codes & BARRIERS)  # The fault says that a barrier waits for ever.
        return frozenset(("divergence" if hangs else "memory", code) for code in codes)
    found = frozenset((f.check, f.code) for f in result.findings)
    return found if times == 1 else frozenset(f for f in found if f[0] in SHOWN_WIDER)


def verdicts(test: Test, device: str, engine: str) -> Iterator[tuple[str, frozenset[tuple[str, str]]]]:
    """What is found in each build and size, with its name; of a build that does not run the reason, and nothing."""
    for options in OPTIONS:
        built = f"{test.options} {options}".strip()
        name = options or "optimised"
        try:
            zebin = compile_source(str(test.source), test.source.read_bytes(), device, built, None).zebin
            program = vsim.load(zebin)
            for times in (1, WIDER) if test.sizes[1][0] > 1 else (1,):
                yield f"{name}{f', {times} times' if times > 1 else ''}", launch(test, program, times, engine)
        except VisaError as error:
            yield f"{NOT_RUN}{name}: {error.diagnostics[0].message[:90]}", frozenset()


def explained() -> dict[str, str]:
    """Our verdicts where they differ, by test: the rows of the table in docs/measurements/oclgrind.md."""
    text = (ROOT / "docs" / "measurements" / "oclgrind.md").read_text()
    return {row[1]: row[2] for row in re.finditer(r"^\| `([a-z_-]+/\w+)` \| [^|]* \| ([^|]*) \|", text, re.MULTILINE)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--device", default="tgllp")
    parser.add_argument("--engine", default="llvm")
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true", help="show the findings of each build and size")
    given = parser.parse_args()
    if compiler_driver() is None:
        print("skipped: ocloc is not installed")
        return 0
    known, same, differ, unknown = explained(), 0, 0, 0
    for path in sorted(given.directory.glob("*/*.sim")):
        test = read(path)
        if given.only not in test.name or not path.with_suffix(".ref").exists():
            continue
        every = dict(verdicts(test, given.device, given.engine))
        found = {name: findings for name, findings in every.items() if not name.startswith(NOT_RUN)}
        for name in every.keys() - found.keys():
            print(f"{test.name:45} {name}")
        if not found:
            continue
        ours = frozenset(check for findings in found.values() for check, _ in findings)
        codes = sorted({code for findings in found.values() for _, code in findings})
        words = [", ".join(sorted(verdict)) or "nothing" for verdict in (test.verdict, ours)]
        same += words[0] == words[1]
        differ += words[0] != words[1] and known.get(test.name) == words[1]
        mark = "" if words[0] == words[1] else "explained" if known.get(test.name) == words[1] else "NOT EXPLAINED"
        unknown += mark == "NOT EXPLAINED"
        print(f"{test.name:45} {words[0]:20} {words[1]:20} {' '.join(codes):20} {mark}", flush=True)
        if given.verbose:
            for name, findings in found.items():
                print(f"    {name:30} {' '.join(sorted(code for _, code in findings))}")
    print(
        f"{same} verdicts are the same, {differ} differ as docs/measurements/oclgrind.md explains, {unknown} otherwise"
    )
    return int(unknown > 0)


if __name__ == "__main__":
    sys.exit(main())
