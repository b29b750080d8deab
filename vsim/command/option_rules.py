"""Options of the command ``vsim`` that make no sense together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from visakit.diagnostics import UsageError
from visakit.usage import exclude

SHARED_WITH_CTM = ("IMAGE", "--launch", "--out-dir", "--trace")
NOT_WITH_WORKERS = "--allow-register-overrun", "--precision", "--profile", "--cost"
"""Workers get the image alone, which does not keep what addresses may reach, or how exact results are."""
NOT_WITH_DEBUG = ("--workers", "--trace", "--profile", "--profile-detail", "--cost", "--capture", "--json",
                  "--save", "--list", "--registers", "--make-launch", "--show", "--out-dir", "--threads",
                  "--max-memory")  # fmt: skip


def exclude_named(option: str, is_given: bool, names: Sequence[str], given: Mapping[str, object]) -> None:
    """Refuse options with these names beside an option, if that is given."""
    if is_given:
        exclude(option, {name: given[name] for name in names if name in given})


def check_threads(threads: int | None, on_reference_engine: Mapping[str, object]) -> None:
    """Refuse a number of threads where one of some options asks for the reference engine, which has one thread."""
    for name, is_given in on_reference_engine.items():
        if is_given:
            exclude(name, {"--threads": threads}, ": it has one thread")


def check_together(
    given: Mapping[str, object], with_replay: Mapping[str, object], when_run: Mapping[str, object]
) -> None:
    """Refuse options that make no sense together.

    Args:
        given: values of options that choose the launch, and of ``--replay``, ``--capture``, ``--list`` and
            ``--make-launch``.
        with_replay: values of options that need ``--replay``.
        when_run: values of options about execution and results.

    Raises:
        UsageError: there are some; the message names two.
    """
    used = [name for name, value in given.items() if value]
    if given["--replay"]:
        others = [name for name in used if name not in ("--replay", "--capture", "IMAGE")]
        if others:
            raise UsageError(f"--replay has the whole launch; {others[0]} does not go with it")
        if given["IMAGE"] and with_replay["--visa"]:
            raise UsageError("IMAGE and --visa both name the program: give one of them")
    elif alone := [name for name, value in with_replay.items() if value is not None]:
        raise UsageError(f"{alone[0]} goes with --replay")
    if given["--list"]:
        launched = {name: name not in ("--list", "IMAGE") for name in used}
        exclude("--list", {**launched, **when_run}, ", which runs nothing")
    if given["--make-launch"]:
        exclude("--make-launch", when_run, ", which runs nothing")
    if given["--capture"] and (other := next((n for n in ("--workers", "--make-launch") if n in used), "")):
        raise UsageError(f"--capture captures what runs here; {other} does not go with it")
