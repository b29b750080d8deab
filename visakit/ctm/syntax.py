"""What a line of CTM text says: the nodes that the grammar's rules become. Nothing in them is checked or looked up.

Columns count from 0, in the line without its indentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Extent(NamedTuple):
    """The characters of a line from ``start`` up to, not including, ``end``."""

    start: int
    end: int


NOWHERE = Extent(0, 0)
"""The extent of a node before its place in the line is known."""


# -- operands ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RegisterName:
    """``r7``, ``c[aL+3]``, ``i0``: a register file by its letter, and a number; aL is added if ``relative``."""

    file: str
    number: int
    relative: bool
    extent: Extent = NOWHERE


@dataclass(frozen=True, slots=True)
class InlineNumber:
    """A number in the place of a source, with its text for messages."""

    value: float
    text: str
    extent: Extent = NOWHERE


@dataclass(frozen=True, slots=True)
class SourceOperand:
    """A source with its modifiers; ``swizzle`` is empty if none is written."""

    place: RegisterName | InlineNumber
    swizzle: str
    negative: bool
    absolute: bool
    extent: Extent = NOWHERE


@dataclass(frozen=True, slots=True)
class MaskedDestination:
    """A register, an output or the predicates, and the channels that are written."""

    register: RegisterName
    mask: str
    extent: Extent = NOWHERE


# -- arithmetic and fetches --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OperationUnit:
    """An operation with a destination."""

    name: str
    destination: MaskedDestination
    operands: tuple[SourceOperand, ...]
    extent: Extent = NOWHERE


@dataclass(frozen=True, slots=True)
class SetUnit:
    """``set.ge p.g, r1, r2``: predicate bits out of a comparison."""

    comparison: str
    destination: MaskedDestination
    operands: tuple[SourceOperand, ...]
    extent: Extent = NOWHERE


@dataclass(frozen=True, slots=True)
class CompareUnit:
    """``test.ge r1, r2``: the ALU result out of a comparison."""

    comparison: str
    operands: tuple[SourceOperand, ...]
    extent: Extent = NOWHERE


@dataclass(frozen=True, slots=True)
class UnitFlag:
    """``clamp``, ``pred=!g``, ``alu=r.ge``: a name, and a value with a part behind a dot; empty where not written."""

    name: str
    inverted: bool
    value: str
    detail: str
    extent: Extent = NOWHERE


ArithmeticUnit = OperationUnit | SetUnit | CompareUnit


@dataclass(frozen=True, slots=True)
class ArithmeticStatement:
    """One or two operations that execute together."""

    units: tuple[ArithmeticUnit, ...]
    flags: tuple[UnitFlag, ...]


@dataclass(frozen=True, slots=True)
class FetchCoordinates:
    """The register with the coordinates of a fetch; ``swizzle`` is empty if none is written."""

    register: RegisterName
    swizzle: str
    extent: Extent = NOWHERE


@dataclass(frozen=True, slots=True)
class FetchStatement:
    """A fetch from an input."""

    name: str
    destination: MaskedDestination
    input: RegisterName
    coordinates: FetchCoordinates
    flags: tuple[UnitFlag, ...]


@dataclass(frozen=True, slots=True)
class KillStatement:
    """``texkill``: processors with a negative coordinate stop."""

    coordinates: FetchCoordinates


# -- flow control ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BranchCondition:
    """What a branch looks at: the ALU result, predicate bits, or a boolean constant; one of the last two or neither."""

    inverted: bool
    predicate: str
    boolean: RegisterName | None
    extent: Extent = NOWHERE


@dataclass(frozen=True, slots=True)
class IfStatement:
    """``if``."""

    condition: BranchCondition


@dataclass(frozen=True, slots=True)
class ElseStatement:
    """``else``."""


@dataclass(frozen=True, slots=True)
class EndIfStatement:
    """``endif``, which may close several ifs."""

    count: int


@dataclass(frozen=True, slots=True)
class LoopStatement:
    """``loop`` or ``rep`` with the integer constant that has its turns."""

    kind: str
    turns: RegisterName


@dataclass(frozen=True, slots=True)
class EndLoopStatement:
    """``endloop`` or ``endrep``, with the statement that it ends."""

    word: str
    kind: str


@dataclass(frozen=True, slots=True)
class BreakStatement:
    """``break``."""

    word: str
    condition: BranchCondition | None


@dataclass(frozen=True, slots=True)
class ContinueStatement:
    """``continue``."""

    word: str
    condition: BranchCondition | None


@dataclass(frozen=True, slots=True)
class CallStatement:
    """``call``."""

    name: str
    condition: BranchCondition | None


@dataclass(frozen=True, slots=True)
class ReturnStatement:
    """``ret``."""

    condition: BranchCondition | None


@dataclass(frozen=True, slots=True)
class JumpStatement:
    """``jump``; with ``anyone`` the group jumps if one of its processors wishes."""

    label: str
    anyone: bool
    condition: BranchCondition | None


@dataclass(frozen=True, slots=True)
class FieldSetting:
    """``func=0x0f``, ``pred=!g``, ``bool=b5``: a field of an FC instruction and its value; ``text`` is for messages."""

    name: str
    inverted: bool
    value: str | int
    text: str
    extent: Extent = NOWHERE


@dataclass(frozen=True, slots=True)
class FieldStatement:
    """``fc``: an FC instruction by its fields, and where it jumps (a slot or a label)."""

    operation: str
    settings: tuple[FieldSetting, ...]


FlowStatement = (
    IfStatement | ElseStatement | EndIfStatement | LoopStatement | EndLoopStatement | BreakStatement
    | ContinueStatement | CallStatement | ReturnStatement | JumpStatement
)  # fmt: skip

# -- directives and whole instructions ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TargetDirective:
    """``.target ctm``."""


@dataclass(frozen=True, slots=True)
class ModeDirective:
    """``.mode``."""

    full: bool


@dataclass(frozen=True, slots=True)
class FloatConstantDirective:
    """``.const``."""

    register: RegisterName
    values: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class IntConstantDirective:
    """``.int``: turns of a loop, first value of aL, step."""

    register: RegisterName
    values: tuple[InlineNumber, InlineNumber, InlineNumber]


@dataclass(frozen=True, slots=True)
class BoolConstantDirective:
    """``.bool``."""

    register: RegisterName
    value: bool


@dataclass(frozen=True, slots=True)
class ExternDirective:
    """``.extern``: a function of another module."""

    name: str
    plain: bool


@dataclass(frozen=True, slots=True)
class FunctionDirective:
    """``function``: what follows, up to the next one."""

    name: str
    plain: bool


@dataclass(frozen=True, slots=True)
class RawStatement:
    """``raw``: an instruction as its words."""

    words: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EndStatement:
    """``end``: the instruction that ends the program."""


Directive = (
    TargetDirective | ModeDirective | FloatConstantDirective | IntConstantDirective | BoolConstantDirective
    | ExternDirective | FunctionDirective
)  # fmt: skip
CtmStatement = (
    Directive | FlowStatement | ArithmeticStatement | FetchStatement | KillStatement | FieldStatement | RawStatement
    | EndStatement
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line: a label, a statement, both or nothing."""

    label: str
    statement: CtmStatement | None


EMPTY_LINE = SourceLine("", None)
