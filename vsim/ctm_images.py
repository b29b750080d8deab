"""Images of the CTM target behind the command ``vsim``."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def run_ctm_image(
    image: str,
    launch: str | None,
    out_dir: str | None,
    group: int = 16,
    settings: Sequence[str] = (),
    trace: bool = False,
    as_json: bool = False,
    allow_paths: bool = False,
    max_seconds: float | None = None,
) -> bool:
    """Run the launches of a launch file, or of the one in the image, and report them.

    ``group`` processors run in step; ``settings`` (``NAME=VALUE``) choose among the open points of docs/ctm.md.

    Returns:
        Whether all results were as expected.

    Raises:
        UsageError: a setting is unknown.
        LaunchError: there is no launch file, or it cannot be read.
    """
    from ctm.simulator import GridSession, load, options_from

    program = load(image, options_from(settings, group))
    session = GridSession(program, image, out_dir, sys.stdout, trace, allow_paths, max_seconds)
    if launch:
        session.run_file(launch)
    else:
        session.run_linked()
    session.report(as_json)
    return not session.failed
