"""Valid modules that no text assembles to: the disassembler refuses to show them as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from visakit.diagnostics import QUIET
from visakit.isa.record import Flow
from visakit.language.calls import mismatched_sizes
from visakit.language.program import FIRST_VARIABLE, NAMED_SAMPLER, Function, Module
from visakit.rules.call_rules import declared_sizes
from visakit.rules.instruction_rules import Rules
from visakit.rules.validation import aliases

_UNKNOWN_GRF = 0
"""A module does not say how many bytes a register has."""


def unwritable_module(module: Module) -> str:
    """What a module holds that its text cannot say; empty if nothing."""
    if not module.all_functions:
        return "the module has neither kernels nor functions"
    for name, count in Counter(f.name for f in module.all_functions).items():
        if count > 1:
            return f"{count} kernels and functions are called '{name}'"
    for m in mismatched_sizes(module):
        return f"'{m.function.name}' calls '{m.target.name}' with other sizes than it declares"
    return ""


def unwritable(function: Function) -> str:
    """What a function holds that its text cannot say; empty if nothing."""
    return next(_problems(function), "")


def _problems(function: Function) -> Iterator[str]:
    yield from _labels(function)
    if function.linkage or function.name_index or function.input_size or function.return_size:
        yield "text has no linkage, name index, or sizes of arguments"
    for n, v in enumerate(function.variables):
        if v.alias and v.alias[0] >= FIRST_VARIABLE + n:
            yield f"'{v.name}' is an alias of a variable that is declared after it"
    for broken in (*aliases(function), *declared_sizes(function)):
        yield f"{broken.message} [{broken.code}]"
    if function.attribute("Target") is None:
        yield "it has no attribute Target"
    if len(function.samplers) > NAMED_SAMPLER:
        yield f"it has {len(function.samplers)} samplers"
    yield from _broken_rules(function)


def _broken_rules(function: Function) -> Iterator[str]:
    rules = Rules(function, _UNKNOWN_GRF, QUIET)
    for n, i in enumerate(function.instructions):
        for v in rules.check(i):  # Equal operands are mostly one object, and looked at once.
            if not v.code.startswith("W"):
                yield f"instruction {n}: {v.message} [{v.code}]"
                return


def _labels(function: Function) -> Iterator[str]:
    """Every label is there once, under a unique name, and its mark is true."""
    if len({label.name for label in function.labels}) < len(function.labels):
        yield "two labels have one name"
    defined = Counter[int]()
    for i in function.instructions:
        if i.desc.flow is Flow.LABEL:
            index = i.args["label"]
            defined[index] += 1
            if function.labels[index].kind != ("subroutine" in i.desc.spelling):
                yield f"label '{function.labels[index].name}' is marked as something else"
    for index, label in enumerate(function.labels):
        if defined[index] != 1:
            yield f"label '{label.name}' is defined {defined[index]} times"
