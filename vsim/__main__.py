"""The command ``vsim``, as a script and as ``python -m vsim``."""

from visa.collector import collect_rarely


def main() -> None:
    """Run the command with the arguments of the process, and leave it."""
    collect_rarely()  # Before Typer and the rest are loaded.
    from visa.command import run
    from vsim.cli import app

    run(app, "vsim")


if __name__ == "__main__":
    main()
