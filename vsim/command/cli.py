"""The command ``vsim``."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from visakit.commands.command import (
    DEVICE_HELP,
    application,
    device_name,
    flag,
    option,
    platform_option,
    positive,
)
from visakit.commands.reporting import report
from visakit.objects.elf import is_ctm
from visakit.usage import exclude, refuse
from vsim.checks.options import CheckOption, GuardOption, LimitOption, SuppressionsOption
from vsim.checks.selection import CheckOptions
from vsim.command import completion
from vsim.command.option_rules import (
    NOT_WITH_DEBUG,
    NOT_WITH_WORKERS,
    SHARED_WITH_CTM,
    check_threads,
    check_together,
    exclude_named,
)
from vsim.command.trace_file import TraceOptions

if TYPE_CHECKING:
    from vsim.command.numbers import Numbers
    from vsim.program import Program
    from vsim.sources.programs import Loaded

LAUNCH, EXECUTION, REPORT, TRACE, CTM = "What is launched", "Execution", "Results", "Trace", "CTM target"
CAPTURES = "Captures"


def _seconds(value: str | float) -> float:
    try:
        return float(value)
    except ValueError:
        raise typer.BadParameter(f"'{value}' is not a number of seconds") from None


def _tolerance(value: str | float) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1
    if not 0 <= number < float("inf"):
        raise typer.BadParameter(f"'{value}' is not a number from 0 on")
    return number


def _bytes(value: str | int) -> int:
    digits, unit = (text := str(value))[:-1], text[-1:].upper()
    scale = "KMGT".find(unit) + 1 if unit else 0
    number = digits if scale else text
    if not (number.isascii() and number.isdigit() and int(number)):
        raise typer.BadParameter(f"'{value}' is not a number of bytes, such as 500M or 8G")
    return int(number) << 10 * scale


def _registers(loaded: "Loaded", kernel: str, as_json: bool, others: Mapping[str, object]) -> int:
    """Show the registers of the kernels and functions of a program, if no option asks for something else."""
    from vsim.cost.programs import chosen, of_program
    from vsim.cost.register_report import report as register_report
    from vsim.cost.registers import register_use

    alone = {name: value for name, value in others.items() if name not in ("IMAGE", "--kernel")}
    exclude("--registers", alone, ", which runs nothing")
    found = chosen(of_program(loaded.name, loaded.data, loaded.platform), [kernel] if kernel else ())
    print(register_report([register_use(subject) for subject in found], as_json))
    return 0


def _run_ctm(
    name: str,
    launch: str | None,
    out_dir: str | None,
    settings: "tuple[int, Sequence[str], Numbers, bool, bool, float | None]",
    trace: str | None,
    others: Mapping[str, object],
) -> int:
    """Run an image of the CTM target.

    Args:
        settings: the fields of :class:`~vsim.command.ctm_images.CtmSettings`.
        others: the values of options, by name.
    """
    from vsim.command.ctm_images import CtmSettings, run_ctm_image

    refuse({option: value for option, value in others.items() if option not in SHARED_WITH_CTM}, "CTM")
    return int(run_ctm_image(name, launch, out_dir, CtmSettings(*settings), trace))


def _list(program: "Program", as_json: bool) -> int:
    from vsim.command.listing import listing_text

    print(listing_text(program, as_json))
    return 0


@application(
    (
        ("vsim image.bin", "the launches in the image"),
        ("vsim image.bin --launch launch.json --json", "those of a file; how exact the instructions are that ran"),
        ("vsim image.bin --launch launch.json --arg x=random:256:f32", "the same with another array for x"),
        ("vsim image.bin --kernel scale --global-size 256 --arg 0=x.npy --arg 1=2.5f", "one launch, values by number"),
        ("vsim kernels.cl --launch launch.json", "a source, for the newest device that Intel's compiler knows"),
        ("vsim --replay Enqueue_42_saxpy", "an enqueue that the OpenCL Intercept Layer captured"),
        ("vsim image.bin --engine numpy --schedule random:7", "the reference engine, groups in another order"),
    )
)
def app(
    image: Annotated[
        str | None,
        typer.Argument(metavar="IMAGE", help="An image, a zebin, OpenCL C (.cl) or SPIR-V; - for standard input."),
    ] = None,
    launch: Annotated[
        str | None,
        option(
            "--launch",
            "FILE",
            "Launch file (JSON); --global-size, --local-size and --arg replace what its launches say.",
            LAUNCH,
        ),
    ] = None,
    kernel: Annotated[
        str,
        option(
            "--kernel",
            "NAME",
            "Kernel to run; of a launch file or an image, its launches.",
            LAUNCH,
            show_default=False,
            autocompletion=completion.kernels,
        ),
    ] = "",
    global_size: Annotated[
        str | None, option("--global-size", "X,Y,Z", "Work-items: X or X,Y or X,Y,Z.", LAUNCH)
    ] = None,
    local_size: Annotated[str | None, option("--local-size", "X,Y,Z", "Work-items in a group.", LAUNCH)] = None,
    arguments: Annotated[
        list[str] | None,
        option(
            "--arg",
            "NAME=VALUE",
            "By name or number: 5, 2.5f, 7:u64, [1,2]:f32 (a vector or structure), FILE.npy, null, "
            "zeros:N:TYPE (ones, iota, random), local:BYTES.",
            LAUNCH,
            autocompletion=completion.arguments,
        ),
    ] = None,
    platform: Annotated[str | None, platform_option(DEVICE_HELP, LAUNCH, device_name)] = None,
    build_options: Annotated[
        str, option("--build-options", "TEXT", "Options for the compiler of a source.", LAUNCH, show_default=False)
    ] = "",
    engine: Annotated[
        Literal["auto", "llvm", "numpy"],
        option(
            "--engine", None, "What executes; auto: native code, or the reference engine if it ends first.", EXECUTION
        ),
    ] = "auto",
    precision: Annotated[
        Literal["exact", "manual"],
        option(
            "--precision",
            None,
            "Sines, powers and logarithms of floats: rounded once, or as close as hardware must be.",
            EXECUTION,
        ),
    ] = "exact",
    threads: Annotated[
        int | None, option("--threads", "N", "Worker threads; one for each CPU.", EXECUTION, parser=positive)
    ] = None,
    workers: Annotated[
        str | None, option("--workers", "dask://HOST:PORT", "Spread the groups over a cluster.", EXECUTION)
    ] = None,
    schedule: Annotated[
        str | None,
        option(
            "--schedule",
            "ORDER",
            "Order of groups and threads: round-robin, random:SEED or reverse; ascending if missing.",
            EXECUTION,
            autocompletion=lambda: ["round-robin", "random:", "reverse"],
        ),
    ] = None,
    max_seconds: Annotated[
        float,
        option(
            "--max-seconds",
            "SECONDS",
            "Give up a launch, or its compilation, after this time.",
            EXECUTION,
            parser=_seconds,
        ),
    ] = 600,
    max_memory: Annotated[
        int | None,
        option(
            "--max-memory",
            "BYTES",
            "Memory of a launch: 500M, 8G; that of the machine if missing.",
            EXECUTION,
            parser=_bytes,
        ),
    ] = None,
    out_dir: Annotated[
        str | None,
        option("--out-dir", "DIR", "Where outputs go; all buffers that kernels may write go there, too.", REPORT),
    ] = None,
    save: Annotated[
        list[str] | None,
        option(
            "--save",
            "NAME=FILE",
            "Save a buffer by name or number of the argument.",
            REPORT,
            autocompletion=completion.arguments,
        ),
    ] = None,
    show: Annotated[
        list[str] | None,
        option(
            "--show",
            "NAME[SLICE]",
            "Show a part of an argument: y, y[3], y[:8], y[-4:], image[0,:4].",
            REPORT,
            autocompletion=completion.parts,
        ),
    ] = None,
    allow_paths: Annotated[
        bool, flag("--allow-paths", "Let the launch in the image use files anywhere.", REPORT)
    ] = False,
    register_overrun: Annotated[
        bool,
        flag("--allow-register-overrun", "Let addresses of registers reach beyond their variable.", EXECUTION),
    ] = False,
    make_launch: Annotated[
        str | None,
        option(
            "--make-launch",
            "FILE",
            "Write a launch file with the launch that is given, or all kernels'; no run.",
            REPORT,
        ),
    ] = None,
    list_kernels: Annotated[bool, flag("--list", "Show the kernels and their arguments; run nothing.", REPORT)] = False,
    registers: Annotated[
        bool, flag("--registers", "Show the registers and predicted spills of the kernels; run nothing.", REPORT)
    ] = False,
    as_json: Annotated[bool, flag("--json", "Report as JSON; diagnostics, too.", REPORT)] = False,
    profile: Annotated[
        list[str] | None,
        option(
            "--profile",
            "FILE",
            "Count what launches execute; FILE ends in .html, .json, .csv, .lcov, .folded, .speedscope.json or, "
            "with --profile-detail, .perfetto.json.",
            REPORT,
        ),
    ] = None,
    cost: Annotated[
        str | None,
        platform_option("Occupancy, roofline and a floor in cycles of launches on a device.", REPORT, name="--cost"),
    ] = None,
    profile_detail: Annotated[
        bool,
        flag(
            "--profile-detail",
            "Also watch memory, barriers and calls: several times slower.",
            REPORT,
        ),
    ] = False,
    replay: Annotated[
        str | None,
        option("--replay", "DIR", "Run an enqueue that the OpenCL Intercept Layer captured, and compare.", CAPTURES),
    ] = None,
    visa: Annotated[
        str | None, option("--visa", "FILE", "Program of the capture: an image, zebin, source or vISA text.", CAPTURES)
    ] = None,
    relative: Annotated[
        float | None,
        option("--rtol", "NUMBER", "Relative tolerance; 1e-5 for float if missing.", CAPTURES, parser=_tolerance),
    ] = None,
    absolute: Annotated[
        float | None, option("--atol", "NUMBER", "Absolute tolerance; 0 if missing.", CAPTURES, parser=_tolerance)
    ] = None,
    capture: Annotated[
        str | None, option("--capture", "DIR", "Write each launch as a capture: a folder in this one.", CAPTURES)
    ] = None,
    trace: Annotated[
        str | None,
        option(
            "--trace",
            "FILE",
            "A line for each instruction that threads execute, - to show it; FILE.jsonl for JSON.",
            TRACE,
        ),
    ] = None,
    trace_groups: Annotated[
        str | None, option("--trace-groups", "LIST", "Work-groups: 0,4,8-15 or all; 0 if missing.", TRACE)
    ] = None,
    trace_threads: Annotated[
        str | None, option("--trace-threads", "LIST", "Hardware threads of a group; all if missing.", TRACE)
    ] = None,
    trace_lanes: Annotated[str | None, option("--trace-lanes", "LIST", "Lanes; all if missing.", TRACE)] = None,
    trace_item: Annotated[
        list[str] | None,
        option("--trace-item", "X,Y,Z", "A work-item by its global id, of any group; may be repeated.", TRACE),
    ] = None,
    trace_lines: Annotated[
        str | None, option("--trace-lines", "LIST", "Source lines: 12,20-24 or sums.cl:12.", TRACE)
    ] = None,
    trace_variables: Annotated[
        str | None, option("--trace-variables", "LIST", "Instructions that name these variables: V32,P1.", TRACE)
    ] = None,
    trace_instructions: Annotated[
        str | None,
        option("--trace-instructions", "LIST", "Mnemonics, or numbers in a function: svm_*,12-18,f+3.", TRACE),
    ] = None,
    trace_memory: Annotated[
        str | None,
        option(
            "--trace-memory",
            "LIST",
            "Accesses by any group to y, y:64-127 (bytes), local:0-63, 0x10000-0x1ffff.",
            TRACE,
        ),
    ] = None,
    check: CheckOption = None,
    guard: GuardOption = False,
    check_limit: LimitOption = None,
    suppressions: SuppressionsOption = None,
    group: Annotated[
        int | None, option("--group", "N", "Processors in a group; 16 if missing.", CTM, parser=positive)
    ] = None,
    ctm: Annotated[
        list[str] | None, option("--ctm", "NAME=VALUE", "Choose one of the open points of docs/ctm.md.", CTM)
    ] = None,
    debug: Annotated[
        bool, flag("--debug", "Debug the launches at a prompt, as 'visakit debug' does.", EXECUTION)
    ] = False,
) -> int:
    """Execute a linked image, or a compiler's zebin."""
    from vsim.sources.loading import load_program

    said = {"IMAGE": image, "--replay": replay, "--capture": capture, "--launch": launch, "--kernel": kernel,
        "--arg": arguments, "--global-size": global_size, "--local-size": local_size, "--workers": workers,
        "--make-launch": make_launch, "--list": list_kernels}  # fmt: skip
    checks = CheckOptions(check, guard, check_limit, suppressions)
    when_run = checks.said | {
        "--engine": engine != "auto", "--precision": precision != "exact", "--threads": threads,
        "--schedule": schedule, "--allow-register-overrun": register_overrun, "--out-dir": out_dir, "--show": show,
        "--trace": trace, "--profile": profile, "--profile-detail": profile_detail, "--cost": cost}  # fmt: skip
    with_replay = {"--visa": visa, "--rtol": relative, "--atol": absolute}
    others = said | when_run | {"--registers": registers, "--save": save, "--max-memory": max_memory}
    exclude_named("--debug", debug, NOT_WITH_DEBUG, others | {"--json": as_json})
    check_together(said, with_replay, when_run | ({"--save": save} if list_kernels else {}))
    tracing = TraceOptions(
        trace, trace_groups, trace_threads, trace_lanes, trace_item, trace_lines, trace_variables, trace_instructions,
        trace_memory)  # fmt: skip
    selection = tracing.selection(image, launch)
    captured, loaded = load_program(image or visa, replay, platform, build_options, max_seconds)
    report(loaded.warnings)
    if is_ctm(loaded.data):
        others |= tracing.only_vector | {"--platform": platform, "--visa": visa, "--debug": debug,
            "--build-options": build_options, "--trace FILE.jsonl": tracing.as_json}  # fmt: skip
        settings = (group or 16, ctm or (), selection.groups, as_json, allow_paths, max_seconds)
        return _run_ctm(loaded.name, launch, out_dir, settings, trace, others)
    refuse({"--ctm": ctm, "--group": group}, "vISA")
    tracing.check(engine, workers)
    check_threads(threads, {"--engine numpy": engine == "numpy", "--trace": trace, "--profile-detail": profile_detail})
    from vsim.command import driver
    from vsim.launch.options import LaunchOptions, schedule_of

    exclude_named("--workers", workers is not None, NOT_WITH_WORKERS, when_run)
    options = driver.wanted_checks(checks, workers) | LaunchOptions(schedule=schedule_of(schedule))
    options |= LaunchOptions(engine=engine, threads=threads, max_seconds=max_seconds, profile=as_json)
    results = driver.result_options(out_dir, save, show, as_json, capture and (capture, loaded, build_options))
    results = driver.with_counts(results, profile, profile_detail, cost)
    session = driver.open_session(loaded, results, workers, allow_paths, options, max_memory)
    chosen = session.program.image
    chosen.register_overrun, chosen.approximate = register_overrun, precision == "manual"
    line = driver.CommandLine(launch, kernel, global_size, local_size, arguments or (), captured, relative, absolute)
    if debug:
        from vsim.command.debugger import debug_command_line

        return debug_command_line(session.program, loaded.name, line, allow_paths, options)
    if list_kernels or registers:
        return _registers(loaded, kernel, as_json, said | when_run) if registers else _list(session.program, as_json)
    if make_launch:
        return driver.write_launch(session, make_launch, line)
    return int(driver.run_and_report(session, loaded.name, line, tracing, selection))
