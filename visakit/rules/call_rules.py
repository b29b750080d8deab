"""The manual's rules for calls and returns (chapter 3, "Subroutine and Function Calls"; chapter 6, FCALL, IFCALL,
CALL, FRET), without rules that need the callee (:mod:`visakit.language.calls`).
"""

from __future__ import annotations

from collections.abc import Iterator

from visakit.isa.record import Flow, Rule
from visakit.language import types
from visakit.language.operands import General, Immediate, Indirect
from visakit.language.platforms import since
from visakit.language.program import ARGUMENT_REGISTERS, RESULT_REGISTERS, Function, Instruction
from visakit.rules.violation import Violation

_ROOM = {"ArgSize": ("%arg", ARGUMENT_REGISTERS), "RetValSize": ("%retval", RESULT_REGISTERS)}
"""The registers that an attribute counts, and their number."""
_SIZES = {"arg_grf": "ArgSize", "ret_grf": "RetValSize"}
"""The attribute of a callee that a field of a call must equal."""
_WIDE_ADDRESSES = since("cri")
"""Platforms for which compilers keep addresses of functions in 64 bits."""


def excess(attribute: str, registers: int) -> str:
    """The error of a number of registers of arguments or return value, by the attribute; empty if they fit."""
    name, room = _ROOM.get(attribute, ("", registers))
    return f"{registers} registers do not fit into '{name}', which has {room}" if registers > room else ""


def declared_sizes(function: Function) -> Iterator[Violation]:
    """Declared sizes of arguments and return value that no register holds."""
    for attribute in function.attributes:
        problem = excess(attribute.name, attribute.integer)
        if problem:
            yield Violation("V070", f"{attribute.name}={attribute.integer}: {problem}")


def broken_calls(function: Function, i: Instruction, platform: str = "") -> Iterator[Violation]:
    """The rules that a call breaks, whatever its callee; the platform may be unknown."""
    flow = i.desc.flow
    if not flow.calls_function:
        return
    for field, attribute in _SIZES.items():
        problem = excess(attribute, i.args[field])
        if problem:
            yield Violation("V070", problem, "pass the rest in memory", field)
    if flow is Flow.CALL_ADDRESS:
        yield from _target(function, i, platform)


def _target(function: Function, i: Instruction, platform: str) -> Iterator[Violation]:
    """The address that a call is about: in a general variable, or a constant; a ud, or a wide uq."""
    op = i.args["func_addr"]
    name = i.desc.mnemonic
    if not isinstance(op, (General, Indirect, Immediate)):  # an operand of a class that no such instruction takes
        return
    t = function.variable_type(op.var) if isinstance(op, General) else op.type
    wanted = (types.UD, types.UQ) if not platform or platform in _WIDE_ADDRESSES else (types.UD,)
    if t not in wanted:
        hint = "declare a variable of type ud with alias=<V, 0>" if isinstance(op, (General, Indirect)) else "write :ud"
        yield Violation(
            "V071", f"{name} takes an address of type {' or '.join(map(str, wanted))}, this is {t}", hint, "func_addr"
        )


def advice(function: Function, i: Instruction) -> Iterator[Violation]:
    """Calls and returns that the reference assembler accepts against the manual."""
    if function.is_kernel and Rule.FUNCTION_ONLY in i.desc.rules:
        message = f"{i.desc.mnemonic} returns from a function, and '{function.name}' is a kernel, which has no caller"
        yield Violation("W014", message, "a kernel ends with ret (manual, chapter 6, FRET)")
    execution = i.args.get("exec")
    if i.desc.flow.is_call and execution is not None and execution.size == 1 and not execution.no_mask:
        message = f"a scalar {i.desc.mnemonic} ignores the execution mask, but is not marked {{NoMask}}"
        yield Violation("W013", message, f"write (M{(execution.mask & 7) + 1}_NM, 1)")
    address = i.args.get("func_addr")
    if isinstance(address, General | Indirect) and execution is not None and execution.size > 1:
        vertical, _, horizontal = address.region
        if vertical != 0 or horizontal:
            message = f"{i.desc.mnemonic} calls one function for all lanes: the region of its address is ignored"
            hint = "for several addresses, loop over them; for one, write <0;1,0>"
            yield Violation("W022", message, hint, "func_addr")
