"""The operands in the text of an instruction, in order: made of its record in the table."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import visakit.text.lsc_syntax  # noqa: F401 # its classes enter themselves into FORMS
from visakit.isa import InstructionDesc
from visakit.text.execution_syntax import ModesSyntax
from visakit.text.operand_syntax import FORMS, KINDS, OperandSyntax


def _operand_syntax(text: str, desc: InstructionDesc) -> OperandSyntax:
    """The operand of one word of a record's text: ``(exec)``, ``@data:dst``, ``src0``, ``exec?``."""
    form, _, name = text.partition(":")
    if form in FORMS:
        return FORMS[form].of(form, name, desc)
    if form.startswith("("):
        return ModesSyntax(form[1:-1].split(","), desc)
    name = form.rstrip("?*")
    kind = desc.by_name[name].kind
    return KINDS[kind].of(kind, name, desc)


@functools.cache
def operands_of(desc: InstructionDesc) -> Sequence[OperandSyntax]:
    """The operands of an instruction in text order."""
    return tuple(_operand_syntax(text, desc) for text in desc.text)


@functools.cache
def is_pure(desc: InstructionDesc) -> bool:
    """Whether the fields of an instruction follow from its text and the names in scope alone."""
    return all(operand.pure for operand in operands_of(desc))
