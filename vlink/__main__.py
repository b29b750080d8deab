"""The command ``vlink``, as a script and as ``python -m vlink``."""

import sys
from collections.abc import Callable

from visakit.start import start


def _load() -> Callable[[], None]:
    from visakit.collector import collect_rarely

    collect_rarely()  # Before Typer and the rest are loaded.
    from visakit.commands.command import run
    from vlink.cli import app

    return lambda: run(app, "vlink")


def main() -> None:
    """Run the command with the arguments of the process, and leave it."""
    sys.setrecursionlimit(20000)
    start("vlink", _load)


if __name__ == "__main__":
    main()
