"""Writes docs/instructions: a page for every mnemonic, out of the instruction table, with an example from the golden texts and its bytes.

Run it as ``make docs``; a test checks that the pages are those of the table.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

from visakit.binary.codec import Encoder
from visakit.diagnostics import Collector
from visakit.isa import Choice, Flag, Hint, InstructionDesc, Number, Saturate, instruction_set
from visakit.isa.enums import ENUMERATED
from visakit.isa.layout import width_of
from visakit.isa.record import ANY_SIZE, Saturation
from visakit.language.platforms import PLATFORMS
from visakit.text.instruction_syntax import operands_of
from visakit.text.parser import parse_module
from vsim.observe.fidelity import EXACT, REFUSED_CLASS, class_of
from vsim.semantics import ALLOWED_DEVIATION
from vsim.semantics.refused import RAW_MESSAGES, REFUSED

ROOT = Path(__file__).parent.parent
LINKS = "## Instructions"
"""The head of the section of the language page that is generated."""
sys.path.insert(0, str(ROOT / "docs"))

from folding import WIDTH, folded  # noqa: E402
from worked_examples import Example, lines_of  # noqa: E402
from worked_examples import examples as worked_examples  # noqa: E402

TYPE_ORDER = ("ub", "b", "uw", "w", "ud", "d", "uq", "q", "hf", "bf", "f", "df")
MESSAGES = ("memory", "lsc", "sampler")
GOLDEN = ROOT / "tests" / "data" / "golden"
FIELD_SIZES = {"ec": "1", "pr": "2", "d": "3 to 10", "s": "3 to 10", "r": "6", "w": "6", "T": "1", "S": "1", "L": "2", "N2": "2", "N4": "4", "r*": "6 each",
               "r!": "6 each", "L*": "2 each", "A": "0"}  # fmt: skip
FIELD_NAMES = {"ec": "execution size and mask", "pr": "predicate", "d": "vector operand, destination", "s": "vector operand, source", "r": "message operand, source",
               "w": "message operand, destination", "T": "surface", "S": "sampler", "L": "label", "N2": "string", "N4": "string", "r*": "message operands",
               "r!": "message operands", "L*": "labels", "n": "count", "A": "the form of the address, which follows from the bytes after it (docs/cisa.md)"}  # fmt: skip


def examples() -> dict[InstructionDesc, tuple[str, bytes]]:
    """A line of a golden text for every form that has one, and its bytes."""
    found: dict[InstructionDesc, tuple[str, bytes]] = {}
    for path in sorted(GOLDEN.glob("*.visaasm")):
        text = path.read_text()
        lines = text.split("\n")
        module = parse_module(text, path.name, None, Collector(100))
        for function in module.all_functions:
            for i in function.instructions:
                line = re.sub(r"\s*//.*", "", lines[i.line - 1]).strip()
                found.setdefault(i.desc, (line, Encoder().encode([i])[0]))
    return found


def _codes(desc: InstructionDesc, name: str) -> str:
    """The words of an enumerated field with their codes."""
    words = {s.field: s.values for s in desc.suffixes if isinstance(s, Choice)} | (
        ENUMERATED if desc.category == "lsc" else {}
    )
    return ": " + ", ".join(f"{code} {word}" for word, code in words[name].items()) if name in words else ""


def _suffixes(desc: InstructionDesc) -> list[str]:
    rows = []
    for s in desc.suffixes:
        if isinstance(s, Choice):
            default = next((f"; without it {k}" for k, v in s.values.items() if v == s.default), "")
            words = ", ".join(f"`.{k}`" for k in s.values)
            rows.append(
                f"| `{s.field}` | {words} | one of them{default} |" if s.field else f"| fixed | {words} | always |"
            )
        elif isinstance(s, Flag):
            rows.append(f"| `{s.word}` | `.{s.word}` | may be left out |")
        elif isinstance(s, Hint):
            words = ", ".join(f"`.{w}`" for w in s.values)
            rows.append(
                f"| `{s.name}` | {words} | in front of `l3`, and only with it; the bytes have no place for it |"
            )
        elif isinstance(s, Number):
            rows.append(f"| `{s.field}` | `.{s.prefix}N` | a number{' in hexadecimal' if s.base == 16 else ''} |")
        elif isinstance(s, Saturate):
            if desc.saturation is not Saturation.NONE:
                rows.append("| saturation | `.sat` | limits the result to the range of the destination |")
        else:
            rows.append(f"| flags | {type(s).__name__} | letters or words in angle brackets |")
    return rows


def _encoding(desc: InstructionDesc) -> list[str]:
    rows = [f"| opcode | 1 | {desc.opcode:#04x} |"]
    for f in desc.fields:
        size = FIELD_SIZES.get(f.kind) or str(width_of(f.kind))
        if f.parts:
            shown = ", ".join(f"{n} ({bits} bits)" for n, bits in f.parts)
            rows.append(f"| {' + '.join(n for n, _ in f.parts)} | {size} | packed from bit 0: {shown} |")
        elif f.constant is not None or f.copy_of:
            rows.append(f"| reserved | {size} | {f.constant if f.constant is not None else 'a copy of ' + f.copy_of} |")
        else:
            note = FIELD_NAMES.get(f.kind, "unsigned integer" if f.kind != "I" else "signed integer")
            value = f", here {desc.fixed[f.name]}" if f.name in desc.fixed else ""
            when = f", present if bit {f.condition[1]} of {f.condition[0]} is set" if f.condition else ""
            rows.append(f"| {f.name} | {size} | {note}{value}{when}{_codes(desc, f.name)} |")
    return rows


def _restrictions(desc: InstructionDesc) -> list[str]:
    """What holds of its operands beyond their types."""
    out = [f"  * `{name}`: {_names(allowed)}" for name, allowed in desc.operand_types.items() if allowed]
    out += [f"  * `{name}`: {_names(more)}, too, as compilers write it" for name, more in desc.beyond.items()]
    out += [f"  * {t} from {_names(of)}" for t, of in desc.pairs.items()]
    if desc.has_exec and desc.sizes != ANY_SIZE:
        out.append(f"* Execution sizes: {', '.join(map(str, desc.sizes))}")
    if any(f.kind == "s" for f in desc.fields):
        out.append(f"* Source modifiers: {desc.modifiers or 'none'}")
    if any(isinstance(s, Saturate) for s in desc.suffixes) and desc.saturation is Saturation.FLOATS:
        out.append("* Saturation: of floats")
    out += [f"* `{name}` begins at a multiple of {unit} bytes" for name, unit in desc.aligned.items()]
    out += [f"* `{name}`: {least} to {greatest}" for name, (least, greatest) in desc.limits.items()]
    return out


def _executed(desc: InstructionDesc) -> str:
    """How the simulator executes it (docs/fidelity.md)."""
    found = class_of(desc)
    if desc.semantics in RAW_MESSAGES:
        return "as the instruction that its descriptor says"
    if found == EXACT:
        return "exactly"
    if found == REFUSED_CLASS:
        return f"no. {_sentence(REFUSED[desc.semantics])}"
    return f"within the manual's freedom. {_sentence(ALLOWED_DEVIATION[desc.semantics])}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def _names(names: frozenset[str]) -> str:
    return ", ".join(t for t in TYPE_ORDER if t in names)


def page(
    name: str,
    forms: list[InstructionDesc],
    shown: dict[InstructionDesc, tuple[str, bytes]],
    worked: dict[str, Example],
) -> str:
    """The page of a mnemonic; a few have a typed and an untyped form."""
    out = [f"# {name}", ""]
    for n, desc in enumerate(forms):
        if len(forms) > 1:
            out += [f"## Form {n + 1}", ""]
        out += [desc.summary, "", "```", desc.syntax, "```", ""]
        operands = [f"| `{s.name}` | {s.what} |" for s in operands_of(desc)]
        if operands:
            out += ["| operand | written as |", "|---|---|", *operands, ""]
        if example := worked.get(desc.semantics if n else name):
            out += lines_of(example)
        if suffixes := _suffixes(desc):
            out += ["| suffix | words | |", "|---|---|---|", *suffixes, ""]
        platforms = [p for p in PLATFORMS if p in desc.platforms]
        out += [f"* Category: {desc.category}"]
        if desc.types or desc.category in MESSAGES:
            out += [f"* Element types: {_names(desc.types) or 'those of the message'}"]
        out += _restrictions(desc)
        out += [f"* Platforms: {'all' if len(platforms) == len(PLATFORMS) else ', '.join(platforms)}"]
        out += [
            f"* Predicate: {'yes' if desc.has_predicate else 'no'}",
            f"* [Executed](../fidelity.md): {_executed(desc)}",
            "",
            "| field | bytes | contents |",
            "|---|---|---|",
            *_encoding(desc),
            "",
        ]
        if desc in shown:
            line, data = shown[desc]
            out += ["Example, with its bytes:", "", "```", line, *textwrap.wrap(data.hex(" "), WIDTH), "```", ""]
    return folded("\n".join(out).rstrip() + "\n")


def _by_name() -> dict[str, list[InstructionDesc]]:
    """The forms of each instruction."""
    found: dict[str, list[InstructionDesc]] = {}
    for desc in instruction_set().forms:
        if not desc.mnemonic.startswith("."):
            found.setdefault(desc.mnemonic, []).append(desc)
    return found


def with_instructions(language: str) -> str:
    """The language page with links to the pages of all instructions at its end."""
    chapters: dict[str, list[str]] = {}
    for name, forms in sorted(_by_name().items()):
        chapters.setdefault(forms[0].category, []).append(f"[{name}](instructions/{name}.md)")
    rows = [f"* {chapter}: {', '.join(chapters[chapter])}" for chapter in sorted(chapters)]
    intro = "Each page shows the effect as pseudo-code, an executed example, a picture of the lanes, and the operands."
    return language.partition(LINKS)[0] + folded("\n".join([LINKS, "", intro, "", *rows, ""]))


def pages() -> dict[str, str]:
    """All pages by file name."""
    shown, worked, by_name = examples(), worked_examples(), _by_name()
    found = {f"{name}.md": page(name, forms, shown, worked) for name, forms in by_name.items()}
    index = ["# Instructions", "", "Generated from the instruction table by `make docs`.", ""]
    for category in dict.fromkeys(f[0].category for f in by_name.values()):
        index += [f"## {category}", "", "| instruction | |", "|---|---|"]
        index += [
            f"| [{name}]({name}.md) | {forms[0].summary} |"
            for name, forms in sorted(by_name.items())
            if forms[0].category == category
        ] + [""]
    return found | {"README.md": "\n".join(index).rstrip() + "\n"}


def main() -> None:
    folder = ROOT / "docs" / "instructions"
    folder.mkdir(exist_ok=True)
    wanted = pages()
    for old in folder.glob("*.md"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text)
    language = ROOT / "docs" / "language.md"
    language.write_text(with_instructions(language.read_text()))


if __name__ == "__main__":
    main()
