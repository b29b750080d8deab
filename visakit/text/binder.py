"""Syntax nodes to operands: names are looked up in the scopes of a function, regions and numbers are checked."""

from __future__ import annotations

import re

from visakit.diagnostics import did_you_mean
from visakit.isa.elsewhere import FUNCTIONS_ELSEWHERE, TYPES_ELSEWHERE
from visakit.language import types
from visakit.language.operands import (
    ADDRESS_WIDTHS,
    HORIZONTAL_STRIDES,
    INDIRECT_OFFSETS,
    MODIFIER_TEXT,
    NULL,
    REGION_WIDTHS,
    SAMPLER,
    SAT,
    SCALAR,
    SURFACE,
    VERTICAL_STRIDES,
    Address,
    General,
    Immediate,
    Indirect,
    Predicate,
    Raw,
    Region,
    State,
    VectorOperand,
)
from visakit.language.platforms import SMALLEST_GRF_SIZE, Platform
from visakit.language.program import (
    BINDLESS,
    FIRST_SURFACE,
    FIRST_VARIABLE,
    PREDEFINED_SURFACES,
    SCRATCH,
    Function,
    LabelName,
)
from visakit.text import syntax
from visakit.text.expressions import ExpressionError, evaluate
from visakit.text.immediates import bits_as_float, float_bits, integer_bits
from visakit.text.names import KIND_NAMES, Names, Symbol
from visakit.text.problem import IN_EXPRESSIONS, FollowUp, Problem
from visakit.text.syntax import Placed

MODIFIERS = {text: modifier for modifier, text in MODIFIER_TEXT.items() if modifier != SAT}
MAXIMUM_LABELS = 0xFFFF
_NOT_HERE = "is not an allowed operand here"

_DECLARATIONS = {"V": "v_type=G type=ud num_elts=16 align=GRF", "A": "v_type=A num_elts=1", "P": "v_type=P num_elts=16"}
_SURFACES_ELSEWHERE = {f"T{n}": n for n in range(FIRST_SURFACE)} | {f"T{252}": BINDLESS, f"T{255}": SCRATCH}
"""Predefined surfaces by their numbers, or by those of older compilers."""


def declaration_of(name: str, kinds: str) -> str:
    """How to declare a name that has no declaration, as something of one of the kinds."""
    if (known := name.lstrip("%").lower()) in FUNCTIONS_ELSEWHERE:
        return FUNCTIONS_ELSEWHERE[known]
    if "T" in kinds and name in _SURFACES_ELSEWHERE:
        return f"the predefined surface is written {PREDEFINED_SURFACES[_SURFACES_ELSEWHERE[name]]}"
    kind = next((k for k in "VAPST" if k in kinds), "V")
    settings = _DECLARATIONS.get(kind, f"v_type={kind} num_elts=1")
    return f"declare it: .decl {name} {settings}"


def _hint_for_kind(name: str, found: str, kinds: str) -> str:
    """What to write for a name that stands for something of another kind."""
    if found == "V" and "P" in kinds:
        register = "" if kinds == "P" else f"a register is written {name}(0,0)<1> or {name}(0,0)<1;1,0>, "
        return f"{register}a predicate is declared with v_type=P"
    if found == "V" and kinds == "A":
        return f"addr_add puts its address into an address variable: addr_add (M1, 1) A0(0)<1> &{name} 0:uw"
    return ""


_ELEMENT = re.compile(r"(%?\w+)\[(.*)\]")
"""An operand such as ``X[3]``, as C writes an element of an array."""


class Binder:
    """Binds the operands of one function. ``grf_size`` is in bytes, 0 where the platform is not known; it turns byte
    offsets of ``&V[n]`` into rows. ``line`` is the line that is read. Without ``remember`` every operand is bound anew.
    """

    def __init__(self, function: Function, platform: Platform | None, grf_size: int, remember: bool = True) -> None:
        self.function, self.platform, self.line = function, platform, 0
        self.grf_size, self.known_grf_size = grf_size or SMALLEST_GRF_SIZE, grf_size
        self.labels: dict[str, int] = {}
        self.label_uses: dict[int, tuple[int, Placed]] = {}
        """The first use of each label: its line, and its place there."""
        self.names = Names(function.version)
        self.remember = remember
        self._operands: dict[tuple[str, bool], VectorOperand] = {}
        """Vector operands by their text, and whether they are destinations."""

    def forget(self) -> None:
        """Names changed their meaning."""
        self._operands.clear()

    def label(self, name: str, at: Placed | None = None) -> int:
        """Index of a label, which is made at its first use or definition."""
        index = self.labels.get(name)
        if index is None:
            if len(self.labels) >= MAXIMUM_LABELS:
                raise Problem("V029", f"'{self.function.name}' has more than {MAXIMUM_LABELS} labels", at=at)
            index = self.labels[name] = len(self.function.labels)
            self.function.labels.append(LabelName(self.function.add_string(name), name))
        if at is not None:
            self.label_uses.setdefault(index, (self.line, at))
        return index

    # -- names and numbers ---------------------------------------------------------------------------------

    def symbol(self, name: str, kinds: str = "VAPST") -> Symbol:
        """What a name stands for, which must be of one of the kinds."""
        found = self.names.find(name)
        if found is None:
            if name in self.names.misdeclared:
                raise FollowUp("V010", f"'{name}' is not declared")
            hint, similar = declaration_of(name, kinds), self.names.similar(name)
            if similar and hint.startswith("declare"):
                hint = similar if name.startswith("%") else f"{similar} If not, {hint}"
            raise Problem("V010", f"'{name}' is not declared", hint)
        if found.kind not in kinds:
            hint, wanted = _hint_for_kind(name, found.kind, kinds), " or ".join(KIND_NAMES[k] for k in kinds)
            raise Problem("V011", f"'{name}' is {KIND_NAMES[found.kind]}, expected {wanted}", hint)
        return found

    def size_of(self, name: str) -> int | None:
        """Bytes of a general variable, or of a register for ``GRF``; None for other names."""
        if name == "GRF":
            return self.grf_size
        symbol = self.names.find(name)
        if symbol is None or symbol.kind != "V":
            return None
        return self.function.variable_size(symbol.index, self.known_grf_size)

    def integer(self, node: syntax.Node, low: int, high: int, what: str = "value") -> int:
        """Value of an integer expression; ``low`` and ``high`` are the ends of its range."""
        if type(node) is int:
            value = node
        else:
            value = self._evaluate(node)
        if not low <= value <= high:
            raise Problem("V021", f"{what} {value} is outside {low} to {high}")
        return value

    def _evaluate(self, node: syntax.Node) -> int:
        if isinstance(node, syntax.NameNode):
            raise Problem("V020", f"'{node.name}' is not an integer expression", IN_EXPRESSIONS)
        if not isinstance(node, syntax.EXPRESSIONS):
            raise Problem("V020", "this is not an integer expression", IN_EXPRESSIONS)
        try:
            return evaluate(node, self.size_of, lambda: self.function.integer_attribute("SimdSize", 0))
        except ExpressionError as error:
            raise Problem("V020", str(error), error.hint) from None

    def data_type(self, name: str, text: str) -> types.DataType:
        """A type by its name, in any case, at the end of an operand that is written so."""
        found = types.BY_NAME.get(name.lower())
        if found is None:
            raise Problem(
                "V022",
                f"'{name}' is not a data type",
                f"write {text.removesuffix(name)}{TYPES_ELSEWHERE[name]}"
                if name in TYPES_ELSEWHERE
                else did_you_mean(name, types.BY_NAME) or "types are " + " ".join(types.BY_NAME),
            )
        return found

    # -- operands of messages ------------------------------------------------------------------------------

    def raw(self, node: syntax.Node, text: str) -> Raw:
        """A raw operand: ``V.offset`` or the bare name."""
        if isinstance(node, syntax.RawNode):
            name, offset = node.name, self.integer(node.offset, 0, 0xFFFF, "byte offset")
        elif isinstance(node, syntax.NameNode):
            name, offset = node.name, 0
        else:
            written = f"{node.name}.0" if isinstance(node, syntax.VectorNode) else "V.offset"
            raise Problem("V012", f"'{text}' is not a message operand", f"write {written}, the offset in bytes")
        index = self.symbol(name, "V").index
        if index >= FIRST_VARIABLE and offset:
            size = self.function.variables[index - FIRST_VARIABLE].size
            if offset >= size:
                raise Problem("V030", f"byte offset {offset} lies outside '{name}', which has {size} bytes")
        return Raw(index, offset) if index or offset else NULL

    def packed(self, node: syntax.Node, text: str, region: Region = SCALAR) -> VectorOperand:
        """``V(r,c)`` whose region is understood, or an immediate or number, as some messages have it."""
        if isinstance(node, syntax.NumberNode) and node.type is not None:
            return self.immediate(node.value, node.type, text)
        if isinstance(node, syntax.NumberNode):
            node = node.value
        if isinstance(node, syntax.EXPRESSIONS):
            return Immediate(types.UD, self.integer(node, -(1 << 31), (1 << 32) - 1) & 0xFFFFFFFF)
        if isinstance(node, syntax.NameNode):
            return General(self.symbol(node.name, "V").index, 0, 0, region)
        if not isinstance(node, syntax.VectorNode):
            raise Problem("V012", f"'{text}' {_NOT_HERE}", "write V(row,column)")
        if node.modifier:
            raise Problem("V037", f"this operand takes no {node.modifier}", "write V(row,column)")
        row, column = self._row_and_column(node)
        index = self.symbol(node.name, "V").index
        if node.region is not None:
            region = self.region(node.region, False)
        return General(index, row, column, region)

    # -- vector operands -----------------------------------------------------------------------------------

    def operand(self, at: Placed, destination: bool) -> VectorOperand:
        """A vector operand; equal texts are one operand, which is checked and encoded once."""
        key = (at.text, destination)
        found = self._operands.get(key)
        if found is None:
            found = self.vector(at.node, at.text, destination)
            if self.remember:
                self._operands[key] = found
        return found

    def vector(self, node: syntax.Node, text: str, destination: bool) -> VectorOperand:
        """A vector operand of any class; ``text`` is how it was written."""
        if isinstance(node, syntax.VectorNode):
            return self._register(node, text, destination)
        if isinstance(node, (int, syntax.NumberNode)) and destination:
            raise Problem("V013", "an immediate cannot be a destination")
        if isinstance(node, syntax.NumberNode) and node.type is not None:
            return self.immediate(node.value, node.type, text)
        if isinstance(node, syntax.NameNode):
            return self._name(node.name, destination)
        if isinstance(node, syntax.IndirectNode):
            return self._indirect(node, text, destination)
        if isinstance(node, syntax.AddressOfNode) and not destination:
            return self._scalar_at(node.name, self.integer(node.offset, 0, 0xFFFF, "byte offset"))
        if isinstance(node, syntax.RawNode):
            raise Problem(
                "V014",
                f"'{text}' is a message operand, this instruction takes a region",
                f"write {node.name}(0,0)<{'1' if destination else '1;1,0'}>",
            )
        raise Problem("V012", f"'{text}' {_NOT_HERE}", self._hint_for_operand(node, text, destination))

    def _hint_for_operand(self, node: syntax.Node, text: str, destination: bool) -> str:
        """A hint for a text that is not an operand; empty where the instruction's form has a better one."""
        if isinstance(node, (int, syntax.NumberNode)):
            return "numbers are followed by their type: 5:d, 5:uw, 1.5:f"
        element = _ELEMENT.fullmatch(text)
        if element is None or element[1] == "r":
            return ""
        symbol = self.names.find(element[1])
        if symbol is None or symbol.kind != "V" or not element[2].isdecimal() or len(element[2]) > 5:
            return "registers are indexed through an address variable: addr_add, then r[A0(0),0]<0;1,0>:ud"
        size = self.function.variable_type(symbol.index).size
        row, rest = divmod(int(element[2]) * size, self.grf_size)
        return f"write {element[1]}({row},{rest // size})<{'1' if destination else '0;1,0'}>"

    def _name(self, name: str, destination: bool) -> VectorOperand:
        """A bare name as an operand: a predicate, surface or sampler."""
        symbol = self.symbol(name, "PTSV" if name in self.names.predefined else "PTS")
        if symbol.kind == "P":
            return Predicate(symbol.index)
        if symbol.kind == "V":
            raise Problem("V014", f"'{name}' needs a region", f"write {name}(0,0)<{'1' if destination else '1;1,0'}>")
        return State(SURFACE if symbol.kind == "T" else SAMPLER, symbol.index, 0)

    def _scalar_at(self, name: str, offset: int) -> General:
        """One element of a variable at a byte offset, as a scalar region."""
        index = self.symbol(name, "V").index
        row, rest = divmod(offset, self.grf_size)
        return General(index, row, rest // self.function.variable_type(index).size, SCALAR)

    def _register(self, node: syntax.VectorNode, text: str, destination: bool) -> VectorOperand:
        modifier = MODIFIERS[node.modifier]
        if destination and modifier:
            raise Problem("V018", "a destination takes no modifier")
        symbol = self.symbol(node.name)
        if symbol.kind == "V":
            row, column = self._row_and_column(node)
            if node.region is None:
                raise Problem("V014", f"'{text}' needs a region", f"write {text}<{'1' if destination else '1;1,0'}>")
            return General(symbol.index, row, column, self.region(node.region, destination), modifier)
        index = node.indices or (0,)
        if len(index) > 1:
            raise Problem("V019", f"'{node.name}' is {KIND_NAMES[symbol.kind]} and takes one index")
        element = self.integer(index[0], 0, 255, "element")
        if symbol.kind == "A":
            return Address(symbol.index, element, self._address_width(node.region), modifier)
        if symbol.kind == "P":
            raise Problem("V019", f"'{node.name}' is a predicate and takes neither index nor region")
        if node.region is not None:
            raise Problem("V019", f"'{node.name}' is {KIND_NAMES[symbol.kind]} and takes no region")
        return State(SURFACE if symbol.kind == "T" else SAMPLER, symbol.index, element, modifier)

    def _address_width(self, region: syntax.RegionNode | None) -> int:
        if region is None:
            return 1
        if region.width is not None:
            raise Problem("V017", f"an address operand has only a width, not the region {region}", "write A0(0)<16>")
        if region.horizontal not in ADDRESS_WIDTHS:
            message = f"width {region.horizontal} of an address operand does not exist"
            raise Problem("V016", message, "it is 1, 2, 4, 8 or 16")
        return region.horizontal

    def _row_and_column(self, node: syntax.VectorNode) -> tuple[int, int]:
        index = node.indices
        if index is None:
            return 0, 0
        if len(index) != 2:
            raise Problem("V019", "a general variable takes a row and a column", "write V(row,column)")
        return self.integer(index[0], 0, 255, "row"), self.integer(index[1], 0, 255, "column")

    def _indirect(self, node: syntax.IndirectNode, text: str, destination: bool) -> Indirect:
        if node.type is None or node.region is None:
            raise Problem("V014", f"'{text}' needs a region and a type", "write r[A(element),offset]<v;w,h>:type")
        symbol = self.symbol(node.name, "A")
        element = self.integer(node.element, 0, 255, "element")
        offset = self.integer(node.offset, INDIRECT_OFFSETS[0], INDIRECT_OFFSETS[-1], "offset")
        region = self.region(node.region, destination, multi_address=True)
        data_type = self.data_type(node.type, text)
        if not data_type.is_element:
            raise Problem(
                "V022",
                f"'{node.type}' is not a type of elements",
                "only immediates are packed, only predicates booleans",
            )
        return Indirect(symbol.index, element, offset, region, data_type, MODIFIERS[node.modifier])

    def region(self, node: syntax.RegionNode, destination: bool, multi_address: bool = False) -> Region:
        """A region whose strides and width exist; with several addresses, rows need no vertical stride."""
        stride = node.horizontal
        if stride not in HORIZONTAL_STRIDES:
            raise Problem("V016", f"horizontal stride {stride} does not exist", "it is 0, 1, 2 or 4")
        if destination:
            if node.width is not None:
                raise Problem("V017", "a destination has only a horizontal stride", f"write <{stride or 1}>")
            if stride == 0:
                raise Problem("V016", "the horizontal stride of a destination cannot be 0", "write <1>")
            return None, None, stride
        return self._source_region(node, stride, multi_address)

    def _source_region(self, node: syntax.RegionNode, stride: int, multi_address: bool) -> Region:
        width, vertical = node.width, node.vertical
        if width is None:
            if multi_address:
                return None, None, stride
            raise Problem("V017", f"a source needs the whole region, {node} has only a stride", f"write <{stride};1,0>")
        if width not in REGION_WIDTHS:
            raise Problem("V016", f"region width {width} does not exist", "it is 1, 2, 4, 8 or 16")
        if vertical is None:
            if multi_address:
                return None, width, stride
            raise Problem(
                "V017", f"the region {node} has no vertical stride", f"write <{width * stride};{width},{stride}>"
            )
        if vertical not in VERTICAL_STRIDES:
            raise Problem("V016", f"vertical stride {vertical} does not exist", "it is 0, 1, 2, 4, 8, 16 or 32")
        return vertical, width, stride

    # -- immediates ----------------------------------------------------------------------------------------

    def immediate(self, value: syntax.Value, type_name: str, text: str) -> Immediate:
        """``number:type``; what does not fit into the type is an error."""
        data_type = self.data_type(type_name, text)
        if data_type is types.BOOL_TYPE:
            raise Problem("V022", "there are no numbers of type bool", "setp sets predicates from bits")
        written = text.rpartition(":")[0] or str(value)
        if isinstance(value, float):
            if not data_type.is_float:
                hint = f"write {written}:f"
                raise Problem("V020", f"'{written}' is not an integer expression", hint)
            return Immediate(data_type, float_bits(value, data_type, written))
        number = self._evaluate(value)
        bits = bits_as_float if data_type.is_float else integer_bits
        return Immediate(data_type, bits(number, data_type, written))


def unescape(literal: str) -> str:
    """The contents of a string literal; an escape with a number is a byte, of UTF-8 or not."""
    contents = literal[1:-1]
    if "\\" not in contents:
        return contents
    simple = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

    def one(m: re.Match[str]) -> str:
        c = m[1]
        if c[0] == "x" and len(c) > 1:
            return _byte(int(c[1:], 16))
        if c[0] in "01234567":
            return _byte(int(c, 8) & 255)
        if c in simple:
            return simple[c]
        if c in "'\"?\\":
            return c
        raise Problem("V023", f"'\\{c}' is not an escape sequence")

    found = re.sub(r"\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|.)", one, contents)
    return found.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _byte(value: int) -> str:
    return chr(value) if value < 128 else chr(0xDC00 + value)


def text_of(node: syntax.Node) -> str | None:
    """The text of a name or string; None for other nodes.

    Raises:
        Problem: the string holds what no name can hold.
    """
    if isinstance(node, syntax.NameNode):
        return node.name
    if not isinstance(node, syntax.StringNode):
        return None
    text = unescape(node.literal)
    if "\0" in text:
        raise Problem("V023", "a name cannot hold a NUL", "in the binary form, NUL ends a name")
    return text
