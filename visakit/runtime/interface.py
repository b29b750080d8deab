"""Functions that a driver exports: names and parameters, out of its table ``entry_points.txt``."""

from __future__ import annotations

import re
from typing import NamedTuple

_LINE = re.compile(r"([-+] )?(\w+) (\w+)\((.*)\)")
C_TYPES = {
    "i32": "int32_t", "u8": "uint8_t", "u32": "uint32_t", "u64": "uint64_t", "size": "size_t", "ptr": "uintptr_t",
    "none": "void",
}  # fmt: skip
"""C types of the table's words. Pointers are numbers: Python reads no memory but that of its parameters."""
ERROR_PARAMETER = "errcode_ret"


class EntryPoint(NamedTuple):
    """A function of a driver.

    Attributes:
        result: ``i32`` for functions that return a status, ``ptr`` for functions that return an object or memory,
            ``u32`` for functions that return a number.
        parameters: type and name of each.
        is_served: whether Python has it; else every call is refused outside of Python.
        in_table: whether it has a place in the dispatch table.
    """

    name: str
    result: str
    parameters: tuple[tuple[str, str], ...]
    is_served: bool
    in_table: bool

    @property
    def refusal(self) -> int | None:
        """What it returns when it is refused; None where that is a status."""
        return {"i32": None, "u32": 0xFFFFFFFF}.get(self.result, 0)

    @property
    def has_error_parameter(self) -> bool:
        """Whether its last parameter is where the status goes."""
        return bool(self.parameters) and self.parameters[-1][1] == ERROR_PARAMETER

    @property
    def prototype(self) -> str:
        """Its declaration in C, without a semicolon."""
        given = ", ".join(f"{C_TYPES[kind]} {name}" for kind, name in self.parameters)
        return f"{C_TYPES[self.result]} {self.name}({given or 'void'})"

    @property
    def in_python(self) -> EntryPoint:
        """The function with which C calls Python."""
        return self._replace(name=in_python(self.name))


def in_python(name: str) -> str:
    """The name of the function with which an exported one calls Python."""
    return f"visakit_{name}"


def entry_point(line: str) -> EntryPoint:
    """The function of a line: a mark (- refused, + not in the table), the result, the name, the parameters."""
    match = _LINE.fullmatch(line)
    assert match is not None, line
    mark, result, name, given = match.groups()
    pairs = [word.split() for word in given.split(", ")] if given else []
    return EntryPoint(name, result, tuple((k, n) for k, n in pairs), mark != "- ", mark != "+ ")
