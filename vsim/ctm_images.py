"""Images of the CTM target behind the command ``vsim``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from visa.diagnostics import UsageError


def run_ctm_image(
    image: str,
    launch: str | None,
    out_dir: str | None,
    group: int = 16,
    settings: Sequence[str] = (),
    trace: bool = False,
    as_json: bool = False,
) -> bool:
    """Run the launches of a launch file and report them; whether all results were as expected.

    ``group`` processors run in step; ``settings`` (``NAME=VALUE``) choose among the open points of docs/ctm.md.

    Raises:
        UsageError: there is no launch file, or a setting is unknown.
    """
    from ctm.simulator import GridSession, load, options_from

    if not launch:
        raise UsageError("an image of the CTM target needs --launch FILE")
    session = GridSession(load(image, options_from(settings, group)), image, out_dir, sys.stdout, trace)
    session.run_file(launch)
    session.report(as_json)
    return not session.failed
