"""Counters of compiled code: how often its blocks executed."""

from __future__ import annotations

from visakit.language.program import Function, Module

COUNTER_SIZE = 16
"""Bytes of a counter: threads that came to a block, and lanes that ran there, summed up."""


def first_counter(module: Module, function: Function) -> int:
    """The first counter of a function in those of the module: each instruction has one, used where a block begins."""
    functions = module.all_functions
    return sum(len(f.instructions) for f in functions[: functions.index(function)])
