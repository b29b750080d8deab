"""What the command files share: a typer application whose failures are diagnostics and exit codes."""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Callable

import typer

import visa
from visa.diagnostics import VisaError
from visa.files import UsageError, report
from visa.platforms import PLATFORMS, find


class ErrorFormat(enum.StrEnum):
    """How diagnostics are written."""

    human = "human"
    gnu = "gnu"
    json = "json"
    sarif = "sarif"


def application(tool: str, function: Callable[..., None]) -> typer.Typer:
    """A single-command application."""
    app = typer.Typer(name=tool, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(help=function.__doc__, context_settings={"help_option_names": ["-h", "--help"]})(function)
    return app


def run(tool: str, function: Callable[..., None]) -> None:
    """Run a command: exit 0 when done, 1 when the input is at fault, 2 on wrong usage."""
    style = "human"
    for i, word in enumerate(sys.argv):
        if word == "--error-format" and i + 1 < len(sys.argv):
            style = sys.argv[i + 1]
        elif word.startswith("--error-format="):
            style = word.partition("=")[2]
    try:
        application(tool, function)(prog_name=tool)
    except VisaError as error:
        report(error.diagnostics, style, tool)
        sys.exit(1)
    except UsageError as error:
        print(f"{tool}: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        print(f"{tool}: interrupted", file=sys.stderr)
        sys.exit(130)


def show_version(tool: str) -> Callable[[bool], None]:
    """Callback of ``--version``."""

    def callback(value: bool) -> None:
        if value:
            print(f"{tool} (visakit) {visa.__version__}")
            raise typer.Exit

    return callback


def platform_name(value: str | None) -> str | None:
    """Callback of ``--platform``: the canonical name."""
    if value is None:
        return None
    found = find(value)
    if found is None:
        raise typer.BadParameter(f"'{value}' is not a platform; platforms are {', '.join(PLATFORMS)}")
    return found.name
