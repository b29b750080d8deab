"""The command ``vsim``, as a script and as ``python -m vsim``."""

from collections.abc import Callable

from visakit.start import start


def _load() -> Callable[[], None]:
    from visakit.collector import collect_rarely

    collect_rarely()  # Before Typer and the rest are loaded.
    from visakit.commands.command import run
    from vsim.command.cli import app

    return lambda: run(app, "vsim")


def main() -> None:
    """Run the command with the arguments of the process, and leave it."""
    start("vsim", _load)


if __name__ == "__main__":
    main()
