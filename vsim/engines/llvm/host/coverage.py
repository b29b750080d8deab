"""Counters of compiled code: how often its blocks executed, in which lanes instructions took effect, and which way
branches went.
"""

from __future__ import annotations

from visakit.language.program import Function, Module

COUNTER_SIZE = 40
"""Bytes of an instruction's counters; :data:`THREADS` and the following are their offsets."""
THREADS, LANES, ACTIVE, TAKEN, BOTH = range(0, COUNTER_SIZE, 8)
"""Threads that came to a block, and lanes that ran there; lanes in which an instruction took effect; threads of which
all lanes took a branch, and of which some did. All are sums.
"""


def first_counter(module: Module, function: Function) -> int:
    """The first counter of a function in those of the module: each instruction has its own."""
    functions = module.all_functions
    return sum(len(f.instructions) for f in functions[: functions.index(function)])
