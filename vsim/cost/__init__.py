"""The cost of a kernel: registers and occupancy, with a source for every constant.

``constants.toml`` is the one table of numbers of platforms, :mod:`constants` reads it. :mod:`pressure` counts the
registers that a function holds, :mod:`spills` predicts spills, :mod:`compiled` reads the compiler's own numbers,
:mod:`programs` finds functions in files, and :mod:`register_report` shows the result.
"""
