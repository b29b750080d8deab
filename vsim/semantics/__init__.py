"""What instructions do, written once over the lane algebra; a module for each chapter of the manual."""

from vsim.semantics import arithmetic, flow, logic, mathematics, memory, messages, move, sampler, systolic
from vsim.semantics.core import FREEDOM, SEMANTICS

__all__ = ["FREEDOM", "SEMANTICS", "arithmetic", "flow", "logic", "mathematics", "memory", "messages", "move", "sampler", "systolic"]
