"""The cost of a kernel: registers, occupancy, a floor in cycles, with a source for every constant.

``constants.toml`` is the one table of numbers of platforms, :mod:`constants` reads it.

Registers: :mod:`pressure` counts the registers that a function holds, :mod:`spills` predicts spills, :mod:`compiled`
reads the compiler's own numbers, :mod:`programs` finds functions in files, :mod:`registers` puts them together, and
:mod:`register_report` shows them.

Launches: :mod:`costs` collects them, :mod:`occupancy`, :mod:`floor` and :mod:`estimate` compute, and
:mod:`cost_report` shows them.
"""
