"""Golden files: input, command line and expected output of a command in one file; tests/golden/README.md has the format.

Commands run in this process, through the entry points of pyproject.toml, each file's in an empty directory.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import io
import os
import re
import shlex
import struct
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from unittest import mock

import numpy as np

import visakit
from visakit.objects.elf import EM_INTELGT, ET_REL, SHT_NOTE, SHT_PROGBITS, Elf, Section
from visakit.objects.zebin import SHT_VISAASM

ROOT = Path(__file__).parent.parent.parent
SECTION = re.compile(r"# (?:(FILE|HEX|ARRAY) (\S.*)|(STDOUT|STDERR)|EXIT ([\d ]+))$")
MEND = re.compile(r"^# MENDED (\S+ line \d+|command): ?(.*)$", re.MULTILINE)
VOLATILE = (
    (re.compile(r"(?:compiled \d+\.\d ms, )?ran \d+\.\d ms\b"), "ran 0.0 ms"),  # or it was compiled before
    (re.compile(r"\d+\.\d ms\b"), "0.0 ms"),
    (re.compile(r"\(\d+\.\d s\)"), "(0.0 s)"),
    (re.compile(r'seconds": [\d.e-]+'), 'seconds": 0.0'),
    (re.compile(rf"\b{re.escape(visakit.__version__)}\b"), "VERSION"),
)
"""Text that differs from run to run, and its replacement."""
ENVIRONMENT = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


def environment(**more: str) -> dict[str, str]:
    """The environment in which commands run."""
    return dict(os.environ) | ENVIRONMENT | more


class FormatProblem(Exception):
    """A golden file does not have the format."""


@dataclass
class Golden:
    """A golden file as read; ``head`` is all of it before the expected output, which blessing keeps.

    ``mends`` says what cures the message: places and the text that belongs there.
    """

    head: str
    commands: list[str] = field(default_factory=list)
    mends: list[tuple[str, str]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    stdout: str = ""
    stderr: str = ""
    exit: str = "0"


@dataclass
class Outcome:
    """What the command lines of a golden file did; ``exit`` has a number for each, or is 0 if all are."""

    stdout: str
    stderr: str
    exit: str


def read(text: str) -> Golden:
    """A golden file out of its text.

    Raises:
        FormatProblem: it has no command line, or sections in another order.
    """
    lines = text.splitlines(keepends=True)
    starts = [n for n, line in enumerate(lines) if SECTION.match(line.rstrip())]
    begin = "".join(lines[: starts[0]] if starts else lines)
    golden = Golden("", re.findall(r"^# RUN: (.+)$", begin, re.MULTILINE), MEND.findall(begin))
    outputs = [n for n in starts if (m := SECTION.match(lines[n].rstrip())) and not m[1]]
    head = outputs[0] if outputs else len(lines)
    golden.head = "".join(lines[:head]).rstrip("\n") + "\n"
    if not golden.commands:
        raise FormatProblem("there is no line '# RUN: COMMAND' before the first section")
    for start, end in pairwise([*starts, len(lines)]):
        _section(golden, lines[start].rstrip(), "".join(lines[start + 1 : end]), start >= head)
    return golden


def _section(golden: Golden, header: str, body: str, is_output: bool) -> None:
    """Enter a section into a golden file."""
    match = SECTION.match(header)
    assert match
    kind, words, output, code = match.groups()
    if kind and is_output:
        raise FormatProblem(f"'{header}' comes after the expected output")
    if kind == "FILE":
        golden.files[words] = (body.rstrip("\n") + "\n").encode() if body.strip() else b""
    elif kind == "HEX":
        golden.files[words] = bytes.fromhex(re.sub(r"//.*", "", body))
    elif kind == "ARRAY":
        name, dtype, *shape = words.split()
        array = np.array([np.dtype(dtype).type(word) for word in body.split()], dtype)
        golden.files[name] = _npy(array.reshape([int(n) for n in shape[0].split("x")]) if shape else array)
    elif output == "STDOUT":
        golden.stdout = body
    elif output == "STDERR":
        golden.stderr = body
    else:
        golden.exit = code


def _npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def write(head: str, outcome: Outcome) -> str:
    """The text of a golden file that expects an outcome."""
    text = head.rstrip("\n") + "\n"
    for title, shown in (("STDOUT", outcome.stdout), ("STDERR", outcome.stderr)):
        if shown.strip("\n"):
            text += f"\n# {title}\n" + shown.rstrip("\n") + "\n"
    return text if outcome.exit == "0" else text + f"\n# EXIT {outcome.exit}\n"


def agree(golden: Golden, outcome: Outcome) -> bool:
    """Whether the outcome is the expected one; a line ``...`` stands for any lines."""
    return (
        _matches(golden.stdout, outcome.stdout)
        and _matches(golden.stderr, outcome.stderr)
        and golden.exit == outcome.exit
    )


def _matches(expected: str, shown: str) -> bool:
    pattern = "".join(
        "(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in expected.rstrip("\n").splitlines()
    )
    return re.fullmatch(pattern, shown.rstrip("\n") + "\n" if shown.strip("\n") else "") is not None


def blessed(golden: Golden, outcome: Outcome) -> str:
    """The text of the golden file with the present output; sections that agree keep their ``...`` lines."""
    kept = Outcome(
        golden.stdout if _matches(golden.stdout, outcome.stdout) else outcome.stdout,
        golden.stderr if _matches(golden.stderr, outcome.stderr) else outcome.stderr,
        outcome.exit,
    )
    return write(golden.head, kept)


def difference(golden: Golden, outcome: Outcome, name: str) -> str:
    """The changes by blessing, as a unified diff."""
    old = write(golden.head, Outcome(golden.stdout, golden.stderr, golden.exit)).splitlines()
    new = blessed(golden, outcome).splitlines()
    return "\n".join(difflib.unified_diff(old, new, f"{name} (expected)", f"{name} (found)", lineterm="", n=4))


def mended(golden: Golden) -> Golden:
    """The golden file with the input or the command line that its MENDED lines give, and without expected output."""
    cured = Golden(golden.head, list(golden.commands), [], dict(golden.files))
    texts = {name: contents.decode("utf-8", "replace").split("\n") for name, contents in golden.files.items()}
    for place, text in golden.mends:
        if place == "command":
            cured.commands = [text]
        else:
            name, _, line = place.split()
            texts[name][int(line) - 1] = text.replace(r"\n", "\n")
            cured.files[name] = "\n".join(texts[name]).encode()
    return cured


# -- running ---------------------------------------------------------------------------------------------------


class _Left(BaseException):
    """A command ended the process."""


Tool = Callable[[], object]


def entry_points() -> dict[str, tuple[str, str]]:
    """Module and function of every command, from pyproject.toml."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    return {name: tuple(place.split(":")) for name, place in scripts.items()}


ENTRY_POINTS = entry_points()


def run(golden: Golden) -> Outcome:
    """Run the command lines of a golden file in a directory that has its files and nothing else."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        os.chdir(folder)
        try:
            for name, contents in golden.files.items():
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).write_bytes(contents)
            out, err, codes = b"", b"", []
            for line in golden.commands:
                shown, said, code = command_line(line)
                out, err, codes = out + shown, err + said, [*codes, code]
        finally:
            os.chdir(before)
    return Outcome(_steady(out, folder), _steady(err, folder), " ".join(map(str, codes)) if any(codes) else "0")


def _steady(data: bytes, folder: str) -> str:
    """Output as text, without what differs from run to run."""
    text = data.decode("utf-8", "backslashreplace").replace(os.path.realpath(folder), "DIRECTORY")
    for pattern, replacement in VOLATILE:
        text = pattern.sub(replacement, text)
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def module_of(command: str) -> str:
    """The module of a command for ``python -m``."""
    return "vasm.vdis" if command == "vdis" else command


def command_line(line: str) -> tuple[bytes, bytes, int]:
    """Commands joined by ``&&`` and ``|``; output, errors, exit code of the first that fails."""
    out = err = b""
    for step in _split(_words(line), "&&"):
        data = b""
        for words in _split(step, "|"):
            shown, said, code = _command(words, data)
            data, err = shown, err + said
            if code:
                return out + data, err, code
        out += data
    return out, err, 0


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="&|<>")
    lexer.whitespace_split, lexer.commenters = True, ""
    return list(lexer)


def _split(words: Sequence[str], separator: str) -> Iterator[list[str]]:
    part: list[str] = []
    for word in words:
        if word == separator:
            yield part
            part = []
        else:
            part.append(word)
    yield part


def _command(words: list[str], data: bytes) -> tuple[bytes, bytes, int]:
    """One command, with its redirections."""
    target = None
    while len(words) > 2 and words[-2] in ("<", ">"):
        *words, direction, name = words
        if direction == "<":
            data = Path(name).read_bytes()
        else:
            target = name
    if words[0] in ENTRY_POINTS:
        out, err, code = _tool(words, data)
    elif words[0] in HELPERS:
        out, err, code = HELPERS[words[0]](*words[1:]), b"", 0
    else:
        raise FormatProblem(f"'{words[0]}' is neither a command nor one of {', '.join(HELPERS)}")
    if target is not None:
        Path(target).write_bytes(out)
        out = b""
    return out, err, code


def _tool(words: list[str], data: bytes) -> tuple[bytes, bytes, int]:
    """Run a command through its entry point; it may leave the process in any way."""

    def leave(code: int) -> None:
        raise _Left(code)

    module, function = ENTRY_POINTS[words[0]]
    streams = [io.TextIOWrapper(io.BytesIO(d), "utf-8", newline="\n", write_through=True) for d in (data, b"", b"")]
    limit = sys.getrecursionlimit()
    with contextlib.ExitStack() as stack:
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            stack.enter_context(mock.patch.object(sys, name, stream))
        stack.enter_context(mock.patch.object(sys, "argv", words))
        stack.enter_context(mock.patch.object(os, "_exit", leave))
        stack.enter_context(mock.patch.dict(os.environ, environment()))
        try:
            getattr(importlib.import_module(module), function)()
            code = 0
        except (SystemExit, _Left) as left:
            code = left.args[0] if left.args and left.args[0] is not None else 0
        finally:
            sys.setrecursionlimit(limit)
    out, err = (stream.buffer.getvalue() for stream in streams[1:])
    return out, err, code


# -- helpers of command lines -----------------------------------------------------------------------------------


def _cat(*names: str) -> bytes:
    return b"".join(Path(name).read_bytes() for name in names)


def _ls() -> bytes:
    found = (p.relative_to(".").as_posix() for p in Path(".").rglob("*") if p.is_file())
    return "".join(f"{name}\n" for name in sorted(found)).encode()


def _hex(name: str) -> bytes:
    data = Path(name).read_bytes()
    rows = (f"{at:04x}  {data[at : at + 16].hex(' ')}\n" for at in range(0, len(data), 16))
    return "".join(rows).encode()


def _array(name: str) -> bytes:
    array = np.load(name)
    shown = np.array2string(array, threshold=sys.maxsize, max_line_width=100)
    return f"{array.dtype} {'x'.join(map(str, array.shape))}\n{shown}\n".encode()


def _cut(name: str, size: str) -> bytes:
    os.truncate(name, int(size, 0))
    return b""


def _patch(name: str, offset: str, contents: str) -> bytes:
    data, new = bytearray(Path(name).read_bytes()), bytes.fromhex(contents)
    if match := re.fullmatch(r"@(.+?)([+-]\d+)?", offset):
        place = data.index(match[1].encode()) + int(match[2] or 0)
    else:
        place = int(offset, 0) % len(data)
    data[place : place + len(new)] = new
    Path(name).write_bytes(data)
    return b""


def _ar(name: str, *members: str) -> bytes:
    out = b"!<arch>\n"
    for member in members:
        data = Path(member).read_bytes()
        out += (
            f"{member + '/':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) & 1)
        )
    Path(name).write_bytes(out)
    return b""


def _zebin(name: str, product: str, ze_info: str, *texts: str) -> bytes:
    """A compiler's program binary for a product family, without native code."""
    elf = Elf(ET_REL, EM_INTELGT)
    note = struct.pack("<III8sI", 8, 4, 1, b"IntelGT", int(product))
    elf.sections = [
        Section(".text.k", SHT_PROGBITS, bytes(16), 16),
        *(Section(".visaasm", SHT_VISAASM, Path(text).read_bytes()) for text in texts),
        Section(".ze_info", SHT_VISAASM - 2, Path(ze_info).read_bytes()),
        Section(".note.intelgt.compat", SHT_NOTE, note, 4),
    ]
    Path(name).write_bytes(elf.write())
    return b""


HELPERS: dict[str, Callable[..., bytes]] = {
    "cat": _cat, "ls": _ls, "hex": _hex, "array": _array, "cut": _cut, "patch": _patch, "ar": _ar,
    "zebin": _zebin,
}  # fmt: skip
