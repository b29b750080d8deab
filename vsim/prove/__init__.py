"""Proofs about kernels for all launches: properties, assumptions, verdicts, and launches that refute.

``subject.py`` makes a kernel's launches symbolic, ``assumptions.py`` reads the assumptions, a module for each
property asks the solver, ``refutation.py`` runs the solver's launches, and ``prover.py`` puts it together.
"""
