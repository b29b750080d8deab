"""The command ``visakit prove``."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Annotated

import typer

from visakit.commands.command import (
    DEVICE_HELP,
    ErrorFormat,
    Explain,
    Json,
    Version,
    application,
    device_name,
    flag,
    option,
    platform_option,
    positive,
)
from visakit.commands.reporting import report
from visakit.diagnostics import Diagnostic, LaunchError, UsageError, did_you_mean
from visakit.files import check_folder
from visakit.objects.elf import is_ctm
from visakit.usage import exclude

if TYPE_CHECKING:
    from vsim.program import Program
    from vsim.prove.subject import Subject
    from vsim.prove.verdict import Verdict

LAUNCHES, PROOF = "The launches that it is about", "Proof"
PROVED, REFUTED, UNKNOWN = 0, 1, 3
"""Exit codes: all properties are proved; one is refuted; none is refuted and not all are proved."""
SECONDS, MEGABYTES = 60, 4096


@application(
    (
        ("visakit prove image.bin --assume 'n <= size(x) / 4'", "that every access is inside, for all launches"),
        ("visakit prove kernels.cl --kernel scale --local-size 64", "of groups of 64 work-items"),
        ("visakit prove image.bin --assume 'each(col) < n' --out found", "launches that refute go to a folder"),
        ("visakit prove --equal k.cl k.cl --other-options=-cl-opt-disable", "that the optimisations are right"),
        ("visakit prove kernels.cl --witness 12 --out found", "a launch that comes to line 12"),
        ("visakit prove kernels.cl --cover --out found", "few launches that cover all lines and branches"),
        ("visakit prove --peephole 'mul; add' mad", "for which types a compiler may fuse a product and a sum"),
    ),
    completion=False,
)
def prove_app(
    image: Annotated[
        str | None, typer.Argument(metavar="IMAGE", help="An image, a zebin, OpenCL C (.cl) or SPIR-V.")
    ] = None,
    kernel: Annotated[str, option("--kernel", "NAME", "Kernel; all if missing.", LAUNCHES, show_default=False)] = "",
    assume: Annotated[
        list[str] | None,
        option("--assume", "TEXT", "What launches fulfil, such as 'n <= size(x) / 4'; docs/prove.md.", LAUNCHES),
    ] = None,
    local_size: Annotated[
        str | None, option("--local-size", "X,Y,Z", "Work-items in a group; any if missing.", LAUNCHES)
    ] = None,
    dimensions: Annotated[
        int | None,
        option(
            "--dimensions",
            "N",
            "Of the launches; by default the dimensions that the kernel reads.",
            LAUNCHES,
            parser=positive,
        ),
    ] = None,
    platform: Annotated[str | None, platform_option(DEVICE_HELP, LAUNCHES, device_name)] = None,
    build_options: Annotated[
        str,
        option("--build-options", "TEXT", "For the compiler; --witness adds -g.", LAUNCHES, show_default=False),
    ] = "",
    properties: Annotated[
        str | None, option("--property", "LIST", "What is proved, with commas; all if missing.", PROOF)
    ] = None,
    peephole: Annotated[
        tuple[str, str] | None,
        option("--peephole", "LEFT RIGHT", "Prove that two sequences of instructions compute the same.", PROOF),
    ] = None,
    witness: Annotated[
        str | None,
        option("--witness", "PLACE", "Find a launch that comes to LINE, FILE:LINE, *NUMBER or LABEL.", PROOF),
    ] = None,
    cover: Annotated[
        bool, flag("--cover", "Find few launches that cover all lines, and both ways of branches.", PROOF)
    ] = False,
    equal: Annotated[
        tuple[str, str] | None,
        option("--equal", "A B", "Prove that kernels of two programs leave the same in memory.", PROOF),
    ] = None,
    other_options: Annotated[
        str | None,
        option("--other-options", "TEXT", "With --equal, options for the compiler of B; by default those of A.", PROOF),
    ] = None,
    rounds: Annotated[
        int | None,
        option(
            "--rounds",
            "N",
            "With --equal, --witness and --cover, rounds of loops that are followed one by one (4).",
            PROOF,
            parser=positive,
        ),
    ] = None,
    reassociate: Annotated[
        bool, flag("--reassociate", "With --equal, sums and products of floats may have any order.", PROOF)
    ] = False,
    seconds: Annotated[
        int, option("--seconds", "N", "Time for each property, goal, or variation of a rule.", PROOF, parser=positive)
    ] = SECONDS,
    memory: Annotated[
        int, option("--memory", "MB", "Memory for the proofs of a kernel, in megabytes.", PROOF, parser=positive)
    ] = MEGABYTES,
    out: Annotated[str | None, option("--out", "DIR", "Where launches that were found are written.", PROOF)] = None,
    error_format: ErrorFormat = "human",
    as_json: Json = False,
    explain: Explain = None,
    version: Version = False,
) -> int:
    """Prove properties of kernels for all launches, or refute them with one."""
    if importlib.util.find_spec("z3") is None:
        raise LaunchError(Diagnostic("P003", "proofs need the solver Z3", None, "pip install 'visakit[prove]'"))
    if equal is None and (reassociate or other_options is not None):
        raise UsageError("--reassociate and --other-options go with --equal")
    if rounds and equal is None and witness is None and not cover:
        raise UsageError(
            "--rounds goes with --equal, --witness and --cover: other proofs hold for any number of rounds"
        )
    if peephole is not None:
        exclude("--peephole", {"--witness": witness is not None, "--cover": cover, "--equal": equal is not None})
        return _rule(peephole, platform, seconds, image)
    from vsim.command.command_arguments import sizes
    from vsim.prove.assumptions import Assumption
    from vsim.prove.subject import Subject
    from vsim.symbolic.comparing import ROUNDS

    if dimensions is not None and dimensions > 3:
        raise UsageError(f"--dimensions is 1, 2 or 3, found {dimensions}")
    group = sizes(local_size, "--local-size") if local_size else ()
    if 0 in group:
        raise UsageError(f"--local-size has a zero: '{local_size}'")
    if out is not None:
        check_folder(out)
    assumed = [Assumption(text, "--assume") for text in assume or ()]
    limits = seconds, memory
    if witness is not None or cover:
        from visakit.compiler.ocloc import with_lines
        from visakit.file_kinds import source_language

        others = {"--equal": equal is not None, "--property": properties is not None}
        exclude("--cover" if witness is None else "--witness", {**others, "--cover": cover and witness is not None})
        options = with_lines(build_options, source_language(image or "", b""))
        subject = Subject(_program(image, platform, options), kernel, assumed, group, dimensions or 0)
        return _reached(subject, witness, (*limits, rounds or ROUNDS), out, image or "")
    if equal is not None:
        from visakit.prove_equal import prove_kernels
        from vsim.prove.equal import EqualOptions

        exclude("--equal", {"IMAGE": image is not None, "--property": properties is not None})
        builds = (build_options, build_options if other_options is None else other_options)
        programs = [_program(name, platform, options) for name, options in zip(equal, builds, strict=True)]
        first = Subject(programs[0], kernel, assumed, group, dimensions or 0)
        settings = EqualOptions(*limits, rounds or ROUNDS, reassociate)
        return _exit_code({v.outcome for v in prove_kernels(first, programs[1], settings, out, equal)})
    wanted = _properties(properties)
    program = _program(image, platform, build_options)
    names = [kernel] if kernel else program.kernels
    subjects = [Subject(program, name, assumed, group, dimensions or 0) for name in names]
    verdicts = [verdict for subject in subjects for verdict in _proved(subject, wanted, limits, out, image or "")]
    return _exit_code({v.outcome for v in verdicts})


def _program(file: str | None, platform: str | None, build_options: str) -> Program:
    """The program of a file."""
    from vsim.program import Program
    from vsim.sources.loading import load_program
    from vsim.sources.programs import linked

    _, loaded = load_program(file, None, platform, build_options, None)
    report(loaded.warnings)
    if is_ctm(loaded.data):
        raise UsageError(f"'{loaded.name}' is for the CTM target, of which nothing is proved")
    return Program(linked(loaded))


def _exit_code(outcomes: set[str]) -> int:
    return REFUTED if "refuted" in outcomes else UNKNOWN if outcomes - {"proved"} else PROVED


def _rule(peephole: tuple[str, str], platform: str | None, seconds: int, image: str | None) -> int:
    """Prove a rule of compilers; the exit code."""
    from visakit.prove_rules import prove_rule

    if image is not None:
        raise UsageError(f"--peephole is about instructions, and '{image}' is an image")
    return _exit_code({v.outcome for v in prove_rule(*peephole, platform, seconds)})


def _reached(subject: Subject, witness: str | None, limits: tuple[int, int, int], out: str | None, image: str) -> int:
    """Find a launch that comes to a place, or launches that cover kernels; the exit code."""
    from visakit.prove_witness import cover_kernel, find_witnesses

    if witness is not None:
        found = find_witnesses(subject, witness, limits, out, image)
        return REFUTED if "unreachable" in found else UNKNOWN if "unknown" in found else PROVED
    names = [subject.kernel] if subject.kernel else subject.program.kernels
    covers = [cover_kernel(subject._replace(kernel=name), limits, out, image) for name in names]
    return UNKNOWN if any(found.outcome == "unknown" for own in covers for found in own.missed) else PROVED


def _proved(subject: Subject, wanted: list[str], limits: tuple[int, int], out: str | None, image: str) -> list[Verdict]:
    """The verdicts on a kernel, which are printed as they come."""
    from vsim.prove import refutation
    from vsim.prove.prover import prove
    from vsim.prove.report import lines_of

    found = []
    for verdict in prove(subject, wanted, *limits):
        if verdict.refutation is not None and out is not None:
            found_launch = verdict.refutation.launch
            verdict.refutation.where = refutation.write(subject, found_launch, out, verdict.property, [image])
        for line in lines_of(subject.program, verdict):
            print(line, flush=True)
        found.append(verdict)
    return found


def _properties(text: str | None) -> list[str]:
    """The properties that a list names.

    Raises:
        UsageError: there is no such property.
    """
    from vsim.prove.prover import PROPERTIES

    names = [word.strip() for word in text.split(",")] if text is not None else list(PROPERTIES)
    for name in names:
        if name not in PROPERTIES:
            hint = did_you_mean(name, PROPERTIES) or f"there are {', '.join(PROPERTIES)}"
            raise UsageError(f"--property: there is no property '{name}'; {hint}")
    return names
