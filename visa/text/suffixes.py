"""The suffixes behind a mnemonic, both ways."""

from __future__ import annotations

import functools
import re
from typing import Any

from visa.diagnostics import did_you_mean
from visa.isa import Choice, FenceFlags, Flag, InstructionDesc, InstructionSet, Number, Saturate, TargetFlags
from visa.operands import SAT
from visa.text.operands import Problem


@functools.cache
def resolve(table: InstructionSet, text: str) -> tuple[InstructionDesc, dict[str, int], bool]:
    """Form, fields set by suffixes, and whether ``.sat`` was given, of an opcode word such as ``svm_atomic.add.64``."""
    words = _split(text)
    for count in (2, 1):
        forms = table.by_mnemonic.get(".".join(words[:count]).lower()) if len(words) >= count else None
        if forms:
            problem: Problem | None = None
            for desc in forms:
                try:
                    fields, saturate = _apply(desc, words[count:])
                    return desc, fields | desc.fixed, saturate
                except Problem as error:
                    problem = problem or error
            assert problem
            raise problem
    raise Problem("V003", f"'{words[0]}' is not an instruction", did_you_mean(words[0].lower(), table.by_mnemonic))


def _split(text: str) -> list[str]:
    head, _, flags = text.partition(".<")
    words = head.split(".")
    return [*words, "<" + flags] if flags else words


def _apply(desc: InstructionDesc, words: list[str]) -> tuple[dict[str, int], bool]:
    fields: dict[str, int] = {}
    saturate = False
    rest = list(words)
    for suffix in desc.suffixes:
        word = rest[0] if rest else None
        if isinstance(suffix, Choice):
            value = suffix.values.get(word) if word is not None else None
            if value is None and word is not None:
                value = next((v for k, v in suffix.values.items() if k.lower() == word.lower()), None)
            if value is not None:
                rest.pop(0)
                fields[suffix.field] = value
            elif suffix.default is not None:
                fields[suffix.field] = suffix.default
            else:
                shown = ", ".join("." + k for k in list(suffix.values)[:16])
                found = f", found '.{word}'" if word else ""
                raise Problem(
                    "V004",
                    f"{desc.mnemonic} needs one of {shown}{found}",
                    did_you_mean(word or "", suffix.values) or f"its form is: {desc.syntax}",
                )
        elif isinstance(suffix, Flag):
            if word is not None and word.lower() == suffix.word.lower():
                rest.pop(0)
                fields[suffix.field] = 1
            else:
                fields.setdefault(suffix.field, 0)
        elif isinstance(suffix, Number):
            digits = word[len(suffix.prefix) :] if word is not None and word.startswith(suffix.prefix) else ""
            if (
                not re.fullmatch(r"[0-9a-fA-F]+" if suffix.base == 16 else r"\d+", digits)
                or int(digits, suffix.base) > 255
            ):
                raise Problem(
                    "V004",
                    f"{desc.mnemonic} needs a number from 0 to 255 behind its name",
                    f"its form is: {desc.syntax}",
                )
            fields[suffix.field] = int(rest.pop(0)[len(suffix.prefix) :], suffix.base)
        elif isinstance(suffix, Saturate):
            if word is not None and word.lower() == "sat":
                rest.pop(0)
                saturate = True
        elif isinstance(suffix, FenceFlags):
            left = rest.pop(0) if word is not None else ""
            for letters, field, bit in suffix.letters:
                if letters in left:
                    left = left.replace(letters, "", 1)
                    fields[field] = fields.get(field, 0) | bit
            if left:
                raise Problem("V004", f"'{left}' is not a fence flag", "flags are E, I, S, C, R and L1")
        elif isinstance(suffix, TargetFlags):
            fields["mode"] = _target_mode(suffix, rest.pop(0) if word is not None else "")
    fields.pop("", None)
    if rest:
        raise Problem("V004", f"'.{rest[0]}' is not a suffix of {desc.mnemonic}", f"its form is: {desc.syntax}")
    return fields, saturate


def _target_mode(suffix: TargetFlags, text: str) -> int:
    mode, bits = 0, dict(suffix.bits)
    for word in re.findall(r"<(\w+)>", text):
        if word not in bits:
            raise Problem("V004", f"<{word}> is not a flag of a render-target write", did_you_mean(word, bits))
        mode |= bits[word]
    return mode


def suffix_text(desc: InstructionDesc, args: dict[str, Any]) -> str:
    """The suffixes of an instruction as text."""
    out = ""
    for suffix in desc.suffixes:
        if isinstance(suffix, Choice):
            value = args.get(suffix.field)
            if not suffix.field:
                out += "." + next(iter(suffix.values))
            elif value != suffix.default or _later_needs(desc, suffix, args):
                name = suffix.names.get(value)  # type: ignore[arg-type]
                out += f".{name}" if name is not None else ""
        elif isinstance(suffix, Flag):
            out += f".{suffix.word}" if suffix.field and args.get(suffix.field) else ""
        elif isinstance(suffix, Number):
            out += (
                f".{suffix.prefix}{args[suffix.field]:x}"
                if suffix.base == 16
                else f".{suffix.prefix}{args[suffix.field]}"
            )
        elif isinstance(suffix, Saturate):
            out += (
                ".sat"
                if any(getattr(args.get(f.name), "modifier", 0) == SAT for f in desc.fields if f.kind == "d")
                else ""
            )
        elif isinstance(suffix, FenceFlags):
            letters = [name for name, field, bit in suffix.letters if args.get(field, 0) & bit]
            ordered = [n for n in ("E", "I", "S", "C", "R", "L1") if n in letters]
            out += "." + "".join(ordered) if ordered else ""
        elif isinstance(suffix, TargetFlags):
            flags = "".join(f"<{name}>" for name, bit in suffix.bits if args["mode"] & bit)
            out += f".{flags}" if flags else ""
    return out


def _later_needs(desc: InstructionDesc, suffix: Choice, args: dict[str, Any]) -> bool:
    """Cache controls come in pairs: the first is written if the second is."""
    return (suffix.field == "l1" and bool(args.get("l3"))) or (suffix.field == "l3" and bool(args.get("l1")))
