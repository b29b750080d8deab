"""The operands in the text of an instruction.

A class is one form of operand: its words in the table (forms of a record's text, kinds of fields), the fields that it
fills, what makes them of a syntax node, and what writes them back as text. Operands in parentheses, as the execution
size, are in :mod:`visakit.text.execution_syntax`, those of LSC messages in :mod:`visakit.text.lsc_syntax`. The grammar
has a rule for each node.
"""

from __future__ import annotations

from typing import ClassVar

from visakit.diagnostics import did_you_mean
from visakit.isa import InstructionDesc, enums
from visakit.isa.layout import Condition
from visakit.isa.record import Rule
from visakit.language.operands import NO_MODIFIER, SCALAR, General
from visakit.language.platforms import since
from visakit.language.program import Fields
from visakit.text import syntax
from visakit.text.binder import Binder, text_of
from visakit.text.operand_printer import OperandPrinter
from visakit.text.problem import Problem
from visakit.text.syntax import GroupNode, NumberNode, Placed

_HANDLES = since("cri")
"""Platforms whose samplers and surfaces can be handles in registers."""
MAXIMUM_LIST, MAXIMUM_STRING = 0xFF, 0xFFFF
"""Elements of a list; the number of a string that an instruction can name."""


FORMS: dict[str, type[OperandSyntax]] = {}
"""Classes by the words of a record's text."""
KINDS: dict[str, type[OperandSyntax]] = {}
"""Classes by the kind of the field that a record's text names."""


class OperandSyntax:
    """Base: one operand of the text; ``name`` is the field that it fills.

    A class enters itself into :data:`FORMS` and :data:`KINDS`.
    """

    optional = False
    many = False
    pure = True  # the fields follow from the text and the names in scope alone, and binding leaves nothing behind
    what = "an operand"

    def __init__(self, name: str) -> None:
        self.name = name

    def __init_subclass__(cls, forms: str = "", kinds: str = "") -> None:
        super().__init_subclass__()
        FORMS.update(dict.fromkeys(forms.split(), cls))
        KINDS.update(dict.fromkeys(kinds.split(), cls))

    @classmethod
    def of(cls, form: str, name: str, desc: InstructionDesc) -> OperandSyntax:
        """The operand of an instruction in a form, or of a field of a kind; ``name`` is empty if the form says it."""
        return cls(name)

    def accepts(self, at: Placed) -> bool:
        """Whether an optional operand can be this one."""
        return True

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        """Put the written values into the fields.

        Raises:
            Problem: it cannot stand here.
        """
        raise NotImplementedError

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        """The fields as text."""
        raise NotImplementedError


def single_integer(node: syntax.Node) -> syntax.Node | None:
    """The only entry of a group: the size in ``(16)``."""
    return node.items[0] if isinstance(node, GroupNode) and len(node.items) == 1 else None


class VectorSyntax(OperandSyntax, kinds="d s"):
    def __init__(self, name: str, destination: bool) -> None:
        super().__init__(name)
        self.destination = destination
        self.what = "a destination region" if destination else "a source operand"

    @classmethod
    def of(cls, form: str, name: str, desc: InstructionDesc) -> OperandSyntax:
        """A vector operand; a source can be an address, packed, or missing."""
        condition = desc.by_name[name].condition
        if condition:
            return OptionalVectorSyntax(name, condition)
        if form == "s" and "bare-region" in desc.spelling:
            return PackedSyntax(name)
        if name == "src0" and Rule.ADDRESS_OF in desc.rules:
            return AddressOfSyntax(name)
        return cls(name, form == "d")

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        args[self.name] = binder.operand(at, self.destination)

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return printer.vector(args[self.name], self.destination)


class AddressOfSyntax(VectorSyntax):
    """A register whose address is meant: its bytes hold the scalar region of it.

    A row is not shown as ``&V[bytes]``: how many bytes it has depends on the platform.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, destination=False)

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        named = text_of(at.node) or at.text.partition("[")[0]
        symbol = binder.names.find(named)
        if symbol is not None and symbol.kind == "V" and at.text[len(named) :][:1] in ("", "["):
            message = f"'{at.text}' is a general variable, and its address is meant"
            raise Problem("V014", message, f"write &{at.text}")
        super().bind(binder, at, args)

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        op = args[self.name]
        if not isinstance(op, General) or (op.row, op.region, op.modifier) != (0, SCALAR, NO_MODIFIER):
            return super().write(printer, args)
        offset = op.col * printer.function.variable_type(op.var).size
        return f"&{printer.function.variable_name(op.var)}" + (f"[{offset}]" if offset else "")


class PackedSyntax(OperandSyntax):
    """``V(r,c)`` whose region is understood (the packed operand of dpas)."""

    what = "V(row,column)"

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        args[self.name] = binder.packed(at.node, at.text, (1, 1, 0))

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        op = args[self.name]
        return printer.place(op) if isinstance(op, General) and op.region == (1, 1, 0) else printer.vector(op, False)


class OptionalVectorSyntax(VectorSyntax):
    """A vector operand that is present if a bit of the mode says so."""

    optional = True

    def __init__(self, name: str, condition: Condition) -> None:
        super().__init__(name, False)
        self.condition = condition

    def is_missing(self, args: Fields) -> bool:
        """Whether the mode has no place for it."""
        return not self.condition.holds(args[self.condition.field])

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return "" if self.is_missing(args) else super().write(printer, args)


class RawSyntax(OperandSyntax, kinds="r w"):
    what = "a message operand (V.offset)"

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        args[self.name] = binder.raw(at.node, at.text)

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return printer.raw(args[self.name])


class SizedSyntax(OperandSyntax, forms="@sized"):
    """``V.0/64``: a message operand and its bytes, which are a separate field."""

    what = "a message operand and its bytes (V.offset/64)"
    maximum = 0xFFFFFFFF

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        node = at.node
        if not isinstance(node, syntax.SizedNode):
            raise Problem("V012", f"'{at.text}' does not say how many bytes it has", "write V.offset/64")
        if node.size > self.maximum:
            raise Problem("V021", f"{node.size} bytes are outside 0 to {self.maximum}")
        args[self.name], args[f"{self.name}_bytes"] = binder.raw(node.register, at.text), node.size

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return f"{printer.raw(args[self.name])}/{args[f'{self.name}_bytes']}"


class RawListSyntax(RawSyntax, kinds="r* r!"):
    many = True
    pure = False

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        found = args.get(self.name, ())
        if len(found) >= MAXIMUM_LIST:
            raise Problem("V029", f"an instruction has at most {MAXIMUM_LIST} operands of this kind")
        args[self.name] = (*found, binder.raw(at.node, at.text))

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return " ".join(printer.raw(r) for r in args[self.name])


class StateSyntax(OperandSyntax, kinds="T S"):
    """A surface or a sampler by its bare name."""

    def __init__(self, name: str, letter: str) -> None:
        super().__init__(name)
        self.letter, self.is_surface = letter, letter == "T"
        self.what = "a surface" if self.is_surface else "a sampler"

    @classmethod
    def of(cls, form: str, name: str, desc: InstructionDesc) -> OperandSyntax:
        return cls(name, form)

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        if not isinstance(at.node, syntax.NameNode):
            raise Problem("V012", f"'{at.text}' is not {self.what}")
        args[self.name] = binder.symbol(at.node.name, self.letter).index

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        index = args[self.name]
        return printer.function.surface_name(index) if self.is_surface else printer.function.sampler_name(index)


class HandleSyntax(StateSyntax, forms="@surface @sampler"):
    """A surface or a sampler by its name, or its handle in a register: ``V``, or ``(V,3)`` for a state behind it."""

    @classmethod
    def of(cls, form: str, name: str, desc: InstructionDesc) -> OperandSyntax:
        return cls(form[1:], "T" if form == "@surface" else "S")

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        node, index = _indexed(at.node)
        platform = binder.platform
        has_handles = platform is None or platform.name in _HANDLES
        if not isinstance(node, syntax.NameNode):
            hint = "write a name, or (V,3): a handle is the first element of a variable" if has_handles else ""
            raise Problem("V012", f"'{at.text}' is not {self.what}", hint)
        symbol = binder.symbol(node.name, f"{self.letter}V" if has_handles else self.letter)
        in_registers = int(symbol.kind == "V")
        if args.setdefault("in_registers", in_registers) != in_registers:
            raise Problem("V012", "sampler and surface must both be declared, or both be in registers")
        if in_registers:
            number = 0 if index is None else binder.integer(index, 0, 255, f"number of {self.what}")
            args[f"{self.name}_handle"] = General(symbol.index, 0, 0, SCALAR)
            args[f"{self.name}_index"] = number
        elif index is not None:
            raise Problem("V012", f"'{node.name}' is {self.what}, which takes no number", f"write {node.name}")
        else:
            args[self.name] = symbol.index

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        if not args["in_registers"]:
            return super().write(printer, args)
        name = printer.bare_scalar(args[f"{self.name}_handle"])
        index = args[f"{self.name}_index"]
        return f"({name}, {index})" if index else name


def _indexed(node: syntax.Node) -> tuple[syntax.Node, syntax.Node | None]:
    """What ``(V,3)`` names, and the number behind it; of anything else itself, and no number."""
    if not isinstance(node, GroupNode) or len(node.items) != 2:
        return node, None
    named, index = node.items
    if isinstance(named, syntax.VectorNode) and named[2:] == ((0, 0), (0, 1, 0)) and not named.modifier:
        return syntax.NameNode(named.name), index
    return named, index


class LabelSyntax(OperandSyntax, kinds="L"):
    pure = False
    what = "a label"

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        name = text_of(at.node)
        if name is None:
            raise Problem("V012", f"'{at.text}' is not a label")
        args[self.name] = binder.label(name, at)

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return printer.label(args[self.name])


class LabelListSyntax(OperandSyntax, kinds="L*"):
    pure = False
    what = "(label, ...)"

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        names = [text_of(item) for item in at.node.items] if isinstance(at.node, GroupNode) else [None]
        if None in names:
            raise Problem("V012", f"'{at.text}' is not a list of labels", "write (L1, L2)")
        if len(names) > MAXIMUM_LIST:
            raise Problem("V029", f"an instruction has at most {MAXIMUM_LIST} labels, found {len(names)}")
        args[self.name] = tuple(binder.label(name, at) for name in names if name is not None)

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return f"({', '.join(printer.label(n) for n in args[self.name])})"


class IntegerSyntax(OperandSyntax, kinds="B H W I X"):
    what = "an integer"
    _limits: ClassVar[dict[str, tuple[int, int]]] = {
        "B": (0, 255), "H": (0, 65535), "W": (0, (1 << 32) - 1), "I": (-(1 << 31), (1 << 31) - 1),
        "X": (0, (1 << 64) - 1),
    }  # fmt: skip

    def __init__(self, name: str, kind: str, optional: bool = False) -> None:
        super().__init__(name)
        self.limits, self.optional, self.hexadecimal = self._limits[kind], optional, name in ("ex_desc", "descriptor")

    @classmethod
    def of(cls, form: str, name: str, desc: InstructionDesc) -> OperandSyntax:
        return cls(name, form, f"{name}?" in desc.text)

    def accepts(self, at: Placed) -> bool:
        return isinstance(at.node, NumberNode) and at.node.type is None

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        value = at.node.value if isinstance(at.node, NumberNode) and self.accepts(at) else single_integer(at.node)
        if value is None:
            raise Problem("V012", f"'{at.text}' is not an integer")
        args[self.name] = binder.integer(value, *self.limits, self.name)

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return f"{args[self.name]:#x}" if self.hexadecimal else str(args[self.name])


class ChoiceSyntax(OperandSyntax, forms="=format =mode"):
    """A word out of a table."""

    def __init__(self, name: str, values: dict[str, int]) -> None:
        super().__init__(name)
        self.values = values
        self.what = " or ".join(values)

    @classmethod
    def of(cls, form: str, name: str, desc: InstructionDesc) -> OperandSyntax:
        return cls(*enums.CHOICE_CODES[form])

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        if at.text not in self.values:
            raise Problem("V012", f"'{at.text}' is not {self.what}", did_you_mean(at.text, self.values))
        args[self.name] = self.values[at.text]

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return next((k for k, v in self.values.items() if v == args[self.name]), str(args[self.name]))


class StringSyntax(OperandSyntax, kinds="N2"):
    pure = False
    what = "a name"
    maximum = MAXIMUM_STRING

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        text = text_of(at.node)
        if text is None:
            raise Problem("V012", f"'{at.text}' is not a name")
        if not text:
            raise Problem("V012", "the name is empty")
        if len(binder.function.strings) > self.maximum:
            raise Problem("V029", f"'{binder.function.name}' has more than {self.maximum} strings before this name")
        args[self.name] = binder.function.add_string(text)

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return printer.string(args[self.name])


class FileNameSyntax(StringSyntax, kinds="N4"):
    """The name of a source file, which is always written in quotes."""

    maximum = 0xFFFFFFFF

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        return printer.quoted(args[self.name])


class VariableSyntax(OperandSyntax, forms="variable"):
    """The variable of a lifetime mark."""

    what = "a variable"

    @classmethod
    def of(cls, form: str, name: str, desc: InstructionDesc) -> OperandSyntax:
        return cls(form)

    def bind(self, binder: Binder, at: Placed, args: Fields) -> None:
        symbol = binder.symbol(at.text, "VAP")
        args["variable"], args["class"] = symbol.index, enums.LIFETIME_CLASSES[symbol.kind]

    def write(self, printer: OperandPrinter, args: Fields) -> str:
        index, function = args["variable"], printer.function
        if args["class"] == enums.LIFETIME_CLASSES["V"]:
            return function.variable_name(index)
        declared, first = (function.addresses, 0) if args["class"] == 1 else (function.predicates, 1)
        name: str = declared[index - first].name
        return name
