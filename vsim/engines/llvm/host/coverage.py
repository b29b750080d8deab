"""Where compiled code notes which of its blocks executed, and counts how often."""

from __future__ import annotations

from visakit.language.program import Function, Module


def block_words(function: Function) -> int:
    """The 64-bit words that have a bit for each instruction of a function at which a block may begin."""
    return len(function.instructions) // 64 + 1


def first_word(module: Module, function: Function) -> int:
    """The first of the words of a function among those of the module."""
    functions = module.all_functions
    return sum(block_words(f) for f in functions[: functions.index(function)])


COUNTER_SIZE = 16
"""Bytes of a counter: threads that came to a block, and lanes that ran there, summed up."""


def first_counter(module: Module, function: Function) -> int:
    """The first counter of a function in those of the module: each instruction has one, used where a block begins."""
    functions = module.all_functions
    return sum(len(f.instructions) for f in functions[: functions.index(function)])
