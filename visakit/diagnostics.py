"""Diagnostics: the error, its place, and a hint. One renderer each for people, GNU style, JSON and SARIF.

Every exception of the library for faulty input is a :class:`VisaError`, and every warning a :class:`VisaWarning`;
docs/python.md shows the tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True)
class Span:
    """A place in a source text; line and column count from 1, ``length`` in characters."""

    file: str
    line: int
    column: int = 1
    length: int = 1
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True)
class Label:
    """A second place that belongs to a diagnostic, such as an earlier definition."""

    span: Span
    message: str


class RegisterValue(NamedTuple):
    """A register that the instruction of a fault reads: its name, type and the value in the lane of the fault."""

    name: str
    type: str
    lane: int
    value: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value} ({self.type})"


@dataclass(frozen=True)
class Diagnostic:
    """One message.

    Attributes:
        code: stable: V... and W... assembler, L... linker, S... simulator, C... binary files, F... any file,
            U... usage, D... the debugger, P... proofs, Q... costs, T... the CTM target. ``vasm --explain CODE`` shows
            its page.
        message: the found and the expected form.
        span: the place; None without one.
        hint: a cure; may be empty.
        labels: further places that belong to it.
        severity: ``error`` or ``warning``.
        registers: of a fault the registers that its instruction reads, as far as their values are known.
    """

    code: str
    message: str
    span: Span | None = None
    hint: str = ""
    labels: tuple[Label, ...] = ()
    severity: str = "error"
    registers: tuple[RegisterValue, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return render_gnu(self)

    def _repr_html_(self) -> str:
        from visakit.notebook import diagnostics

        return diagnostics([self])


class VisaError(Exception):
    """Base of all errors that the library raises for faulty input; they go through pickle.

    Attributes:
        diagnostics: the errors, one or more.
    """

    def __init__(self, diagnostics: Diagnostic | Sequence[Diagnostic]) -> None:
        self.diagnostics: list[Diagnostic] = [diagnostics] if isinstance(diagnostics, Diagnostic) else list(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics))

    def __str__(self) -> str:
        return "\n".join(str(d) for d in self.diagnostics)

    def __repr__(self) -> str:
        more = f" and {len(self.diagnostics) - 1} more" if len(self.diagnostics) > 1 else ""
        return f"<{type(self).__name__}: {str(self).partition(chr(10))[0]:.160}{more}>"

    def __reduce__(self) -> tuple[object, ...]:
        # Errors come back from other processes.
        return type(self), (self.diagnostics,), self.__dict__


class AssemblyError(VisaError):
    """The text is not a valid program."""


class FormatError(VisaError):
    """A binary file is damaged, or has another format than it claims."""


class LinkError(VisaError):
    """Objects do not fit together."""


class LaunchError(VisaError):
    """A launch does not fit its kernel."""


class SimulationError(VisaError):
    """The program did something without a defined result, or took longer than its limit.

    Attributes:
        printf: the kernel's output up to the error.
    """

    def __init__(self, diagnostics: Diagnostic | Sequence[Diagnostic]) -> None:
        super().__init__(diagnostics)
        self.printf = ""


class CostError(VisaError):
    """The cost of a kernel cannot be computed: a number of its platform is not known."""


class DebugError(VisaError):
    """A command or an expression of the debugger is wrong; the launch is where it was."""


class FileError(VisaError, OSError):
    """A file cannot be read or written, or is no text where one is expected."""


class UsageError(VisaError, ValueError, TypeError):
    """The library or a command was used wrongly: an argument that it does not take; commands exit with 2."""

    def __init__(self, problem: str | Diagnostic | Sequence[Diagnostic]) -> None:
        super().__init__(Diagnostic("U001", problem) if isinstance(problem, str) else problem)

    def __str__(self) -> str:
        return "\n".join(d.message for d in self.diagnostics)


class VisaWarning(UserWarning):
    """A warning of the library in functions whose result cannot hold it.

    Attributes:
        diagnostics: the warnings.
    """

    def __init__(self, diagnostics: Diagnostic | Sequence[Diagnostic]) -> None:
        self.diagnostics: list[Diagnostic] = [diagnostics] if isinstance(diagnostics, Diagnostic) else list(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics))


MAXIMUM_ERRORS = 20
"""Errors after which tools stop, unless they are told another number."""
QUIET = frozenset({"W005", "W007", "W015"})
"""Optional warnings, about frequent forms of compilers."""


@dataclass
class Collector:
    """Gathers diagnostics up to a limit, but for the silent codes.

    Raises:
        UsageError: the limit allows no error.
    """

    limit: int = MAXIMUM_ERRORS
    silent: frozenset[str] = QUIET
    items: list[Diagnostic] = field(default_factory=list)
    error_count: int = 0

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise UsageError(f"'max_errors' is a whole number from 1 on, found {self.limit}")

    def add(self, diagnostic: Diagnostic) -> None:
        """Take one more."""
        if diagnostic.code in self.silent:
            return
        if diagnostic.severity == "error":
            self.error_count += 1
            if self.error_count > self.limit:
                return
        self.items.append(diagnostic)

    @property
    def full(self) -> bool:
        return self.error_count >= self.limit


def counted(number: int, noun: str) -> str:
    """``1 byte``, ``2 bytes``."""
    return f"{number} {noun}{'s' if number != 1 else ''}"


def listed(words: Sequence[str], conjunction: str = "and") -> str:
    """``a, b and c``."""
    return f" {conjunction} ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def ranges_of(numbers: Iterable[int]) -> list[str]:
    """Ascending numbers with consecutive ones as a range: ``0-3``, ``7``."""
    ranges: list[list[int]] = []
    for n in numbers:
        if ranges and n == ranges[-1][1] + 1:
            ranges[-1][1] = n
        else:
            ranges.append([n, n])
    return [f"{a}" if a == b else f"{a}-{b}" for a, b in ranges]


def _alike(name: str, other: str) -> float:
    """How alike two names are, from 0 to 1."""
    import difflib

    return difflib.SequenceMatcher(None, other, name).ratio()


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """A hint that names the closest candidates, or an empty string."""
    import difflib

    known = list(candidates)
    close = [c for c in known if c.lower() == name.lower()]
    if not close:
        near = difflib.get_close_matches(name, known, n=6, cutoff=0.6)
        close = sorted(near, key=lambda c: (-_alike(name, c), c[:1] != name[:1]))[:2]
    return f"did you mean {' or '.join(repr(c) for c in close)}?" if close else ""


_COMMANDS = "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
"""Characters that terminals obey, or that turn lines around; names in files that people download may have them."""


def printable(text: object) -> str:
    """A text as one line without control sequences of terminals: they are escaped as in Python."""
    return re.sub(_COMMANDS, lambda match: match[0].encode("unicode_escape").decode(), str(text))


_MOST_SAID, _MOST_SHOWN, _LEAD = 2000, 240, 80
"""Characters of a message, and of a source line with those before the caret: names and lines may have a megabyte."""


def _said(text: str) -> str:
    """A message or hint, printable; of a long one the two ends."""
    half = _MOST_SAID // 2
    return printable(text if len(text) <= _MOST_SAID else f"{text[:half]} ... {text[-half:]}")


def render_gnu(d: Diagnostic) -> str:
    """``file:line:column: severity: message [code]`` on one line."""
    place = printable(f"{d.span}: ") if d.span else ""
    hint = f" ({_said(d.hint)})" if d.hint else ""
    return f"{place}{d.severity}: {_said(d.message)} [{d.code}]{hint}"


def _excerpt(span: Span) -> list[str]:
    if not span.text or not span.line:
        return []
    number = str(span.line)
    line, column = span.text.rstrip("\r\n"), span.column - 1
    if len(line) > _MOST_SHOWN:
        first = max(0, column - _LEAD)
        last = first + _MOST_SHOWN
        before, after = "..." * (first > 0), "..." * (last < len(line))
        line, column = f"{before}{line[first:last]}{after}", column - first + len(before)
    text = re.sub(_COMMANDS, lambda match: match[0] if match[0] == "\t" else "\ufffd", line)
    lead = "".join("\t" if c == "\t" else " " for c in text[:column])
    width = max(1, min(span.length, len(text) - column))
    return [f" {number} | {text}", f" {' ' * len(number)} | {lead}{'^' * width}"]


def render_human(d: Diagnostic, color: bool = False) -> str:
    """Message, source line with a caret, further places and the hint, on several lines."""

    def paint(code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if color else text

    tone = "1;31" if d.severity == "error" else "1;35"
    place = paint("1", printable(f"{d.span}: ")) if d.span else ""
    lines = [f"{place}{paint(tone, d.severity + ':')} {_said(d.message)} [{d.code}]"]
    if d.span:
        lines += _excerpt(d.span)
    for label in d.labels:
        place = paint("1", printable(f"{label.span}:"))
        lines.append(f"{place} {paint('1;36', 'note:')} {_said(label.message)}")
        lines += _excerpt(label.span)
    if d.registers:
        shown = ", ".join(map(str, d.registers))
        lines.append(f"  {paint('1;36', f'registers of lane {d.registers[0].lane}:')} {_said(shown)}")
    if d.hint:
        lines.append(f"  {paint('1;36', 'hint:')} {_said(d.hint)}")
    return "\n".join(lines)


def _place(span: Span | None) -> dict[str, object]:
    file, line, column, length = (span.file, span.line, span.column, span.length) if span else (None, 0, 1, 1)
    return {"file": file, "line": line, "column": column, "length": length}


def render_json(items: Sequence[Diagnostic]) -> str:
    """A JSON array with one object for each diagnostic; docs/json.md describes it."""
    import json

    rows = [
        {"code": d.code, "severity": d.severity, "message": d.message, "hint": d.hint}
        | _place(d.span)
        | {"labels": [{"message": n.message} | _place(n.span) for n in d.labels]}
        | ({"registers": [r._asdict() for r in d.registers]} if d.registers else {})
        for d in items
    ]
    return json.dumps(rows, indent=1)


def render_sarif(items: Sequence[Diagnostic], tool: str) -> str:
    """A SARIF 2.1.0 log, as code-scanning services read it."""

    import json

    def location(span: Span) -> dict[str, object]:
        region = {"startLine": max(1, span.line), "startColumn": span.column, "endColumn": span.column + span.length}
        return {"physicalLocation": {"artifactLocation": {"uri": span.file}, "region": region}}

    results = [
        {
            "ruleId": d.code,
            "level": "error" if d.severity == "error" else "warning",
            "message": {"text": d.message + (f" ({d.hint})" if d.hint else "")},
            "locations": [location(d.span)] if d.span else [],
            "relatedLocations": [location(n.span) | {"message": {"text": n.message}} for n in d.labels],
        }
        | ({"properties": {"registers": [r._asdict() for r in d.registers]}} if d.registers else {})
        for d in items
    ]
    run = {
        "tool": {"driver": {"name": tool, "rules": [{"id": c} for c in sorted({d.code for d in items})]}},
        "results": results,
    }
    log = {"version": "2.1.0", "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "runs": [run]}
    return json.dumps(log, indent=1)


STYLES = ("human", "gnu", "json", "sarif")


def render(items: Sequence[Diagnostic], style: str = "human", color: bool = False, tool: str = "visakit") -> str:
    """All diagnostics in one of the styles.

    Args:
        style: ``human`` (source line, caret and hint), ``gnu`` (a line each), ``json`` or ``sarif``.
        color: whether ``human`` uses the colours of terminals.
        tool: the name of the source in ``sarif``.

    Raises:
        UsageError: there is no such style.
    """
    if style not in STYLES:
        raise UsageError(f"'{style}' is not a style; styles are {', '.join(STYLES)}")
    if style == "json":
        return render_json(items)
    if style == "sarif":
        return render_sarif(items, tool)
    one = render_gnu if style == "gnu" else lambda d: render_human(d, color)
    return "\n".join(one(d) for d in items)
