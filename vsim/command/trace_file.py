"""Where a trace goes, and whose instructions it shows, as a command line says it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Collection
from typing import BinaryIO, NamedTuple, TextIO

from visakit.diagnostics import UsageError, VisaError
from visakit.files import check_outputs, write_file
from vsim.command.numbers import ALL_NUMBERS, Numbers, parse_numbers
from vsim.launch.paths import check_overwriting
from vsim.observe.selection import (
    GROUPS,
    INSTRUCTIONS,
    ITEM,
    LANES,
    LINES,
    MEMORY,
    THREADS,
    VARIABLES,
    Selection,
    parse_instructions,
    parse_items,
    parse_lines,
    parse_memory,
    parse_names,
)

JSON_LINES = ".jsonl"
_FIRST = Numbers((range(1),))


class TraceOptions(NamedTuple):
    """The options of a command line; of group 0 all, if it does not say more."""

    file: str | None
    groups: str | None = None
    threads: str | None = None
    lanes: str | None = None
    items: list[str] | None = None
    lines: str | None = None
    variables: str | None = None
    instructions: str | None = None
    memory: str | None = None

    @property
    def only_vector(self) -> dict[str, object]:
        """The options that say something of lanes, variables or instructions, by name."""
        return {
            THREADS: self.threads, LANES: self.lanes, ITEM: self.items, LINES: self.lines, VARIABLES: self.variables,
            INSTRUCTIONS: self.instructions, MEMORY: self.memory,
        }  # fmt: skip

    @property
    def as_json(self) -> bool:
        """Whether lines are JSON objects: the file is called so."""
        return self.file is not None and self.file.endswith(JSON_LINES)

    def selection(self, *inputs: str | None) -> Selection:
        """What the trace is about; it must not go to one of the inputs.

        Raises:
            UsageError: an option makes no sense.
        """
        given = [option for option, value in ({GROUPS: self.groups} | self.only_vector).items() if value]
        if not self.file and given:
            raise UsageError(f"{given[0]} goes with --trace FILE")
        check_outputs([self.file], [path for path in inputs if path])
        groups = parse_numbers(self.groups, GROUPS) if self.groups else _FIRST
        return Selection(
            ALL_NUMBERS if groups is _FIRST and (self.items or self.memory) else groups,
            parse_numbers(self.threads or "all", THREADS),
            parse_numbers(self.lanes or "all", LANES),
            parse_items(self.items or []),
            parse_lines(self.lines) if self.lines else (),
            parse_names(self.variables) if self.variables else (),
            parse_instructions(self.instructions) if self.instructions else (),
            parse_memory(self.memory) if self.memory else (),
        )

    def check(self, engine: str, workers: str | None) -> None:
        """Refuse what a trace does not go with.

        Raises:
            UsageError: the launch is to run on something else than the reference engine of this process.
        """
        if self.file and (engine == "llvm" or workers):
            other = "--workers" if workers else "--engine llvm"
            raise UsageError(f"--trace needs the reference engine; leave {other} out")


def with_trace(path: str | None, run: Callable[[TextIO | None], bool], read: Collection[str]) -> bool:
    """Run something that writes a trace to a stream, None if no trace is wanted; what it gives.

    The file appears when the run ends, however it ends: a trace is wanted most where something goes wrong.

    Args:
        read: the files that the run has read, which is known when it ends; the trace replaces none of them.

    Raises:
        FileError: F001, the trace cannot be written, or would replace a file that was read.
    """
    if path is None:
        return run(None)
    if path == "-":
        return run(sys.stdout)
    outcome: list[bool | BaseException] = []

    def write(stream: BinaryIO) -> None:
        text = io.TextIOWrapper(stream, "utf-8", errors="backslashreplace", newline="\n")
        try:
            outcome.append(run(text))
        except BaseException as error:
            outcome.append(error)
            said = error.diagnostics[0].message if isinstance(error, VisaError) else "interrupted"
            text.write((json.dumps({"error": said}) if path.endswith(JSON_LINES) else f"# {said}") + "\n")
        check_overwriting(path, read)
        text.flush()
        text.detach()

    write_file(path, write)
    (found,) = outcome
    if isinstance(found, BaseException):
        raise found
    return found
