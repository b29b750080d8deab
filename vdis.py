"""The command ``vdis``, as a script and as ``python -m vdis``."""

from visa.collector import collect_rarely


def main() -> None:
    """Run the command with the arguments of the process, and leave it."""
    collect_rarely()  # Before Typer and the rest are loaded.
    from vasm.vdis_cli import app
    from visa.command import run

    run(app, "vdis")


if __name__ == "__main__":
    main()
