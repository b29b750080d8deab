"""The one reader of IR: what passes need to know of a line, as a record.

The emitter writes text, and so do templates, passes and LLVM; a pass reads each line once ([page
14](../../../../docs/decisions/0014-ir-as-text.md) has the numbers).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from vsim.engines.llvm.ir.emitter import COUNTER, LIKELY, NAME, UNLIKELY

TYPE, MEMORY_TYPE = (rf"(<\d+ x \w+>|{other}|\w+)" for other in (r"\{[^{}]*\}", r"\[\d+ x i8\]"))
"""Types of values, and types that loads, stores and stack slots may also have."""
DEFINED_OPERATIONS = {
    *("add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "icmp", "select"),
    *("zext", "sext", "trunc", "bitcast", "getelementptr", "insertelement", "extractelement", "shufflevector"),
}
"""What may be computed elsewhere: it has no effect, and is defined for all operands."""
VECTOR = re.compile(r"<(\d+) x (\w+)>")
_WORD = NAME.pattern[1:]
ARM = re.compile(rf"\[ (.*?), %({_WORD}) \]")
"""A value of a phi, and the block that it comes from."""
LABEL, TARGET = re.compile(f"({_WORD}):"), re.compile(f"label %({_WORD})")
"""The first line of a block, and where it is named."""
_ELEMENTS = re.compile(r"[<\[](\d+) x (\w+)[>\]]")
_ACCESSES = ("alloca ", "load ", "store ")
_ACCESS = re.compile(
    rf"(?:alloca|load(?: volatile)?|store(?: volatile)?) {MEMORY_TYPE}(?:(?: .+)?, ptr (%[\w.]+))?, align \d+"
)
_PURE_CALL = re.compile(rf"call {TYPE} @llvm\.(?!masked)[^(]*\((?!.*\bptr\b)")
_BRANCH = re.compile(r"  br (?:i1 (\S+), label %([\w.]+), )?label %([\w.]+)(.*)")
_FIRST_TYPE = re.compile(
    rf"(?:add|sub|mul|and|or|xor|shl|lshr|ashr|[us]div|[us]rem|f(?:add|sub|mul|div|rem|neg)|load|call|freeze"
    rf"|insertelement)(?: nuw| nsw| exact| disjoint| contract| volatile)* {TYPE}"
)
_LAST_TYPE = re.compile(
    rf"(?:[sz]ext|trunc|bitcast|fpext|fptrunc|[us]itofp|fpto[us]i|ptrtoint|inttoptr)\b.* to {TYPE}$"
)
_SELECT = re.compile(rf"select (?:i1|<\d+ x i1>) [^,<>]+, {TYPE} ")
_EXTRACT = re.compile(r"extractelement <\d+ x (\w+)>")
_COMPARE = re.compile(r"[if]cmp (?:[a-z]+ )+(<\d+ x )?")
_SHUFFLE = re.compile(r"shufflevector <\d+ x (\w+)> .*<(\d+) x i32> [^%]*$")
_MEMBER = re.compile(r"extractvalue \{([^{}]*)\} %[\w.]+, (\d+)$")
_BITS = {"ptr": 64, "float": 32, "double": 64, "half": 16}


def result_type(text: str) -> str | None:
    """The type of an instruction's result; None if it is not known here."""
    if text.startswith("getelementptr"):
        return "ptr"
    for pattern in (_FIRST_TYPE, _LAST_TYPE, _SELECT, _EXTRACT):
        if found := pattern.match(text):
            return str(found[1])
    if found := _COMPARE.match(text):
        return f"{found[1]}i1>" if found[1] else "i1"
    if found := _SHUFFLE.match(text):
        return f"<{found[2]} x {found[1]}>"
    if found := _MEMBER.match(text):
        return str(re.findall(r"<[^>]*>|\w+", found[1])[int(found[2])])
    return None


def bits_of(kind: str) -> int:
    """Bits of a value of a type."""
    if found := _ELEMENTS.fullmatch(kind):
        return int(found[1]) * bits_of(found[2])
    return _BITS.get(kind) or int(kind[1:])


def bytes_of(kind: str) -> int:
    """Bytes that a value of a type takes in memory."""
    return -(-bits_of(kind) // 8)


class Line:
    """A line of a block.

    ``result`` is the name that it defines, ``operation`` the text without it. ``place`` is the pointer that it loads or
    stores at, ``kind`` the type of that, or of the stack slot that it makes.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        if text.startswith("  %"):
            self.result, _, self.operation = text[2:].partition(" = ")
        else:
            self.result, self.operation = "", text.strip()
        access = _ACCESS.match(self.operation) if self.operation.startswith(_ACCESSES) else None
        self.kind, self.place = access.groups("") if access else ("", "")

    @cached_property
    def uses(self) -> tuple[str, ...]:
        """All names that it uses."""
        return tuple(NAME.findall(self.operation))

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it uses; of a load or store without the place."""
        return self.uses[:-1] if self.place else self.uses

    @property
    def is_store(self) -> bool:
        """Whether it stores a value."""
        return bool(self.place) and not self.result

    @property
    def is_slot(self) -> bool:
        """Whether it makes a stack slot."""
        return self.operation.startswith("alloca ")

    @property
    def is_counter(self) -> bool:
        """Whether it loads a counter, which the next lines add to and store."""
        return self.operation.endswith(COUNTER)

    @property
    def is_repeatable(self) -> bool:
        """Whether it has one result for all threads with the same operands."""
        if not self.result or self.is_counter:
            return False
        return not self.operation.startswith("call ") or bool(_PURE_CALL.match(self.operation))

    @property
    def opcode(self) -> str:
        """The instruction, or the stem of the intrinsic that it calls."""
        word = self.operation.split(None, 1)[0]
        if word != "call":
            return word
        intrinsic = self.operation.partition("@llvm.")[2].partition("(")[0]
        return "gather" if intrinsic.startswith("masked.gather") else intrinsic.partition(".")[0]


class End(NamedTuple):
    """The last line of a block: a branch with a condition, one without, or anything else, which has no targets."""

    text: str
    condition: str = ""
    targets: tuple[str, ...] = ()
    weights: str = ""

    def likely_targets(self) -> tuple[str, ...]:
        """The targets, without one that is seldom reached."""
        return {UNLIKELY: self.targets[1:], LIKELY: self.targets[:1]}.get(self.weights, self.targets)

    def renamed(self, rename: Callable[[str], str], label: Callable[[str], str]) -> str:
        """The line with other names: ``rename`` gives the text of operands, ``label`` targets."""
        if not self.targets:
            return rename(self.text)
        condition = [f"i1 {rename(self.condition)}"] if self.condition else []
        return f"  br {', '.join([*condition, *(f'label %{label(x)}' for x in self.targets)])}{self.weights}"


def read_end(text: str) -> End:
    """The record of the last line of a block."""
    branch = _BRANCH.fullmatch(text)
    if not branch:
        return End(text)
    condition, one, other, weights = branch.groups("")
    return End(text, condition, (one, other), weights) if condition and one != other else jump(other)


def jump(target: str) -> End:
    """A branch without a condition."""
    return End(f"  br label %{target}", targets=(target,))
