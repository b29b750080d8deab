"""The program of a command line: a file, or the program of a capture; sources are compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from visakit.diagnostics import UsageError
from visakit.file_kinds import is_visa_text, source_language
from visakit.files import read_bytes
from visakit.usage import exclude
from vsim.sources.programs import Loaded, loaded

if TYPE_CHECKING:
    from vsim.sources.captures import Capture


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


def load_program(
    file: str | None, replay: str | None, platform: str | None, build_options: str, max_seconds: float | None
) -> tuple[Capture | None, Loaded]:
    """The program of a command line: a file, or the program of a capture. Sources are compiled.

    Args:
        replay: the folder of a capture; None for none.

    Raises:
        UsageError: there is neither.
        LaunchError: S014, the folder holds no capture, or a damaged one.
        FileError: the file cannot be read.
        FormatError: the program of the capture is damaged, or a source does not compile.
    """
    capture = None
    if replay is not None:
        from vsim.sources.captures import read_capture

        capture = read_capture(replay)
    if file is None and capture is not None:
        from vsim.sources.replay import captured_program

        return capture, captured_program(capture, platform, build_options, max_seconds)
    if file is None:
        raise UsageError("IMAGE is missing: name an image, a zebin, OpenCL C (.cl) or SPIR-V, or --replay DIR")
    data = read_bytes(file)
    if capture is None:
        return None, loaded(file, data, platform, build_options, max_seconds)
    if is_visa_text(data):
        from vsim.sources.replay import text_program

        return capture, text_program(capture, file, data)
    own = f"{capture.options} {build_options}".strip() if source_language(file, data) else build_options
    return capture, loaded(file, data, platform, own, max_seconds)
