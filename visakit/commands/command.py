"""Shared parts of the commands: types of options, and the end of a command.

A command is a Typer application of one function, which takes typed parameters and gives the exit code. Help is plain
text (:mod:`visakit.commands.help`). A mistake on the command line is one line with the option, the found and the
allowed value.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import inspect
import itertools
import os
import re
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Annotated, Literal, NoReturn

import typer
from typer.core import TyperArgument, TyperOption
from typer.main import get_command
from typer.models import OptionInfo

import visakit
import visakit.start
from visakit.commands.help import HelpfulCommand
from visakit.commands.reporting import Reporter, begin_report, is_for_people, show_warnings
from visakit.diagnostics import MAXIMUM_ERRORS, STYLES, UsageError, VisaError, did_you_mean
from visakit.files import open_streams
from visakit.language.platforms import PLATFORMS, platform_table
from visakit.long_work import is_terminal, show_long_work
from visakit.usage import check_platform

DIAGNOSTICS = "Diagnostics"
"""Panel of the help with the options about errors and warnings."""

DEVICE_HELP = (
    "Device of a source; if missing, the newest that the compiler knows (--list-platforms). Of a container, its zebin."
)
"""Of the option --platform where sources are taken."""


_OF_OUTPUT = (errno.EBADF, errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT, errno.EAGAIN)
"""Errors of writing; no other work of a command has them without the name of a file."""


def application(
    examples: Sequence[tuple[str, str]], completion: bool = True
) -> Callable[[Callable[..., int]], typer.Typer]:
    """Decorator that makes a command of a function: adds the options that all commands have, which it handles, and
    ends the help with examples: command lines and their effects.

    Args:
        completion: whether shells complete its words, which takes a command of one word.
    """

    def decorate(function: Callable[..., int]) -> typer.Typer:
        app = typer.Typer(rich_markup_mode="rich", add_completion=completion)
        lines = [f"{line}\n    [dim]{what}[/dim]" for line, what in examples]
        settings = {"help_option_names": ["-h", "--help"]}
        app.command(cls=HelpfulCommand, epilog="\n".join(["[bold]Examples[/bold]", *lines]), context_settings=settings)(
            _with_common_options(function)
        )
        return app

    return decorate


def _with_common_options(function: Callable[..., int]) -> Callable[..., int]:
    """The function, with parameters of the common options; it gets only parameters that it declares."""
    signature = inspect.signature(function, eval_str=True)
    own = signature.parameters
    common = [p for p in inspect.signature(_common_options, eval_str=True).parameters.values() if p.name not in own]
    added = [p for p in common if p.name != "list_platforms" or "platform" in own]

    @functools.wraps(function)
    def command(**given: object) -> int:
        return function(**{name: value for name, value in given.items() if name in own})

    parameters = [*own.values(), *added]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined] # Typer looks there.
    return command


def run(app: typer.Typer, tool: str) -> NoReturn:
    """Run a command with the arguments of the process, and leave it."""
    open_streams()
    _forget_odd_widths()
    show_warnings()
    visakit.start.at_work(True)
    try:
        code = exit_code(app, tool, sys.argv[1:])
    except KeyboardInterrupt:  # during the report
        code = visakit.start.INTERRUPTED
    visakit.start.at_work(False)
    _leave(code)


def _forget_odd_widths() -> None:
    """Remove invalid sizes of the terminal from the environment: the printer of the help converts them to numbers."""
    for name in ("COLUMNS", "LINES", "TERMINAL_WIDTH"):
        said = os.environ.get(name, "1")
        if not (said.isascii() and said.isdecimal() and len(said) <= 4):
            del os.environ[name]


def exit_code(app: typer.Typer, tool: str, words: Sequence[str]) -> int:
    """Run a command: 0 when done, 1 when the input is at fault, 2 on wrong usage, 130 when interrupted."""
    code = 0
    reporter = begin_report(tool, *_style(words))
    show_long_work(is_for_people() and is_terminal(sys.stderr))
    try:
        code = _run(app, tool, words, reporter)
        sys.stdout.flush()
    except BrokenPipeError:
        code = code or 1  # The reader has seen enough.
    except OSError as error:
        if not code:  # Otherwise an error was reported.
            is_output = not error.filename and error.errno in _OF_OUTPUT
            reporter.fail("F001", f"standard output: {error.strerror}" if is_output else visakit.start.cannot(error))
        code = code or 1
    except (ImportError, MemoryError) as error:  # Modules are loaded when they are needed.
        reporter.fail("F001", visakit.start.cannot(error))
        code = 1
    reporter.close()
    return code


def _style(words: Sequence[str]) -> tuple[str, bool]:
    """The style of diagnostics that a command line asks for; mistakes in the line itself are reported in it, too.

    The other value is whether a document is wanted where there is nothing to say: --json is about reports first.
    """
    style = "human"
    for word, following in itertools.pairwise([*words, ""]):
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name == "--error-format" and (chosen := value if equals else following) in STYLES:
            return chosen, True
        if word == "--json":
            style = "json"
    return style, False


def _run(app: typer.Typer, tool: str, words: Sequence[str], reporter: Reporter) -> int:
    """Run a command; the caller handles errors of standard output."""
    command = get_command(app)
    if f"_{tool.upper()}_COMPLETE" in os.environ:
        command.main(prog_name=tool)  # A shell completes the word at the cursor; this does not return.
    options = [p for p in command.params if isinstance(p, TyperOption)]
    try:
        with command.make_context(tool, _separate_values(tool, words, options)) as context:
            code: int = command.invoke(context)
    except typer.Exit as done:
        code = done.exit_code
    except typer.TyperException as error:
        names = [name for option in options for name in option.opts]
        reporter.fail("U001", _usage_message(error, tool, words, names))
        code = 2
    except UsageError as error:
        reporter.fail("U001", str(error))
        code = 2
    except VisaError as error:
        reporter.report(error.diagnostics)
        code = 1
    except KeyboardInterrupt:
        reporter.fail("U004", "interrupted")
        code = visakit.start.INTERRUPTED
    return code


def _leave(code: int) -> NoReturn:
    """Exit at once: taking down numpy, LLVM and the workers piece by piece takes longer than a small run."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


def _separate_values(tool: str, words: Sequence[str], options: Iterable[TyperOption]) -> list[str]:
    """The words with ``-o=FILE`` as ``-o FILE``. Typer would take any following word as the value of an option, and
    ``-output`` for ``-o utput``.

    Raises:
        UsageError: an option is in the place of another one's value, or has one dash instead of two.
    """
    options = list(options)
    wanted = {name: _metavar(option) for option in options if not option.is_flag for name in option.opts}
    names = {name for option in options for name in option.opts}
    out: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            return [*out, word, *rest]
        if word in wanted:
            out += [word, _value(word, next(rest, None), wanted[word], names)]
        elif word[:2] in wanted and word[2:3] == "=":
            out += [word[:2], word[3:]]
        elif word[:2] in wanted and _is_long_option(word, names):
            raise UsageError(_no_option(word, tool, words, [*names]))
        else:
            out.append(word)
    return out


def _value(option: str, value: str | None, metavar: str, names: Container[str]) -> str:
    """The word behind an option that takes one, if it is its value."""
    is_text = metavar == "TEXT" and value not in names  # such as options of a compiler
    if value is None or (_is_option(value) and not is_text):
        found = "" if value is None else f", found '{value}'"
        raise UsageError(f"{option} needs {metavar} behind it{found}")
    return value


def _is_option(word: str) -> bool:
    """Whether a word begins with a dash, and is no number."""
    return len(word) > 1 and word[0] == "-" and not (word[1].isdigit() or word[1] == ".")


def _is_long_option(word: str, names: Container[str]) -> bool:
    """Whether a word with one dash is a long option, of this command or as other tools have it."""
    name = word.partition("=")[0]
    return f"-{name}" in names or name[1:] in _OPTIONS_ELSEWHERE


def _metavar(option: TyperOption) -> str:
    return " or ".join(getattr(option.type, "choices", ())) or str(option.metavar)


_OPTIONS_ELSEWHERE = {
    "out": "-o", "output": "-o", "debug": "-g", "target": "--platform", "device": "--platform", "p": "--platform",
    "arch": "--platform", "march": "--platform", "mcpu": "--platform", "args": "--arg", "size": "--global-size",
    "library": "-l", "wg-size": "--local-size", "output-dir": "--out-dir", "out_dir": "--out-dir",
    "options": "--build-options", "e": "--entry", "M": "--map", "Map": "--map", "a": "--listing", "j": "--threads",
    "v": "--version", "V": "--version", "f": "--error-format", "k": "--kernel",
}  # fmt: skip
"""Options of other tools, without their dashes, by the names that a command here may have."""
_OF_COMPILERS = re.compile(r"-(g|w|[DIO].*|cl-.*)")
"""Options of compilers of OpenCL C, which --build-options takes."""


def _usage_message(error: typer.TyperException, tool: str, words: Sequence[str], names: Sequence[str]) -> str:
    """One line about a mistake on the command line.

    Typer's exceptions for them have no public names; their attributes tell the kinds apart.
    """
    parameter: TyperOption | TyperArgument | None = getattr(error, "param", None)
    message = error.message.rstrip(".")
    if parameter is not None:
        name = parameter.opts[-1] if isinstance(parameter, TyperOption) else str(parameter.metavar).rstrip(".")
        if not message:
            return f"{name} is missing; see {tool} --help"
        choices = getattr(parameter.type, "choices", None)
        hint = did_you_mean(message.split("'")[1], choices) if choices else ""
        return f"{name}: {message}" + (f"; {hint}" if hint else "")
    if hasattr(error, "possibilities"):
        return _no_option(str(getattr(error, "option_name", "")), tool, words, names)
    if message.startswith("Got unexpected extra argument"):
        return f"there is no place for '{message.rpartition('(')[2].rstrip(')')}'; see {tool} --help"
    return f"{message[:1].lower()}{message[1:]}; see {tool} --help"


def _no_option(unknown: str, tool: str, words: Sequence[str], names: Sequence[str]) -> str:
    """What to say of an option that a command does not have, of which Typer names the beginning: -p of -platform."""
    written = next((w for w in words if w.startswith(unknown)), unknown)
    if "--build-options" in names and _OF_COMPILERS.fullmatch(written):
        return f"there is no option '{written}'; a compiler gets it by '--build-options={written}'"
    name = written.split("=")[0]
    meant = _OPTIONS_ELSEWHERE.get(name.lstrip("-"))
    same = [n for n in names if n.lstrip("-") == name.lstrip("-") or n == meant]
    near = did_you_mean(name, same or [n for n in names if n.startswith(name)] or names)
    hint = f"did you mean '{meant}'?" if same == [meant] else near
    return f"there is no option '{written}'; {hint or f'see {tool} --help'}"


def platform_name(value: str) -> str:
    """The canonical name of a platform."""
    try:
        return str(check_platform(value))
    except UsageError as error:
        raise typer.BadParameter(str(error)) from None


def device_name(value: str) -> str:
    """A platform or a device of the compiler, unchanged."""
    platform_name(value)
    return value


def positive(value: str | int) -> int:
    """A whole number from 1 on; Typer also passes the default here."""
    if not str(value).isdigit() or int(value) < 1:
        raise typer.BadParameter(f"'{value}' is not a whole number from 1 on")
    return int(value)


def port_number(value: str) -> int:
    """The number of a port."""
    if not (value.isascii() and value.isdigit() and len(value) < 6 and 0 < int(value) < 1 << 16):
        raise typer.BadParameter(f"'{value}' is no port, which are 1 to 65535")
    return int(value)


def _platforms() -> list[tuple[str, str]]:
    return [(p.name, p.title) for p in PLATFORMS.values()]


def _version(context: typer.Context, wanted: bool) -> None:
    if wanted:
        print(f"{context.info_name} (visakit) {visakit.__version__}")
        raise typer.Exit


def option(name: str, metavar: str | None, help: str, panel: str, **more: object) -> OptionInfo:
    """An option with a value, shown in a panel of the help; ``more`` are other parameters of ``typer.Option``."""
    more |= {"metavar": metavar, "help": help, "rich_help_panel": panel}
    made: OptionInfo = typer.Option(name, **more)  # type: ignore[call-overload] # Typer checks them.
    return made


def flag(name: str, help: str, panel: str) -> OptionInfo:
    """An option without a value, shown in a panel of the help."""
    made: OptionInfo = typer.Option(name, help=help, rich_help_panel=panel)
    return made


def platform_option(
    help: str,
    panel: str,
    parser: Callable[[str], str] = platform_name,
    names: Callable[[], list[tuple[str, str]]] = _platforms,
    name: str = "--platform",
) -> OptionInfo:
    """The option ``--platform``, or another one of a platform; gives the canonical name, or what another parser gives.

    Args:
        names: the names that shells complete, with descriptions.
    """
    return option(name, "NAME", help, panel, parser=parser, autocompletion=names)


def max_errors_option(of: str) -> OptionInfo:
    """The option ``--max-errors``; ``of`` says whose errors it counts."""
    text = f"Errors {of} to stop after; {MAXIMUM_ERRORS} if missing."
    return option("--max-errors", "N", text, DIAGNOSTICS, parser=positive)


def _list_platforms(wanted: bool) -> None:
    if wanted:
        from visakit.compiler.devices import device_table

        print(f"{platform_table()}\n\n{device_table()}")
        raise typer.Exit


def _codes() -> list[tuple[str, str]]:
    from visakit.catalog import catalog

    return [(code, title) for code, (title, _) in catalog().items()]


def _explain(code: str | None) -> None:
    if not code:
        return
    from visakit.catalog import catalog, explain

    try:
        print(explain(code), end="")
    except KeyError:
        hint = did_you_mean(code.upper(), catalog()) or "see docs/errors.md"
        raise UsageError(f"there is no message '{code}'; {hint}") from None
    raise typer.Exit


def _common_options(
    explain: Annotated[
        str | None,
        option(
            "--explain",
            "CODE",
            "Explain a message, and exit.",
            DIAGNOSTICS,
            autocompletion=_codes,
            callback=_explain,
            is_eager=True,
        ),
    ] = None,
    error_format: Annotated[
        Literal["human", "gnu", "json", "sarif"],
        option("--error-format", "STYLE", "Style of diagnostics: human, gnu, json or sarif.", DIAGNOSTICS),
    ] = "human",
    as_json: Annotated[bool, flag("--json", "Diagnostics as JSON: one array, if there are any.", DIAGNOSTICS)] = False,
    list_platforms: Annotated[
        bool,
        typer.Option(
            "--list-platforms",
            callback=_list_platforms,
            is_eager=True,
            help="Show the platforms, their devices, and the devices of the installed compiler, and exit.",
        ),
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """The options that all commands have; :func:`_style` reads the styles of diagnostics before a command runs."""
