"""The debugger's commands: their table, and one line after the other.

A command is a function of a console and its words, entered by :func:`command`; the words are gdb's. Its errors are
:class:`vsim.debug.problems.DebugError`, which show the wrong part of the line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from visakit.diagnostics import DebugError, Diagnostic, VisaError, did_you_mean
from visakit.files import read_text
from vsim.debug.problems import COMMAND, part_of, problem
from vsim.debug.session import Session
from vsim.debug.stops import Breakpoint, Stop
from vsim.debug.values import WIDTH

Write = Callable[[str], None]
MAXIMUM_DEPTH = 16
"""Scripts that scripts run."""


class CommandWords(NamedTuple):
    """What follows a command.

    Attributes:
        text: unchanged.
        line: the whole line, and where the text begins in it.
        format: what follows a slash: ``x`` of ``print/x``.
    """

    text: str
    line: str
    at: int
    format: str = ""

    def problem(self, message: str, hint: str = "") -> DebugError:
        """The error that the text is wrong."""
        at = part_of(self.line, self.at, self.at + len(self.text)) if self.text else None
        return problem(COMMAND, message, hint, at)

    def split(self) -> list[str]:
        """Words between blanks; quoted ones are one.

        Raises:
            DebugError: D001, a quote is open.
        """
        try:
            return shlex.split(self.text)
        except ValueError:
            raise self.problem("a quotation does not end") from None

    def number(self, default: int | None = None) -> int:
        """A count.

        Raises:
            DebugError: D001, the word is no whole number.
        """
        if not self.text and default is not None:
            return default
        if not (self.text.isascii() and self.text.isdigit() and len(self.text) < 10):
            raise self.problem(f"a number is expected, found '{self.text}'")
        return int(self.text)


Run = Callable[["Console", CommandWords], None]
Complete = Callable[["Console", str], Iterable[str]]


class ConsoleCommand(NamedTuple):
    """A command.

    Attributes:
        name: with its aliases.
        usage: its name, and what follows.
        summary: one line of help.
        topic: under which help lists it.
        complete: possible words at the end of a line.
        repeats: whether an empty line runs it again.
    """

    name: str
    aliases: tuple[str, ...]
    usage: str
    summary: str
    topic: str
    run: Run
    complete: Complete | None
    repeats: bool


TABLE: dict[str, ConsoleCommand] = {}
"""Commands by name."""
R = TypeVar("R", bound=Run)


def command(
    usage: str, aliases: str, topic: str, complete: Complete | None = None, repeats: bool = False
) -> Callable[[R], R]:
    """Decorator that enters a command into the table; ``usage`` begins with its name, the docstring is its help."""
    name = re.split(r"[\s\[]", usage, maxsplit=1)[0]

    def enter(run: R) -> R:
        summary = run.__doc__ or ""
        TABLE[name] = ConsoleCommand(name, tuple(aliases.split()), usage, summary, topic, run, complete, repeats)
        return run

    return enter


def find(word: str, line: str) -> ConsoleCommand:
    """The command that a word means: its name, an alias, or a beginning that no other has.

    Raises:
        DebugError: D001, no command begins so, or several do.
    """
    at = line.find(word)
    place = part_of(line, at, at + len(word))
    for own in TABLE.values():
        if word == own.name or word in own.aliases:
            return own
    found = [own for name, own in TABLE.items() if name.startswith(word)]
    if len(found) == 1:
        return found[0]
    if found:
        raise problem(COMMAND, f"'{word}' may be {', '.join(c.name for c in found)}", "", place)
    hint = did_you_mean(word, TABLE) or "'help' lists the commands"
    raise problem(COMMAND, f"there is no command '{word}'", hint, place)


class Console:
    """Runs lines, and writes their output.

    Attributes:
        color: whether grey stands for lanes that do not run.
        width: columns of a table.
        complain: gets errors of commands; ``write`` if it is missing.
        displays: expressions that each stop shows, by number, with their formats.
        failed: whether a command was wrong.
        has_ended: whether ``quit`` was said.
        source_lines: lines of a script that follow; for blocks of ``commands``.
    """

    def __init__(self, session: Session, write: Write, color: bool = False, complain: Write | None = None) -> None:
        from vsim.debug import choosing, looking, running

        assert choosing and looking and running  # They enter their commands into the table.
        self.session, self.write, self.color, self.complain = session, write, color, complain or write
        self.width = WIDTH
        self.displays: dict[int, tuple[str, str]] = {}
        self.failed = self.has_ended = False
        self.last = ""
        self.shown_results = 0
        self.listed: tuple[str, int] | None = None
        self._ahead: list[Iterator[str]] = []
        self._place: tuple[str, int] = ("<command>", 1)

    # -- lines ---------------------------------------------------------------------------------------------

    def run(self, line: str) -> None:
        """Run a line, and report its errors."""
        try:
            self.do(line)
        except KeyboardInterrupt:
            self.failed = True
            self.complain("interrupted")
        except VisaError as error:
            self.failed = True
            self.show_results()
            for diagnostic in error.diagnostics:
                self.complain(self._shown(diagnostic, line))

    def _shown(self, diagnostic: Diagnostic, line: str) -> str:
        from visakit.diagnostics import render_human

        span = diagnostic.span
        if span is None and self._place[0] != "<command>":  # A script has further lines.
            span = part_of(line, 0, len(line))
        if span is not None and span.file == "<command>":
            file, number = self._place
            diagnostic = replace(diagnostic, span=replace(span, file=file, line=number))
        return render_human(diagnostic)

    def do(self, line: str) -> None:
        """Run a line.

        Raises:
            VisaError: it is wrong, or cannot be done.
        """
        text = line.strip()
        if text.startswith("#"):
            return
        if not text:
            if not self.last:
                return
            text = self.last
        word, at = _first_word(text)
        name, _, letters = word.partition("/")
        own = find(name, text)
        self.last = text if own.repeats else ""
        words = CommandWords(text[at:].strip(), text, _start(text, at), letters)
        try:
            own.run(self, words)
        except DebugError as error:
            raise _placed(error, words) from None
        self.show_results()

    def script(self, lines: Iterable[str], name: str) -> bool:
        """Run the lines of a script up to the first that is wrong; whether all were right."""
        if len(self._ahead) >= MAXIMUM_DEPTH:
            raise problem(COMMAND, f"scripts run scripts more than {MAXIMUM_DEPTH} deep")
        numbered = enumerate(lines, 1)
        outer, self._place = self._place, (name, 1)

        def following() -> Iterator[str]:
            for number, line in numbered:
                self._place = (name, number)
                yield line

        ahead = following()
        self._ahead.append(ahead)
        before = self.failed
        try:
            for line in ahead:
                self.failed = False
                if line.strip():
                    self.run(line)
                if self.failed:
                    return False
                if self.has_ended:
                    break
            self.failed = before
            return True
        finally:
            self._ahead.pop()
            self._place = outer

    def script_file(self, path: str) -> bool:
        """Run a script.

        Raises:
            FileError: it cannot be read.
        """
        return self.script(read_text(path).splitlines(), path)

    def block(self) -> list[str]:
        """The lines up to ``end``.

        Raises:
            DebugError: D001, they do not end.
        """
        found: list[str] = []
        if self._ahead:
            for line in self._ahead[-1]:
                if line.strip() == "end":
                    return found
                found.append(line.strip())
        raise problem(COMMAND, "the lines end without 'end'", "commands of a breakpoint are lines, the last is 'end'")

    def complete(self, line: str) -> list[str]:
        """Words that may end a line."""
        if " " not in line.lstrip():
            names = [n for c in TABLE.values() for n in (c.name, *(a for a in c.aliases if len(a) > 3))]
            return sorted(n for n in names if n.startswith(line.strip()))
        word, at = _first_word(line.lstrip())
        try:
            own = find(word.partition("/")[0], line)
            rest = line.lstrip()[at:]
            beginning = rest.split(" ")[-1]
            found = own.complete(self, rest) if own.complete is not None else ()
            return sorted({w for w in found if w.startswith(beginning)})
        except VisaError:
            return []

    # -- output --------------------------------------------------------------------------------------------

    def show_results(self) -> None:
        """What kernels have printed since."""
        results = self.session.results
        for text in results[self.shown_results :]:
            if text:
                self.write(text.rstrip("\n"))
        self.shown_results = len(results)

    def show_stop(self, stop: Stop) -> None:
        """Say where and why the launch stopped."""
        self.show_results()
        for text in self.session.watching.logged:
            self.write(text)
        self.session.watching.logged.clear()
        for line in stop.lines:
            self.write(line[:1].upper() + line[1:] if stop.reason != "fault" else line)
        self.listed = None
        if stop.reason != "end":
            self.show_frame()
            for number, (text, letters) in self.displays.items():
                self.show_display(number, text, letters)
        for number in stop.numbers:
            own = self.session.breakpoints.get(number)
            if own is not None:
                self._commands_of(own)

    def _commands_of(self, own: Breakpoint) -> None:
        for line in own.commands:
            self.run(line)

    def show_frame(self) -> None:
        """The instruction in focus, with its source line."""
        from vsim.debug.looking import frame_lines

        for line in frame_lines(self.session, self.session.frame_number):
            self.write(line)

    def show_display(self, number: int, text: str, letters: str) -> None:
        """An expression of ``display``."""
        from vsim.debug.looking import shown_lines

        try:
            lines = shown_lines(self, text, letters)
        except VisaError as error:
            lines = [f"<{error.diagnostics[0].message}>"]
        self.write(f"{number}: {text}" + (f" = {lines[0]}" if len(lines) == 1 else ""))
        for line in lines if len(lines) > 1 else ():
            self.write(f"  {line}")


def _placed(error: DebugError, words: CommandWords) -> DebugError:
    """An error about the words of a command, if it has no place yet."""
    diagnostic = error.diagnostics[0]
    if diagnostic.span is not None or not words.text:
        return error
    return DebugError(replace(diagnostic, span=part_of(words.line, words.at, words.at + len(words.text))))


def _first_word(text: str) -> tuple[str, int]:
    """The word of the command, and where its rest begins."""
    end = next((n for n, c in enumerate(text) if c.isspace()), len(text))
    return text[:end], end


def _start(text: str, at: int) -> int:
    rest = text[at:]
    return at + len(rest) - len(rest.lstrip())


def topics() -> dict[str, Sequence[ConsoleCommand]]:
    """The commands by topic."""
    found: dict[str, list[ConsoleCommand]] = {}
    for own in TABLE.values():
        found.setdefault(own.topic, []).append(own)
    return dict(found)
