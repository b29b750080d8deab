"""Syntax tree to text that assembles to the same bytes."""

from __future__ import annotations

from visakit.binary.declarations import ADDRESS, LABEL, PREDICATE, SAMPLERS, STRING, SURFACES, VARIABLE, is_label
from visakit.binary.references import references
from visakit.diagnostics import Diagnostic, FormatError, Span
from visakit.isa.record import Flow
from visakit.language import types
from visakit.language.operands import PredicateControl
from visakit.language.program import (
    FIRST_PREDICATE,
    FIRST_SURFACE,
    FIRST_VARIABLE,
    Attribute,
    Declared,
    Fields,
    Function,
    Instruction,
    Module,
    Variable,
    predefined_strings,
)
from visakit.text.instruction_syntax import operands_of
from visakit.text.names import MAXIMUM_SCOPES
from visakit.text.operand_printer import OperandPrinter, quote
from visakit.text.suffixes import suffix_text
from visakit.text.unwritable import unwritable, unwritable_module

LARGE = 5000
"""Instructions of a function from which on it pays to remember their texts."""
_LABEL = Flow.LABEL  # looking up a member of an enumeration takes longer than all else that a plain line asks


def _refused(file: str, message: str) -> FormatError:
    return FormatError(Diagnostic("C003", message, Span(file or "<module>", 0)))


def _begins_subroutine(i: Instruction) -> bool:
    return "subroutine" in i.desc.spelling


class FunctionPrinter:
    """Prints one function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.names = _DeclaredNames(function)
        self.operands = OperandPrinter(function)
        self._texts: dict[int, tuple[Fields, str]] = {}
        """Instructions by the identity of their fields, which equal ones share, of functions that may repeat some."""
        self._is_large = len(function.instructions) >= LARGE

    # -- statements ----------------------------------------------------------------------------------------

    def predication(self, pred: PredicateControl) -> str:
        mode = f".{pred.mode}" if pred.mode else ""
        return f"({'!' if pred.inverse else ''}{self.function.predicates[pred.var - FIRST_PREDICATE].name}{mode}) "

    def instruction(self, i: Instruction) -> str:
        """One instruction without leading blanks."""
        desc, args = i.desc, i.args
        if self._is_large and (known := self._texts.get(id(args))) is not None:
            return known[1]
        if desc.flow is _LABEL:
            name = self.function.labels[args["label"]].name
            return f"{desc.mnemonic} {quote(name)}" if _begins_subroutine(i) else f"{name}:"
        pred = args.get("pred")
        words = [s.write(self.operands, args) for s in operands_of(desc)]
        text = desc.mnemonic + suffix_text(desc, args)
        text = (self.predication(pred) if pred else "") + " ".join([text, *(w for w in words if w)])
        if self._is_large:
            self._texts[id(args)] = args, text  # the fields are kept, so that their id stays their own
        return text

    def declaration(self, what: int, index: int) -> str:
        function = self.function
        if what == VARIABLE:
            return self._variable(function.variables[index - FIRST_VARIABLE])
        letter, items, first = {
            ADDRESS: ("A", function.addresses, 0), PREDICATE: ("P", function.predicates, FIRST_PREDICATE),
            SAMPLERS: ("S", function.samplers, 0), SURFACES: ("T", function.surfaces, FIRST_SURFACE),
        }[what]  # fmt: skip
        item = items[index - first]
        return f".decl {item.name} v_type={letter} num_elts={item.elements}{self._attributes(item.attributes)}"

    def _variable(self, v: Variable) -> str:
        align = f" align={types.ALIGNMENTS[v.align]}" if v.align else ""
        alias = f" alias=<{self.function.variable_name(v.alias[0])}, {v.alias[1]}>" if v.alias else ""
        return (
            f".decl {v.name} v_type=G type={v.type} num_elts={v.elements}{align}{alias}{self._attributes(v.attributes)}"
        )

    def _attributes(self, items: list[Attribute]) -> str:
        shown = [a.name if a.value is None else f"{a.name}={int.from_bytes(a.value, 'little')}" for a in items]
        return f" attrs={{{','.join(shown)}}}" if shown else ""

    def kernel_attribute(self, a: Attribute) -> str:
        if a.value is None:
            return f".kernel_attr {a.name}"
        if a.name == "Target":
            return f".kernel_attr Target={quote('cm' if a.value == bytes(1) else '3d')}"
        if len(a.value) == 4 and a.name != "OutputAsmPath":
            return f".kernel_attr {a.name}={a.integer}"
        return f".kernel_attr {a.name}={quote(a.value.decode('utf-8', 'surrogateescape'))}"

    def lines(self, strict: bool = True, places: list[int] | None = None) -> list[str]:
        """The statements of the function.

        Args:
            places: receives for each instruction the number of its line.

        Raises:
            FormatError: with ``strict``, these do not assemble to the same function.
        """
        body = _BodyText(self, places)
        found = body.run()
        problem = body.problem or unwritable(self.function)
        if strict and problem:
            message = f"no text assembles to '{self.function.name}': {problem}"
            raise _refused(self.function.file, message)
        return found


class _DeclaredNames:
    """Everything that owns a string, by string index, in the order in which text would have made them."""

    def __init__(self, function: Function) -> None:
        self.at: dict[int, tuple[int, int, int]] = {}
        self.problem = ""
        """Why text would make other strings."""
        groups: list[tuple[int, int, list[Variable] | list[Declared]]] = [
            (VARIABLE, FIRST_VARIABLE, function.variables),
            (ADDRESS, 0, function.addresses),
            (PREDICATE, FIRST_PREDICATE, function.predicates),
            (SAMPLERS, 0, function.samplers),
            (SURFACES, FIRST_SURFACE, function.surfaces),
        ]
        for what, first, items in groups:
            for i, item in enumerate[Variable | Declared](items):
                count = 1 + len(item.attributes)
                self.at[item.string] = (what, first + i, count)
                behind = range(item.string + 1, item.string + count)
                if any(a.string != n for a, n in zip(item.attributes, behind, strict=True)):
                    self.problem = f"the name of an attribute of '{item.name}' is not in its place"
        self.string_of = {(what, index): string for string, (what, index, _) in self.at.items()}


class _BodyText:
    """Puts declarations, attributes and instructions into the order of the string pool, and names into scopes."""

    def __init__(self, printer: FunctionPrinter, places: list[int] | None = None) -> None:
        self.printer, self.function, self.places = printer, printer.function, places
        self.out: list[str] = []
        self.next = len(predefined_strings(self.function.version)) + 1
        self.scopes: list[dict[str, tuple[int, int]]] = [{}]
        self.attributes = {a.string: a for a in self.function.attributes}
        self.targets = sum(a.name == "Target" for a in self.function.attributes)
        self.inputs = list(self.function.inputs)
        self.declared: set[tuple[int, int]] = set()
        self.labels_made: set[int] = set()
        self.counts = dict.fromkeys((VARIABLE, ADDRESS, PREDICATE, SAMPLERS, SURFACES, LABEL), 0)
        self.closed = False
        self.problem = printer.names.problem
        """Why the text that was made is not that of the function."""

    def run(self) -> list[str]:
        function = self.function
        kind = ".kernel" if function.is_kernel else ".global_function"
        self.out.append(f"{kind} {quote(function.name)}")
        self.advance()
        for number, i in enumerate(function.instructions):
            if (
                self.next >= len(function.strings)
                and len(self.scopes) == 1
                and not self.closed
                and not self.inputs
                and i.desc.flow is not _LABEL
                and not i.desc.names_string
            ):
                if self.places is not None:
                    self.places.append(len(self.out))
                self.out.append(f"    {self.printer.instruction(i)} /// ${number}")
            else:
                self.instruction(i, number)
        self.rest()
        return self.out

    def instruction(self, i: Instruction, number: int) -> None:
        """Write an instruction after the declarations that it needs."""
        used = references(i)
        self.advance(max((self.string_of(*u) for u in used), default=0))
        for what, index in used:
            if what not in (LABEL, STRING) and (what, index) not in self.declared:
                self.declare(what, index)
        self.enter_scope(used)
        text = self.printer.instruction(i)
        if self.places is not None:
            self.places.append(len(self.out))
        self.out.append(text if i.desc.flow is _LABEL else f"    {text} /// ${number}")
        if _begins_subroutine(i) and is_label(name := self.function.labels[i.args["label"]].name):
            self.out.append(f"{name}:")
        for what, index in used:
            if what == STRING:
                self.take(index)
            elif what == LABEL and index not in self.labels_made:
                self.labels_made.add(index)
                self.count(LABEL, index)
                self.take(self.function.labels[index].string)
        self.advance()

    def rest(self) -> None:
        """Write what no instruction needs."""
        self.advance(len(self.function.strings))
        if self.next < len(self.function.strings) or self.attributes:
            self.problem = self.problem or "it has strings that nothing uses, or uses in that order"
        for what, index, _ in sorted(self.printer.names.at.values()):
            if (what, index) not in self.declared:
                self.declare(what, index)
        self.flush_inputs(everything=True)
        for a in list(self.attributes.values()):
            self.out.append(self.printer.kernel_attribute(a))
        self.out += ["}"] * (len(self.scopes) - 1)

    def take(self, string: int) -> None:
        """Text makes the strings of the pool in the order of their use."""
        if string == self.next:
            self.next += 1
        else:
            self.problem = self.problem or f"string {string} is not in its place"

    def count(self, what: int, index: int) -> None:
        """Text numbers declarations in their order."""
        if index != self.counts[what]:
            self.problem = self.problem or "its declarations are in another order than their names"
        self.counts[what] += 1

    def string_of(self, what: int, index: int) -> int:
        """Index of the string that a reference needs."""
        if what == STRING:
            return index
        if what == LABEL:
            return self.function.labels[index].string if index not in self.labels_made else 0
        return self.printer.names.string_of.get((what, index), 0)

    def advance(self, needed: int = 0) -> None:
        """Write what made the next strings of the pool; a name that hides another waits until it is needed."""
        while True:
            if self.next in self.printer.names.at:
                what, index, count = self.printer.names.at[self.next]
                hides = self.is_taken(self.function.strings[self.next])
                if self.next > needed and hides and (what, index) not in self.declared:
                    break
                if (what, index) not in self.declared:
                    self.declare(what, index)
                self.next += count
            elif self.next in self.attributes:
                last = self.next == len(self.function.strings) - 1 and self.targets == 1
                attribute = self.attributes.pop(self.next)
                if not (last and attribute.name == "Target" and attribute.value == b"\1"):
                    self.out.append(self.printer.kernel_attribute(attribute))
                self.next += 1
            else:
                break
        self.flush_inputs()

    def flush_inputs(self, everything: bool = False) -> None:
        while self.inputs:
            i = self.inputs[0]
            what = (VARIABLE, SAMPLERS, SURFACES)[min(i.variable_class, 2)]
            predefined = (what == VARIABLE and i.index < FIRST_VARIABLE) or (
                what == SURFACES and i.index < FIRST_SURFACE
            )
            if not (everything or predefined or (what, i.index) in self.declared):
                return
            implicit = i.kind >> 3
            word = f".implicit_UNDEFINED_{implicit}" if implicit else ".input"
            if not self.visible(what, i.index):
                self.problem = self.problem or "an input is hidden by a name"
            name = (self.function.variable_name, self.function.sampler_name, self.function.surface_name)[
                min(i.variable_class, 2)
            ](i.index)
            place = f"offset={i.offset} "
            if not (implicit or i.offset):  # over %r0, where no .input lies
                word, place = ".parameter", ""
            self.out.append(f"{word} {name} {place}size={i.size}")
            self.inputs.pop(0)

    def declare(self, what: int, index: int) -> None:
        if (
            (what == VARIABLE and index < FIRST_VARIABLE)
            or (what == SURFACES and index < FIRST_SURFACE)
            or (what == SAMPLERS and index >= len(self.function.samplers))
        ):
            return
        if what == VARIABLE:
            alias = self.function.variables[index - FIRST_VARIABLE].alias
            if alias:
                self.enter_scope([(VARIABLE, alias[0])])
        text = self.printer.declaration(what, index)
        name = text.split(" ", 2)[1]
        first = {VARIABLE: FIRST_VARIABLE, PREDICATE: FIRST_PREDICATE, SURFACES: FIRST_SURFACE}.get(what, 0)
        self.count(what, index - first)
        if self.printer.names.string_of.get((what, index)) != self.next:
            self.problem = self.problem or f"the name of '{name}' is not in its place"
        if self.is_taken(name):
            self.scopes.append({})
            if len(self.scopes) > MAXIMUM_SCOPES:
                raise _refused(self.function.file, f"'{self.function.name}' needs more than {MAXIMUM_SCOPES} scopes")
            self.out.append("{")
        self.scopes[-1][name] = (what, index)
        self.declared.add((what, index))
        self.out.append(text)

    def is_taken(self, name: str) -> bool:
        """Whether a name has a meaning in an open scope; a further declaration of it needs a new scope."""
        return any(name in scope for scope in self.scopes)

    def enter_scope(self, used: list[tuple[int, int]]) -> None:
        """Close scopes until every name that the instruction uses has its own meaning."""
        if len(self.scopes) == 1 and not self.closed:
            return
        while len(self.scopes) > 1 and not all(self.visible(*u) for u in used):
            self.scopes.pop()
            self.closed = True
            self.out.append("}")
        if not all(self.visible(*u) for u in used):
            self.problem = self.problem or "a name is used outside of its scope"

    def visible(self, what: int, index: int) -> bool:
        for scope in reversed(self.scopes):
            for name, meaning in scope.items():
                if meaning == (what, index):
                    inner = next((s for s in reversed(self.scopes) if name in s), scope)
                    return inner[name] == meaning
        return (what, index) not in self.declared


def print_module(module: Module, strict: bool = True) -> str:
    """The text of a module: one statement a line.

    Raises:
        FormatError: with ``strict``, the text would not assemble to the same module.
    """
    if strict and (problem := unwritable_module(module)):
        raise _refused("", problem)
    lines = [f".version {module.version[0]}.{module.version[1]}"]
    for function in module.all_functions:
        lines += FunctionPrinter(function).lines(strict)
    return "\n".join(lines) + "\n"
