"""Expressions of the debugger: C's operators over variables, regions, predicates, memory and numbers of threads.

An expression has a value in several threads at once, so a condition is one computation: ``V34 > 5 && $thread == 2``.
Forms beyond C: regions ``V34(1,0)<8;8,1>``, consecutive elements ``x[3]@8``, another type of elements ``slm:f[3]``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from visakit.diagnostics import DebugError, did_you_mean
from visakit.language.operands import region_elements
from visakit.language.types import DataType
from visakit.usage import whole_number
from vsim.debug.problems import EXPRESSION, part_of, problem
from vsim.debug.scope import Scope, variable_number
from vsim.debug.stopped_threads import NamedMemory
from vsim.debug.values import TYPES, DebugValue, type_name
from vsim.launch.arrays import Array

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[%$]?[A-Za-z_][\w$]*(?:\.[A-Za-z_]\w*)*|\$\d*)"
    r"|(?P<op><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>!~&|^()\[\],@:]))"
)
_REGION = re.compile(r"\s*<\s*([0-9]{1,9})\s*(?:;\s*([0-9]{1,9})\s*,\s*([0-9]{1,9})\s*)?>(?!\s*[\w(])")
_LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
           ("*", "/", "%"))  # fmt: skip
TOO_DEEP = "the expression is nested too deep"
Evaluate = Callable[[Scope], DebugValue | NamedMemory]


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Expression:
    """An expression that was read.

    Attributes:
        text: as it was written.
        names: variables and other names in it.
        conjuncts: the expressions that ``&&`` joins at its top.
    """

    text: str
    evaluate: Evaluate
    names: frozenset[str]
    conjuncts: tuple[Expression, ...] = ()

    def value(self, scope: Scope) -> DebugValue:
        """Its value in the threads of a scope.

        Raises:
            DebugError: D002, it has none there.
        """
        try:
            return plain(self.evaluate(scope), scope)
        except RecursionError:
            raise problem(EXPRESSION, TOO_DEEP) from None

    def holds(self, scope: Scope, lanes: Array) -> Array:
        """In which of some lanes (threads x 32) it is not 0."""
        value = self.value(scope)
        found = np.broadcast_to(value.data != 0, (len(lanes), value.count))
        if not value.by_lane:
            return lanes & found.any(axis=1, keepdims=True)
        held = np.zeros_like(lanes)
        held[:, : value.count] = found
        return lanes & held


def plain(found: DebugValue | NamedMemory, scope: Scope) -> DebugValue:
    """A value; of memory all elements, up to some."""
    if isinstance(found, DebugValue):
        return found
    count = found.size // found.dtype.itemsize
    if count > 256:
        raise problem(EXPRESSION, f"'{found.name}' has {count} elements", f"name some: {found.name}[0]@16")
    return scope.elements(found, np.zeros((1, 1), np.int64), count)


def parse(text: str, offset: int = 0, command: str = "") -> Expression:
    """Read an expression.

    Args:
        offset: where it begins in the command, for errors.

    Raises:
        DebugError: D002, it cannot be read; the error shows where.
    """
    return _Parser(text, offset, command or text).whole()


class _Parser:
    """Reads one expression, by precedence."""

    def __init__(self, text: str, offset: int, command: str) -> None:
        self.text, self.offset, self.command = text, offset, command
        self.at, self.names = 0, set[str]()
        self.depth = 0
        self.tops: list[_Token] = []
        """The signs ``&&`` and ``||`` outside of brackets."""

    def whole(self) -> Expression:
        if not self.text.strip():
            raise self.fail("an expression is missing", 0, len(self.text))
        try:
            evaluate = self.level(0)
        except RecursionError:
            raise self.fail(TOO_DEEP, 0, len(self.text)) from None
        token = self.peek()
        if token is not None:
            raise self.fail(f"'{token.text}' does not continue the expression", token.start, token.end)
        return Expression(self.text.strip(), evaluate, frozenset(self.names), tuple(self.conjuncts()))

    def conjuncts(self) -> Iterator[Expression]:
        if not self.tops or any(token.text == "||" for token in self.tops):
            return
        starts, ends = [0, *(t.end for t in self.tops)], [*(t.start for t in self.tops), len(self.text)]
        for start, end in zip(starts, ends, strict=True):
            yield _Parser(self.text[start:end], self.offset + start, self.command).whole()

    def fail(self, message: str, start: int, end: int, hint: str = "") -> DebugError:
        return problem(EXPRESSION, message, hint, part_of(self.command, self.offset + start, self.offset + end))

    def peek(self) -> _Token | None:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            rest = self.text[self.at :]
            if rest.strip():
                start = self.at + len(rest) - len(rest.lstrip())
                raise self.fail(f"'{rest.strip()[0]}' cannot be read", start, start + 1)
            return None
        kind = str(match.lastgroup)
        return _Token(kind, match[kind], match.start(kind), match.end(kind))

    def take(self, *texts: str) -> _Token | None:
        token = self.peek()
        if token is None or (texts and (token.kind != "op" or token.text not in texts)):
            return None
        self.at = token.end
        return token

    def need(self, text: str) -> None:
        if self.take(text) is None:
            token = self.peek()
            where = (token.start, token.end) if token else (len(self.text), len(self.text) + 1)
            found = f"'{token.text}'" if token else "the end"
            raise self.fail(f"'{text}' is expected, found {found}", *where)

    # -- operators -----------------------------------------------------------------------------------------

    def level(self, n: int) -> Evaluate:
        if n == len(_LEVELS):
            return self.unary()
        left = self.level(n + 1)
        while (token := self.take(*_LEVELS[n])) is not None:
            if token.text in ("&&", "||") and not self.depth:
                self.tops.append(token)
            left = self.binary(token, left, self.level(n + 1))
        return left

    def binary(self, token: _Token, left: Evaluate, right: Evaluate) -> Evaluate:
        def evaluate(scope: Scope) -> DebugValue:
            a, b = plain(left(scope), scope), plain(right(scope), scope)
            if a.count != b.count and 1 not in (a.count, b.count):
                message = f"'{token.text}' joins {a.count} elements and {b.count}"
                raise self.fail(message, token.start, token.end, "both sides have as many, or one side has one")
            return _combined(token.text, a, b)

        return evaluate

    def unary(self) -> Evaluate:
        token = self.take("-", "!", "~", "+")
        if token is None:
            return self.postfix()
        inner = self.unary()

        def evaluate(scope: Scope) -> DebugValue:
            value = plain(inner(scope), scope)
            data = _number(value.data)
            if token.text == "!":
                return DebugValue(data == 0, "bool", value.by_lane)
            if token.text == "~":
                with np.errstate(invalid="ignore"):
                    data = np.invert(data.astype(np.int64))
            return DebugValue(-data if token.text == "-" else data, type_name(data.dtype), value.by_lane)

        return evaluate

    # -- names and what follows them -----------------------------------------------------------------------

    def postfix(self) -> Evaluate:
        token = self.take()
        if token is None:
            raise self.fail("the expression ends too early", len(self.text), len(self.text) + 1)
        if token.kind == "number":
            return self.literal(token)
        if token.text == "(":
            inner = self.level_inside()
            self.need(")")
            return inner
        if token.kind != "name":
            raise self.fail(f"'{token.text}' begins no expression", token.start, token.end)
        self.names.add(token.text)
        found = self.name(token)
        while (bracket := self.take("[", "@")) is not None:
            found = self.subscript(found, bracket) if bracket.text == "[" else self.consecutive(found, bracket)
        return found

    def level_inside(self) -> Evaluate:
        self.depth += 1
        found = self.level(0)
        self.depth -= 1
        return found

    def literal(self, token: _Token) -> Evaluate:
        text = token.text
        digits = text.lstrip("0")
        is_hexadecimal = digits[:1] in ("x", "X")
        is_whole = is_hexadecimal or text.isdigit()
        if is_whole and len(digits) > 20:  # Python reads no numbers of thousands of digits.
            raise self.fail(f"{text:.40} has more than 64 bits", token.start, token.end)
        number = float(text) if not is_whole else int(text, 16 if is_hexadecimal else 10)
        if is_whole and number >= 1 << 64:
            raise self.fail(f"{text} has more than 64 bits", token.start, token.end)
        data = np.array([[number]], np.float64 if not is_whole else np.uint64 if number >= 1 << 63 else np.int64)
        return lambda scope: DebugValue(data, type_name(data.dtype))

    def name(self, token: _Token) -> Evaluate:
        as_type = self.type_suffix()
        if (self.text[self.at : self.at + 1]) == "(":
            return self.region(token, as_type)

        def evaluate(scope: Scope) -> DebugValue | NamedMemory:
            with _at(self, token):
                if as_type is None:
                    return scope.find(token.text)
                found = scope.memory(token.text, as_type) or scope.variable(token.text, as_type)
                if found is None:
                    scope.find(token.text)
                    raise problem(EXPRESSION, f"'{token.text}' has no elements of another type")
                return found

        return evaluate

    def type_suffix(self) -> DataType | None:
        if self.text[self.at : self.at + 1] != ":":
            return None
        self.take(":")
        token = self.take()
        if token is None or token.text not in TYPES:
            found = token or _Token("", "", len(self.text), len(self.text) + 1)
            hint = did_you_mean(found.text, TYPES) or f"types are {', '.join(TYPES)}"
            raise self.fail(f"'{found.text}' is no type", found.start, found.end, hint)
        return TYPES[token.text]

    def region(self, token: _Token, as_type: DataType | None) -> Evaluate:
        self.take("(")
        row = self.index()
        column = 0
        if self.take(",") is not None:
            column = self.index()
        self.need(")")
        match = _REGION.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
        end = self.at

        def evaluate(scope: Scope) -> DebugValue:
            with _at(self, token._replace(end=end)):
                var = _variable(scope, token.text)
                kind = as_type or scope.function.variable_type(var)
                numbers: tuple[int, ...] = (0,)
                if match is not None:
                    strides = [int(g) for g in match.groups() if g is not None]
                    region = (strides[0], strides[1], strides[2]) if len(strides) == 3 else (None, None, strides[0])
                    numbers = region_elements(region, 1 if region == (0, 1, 0) else scope.simd)
                begin = row * scope.execution.dispatch.grf_size + column * kind.size
                return scope.region(var, begin, numbers, as_type, self.text[token.start : end])

        return evaluate

    def index(self) -> int:
        token = self.take()
        number = whole_number(token.text) if token is not None else None
        if number is None:
            where = (token.start, token.end) if token else (len(self.text), len(self.text) + 1)
            raise self.fail("a region has a row and a column, as V34(1,0)", *where)
        return number

    def subscript(self, base: Evaluate, bracket: _Token) -> Evaluate:
        inner = self.level_inside()
        self.need("]")
        end = self.at

        def evaluate(scope: Scope) -> DebugValue:
            found, index = base(scope), plain(inner(scope), scope)
            with _at(self, bracket._replace(end=end)):
                if index.data.dtype.kind == "f":
                    raise problem(EXPRESSION, "the number of an element is whole")
                numbers = _number(index.data).astype(np.int64)
                if isinstance(found, NamedMemory):
                    return scope.elements(found, numbers)
                memory = scope.memory(found.name) if found.name else None
                if memory is not None:
                    return scope.elements(memory, numbers)
                return _element(found, numbers)

        return evaluate

    def consecutive(self, base: Evaluate, at: _Token) -> Evaluate:
        token = self.take()
        count = whole_number(token.text) if token is not None else None
        if token is None or not count:
            raise self.fail("'@' is followed by a number of elements", at.start, at.end)

        def evaluate(scope: Scope) -> DebugValue:
            found = base(scope)
            with _at(self, at._replace(end=token.end)):
                if isinstance(found, NamedMemory):
                    return scope.elements(found, np.zeros((1, 1), np.int64), count)
                location = found.location
                if location is None or location.data is None:
                    raise problem(EXPRESSION, "'@' follows an element of memory, as x[3]@8")
                memory = NamedMemory(
                    location.name, location.data, location.dtype, location.columns[:, :1, 0], _rest(found)
                )
                return scope.elements(memory, np.zeros((1, 1), np.int64), count)

        return evaluate


class _at:
    """Errors within get a place in the command, if they have none."""

    def __init__(self, parser: _Parser, token: _Token) -> None:
        self.parser, self.token = parser, token

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, DebugError) and error.diagnostics[0].span is None:
            own, parser = error.diagnostics[0], self.parser
            span = part_of(parser.command, parser.offset + self.token.start, parser.offset + self.token.end)
            error.diagnostics[0] = replace(own, span=span)


def _variable(scope: Scope, name: str) -> int:
    """The number of a general variable."""
    found = variable_number(scope.function, name)
    if found is None:
        hint = did_you_mean(name, [v.name for v in scope.function.variables])
        raise problem(EXPRESSION, f"'{scope.function.name}' has no variable '{name}'", hint)
    return found


def _rest(found: DebugValue) -> int:
    """Bytes of memory from an element on."""
    location = found.location
    assert location is not None and location.data is not None
    return int(location.data.size - location.columns[:, :1, 0].max())


def _element(found: DebugValue, numbers: Array) -> DebugValue:
    """An element of registers."""
    if numbers.size != 1 or not 0 <= int(numbers[0, 0]) < found.count:
        raise problem(EXPRESSION, f"'{found.name}' has elements 0 to {found.count - 1}")
    n = int(numbers[0, 0])
    location = None if found.location is None else found.location.of_element(n)
    unknown = None if found.undefined is None else found.undefined[n : n + 1]
    return DebugValue(found.data[:, n : n + 1], found.type, False, f"{found.name}[{n}]", unknown, location)


def _number(data: Array) -> Array:
    """Elements as 64-bit integers or doubles."""
    if data.dtype.kind == "f":
        return data.astype(np.float64)
    return data if data.dtype == np.uint64 and data.size and data.max() >= 1 << 63 else data.astype(np.int64)


def _combined(op: str, x: DebugValue, y: DebugValue) -> DebugValue:
    a, b, by_lane = _number(x.data), _number(y.data), x.by_lane or y.by_lane
    if a.dtype != b.dtype and "f" not in (a.dtype.kind, b.dtype.kind):
        a, b = a.astype(np.uint64), b.astype(np.uint64)
    with np.errstate(all="ignore"):
        data = _OPERATIONS[op](a, b)
    return DebugValue(np.asarray(data), type_name(np.asarray(data).dtype), by_lane)


def _divided(a: Array, b: Array) -> Array:
    """C's division: of integers towards 0, by 0 gives 0."""
    if "f" in (a.dtype.kind, b.dtype.kind):
        return np.true_divide(a, b)
    safe = np.where(b == 0, 1, b)
    quotient = np.abs(a) // np.abs(safe) * np.sign(a) * np.sign(safe)
    return np.where(b == 0, 0, quotient).astype(a.dtype)


def _whole(operation: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """An operation of integers."""
    return lambda a, b: operation(*(v if v.dtype.kind in "iu" else v.astype(np.int64) for v in (a, b)))


_OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": _divided, "%": lambda a, b: a - _divided(a, b) * b,
    "<<": _whole(np.left_shift), ">>": _whole(np.right_shift), "&": _whole(np.bitwise_and),
    "|": _whole(np.bitwise_or), "^": _whole(np.bitwise_xor), "==": np.equal, "!=": np.not_equal,
    "<": np.less, ">": np.greater, "<=": np.less_equal, ">=": np.greater_equal,
    "&&": lambda a, b: (a != 0) & (b != 0), "||": lambda a, b: (a != 0) | (b != 0),
}  # fmt: skip
