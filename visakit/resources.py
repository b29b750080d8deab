"""Files of the package with another place in a checkout: the grammars and the page of messages."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def resource(name: str, folder: str = "") -> Path:
    """A file or folder of the package.

    Args:
        name: its path in a wheel, below the package.
        folder: the folder that has it in a checkout, below the top.
    """
    installed = _PACKAGE / name
    return installed if installed.exists() else _PACKAGE.parent / folder / name
