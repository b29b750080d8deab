"""The command ``vasm``, as a script and as ``python -m vasm``."""

from visakit.start import command

main = command("vasm", "vasm.cli")

if __name__ == "__main__":
    main()
