"""The suffixes behind a mnemonic: for each kind of suffix a function that reads it and one that writes it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from visakit.diagnostics import did_you_mean, listed
from visakit.isa import (
    Choice,
    FenceFlags,
    Flag,
    Hint,
    InstructionDesc,
    InstructionSet,
    Number,
    Saturate,
    Suffix,
    TargetFlags,
)
from visakit.language.operands import SAT
from visakit.language.program import Fields
from visakit.text.problem import Problem

_SATURATES = "saturate"
"""Stands among the fields while suffixes are read: ``.sat`` is kept in the destination."""


@functools.cache
def resolve(
    table: InstructionSet, words: tuple[str, ...], operands: int, platform: str = ""
) -> tuple[InstructionDesc, dict[str, int], bool]:
    """Instruction, fields set by suffixes, and whether ``.sat`` was given, of words such as svm_atomic, add, 64.

    Of several forms that take these suffixes it is the one with as many operands as the line has, or the first. Hints
    name those of the platform.

    Raises:
        Problem: there is no such instruction, or it does not take these suffixes.
    """
    words = _without_end(table, words)
    for count in (2, 1):
        descs = table.by_mnemonic.get(".".join(words[:count]).lower()) if len(words) >= count else None
        if descs:
            problem: Problem | None = None
            found: list[tuple[InstructionDesc, dict[str, int]]] = []
            for desc in descs:
                try:
                    found.append((desc, _read(desc, words[count:])))
                except Problem as error:
                    problem = problem or error
            if not found:
                assert problem
                raise problem
            desc, fields = next((f for f in found if len(f[0].text) == operands), found[0])
            saturate = bool(fields.pop(_SATURATES, 0))
            return desc, fields | desc.fixed, saturate
    from visakit.isa.elsewhere import ELSEWHERE, FUNCTIONS_ELSEWHERE

    name = words[0].lower()
    hint = ELSEWHERE.get(name) or FUNCTIONS_ELSEWHERE.get(name) or elsewhere(table, name, platform)
    if not hint:
        known = {n: d for n, d in table.by_mnemonic.items() if _exists(table, n, platform)}
        fitting = [n for n, descs in known.items() if any(len(desc.text) == operands for desc in descs)]
        hint = did_you_mean(name, fitting) or did_you_mean(name, known)
    raise Problem("V003", f"'{words[0]}' is not an instruction", hint)


def elsewhere(table: InstructionSet, word: str, platform: str) -> str:
    """The instructions that a platform has for the purpose of a word of another language, or of another platform's
    instruction; empty without any. Without a platform it names those of all platforms.
    """
    from visakit.isa.elsewhere import FAMILIES

    family = next((f for f in FAMILIES if word in (*f.words, *f.mnemonics)), None)
    names = [n for n in (family.mnemonics if family else ()) if n != word and _exists(table, n, platform)]
    if family is None or not names:
        return ""
    return f"{f'on {platform} ' if platform else ''}{listed(names)} {family.purpose}"


def _exists(table: InstructionSet, name: str, platform: str) -> bool:
    return any(not platform or platform in desc.platforms for desc in table.by_mnemonic.get(name, ()))


def _without_end(table: InstructionSet, words: tuple[str, ...]) -> tuple[str, ...]:
    """The words in today's order: older compilers write the end of a thread behind the unit, not behind the name."""
    last = f"{words[0]}_eot"
    if last.lower() not in table.by_mnemonic or "eot" not in words[1:3]:
        return words
    at = words.index("eot")
    return (last, *words[1:at], *words[at + 1 :])


# -- reading: each takes the words that are its own from the front of the rest ---------------------------------------


def _read(desc: InstructionDesc, words: tuple[str, ...]) -> dict[str, int]:
    fields: dict[str, int] = {}
    rest = list(words)
    for suffix in desc.suffixes:
        _READERS[type(suffix)](desc, suffix, rest, fields)
    fields.pop("", None)
    if rest:
        raise Problem("V004", f"'.{rest[0]}' is not a suffix of {desc.mnemonic}", _suffixes_left(desc, fields))
    return fields


def _suffixes_left(desc: InstructionDesc, fields: dict[str, int]) -> str:
    """The words that an instruction could still have taken, for a hint; its form if they have separate places."""
    left = [s for s in desc.suffixes if isinstance(s, Choice) and s.field and fields.get(s.field) == s.default]
    words = [word for suffix in left for word in suffix.values]
    words += ["sat" for s in desc.suffixes if isinstance(s, Saturate) and _SATURATES not in fields]
    if len(left) > 1 or not words:
        return f"its form is: {desc.syntax}"
    return f"it takes {', '.join('.' + word for word in words)}"


def _read_choice(desc: InstructionDesc, suffix: Choice, rest: list[str], fields: dict[str, int]) -> None:
    word = rest[0] if rest else ""
    value = suffix.values.get(word)
    if value is None:
        value = next((v for k, v in suffix.values.items() if k.lower() == word.lower()), None)
    if value is not None:
        rest.pop(0)
        fields[suffix.field] = value
    elif suffix.default is not None:
        fields[suffix.field] = suffix.default
    else:
        shown = ", ".join("." + k for k in list(suffix.values)[:16])
        found = f", found '.{word}'" if word else ""
        hint = did_you_mean(word, suffix.values) or f"its form is: {desc.syntax}"
        raise Problem("V004", f"{desc.mnemonic} needs one of {shown}{found}", hint)


def _read_flag(desc: InstructionDesc, suffix: Flag, rest: list[str], fields: dict[str, int]) -> None:
    if rest and rest[0].lower() == suffix.word.lower():
        rest.pop(0)
        fields[suffix.field] = 1
    else:
        fields.setdefault(suffix.field, 0)


def _read_hint(desc: InstructionDesc, suffix: Hint, rest: list[str], fields: dict[str, int]) -> None:
    if len(rest) > 1 and all(word.lower() in suffix.values for word in rest[:2]):
        rest.pop(0)


def _read_number(desc: InstructionDesc, suffix: Number, rest: list[str], fields: dict[str, int]) -> None:
    word = rest[0] if rest else ""
    digits = word[len(suffix.prefix) :] if word.startswith(suffix.prefix) else ""
    known = re.fullmatch(r"[0-9a-fA-F]+" if suffix.base == 16 else r"[0-9]+", digits)
    if not known or len(digits.lstrip("0")) > 3 or int(digits, suffix.base) > 255:
        raise Problem(
            "V004", f"{desc.mnemonic} needs a number from 0 to 255 after its name", f"its form is: {desc.syntax}"
        )
    rest.pop(0)
    fields[suffix.field] = int(digits, suffix.base)


def _read_saturate(desc: InstructionDesc, suffix: Saturate, rest: list[str], fields: dict[str, int]) -> None:
    if rest and rest[0].lower() == "sat":
        rest.pop(0)
        fields[_SATURATES] = 1


def _read_fence(desc: InstructionDesc, suffix: FenceFlags, rest: list[str], fields: dict[str, int]) -> None:
    left = rest.pop(0) if rest else ""
    for letters, field, bit in suffix.letters:
        if letters in left:
            left = left.replace(letters, "", 1)
            fields[field] = fields.get(field, 0) | bit
    if left:
        raise Problem("V004", f"'{left}' is not a fence flag", "flags are E, I, S, C, R and L1")


def _read_target(desc: InstructionDesc, suffix: TargetFlags, rest: list[str], fields: dict[str, int]) -> None:
    mode, bits = 0, dict(suffix.bits)
    flags = rest.pop(0) if rest else ""
    for word in flags.strip("<>").split("><") if flags else []:
        if word not in bits:
            raise Problem("V004", f"<{word}> is not a flag of a render-target write", did_you_mean(word, bits))
        mode |= bits[word]
    fields["mode"] = mode


_READERS: dict[type, Callable[..., None]] = {
    Choice: _read_choice, Flag: _read_flag, Hint: _read_hint, Number: _read_number, Saturate: _read_saturate,
    FenceFlags: _read_fence, TargetFlags: _read_target,
}  # fmt: skip


# -- writing -----------------------------------------------------------------------------------------------------------


def suffix_text(desc: InstructionDesc, args: Fields) -> str:
    """The suffixes of an instruction as text."""
    return "".join([_WRITERS[type(suffix)](desc, suffix, args) for suffix in desc.suffixes])


def _write_choice(desc: InstructionDesc, suffix: Choice, args: Fields) -> str:
    if not suffix.field:
        return "." + next(iter(suffix.values))
    value = args.get(suffix.field)
    name = suffix.names.get(value) if value is not None else None
    return f".{name}" if name is not None and (value != suffix.default or _later_needs(suffix, args)) else ""


def _write_flag(desc: InstructionDesc, suffix: Flag, args: Fields) -> str:
    return f".{suffix.word}" if suffix.field and args.get(suffix.field) else ""


def _write_hint(desc: InstructionDesc, suffix: Hint, args: Fields) -> str:
    return ""


def _write_number(desc: InstructionDesc, suffix: Number, args: Fields) -> str:
    number = args[suffix.field]
    return f".{suffix.prefix}{number:x}" if suffix.base == 16 else f".{suffix.prefix}{number}"


def _write_saturate(desc: InstructionDesc, suffix: Suffix, args: Fields) -> str:
    destinations = [args.get(f.name) for f in desc.fields if f.kind == "d"]
    return ".sat" if any(getattr(d, "modifier", 0) == SAT for d in destinations) else ""


def _write_fence(desc: InstructionDesc, suffix: FenceFlags, args: Fields) -> str:
    letters = {name for name, field, bit in suffix.letters if args.get(field, 0) & bit}
    ordered = [n for n in ("E", "I", "S", "C", "R", "L1") if n in letters]
    return "." + "".join(ordered) if ordered else ""


def _write_target(desc: InstructionDesc, suffix: TargetFlags, args: Fields) -> str:
    flags = "".join(f"<{name}>" for name, bit in suffix.bits if args["mode"] & bit)
    return f".{flags}" if flags else ""


def _later_needs(suffix: Choice, args: Fields) -> bool:
    """Cache controls come in pairs: the first is written if the second is."""
    return (suffix.field == "l1" and bool(args.get("l3"))) or (suffix.field == "l3" and bool(args.get("l1")))


_WRITERS: dict[type, Callable[..., str]] = {
    Choice: _write_choice, Flag: _write_flag, Hint: _write_hint, Number: _write_number, Saturate: _write_saturate,
    FenceFlags: _write_fence, TargetFlags: _write_target,
}  # fmt: skip
