"""The program of a command line: a file, or the program of a capture; sources are compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from visakit.diagnostics import UsageError
from visakit.file_kinds import is_visa_text, source_language
from visakit.files import read_bytes
from vsim.sources.programs import Loaded, loaded

if TYPE_CHECKING:
    from vsim.sources.captures import Capture


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
