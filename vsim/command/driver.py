"""An image to a session: the work of the command ``vsim`` before launches."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

from visakit.diagnostics import UsageError
from visakit.language.platforms import find
from visakit.usage import check_platform
from vsim.command.session import LaunchSession, ResultOptions
from vsim.command.trace_file import TraceOptions, with_trace
from vsim.launch.options import LaunchOptions
from vsim.program import Program
from vsim.sources.programs import Loaded, linked
from vsim.sources.zebins import is_compiled

if TYPE_CHECKING:
    from vsim.checks.selection import CheckOptions
    from vsim.cost.costs import Costs
    from vsim.observe.selection import Selection
    from vsim.profile.profiler import Profiler
    from vsim.sources.capture_writer import CaptureWriter
    from vsim.sources.captures import Capture


def machine_memory() -> int:
    """Bytes of memory of this machine; 16 GiB where it does not tell."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 16 << 30


def open_session(
    loaded: Loaded,
    results: ResultOptions,
    workers: str | None,
    allow_paths: bool,
    options: LaunchOptions,
    max_memory: int | None,
) -> LaunchSession:
    """A session for an image or a zebin, on the cluster at the address ``workers`` if there is one.

    Args:
        max_memory: bytes that a launch may take; None for the memory of the machine.

    Raises:
        FormatError: the bytes are not an image or are damaged.
        UsageError: the image is for another platform than the requested one.
        LaunchError: no cluster answers at the address.
    """
    data = loaded.data
    program = Program(linked(loaded))
    program.memory.limit = max_memory or machine_memory()
    if not workers:
        return LaunchSession(program, results, output=sys.stdout, allow_paths=allow_paths, **options)
    from vsim.cluster.cluster import Cluster

    whole = program.image.to_bytes() if is_compiled(data) else data
    parts = options.copy()
    parts.pop("profile", None)  # The parts of a launch on a cluster do not keep one.
    cluster = Cluster(program, whole, workers, **parts)
    return LaunchSession(program, results, cluster, output=sys.stdout, allow_paths=allow_paths, **options)


def wanted_checks(wanted: CheckOptions, workers: str | None) -> LaunchOptions:
    """The option of launches that are checked; empty without checks.

    Raises:
        UsageError: an unknown check, or options that exclude each other.
        FormatError: K091, a line of the file is not a suppression.
        FileError: it cannot be read.
    """
    found = wanted.checking()
    if found is None:
        return LaunchOptions()
    if workers:
        given = "--guard" if wanted.check is None else "--check"
        raise UsageError(f"{given} does not go with --workers: the order of accesses is not known across machines")
    return LaunchOptions(check=found)


def result_options(
    out_dir: str | None,
    save: Sequence[str] | None,
    show: Sequence[str] | None,
    as_json: bool,
    capture: tuple[str, Loaded, str] | str | None,
) -> ResultOptions:
    """The outputs of a command line.

    Args:
        capture: the folder of captures, the program and its build options; None or empty for no captures.

    Raises:
        UsageError: an option has another form.
        FormatError: the program is damaged.
        FileError: the folder of captures cannot be made.
    """
    found = ResultOptions(
        out_dir, as_json=as_json, capture=_capture_writer(*capture) if isinstance(capture, tuple) else None
    )
    if save:
        from vsim.command.command_arguments import named_files

        found = found._replace(save=named_files(save))
    if show:
        from vsim.command.shown import parse_parts

        found = found._replace(show=parse_parts(show))
    return found


def with_counts(results: ResultOptions, files: Sequence[str] | None, detail: bool, cost: str | None) -> ResultOptions:
    """The results with what counts in launches; arguments and errors are those of the functions below."""
    return results._replace(profiler=wanted_profiler(files, detail, cost), costs=wanted_costs(cost))


def wanted_profiler(files: Sequence[str] | None, detail: bool, cost: str | None = None) -> Profiler | None:
    """What counts in launches; None for nothing.

    Args:
        detail: whether accesses, barriers and calls are watched, too.
        cost: the platform whose costs are computed of the counts.

    Raises:
        UsageError: a file of unknown format, or options that exclude each other.
    """
    if detail and not files and not cost:
        raise UsageError("--profile-detail goes with --profile FILE or --cost PLATFORM")
    if not files and not cost:
        return None
    from vsim.profile.profiler import TRACE, Profiler

    if not detail and (trace := next((file for file in files or () if file.endswith(TRACE)), "")):
        raise UsageError(f"'{trace}' needs --profile-detail: a timeline needs the order of instructions")
    return Profiler(files or (), detail)


def wanted_costs(name: str | None) -> Costs | None:
    """What collects the costs of launches on a platform; None for nothing.

    Raises:
        CostError: Q001, the table has no constants of the platform.
    """
    platform = find(name) if name else None
    if platform is None:
        return None
    from vsim.cost.costs import Costs

    return Costs(platform)


def _capture_writer(folder: str, loaded: Loaded, options: str) -> CaptureWriter:
    """The writer of captures of a program's launches."""
    from visakit.objects.zebin import find_zebin
    from vsim.sources.capture_writer import CaptureWriter

    files = dict(loaded.files)
    if not files:
        found = find_zebin(loaded.data, loaded.name, check_platform(loaded.platform))
        files["DeviceBinary0.bin"] = found[0] if found else loaded.data
    return CaptureWriter(folder, files, options)


class CommandLine(NamedTuple):
    """What a command line says of a launch, each as it was written.

    Attributes:
        file: a launch file.
        captured: a capture, which is replayed; the tolerances are for its results.
    """

    file: str | None
    kernel: str
    global_size: str | None
    local_size: str | None
    arguments: Sequence[str]
    captured: Capture | None = None
    relative: float | None = None
    absolute: float | None = None


def run_launches(session: LaunchSession, image: str, line: CommandLine) -> None:
    """Run the launches of a command line: a capture, one launch, a launch file, or the launches in the image.

    Raises:
        UsageError: a value has another form.
        LaunchError: a launch does not fit its kernel.
        SimulationError: a kernel did something without a defined result.
    """
    if line.captured is not None:
        from vsim.sources.replay import Tolerance, run_replay

        run_replay(session, line.captured, Tolerance(line.relative, line.absolute))
    elif line.global_size or line.local_size or line.arguments:
        from vsim.command.command_arguments import described_launch, override

        session.read.update(value.partition("=")[2] for value in line.arguments)
        given = line.kernel, line.global_size, line.local_size, line.arguments
        if line.file is None:
            session.run_one(described_launch(session.program, *given), "the command line")
        else:
            session.run_file(image, line.file, line.kernel, lambda file: override(session.program, file, *given))
    else:
        session.run_file(image, line.file, line.kernel)
    session.check_found()


def run_and_report(
    session: LaunchSession, image: str, line: CommandLine, tracing: TraceOptions, selection: Selection
) -> bool:
    """Run the launches of a command line, and report; whether a result differs from the expected one.

    Args:
        tracing: names the file that gets a line for each instruction that is selected, if there is one.

    Raises:
        VisaError: as of :func:`run_launches`, or the trace cannot be written.
        LaunchError: S015, nothing that has executed matches a part of the selection.
    """

    session.results.check_writable()

    def run(out: TextIO | None) -> bool:
        trace = None
        if out is not None:
            from vsim.observe.trace import Trace

            trace = session.options["trace"] = Trace(out, selection, tracing.as_json)
        run_launches(session, image, line)
        session.report()
        if trace is not None:
            trace.check(session.program.image.file)
        return session.failed

    return with_trace(tracing.file, run, session.read)


def write_launch(session: LaunchSession, path: str, line: CommandLine) -> int:
    """Write the command line's launch as a launch file; without a kernel's name, one launch of each kernel.

    Raises:
        UsageError: an argument that the kernel lacks, an output that would replace an input, or an existing file.
        LaunchError: an unknown kernel.
        FileError: F001, something cannot be written.
    """
    from vsim.command.command_arguments import given_launch
    from vsim.launch.writer import make_launch

    if line.file:
        raise UsageError("--make-launch writes a launch file, and --launch gives one: choose one of them")
    program, save = session.program, session.results.save
    kernels = [line.kernel] if line.kernel or line.arguments else program.kernels
    signatures = [program.signature(name) for name in kernels]
    sizes = line.global_size, line.local_size
    take = program.memory.budget()
    make_launch(path, [given_launch(s, *sizes, line.arguments, save, take) for s in signatures], (program.image.file,))
    return 0
