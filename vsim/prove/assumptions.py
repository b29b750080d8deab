"""Assumptions about launches: comparisons of whole numbers, as formulas over the symbols of a launch.

Numbers have no limit: each operation gets as many bits as its result can have, so that ``size(x) - 4 * n`` of a small
array is negative, and no product wraps around.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import z3
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from visakit.diagnostics import Diagnostic, LaunchError, Span, did_you_mean
from visakit.resources import resource
from vsim.launch.element_types import pointed_type
from vsim.launch.launch import SCALAR_TYPES
from vsim.symbolic import terms
from vsim.symbolic.launch import AXES, SymbolicLaunch
from vsim.symbolic.spaces import KnownElements
from vsim.symbolic.symbols import Uniformity
from vsim.symbolic.terms import Condition, Term

SIZES = ("global_size", "local_size", "group_count")
LONGEST = 1000
"""Characters of an assumption."""


class IntegerTerm(NamedTuple):
    """A whole number: with a sign, in so many bits; or a constant."""

    term: Term
    bits: int


class Assumption(NamedTuple):
    """An assumption as it was written, and where, for messages."""

    text: str
    where: str


@cache
def _grammar() -> Lark:
    return Lark(resource("grammar/assume.lark").read_text(encoding="utf-8"), parser="lalr")


class _Problem(Exception):
    """An assumption without a meaning: the message, a hint and the word at fault."""

    def __init__(self, message: str, hint: str = "", at: Token | None = None) -> None:
        super().__init__(message)
        self.message, self.hint, self.at = message, hint, at


def parse(assumption: Assumption) -> Tree[Token]:
    """The tree of an assumption.

    Raises:
        LaunchError: P001, it cannot be read.
    """
    try:
        if len(assumption.text) > LONGEST:
            raise _Problem(f"it has {len(assumption.text)} characters, {LONGEST} are possible")
        return _grammar().parse(assumption.text)
    except UnexpectedInput as error:
        raise _error(assumption, _unexpected(error), _column(assumption, error)) from None
    except _Problem as problem:
        raise _error(assumption, problem, 1) from None
    except RecursionError:
        raise _error(assumption, _Problem("it is nested too deep"), 1) from None


def _unexpected(error: UnexpectedInput) -> _Problem:
    hint = "assumptions are such as 'n <= size(x) / 4', '0 < n <= 100', 'local_size.x in 1..256', 'each(col) < n'"
    if isinstance(error, UnexpectedCharacters) or (isinstance(error, UnexpectedToken) and error.token.type != "$END"):
        return _Problem("this cannot be read", hint)
    return _Problem("the assumption is not finished", hint)


def _column(assumption: Assumption, error: UnexpectedInput) -> int:
    column = getattr(error, "column", None)
    is_end = isinstance(error, UnexpectedEOF) or (isinstance(error, UnexpectedToken) and error.token.type == "$END")
    return len(assumption.text) + 1 if is_end or not isinstance(column, int) or column < 1 else column


def _error(assumption: Assumption, problem: _Problem, column: int) -> LaunchError:
    if problem.at is not None and problem.at.column is not None:
        column = problem.at.column
    length = max(1, len(problem.at)) if problem.at is not None else 1
    span = Span(assumption.where, 1, column, length, assumption.text)
    return LaunchError(Diagnostic("P001", problem.message, span, problem.hint))


class Assumptions:
    """Assumptions about the launches of a kernel; :meth:`add` makes them facts."""

    def __init__(self, launch: SymbolicLaunch) -> None:
        self.launch = launch
        self._element: IntegerTerm | None = None

    def add(self, assumption: Assumption) -> None:
        """Make an assumption a fact.

        Raises:
            LaunchError: P001, it cannot be read, or names something that the kernel does not have.
        """
        tree = parse(assumption)
        try:
            arrays = {str(t.children[1]): t.children[1] for t in tree.find_data("property") if t.children[0] == "each"}
            if len(arrays) > 1:
                second = [*arrays.values()][1]
                raise _Problem("an assumption is about the elements of one array", at=second)  # type: ignore[arg-type]
            if arrays:
                ((name, token),) = arrays.items()
                self._add_elements(tree, name, token)  # type: ignore[arg-type]
                return
            self.launch.symbols.state(self._condition(tree.children[0]))  # type: ignore[arg-type]
        except _Problem as problem:
            raise _error(assumption, problem, 1) from None

    def _add_elements(self, tree: Tree[Token], name: str, token: Token) -> None:
        """Remember an assumption of all elements of an array, and state it of one, so that contradictions show."""
        launch, index = self.launch, self._argument(token)
        bits, _ = self._element_type(index, name, token)
        if not self._has_integers(index):
            raise _Problem(f"the elements of '{name}' are floats", "assumptions are about whole numbers", token)
        buffer = launch.buffer_of(index)
        if buffer is None:
            raise _Problem(f"'{name}' is no array of global memory", "local memory begins undefined", token)
        symbol = launch.symbols.number(f"each({name})", bits, scope=Uniformity.LAUNCH, is_input=True)
        known = launch.known_elements.setdefault(index, KnownElements(symbol))
        self._element = _extended(symbol, *self._element_type(index, name, token))
        condition = self._condition(tree.children[0])  # type: ignore[arg-type]
        self._element = None
        known.condition = terms.conjunction(known.condition, condition)
        launch.symbols.state(z3.UGE(buffer.size, bits // 8), condition)

    # -- formulas ------------------------------------------------------------------------------------------

    def _condition(self, tree: Tree[Token]) -> Condition:
        if tree.data == "range":
            value, low, high = (self._number(child) for child in tree.children)
            return terms.conjunction(_compare("<=", low, value), _compare("<=", value, high))
        found: Condition = True
        children = tree.children
        for left, word, right in zip(children[::2], children[1::2], children[2::2], strict=False):
            found = terms.conjunction(found, _compare(str(word), self._number(left), self._number(right)))
        return found

    def _number(self, tree: Tree[Token] | Token) -> IntegerTerm:
        assert isinstance(tree, Tree)
        leaf = _LEAVES.get(tree.data)
        if leaf is not None:
            return leaf(self, tree)
        return _OPERATIONS[tree.data](*[self._number(child) for child in tree.children])

    def _constant(self, tree: Tree[Token]) -> IntegerTerm:
        return _constant(int(str(tree.children[0]), 0))

    def _named(self, tree: Tree[Token]) -> IntegerTerm:
        token = tree.children[0]
        assert isinstance(token, Token)
        word, _, axis = str(token).partition(".")
        if word in SIZES:
            return self._size(word, axis, token)
        index = self._argument(token)
        if index not in self.launch.arguments:
            raise _Problem(
                f"'{token}' is no number", "size(NAME) is its size in bytes, each(NAME) any of its elements", token
            )
        value = self.launch.arguments[index]
        declared = self.launch.bound.signature.declared_type(index)
        code = SCALAR_TYPES.get(declared, f"i{value.size() // 8}")
        if code[0] == "f":
            raise _Problem(f"'{token}' is a float", "assumptions are about whole numbers", token)
        return _extended(value, value.size(), code[0] == "i")

    def _size(self, word: str, axis: str, token: Token) -> IntegerTerm:
        """A size of the ND-range along an axis; without one, all work-items or groups."""
        launch = self.launch
        known = {"global_size": launch.global_size, "local_size": launch.local_size}
        if axis and axis not in AXES:
            raise _Problem(f"'{word}' has .x, .y and .z", at=token)
        axes = [AXES.index(axis)] if axis else range(3)
        total = _constant(1)
        for n in axes:
            value = launch.group_count(n) if word == "group_count" else known[word][n]
            total = _multiply(total, _constant(value) if isinstance(value, int) else _extended(value, 32, False))
        return total

    def _property(self, tree: Tree[Token]) -> IntegerTerm:
        word, token = tree.children
        assert isinstance(token, Token)
        index = self._argument(token)
        if word == "each":
            assert self._element is not None
            return self._element
        buffer = self.launch.buffer_of(index)
        size = self.launch.local_sizes.get(index) if buffer is None else buffer.size
        if size is None:
            raise _Problem(f"'{token}' is no memory", "a number has no size", token)
        whole = _extended(size, 64, False)
        if word == "size":
            return whole
        return _divide(whole, _constant(self._element_type(index, str(token), token)[0] // 8))

    def _argument(self, token: Token) -> int:
        names = self.launch.bound.signature.names_in_order
        name = str(token)
        if name in names:
            return names.index(name)
        known = [*names, *SIZES]
        hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
        raise _Problem(f"the kernel has no argument '{name}'", hint, token)

    def _has_integers(self, index: int) -> bool:
        found = pointed_type(self.launch.bound.signature.argument_types.get(index, ""))
        return found is not None and found.kind in "iu"

    def _element_type(self, index: int, name: str, token: Token | None) -> tuple[int, bool]:
        """Bits of the elements of an array, and whether they have a sign."""
        declared = self.launch.bound.signature.argument_types.get(index, "")
        found = pointed_type(declared)
        if found is None:
            raise _Problem(f"the type of the elements of '{name}' is not known", "write size(NAME), in bytes", token)
        return 8 * found.itemsize, found.kind == "i"


_LEAVES: dict[str, Callable[[Assumptions, Tree[Token]], IntegerTerm]] = {
    "number": Assumptions._constant, "name": Assumptions._named, "property": Assumptions._property,
}  # fmt: skip


# -- arithmetic without a limit --------------------------------------------------------------------------------


def _constant(value: int) -> IntegerTerm:
    return IntegerTerm(value, value.bit_length() + 1)


def _extended(term: Term, bits: int, is_signed: bool) -> IntegerTerm:
    if isinstance(term, int):
        return _constant(terms.signed(term, bits) if is_signed else term)
    return IntegerTerm(term, bits) if is_signed else IntegerTerm(z3.ZeroExt(1, term), bits + 1)


def _wide(x: IntegerTerm, bits: int) -> Term:
    if isinstance(x.term, int):
        return z3.BitVecVal(x.term, bits)
    return x.term if x.bits == bits else z3.SignExt(bits - x.bits, x.term)


def _of_constants(x: IntegerTerm, y: IntegerTerm, operation: Callable[[int, int], int]) -> IntegerTerm | None:
    if isinstance(x.term, int) and isinstance(y.term, int):
        return _constant(operation(x.term, y.term))
    return None


def _add(x: IntegerTerm, y: IntegerTerm) -> IntegerTerm:
    bits = max(x.bits, y.bits) + 1
    return _of_constants(x, y, lambda a, b: a + b) or IntegerTerm(_wide(x, bits) + _wide(y, bits), bits)


def _subtract(x: IntegerTerm, y: IntegerTerm) -> IntegerTerm:
    bits = max(x.bits, y.bits) + 1
    return _of_constants(x, y, lambda a, b: a - b) or IntegerTerm(_wide(x, bits) - _wide(y, bits), bits)


def _multiply(x: IntegerTerm, y: IntegerTerm) -> IntegerTerm:
    for one, other in ((x, y), (y, x)):
        if one.term is not None and isinstance(one.term, int) and one.term == 1:
            return other
    bits = x.bits + y.bits
    return _of_constants(x, y, lambda a, b: a * b) or IntegerTerm(_wide(x, bits) * _wide(y, bits), bits)


def _divisor(y: IntegerTerm) -> int:
    if not isinstance(y.term, int) or y.term <= 0:
        raise _Problem("a divisor is a number from 1 on", "multiply the other side instead")
    return y.term


def _divide(x: IntegerTerm, y: IntegerTerm) -> IntegerTerm:
    """The quotient, rounded down."""
    by = _divisor(y)
    if isinstance(x.term, int):
        return _constant(x.term // by)
    if not by & (by - 1):
        return IntegerTerm(x.term >> (by.bit_length() - 1), x.bits)
    bits = max(x.bits, y.bits) + 1
    whole, divisor = _wide(x, bits), z3.BitVecVal(by, bits)
    return IntegerTerm((whole - z3.SRem(z3.SRem(whole, divisor) + divisor, divisor)) / divisor, bits)


def _remainder(x: IntegerTerm, y: IntegerTerm) -> IntegerTerm:
    by = _divisor(y)
    if isinstance(x.term, int):
        return _constant(x.term % by)
    bits = max(x.bits, y.bits) + 1
    if not by & (by - 1):
        return IntegerTerm(_wide(x, bits) & (by - 1), bits)
    whole, divisor = _wide(x, bits), z3.BitVecVal(by, bits)
    return IntegerTerm(z3.SRem(z3.SRem(whole, divisor) + divisor, divisor), bits)


def _compare(word: str, x: IntegerTerm, y: IntegerTerm) -> Condition:
    bits = max(x.bits, y.bits)
    operation = _COMPARE[word]
    if isinstance(x.term, int) and isinstance(y.term, int):
        return bool(operation(x.term, y.term))
    return operation(_wide(x, bits), _wide(y, bits))


_COMPARE: dict[str, Callable[[Term, Term], Condition]] = {
    "<": lambda x, y: x < y, "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y,
    "==": lambda x, y: x == y, "!=": lambda x, y: x != y,
}  # fmt: skip
_OPERATIONS: dict[str, Callable[..., IntegerTerm]] = {
    "add": _add, "subtract": _subtract, "multiply": _multiply, "divide": _divide, "remainder": _remainder,
    "negate": lambda x: _subtract(_constant(0), x),
}  # fmt: skip
