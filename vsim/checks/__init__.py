"""Checks of kernels: races, undefined values, divergence, calls, accesses just outside an argument.

``findings.py`` holds their findings, ``selection.py`` chooses the checks. Each check watches a launch on either engine
and adds to the launch's :class:`~vsim.checks.findings.Findings`; the kernel runs as without it.
"""
