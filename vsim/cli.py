"""The command ``vsim``."""

from typing import Annotated, Literal, TextIO

import typer

from visa.command import (
    ErrorFormat,
    Explain,
    ListPlatforms,
    Version,
    application,
    device_name,
    flag,
    option,
    platform_option,
    positive,
)
from visa.diagnostics import UsageError
from visa.elf import is_ctm
from visa.files import read_bytes
from visa.reporting import report
from visa.usage import refuse
from vsim.trace_file import TraceOptions, with_trace

SPIRV = b"\x03\x02\x23\x07"
LAUNCH, EXECUTION, REPORT, TRACE, CTM = "What is launched", "Execution", "Results", "Trace", "CTM target"


def _seconds(value: str | float) -> float:
    try:
        return float(value)
    except ValueError:
        raise typer.BadParameter(f"'{value}' is not a number of seconds") from None


def _bytes(value: str | int) -> int:
    digits, unit = (text := str(value))[:-1], text[-1:].upper()
    scale = "KMGT".find(unit) + 1 if unit else 0
    number = digits if scale else text
    if not (number.isascii() and number.isdigit() and int(number)):
        raise typer.BadParameter(f"'{value}' is not a number of bytes, such as 500M or 8G")
    return int(number) << 10 * scale


def _program(image: str, platform: str | None, build_options: str, max_seconds: float) -> tuple[bytes, str | None]:
    """The bytes of an image or program, compiled if it is a source; and which zebin of them, as far as that is left."""
    data = read_bytes(image)
    if not image.endswith((".cl", ".clcpp")) and not data.startswith(SPIRV):
        return data, platform
    from vsim.ocloc import compile_source

    data, doubts = compile_source(image, data, platform, build_options, max_seconds)
    if doubts:
        report(doubts)
    return data, None


def _check_overrun(wanted: bool, workers: str | None) -> None:
    """Workers get the image alone, which does not keep what addresses may reach."""
    if wanted and workers:
        raise UsageError("--allow-register-overrun does not go with --workers")


@application(
    (
        ("vsim image.bin", "the launches in the image"),
        ("vsim image.bin --launch launch.json --json", "those of a file; how exact the instructions are that ran"),
        ("vsim image.bin --kernel scale --global-size 256 --arg 0=x.npy --arg 1=2.5f", "one launch, values by number"),
        ("vsim kernels.cl --platform bmg --launch launch.json", "a source, which Intel's compiler makes a program of"),
        ("vsim image.bin --engine numpy --schedule random:7", "the reference engine, groups in another order"),
    )
)
def app(
    image: Annotated[
        str, typer.Argument(metavar="IMAGE", help="An image, a zebin, OpenCL C (.cl) or SPIR-V; - for standard input.")
    ],
    launch: Annotated[str | None, option("--launch", "FILE", "Launch file (JSON).", LAUNCH)] = None,
    kernel: Annotated[str, option("--kernel", "NAME", "Kernel to run.", LAUNCH, show_default=False)] = "",
    global_size: Annotated[
        str | None, option("--global-size", "X,Y,Z", "Work-items: X or X,Y or X,Y,Z.", LAUNCH)
    ] = None,
    local_size: Annotated[str | None, option("--local-size", "X,Y,Z", "Work-items in a group.", LAUNCH)] = None,
    arguments: Annotated[
        list[str] | None,
        option(
            "--arg",
            "NAME=VALUE",
            "An argument by name or number: 5, 2.5f, 7:u64, FILE.npy, null, zeros:N:TYPE (iota, random), local:BYTES.",
            LAUNCH,
        ),
    ] = None,
    platform: Annotated[
        str | None, platform_option("Device of a source; which zebin of a container.", LAUNCH, device_name)
    ] = None,
    build_options: Annotated[
        str, option("--build-options", "TEXT", "Options for the compiler of a source.", LAUNCH, show_default=False)
    ] = "",
    engine: Annotated[
        Literal["auto", "llvm", "numpy"],
        option(
            "--engine", None, "What executes; auto: native code, or the reference engine if it ends first.", EXECUTION
        ),
    ] = "auto",
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
        list[str] | None, option("--save", "NAME=FILE", "Save a buffer by name or number of the argument.", REPORT)
    ] = None,
    allow_paths: Annotated[
        bool, flag("--allow-paths", "Let the launch in the image use files anywhere.", REPORT)
    ] = False,
    register_overrun: Annotated[
        bool,
        flag("--allow-register-overrun", "Let addresses of registers reach beyond their variable.", EXECUTION),
    ] = False,
    list_kernels: Annotated[bool, flag("--list", "Show the kernels and their arguments; run nothing.", REPORT)] = False,
    as_json: Annotated[bool, flag("--json", "Report as JSON; diagnostics, too.", REPORT)] = False,
    trace: Annotated[
        str | None, option("--trace", "FILE", "A line for each instruction that threads execute, - to show it.", TRACE)
    ] = None,
    trace_groups: Annotated[
        str | None, option("--trace-groups", "LIST", "Work-groups: 0,4,8-15 or all; 0 if missing.", TRACE)
    ] = None,
    trace_threads: Annotated[
        str | None, option("--trace-threads", "LIST", "Hardware threads of a group; all if missing.", TRACE)
    ] = None,
    trace_lanes: Annotated[str | None, option("--trace-lanes", "LIST", "Lanes; all if missing.", TRACE)] = None,
    group: Annotated[
        int | None, option("--group", "N", "Processors in a group; 16 if missing.", CTM, parser=positive)
    ] = None,
    ctm: Annotated[
        list[str] | None, option("--ctm", "NAME=VALUE", "Choose one of the open points of docs/ctm.md.", CTM)
    ] = None,
    explain: Explain = None,
    error_format: ErrorFormat = "human",
    list_platforms: ListPlatforms = False,
    version: Version = False,
) -> int:
    """Execute a linked image, or a compiler's zebin."""
    data, platform = _program(image, platform, build_options, max_seconds)
    tracing = TraceOptions(trace, trace_groups, trace_threads, trace_lanes)
    numbers = tracing.numbers(image, launch)
    if is_ctm(data):
        from vsim.ctm_images import CtmSettings, run_ctm_image

        others = {"--list": list_kernels, "--kernel": kernel, "--global-size": global_size, "--local-size": local_size}
        others |= {"--arg": arguments, "--platform": platform, "--engine": engine != "auto", "--threads": threads}
        others |= {"--workers": workers, "--schedule": schedule, "--max-memory": max_memory, "--save": save}
        refuse(others | {"--trace-threads": trace_threads, "--trace-lanes": trace_lanes}, "CTM")
        settings = CtmSettings(group or 16, ctm or (), numbers[0])

        def run_grid(out: TextIO | None) -> bool:
            return run_ctm_image(image, launch, out_dir, settings, out, as_json, allow_paths, max_seconds)

        return int(with_trace(trace, run_grid))
    refuse({"--ctm": ctm, "--group": group}, "vISA")
    tracing.check(engine, workers)
    from vsim.command_arguments import described_launch, named_files
    from vsim.driver import open_session
    from vsim.program import RunOptions
    from vsim.schedule import parse_schedule
    from vsim.trace import Trace

    _check_overrun(register_overrun, workers)
    order = parse_schedule(schedule) if schedule else None
    options = RunOptions(engine=engine, threads=threads, max_seconds=max_seconds, schedule=order, profile=as_json)
    session = open_session(
        data, image, out_dir, workers, allow_paths, options, max_memory, named_files(save or ()), platform
    )
    session.program.image.register_overrun = register_overrun
    if list_kernels:
        from vsim.listing import listing_text

        print(listing_text(session.program, as_json))
        return 0

    def run(out: TextIO | None) -> bool:
        if out is not None:
            session.options["trace"] = Trace(out, *numbers)
        if global_size or arguments:
            session.read.update(value.partition("=")[2] for value in arguments or ())
            described = described_launch(session.program, kernel, global_size, local_size, arguments or ())
            session.run_one(described, "the command line")
        else:
            session.run_file(image, launch, kernel)
        session.check_saved()
        session.report(as_json)
        return session.failed

    return int(with_trace(trace, run))
