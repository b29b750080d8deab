"""What LLVM 22 gets wrong, and how the text of a module avoids it: after its passes, in front of code generation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import count

from vsim.engines.llvm.ir.emitter import NAME

_NAME = NAME.pattern
_HALF_SPILL = re.compile(rf"^  store half (?={_NAME}, ptr {_NAME}\.spill\.addr)", re.MULTILINE)
_EXTRACTED_BYTE = re.compile(rf"extractelement <\d+ x i8> ({_NAME}),")
_SHUFFLED_BYTES = re.compile(rf"^  ({_NAME}) = shufflevector <\d+ x i8> ([^,]+), <\d+ x i8> ([^,]+),", re.MULTILINE)
_LOADED_BYTES = re.compile(rf"^  ({_NAME}) = load (?=<\d+ x i8>)", re.MULTILINE)
_BITWISE = re.compile(rf"^  ({_NAME}) = (?:and|xor|or)(?: disjoint)? <\d+ x i(?:32|64)> ([^,]+), (.+)$", re.MULTILINE)
_BITCAST = re.compile(rf"^  ({_NAME}) = bitcast <[^>]+> ({_NAME}) to <", re.MULTILINE)
_SELECT = re.compile(
    rf"^(  {_NAME} = select <\d+ x i1> [^,]+, )(<(\d+) x (?:i32|i64|float|double)>) ({_NAME}), <[^>]+> ({_NAME})$",
    re.MULTILINE,
)
_NARROWED_PAIR = re.compile(rf"^  %({_NAME[1:]}) = trunc (?:nuw |nsw )*<2 x i32> ({_NAME}) to <2 x i16>$", re.MULTILINE)
_TAKEN = re.compile(
    rf"= shufflevector <\d+ x (?:i32|float)> ({_NAME}), <\d+ x \w+> [^,]+, <2 x i32>"
    rf"|= shufflevector <\d+ x (?:i16|half)> ({_NAME}), <\d+ x \w+> [^,]+, <4 x i32>"
)
_LOADED = re.compile(rf"^  ({_NAME}) = load (?=<\d+ x (?:i32|float|i16|half)>)", re.MULTILINE)
_DEEPEST = 6
"""How many operations on bits become one instruction, and some more, as a few of them may be nothing in the end."""


def with_split_halves(text: str) -> str:
    """A module in which halves that live across a suspension of a coroutine are not joined with others on their way
    into the frame.

    Where a mask of 16 lanes lies beside one, LLVM joins the two stores to one of masks, cannot select the cast that
    this takes, and ends the process; volatile stores are never joined.
    """
    return _HALF_SPILL.sub("  store volatile half ", text)


def with_split_bytes(text: str) -> str:
    """A module in which nothing is joined with loads of vectors of which single bytes are taken.

    LLVM makes one load of bytes that follow each other in memory and are put together the other way round, and begins
    it at the vector's first byte, whichever byte of it was wanted; volatile loads are never joined.
    """
    names = set(_EXTRACTED_BYTE.findall(text))
    if not names:
        return text
    for name, one, other in reversed(_SHUFFLED_BYTES.findall(text)):
        if name in names:
            names |= {one, other}
    return _LOADED_BYTES.sub(lambda m: f"  {m[1]} = load volatile " if m[1] in names else m[0], text)


def with_split_pairs(text: str) -> str:
    """A module in which two dwords become words by their place, not by a truncation.

    With AVX-512 LLVM makes one masked instruction (``vpmovsdw``) of a saturated pair and of the other lanes' old
    values, widens the pair, which is less than a register, to a form that it cannot select, and ends the process.
    """
    return _NARROWED_PAIR.sub(
        r"  %words.\1 = bitcast <2 x i32> \2 to <4 x i16>\n"  # in front, as a name may be a number alone
        r"  %\1 = shufflevector <4 x i16> %words.\1, <4 x i16> poison, <2 x i32> <i32 0, i32 2>",
        text,
    )


def with_loads_in_order(text: str) -> str:
    """A module in which no vector load moves below a later store.

    Where eight bytes of a vector are wanted, and others besides, LLVM loads the eight once more by themselves, and
    forgets that the load of the vector comes before the stores that follow it; volatile loads stay where they are.
    """
    taken = {name for names in _TAKEN.findall(text) for name in names if name}
    uses = Counter(NAME.findall(text)) if taken else Counter[str]()
    return _LOADED.sub(lambda m: f"  {m[1]} = load volatile " if m[1] in taken and uses[m[1]] > 2 else m[0], text)


def with_split_selects(text: str) -> str:
    """A module in which no bit operation gets a mask if one source is the other lanes' old value and another source is
     a constant.

    With AVX-512 LLVM makes one masked instruction of both (``vpternlog``). If the constant chooses between the old
    value and another one, LLVM exchanges these two in half of the cases. An arithmetic fence, which costs no
    instruction, hides the old value.
    """
    bitwise = {name: sources for name, *sources in _BITWISE.findall(text)}
    casts = dict(_BITCAST.findall(text))
    numbers, fences = count(), set[str]()

    def root(name: str) -> str:
        while name in casts:
            name = casts[name]
        return name

    def sources(name: str, depth: int = _DEEPEST) -> Iterator[str]:
        """What an operation is made of; an empty name for a constant."""
        for source in bitwise.get(name, ()) if depth else ():
            inner = root(source) if NAME.fullmatch(source) else ""
            yield inner
            yield from sources(inner, depth - 1)

    def is_joined(made: str, kept: str) -> bool:
        return {"", root(kept)} <= set(sources(root(made)))

    def apart(found: re.Match[str]) -> str:
        start, kind, lanes, one, other = found.groups()
        if is_joined(one, other):
            kept = other
        elif is_joined(other, one):
            kept = one
        else:
            return found[0]
        bits, suffix = ("double", "f64") if "64" in kind or "double" in kind else ("float", "f32")
        vector, intrinsic = f"<{lanes} x {bits}>", f"@llvm.arithmetic.fence.v{lanes}{suffix}"
        fences.add(f"declare {vector} {intrinsic}({vector})")
        name = f"%apart{next(numbers)}"
        fence = (
            f"  {name}.bits = bitcast {kind} {kept} to {vector}\n"
            f"  {name}.fence = call {vector} {intrinsic}({vector} {name}.bits)\n"
            f"  {name} = bitcast {vector} {name}.fence to {kind}\n"
        )
        one, other = (name if n == kept else n for n in (one, other))
        return f"{fence}{start}{kind} {one}, {kind} {other}"

    found = _SELECT.sub(apart, text) if bitwise else text
    return "\n".join([found, *sorted(fences)])
