"""Syntax nodes: the contents of a line, before names are resolved.

The transformer makes them, the binder (visakit/text/binder.py) turns them into operands and declarations. They hold no
positions, so that equal texts can share one node; :class:`Placed` says where in its line a piece stands.
"""

from __future__ import annotations

from typing import NamedTuple


class Placed(NamedTuple):
    """A node, its text, and the column (from 0) at which that begins."""

    node: Node
    text: str
    column: int


# -- integer expressions: a literal is an int ------------------------------------------------------------------------


class Operation(NamedTuple):
    """An operator with its operands; a float can only be the operand of a sign."""

    operator: str
    operands: tuple[Value, ...]


class SizeOf(NamedTuple):
    """``%sizeof(V34)`` or ``%sizeof(GRF)``: bytes."""

    name: str


class DispatchSimd(NamedTuple):
    """``%DispatchSimd``: the SIMD size of the kernel."""


Value = int | float | Operation | SizeOf | DispatchSimd
EXPRESSIONS = (int, Operation, SizeOf, DispatchSimd)
"""Classes of integer expressions."""

# -- operands --------------------------------------------------------------------------------------------------------


class NameNode(NamedTuple):
    """A bare name: a label, a surface, a predicate, a word of a table, or a variable from its first byte on."""

    name: str


class StringNode(NamedTuple):
    """A string literal with its quotes."""

    literal: str


class NumberNode(NamedTuple):
    """An immediate, or without a type a plain integer."""

    value: Value
    type: str | None


class RegionNode(NamedTuple):
    """``<vertical; width, horizontal>``; None for parts that are not written."""

    vertical: int | None
    width: int | None
    horizontal: int

    def __str__(self) -> str:
        vertical = "" if self.vertical is None else f"{self.vertical};"
        width = "" if self.width is None else f"{self.width},"
        return f"<{vertical}{width}{self.horizontal}>"


class VectorNode(NamedTuple):
    """``(-)V34(0,0)<8;8,1>``: a register with its index or region, or with both."""

    modifier: str
    name: str
    indices: tuple[Node, ...] | None
    region: RegionNode | None


class IndirectNode(NamedTuple):
    """``(-)r[A0(1),32]<8;8,1>:ud``."""

    modifier: str
    name: str
    element: Value
    offset: Value
    region: RegionNode | None
    type: str | None


class RawNode(NamedTuple):
    """``V34.64``: the register and a byte offset."""

    name: str
    offset: Value


class AddressOfNode(NamedTuple):
    """``&V34[32]``: the address of a register, with a byte offset."""

    name: str
    offset: Value


class ExecutionNode(NamedTuple):
    """``(M1_NM, 16)``."""

    mask: str
    size: Value


class GroupNode(NamedTuple):
    """``(a, b, ...)``: an execution size alone, sizes of a block, modes, labels."""

    items: tuple[Node, ...]


class DataNode(NamedTuple):
    """``V34:d32x4t`` or ``V34:d32.xyzw``: payload of an LSC message; ``elements`` is 0 where no count is written."""

    register: Register
    size: str
    elements: int
    order: str
    channels: str


class BlockNode(NamedTuple):
    """``V34:d32.2x16x8nt``: payload of a two-dimensional block message."""

    register: Register
    size: str
    blocks: int
    width: int
    height: int
    order: str


class TileNode(NamedTuple):
    """``V34:64x4``: payload of an image block message, bytes and rows."""

    register: Register
    width: int
    height: int


class SizedNode(NamedTuple):
    """``V34.0/64``: a part of a message, and how many bytes of it are sent."""

    register: Register
    size: int


class AddressNode(NamedTuple):
    """``ss(V34)[4*V35+0x10]:a32``: where an LSC message goes; ``size`` is the word behind the colon."""

    kind: str | None
    surface: tuple[Node, ...] | None
    parts: tuple[AddressPartNode | MovedNode | NumberNode | IncreasedNode, ...]
    size: str | None


class AddressPartNode(NamedTuple):
    """``4*V35+0x10``: a register as a part of an address."""

    scale: int | None
    register: Register | VectorNode
    sign: str
    offset: Value


class MovedNode(NamedTuple):
    """``V36+(16,-8)``: the payload of a block message, with elements and rows by which the block is moved."""

    register: Register | VectorNode
    sign: str
    across: Value
    down: Value


class IncreasedNode(NamedTuple):
    """``0x8+0x10``: a number in the place of a coordinate, and its offset."""

    number: NumberNode
    sign: str
    offset: Value


Register = NameNode | RawNode

# -- statements ------------------------------------------------------------------------------------------------------


class LabelStatement(NamedTuple):
    """``BB_1:``"""

    head: Placed

    @property
    def name(self) -> str:
        """The label without its colon."""
        assert isinstance(self.head.node, NameNode)
        return self.head.node.name


class ScopeStatement(NamedTuple):
    """``{`` or ``}``."""

    head: Placed
    opens: bool


class PredicationNode(NamedTuple):
    """``(!P1.any)``; ``mode`` with its dot."""

    inverse: bool
    name: str
    mode: str


class OpcodeNode(NamedTuple):
    """A mnemonic and the suffixes behind it, without their dots; flags keep their brackets."""

    words: tuple[str, ...]


class InstructionStatement(NamedTuple):
    """An instruction, or a mark of source file or line."""

    predication: Placed | None
    opcode: Placed
    operands: list[Placed]
    attribute: Placed | None

    @property
    def head(self) -> Placed:
        """The place of errors about the whole line."""
        return self.opcode


class SettingNode(NamedTuple):
    """``name=value`` of a directive."""

    name: str
    value: SettingValue


class AliasNode(NamedTuple):
    """``<V34, 8>``: another variable and a byte offset in it."""

    name: str
    offset: Value


class AttributesNode(NamedTuple):
    """``{Input, Scope=3}``: names with their values, None for names without a value."""

    items: tuple[tuple[str, Value | StringNode | None], ...]


SettingValue = Value | NameNode | StringNode | AliasNode | AttributesNode | None


class DirectiveStatement(NamedTuple):
    """``.decl V34 v_type=G ...``: the directive, what follows it, and its settings by name, the last of each."""

    head: Placed
    arguments: list[Placed]
    settings: dict[str, Placed]

    @property
    def word(self) -> str:
        """The directive with its dot."""
        return self.head.text


Statement = LabelStatement | ScopeStatement | InstructionStatement | DirectiveStatement
Node = (
    Value | NameNode | StringNode | NumberNode | VectorNode | IndirectNode | RawNode | AddressOfNode | ExecutionNode
    | GroupNode | DataNode | BlockNode | TileNode | AddressNode | AddressPartNode | MovedNode | IncreasedNode
    | PredicationNode | OpcodeNode | SettingNode
)  # fmt: skip
