"""The command ``vdis``, as a script and as ``python -m vdis``."""

from collections.abc import Callable

from visakit_start import start


def _load() -> Callable[[], None]:
    from visa.collector import collect_rarely

    collect_rarely()  # Before Typer and the rest are loaded.
    from vasm.vdis_cli import app
    from visa.command import run

    return lambda: run(app, "vdis")


def main() -> None:
    """Run the command with the arguments of the process, and leave it."""
    start("vdis", _load)


if __name__ == "__main__":
    main()
