"""The instruction set: one table from which parser, encoder, decoder, printer, checks and documentation are derived."""

from __future__ import annotations

from visakit.forks import cached_property
from visakit.isa import arithmetic, flow, logic, lsc, memory, misc, move, sampler, sync
from visakit.isa.layout import Field
from visakit.isa.record import InstructionDesc
from visakit.isa.suffixes import Choice, FenceFlags, Flag, Hint, Number, Saturate, Suffix, TargetFlags

__all__ = ["Choice", "FenceFlags", "Field", "Flag", "Hint", "InstructionDesc", "InstructionSet", "Number", "Saturate", "Suffix", "TargetFlags", "instruction_set"]

FORMS: tuple[InstructionDesc, ...] = (
    *arithmetic.FORMS, *logic.FORMS, *move.FORMS, *flow.FORMS, *memory.FORMS, *lsc.FORMS, *sampler.FORMS, *sync.FORMS, *misc.FORMS,
)  # fmt: skip
RESERVED = misc.RESERVED


class InstructionSet:
    """The table as one version of the language has it."""

    def __init__(self, forms: tuple[InstructionDesc, ...]) -> None:
        self.forms = forms

    @cached_property
    def by_mnemonic(self) -> dict[str, tuple[InstructionDesc, ...]]:
        """Forms by mnemonic in lower case; several where one mnemonic has a typed and an untyped form."""
        found: dict[str, tuple[InstructionDesc, ...]] = {}
        for desc in self.forms:
            for name in (desc.mnemonic, *desc.aliases):
                found[name.lower()] = (*found.get(name.lower(), ()), desc)
        return found

    @cached_property
    def by_opcode(self) -> dict[int, tuple[InstructionDesc, ...]]:
        found: dict[int, tuple[InstructionDesc, ...]] = {}
        for desc in self.forms:
            found[desc.opcode] = (*found.get(desc.opcode, ()), desc)
        return found


_VERSIONS: dict[bool, InstructionSet] = {}


def instruction_set(version: tuple[int, int] = (4, 1)) -> InstructionSet:
    """The table for a version of the text and binary format. 4.2 differs from 4.1 in ifcall."""
    new = version >= (4, 2)
    if new not in _VERSIONS:
        forms = tuple(flow.IFCALL_4_2 if f.opcode == 0x4F else f for f in FORMS) if new else FORMS
        _VERSIONS[new] = InstructionSet(forms)
    return _VERSIONS[new]
