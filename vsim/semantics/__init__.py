"""What instructions do, written once over the lane algebra; a module for each chapter of the manual."""

from vsim.semantics import arithmetic, flow, logic, mathematics, memory, move, sampler, systolic
from vsim.semantics.core import SEMANTICS

__all__ = ["SEMANTICS", "arithmetic", "flow", "logic", "mathematics", "memory", "move", "sampler", "systolic"]
