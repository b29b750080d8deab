"""Which classes of operands an instruction takes, and which modifiers (manual, chapter 5, "Vector Operands").

The table has the classes; this module has the messages, which the assembler and the validator share.
"""

from __future__ import annotations

from collections.abc import Iterator

from visakit.diagnostics import listed
from visakit.isa import InstructionDesc
from visakit.language.operands import (
    MODIFIER_TEXT,
    NOT,
    SAT,
    Address,
    General,
    Immediate,
    Indirect,
    Predicate,
    State,
    VectorOperand,
)
from visakit.language.program import Fields, Instruction

_NAMES: dict[type, str] = {
    General: "a register", Indirect: "a register-indirect operand", Immediate: "a number",
    Address: "an address variable", Predicate: "a predicate", State: "a surface or sampler",
}  # fmt: skip
_MODIFIER_NAMES = MODIFIER_TEXT | {SAT: ".sat"}
_HINTS = {"signs": "it takes (-), (abs) and (-abs)", "complement": "bitwise instructions take (~)"}


def wrong_class(desc: InstructionDesc, name: str, op: VectorOperand) -> tuple[str, str]:
    """The error of an operand's class, with the possible classes; empty without one."""
    if type(op) in desc.classes[name]:
        return "", ""
    hint = f"it takes {class_names(desc, name)}"
    if isinstance(op, Address) and name == "dst":
        hint += "; addr_add computes addresses of registers"
    return f"{desc.mnemonic} does not take {_NAMES[type(op)]} here", hint


def class_names(desc: InstructionDesc, name: str) -> str:
    """The classes that an operand can have, in words."""
    allowed = [text for kind, text in _NAMES.items() if kind in desc.classes[name]]
    return listed(allowed, "or")


def wrong_modifier(desc: InstructionDesc, op: VectorOperand, destination: bool) -> tuple[str, str]:
    """The error of an operand's modifier, with the possible ones; empty without one.

    Only general and indirect operands have one: complements in bitwise instructions, signs in arithmetic, shifts
    and moves. Of destinations only ``.sat`` at a class that has none is found here.
    """
    if not op.modifier:
        return "", ""
    word, kind = _MODIFIER_NAMES[op.modifier], _NAMES[type(op)]
    if not isinstance(op, General | Indirect):
        return f"{kind} takes no {word}", "registers have modifiers"
    if destination:
        return "", ""
    if desc.modifiers == ("complement" if op.modifier == NOT else "signs"):
        return "", ""
    return f"{desc.mnemonic} takes no {word}", _HINTS.get(desc.modifiers, "its operands have no modifiers")


def wrong_together(i: Instruction) -> Iterator[tuple[str, str, str]]:
    """The error of a combination of valid classes: message, hint and field.

    Operands are all predicates or none. Two surfaces or samplers of a move of states are of one kind.
    """
    desc, args = i.desc, i.args
    if desc.works_on_predicates:
        yield from _predicates_together(desc, args)
    elif desc.moves_states:
        dst, src = args["dst"], args["src0"]
        if isinstance(dst, State) and isinstance(src, State) and dst.kind != src.kind:
            yield f"{desc.mnemonic} does not move between surfaces and samplers", "", "src0"


def _predicates_together(desc: InstructionDesc, args: Fields) -> Iterator[tuple[str, str, str]]:
    other = [name for name in desc.classes if not isinstance(args[name], Predicate)]
    if len(other) == len(desc.classes):
        return
    if other:
        hint = "all operands are predicates, or none is"
        yield f"{desc.mnemonic} mixes predicates and {_NAMES[type(args[other[0]])]}", hint, other[0]
    elif args.get("pred") is not None:
        yield (
            f"{desc.mnemonic} of whole predicates has no predicate in front",
            "it works on all lanes of its mask",
            "pred",
        )
