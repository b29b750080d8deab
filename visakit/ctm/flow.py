"""Flow control: structured statements to the idioms of the FC instruction, and FC instructions by their fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import visakit.ctm.table as table
from visakit.ctm.builder import ModuleBuilder, StatementError, encode_fields, register_number
from visakit.ctm.syntax import (
    BranchCondition,
    BreakStatement,
    CallStatement,
    ContinueStatement,
    ElseStatement,
    EndIfStatement,
    EndLoopStatement,
    ExternDirective,
    FieldSetting,
    FieldStatement,
    FlowStatement,
    FunctionDirective,
    IfStatement,
    JumpStatement,
    LoopStatement,
    RegisterName,
    ReturnStatement,
)
from visakit.diagnostics import did_you_mean

_IF = "if"


@dataclass
class OpenBlock:
    """A structured statement that is not closed yet.

    Attributes:
        kind: ``if``, ``loop`` or ``rep``.
        line: where it begins.
        slot: the instruction that must know where the block, or the part of it before ``else``, ends.
        integer: the constant that has a loop's turns.
        uniform: whether all processors take it alike: an if that looks at a boolean constant.
        breaks, continues: instructions that leave the loop, or go to its next turn.
    """

    kind: str
    line: int
    slot: int
    integer: int = 0
    uniform: bool = False
    breaks: list[int] = field(default_factory=list)
    continues: list[int] = field(default_factory=list)
    has_else: bool = False


class CallSite(NamedTuple):
    """A call: its line and slot, the function and whether it depends on a condition."""

    line: int
    slot: int
    name: str
    conditional: bool


def condition_fields(condition: BranchCondition | None) -> tuple[int, dict[str, int]]:
    """The truth table of a condition, and the fields that it needs; None is always true.

    Raises:
        StatementError: T004 or T011, the constant does not exist or there are several predicate bits.
    """
    if condition is None:
        return table.FUNC_ALWAYS, {}
    if condition.boolean is not None:
        func, more = table.FUNCTIONS["bool"], {"bool": register_number(condition.boolean)}
    elif condition.predicate:
        if condition.predicate not in table.PRED_SELECTS or condition.predicate == "rgba":
            message = f"a condition looks at one predicate bit, found .{condition.predicate}"
            raise StatementError("T011", message, "write p.r, p.g, p.b or p.a", condition.extent)
        func, more = table.FUNCTIONS["pred"], {"rgb_pred": table.PRED_SELECTS[condition.predicate]}
    else:
        func, more = table.FUNCTIONS["alu"], {}
    return (func ^ table.FUNC_ALWAYS if condition.inverted else func), more


class FlowEncoder:
    """Structured statements of one text; remembers the open ones.

    Attributes:
        calls: every call, in the order of the text.
    """

    def __init__(self, builder: ModuleBuilder) -> None:
        self.builder, self.module = builder, builder.module
        self.calls: list[CallSite] = []
        self._blocks: list[OpenBlock] = []
        self._function: FunctionDirective | None = None
        self._conditional_returns = 0

    def encode(self, statement: FlowStatement) -> None:
        """Append the instructions of a statement.

        Raises:
            StatementError: it does not fit the open statements, or the machine cannot do it.
        """
        match statement:
            case IfStatement():
                self._if(statement)
            case ElseStatement():
                self._else()
            case EndIfStatement():
                self._endif(statement.count)
            case LoopStatement():
                self._loop(statement)
            case EndLoopStatement():
                self._endloop(statement)
            case BreakStatement() | ContinueStatement():
                self._leave(statement)
            case CallStatement():
                self._call(statement)
            case ReturnStatement():
                self._return(statement.condition)
            case JumpStatement():
                func, more = condition_fields(statement.condition)
                self.builder.append_flow(table.JUMP, statement.label, func=func, any=int(statement.anyone), more=more)

    # -- branches --------------------------------------------------------------------------------------------------

    def _if(self, statement: IfStatement) -> None:
        func, more = condition_fields(statement.condition)
        slot = self.builder.append_flow(table.JUMP, func=func ^ table.FUNC_ALWAYS, b_op0=table.B_INCR, more=more)
        uniform = statement.condition.boolean is not None
        self._blocks.append(OpenBlock(_IF, self.builder.line, slot, uniform=uniform))

    def _else(self) -> None:
        block = self._innermost(_IF, "else")
        if block.has_else:
            raise StatementError("T013", "this if has an else already")
        slot = self.builder.append_flow(table.JUMP, b_op1=table.B_DECR, pop=1, b_else=1)
        self.builder.change(block.slot, self.builder.new_label("else"), b_op1=table.B_INCR)
        block.has_else, block.slot = True, slot

    def _endif(self, count: int) -> None:
        if count < 1:
            raise StatementError("T013", f"endif {count} closes nothing", "write endif")
        if count > 1:
            closing = self._blocks[-count:]
            if len(closing) < count or any(b.kind != _IF or b.has_else for b in closing):
                raise StatementError("T013", f"endif {count} closes {count} ifs without else", "close them one by one")
        else:
            closing = [self._innermost(_IF, "endif")]
        del self._blocks[-len(closing) :]
        self.builder.append_flow(table.JUMP, func=table.FUNC_NEVER, any=1, b_op0=table.B_DECR, pop=len(closing))
        behind = self.builder.new_label("endif")
        for depth, block in enumerate(closing):
            counters = {"b_op1": table.B_DECR, "pop": depth} if depth else {}
            self.builder.change(block.slot, behind, **counters)

    def _innermost(self, kind: str, word: str) -> OpenBlock:
        """The innermost open block, which must be of a kind."""
        if not self._blocks or self._blocks[-1].kind != kind:
            inside = "nothing is open"
            if self._blocks:
                block = self._blocks[-1]
                inside = f"the innermost open statement is the {block.kind} of line {block.line}"
            raise StatementError("T013", f"'{word}' has no {kind} to belong to", inside)
        return self._blocks[-1]

    def close_all(self) -> None:
        """At the end of a function or of the text.

        Raises:
            StatementError: T013, something is open.
        """
        if self._blocks:
            block = self._blocks[-1]
            self._blocks.clear()
            message = f"the {block.kind} of line {block.line} is not closed"
            raise StatementError("T013", message, f"close it with end{block.kind}")

    # -- loops -----------------------------------------------------------------------------------------------------

    def _loop(self, statement: LoopStatement) -> None:
        integer = register_number(statement.turns)
        self._need_full_mode()
        if integer not in self.module.integers:
            hint = f"write .int i{integer} count start step before the {statement.kind}"
            raise StatementError("T014", f"i{integer} has no value", hint, statement.turns.extent)
        op = table.FC_OPS.index(statement.kind)
        slot = self.builder.append_flow(op, func=table.FUNC_NEVER, any=1, int=integer)
        self._blocks.append(OpenBlock(statement.kind, self.builder.line, slot, integer))

    def _endloop(self, statement: EndLoopStatement) -> None:
        block = self._innermost(statement.kind, statement.word)
        self._blocks.pop()
        builder = self.builder
        begin, end = builder.label_behind(block.slot), builder.new_label("endloop")
        op = table.FC_OPS.index(statement.word)
        builder.append_flow(op, begin, func=table.FUNC_ALWAYS, any=1, int=block.integer)
        behind = builder.new_label("behind")
        for slot in (block.slot, *block.breaks):
            builder.change(slot, behind)
        for slot in block.continues:
            builder.change(slot, end)

    def _leave(self, statement: BreakStatement | ContinueStatement) -> None:
        """Out of the ifs between here and the loop."""
        depth = next((n for n, block in enumerate(reversed(self._blocks)) if block.kind != _IF), -1)
        if depth < 0:
            raise StatementError("T013", f"'{statement.word}' is outside a loop")
        loop = self._blocks[-1 - depth]
        func, more = condition_fields(statement.condition)
        if isinstance(statement, ContinueStatement):
            op, leaving = table.CONTINUE, loop.continues
        else:
            op, leaving = table.BREAK_OF[loop.kind], loop.breaks
        counters = table.B_DECR if depth else table.B_NONE
        leaving.append(self.builder.append_flow(op, func=func, pop=depth, b_op1=counters, more=more))

    # -- functions -------------------------------------------------------------------------------------------------

    def declare(self, directive: ExternDirective | FunctionDirective) -> None:
        """A function is plain, or keeps branch counters.

        Raises:
            StatementError: T026, the text says otherwise elsewhere.
        """
        if self.module.plain.setdefault(directive.name, directive.plain) != directive.plain:
            message = f"'{directive.name}' is plain in one place and keeps branch counters in another"
            raise StatementError("T026", message, "write 'plain' in both or in neither")

    def begin_function(self, directive: FunctionDirective) -> None:
        """What follows is a function.

        Raises:
            StatementError: something is open, or the name is taken.
        """
        self.close_all()
        self.builder.label(directive.name)
        self.module.exported.add(directive.name)
        self._function, self._conditional_returns = directive, 0
        self.declare(directive)

    def _call(self, statement: CallStatement) -> None:
        self._need_full_mode()
        func, more = condition_fields(statement.condition)
        slot = self.builder.append_flow(
            table.JUMP, statement.name, func=func, any=1, a_op=table.A_PUSH, b_op1=table.B_INCR, more=more
        )
        self.calls.append(CallSite(self.builder.line, slot, statement.name, statement.condition is not None))

    def finish_calls(self) -> None:
        """At the end of the text, which may say behind a call what its function is: plain ones keep no counters."""
        for call in self.calls:
            if self.module.plain.setdefault(call.name, False):
                self.builder.change(call.slot, b_op1=table.B_NONE)

    def _return(self, condition: BranchCondition | None) -> None:
        if self._function is None:
            raise StatementError("T015", "'ret' is outside a function", "begin one with function NAME")
        if not all(block.uniform for block in self._blocks):
            message = "'ret' inside a loop, or an if that processors take differently, is not supported by the machine"
            raise StatementError("T015", message, "return conditionally with ret if, outside of both")
        # A boolean constant is the same for all: no processor is switched off, so that the return adds no level.
        differs = condition is not None and condition.boolean is None
        plain = self._function.plain
        if differs and plain:
            raise StatementError("T015", "a plain function returns unconditionally", "leave 'plain' out")
        if differs and self._blocks:
            message = "a return that only some processors take is not allowed inside an if"
            raise StatementError("T015", message, "its level would have to outlive the if")
        func, more = condition_fields(condition)
        # Each conditional return adds a level for those who stay; every return takes them all away, with those of the
        # ifs around it and the call's.
        levels = len(self._blocks) + self._conditional_returns + (not plain)
        counters = {"b_op1": table.B_DECR, "pop": levels} if levels else {}
        if differs:
            self._conditional_returns += 1
            counters["b_op0"] = table.B_INCR
        self.builder.append_flow(table.JUMP, func=func, a_op=table.A_POP, more=more | counters)

    def _need_full_mode(self) -> None:
        if not self.module.full:
            raise StatementError("T034", "partial mode has no loops and no subroutines", "write .mode full")


# -- instructions by their fields --------------------------------------------------------------------------------------

_REGISTERS = {"bool": "b", "int": "i"}
_SETTINGS = (*table.FC_WORDS, *table.FC_NUMBERS, *_REGISTERS, "to", "pred")


def field_words(statement: FieldStatement) -> tuple[tuple[int, ...], str]:
    """The words of an ``fc`` statement, and the label that it jumps to (empty if it names none).

    Raises:
        StatementError: T002, T004, T012 or T038, a setting or its value does not exist.
    """
    values, target = {"alu_wait": 1, "op": table.FC_OPS.index(statement.operation)}, ""
    for setting in statement.settings:
        if setting.name == "to" and isinstance(setting.value, str):
            target = setting.value
        else:
            values |= _setting_fields(setting)
    return encode_fields(table.FC, values), target


def _setting_fields(setting: FieldSetting) -> dict[str, int]:
    name, value = setting.name, setting.value
    if isinstance(value, int):
        if name == "to":
            return {"jump": value}
        if name in table.FC_NUMBERS:
            return {table.FC_NUMBERS[name]: value}
    elif name in _REGISTERS and value[0] == _REGISTERS[name] and value[1:].isdigit():
        return {name: register_number(RegisterName(value[0], int(value[1:]), False, setting.extent))}
    elif name in table.FC_WORDS and value in table.FC_WORDS[name][1]:
        key, words = table.FC_WORDS[name]
        return {key: words.index(value)}
    elif name == "pred" and value in table.PRED_SELECTS:
        if table.PRED_SELECTS[value] == table.PRED_PER_CHANNEL:
            message = "a flow-control instruction cannot select a predicate per channel"
            raise StatementError("T038", message, "select one of r, g, b and a", setting.extent)
        return {"rgb_pred": table.PRED_SELECTS[value], "rgb_pred_inv": int(setting.inverted)}
    hint = (name not in _SETTINGS and did_you_mean(name, _SETTINGS)) or f"settings are {', '.join(_SETTINGS)}"
    raise StatementError("T012", f"'{setting.text}' is not a setting of fc", hint, setting.extent)
