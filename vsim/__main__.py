"""The command ``vsim``, as a script and as ``python -m vsim``."""

from visakit.start import command

main = command("vsim", "vsim.command.cli")

if __name__ == "__main__":
    main()
