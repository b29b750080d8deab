"""The symbolic engine: the semantics as formulas of an SMT solver (Z3, extra ``prove``).

``terms.py`` has bit-vectors and conditions that fold constants, ``floats.py`` two models of floats, ``algebra.py`` the
lane algebra over them, ``registers.py`` and ``operands.py`` what instructions read and write.
"""
