"""A text that is being read: places in it, and diagnostics about them."""

from __future__ import annotations

import re

from visakit.diagnostics import Collector, Diagnostic, Label, Span
from visakit.text.problem import Problem
from visakit.text.syntax import Placed


class Source:
    """The lines of a text, and the collector of its diagnostics."""

    def __init__(self, text: str, file: str, collector: Collector) -> None:
        self.file, self.collector = file, collector
        self.lines = text.split("\n")
        self.code = self.lines
        """The lines without comments, once these are known."""

    def span(self, line: int, column: int = 0, length: int = 1) -> Span:
        """A place; the line counts from 1, the column from 0."""
        text = self.lines[line - 1].rstrip("\r") if 0 < line <= len(self.lines) else ""
        return Span(self.file, line, column + 1, max(length, 1), text)

    def name_span(self, line: int, name: str) -> Span:
        """The place of a name in the line that defines it."""
        m = re.search(rf"(?<![\w%.]){re.escape(name)}(?!\w)", self.lines[line - 1])
        return self.span(line, m.start() if m else 0, len(name))

    def report(self, problem: Problem, line: int, at: Placed | None = None, labels: tuple[Label, ...] = ()) -> None:
        """An error; where the problem has no place, it is ``at``."""
        span = self._placed_span(line, problem.at or at)
        self.collector.add(Diagnostic(problem.code, problem.message, span, problem.hint, labels))

    def warn(self, code: str, message: str, line: int, at: Placed | None = None, hint: str = "") -> None:
        """A warning."""
        self.collector.add(Diagnostic(code, message, self._placed_span(line, at), hint, (), "warning"))

    def _placed_span(self, line: int, at: Placed | None) -> Span:
        return self.span(line, at.column, len(at.text)) if at else self.span(line)
