"""Which declarations an instruction refers to."""

from __future__ import annotations

import functools

from visakit.binary.declarations import ADDRESS, LABEL, PREDICATE, SAMPLERS, STRING, SURFACES, VARIABLE, exists
from visakit.isa import InstructionDesc
from visakit.isa.enums import LSC_ADDRESS_TYPES
from visakit.language.operands import SURFACE, Address, General, Indirect, Predicate, State
from visakit.language.program import AliasCircle, Function, Instruction

THREAD_X, IMPLICIT_POINTER = 1, 18
"""The predefined variables that count threads, and that point to implicit arguments, by number."""


@functools.cache
def _referring(desc: InstructionDesc) -> tuple[tuple[str, str], ...]:
    """Kinds and names of the fields that may refer to declarations."""
    return tuple((f.kind, f.name) for f in desc.fields if f.name and f.kind in _REFERRING)


_REFERRING = frozenset({"d", "s", "r", "w", "r*", "r!", "pr", "T", "S", "L", "L*", "N2", "N4"})


_CLASSES = {General: VARIABLE, Address: ADDRESS, Indirect: ADDRESS, Predicate: PREDICATE}
"""The declarations that vector operands refer to, by class; states are surfaces or samplers, immediates have none."""
_SINGLE = {
    "r": VARIABLE, "w": VARIABLE, "pr": PREDICATE, "T": SURFACES, "S": SAMPLERS, "L": LABEL, "N2": STRING, "N4": STRING,
}  # fmt: skip
"""The declarations that fields refer to, by kind: message operands and predicates have a number, others are one."""


def references(instruction: Instruction) -> list[tuple[int, int]]:
    """Pairs (declaration, index) of all references of the instruction, in binary order."""
    args = instruction.args
    pairs: list[tuple[int, int]] = []
    for kind, name in _referring(instruction.desc):
        value = args.get(name)
        if value is None:
            continue
        if kind in ("d", "s"):
            what = _CLASSES.get(type(value))
            if what is None and type(value) is State:
                what = SURFACES if value.kind == SURFACE else SAMPLERS
            if what is not None:
                pairs.append((what, value.var))
        elif kind in ("r", "w", "pr"):
            pairs.append((_SINGLE[kind], value.var))
        elif kind == "L*":
            pairs += [(LABEL, n) for n in value]
        elif kind in ("r*", "r!"):
            pairs += [(VARIABLE, r.var) for r in value]
        else:
            pairs.append((_SINGLE[kind], value))
    if "variable" in args:
        pairs.append(((VARIABLE, ADDRESS, PREDICATE)[min(args["class"], 2)], args["variable"]))
    return pairs


_NAMES = ("variable", "address variable", "predicate", "surface", "sampler", "label", "string")


def invalid_reference(function: Function, instruction: Instruction, known: set[tuple[int, int]]) -> str:
    """The undeclared reference of an instruction, or an empty string. ``known`` collects declared ones."""
    for pair in references(instruction):
        if pair not in known:
            if not exists(function, *pair):
                return f"{instruction.desc.mnemonic} refers to {_NAMES[pair[0]]} {pair[1]}, which does not exist"
            known.add(pair)
    return ""


def counts_threads(function: Function) -> bool:
    """Whether a function reads the number of its thread, ``%thread_x``, which it takes times the lanes of a thread."""
    return _names(function, THREAD_X)


def asks_for_ids(function: Function) -> bool:
    """Whether a function may read sizes or ids where a driver leaves them for functions."""
    return _names(function, IMPLICIT_POINTER) or any(
        i.args.get("addr_type") == LSC_ADDRESS_TYPES["arg"] for i in function.instructions
    )


def _names(function: Function, predefined: int) -> bool:
    """Whether a function's instructions name a predefined variable, be it as an alias."""
    named = {index for i in function.instructions for what, index in references(i) if what == VARIABLE}
    try:
        return any(function.alias_root(index)[0] == predefined for index in named)
    except AliasCircle:  # such a function is refused where its registers are laid out
        return False
