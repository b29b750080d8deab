"""Inline assembly: the text of an ``asm volatile("...")`` on its own, as a kernel with a variable for each operand.

The compiler puts the text of such a statement into the kernel around it, where its operands are variables. Here each
operand becomes a variable or a number, and the text the only statements of a kernel. Every character remembers where in
the file it stood, so that errors show the file that its author wrote.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from vasm.assembler import Assembly, assemble_text
from visakit.diagnostics import MAXIMUM_ERRORS, AssemblyError, Diagnostic, Label, Span

Character = tuple[str, int]
"""A character of assembly, and its offset in the file."""

_PLACES = {
    "%": re.compile(r"%%|%=|%\[(\w+)\]|%(\d+)"),
    "$": re.compile(r"\$\$|\$\{(\w+)(?::\w*)?\}|\$(\d+)"),
}
"""How operands are written: as GCC has them, and as LLVM does; doubled signs stand for themselves."""
_ENTRY = re.compile(
    r"//[ \t]*[%$](?:\[([A-Za-z_]\w*)\]|(\d{1,3}))[ \t]*:[ \t]*(?:(\d{1,9})|([A-Za-z]\w*)(?:\[(\d{1,6})\])?)[ \t]*$"
)
_BEHIND = re.compile(r" *+[(<]")
"""What a region begins with."""
_DECLARED = re.compile(r"^[ \t{]*\.decl[ \t]+([\w%]+)", re.MULTILINE)
_LABEL = re.compile(r"^[ \t{]*([A-Za-z_]\w*)[ \t]*:(?!\w)", re.MULTILINE)
_OF_TYPES = frozenset({"V030", "V032", "V034", "V035", "V036", "V038", "V039", "V056", "V057", "W010"})
"""Rules about types and sizes, which are unknown of an operand without a description."""
_OF_NUMBERS = frozenset({"V004", "V016", "V021", "V042", "V043", "V050", "V051", "V057"})
"""What may follow from a number that stands for one that only the compiler knows."""
UNKNOWN_ELEMENTS = 4096
UNKNOWN_CONSTANT = 8
"""What stands for a number that only the compiler knows: a size of elements, of rows and of columns."""
_GUESSED = "ud"


class Operand(NamedTuple):
    """An operand of the statement.

    Attributes:
        name: its symbolic name beside its number; may be empty.
        type: the type of its elements, empty if unknown; ``P`` of a predicate.
        elements: how many there are.
        constant: the number that it is, if it is one.
        guessed: only the compiler knows that number.
        written: the suffix that the compiler writes: the type of a number, the region of a register; may be empty.
    """

    name: str = ""
    type: str = ""
    elements: int = UNKNOWN_ELEMENTS
    constant: int | None = None
    guessed: bool = False
    written: str = ""


class Snippet(NamedTuple):
    """The text of one statement.

    Attributes:
        characters: the assembly, with the places of its characters in the file.
        sign: what operands begin with.
        start: where in the file the statement begins.
    """

    characters: Sequence[Character]
    operands: Sequence[Operand]
    sign: str
    start: int


def own_snippet(text: str) -> Snippet:
    """The snippet that a file is, with a description of its operands in comments at its beginning.

    ``// %0: f[16]`` is a variable, ``// %[rows]: 8`` a number, ``// %2: P[16]`` a predicate; ``$0`` likewise. Operands
    without a description are variables with many dwords.
    """
    described = _described(text)
    sign = "$" if _PLACES["$"].search(text) else "%"
    named = [operand for name, operand in described.items() if not name.isdigit()]
    numbers = [int(n) for n in described if n.isdigit()]
    numbers += [int(m[2]) for m in _PLACES[sign].finditer(text) if m[2] and len(m[2]) < 4]
    count = max(numbers, default=-1) + 1
    operands = [described.get(str(n), Operand()) for n in range(count)] + named
    return Snippet([(c, at) for at, c in enumerate(text)], operands, sign, 0)


def _described(text: str) -> dict[str, Operand]:
    """The operands that comments at the beginning describe, by number or name."""
    found: dict[str, Operand] = {}
    for line in map(str.strip, text.splitlines()):
        m = _ENTRY.match(line)
        if m:
            constant = int(m[3]) if m[3] else None
            found[m[1] or m[2]] = Operand(m[1] or "", m[4] or "", int(m[5] or 1), constant)
        elif line and not line.startswith("//"):
            break
    return found


class StatementSource:
    """A file with inline assembly; ``file`` is what messages call it."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.lines = text.split("\n")
        self.starts = list(accumulate((len(line) + 1 for line in self.lines), initial=0))

    def place(self, offset: int) -> Span:
        """A place in the file."""
        line = bisect_right(self.starts, offset) - 1
        return Span(self.file, line + 1, offset - self.starts[line] + 1, 1, self.lines[line].rstrip("\r"))


class InlineText:
    """A snippet of a source as the text of a kernel."""

    def __init__(self, snippet: Snippet, source: StatementSource) -> None:
        self.source, self.start = source, snippet.start
        self._unknown = {_variable(n) for n, o in enumerate(snippet.operands) if not o.type and o.constant is None}
        head = [".version 4.1", '.kernel "inline"']
        for n, o in enumerate(snippet.operands):
            kind = f"v_type=P num_elts={o.elements}" if o.type == "P" else ""
            kind = kind or f"v_type=G type={o.type or _GUESSED} num_elts={o.elements} align=GRFx2"
            head += [] if o.constant is not None else [f".decl {_variable(n)} {kind}"]
        head.append(".kernel_attr SimdSize=32")
        self._head = len(head)
        self._characters = _filled(snippet)
        self._guessed = _guessed_places(snippet)
        body = "".join(c for c, _ in self._characters)
        self.body = body
        self.text = "\n".join([*head, body, "ret (M1, 1)", ""])

    def assemble(
        self, platform: str | None, max_errors: int = MAXIMUM_ERRORS, silent: Collection[str] | None = None
    ) -> Assembly:
        """The module of the kernel ``inline``; operands without a description have dwords.

        Raises:
            AssemblyError: with the errors in places of the file.
        """
        try:
            found = assemble_text(self.text, self.source.file, platform, max_errors, silent)
        except AssemblyError as error:
            raise AssemblyError([self._moved(d) for d in error.diagnostics]) from None
        found.warnings[:] = [self._moved(d) for d in found.warnings]
        return found

    def errors(self, found: Sequence[Diagnostic]) -> list[Diagnostic]:
        """Errors of the text, with places in the file, without errors that may follow from unknown types or sizes."""
        return [self._moved(d) for d in found if d.severity == "error" and not self._is_guess(d)]

    def _is_guess(self, d: Diagnostic) -> bool:
        """Whether a finding is about the unknown type or size of an operand."""
        if d.span is None:
            return False
        if d.code in _OF_NUMBERS and self._guessed:
            line = self._body_line(d.span.line)
            return any(at in self._guessed for _, at in line)
        return d.code in _OF_TYPES and not self._unknown.isdisjoint(re.findall(r"\w+", d.span.text))

    def _body_line(self, line: int) -> Sequence[Character]:
        """The characters of a line of the text."""
        lines = self.body.split("\n")
        number = line - self._head - 1
        if not 0 <= number < len(lines):
            return ()
        first = sum(len(text) + 1 for text in lines[:number])
        return self._characters[first : first + len(lines[number])]

    def _moved(self, d: Diagnostic) -> Diagnostic:
        labels = tuple(Label(self._span(label.span), label.message) for label in d.labels)
        return replace(d, span=self._span(d.span) if d.span else None, labels=labels)

    def _span(self, span: Span) -> Span:
        """The place in the file of a place in the text."""
        lines = self.body.split("\n")
        number = span.line - self._head - 1
        if not 0 <= number < len(lines) or not self._characters:
            return self.source.place(self.start)
        first = sum(len(line) + 1 for line in lines[:number]) + min(span.column - 1, max(len(lines[number]) - 1, 0))
        last = min(first + span.length, len(self._characters)) - 1
        begin = self._characters[min(first, len(self._characters) - 1)][1]
        end = self._characters[max(last, 0)][1] + 1
        found = self.source.place(begin)
        return replace(found, length=max(1, min(end - begin, len(found.text) - found.column + 1)))


def _guessed_places(snippet: Snippet) -> set[int]:
    """Where in the file numbers stand that only the compiler knows."""
    text = "".join(c for c, _ in snippet.characters)
    found, names = set(), _numbers(snippet)
    for m in _PLACES[snippet.sign].finditer(text):
        number = _number(m, names)
        if 0 <= number < len(snippet.operands) and snippet.operands[number].guessed:
            found.add(snippet.characters[m.start()][1])
    return found


def _numbers(snippet: Snippet) -> dict[str, int]:
    """The operands by their names and by the digits of their numbers."""
    named = {o.name: n for n, o in reversed([*enumerate(snippet.operands)]) if o.name}
    return named | {str(n): n for n in range(min(len(snippet.operands), 1000))}


def _number(m: re.Match[str], numbers: Mapping[str, int]) -> int:
    """The number of the operand in a place of the template; -1 without one."""
    word = m[1] or m[2] or ""
    return numbers.get(str(int(word)) if word.isdecimal() and len(word) < 4 else word, -1)


def declared_names(text: str) -> set[str]:
    """Variables and labels that a piece of assembly declares, for others of its file."""
    return {m[1] for pattern in (_DECLARED, _LABEL) for m in pattern.finditer(text)}


def _variable(number: int) -> str:
    return f"_op{number}"


def _filled(snippet: Snippet) -> list[Character]:
    """The characters with operands in their places; what stands for one stands where that was."""
    text = "".join(c for c, _ in snippet.characters)
    found: list[Character] = []
    behind, numbers = 0, _numbers(snippet)
    for m in _PLACES[snippet.sign].finditer(text):
        found += snippet.characters[behind : m.start()]
        where = snippet.characters[m.start()][1]
        found += [(c, where) for c in _replacement(m, snippet, numbers)]
        behind = m.end()
    return [*found, *snippet.characters[behind:]]


def _replacement(m: re.Match[str], snippet: Snippet, numbers: Mapping[str, int]) -> str:
    """The text of an operand reference: its variable or its number; other text is unchanged."""
    if m[0] in ("%%", "$$"):
        return m[0][0]
    if m[0] == "%=":
        return "0"
    number = _number(m, numbers)
    if number < 0:
        return m[0]
    operand = snippet.operands[number]
    if operand.constant is not None:
        bits = operand.constant if operand.constant >= 0 else operand.constant & 0xFFFFFFFF
        return f"{bits:#x}{operand.written}" if operand.written else str(operand.constant)
    behind = _BEHIND.match(m.string, m.end())
    return _variable(number) + ("" if behind else operand.written)
