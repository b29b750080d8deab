"""IR that does not depend on a kernel: template files (``*.ll``) with named sections, what fills them in
(:mod:`templates`), and helper functions of accesses.
"""
