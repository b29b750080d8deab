"""Images of the CTM target behind the command ``vsim``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple, TextIO

from visakit.files import check_folder
from vsim.command.numbers import Numbers
from vsim.command.trace_file import with_trace


class CtmSettings(NamedTuple):
    """How an image of the CTM target runs.

    Attributes:
        group: processors that run in step.
        choices: ``NAME=VALUE``, which choose among the open points of docs/ctm.md.
        traced: the groups that a trace is about.
        as_json: whether the report is JSON.
        allow_paths: whether the launch in the image may use files anywhere.
        max_seconds: when to give up; None for never.
    """

    group: int
    choices: Sequence[str]
    traced: Numbers
    as_json: bool = False
    allow_paths: bool = False
    max_seconds: float | None = None


def run_ctm_image(
    image: str,
    launch: str | None,
    out_dir: str | None,
    settings: CtmSettings,
    trace: str | None = None,
) -> bool:
    """Run the launches of a launch file, or of the one in the image, and report them.

    Args:
        trace: the file that gets the steps of groups; None for none.

    Returns:
        Whether a result was not as expected.

    Raises:
        UsageError: a setting is unknown.
        LaunchError: there is no launch file, or it cannot be read.
        FileError: F001, the trace cannot be written, or nothing into the folder.
    """
    from visakit.ctm.simulator import GridSession, load, options_from

    if out_dir is not None:
        check_folder(out_dir)
    program = load(image, options_from(settings.choices, settings.group))
    session = GridSession(
        program, image, out_dir, sys.stdout, settings.allow_paths, settings.max_seconds, settings.traced
    )

    def run(out: TextIO | None) -> bool:
        session.trace = out
        if launch:
            session.run_file(launch)
        else:
            session.run_linked()
        session.report(settings.as_json)
        return session.failed

    return with_trace(trace, run, session.read)
