"""The command ``vasm``, as a script and as ``python -m vasm``."""

from collections.abc import Callable

from visakit.start import start


def _load() -> Callable[[], None]:
    from visakit.collector import collect_rarely

    collect_rarely()  # Before Typer and the rest are loaded.
    from vasm.cli import app
    from visakit.commands.command import run

    return lambda: run(app, "vasm")


def main() -> None:
    """Run the command with the arguments of the process, and leave it."""
    start("vasm", _load)


if __name__ == "__main__":
    main()
