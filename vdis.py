"""``python -m vdis``."""

from vasm.vdis_cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
