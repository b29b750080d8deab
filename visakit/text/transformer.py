"""What the rules of ``grammar/visa.lark`` find, as syntax nodes: a method for each rule, named as the grammar names it.

A method gets the children of its rule: tokens as text, None for what an optional part leaves out, and nodes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

from visakit.text import syntax
from visakit.text.problem import Problem

MAXIMUM_DIGITS = 1000

Made = TypeVar("Made")
Children = list[Any]
"""The parts that a rule of the grammar found; the grammar gives their order."""

_Method = Callable[["SyntaxTransformer", Children], syntax.Value]


def _operation(operator: str) -> _Method:
    """A method that keeps an operator with its operands."""
    return lambda self, children: syntax.Operation(operator, tuple(children))


def _node(made: Callable[..., Made]) -> Callable[[SyntaxTransformer, Children], Made]:
    """A method that makes a node whose fields are the children."""
    return lambda self, children: made(*children)


@functools.lru_cache(1000)
def _integer(text: str) -> int:
    """The value of a decimal or hexadecimal literal, which may begin with zeros."""
    if len(text) > MAXIMUM_DIGITS:
        raise Problem("V021", f"{text[:20]}... has {len(text)} digits, which fits nowhere")
    return int(text, 16) if text[:2] in ("0x", "0X") else int(text)


def _without_order(text: str) -> tuple[str, str]:
    """A form of data or blocks, and its letters of order at the end."""
    form = text.rstrip("nt")
    return form, text[len(form) :]


class SyntaxTransformer:
    """Makes syntax nodes."""

    # -- statements ------------------------------------------------------------------------------------------

    def line(self, children: Children) -> tuple[syntax.Statement, ...]:
        return tuple(children)

    def label(self, children: Children) -> syntax.LabelStatement:
        return syntax.LabelStatement(children[0])

    def open_scope(self, children: Children) -> syntax.ScopeStatement:
        return syntax.ScopeStatement(children[0], True)

    def close_scope(self, children: Children) -> syntax.ScopeStatement:
        return syntax.ScopeStatement(children[0], False)

    def label_name(self, children: Children) -> syntax.NameNode:
        return syntax.NameNode(children[0].rstrip(": \t"))

    def opening(self, children: Children) -> syntax.NameNode:
        return syntax.NameNode("{")

    def closing(self, children: Children) -> syntax.NameNode:
        return syntax.NameNode("}")

    def instruction(self, children: Children) -> syntax.InstructionStatement:
        predication, opcode, *operands, attribute = children
        return syntax.InstructionStatement(predication, opcode, operands, attribute)

    without_execution = instruction

    def mark(self, children: Children) -> syntax.InstructionStatement:
        return syntax.InstructionStatement(None, children[0], children[1:], None)

    def position(self, children: Children) -> syntax.OpcodeNode:
        return syntax.OpcodeNode((children[0],))

    def predication(self, children: Children) -> syntax.PredicationNode:
        inverse, name, mode = children
        return syntax.PredicationNode(inverse is not None, name, mode or "")

    def opcode(self, children: Children) -> syntax.OpcodeNode:
        words: list[str] = []
        for word in children:
            if word[0] == "<" and words[-1][0] == "<":
                words[-1] += word
            else:
                words.append(word.removeprefix("."))
        return syntax.OpcodeNode(tuple(words))

    attribute = _node(syntax.NameNode)

    def operand(self, children: Children) -> syntax.Node:
        node: syntax.Node = children[0]
        return node

    argument = name_argument = number_argument = operand

    # -- registers -------------------------------------------------------------------------------------------

    def vector(self, children: Children) -> syntax.VectorNode:
        modifier, name, index, region = children
        return syntax.VectorNode(modifier or "", name, index, region)

    def vector_at_origin(self, children: Children) -> syntax.VectorNode:
        modifier, name, region = children
        return syntax.VectorNode(modifier or "", name, None, region)

    def index(self, children: Children) -> tuple[syntax.Node, ...]:
        items: tuple[syntax.Node, ...] = children[0]
        return items

    def stride(self, children: Children) -> syntax.RegionNode:
        return syntax.RegionNode(None, None, _integer(children[0]))

    def rows(self, children: Children) -> syntax.RegionNode:
        return syntax.RegionNode(None, _integer(children[0]), _integer(children[1]))

    def region(self, children: Children) -> syntax.RegionNode:
        vertical, width, horizontal = children
        return syntax.RegionNode(_integer(vertical) if vertical else None, _integer(width), _integer(horizontal))

    raw = _node(syntax.RawNode)
    name = _node(syntax.NameNode)

    def offset(self, children: Children) -> int:
        return _integer(children[0][1:])

    def indirect(self, children: Children) -> syntax.IndirectNode:
        modifier, _, name, element, offset, region, data_type = children
        return syntax.IndirectNode(modifier or "", name, element, offset or 0, region, data_type)

    def address_of(self, children: Children) -> syntax.AddressOfNode:
        return syntax.AddressOfNode(children[0].rstrip("[ \t"), children[1] or 0)

    # -- constants -------------------------------------------------------------------------------------------

    number = _node(syntax.NumberNode)
    typed = number

    def group_number(self, children: Children) -> syntax.Value:
        (items,) = children
        if len(items) != 1 or not isinstance(items[0], syntax.EXPRESSIONS):
            raise Problem("V020", "a number with a type is one integer expression", "write (2*%sizeof(V)):ud")
        value: syntax.Value = items[0]
        return value

    def integer(self, children: Children) -> int:
        return _integer(children[0])

    def float(self, children: Children) -> float:
        text = children[0]
        if text[:3] in (".0x", ".0X"):
            raise Problem("V020", f"'{text}' is not a number", f"write 0x{text[3:]}")
        try:
            value = float.fromhex(text) if text[:2] in ("0x", "0X") else float(text)
        except OverflowError:
            value = math.inf
        if math.isinf(value):
            raise Problem("V021", f"{text if len(text) < 30 else text[:20] + '...'} does not fit into any type")
        return value

    def enclosed(self, children: Children) -> syntax.Value:
        value: syntax.Value = children[0]
        return value

    string = _node(syntax.StringNode)

    # -- groups ----------------------------------------------------------------------------------------------

    def execution(self, children: Children) -> syntax.ExecutionNode:
        return syntax.ExecutionNode(children[0], children[1])

    def group(self, children: Children) -> syntax.GroupNode:
        return syntax.GroupNode(children[0])

    attached = group

    def items(self, children: Children) -> tuple[syntax.Node, ...]:
        return tuple(children)

    # -- operands of LSC messages ----------------------------------------------------------------------------

    def data(self, children: Children) -> syntax.DataNode:
        register, text, channels = children
        form, order = _without_order(text[1:])
        size, _, count = form.partition("x")
        return syntax.DataNode(register, size, _integer(count or "0"), order, (channels or "").removeprefix("."))

    def other_data(self, children: Children) -> syntax.DataNode:
        return syntax.DataNode(children[0], children[1], 0, "", "")

    def block(self, children: Children) -> syntax.BlockNode:
        register, text = children
        form, order = _without_order(text[1:])
        size, _, extent = form.partition(".")
        *blocks, width, height = map(_integer, extent.split("x"))
        return syntax.BlockNode(register, size, blocks[0] if blocks else 1, width, height, order)

    def tile(self, children: Children) -> syntax.TileNode:
        register, text = children
        width, height = text[1:].split("x")
        return syntax.TileNode(register, _integer(width), _integer(height))

    address = _node(syntax.AddressNode)

    def flat_address(self, children: Children) -> syntax.AddressNode:
        return syntax.AddressNode(None, None, *children)

    def indexed_state(self, children: Children) -> syntax.GroupNode:
        """A handle and a number, which compilers print as a region; the text that they read is ``(V36,1)``."""
        name, index, region, number = children
        return syntax.GroupNode((syntax.VectorNode("", name, index, region), number))

    def sized(self, children: Children) -> syntax.SizedNode:
        return syntax.SizedNode(children[0], _integer(children[1]))

    def address_parts(self, children: Children) -> tuple[syntax.Node, ...]:
        return tuple(children)

    def scaled(self, children: Children) -> syntax.AddressPartNode:
        scale, register, sign, offset = children
        return syntax.AddressPartNode(_integer(scale) if scale else None, register, sign or "+", offset or 0)

    moved = _node(syntax.MovedNode)
    increased = _node(syntax.IncreasedNode)

    def sign(self, children: Children) -> str:
        text: str = children[0]
        return text

    # -- directives ------------------------------------------------------------------------------------------

    word = _node(syntax.NameNode)

    def directive(self, children: Children) -> syntax.DirectiveStatement:
        word, *rest = children
        arguments: list[syntax.Placed] = []
        settings: dict[str, syntax.Placed] = {}
        for part in rest:
            if part is not None and type(part.node) is syntax.SettingNode:
                settings[part.node.name] = part
            elif part is not None:
                arguments.append(part)
        return syntax.DirectiveStatement(word, arguments, settings)

    setting = _node(syntax.SettingNode)
    units = _node(syntax.NameNode)
    alias = _node(syntax.AliasNode)

    def attributes(self, children: Children) -> syntax.AttributesNode:
        return syntax.AttributesNode(tuple(part for part in children if part is not None))

    def flag(self, children: Children) -> tuple[str, None]:
        return children[0], None

    def valued(self, children: Children) -> tuple[str, syntax.Value | syntax.StringNode]:
        return children[0], children[1]

    # -- integer expressions ---------------------------------------------------------------------------------

    size_of = _node(syntax.SizeOf)
    dispatch_simd = _node(syntax.DispatchSimd)

    choose = _operation("?")
    bit_and, bit_xor, bit_or = _operation("&"), _operation("^"), _operation("|")
    equal, unequal = _operation("=="), _operation("!=")
    less, greater, at_most, at_least = _operation("<"), _operation(">"), _operation("<="), _operation(">=")
    shift_left, shift_right, shift_right_unsigned = _operation("<<"), _operation(">>"), _operation(">>>")
    plus, minus = _operation("+"), _operation("-")
    times, divide, modulo = _operation("*"), _operation("/"), _operation("%")
    complement = _operation("~")

    def negate(self, children: Children) -> syntax.Value:
        value: syntax.Value = children[0]
        return -value if isinstance(value, (int, float)) else syntax.Operation("negate", (value,))

    def invert(self, children: Children) -> syntax.Operation:
        # The exclamation mark is in the list of children, as it does in a predicate.
        return syntax.Operation("!", (children[-1],))
