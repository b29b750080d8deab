"""Whether all files name one version: ``python tests/support/release.py VERSION``, before a release is built."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PLACES = {
    "pyproject.toml": r'^version = "(.*)"$',
    "visakit/__init__.py": r'^__version__ = "(.*)"$',
    "CITATION.cff": r"^version: (.*)$",
    "CHANGELOG.md": r"^## (\d\S*) - \d{4}-\d\d-\d\d$",
}
"""The pattern of the version in each file; of several, the first is the newest."""


def versions() -> dict[str, str]:
    """The version that each file names."""
    found = {name: re.search(pattern, (ROOT / name).read_text(), re.MULTILINE) for name, pattern in PLACES.items()}
    return {name: match[1] if match else "none" for name, match in found.items()}


if __name__ == "__main__":
    wrong = {name: version for name, version in versions().items() if version != sys.argv[1]}
    sys.exit("\n".join(f"{name} names version {version}, not {sys.argv[1]}" for name, version in wrong.items()))
