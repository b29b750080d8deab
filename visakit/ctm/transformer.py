"""Rules of ``grammar/ctm.lark`` to syntax nodes, one method for each rule.

A method gets the children of its rule: tokens as text, None for an optional part that is not there, and nodes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from visakit.ctm.syntax import (
    EMPTY_LINE,
    ArithmeticStatement,
    BoolConstantDirective,
    BranchCondition,
    BreakStatement,
    CallStatement,
    CompareUnit,
    ContinueStatement,
    ElseStatement,
    EndIfStatement,
    EndLoopStatement,
    EndStatement,
    ExternDirective,
    FetchCoordinates,
    FetchStatement,
    FieldSetting,
    FieldStatement,
    FloatConstantDirective,
    FunctionDirective,
    IfStatement,
    InlineNumber,
    IntConstantDirective,
    JumpStatement,
    KillStatement,
    LoopStatement,
    MaskedDestination,
    ModeDirective,
    OperationUnit,
    RawStatement,
    RegisterName,
    ReturnStatement,
    SetUnit,
    SourceLine,
    SourceOperand,
    TargetDirective,
    UnitFlag,
)

Children = list[Any]
"""Children of a rule; the grammar gives the type in each place."""

PLACED = frozenset(
    {"register", "predicate", "relative", "destination", "source", "constant", "negative", "absolute",
     "negative_absolute", "operation", "set", "test", "flag", "coordinates", "condition", "setting", "number"}
)  # fmt: skip
"""Rules whose nodes have an extent."""


def _integer(text: str) -> int:
    return int(text, 16) if text[:2] in ("0x", "0X") else int(text)


def _value(text: str) -> float:
    return float(text) if "." in text else float(_integer(text))


class LineTransformer:
    """Makes a :class:`SourceLine` of a line."""

    def line(self, children: Children) -> SourceLine:
        label, statement = children
        return (
            EMPTY_LINE if label is None and statement is None else SourceLine((label or "").rstrip(": \t"), statement)
        )

    # -- registers and operands ------------------------------------------------------------------------------------

    def register(self, children: Children) -> RegisterName:
        return RegisterName(children[0][0], int(children[0][1:]), False)

    def predicate(self, children: Children) -> RegisterName:
        return RegisterName(children[0], 0, False)

    def relative(self, children: Children) -> RegisterName:
        file, index = children
        return RegisterName(file, _integer(index or "0"), True)

    def destination(self, children: Children) -> MaskedDestination:
        register, channels = children
        return MaskedDestination(register, channels[1:])

    def source(self, children: Children) -> SourceOperand:
        register, channels = children
        return SourceOperand(register, (channels or "")[1:], False, False)

    def constant(self, children: Children) -> SourceOperand:
        return SourceOperand(InlineNumber(_value(children[0]), children[0]), "", False, False)

    def negative(self, children: Children) -> SourceOperand:
        source: SourceOperand = children[-1]
        return replace(source, negative=True)

    def absolute(self, children: Children) -> SourceOperand:
        source: SourceOperand = children[-1]
        return replace(source, absolute=True)

    def negative_absolute(self, children: Children) -> SourceOperand:
        source: SourceOperand = children[-1]
        return replace(source, negative=True, absolute=True)

    # -- arithmetic and fetches ------------------------------------------------------------------------------------

    def arithmetic(self, children: Children) -> ArithmeticStatement:
        first, second, flags = children
        return ArithmeticStatement((first,) if second is None else (first, second), flags or ())

    def operation(self, children: Children) -> OperationUnit:
        name, destination, *operands = children
        return OperationUnit(name, destination, tuple(operands))

    def set(self, children: Children) -> SetUnit:
        _, comparison, destination, one, two = children
        return SetUnit(comparison[1:], destination, (one,) if two is None else (one, two))

    def test(self, children: Children) -> CompareUnit:
        _, comparison, one, two = children
        return CompareUnit(comparison[1:], (one,) if two is None else (one, two))

    def flags(self, children: Children) -> tuple[UnitFlag, ...]:
        return tuple(children)

    def flag(self, children: Children) -> UnitFlag:
        name, bang, value, detail = (*children, None, None, None)[:4]
        return UnitFlag(name, bang is not None, value or "", (detail or "")[1:])

    def coordinates(self, children: Children) -> FetchCoordinates:
        register, swizzle = children
        return FetchCoordinates(register, (swizzle or "")[1:])

    def fetch(self, children: Children) -> FetchStatement:
        name, destination, number, coordinates, flags = children
        return FetchStatement(name, destination, number, coordinates, flags or ())

    def kill(self, children: Children) -> KillStatement:
        return KillStatement(children[1])

    # -- flow control ----------------------------------------------------------------------------------------------

    def predicate_bit(self, children: Children) -> str:
        channels: str = children[1]
        return channels

    def condition(self, children: Children) -> BranchCondition:
        bang, given = children
        if isinstance(given, RegisterName):
            return BranchCondition(bang is not None, "", given)
        return BranchCondition(bang is not None, given[1:] if given[0] == "." else "", None)

    def if_(self, children: Children) -> IfStatement:
        return IfStatement(children[1])

    def else_(self, children: Children) -> ElseStatement:
        return ElseStatement()

    def endif(self, children: Children) -> EndIfStatement:
        return EndIfStatement(_integer(children[1] or "1"))

    def loop(self, children: Children) -> LoopStatement:
        return LoopStatement(*children)

    def endloop(self, children: Children) -> EndLoopStatement:
        return EndLoopStatement(children[0], children[0].removeprefix("end"))

    def break_(self, children: Children) -> BreakStatement:
        return BreakStatement(children[0], children[-1])

    def continue_(self, children: Children) -> ContinueStatement:
        return ContinueStatement(children[0], children[-1])

    def call(self, children: Children) -> CallStatement:
        return CallStatement(children[1], children[-1])

    def ret(self, children: Children) -> ReturnStatement:
        return ReturnStatement(children[-1])

    def jump(self, children: Children) -> JumpStatement:
        _, label, _, anyone, condition = children
        return JumpStatement(label, anyone is not None, condition)

    # -- instructions by their fields ------------------------------------------------------------------------------

    def fc(self, children: Children) -> FieldStatement:
        _, operation, *settings = children
        return FieldStatement(operation, tuple(settings))

    def setting(self, children: Children) -> FieldSetting:
        name, bang, text = children
        value = _integer(text) if text[0].isdigit() else text
        return FieldSetting(name, bang is not None, value, f"{name}={text}")

    def raw(self, children: Children) -> RawStatement:
        return RawStatement(tuple(map(_integer, children[1:])))

    def end(self, children: Children) -> EndStatement:
        return EndStatement()

    # -- directives ------------------------------------------------------------------------------------------------

    def number(self, children: Children) -> InlineNumber:
        minus, number = children
        return InlineNumber(-_value(number) if minus else _value(number), f"{minus or ''}{number}")

    def target(self, children: Children) -> TargetDirective:
        return TargetDirective()

    def mode(self, children: Children) -> ModeDirective:
        return ModeDirective(children[0] == "full")

    def float_constant(self, children: Children) -> FloatConstantDirective:
        register, x, y, z, w = children
        return FloatConstantDirective(register, (x.value, y.value, z.value, w.value))

    def int_constant(self, children: Children) -> IntConstantDirective:
        register, turns, start, step = children
        return IntConstantDirective(register, (turns, start, step))

    def bool_constant(self, children: Children) -> BoolConstantDirective:
        return BoolConstantDirective(children[0], bool(_integer(children[1])))

    def extern(self, children: Children) -> ExternDirective:
        return ExternDirective(children[0], children[1] is not None)

    def function(self, children: Children) -> FunctionDirective:
        return FunctionDirective(children[1], children[2] is not None)
