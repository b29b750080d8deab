"""Images of the CTM target behind the command ``vsim``."""

from __future__ import annotations

import json
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
    from ctm.simulator import options_from, run_file

    if not launch:
        raise UsageError("an image of the CTM target needs --launch FILE")
    rows, failed = run_file(image, launch, options_from(list(settings), group), out_dir, trace)
    if as_json:
        print(json.dumps({"image": image, "platform": "ctm", "launches": rows}, indent=1))
    else:
        for row in rows:
            bad = [c for c in row["checks"] if not c["ok"]]
            state = "FAILED" if bad else "ok" if row["checks"] else "done"
            print(f"{row['kernel']}: {state} ({len(row['checks'])} checked)")
    return not failed
