"""What the command files share: an argument parser, and failures as diagnostics and exit codes.

The parser is argparse: the commands run once for each file of a build, and the larger libraries take longer to import
than a file takes to assemble.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable
from typing import NoReturn

import visa
from visa.diagnostics import STYLES, UsageError, VisaError
from visa.files import report, show_warnings
from visa.platforms import PLATFORMS, find


def parser(tool: str, description: str) -> argparse.ArgumentParser:
    """An argument parser with the options that all commands have."""
    found = argparse.ArgumentParser(prog=tool, description=description, allow_abbrev=False)
    found.add_argument(
        "--version", action="version", version=f"{tool} (visakit) {visa.__version__}", help="show the version and exit"
    )
    found.add_argument("--error-format", choices=STYLES, default="human", help="style of diagnostics (default: human)")
    return found


def run(tool: str, options: argparse.ArgumentParser, command: Callable[[argparse.Namespace], int]) -> None:
    """Run a command and leave the process: 0 when done, 1 when the input is at fault, 2 on wrong usage."""
    arguments = options.parse_intermixed_args()
    show_warnings(tool)
    try:
        code = command(arguments)
        sys.stdout.flush()
    except UsageError as error:
        print(f"{tool}: {error}", file=sys.stderr)
        code = 2
    except VisaError as error:
        report(error.diagnostics, arguments.error_format, tool)
        code = 1
    except BrokenPipeError:
        code = 1
    except KeyboardInterrupt:
        print(f"{tool}: interrupted", file=sys.stderr)
        code = 130
    _leave(code)


def _leave(code: int) -> NoReturn:
    """Exit at once: taking down numpy, LLVM and the workers piece by piece takes longer than a small run."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


def platform_name(value: str) -> str:
    """Type of ``--platform``: the canonical name."""
    found = find(value)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{value}' is not a platform; platforms are {', '.join(PLATFORMS)}")
    return found.name


def positive(value: str) -> int:
    """Type of an option that takes a whole number from 1 on."""
    if not value.isdigit() or int(value) < 1:
        raise argparse.ArgumentTypeError(f"'{value}' is not a whole number from 1 on")
    return int(value)
