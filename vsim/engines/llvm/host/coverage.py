"""Where compiled code notes which of its blocks executed."""

from __future__ import annotations

from visakit.language.program import Function, Module


def block_words(function: Function) -> int:
    """The 64-bit words that have a bit for each instruction of a function at which a block may begin."""
    return len(function.instructions) // 64 + 1


def first_word(module: Module, function: Function) -> int:
    """The first of the words of a function among those of the module."""
    functions = module.all_functions
    return sum(block_words(f) for f in functions[: functions.index(function)])
