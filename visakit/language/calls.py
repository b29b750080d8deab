"""Names in the operands of instructions, and whether calls fit their callees."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from visakit.language.program import Function, Instruction, Module

if TYPE_CHECKING:
    from visakit.isa import InstructionDesc

_CALL, _ADDRESS = KINDS = range(2)


class Call(NamedTuple):
    """An instruction that calls a function by its name, or takes the address of a function or of data.

    ``number`` counts the instructions of the function, ``kind`` is the call or the address, ``string`` is the index of
    the name, the sizes of arguments and return value are in registers, ``line`` is the source line (0 if unknown).
    """

    number: int
    kind: int
    string: int
    arg_grf: int = 0
    ret_grf: int = 0
    line: int = 0

    @property
    def takes_address(self) -> bool:
        """Whether it takes an address and calls nothing."""
        return self.kind == _ADDRESS

    @property
    def mnemonic(self) -> str:
        """The mnemonic of the instruction, for messages."""
        return _mnemonics()[self.kind]


def _kind(desc: InstructionDesc) -> int:
    from visakit.isa.record import Flow

    return _CALL if desc.flow is Flow.CALL_FUNCTION else _ADDRESS


@functools.cache
def _mnemonics() -> dict[int, str]:
    from visakit.isa import FORMS  # late: users of declarations do not need the table

    return {_kind(desc): desc.mnemonic for desc in FORMS if desc.names_symbol}


class SizeMismatch(NamedTuple):
    """A call that passes another number of registers than its callee declares."""

    function: Function
    instruction: Instruction
    field: str
    target: Function
    attribute: str
    declared: int


def sizes_fit(attribute: str, given: int, declared: int | None) -> bool:
    """Whether a call may pass so many registers to a callee that declares a number, or none.

    Of a function whose value is the same in all calls compilers leave the value out, which callers pass room for.
    """
    return declared is None or declared == given or (attribute == "RetValSize" and declared == 0)


def differing_sizes(instruction: Instruction, target: Function) -> Iterator[tuple[str, str, int]]:
    """The sizes of a call that are not those which its callee declares: the field, the attribute and its value."""
    for field, attribute in (("arg_grf", "ArgSize"), ("ret_grf", "RetValSize")):
        declared = target.attribute(attribute)
        if declared is not None and not sizes_fit(attribute, instruction.args[field], declared.integer):
            yield field, attribute, declared.integer


def size_difference(instruction: Instruction, target: Function) -> str:
    """The error of the sizes of a call, in words; empty without one."""
    for field, attribute, declared in differing_sizes(instruction, target):
        what = "arguments" if field == "arg_grf" else "return value"
        passed = f"the call passes {instruction.args[field]} registers of {what}"
        return f"{passed}, '{target.name}' declares {attribute}={declared}"
    return ""


def uncallable(target: Function | None, address: int, lanes: int) -> str:
    """Why a thread of a number of lanes cannot call the function at an address, in words."""
    if target is None:
        return f"there is no function at address {address:#x}"
    return f"function '{target.name}' at address {address:#x} is for {target.lanes} lanes, the thread has {lanes},"


def mismatched_sizes(module: Module) -> Iterator[SizeMismatch]:
    """The calls of a module's functions by name whose sizes are not those of the callee, if that is in the module."""
    functions = {f.name: f for f in module.functions}
    for function in module.all_functions if functions else ():
        for i in function.instructions:
            if not i.desc.names_symbol or _kind(i.desc) != _CALL:
                continue
            target = functions.get(function.strings[i.args["name"]])
            if target is not None:
                for field, attribute, declared in differing_sizes(i, target):
                    yield SizeMismatch(function, i, field, target, attribute, declared)


def calls_of(function: Function) -> list[Call]:
    """The calls of a function, by its instructions."""
    return [
        Call(n, _kind(i.desc), i.args["name"], i.args.get("arg_grf", 0), i.args.get("ret_grf", 0), i.line)
        for n, i in enumerate(function.instructions)
        if i.desc.names_symbol
    ]
