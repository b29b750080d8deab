"""Rules of ``grammar/ctm.lark`` to syntax nodes, one method for each rule, while Lark parses."""

from __future__ import annotations

from dataclasses import replace

from lark import Token, Transformer, v_args

from visakit.ctm.syntax import (
    EMPTY_LINE,
    ArithmeticStatement,
    ArithmeticUnit,
    BoolConstantDirective,
    BranchCondition,
    BreakStatement,
    CallStatement,
    CompareUnit,
    ContinueStatement,
    CtmStatement,
    ElseStatement,
    EndIfStatement,
    EndLoopStatement,
    EndStatement,
    Extent,
    ExternDirective,
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


def _from(first: Token, last: Token) -> Extent:
    return Extent(first.start_pos or 0, last.end_pos or 0)


def _register(letter: Token, index: Token) -> RegisterName:
    return RegisterName(str(letter), int(index), False, _from(letter, index))


def _integer(token: Token) -> int:
    return int(token, 16) if token[1:2] in ("x", "X") else int(token)


def _value(token: Token) -> float:
    return float(_integer(token) if token.type == "INTEGER" else token)


def _reach(first: Token, last: Extent) -> Extent:
    return Extent(first.start_pos or 0, last.end)


def _mask(register: RegisterName, channels: Token) -> MaskedDestination:
    return MaskedDestination(register, str(channels), Extent(register.extent.start, channels.end_pos or 0))


@v_args(inline=True)
class LineTransformer(Transformer[Token, SourceLine]):
    """Makes a :class:`SourceLine` of a line."""

    def start(self, label: Token | None, statement: CtmStatement | None) -> SourceLine:
        return EMPTY_LINE if label is None and statement is None else SourceLine(str(label or ""), statement)

    # -- registers and operands ------------------------------------------------------------------------------------

    def register(self, letter: Token, index: Token) -> RegisterName:
        return _register(letter, index)

    float_register = int_register = bool_register = output = input = register

    def predicate(self, letter: Token) -> RegisterName:
        return RegisterName(str(letter), 0, False, _from(letter, letter))

    def relative(self, letter: Token, al: Token, index: Token | None, close: Token) -> RegisterName:
        return RegisterName(str(letter), int(index or 0), True, _from(letter, close))

    def destination(self, register: RegisterName, channels: Token) -> MaskedDestination:
        return _mask(register, channels)

    def source(self, place: RegisterName | Token, channels: Token | None = None) -> SourceOperand:
        if isinstance(place, Token):
            extent = _from(place, place)
            return SourceOperand(InlineNumber(_value(place), str(place), extent), "", False, False, extent)
        extent = place.extent
        if channels is None:
            return SourceOperand(place, "", False, False, extent)
        return SourceOperand(place, str(channels), False, False, Extent(extent.start, channels.end_pos or 0))

    def negative(self, minus: Token, source: SourceOperand) -> SourceOperand:
        return replace(source, negative=True, extent=_reach(minus, source.extent))

    def absolute(self, source: SourceOperand) -> SourceOperand:
        return replace(source, absolute=True)

    def negative_absolute(self, minus: Token, source: SourceOperand) -> SourceOperand:
        return replace(source, negative=True, absolute=True, extent=_reach(minus, source.extent))

    # -- arithmetic and fetches ------------------------------------------------------------------------------------

    def arithmetic(
        self, first: ArithmeticUnit, second: ArithmeticUnit | None, flags: tuple[UnitFlag, ...] | None
    ) -> ArithmeticStatement:
        return ArithmeticStatement((first,) if second is None else (first, second), flags or ())

    def operation(self, name: Token, destination: MaskedDestination, *operands: SourceOperand) -> OperationUnit:
        last = operands[-1].extent if operands else destination.extent
        return OperationUnit(str(name), destination, operands, _reach(name, last))

    def set(
        self,
        word: Token,
        comparison: Token,
        destination: MaskedDestination,
        one: SourceOperand,
        two: SourceOperand | None,
    ) -> SetUnit:
        operands = (one,) if two is None else (one, two)
        return SetUnit(str(comparison), destination, operands, _reach(word, operands[-1].extent))

    def test(self, word: Token, comparison: Token, one: SourceOperand, two: SourceOperand | None) -> CompareUnit:
        operands = (one,) if two is None else (one, two)
        return CompareUnit(str(comparison), operands, _reach(word, operands[-1].extent))

    def flags(self, *flags: UnitFlag) -> tuple[UnitFlag, ...]:
        return flags

    def flag(self, name: Token, bang: Token | None, value: Token | None, detail: Token | None) -> UnitFlag:
        extent = _from(name, detail or value or name)
        return UnitFlag(str(name), bang is not None, str(value or ""), str(detail or ""), extent)

    def fetch(
        self,
        name: Token,
        register: RegisterName,
        mask: Token,
        number: RegisterName,
        coordinates: RegisterName,
        swizzle: Token | None,
        flags: tuple[UnitFlag, ...] | None,
    ) -> FetchStatement:
        end = coordinates.extent.end if swizzle is None else swizzle.end_pos or 0
        extent = Extent(coordinates.extent.start, end)
        destination = _mask(register, mask)
        return FetchStatement(str(name), destination, number, coordinates, str(swizzle or ""), flags or (), extent)

    def kill(self, word: Token, coordinates: RegisterName, swizzle: Token | None) -> KillStatement:
        end = coordinates.extent.end if swizzle is None else swizzle.end_pos or 0
        return KillStatement(coordinates, str(swizzle or ""), Extent(coordinates.extent.start, end))

    # -- flow control ----------------------------------------------------------------------------------------------

    def predicate_bit(self, letter: Token, channels: Token) -> tuple[str, Extent]:
        return str(channels), _from(letter, channels)

    def condition(self, bang: Token | None, what: Token | RegisterName | tuple[str, Extent]) -> BranchCondition:
        inverted = bang is not None
        if isinstance(what, Token):
            return BranchCondition(inverted, "", None, _from(bang or what, what))
        if isinstance(what, RegisterName):
            return BranchCondition(inverted, "", what, what.extent)
        return BranchCondition(inverted, what[0], None, what[1])

    def if_(self, word: Token, condition: BranchCondition) -> IfStatement:
        return IfStatement(condition)

    def else_(self, word: Token) -> ElseStatement:
        return ElseStatement()

    def endif(self, word: Token, count: Token | None) -> EndIfStatement:
        return EndIfStatement(1 if count is None else _integer(count))

    def loop(self, word: Token, turns: RegisterName) -> LoopStatement:
        return LoopStatement(str(word), turns)

    def endloop(self, word: Token) -> EndLoopStatement:
        return EndLoopStatement(str(word), "loop" if word.type == "ENDLOOP" else "rep")

    def break_(self, word: Token, if_: Token | None, condition: BranchCondition | None) -> BreakStatement:
        return BreakStatement(str(word), condition)

    def continue_(self, word: Token, if_: Token | None, condition: BranchCondition | None) -> ContinueStatement:
        return ContinueStatement(str(word), condition)

    def call(self, word: Token, name: Token, if_: Token | None, condition: BranchCondition | None) -> CallStatement:
        return CallStatement(str(name), condition)

    def ret(self, word: Token, if_: Token | None, condition: BranchCondition | None) -> ReturnStatement:
        return ReturnStatement(condition)

    def jump(
        self, word: Token, name: Token, if_: Token | None, anyone: Token | None, condition: BranchCondition | None
    ) -> JumpStatement:
        return JumpStatement(str(name), anyone is not None, condition)

    # -- instructions by their fields ------------------------------------------------------------------------------

    def fc(self, word: Token, operation: Token, *settings: FieldSetting) -> FieldStatement:
        return FieldStatement(str(operation), settings)

    def to(self, name: Token, value: Token) -> FieldSetting:
        return self._setting(name, None, value)

    def setting(self, name: Token, bang: Token | None, value: Token | RegisterName) -> FieldSetting:
        return self._setting(name, bang, value)

    def _setting(self, name: Token, bang: Token | None, value: Token | RegisterName) -> FieldSetting:
        if isinstance(value, RegisterName):
            text, found, extent = f"{value.file}{value.number}", value, _reach(name, value.extent)
            return FieldSetting(str(name), bang is not None, found, f"{name}={text}", extent)
        number = _integer(value) if value.type == "INTEGER" else str(value)
        return FieldSetting(str(name), bang is not None, number, f"{name}={value}", _from(name, value))

    def raw(self, word: Token, *words: Token) -> RawStatement:
        return RawStatement(tuple(_integer(w) for w in words))

    def end(self, word: Token) -> EndStatement:
        return EndStatement()

    # -- directives ------------------------------------------------------------------------------------------------

    def number(self, minus: Token | None, number: Token) -> InlineNumber:
        value = -_value(number) if minus else _value(number)
        return InlineNumber(value, f"{minus or ''}{number}", _from(minus or number, number))

    def target(self, word: Token) -> TargetDirective:
        return TargetDirective()

    def mode(self, word: Token) -> ModeDirective:
        return ModeDirective(word == "full")

    def float_constant(
        self, register: RegisterName, x: InlineNumber, y: InlineNumber, z: InlineNumber, w: InlineNumber
    ) -> FloatConstantDirective:
        return FloatConstantDirective(register, (x.value, y.value, z.value, w.value))

    def int_constant(
        self, register: RegisterName, turns: InlineNumber, start: InlineNumber, step: InlineNumber
    ) -> IntConstantDirective:
        return IntConstantDirective(register, (turns, start, step))

    def bool_constant(self, register: RegisterName, value: Token) -> BoolConstantDirective:
        return BoolConstantDirective(register, bool(_integer(value)))

    def extern(self, name: Token, plain: Token | None) -> ExternDirective:
        return ExternDirective(str(name), plain is not None)

    def function(self, word: Token, name: Token, plain: Token | None) -> FunctionDirective:
        return FunctionDirective(str(name), plain is not None)
