"""The command ``visakit``, as a script and as ``python -m visakit``."""

import sys
from collections.abc import Callable

from visakit.start import start


def _load() -> Callable[[], None]:
    from visakit.collector import collect_rarely

    collect_rarely()  # Before Typer and the rest are loaded.
    from visakit.cli import choose
    from visakit.commands.command import run
    from visakit.commands.reporting import say
    from visakit.diagnostics import UsageError

    def chosen_command() -> None:
        try:
            chosen = choose(sys.argv[1:])
        except UsageError as error:
            say(f"visakit: {error}")
            sys.exit(2)
        if isinstance(chosen, str):
            print(chosen)
            sys.exit(0)
        app, name, sys.argv[1:] = chosen
        run(app, name)

    return chosen_command


def main() -> None:
    """Run the command with the arguments of the process, and leave it."""
    start("visakit", _load)


if __name__ == "__main__":
    main()
