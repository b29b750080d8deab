"""The command ``visakit registers``."""

from __future__ import annotations

from typing import Annotated

import typer

from visakit.commands.command import (
    DEVICE_HELP,
    DIAGNOSTICS,
    application,
    device_name,
    flag,
    option,
    platform_option,
    positive,
)
from visakit.commands.reporting import report as report_problems
from visakit.diagnostics import Diagnostic

PROGRAMS, REPORT = "Programs", "Report"


@application(
    (
        ("visakit registers program.zebin", "a line for each kernel; all about it, if there is one"),
        ("visakit registers dump/ --json > registers.json", "a folder of the compiler's dumps"),
        ("visakit registers kernel.visaasm --platform ptl --listing", "the registers at each instruction"),
    ),
    completion=False,
)
def registers_app(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="vISA texts, objects, images, program binaries, sources, folders."),
    ],
    platform: Annotated[str | None, platform_option(DEVICE_HELP, PROGRAMS, device_name)] = None,
    build_options: Annotated[
        str, option("--build-options", "TEXT", "Options for the compiler of sources.", PROGRAMS, show_default=False)
    ] = "",
    kernels: Annotated[
        list[str] | None, option("--kernel", "NAME", "A kernel or function; may be repeated.", PROGRAMS)
    ] = None,
    registers: Annotated[
        int | None,
        option("--registers", "N", "Registers of a thread; else the compiler's choice.", REPORT, parser=positive),
    ] = None,
    listing: Annotated[bool, flag("--listing", "Show the registers that each instruction holds.", REPORT)] = False,
    details: Annotated[bool, flag("--details", "Show all about each kernel, if there are several.", REPORT)] = False,
    as_json: Annotated[bool, flag("--json", "Report as JSON; diagnostics, too.", DIAGNOSTICS)] = False,
) -> int:
    """Show the registers that kernels hold at their peaks, the threads that fit, and predicted spills."""
    from vsim.cost.programs import chosen, subjects
    from vsim.cost.register_report import report
    from vsim.cost.registers import register_use

    problems: list[Diagnostic] = []
    found = chosen(subjects(files, platform, build_options, problems), kernels or ())
    report_problems(problems)
    if found or as_json:
        print(report([register_use(subject, registers) for subject in found], as_json, details, listing))
    return int(bool(problems))
