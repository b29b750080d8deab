"""What instructions do, written once over the lane algebra; a module for each chapter of the manual."""

from vsim.semantics import (
    arithmetic,
    flow,
    logic,
    lsc,
    mathematics,
    memory,
    messages,
    move,
    narrow,
    products,
    sampler,
    systolic,
    typed,
)
from vsim.semantics.core import ALLOWED_DEVIATION, SEMANTICS, nothing
from vsim.semantics.refused import REFUSED

__all__ = [
    "ALLOWED_DEVIATION",
    "SEMANTICS",
    "arithmetic",
    "flow",
    "logic",
    "lsc",
    "mathematics",
    "memory",
    "messages",
    "move",
    "narrow",
    "products",
    "sampler",
    "systolic",
    "typed",
]

# Kernels contain them where they cannot be reached; reachable ones are refused when the kernel is loaded.
SEMANTICS |= dict.fromkeys(REFUSED, nothing)
