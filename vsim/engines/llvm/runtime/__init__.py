"""What is not a kernel's own code: the driver's loops, barriers, helper functions, LLVM, workers, the cache of objects,
faults as errors.

Functions of IR that do not depend on a kernel stand in template files (``*.ll``), in named sections; :mod:`templates`
fills them in.
"""
