"""The fast engine: vISA to native code through LLVM."""

from __future__ import annotations

from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from visakit.diagnostics import Diagnostic, SimulationError
from visakit.forks import cached_property

if TYPE_CHECKING:
    from visakit.language.program import Function


class Unsupported(Exception):
    """Something that only the reference engine does; the message says what."""


class CannotExecute(Unsupported):
    """An instruction that no engine can execute: its code is the fault that it is when it executes."""


class RefusedInstruction(Exception):
    """A launch has come to an instruction that no engine can execute; the reference engine says why."""

    def __init__(self, function: Function, number: int) -> None:
        super().__init__(f"instruction {number} of '{function.name}'")
        self.function, self.number = function, number


class RecordedFault(SimulationError):
    """A fault of compiled code, with what its record has of the instruction's sources; the reference engine says which
    registers these are.

    Attributes:
        values: bits of each source in the lane; None for an unknown one.
    """

    def __init__(self, diagnostic: Diagnostic, function: Function, number: int, values: list[int | None], lane: int):
        super().__init__(diagnostic)
        self.function, self.number, self.values, self.lane = function, number, values, lane


class Overtaken(Exception):
    """The launch has run elsewhere while its native code was made."""


class InvalidCode(Unsupported):
    """Code for a kernel in which LLVM finds a mistake, which is one of this package; ``text`` is the IR."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text

    @cached_property
    def file(self) -> str:
        """The name of a file that has the IR, for a report; empty where none can be written."""
        try:
            with NamedTemporaryFile("w", prefix="visakit-", suffix=".ll", delete=False, encoding="utf-8") as stream:
                stream.write(self.text)
        except OSError:
            return ""
        return stream.name
