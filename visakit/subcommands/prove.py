"""The command ``visakit prove``."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

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
from visakit.diagnostics import Diagnostic, LaunchError, UsageError, did_you_mean
from visakit.files import check_folder
from visakit.objects.elf import is_ctm
from visakit.usage import exclude

if TYPE_CHECKING:
    from vsim.program import Program
    from vsim.prove.subject import Subject

LAUNCHES, PROOF = "Launches", "Proof"
PROVED, REFUTED, UNKNOWN = 0, 1, 3
"""Exit codes: all properties are proved; one is refuted; none is refuted and not all are proved."""
SECONDS, MEGABYTES = 60, 4096
NOT_WITH: dict[str, Sequence[str]] = {
    "--peephole": ("IMAGE", "--witness", "--cover", "--equal", "--property", "--kernel", "--assume", "--local-size",
                   "--dimensions", "--build-options", "--out"),
    "--witness": ("--cover", "--equal", "--property"),
    "--cover": ("--equal", "--property"),
    "--equal": ("IMAGE", "--property"),
}  # fmt: skip
"""The options that choose a kind of proof, with the options that each has no use for."""
ONLY_WITH = {
    "--rounds": ("--equal", "--witness", "--cover"), "--reassociate": ("--equal",), "--other-options": ("--equal",)
}  # fmt: skip
"""Options of some kinds of proof; those of properties hold for any number of rounds."""


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
) -> int:
    """Prove properties of kernels for all launches, or refute them with one."""
    if importlib.util.find_spec("z3") is None:
        raise LaunchError(Diagnostic("P003", "proofs need the solver Z3", None, "pip install 'visakit[prove]'"))
    _check_together({
        "IMAGE": image, "--kernel": kernel, "--assume": assume, "--local-size": local_size, "--dimensions": dimensions,
        "--build-options": build_options, "--property": properties, "--peephole": peephole, "--witness": witness,
        "--cover": cover, "--equal": equal, "--other-options": other_options is not None, "--rounds": rounds,
        "--reassociate": reassociate, "--out": out,
    })  # fmt: skip
    if peephole is not None:
        return _prove_rule(peephole, platform, seconds)
    options = _KernelOptions(
        image or "", platform, build_options, kernel, assume or (), local_size or "", dimensions or 0,
        (seconds, memory), rounds or 0, out)  # fmt: skip
    options.check()
    if equal is not None:
        return _compare(options, equal, other_options, reassociate)
    return _reach(options, witness) if cover or witness is not None else _prove(options, properties)


def _check_together(given: Mapping[str, object]) -> None:
    """Refuse options that the chosen kind of proof would drop.

    Args:
        given: the values of options, by name.
    """
    kind = next((name for name in NOT_WITH if given[name]), "")
    exclude(kind, {name: given[name] for name in NOT_WITH.get(kind, ())})
    for name, kinds in ONLY_WITH.items():
        if given[name] and kind not in kinds:
            raise UsageError(f"{name} goes with {' or '.join(kinds)}")


class _KernelOptions(NamedTuple):
    """What a command line says, whatever is proved of kernels.

    Attributes:
        limits: seconds for each property, and megabytes.
        rounds: of loops that run one by one; 0 for the usual number.
        out: the folder for launches that are found.
    """

    image: str
    platform: str | None
    build_options: str
    kernel: str
    assume: Sequence[str]
    local_size: str
    dimensions: int
    limits: tuple[int, int]
    rounds: int
    out: str | None

    def check(self) -> None:
        """Refuse wrong values before a program is read or compiled.

        Raises:
            UsageError: a size or the number of dimensions is wrong.
            FileError: launches cannot be written into the folder.
        """
        if self.dimensions > 3:
            raise UsageError(f"--dimensions is 1, 2 or 3, found {self.dimensions}")
        if 0 in self._sizes():
            raise UsageError(f"--local-size has a zero: '{self.local_size}'")
        if self.out is not None:
            check_folder(self.out)

    def _sizes(self) -> tuple[int, ...]:
        from vsim.command.command_arguments import sizes

        return sizes(self.local_size, "--local-size") if self.local_size else ()

    def program(self, file: str, build_options: str) -> Program:
        """The program of a file."""
        from vsim.program import Program
        from vsim.sources.loading import load_program
        from vsim.sources.programs import linked

        _, loaded = load_program(file or None, None, self.platform, build_options, None)
        report(loaded.warnings)
        if is_ctm(loaded.data):
            raise UsageError(f"'{loaded.name}' is for the CTM target, of which nothing is proved")
        return Program(linked(loaded))

    def subject(self, program: Program) -> Subject:
        """A program with the launches that are meant."""
        from vsim.prove.assumptions import Assumption
        from vsim.prove.subject import Subject

        assumed = [Assumption(text, "--assume") for text in self.assume]
        return Subject(program, self.kernel, assumed, self._sizes(), self.dimensions)

    def with_rounds(self) -> tuple[int, int, int]:
        """The limits, and the rounds of loops."""
        from vsim.symbolic.comparing import ROUNDS

        return *self.limits, self.rounds or ROUNDS


def _exit_code(outcomes: set[str]) -> int:
    return REFUTED if "refuted" in outcomes else UNKNOWN if outcomes - {"proved"} else PROVED


def _prove_rule(peephole: tuple[str, str], platform: str | None, seconds: int) -> int:
    """Prove a rule of compilers; the exit code."""
    from visakit.subcommands.prove_rules import prove_rule

    return _exit_code({v.outcome for v in prove_rule(*peephole, platform, seconds)})


def _compare(options: _KernelOptions, files: tuple[str, str], other_options: str | None, reassociate: bool) -> int:
    """Prove that kernels of two programs are equal; the exit code."""
    from visakit.subcommands.prove_kernels import prove_kernels
    from vsim.prove.equal import EqualOptions

    first = options.subject(options.program(files[0], options.build_options))
    second = options.program(files[1], options.build_options if other_options is None else other_options)
    settings = EqualOptions(*options.with_rounds(), reassociate)
    return _exit_code({v.outcome for v in prove_kernels(first, second, settings, options.out, files)})


def _reach(options: _KernelOptions, witness: str | None) -> int:
    """Find a launch that comes to a place, or launches that cover kernels; the exit code."""
    from visakit.compiler.ocloc import with_lines
    from visakit.file_kinds import source_language
    from visakit.subcommands.prove_kernels import kernels_of
    from visakit.subcommands.prove_witness import cover_kernel, find_witnesses

    build_options = with_lines(options.build_options, source_language(options.image, b""))
    subject = options.subject(options.program(options.image, build_options))
    settings = (options.with_rounds(), options.out, options.image)
    if witness is not None:
        found = find_witnesses(subject, witness, *settings)
        return REFUTED if "unreachable" in found else UNKNOWN if "unknown" in found else PROVED
    covers = [cover_kernel(subject._replace(kernel=name), *settings) for name in kernels_of(subject)]
    return UNKNOWN if any(found.outcome == "unknown" for own in covers for found in own.missed) else PROVED


def _prove(options: _KernelOptions, properties: str | None) -> int:
    """Prove properties of kernels; the exit code."""
    from visakit.subcommands.prove_kernels import prove_properties

    wanted = _properties(properties)
    subject = options.subject(options.program(options.image, options.build_options))
    found = prove_properties(subject, wanted, options.limits, options.out, options.image)
    return _exit_code({v.outcome for v in found})


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
