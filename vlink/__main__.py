"""The command ``vlink``, as a script and as ``python -m vlink``."""

import sys

from visa.collector import collect_rarely


def main() -> None:
    """Run the command with the arguments of the process, and leave it."""
    sys.setrecursionlimit(20000)
    collect_rarely()  # Before Typer and the rest are loaded.
    from visa.command import run
    from vlink.cli import app

    run(app, "vlink")


if __name__ == "__main__":
    main()
