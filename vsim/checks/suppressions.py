"""Files that say which findings are known, so that they are not shown again.

A line is one suppression: words that all must hold of a finding, behind ``#`` a comment::

    kernel=histogram check=race             # everything that this check finds in a kernel or function
    code=K002 instruction=svm_scatter*      # a mnemonic, or the whole text of an instruction; * stands for anything
    source=reduce.cl:17                     # a line of the source or text; of a path the end is enough

Of a finding with two sides one is enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from visakit.diagnostics import Diagnostic, FormatError, Span, did_you_mean
from vsim.checks.names import NAMES

KEYS = ("check", "code", "kernel", "instruction", "source")


@dataclass(frozen=True)
class Described:
    """One side of a finding, as suppressions see it: the instruction's text, and its line, as ``file:line``."""

    function: str
    mnemonic: str
    text: str
    lines: tuple[str, ...]


@dataclass
class Suppression:
    """One line of a file; ``used``: whether it has held of a finding."""

    span: Span
    words: Mapping[str, str]
    used: bool = False

    def holds(self, check: str, code: str, kernel: str, sides: Sequence[Described]) -> bool:
        """Whether it is about a finding of a launch of a kernel."""
        words = self.words
        if words.get("check", check) != check or words.get("code", code) != code:
            return False
        return any(self._holds_of(kernel, side) for side in sides)

    def _holds_of(self, kernel: str, side: Described) -> bool:
        wanted = self.words.get("kernel", kernel)
        text = self.words.get("instruction", "*")
        source = self.words.get("source")
        return (
            any(fnmatchcase(name, wanted) for name in (kernel, side.function))
            and any(fnmatchcase(one, text) for one in (side.mnemonic, side.text))
            and (source is None or any(line == source or line.endswith(f"/{source}") for line in side.lines))
        )


@dataclass
class Suppressions:
    """What is known, by the lines of a file."""

    items: list[Suppression] = field(default_factory=list)

    def holds(self, check: str, code: str, kernel: str, sides: Sequence[Described]) -> bool:
        """Whether a finding is known; all lines that are about it count as used."""
        found = [s for s in self.items if s.holds(check, code, kernel, sides)]
        for suppression in found:
            suppression.used = True
        return bool(found)

    def unused(self) -> list[Diagnostic]:
        """A warning for each line that was about no finding."""
        message, hint = "no finding of the run matches this suppression", "remove it if its finding is mended"
        return [Diagnostic("K090", message, s.span, hint, severity="warning") for s in self.items if not s.used]


def parse_suppressions(text: str, file: str) -> Suppressions:
    """The suppressions of a file.

    Raises:
        FormatError: K091, a line has another form; all such lines are named.
    """
    found, problems = Suppressions(), []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].rstrip()
        if not content.strip():
            continue
        span = Span(file, number, len(content) - len(content.lstrip()) + 1, len(content.strip()), line)
        words = _words(content)
        problem, hint = _problem(words)
        if problem:
            problems.append(Diagnostic("K091", problem, span, hint))
        else:
            found.items.append(Suppression(span, words))
    if problems:
        raise FormatError(problems)
    return found


def _words(content: str) -> dict[str, str]:
    """The value of each key, up to the next key: texts of instructions have blanks."""
    words: dict[str, list[str]] = {}
    key = ""
    for word in content.split():
        name, equals, value = word.partition("=")
        if equals and name.isidentifier():
            key = name
            words[key] = [value]
        else:
            words.setdefault(key, []).append(word)
    return {key: " ".join(parts).strip() for key, parts in words.items()}


def _problem(words: Mapping[str, str]) -> tuple[str, str]:
    """What is wrong with a line, and a hint; empty if nothing."""
    for key, value in words.items():
        if not key:
            return f"'{value}' is not a condition", f"conditions are {', '.join(f'{k}=...' for k in KEYS)}"
        if key not in KEYS:
            return f"there is no condition '{key}'", did_you_mean(key, KEYS) or f"conditions are {', '.join(KEYS)}"
        if not value:
            return f"'{key}=' has no value", ""
    check = words.get("check", NAMES[0])
    if check not in NAMES:
        return f"'{check}' is not a check", did_you_mean(check, NAMES) or f"checks are {', '.join(NAMES)}"
    return "", ""
