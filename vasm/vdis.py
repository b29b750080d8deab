"""The command ``vdis``, as a script and as ``python -m vasm.vdis``."""

from visakit.start import command

main = command("vdis", "vasm.vdis_cli")

if __name__ == "__main__":
    main()
