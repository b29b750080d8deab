"""A shader module while its text is read: instructions are appended, and changed when the end of a block is known."""

from __future__ import annotations

import visakit.ctm.table as table
from visakit.ctm.program import InstructionSlot, ShaderModule
from visakit.ctm.syntax import Extent, RegisterName

REGISTER_FILES = {
    "r": table.TEMPORARIES,
    "c": table.FLOAT_CONSTANTS,
    "i": table.INT_CONSTANTS,
    "b": table.BOOL_CONSTANTS,
    "o": table.OUTPUTS,
    "t": table.TEX_INPUTS,
    "p": 1,
}
"""How many registers there are, by letter."""


class StatementError(Exception):
    """What is wrong with a statement; with the columns of the part that is, or None for all of it."""

    def __init__(self, code: str, message: str, hint: str = "", extent: Extent | None = None) -> None:
        self.code, self.message, self.hint, self.extent = code, message, hint, extent
        super().__init__(message)


def register_number(register: RegisterName) -> int:
    """The number of a register.

    Raises:
        StatementError: T004, there is no such register.
    """
    limit = REGISTER_FILES[register.file]
    if register.number >= limit:
        shown = f"{register.file}[aL+{register.number}]" if register.relative else f"{register.file}{register.number}"
        last = f"the last one is {register.file}{limit - 1}"
        raise StatementError("T004", f"{shown} does not exist", last, register.extent)
    return register.number


def encode_fields(kind: int, values: table.Values) -> tuple[int, ...]:
    """The words of an instruction.

    Raises:
        StatementError: T002, a value does not fit its field.
    """
    try:
        return table.encode(kind, values)
    except ValueError as error:
        raise StatementError("T002", str(error)) from None


class ModuleBuilder:
    """A shader module of which more instructions follow.

    Attributes:
        line: the source line that instructions come from.
    """

    def __init__(self, file: str) -> None:
        self.module = ShaderModule(file, file=file)
        self.line = 0
        self._labels = 0

    def append(self, words: tuple[int, ...], target: str = "") -> int:
        """Append an instruction; its slot."""
        self.module.slots.append(InstructionSlot(words, target, self.line))
        return len(self.module.slots) - 1

    def append_flow(self, op: int, target: str = "", more: table.Values | None = None, **values: int) -> int:
        """Append a flow-control instruction, which waits for the arithmetic before it; its slot."""
        fields = {"alu_wait": 1, "op": op, **values, **(more or {})}
        return self.append(encode_fields(table.FC, fields), target)

    def change(self, slot: int, target: str = "", **values: int) -> None:
        """Change fields of an instruction, and where it jumps."""
        old = self.module.slots[slot]
        kind, fields = table.decode(old.words)
        self.module.slots[slot] = InstructionSlot(encode_fields(kind, fields | values), target or old.target, old.line)

    def label(self, name: str) -> None:
        """Name the next slot.

        Raises:
            StatementError: T016, the name is taken.
        """
        if name in self.module.labels:
            raise StatementError("T016", f"label '{name}' is defined twice")
        self.module.labels[name] = len(self.module.slots)

    def new_label(self, stem: str) -> str:
        """A new label for the next slot."""
        self._labels += 1
        name = f".{stem}{self._labels}"
        self.module.labels[name] = len(self.module.slots)
        return name

    def label_behind(self, slot: int) -> str:
        """A label for the slot behind one that begins a loop."""
        name = f".begin{self._labels}_{slot}"
        self.module.labels[name] = slot + 1
        return name
