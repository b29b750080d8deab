"""Checks of what kernels do: races, undefined values, divergence, calls, accesses just outside an argument.

``findings.py`` is what they find, ``selection.py`` which of them run. Each check watches a launch on either engine and
adds what it finds to the launch's :class:`~vsim.checks.findings.Findings`; the kernel goes on as if nobody watched.
"""
