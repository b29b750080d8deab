"""Proofs about kernels for all launches: properties, assumptions, verdicts, and launches that refute.

``subject.py`` makes a kernel's launches symbolic, ``assumptions.py`` reads what is assumed of them, a module for each
property asks the solver, ``refutation.py`` runs what the solver found, and ``prover.py`` puts it together.
"""
