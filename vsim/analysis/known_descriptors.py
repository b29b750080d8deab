"""Descriptors of raw messages that are in registers, and whose values the text says; others are decoded when the
message is sent.
"""

from __future__ import annotations

from visakit.language.operands import General
from visakit.language.program import Function, Instruction
from vsim.analysis.known_values import KnownValues
from vsim.semantics.raw_message import KNOWN
from vsim.semantics.refused import RAW_MESSAGES
from vsim.semantics.registers import layout_of

_DESCRIPTORS = ("desc", "ex_desc")


def know_descriptors(function: Function, grf_size: int) -> None:
    """Replace the raw messages of a function by ones that know the values of their descriptors."""
    values: KnownValues | None = None
    for n, i in enumerate(function.instructions):
        if i.desc.semantics not in RAW_MESSAGES:
            continue
        operands = {name: i.args[name] for name in _DESCRIPTORS if isinstance(i.args.get(name), General)}
        if not operands:
            continue
        values = values or KnownValues(function, layout_of(function, grf_size))
        found = {name: values.before(n, op) for name, op in operands.items()}
        known = {name: x for name, x in found.items() if x is not None}
        if known:
            function.instructions[n] = Instruction(i.desc, i.args | {KNOWN: known}, i.line)
