"""The command ``visakit``: the driver for OpenCL and Level Zero programs, its installation, and its requirements."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import typer
from typer.core import TyperOption
from typer.main import get_command

import visakit
from visakit.commands.command import (
    DIAGNOSTICS,
    application,
    device_name,
    flag,
    option,
    platform_option,
    positive,
)
from visakit.diagnostics import Diagnostic, FileError, LaunchError, Span, UsageError, did_you_mean
from visakit.file_kinds import HEAD_BYTES, kind_of
from visakit.files import check_appendable, check_folder, make_directory, open_regular, read_text
from visakit.language.platforms import PLATFORMS, find
from visakit.runtime.settings import (
    CHECK_LIMIT_SETTING,
    CHECK_SETTING,
    DEBUG_SETTING,
    ENGINE_SETTING,
    LINES_SETTING,
    NAME_SETTING,
    PAGES_SETTING,
    PLATFORM_SETTING,
    PROFILE_DETAIL_SETTING,
    PROFILE_SETTING,
    SCHEDULE_SETTING,
    SUPPRESSIONS_SETTING,
    TEXTS_SETTING,
    THREADS_SETTING,
    TRACE_SETTING,
    DebugRequest,
    sycl_settings,
)
from visakit.subcommands.debug import dap_app, debug_app
from visakit.subcommands.prove import prove_app
from visakit.subcommands.registers import registers_app
from visakit.usage import whole_number
from vsim.checks.options import CheckOption, GuardOption, LimitOption, SuppressionsOption
from vsim.checks.selection import CheckOptions

EXECUTION, DEBUGGER, INSTALLATION = "Execution", "The debugger", "Installation"


def _device(value: str) -> str:
    """A platform with simulated devices."""
    from visakit.runtime.models import MODELS

    name = device_name(value)
    platform = find(name)
    if platform is None or platform.name not in MODELS:
        raise typer.BadParameter(f"there are no devices of '{value}'; there are {', '.join(MODELS)}")
    return platform.name


def _devices() -> list[tuple[str, str]]:
    """The platforms of which there are devices, and their titles."""
    from visakit.runtime.models import MODELS

    return [(name, PLATFORMS[name].title) for name in MODELS]


def _order(value: str) -> str:
    """An order of groups and threads."""
    from vsim.launch.schedule import parse_schedule

    try:
        parse_schedule(value)
    except LaunchError as error:
        raise typer.BadParameter(error.diagnostics[0].message) from None
    return value


def _debug_request(value: str) -> DebugRequest:
    """The launch that is debugged."""
    kernel, _, number = value.partition(":")
    count = whole_number(number or "1")
    if not kernel or not count or (":" in value and not number):
        raise typer.BadParameter(f"a kernel's name, or KERNEL:N with N from 1 on, is expected, found '{value}'")
    return DebugRequest(kernel, count)


def _program(value: str) -> str:
    """The whole path of a program."""
    path = shutil.which(value)
    if path is None:
        raise typer.BadParameter(f"there is no program '{value}'")
    return os.path.abspath(path)


@application(
    (
        ("visakit exec ./program input.txt", "an OpenCL or Level Zero program, unchanged, on the simulated device"),
        ("visakit exec --platform tgllp --trace - clinfo", "another device; every call on standard error"),
    ),
    completion=False,
)
def exec_app(
    program: Annotated[str, typer.Argument(metavar="PROGRAM", help="A program that uses OpenCL or Level Zero.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="ARGUMENT...", help="The arguments of the program.")
    ] = None,
    platform: Annotated[
        str | None,
        platform_option(
            "Device that the program finds; if missing, the newest that the compiler knows.",
            EXECUTION,
            _device,
            _devices,
        ),
    ] = None,
    engine: Annotated[Literal["llvm", "numpy"], option("--engine", None, "What executes kernels.", EXECUTION)] = "llvm",
    threads: Annotated[
        int | None, option("--threads", "N", "Threads of a kernel; one for each CPU.", EXECUTION, parser=positive)
    ] = None,
    schedule: Annotated[
        str | None,
        option(
            "--schedule",
            "ORDER",
            "Order of groups and threads: round-robin, random:SEED or reverse.",
            EXECUTION,
            parser=_order,
        ),
    ] = None,
    ocloc: Annotated[
        str | None, option("--ocloc", "FILE", "Compiler; the one on the path if missing.", EXECUTION, parser=_program)
    ] = None,
    lines: Annotated[
        bool, flag("-g", "Build kernels with -g: messages and profiles name lines of OpenCL C.", EXECUTION)
    ] = False,
    whole_pages: Annotated[
        bool, flag("--whole-pages", "Let kernels write up to the end of the page behind memory.", EXECUTION)
    ] = False,
    device_name: Annotated[
        str | None, option("--device-name", "TEXT", "Name of the device, for programs that look for one.", EXECUTION)
    ] = None,
    trace: Annotated[
        str | None, option("--trace", "FILE", "Write a line for each call; - for standard error.", EXECUTION)
    ] = None,
    keep_texts: Annotated[
        str | None,
        option("--keep-texts", "DIR", "Write the vISA and the sources of all programs that are built.", EXECUTION),
    ] = None,
    profile: Annotated[
        str | None,
        option("--profile", "DIR", "Count what kernels execute; a report and JSON of each kernel.", EXECUTION),
    ] = None,
    profile_detail: Annotated[
        bool, flag("--profile-detail", "Also watch memory, barriers and calls: several times slower.", EXECUTION)
    ] = False,
    check: CheckOption = None,
    guard: GuardOption = False,
    check_limit: LimitOption = None,
    suppressions: SuppressionsOption = None,
    debug: Annotated[
        DebugRequest | None,
        option(
            "--debug", "KERNEL[:N]", "Debug the first launch of a kernel, or the N-th.", DEBUGGER, parser=_debug_request
        ),
    ] = None,
    scripts: Annotated[
        list[str] | None, option("-x", "FILE", "Run the debugger's commands of a file.", DEBUGGER)
    ] = None,
    commands: Annotated[
        list[str] | None, option("--command", "TEXT", "Run a command of the debugger, after the files.", DEBUGGER)
    ] = None,
    batch: Annotated[
        bool, flag("--batch", "End the program after these commands; 1 if one was wrong.", DEBUGGER)
    ] = False,
) -> int:
    """Run a program of OpenCL or Level Zero on the simulated device."""
    from visakit.compiler.devices import DRIVER_SETTING
    from visakit.opencl.library import icd_folder, library_path

    driver = library_path()
    settings = {ENGINE_SETTING: engine, "OCL_ICD_VENDORS": icd_folder(driver), "ZE_ENABLE_ALT_DRIVERS": str(driver)}
    if trace is not None:
        check_appendable(trace)
    chosen = {PLATFORM_SETTING: platform, THREADS_SETTING: threads, TRACE_SETTING: trace and _absolute(trace)}
    chosen |= {DRIVER_SETTING: ocloc, SCHEDULE_SETTING: schedule, LINES_SETTING: 1 if lines else None}
    chosen |= {PAGES_SETTING: 1 if whole_pages else None, NAME_SETTING: device_name}
    if keep_texts is not None:
        make_directory(keep_texts)
        check_folder(keep_texts)
        chosen[TEXTS_SETTING] = os.path.abspath(keep_texts)
    chosen |= _profiles(profile, profile_detail)
    chosen |= _checks(CheckOptions(check, guard, check_limit, suppressions))
    chosen |= _debugger(debug, scripts or [], commands or [], batch)
    settings |= {name: str(value) for name, value in chosen.items() if value is not None}
    settings |= sycl_settings(program)
    _replace_process([program, *(arguments or [])], os.environ | settings)
    return 0


def _profiles(folder: str | None, detail: bool) -> dict[str, str | int | None]:
    """The settings of profiles.

    Raises:
        UsageError: there is no folder for the detail.
        FileError: the folder cannot be made.
    """
    if folder is None:
        if detail:
            raise UsageError("--profile-detail goes with --profile DIR")
        return {}
    make_directory(folder)
    check_folder(folder)
    found: dict[str, str | int | None] = {PROFILE_SETTING: os.path.abspath(folder)}
    return found | ({PROFILE_DETAIL_SETTING: 1} if detail else {})


def _checks(wanted: CheckOptions) -> dict[str, str | int | None]:
    """The settings of the checks that the driver is to run.

    Raises:
        UsageError: there is no such check, or the options do not go together.
        FormatError: K091, a line of the file of suppressions is invalid.
    """
    if wanted.checking() is None:
        return {}
    known = wanted.suppressions and os.path.abspath(wanted.suppressions)
    return {CHECK_SETTING: wanted.names, CHECK_LIMIT_SETTING: wanted.limit, SUPPRESSIONS_SETTING: known}


def _debugger(
    wanted: DebugRequest | None, files: Sequence[str], commands: Sequence[str], is_batch: bool
) -> dict[str, str | None]:
    """The setting of the debugger.

    Raises:
        UsageError: there are scripts and no debugger.
        FileError: a script cannot be read.
    """
    if wanted is None:
        if files or commands or is_batch:
            raise UsageError("-x, --command and --batch are the debugger's: --debug KERNEL chooses a launch")
        return {}
    for path in files:
        read_text(path)
    request = wanted._replace(files=[os.path.abspath(f) for f in files], commands=commands, is_batch=is_batch)
    return {DEBUG_SETTING: json.dumps(request._asdict())}


def _absolute(path: str) -> str:
    return path if path == "-" else os.path.abspath(path)


def _replace_process(words: Sequence[str], environment: Mapping[str, str]) -> None:
    """Become another program, which gets the signals back that Python ignores.

    Raises:
        FileError: it cannot be run.
    """
    sys.stdout.flush()
    ignored = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGPIPE, signal.SIGXFSZ)}
    try:
        os.execvpe(words[0], list(words), dict(environment))
    except (OSError, ValueError) as error:
        for number, handler in ignored.items():
            signal.signal(number, handler)
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(Diagnostic("F001", f"it cannot be run: {reason}", Span(words[0], 0), _cure(words[0]))) from None


def _cure(path: str) -> str:
    """The command that takes a file that is no program, or where a program was missed; empty if it is unknown."""
    try:
        with open_regular(path) as stream:
            kind = kind_of(path, stream.read(HEAD_BYTES))
    except (OSError, ValueError):
        kind = None
    if kind:
        return f"this is {kind.title}: {kind.cure}"
    if os.path.dirname(path) or shutil.which(path) is not None:
        return ""
    return "no folder of PATH has it" + (f"; ./{path} is one here" if os.path.exists(path) else "")


@application(
    (
        ("visakit opencl --install ~/icd", "the driver, and visakit.icd that leads to it"),
        ("OCL_ICD_VENDORS=~/icd ./program", "what then finds the device"),
    ),
    completion=False,
)
def opencl_app(
    install: Annotated[str, option("--install", "DIR", "Where the driver goes.", INSTALLATION)],
) -> int:
    """Write the OpenCL driver, and the file by which loaders find it, into a folder."""
    from visakit.opencl.library import install as install_driver

    print(install_driver(install))
    return 0


@application(
    (
        ("visakit levelzero --install ~/driver", "the driver, whose path it prints"),
        ("ZE_ENABLE_ALT_DRIVERS=~/driver/libvisakit-levelzero.so ./program", "what then finds the device"),
    ),
    completion=False,
)
def levelzero_app(
    install: Annotated[str, option("--install", "DIR", "Where the driver goes.", INSTALLATION)],
) -> int:
    """Write the Level Zero driver into a folder."""
    from visakit.opencl.library import install_library

    print(install_library(install, "libvisakit-levelzero.so"))
    return 0


@application(
    (("visakit doctor", "installed parts with their versions, missing ones with their packages"),), completion=False
)
def doctor_app(
    as_json: Annotated[bool, flag("--json", "Report as JSON; diagnostics, too.", DIAGNOSTICS)] = False,
) -> int:
    """List the parts that programs of OpenCL and Level Zero need: which are installed, and how to get the others."""
    from visakit.subcommands.doctor import findings

    rows = findings()
    failed = int(any(row.is_needed and not row.found for row in rows))
    if as_json:
        tree = [{"name": r.what, "found": r.found, "needed": r.is_needed, "advice": r.advice} for r in rows]
        print(json.dumps(tree, indent=1))
        return failed
    width = max(len(row.what) for row in rows)
    for row in rows:
        state = "ok     " if row.found else "missing" if row.is_needed else "absent "
        print(f"{row.what:{width}}  {state}  {row.found or row.advice}")
    return failed


APPS = {
    "exec": exec_app,
    "debug": debug_app,
    "dap": dap_app,
    "registers": registers_app,
    "prove": prove_app,
    "opencl": opencl_app,
    "levelzero": levelzero_app,
    "doctor": doctor_app,
}
SUMMARIES = {
    "exec": "run a program of OpenCL or Level Zero on the simulated device",
    "debug": "debug launches, forward and backwards",
    "dap": "debug for an editor: the Debug Adapter Protocol",
    "registers": "show registers, threads and predicted spills of kernels",
    "prove": "prove properties of kernels for all launches, or refute them",
    "opencl": "write the OpenCL driver into a folder",
    "levelzero": "write the Level Zero driver into a folder",
    "doctor": "list installed and missing parts",
}


def all_commands() -> typer.Typer:
    """The commands as one application, which shells complete."""
    app = typer.Typer()
    for name, one in APPS.items():
        app.registered_commands += one.registered_commands
        app.registered_commands[-1].name, app.registered_commands[-1].help = name, SUMMARIES[name]
    return app


def summary() -> str:
    """The output of ``visakit --help``."""
    lines = ["Usage: visakit COMMAND ...", ""]
    lines += [f"  {name:11}{what}" for name, what in SUMMARIES.items()]
    lines += ["", "visakit COMMAND --help shows options and examples,", "visakit --explain CODE explains a message,"]
    lines.append("visakit --install-completion lets the shell complete commands and options.")
    return "\n".join(lines)


def choose(words: Sequence[str]) -> tuple[typer.Typer, str, list[str]] | str:
    """The chosen command, its name and its words; or a text to print.

    Raises:
        UsageError: there is no command, or no such one.
    """
    if "_VISAKIT_COMPLETE" in os.environ or (words and words[0] in ("--install-completion", "--show-completion")):
        return all_commands(), "visakit", list(words)
    if not words:
        raise UsageError(f"COMMAND is missing\n\n{summary()}")
    if words[0] in ("-h", "--help"):
        return summary()
    if words[0] == "--version":
        return f"visakit (visakit) {visakit.__version__}"
    name, *rest = words
    if name == "--explain":  # as for the other commands, without a subcommand
        return APPS["doctor"], "visakit", list(words)
    if name not in APPS:
        hint = did_you_mean(name, APPS) or f"commands are {', '.join(APPS)}"
        raise UsageError(f"there is no command '{name}'; {hint}")
    return APPS[name], f"visakit {name}", _separated(rest) if name == "exec" else rest


def _separated(words: Sequence[str]) -> list[str]:
    """The words of ``exec`` with ``--`` before the program, whose words follow."""
    options = [p for p in get_command(exec_app).params if isinstance(p, TyperOption)]
    with_value = {name for o in options if not o.is_flag for name in o.opts}
    position = 0
    while position < len(words) and words[position].startswith("-") and words[position] not in ("-", "--"):
        position += 2 if words[position] in with_value else 1
    if position < len(words) and words[position] != "--":
        return [*words[:position], "--", *words[position:]]
    return list(words)
