"""The meaning of names: definitions, the symbol table of the linker, and references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from visakit.diagnostics import Diagnostic, Label, Span, did_you_mean
from visakit.language.calls import Call, sizes_fit
from visakit.language.program import Function
from visakit.objects.index import DeclaredSizes
from vlink.data import DataLayout
from vlink.errors import LinkErrors
from vlink.inputs import ObjectFile


@dataclass(eq=False, slots=True)
class Definition:
    """A kernel or function and the object that holds it."""

    object: ObjectFile
    function: Function
    sizes: DeclaredSizes

    @property
    def span(self) -> Span:
        """The place that messages show."""
        return Span(self.object.name, 0)


@dataclass(eq=False, slots=True)
class Reference:
    """A call of a name, or its address taken, and the function that it means (None: data, or nothing)."""

    source: Definition
    call: Call
    name: str
    target: Definition | None

    def __str__(self) -> str:
        line = f", line {self.call.line}" if self.call.line else ""
        return f"{self.call.mnemonic} in '{self.source.function.name}' (instruction {self.call.number}{line})"


References = dict[Definition, list[Reference]]
"""References of each kernel or function, in the order of its instructions."""


@dataclass
class SymbolTable:
    """All definitions, and the functions among them by name.

    A name means the function of the same object, else the exported one, else the only one of that name.
    """

    definitions: list[Definition]
    local: dict[int, dict[str, Definition]] = field(default_factory=dict)
    """By the id of the object and the name."""
    exported: dict[str, Definition] = field(default_factory=dict)
    unexported: dict[str, list[Definition]] = field(default_factory=dict)


def index_definitions(objects: Sequence[ObjectFile], errors: LinkErrors) -> SymbolTable:
    """The symbol table of the objects; names that are defined twice are errors."""
    functions = [(o, f) for o in objects for f in [*o.kernels, *o.functions]]
    definitions = [Definition(o, f, o.described(f).sizes) for o, f in functions]
    table = SymbolTable(definitions, {id(o): {} for o in objects})
    kernels: dict[str, Definition] = {}
    for d in table.definitions:
        name = d.function.name
        if d.function.is_kernel:
            if (first := kernels.setdefault(name, d)) is not d:
                errors.add(_duplicate("L010", f"kernel '{name}' is defined twice", d, first))
            continue
        if (first := table.local[id(d.object)].setdefault(name, d)) is not d:
            errors.add(_duplicate("L011", f"function '{name}' is defined twice in one object", d, first))
        if not d.object.described(d.function).is_exported:
            table.unexported.setdefault(name, []).append(d)
        elif (first := table.exported.setdefault(name, d)) is not d:
            errors.add(_duplicate("L011", f"function '{name}' is defined twice", d, first))
    return table


def _duplicate(code: str, message: str, second: Definition, first: Definition) -> Diagnostic:
    note = Label(first.span, "it is also defined here")
    own, other = first.function.simd_size, second.function.simd_size
    what = f"for SIMD{own} and SIMD{other}" if own != other else "with and without inline vISA"
    hint = f"rename one of them or leave one of the objects out; of a compiler's dumps {what}, --pick links one"
    return Diagnostic(code, message, second.span, hint, (note,))


def resolve_references(table: SymbolTable, data: DataLayout, undefined_allowed: bool, errors: LinkErrors) -> References:
    """The function of each call of a name; a name without a definition is an error."""
    resolved: References = {}
    exported, unexported = table.exported, table.unexported
    for d in table.definitions:
        description, local = d.object.described(d.function), table.local[id(d.object)]
        references = resolved[d] = []
        simd = d.sizes.simd
        for call, name in zip(description.calls, description.names, strict=True):
            target = local.get(name) or exported.get(name)
            rivals = unexported.get(name, ()) if target is None else ()
            if rivals:
                target = rivals[0]
            reference = Reference(d, call, name, target)
            references.append(reference)
            if len(rivals) > 1:
                errors.add(_ambiguous(reference, rivals))
            if target is not None:
                if (call.arg_grf, call.ret_grf, simd) != target.sizes:
                    for error in _mismatched_sizes(reference, target):
                        errors.add(error)
            elif not (undefined_allowed or (call.takes_address and name in data.symbols)):
                errors.add(_undefined(reference, table, data))
    return resolved


def _ambiguous(reference: Reference, rivals: Sequence[Definition]) -> Diagnostic:
    notes = tuple(Label(r.span, "defined here, not exported") for r in rivals)
    message = f"{reference} can mean any of {len(rivals)} functions '{reference.name}'"
    return Diagnostic("L012", message, reference.source.span, "export one of them with .kernel_attr Extern", notes)


def _undefined(reference: Reference, table: SymbolTable, data: DataLayout) -> Diagnostic:
    """A name that is no function must be data, and its address be taken, not called."""
    functions = [d.function.name for d in table.definitions if not d.function.is_kernel]
    hint = did_you_mean(reference.name, [*functions, *data.symbols])
    if not hint and reference.source.object.is_compiled:
        hint = "define it in the source, or link an object that has it: vlink PROGRAM FILE.o"
    elif not hint and reference.call.takes_address:
        hint = "data symbols come from a zebin (--ze-info) or from --data NAME=FILE"
    hint = hint or "link the object or library that defines it with .global_function and .kernel_attr Extern"
    message = f"'{reference.name}' is not defined; it is used by {reference}"
    return Diagnostic("L013", message, reference.source.span, hint)


def _mismatched_sizes(reference: Reference, target: Definition) -> Iterator[Diagnostic]:
    """Sizes of a call must be those of its callee, and both sides must have the same SIMD size."""
    call, name, sizes = reference.call, target.function.name, target.sizes
    if call.takes_address:
        return
    for what, attribute, given, declared in (
        ("argument", "ArgSize", call.arg_grf, sizes.arguments),
        ("return value", "RetValSize", call.ret_grf, sizes.return_value),
    ):
        if not sizes_fit(attribute, given, declared):
            note = Label(target.span, f"'{name}' declares {attribute}={declared}")
            message = f"{reference} passes {given} GRFs as {what} size, '{name}' has {declared}"
            yield Diagnostic("L014", message, reference.source.span, "caller and callee must agree", (note,))
    caller, callee = reference.source.sizes.simd, sizes.simd
    if caller is not None and callee is not None and caller != callee:
        note = Label(target.span, f"'{name}' has SIMD size {callee}")
        message = f"{reference} is SIMD{caller}, '{name}' is SIMD{callee}"
        yield Diagnostic("L015", message, reference.source.span, labels=(note,))
