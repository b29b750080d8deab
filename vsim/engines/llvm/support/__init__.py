"""IR that does not depend on a kernel: template files (``*.ll``) with named sections, what fills them in
(:mod:`templates`): the drivers around kernels, the code of checks, and helper functions of accesses.
"""
