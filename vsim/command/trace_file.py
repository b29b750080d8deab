"""Where a trace goes, and whose instructions it shows, as a command line says it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Collection
from typing import BinaryIO, NamedTuple, TextIO

from visakit.diagnostics import UsageError, VisaError
from visakit.files import check_outputs, write_file
from vsim.command.numbers import Numbers, parse_numbers
from vsim.launch.paths import check_overwriting


class TraceOptions(NamedTuple):
    """The options of a command line; of group 0 all, if it does not say more."""

    file: str | None
    groups: str | None
    threads: str | None
    lanes: str | None

    def numbers(self, *inputs: str | None) -> tuple[Numbers, Numbers, Numbers]:
        """The groups, threads and lanes; the trace must not go to one of the inputs.

        Raises:
            UsageError: an option makes no sense.
        """
        if not self.file and (self.groups or self.threads or self.lanes):
            raise UsageError("--trace-groups, --trace-threads and --trace-lanes go with --trace FILE")
        check_outputs([self.file], [path for path in inputs if path])
        return (
            parse_numbers(self.groups or "0", "--trace-groups"),
            parse_numbers(self.threads or "all", "--trace-threads"),
            parse_numbers(self.lanes or "all", "--trace-lanes"),
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
            text.write(f"# {said}\n")
        check_overwriting(path, read)
        text.flush()
        text.detach()

    write_file(path, write)
    (found,) = outcome
    if isinstance(found, BaseException):
        raise found
    return found
