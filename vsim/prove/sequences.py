"""Sequences of instructions as compilers' rules name them: ``mul; add``, or ``mul t a b; add r t c``.

A sequence is a *template*: its operands are names, each of which is one element of a type that the rule leaves open,
numbers, or names with their own type (``n:ud``). Mnemonics alone get operands: the first source of an instruction
is the result of the one before, other sources are ``a``, ``b``, ... in their order, and the last result is ``r``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from string import ascii_lowercase

from visakit.diagnostics import Collector, Diagnostic, LaunchError, did_you_mean
from visakit.isa import instruction_set
from visakit.isa.record import InstructionDesc
from visakit.language.operands import ABS, MODIFIER_TEXT, NEG, NEG_ABS, NOT
from visakit.language.program import Function
from visakit.language.types import BY_NAME
from visakit.text.parser import parse_module
from vsim.semantics.core import BY_LANE

RESULT = "r"
_INSTRUCTION = re.compile(r"(?:\((!?)([A-Za-z_]\w*)\)\s*)?([a-z][\w.]*)\s*(.*)", re.DOTALL)
MODIFIERS = tuple(MODIFIER_TEXT[m] for m in (NEG, ABS, NEG_ABS, NOT))
_OPERAND = re.compile(
    rf"({'|'.join(map(re.escape, MODIFIERS))})?"
    r"(?:([A-Za-z_]\w*)|(-?(?:0x[0-9a-fA-F]+|[0-9.]+(?:e-?[0-9]+)?)))(?::(\w+))?"
)


@dataclass(frozen=True)
class TemplateOperand:
    """A name or a number, with a modifier and perhaps its own type."""

    text: str
    is_number: bool = False
    modifier: str = ""
    type: str = ""


@dataclass(frozen=True)
class TemplateLine:
    """An instruction: destinations, then sources."""

    mnemonic: str
    results: tuple[TemplateOperand, ...]
    sources: tuple[TemplateOperand, ...]
    predicate: str = ""
    inverse: bool = False

    @property
    def operands(self) -> tuple[TemplateOperand, ...]:
        """All operands."""
        return self.results + self.sources

    @property
    def saturates(self) -> bool:
        """Whether the rule itself asks for saturation."""
        return "sat" in self.mnemonic.split(".")


@dataclass(frozen=True)
class Sequence:
    """The instructions of one side of a rule."""

    text: str
    lines: tuple[TemplateLine, ...]

    @property
    def operands(self) -> list[TemplateOperand]:
        """The operands of all instructions."""
        return [o for line in self.lines for o in line.operands]

    @property
    def predicates(self) -> set[str]:
        """Names of predicates: the predicates of instructions, and names of type ``bool``."""
        return {line.predicate for line in self.lines if line.predicate} | {
            o.text for o in self.operands if o.type == "bool"
        }

    @property
    def inputs(self) -> list[str]:
        """The names whose values at the beginning matter, in their order."""
        written, found = set[str](), list[str]()
        for line in self.lines:
            reads = [line.predicate, *(o.text for o in line.sources if not o.is_number)]
            if line.predicate:  # without the predicate the results keep their old values
                reads += [o.text for o in line.results]
            found += [n for n in dict.fromkeys(reads) if n and n not in written and n not in found]
            written |= {o.text for o in line.results}
        return found

    @property
    def results(self) -> set[str]:
        """The names that are written."""
        return {o.text for line in self.lines for o in line.results}


def refused(text: str, hint: str = "") -> LaunchError:
    """The error that a rule has no meaning."""
    return LaunchError(Diagnostic("P004", text, None, hint))


def parse_sequence(text: str) -> Sequence:
    """A sequence out of its text.

    Raises:
        LaunchError: P004, it has no meaning.
    """
    parts = [part.strip() for part in text.split(";")]
    parts = [part for part in parts if part]
    if not parts:
        raise refused("a side of the rule has no instructions", "such as: --peephole 'mul; add' 'mad'")
    names = iter(ascii_lowercase[: ascii_lowercase.index(RESULT)])
    lines = list[TemplateLine]()
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        lines.append(_line(part, names, lines[-1].operands[0] if lines else None, number, is_last))
    return Sequence(text, tuple(lines))


def _line(part: str, names: Iterator[str], before: TemplateOperand | None, number: int, is_last: bool) -> TemplateLine:
    found = _INSTRUCTION.fullmatch(part)
    if found is None:
        raise refused(f"'{part}' is no instruction", "such as: mul t a b")
    inverse, predicate, mnemonic, rest = found.groups()
    desc = _described(mnemonic)
    operands = tuple(_operand(word) for word in re.split(r"[\s,]+", rest) if word)
    results, sources = _fields(desc, "d"), _fields(desc, "s")
    if not operands:
        first = [before] if before is not None else []
        own = [*first, *(TemplateOperand(_next(names)) for _ in sources[len(first) :])]
        more = [TemplateOperand(f"{RESULT}{k}") for k in range(1, len(results))]
        operands = (TemplateOperand(RESULT if is_last else f"t{number}"), *more, *own)
    wanted = len(results) + len(sources)
    if len(operands) != wanted:
        raise refused(f"{mnemonic} has {wanted} operands, found {len(operands)} in '{part}'", "destinations are first")
    if any(o.is_number or o.modifier for o in operands[: len(results)]):
        raise refused(f"the destination of '{part}' is no plain name")
    return TemplateLine(mnemonic, operands[: len(results)], operands[len(results) :], predicate or "", bool(inverse))


def _next(names: Iterator[str]) -> str:
    name = next(names, "")
    if not name:
        raise refused(f"the rule has more inputs than letters before '{RESULT}'", "give operands by name")
    return name


def _described(mnemonic: str) -> InstructionDesc:
    """The record of a mnemonic with suffixes."""
    known = instruction_set().by_mnemonic
    name, _, _ = mnemonic.partition(".")
    if name not in known:
        hint = did_you_mean(name, [n for n, forms in known.items() if forms[0].semantics in BY_LANE])
        raise refused(f"there is no instruction '{name}'", hint or "docs/instructions has all of them")
    desc = known[name][0]
    if desc.semantics not in BY_LANE:
        text = f"rules are about instructions that compute a lane of registers alone, and '{name}' does not"
        raise refused(text, "such as add, mad, sel, shl")
    return desc


def _fields(desc: InstructionDesc, kind: str) -> list[str]:
    """The destinations (``d``) or sources (``s``) of an instruction."""
    return [f.name for f in desc.fields if f.kind == kind and f.name]


def _operand(word: str) -> TemplateOperand:
    found = _OPERAND.fullmatch(word)
    if found is None:
        raise refused(f"'{word}' is no operand", "names such as a, numbers such as 8, with a type: n:ud")
    modifier, name, number, own = found.groups()
    if own and own not in BY_NAME:
        raise refused(f"there is no type '{own}'", did_you_mean(own, list(BY_NAME)) or "")
    return TemplateOperand(name or number, name is None, modifier or "", own or "")


# -- variations ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variation:
    """What a rule leaves open: the type, saturation of the result, modifiers of inputs by their name."""

    type: str
    saturate: bool = False
    modifiers: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        modified = [f"{modifier}{name}" for name, modifier in self.modifiers]
        return " ".join(w for w in (self.type, "sat" if self.saturate else "", *modified) if w) or "unmodified"


def varied(sequence: Sequence, variation: Variation) -> Sequence:
    """A sequence with the additions of a variation."""
    modifiers = dict(variation.modifiers)
    lines, written = list[TemplateLine](), set[str]()
    for number, line in enumerate(sequence.lines):
        sources = tuple(
            replace(o, modifier=modifiers.get(o.text, ""))
            if not (o.is_number or o.modifier or o.text in written)
            else o
            for o in line.sources
        )
        saturates = variation.saturate and number == len(sequence.lines) - 1 and not line.saturates
        lines.append(replace(line, mnemonic=line.mnemonic + (".sat" if saturates else ""), sources=sources))
        written |= {o.text for o in line.results}
    return Sequence(sequence.text, tuple(lines))


def types_of(sequences: Iterable[Sequence], data_type: str) -> dict[str, str]:
    """The type of each name; that of numbers without one has the empty name."""
    sequences = list(sequences)
    found = {name: "bool" for sequence in sequences for name in sequence.predicates}
    operands = [o for sequence in sequences for o in sequence.operands if not o.is_number]
    for o in operands:
        if o.type and found.setdefault(o.text, o.type) != o.type:
            raise refused(f"'{o.text}' has two types, {found[o.text]} and {o.type}")
    return {"": data_type, **found, **{o.text: found.get(o.text, data_type) for o in operands}}


def lines_of(sequence: Sequence, types: Mapping[str, str], predicates: AbstractSet[str], suffix: str = "") -> list[str]:
    """The instructions as text, of one lane; the names of variables end with a suffix."""

    def shown(o: TemplateOperand, is_destination: bool) -> str:
        if o.is_number:
            own = o.type or types[""]
            number = o.text if "." in o.text or "0x" in o.text or not BY_NAME[own].is_float else f"{o.text}.0"
            return f"{o.modifier}{number}:{own}"
        if o.text in predicates:
            return f"{o.text}{suffix}"
        return f"{o.modifier}{o.text}{suffix}(0,0)<{'1' if is_destination else '0;1,0'}>"

    found = []
    for line in sequence.lines:
        operands = [shown(o, n < len(line.results)) for n, o in enumerate(line.operands)]
        predicate = f"({'!' if line.inverse else ''}{line.predicate}{suffix}) " if line.predicate else ""
        found.append(f"{predicate}{line.mnemonic} (M1_NM, 1) {' '.join(operands)}")
    return found


def declarations(types: Mapping[str, str], predicates: AbstractSet[str], suffix: str = "") -> list[str]:
    """The declarations of names; each has its own register."""
    return [
        f".decl {name}{suffix} v_type=P num_elts=1"
        if name in predicates
        else f".decl {name}{suffix} v_type=G type={t} num_elts={64 // BY_NAME[t].size} align=GRF"
        for name, t in sorted({name: t for name, t in types.items() if name}.items())
    ]


KEEP_DENORMALS = "or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud"


def function_of(
    sequence: Sequence, types: Mapping[str, str], predicates: AbstractSet[str], platform: str | None
) -> Function | None:
    """A kernel of a sequence; None where the table does not allow these types, modifiers or saturation."""
    text = [".version 4.1", '.kernel "rule"', *declarations(types, predicates), ".kernel_attr SimdSize=1"]
    collector = Collector()
    module = parse_module("\n".join([*text, *lines_of(sequence, types, predicates), ""]), "rule", platform, collector)
    if any(d.severity == "error" for d in collector.items):
        return None
    (kernel,) = module.kernels
    return kernel
