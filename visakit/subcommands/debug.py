"""The commands ``visakit debug`` and ``visakit dap``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from visakit.commands.command import (
    DEVICE_HELP,
    application,
    device_name,
    flag,
    option,
    platform_option,
    port_number,
)
from visakit.commands.reporting import report
from visakit.diagnostics import UsageError
from visakit.objects.elf import is_ctm
from visakit.usage import exclude
from vsim.checks.options import CheckOption, GuardOption, SuppressionsOption
from vsim.checks.selection import CheckOptions

LAUNCH, EXECUTION, SCRIPTS = "What is launched", "Execution", "Scripts"


@application(
    (
        ("visakit debug image.bin --launch launch.json", "a prompt; 'help' lists its commands"),
        (
            "visakit debug kernels.cl --launch launch.json -x session.gdb --batch",
            "commands of a file, no prompt",
        ),
        ("visakit debug image.bin --arg y=zeros:64 --global-size 64 --command 'break 12' --command run", "some first"),
        ("visakit debug --replay Enqueue_42_saxpy", "an enqueue that the OpenCL Intercept Layer captured"),
    ),
    completion=False,
)
def debug_app(
    image: Annotated[
        str | None, typer.Argument(metavar="IMAGE", help="An image, a zebin, OpenCL C (.cl) or SPIR-V.")
    ] = None,
    launch: Annotated[str | None, option("--launch", "FILE", "Launch file (JSON).", LAUNCH)] = None,
    kernel: Annotated[str, option("--kernel", "NAME", "Kernel to run.", LAUNCH, show_default=False)] = "",
    global_size: Annotated[str | None, option("--global-size", "X,Y,Z", "Work-items.", LAUNCH)] = None,
    local_size: Annotated[str | None, option("--local-size", "X,Y,Z", "Work-items in a group.", LAUNCH)] = None,
    arguments: Annotated[list[str] | None, option("--arg", "NAME=VALUE", "An argument, as of vsim.", LAUNCH)] = None,
    platform: Annotated[str | None, platform_option(DEVICE_HELP, LAUNCH, device_name)] = None,
    build_options: Annotated[
        str,
        option("--build-options", "TEXT", "Options for the compiler; -g is added.", LAUNCH, show_default=False),
    ] = "",
    replay: Annotated[
        str | None, option("--replay", "DIR", "An enqueue that the OpenCL Intercept Layer captured.", LAUNCH)
    ] = None,
    visa: Annotated[str | None, option("--visa", "FILE", "Program of the capture.", LAUNCH)] = None,
    allow_paths: Annotated[bool, flag("--allow-paths", "Let its launch use files anywhere.", LAUNCH)] = False,
    schedule: Annotated[
        str | None, option("--schedule", "ORDER", "Order of groups: random:SEED or reverse.", EXECUTION)
    ] = None,
    engine: Annotated[
        Literal["auto", "llvm", "numpy"],
        option("--engine", None, "The engine of unwatched groups.", EXECUTION),
    ] = "auto",
    check: CheckOption = None,
    guard: GuardOption = False,
    suppressions: SuppressionsOption = None,
    scripts: Annotated[
        list[str] | None,
        option("-x", "FILE", "Run the commands of a file.", SCRIPTS),
    ] = None,
    commands: Annotated[
        list[str] | None, option("--command", "TEXT", "Run a command, after the files.", SCRIPTS)
    ] = None,
    batch: Annotated[bool, flag("--batch", "Leave after these commands; 1 if one was wrong.", SCRIPTS)] = False,
    tui: Annotated[bool, flag("--tui", "Show source, registers, lanes and memory in a window.", SCRIPTS)] = False,
) -> int:
    """Debug the launches of a program, forward and backwards."""
    from visakit.compiler.ocloc import with_lines
    from visakit.file_kinds import source_language
    from vsim.command.debugger import Scripts, debug, debug_in_window, debugged
    from vsim.command.driver import CommandLine
    from vsim.sources.loading import load_program

    if tui:
        exclude("--tui", {"--batch": batch})
    path = image or visa
    options = with_lines(build_options, source_language(path or "", b""))
    captured, loaded = load_program(path, replay, platform, options, None)
    report(loaded.warnings)
    if is_ctm(loaded.data):
        raise UsageError(f"'{loaded.name}' is for the CTM target, which has no debugger")
    line = CommandLine(launch, kernel, global_size, local_size, arguments or (), captured)
    checks = CheckOptions(check, guard, None, suppressions).checking()
    session = debugged(loaded, line, allow_paths, schedule, checks or "", engine)
    if tui:
        return debug_in_window(session, Scripts(scripts or (), commands or ()))
    return debug(session, Scripts(scripts or (), commands or (), batch))


@application(
    (
        ("visakit dap", "an editor starts it, and talks over standard input and output"),
        ("visakit dap --port 4711", "an editor connects to this port"),
    ),
    completion=False,
)
def dap_app(
    port: Annotated[
        int | None,
        option("--port", "N", "Wait for an editor on this port.", EXECUTION, parser=port_number),
    ] = None,
) -> int:
    """Debug for an editor that speaks the Debug Adapter Protocol."""
    from vsim.command.dap import serve

    return serve(port)
