"""The help of a command as text: one column of options and one of words, in the width of the terminal or 80 columns."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

MAXIMUM_WIDTH, MINIMUM_WIDTH = 100, 40
_COLUMN = 26
"""Where the words of an option begin; those of longer options begin in the next line."""
_LAST = ("Diagnostics", "Options")
"""Panels of all commands; they follow the command's own panels."""


class HelpfulCommand(TyperCommand):
    """A command whose help is :func:`help_text`."""

    def get_help(self, ctx: typer.Context) -> str:  # type: ignore[override]
        is_plain = not sys.stdout.isatty() or bool(os.environ.get("NO_COLOR"))
        width = min(MAXIMUM_WIDTH, max(MINIMUM_WIDTH, shutil.get_terminal_size((80, 24)).columns))
        return help_text(self, ctx, width, is_plain)


def help_text(command: TyperCommand, context: typer.Context, width: int, is_plain: bool = True) -> str:
    """Usage, arguments, options by panel and examples; ``is_plain`` omits bold type.

    No line has more than ``width`` characters but for command lines of examples.
    """
    panels: dict[str, list[str]] = {}
    for p in command.get_params(context):
        if isinstance(p, TyperArgument):
            panels.setdefault("Arguments", []).extend(_row(str(p.metavar), p.help or "", width))
        elif isinstance(p, TyperOption):
            panels.setdefault(str(p.rich_help_panel or _LAST[-1]), []).extend(_row(*_words(p), width))
    for name in _LAST:
        panels[name] = panels.pop(name, [])
    pieces = (piece.strip("{}") for piece in command.collect_usage_pieces(context))
    usage = " ".join(["Usage:", context.command_path, *pieces])
    lines = [*textwrap.wrap(usage, width, subsequent_indent="  "), "", *textwrap.wrap(command.help or "", width)]
    for name, rows in panels.items():
        lines += ["", f"{_title(name, is_plain)}:", *rows] if rows else []
    examples = re.sub(r"\[/?(bold|dim)\]", "", command.epilog or "").splitlines()
    if examples:
        lines += ["", f"{_title(examples[0], is_plain)}:", *(f"  {line}" for line in examples[1:])]
    return "\n".join(lines)


def _title(name: str, is_plain: bool) -> str:
    return name if is_plain else f"\x1b[1m{name}\x1b[0m"


def _words(option: TyperOption) -> tuple[str, str]:
    """The spelling of an option, and its effect."""
    choices = getattr(option.type, "choices", None)
    value = "" if option.is_flag else option.metavar or "|".join(choices or ())
    default = option.default if option.show_default and not option.is_flag else None
    said = f" [default: {default}]" if isinstance(default, (str, int, float)) else ""
    names: Iterable[str] = sorted((*option.opts, *option.secondary_opts), key=len)
    return f"{', '.join(names)} {value}".rstrip(), f"{option.help or ''}{said}"


def _row(head: str, words: str, width: int) -> list[str]:
    """An option and its words."""
    indent = " " * _COLUMN
    lines = textwrap.wrap(words, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    if len(head) + 4 > _COLUMN or not lines:
        return [f"  {head}", *lines]
    return [f"  {head}".ljust(_COLUMN) + lines[0][_COLUMN:], *lines[1:]]
