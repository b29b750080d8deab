"""Checks that text can express the declarations of a function: names, kinds, values of attributes."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from visakit.language import types
from visakit.language.attributes import VARIABLE_ATTRIBUTES
from visakit.language.program import (
    FIRST_PREDICATE,
    FIRST_SURFACE,
    FIRST_VARIABLE,
    MAXIMUM_PREDICATES,
    NAMED_SAMPLER,
    PREDEFINED_SURFACES,
    PREDEFINED_VARIABLES,
    Attribute,
    Declared,
    Function,
    Variable,
    predefined_names,
    predefined_strings,
)

VARIABLE, ADDRESS, PREDICATE, SURFACES, SAMPLERS, LABEL, STRING = range(7)
"""The declarations of a function, by their references."""

MAXIMUM_PREDICATE = 32
"""Elements of a predicate."""
SIMD_SIZES = (0, 1, 8, 16, 32)
MINIMUM_OFFSET, MAXIMUM_OFFSET, MAXIMUM_SIZE = -0x8000, 0x7FFF, 0xFFFF
"""Of an input, in bytes."""

_NAME = re.compile(r"%?[A-Za-z_]\w*")
_LABEL = re.compile(r"[A-Za-z_$@?][A-Za-z0-9_\-$@?]*")
_RESERVED = frozenset([f"V{n}" for n in range(len(PREDEFINED_VARIABLES))] + [n for n, _, _ in PREDEFINED_VARIABLES]) | {
    *PREDEFINED_SURFACES,
    "S31",
}


@functools.cache
def _reserved(version: tuple[int, int]) -> frozenset[str]:
    """Names that a variable cannot have."""
    return _RESERVED if version >= (4, 2) else _RESERVED - {"V21", "%scratchloc"}


def is_label(name: str) -> bool:
    """Whether a name can be written as a label: ``name:``."""
    return _LABEL.fullmatch(name) is not None


def illegal_declarations(function: Function) -> str:
    """The error of the declarations of a function; empty without one."""
    return next(_problems(function), "")


def _problems(function: Function) -> Iterator[str]:
    predefined = predefined_strings(function.version)
    own, *others = function.strings[: 1 + len(predefined)] or [""]
    if own != function.name or tuple(others) != predefined:
        yield "the strings do not begin with the function's name and the predefined ones"
    reserved = _reserved(function.version)
    named: list[Variable | Declared] = [*function.variables, *function.addresses, *function.predicates]
    named += [*function.samplers, *function.surfaces]
    for item in named:
        if not _NAME.fullmatch(item.name) or item.name in reserved:
            yield f"'{item.name}' cannot be the name of a variable"
        if not item.elements:
            yield f"'{item.name}' has no elements"
        for a in item.attributes:
            yield from _variable_attribute(item.name, a)
    yield from _other_problems(function)


def _other_problems(function: Function) -> Iterator[str]:
    """Types, predicates, labels, inputs."""
    for v in function.variables:
        if v.type.kind in (types.VECTOR, types.BOOL):
            yield f"'{v.name}' has type {v.type}"
    if len(function.predicates) > MAXIMUM_PREDICATES:
        yield f"it has {len(function.predicates)} predicates, and instructions can name {MAXIMUM_PREDICATES}"
    for p in function.predicates:
        if p.elements > MAXIMUM_PREDICATE:
            yield f"predicate '{p.name}' has {p.elements} elements"
    for label in function.labels:
        if label.kind > 1 or not (label.kind or is_label(label.name)):
            yield f"'{label.name}' cannot be the name of a label"
    for i in function.inputs:
        if not MINIMUM_OFFSET <= i.offset <= MAXIMUM_OFFSET:
            yield f"an input has the offset {i.offset}"


def _variable_attribute(name: str, a: Attribute) -> Iterator[str]:
    if a.name not in VARIABLE_ATTRIBUTES:
        yield f"'{a.name}' is not an attribute of a variable, as '{name}' has it"
    elif a.value is not None and len(a.value) != 4:
        yield f"attribute {a.name} of '{name}' has {len(a.value)} bytes"


def illegal_attributes(function: Function) -> str:
    """The error of the attributes of a function; empty without one."""
    return next(_attribute_problems(function), "")


def _attribute_problems(function: Function) -> Iterator[str]:
    for a in function.attributes:
        if not _NAME.fullmatch(a.name) or a.name == "AsmName":
            yield f"'{a.name}' cannot be the name of an attribute"
        if a.name == "Target" and a.value not in (b"\0", b"\1"):
            yield "attribute Target is neither 0 nor 1"
        if a.name == "SimdSize" and a.value is not None and a.integer not in SIMD_SIZES:
            yield f"attribute SimdSize is {a.integer}"


def exists(function: Function, what: int, index: int) -> bool:
    """Whether the function declares it, or it is predefined."""
    if what == VARIABLE:
        return index < len(predefined_names(function.version)) or FIRST_VARIABLE <= index < FIRST_VARIABLE + len(
            function.variables
        )
    if what == ADDRESS:
        return index < len(function.addresses)
    if what == PREDICATE:
        return FIRST_PREDICATE <= index < FIRST_PREDICATE + len(function.predicates)
    if what == SURFACES:
        return index < FIRST_SURFACE + len(function.surfaces)
    if what == SAMPLERS:
        return index == NAMED_SAMPLER or index < len(function.samplers)
    if what == LABEL:
        return index < len(function.labels)
    return index < len(function.strings)
