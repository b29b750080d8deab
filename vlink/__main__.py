"""The command ``vlink``, as a script and as ``python -m vlink``."""

import sys

from visakit.start import command

sys.setrecursionlimit(20000)
main = command("vlink", "vlink.cli")

if __name__ == "__main__":
    main()
