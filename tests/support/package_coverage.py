"""Shows how much of each package the tests ran, and fails below a floor: ``python tests/support/package_coverage.py .coverage.json``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

FLOOR = 85
"""The least share of all lines, in percent, also if one of two workers counts them (conftest.py)."""
COUNTED = "the tests of one worker of two" if sys.version_info < (3, 12) else "all tests"
"""What is counted: shares vary with the tests that this worker gets, by some percent from run to run."""


def main(report: str) -> None:
    """Print the share of the lines of each package that ran, out of slipcover's report; exit with 1 below the floor."""
    ran: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for file, found in json.loads(Path(report).read_text())["files"].items():
        package = Path(file).parts[0]
        ran[package] += len(found["executed_lines"])
        lines[package] += len(found["executed_lines"]) + len(found["missing_lines"])
    for package, count in sorted(lines.items()):
        print(f"coverage of {package:7} {100 * ran[package] / count:3.0f} % by {COUNTED}")
    whole = 100 * ran.total() / lines.total()
    if whole < FLOOR:
        sys.exit(f"coverage is {whole:.1f} %, at least {FLOOR} % is required")


if __name__ == "__main__":
    main(sys.argv[1])
