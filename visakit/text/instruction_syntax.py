"""What stands in the text of an instruction, in order: made of its record in the table."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from visakit.isa import InstructionDesc, enums
from visakit.isa.record import Rule
from visakit.language.operands import SAMPLER, SURFACE
from visakit.text.lsc_syntax import (
    AddedSyntax,
    AddressSyntax,
    BlockSyntax,
    DataSyntax,
    MatrixSyntax,
    NullSyntax,
    TileSyntax,
)
from visakit.text.operand_syntax import (
    AddressOfSyntax,
    BlockSizeSyntax,
    ChoiceSyntax,
    CountSyntax,
    ExecutionSyntax,
    FileNameSyntax,
    GatherSyntax,
    HandleSyntax,
    IntegerSyntax,
    LabelListSyntax,
    LabelSyntax,
    ModesSyntax,
    OperandSyntax,
    OptionalVectorSyntax,
    PackedSyntax,
    RawListSyntax,
    RawSyntax,
    SizedSyntax,
    StateSyntax,
    StringSyntax,
    VariableSyntax,
    VectorSyntax,
)

_PLAIN: dict[str, type[OperandSyntax]] = {
    "r": RawSyntax, "w": RawSyntax, "r*": RawListSyntax, "r!": RawListSyntax, "L": LabelSyntax, "L*": LabelListSyntax,
    "N2": StringSyntax, "N4": FileNameSyntax,
}  # fmt: skip


def _group_syntax(text: str, desc: InstructionDesc) -> OperandSyntax:
    """What stands in parentheses."""
    if text == "(exec)":
        return ExecutionSyntax("exec")
    if text == "(gather)":
        return GatherSyntax("num_elts")
    if text == "(block)":
        return BlockSizeSyntax("block_width")
    if text in enums.GROUPS:
        field, codes = enums.GROUPS[text]
        what = "a number of owords" if field == "owords" else "an execution size of this instruction"
        return CountSyntax(field, codes, what)
    return ModesSyntax(text[1:-1].split(","), desc)


def _message_syntax(text: str, desc: InstructionDesc) -> OperandSyntax:
    """Data or address of an LSC message, or a state of a sampler message."""
    kind, _, name = text.partition(":")
    if kind in ("sampler", "surface"):
        return HandleSyntax(kind, SURFACE if kind == "surface" else SAMPLER)
    if kind == "data":
        return DataSyntax(name, desc)
    if kind == "block2d":
        return BlockSyntax(name)
    if kind == "added":
        return AddedSyntax(name, desc)
    if kind == "null":
        return NullSyntax(kind)
    if kind == "tile":
        return TileSyntax(name)
    if kind == "sized":
        return SizedSyntax(name)
    return AddressSyntax(desc) if kind == "address" else MatrixSyntax("base")


def _operand_syntax(text: str, desc: InstructionDesc) -> OperandSyntax:
    name = text.rstrip("?*")
    if text.startswith("("):
        return _group_syntax(text, desc)
    if text.startswith("@"):
        return _message_syntax(text[1:], desc)
    if text.startswith("="):
        return ChoiceSyntax(*enums.GROUPS[name])
    if name == "variable":
        return VariableSyntax(name)
    field = desc.by_name[name]
    if field.condition:
        return OptionalVectorSyntax(name, field.condition)
    if field.kind == "s" and "bare-region" in desc.spelling:
        return PackedSyntax(name)
    if name == "src0" and Rule.ADDRESS_OF in desc.rules:
        return AddressOfSyntax(name)
    if field.kind in ("d", "s"):
        return VectorSyntax(name, field.kind == "d")
    if field.kind in ("T", "S"):
        return StateSyntax(name, SURFACE if field.kind == "T" else SAMPLER)
    if field.kind in _PLAIN:
        return _PLAIN[field.kind](name)
    return IntegerSyntax(name, field.kind, text.endswith("?"))


@functools.cache
def operands_of(desc: InstructionDesc) -> Sequence[OperandSyntax]:
    """The operands of an instruction in text order."""
    return tuple(_operand_syntax(text, desc) for text in desc.text)


@functools.cache
def is_pure(desc: InstructionDesc) -> bool:
    """Whether the fields of an instruction follow from its text and the names in scope alone."""
    return all(operand.pure for operand in operands_of(desc))
