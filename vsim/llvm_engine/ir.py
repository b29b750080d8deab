"""LLVM IR as text, and the lane algebra that emits it.

A lane value is a scalar (the same in every lane) or a vector. Operators broadcast scalars, so what is uniform stays scalar.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from typing import Any, NamedTuple

from visa import types
from visa.types import DataType

IR_TYPES: dict[DataType, str] = {
    types.UD: "i32", types.D: "i32", types.UW: "i16", types.W: "i16", types.UB: "i8", types.B: "i8", types.DF: "double", types.F: "float",
    types.UQ: "i64", types.Q: "i64", types.HF: "half", types.BF: "i16",
}  # fmt: skip
LAUNCH, GROUP, THREAD = range(3)
MAXIMUM_NEEDS = 4
MAXIMUM_DEPTH = 40
"""How many operations deep a value may wait to be emitted."""
MASK = DataType("mask", 99, 1, types.BOOL)
SUFFIXES = {
    "i1": "i1",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "float": "f32",
    "double": "f64",
    "half": "f16",
    "ptr": "p0",
}
"""What the names of intrinsics have for a type."""


def _llvm_version() -> int:
    from llvmlite import binding

    return int(binding.llvm_version_info[0])


OLD_MASKED = _llvm_version() < 22
"""Whether masked loads and stores take their alignment as an argument (before LLVM 22)."""


@cache
def ir_type(data_type: DataType, lanes: int) -> str:
    """The LLVM type of a lane value."""
    scalar = "i1" if data_type is MASK else IR_TYPES[data_type]
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


@cache
def splat(element: str, lanes: int) -> str:
    """A constant vector of equal elements, each given with its type."""
    return "<" + ", ".join([element] * lanes) + ">"


def literal(value: int | float, data_type: DataType) -> str:
    """A constant of a scalar type."""
    if data_type is MASK:
        return "true" if value else "false"
    if data_type is types.DF:
        return "0x" + struct.pack(">d", value).hex()
    if data_type is types.F:
        return "0x" + struct.pack(">d", struct.unpack("<f", struct.pack("<f", value))[0]).hex()
    if data_type is types.HF:
        return "0xH" + struct.pack(">e", value).hex()
    bits = data_type.size * 8
    value = int(value) & ((1 << bits) - 1)
    return str(value - (1 << bits) if value >> (bits - 1) else value)


_FOLDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "and": lambda x, y: x & y, "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y, "shl": lambda x, y: x << y, "lshr": lambda x, y: x >> y,
}  # fmt: skip
"""Operations on known scalar integers, which are kept as their unsigned bits."""
_NEUTRAL = {"mul": 1, "and": -1}
"""The constant that as the second operand changes nothing, where it is not 0."""


@dataclass(slots=True, eq=False)
class Widening:
    """A conversion of lanes to a wider type, after which they are still affine if they do not wrap around in the narrower one."""

    affine: Affine
    lanes: int
    source: DataType
    target: DataType

    def holds(self) -> str:
        """Emit the test (i1): the corner lanes, among which all others lie, fit the narrower type (the first one does)."""
        known, target = self.affine, self.target
        b, narrow, wide = known.base.builder, self.source, types.UQ if target.size == 8 else types.UD
        lowest = -(1 << (narrow.bits - 1)) if narrow.is_signed else 0
        base = b.retype(b.cast(b.retype(known.base, narrow), target), wide) + b.const(-lowest, wide)
        corners = [base]
        if known.jump is not None:
            jump = b.retype(b.cast(b.retype(known.jump, narrow), target), wide)
            corners.append(base + jump.later("mul", b.const(self.lanes // known.row - 1, wide)))
        if known.step:
            corners += [c + b.const((known.row - 1) * known.step, wide) for c in corners]
        if not corners[1:]:
            return "true"
        beyond: Value = reduce(lambda x, y: x | y, corners[1:])
        return (
            (beyond < b.const(1 << narrow.bits, wide)).text
            if beyond.constant is None
            else str(beyond.constant < 1 << narrow.bits).lower()
        )


@dataclass(slots=True)
class Affine:
    """What is proved about the lanes of an integer vector if its needs are met: no wrap-around before a widening, the lane inside a mask.

    Lanes come in rows of ``row``; lane i of row r holds root + offset + i * step + r * jump. One row of all lanes has no jump. Constants are gathered
    in the offset, so that what differs by them has one root.
    """

    root: Value
    step: int
    row: int
    jump: Value | None = None
    tiny: bool = False  # every lane is less than 2**12: a local id
    needs: tuple[Widening | str, ...] = ()
    factor: int = 0  # of what was widened, if lanes are that times this and something that is the same for all; else 0
    first: int = 0  # lane of what was widened that is lane 0 here
    offset: int = 0

    def __post_init__(self) -> None:
        self.needs = tuple(dict.fromkeys(self.needs))
        if self.root.constant:
            self.offset += self.root.constant
            self.root = self.root.builder.const(0, self.root.type)

    @property
    def base(self) -> Value:
        """Lane 0."""
        return self.root.later("add", self.root.builder.const(self.offset, self.root.type))

    @property
    def masks(self) -> set[str]:
        """The masks (SSA names) outside which nothing is known of a lane."""
        return {n for n in self.needs if isinstance(n, str)}

    def settled(self) -> Affine:
        """The same, where all lanes that count are inside those masks."""
        return replace(self, needs=tuple(n for n in self.needs if not isinstance(n, str)))

    def widened(self) -> Widening | None:
        """What was widened, if lanes are exactly that times the factor and something that is the same for all."""
        (only,) = self.needs if len(self.needs) == 1 else (None,)
        return only if self.factor and isinstance(only, Widening) else None

    def holds(self) -> str:
        """Emit the test (i1) that no lane wrapped around on the way to a wider type."""
        tests = [test for n in self.needs if not isinstance(n, str) and (test := n.holds()) != "true"]
        return reduce(lambda x, y: self.root.builder.assign(f"and i1 {x}, {y}"), tests) if tests else "true"

    def rows(self, row: int) -> Affine | None:
        """The same in rows of another length, if that is possible."""
        if row == self.row:
            return self
        return (
            replace(self, row=row, jump=self.root.builder.const(self.step * row, self.root.type))
            if self.jump is None
            else None
        )

    def followed_by(self, other: Affine) -> Affine | None:
        """Two rows end to end, if it is known how far they are apart."""
        if (
            self.jump
            or other.jump
            or self.step != other.step
            or (self.root is not other.root and None in (self.root.constant, other.root.constant))
        ):
            return None
        distance, tiny, needs = other.offset - self.offset, self.tiny and other.tiny, self.needs + other.needs
        one_row = distance == self.row * self.step
        jump = None if one_row else self.root.builder.const(distance, self.root.type)
        return Affine(
            self.root, self.step, 2 * self.row if one_row else self.row, jump, tiny, needs, offset=self.offset
        )

    def part(self, first: int, count: int) -> Affine | None:
        """Consecutive lanes: part of a row, or whole rows."""
        root = self.root
        r, i = divmod(first, self.row)
        if r and self.jump is not None:
            root = root.later("add", self.jump.later("mul", root.builder.const(r, root.type)))
        found = replace(self, root=root, first=self.first + first)
        if i + count <= self.row:
            found.row, found.jump, found.offset = count, None, found.offset + i * self.step
            return found
        return None if i or count % self.row else found


class BasePointer(NamedTuple):
    """A pointer among a kernel's arguments: what holds them, and its place there."""

    payload: str
    byte: int


_PURE = (
    "add ", "sub ", "mul ", "and ", "or ", "xor ", "shl ", "lshr ", "ashr ", "icmp ", "zext ", "sext ", "trunc ", "insertelement ", "shufflevector ",
    "extractelement ", "bitcast ", "getelementptr ", "select ", "call i64 @llvm.usub.sat",
)  # fmt: skip
_NAMES = re.compile(r"%[\w.]+")
_INVARIANT = "!invariant.load !0"


def module(functions: Sequence[str], declarations: dict[str, str]) -> str:
    """A module of functions."""
    vectors = '"min-legal-vector-width"="512" "prefer-vector-width"="512"'
    return "\n".join([
        *declarations.values(), *functions, f'attributes #0 = {{ nounwind {vectors} "no-trapping-math"="true" }}', f"attributes #1 = {{ nounwind noinline {vectors} }}",
        'attributes #2 = { cold noinline nounwind noimplicitfloat "no_caller_saved_registers" }', '!0 = !{}\n!1 = !{!"branch_weights", i32 1, i32 100000}\n!2 = !{!"branch_weights", i32 1000, i32 1}', "",
    ])  # fmt: skip


class Value:
    """A lane value: LLVM type, name of the SSA value or constant, and the number if it is a known scalar integer."""

    __slots__ = (
        "affine",
        "base_pointer",
        "builder",
        "constant",
        "inside",
        "inverse",
        "lanes",
        "narrow",
        "text",
        "type",
    )
    depth = 0

    def __init__(
        self, builder: Builder, data_type: DataType, lanes: int, text: str, constant: int | None = None
    ) -> None:
        self.builder, self.type, self.lanes, self.text, self.constant = builder, data_type, lanes, text, constant
        self.inverse: Value | None = None  # the mask of which this is the opposite
        self.narrow: Value | None = None  # the 32-bit value of which this is the zero extension
        self.affine: Affine | None = None
        self.inside: frozenset[str] = frozenset()  # masks of which this mask is known to be a part
        self.base_pointer: BasePointer | None = None  # the pointer from which this address was computed

    @property
    def ir(self) -> str:
        return ir_type(self.type, self.lanes)

    @property
    def typed(self) -> str:
        """Type and name, as operands are written."""
        return f"{ir_type(self.type, self.lanes)} {self.text}"

    def _binary(self, other: Value, integer: str, real: str) -> Value:
        op = real if self.type.is_float else integer
        if self.constant is not None and other.constant is not None and op in _FOLDS:
            return self.builder.const(_FOLDS[op](self.constant, other.constant), self.type)
        x, y = self.builder.match(self, other)
        found = self.builder.value(self.type, x.lanes, f"{op} {x.ir} {x.text}, {y.text}")
        if self.base_pointer or other.base_pointer:
            found.base_pointer = self._origin(op, other)
        return found

    def _origin(self, op: str, other: Value) -> BasePointer | None:
        """Of a sum or a difference."""
        return self.base_pointer or other.base_pointer if op == "add" else self.base_pointer if op == "sub" else None

    def later(self, op: str, other: Value) -> Value:
        """An operation on integers that is emitted where its result is needed, which may be nowhere or off the way."""
        if self.constant is not None and other.constant is not None:
            return self.builder.const(_FOLDS[op](self.constant, other.constant), self.type)
        if other.constant == _NEUTRAL.get(op, 0):
            return self
        if self.constant == _NEUTRAL.get(op, 0) and op in ("add", "mul", "or"):
            return self.builder.retype(other, self.type)

        def text() -> str:
            x, y = self.builder.match(self, other)
            return f"{op} {x.ir} {x.text}, {y.text}"

        found = Lazy(self.builder, self.type, max(self.lanes, other.lanes), text, max(self.depth, other.depth) + 1)
        if self.base_pointer or other.base_pointer:
            found.base_pointer = self._origin(op, other)
        return found

    def copy(self, data_type: DataType) -> Value:
        """The same under a type with the same LLVM type."""
        found = Value(self.builder, data_type, self.lanes, self.text, self.constant)
        found.base_pointer = self.base_pointer
        return found

    def settled(self) -> Value:
        """The same, emitted here."""
        return self

    def __add__(self, other: Value) -> Value:
        if self.constant == 0 or other.constant == 0:
            kept = other if self.constant == 0 else self
            if kept.type.is_integer:
                return kept if kept.type is self.type else self.builder.retype(kept, self.type)
        total = self._sum(other, "add", "fadd", 1)
        if self.narrow is not None and other.constant is not None:
            total.narrow = self.narrow + self.builder.const(other.constant, types.UD)
        return total

    def _sum(self, other: Value, integer: str, real: str, sign: int) -> Value:
        known = self._affine_sum(other, sign)
        if known is None:
            return self._binary(other, integer, real)
        total = self.later(integer, other)
        total.affine = known
        return total

    def _lanes_of(self, lanes: int) -> Affine | None:
        return Affine(self, 0, lanes) if self.lanes == 1 else self.affine

    def _affine_sum(self, other: Value, sign: int) -> Affine | None:
        """What is known of a sum or a difference."""
        lanes, t = max(self.lanes, other.lanes), self.type
        if lanes == 1 or not t.is_integer:
            return None
        left, right = self._lanes_of(lanes), other._lanes_of(lanes)
        if left is None or right is None:
            return None
        row = min(left.row, right.row)
        left, right = left.rows(row), right.rows(row)
        if left is None or right is None:
            return None
        b = self.builder

        def join(p: Value, q: Value) -> Value:
            return b.retype(p, t).later("add" if sign > 0 else "sub", b.retype(q, t))

        zero = b.const(0, t)
        jump = None if left.jump is None and right.jump is None else join(left.jump or zero, right.jump or zero)
        factor = left.factor + sign * right.factor if 1 in (self.lanes, other.lanes) else 0
        return Affine(join(left.root, right.root), left.step + sign * right.step, row, jump, False, left.needs + right.needs, factor,
                      left.first + right.first, left.offset + sign * right.offset)  # fmt: skip

    def _affine_product(self, factor: Value) -> Affine | None:
        """What is known of a product with a scalar."""
        found, b, t = self.affine, self.builder, self.type
        if not found or factor.lanes > 1 or not t.is_integer:
            return None
        factor = b.retype(factor, t)
        known = factor.constant if factor.constant is not None and factor.constant < 1 << 20 else None
        if known is None and found.step:
            return None
        jump = None if found.jump is None else b.retype(found.jump, t).later("mul", factor)
        root = b.retype(found.base if known is None else found.root, t).later("mul", factor)
        known = known or 0
        return replace(
            found,
            root=root,
            step=found.step * known,
            jump=jump,
            tiny=False,
            factor=found.factor * known,
            offset=found.offset * known,
        )

    def __sub__(self, other: Value) -> Value:
        return self._sum(other, "sub", "fsub", -1)

    def __mul__(self, other: Value) -> Value:
        known = self._affine_product(other) or other._affine_product(self)
        if known is None:
            return self._binary(other, "mul", "fmul")
        product = self.later("mul", other)
        product.affine = known
        return product

    def __and__(self, other: Any) -> Value:
        if other is True:
            return self
        if self.type is MASK:
            everybody = splat("i1 true", max(self.lanes, other.lanes))
            if everybody in (self.text, other.text):
                return other if self.text == everybody else self
        both = self._binary(other, "and", "and")
        if self.type is MASK:
            both.inside = self.inside | other.inside | {self.text, other.text}
        return both

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return True if other is True else self._binary(other, "or", "or")

    def __xor__(self, other: Value) -> Value:
        return self._binary(other, "xor", "xor")

    def __lshift__(self, other: Value) -> Value:
        known = (
            None
            if other.constant is None or other.constant > 16
            else self._affine_product(self.builder.const(1 << other.constant, self.type))
        )
        if known is None:
            return self._binary(other, "shl", "shl")
        shifted = self.later("shl", other)
        shifted.affine = known
        return shifted

    def __rshift__(self, other: Value) -> Value:
        return self._binary(other, "ashr" if self.type.is_signed else "lshr", "lshr")

    def __invert__(self) -> Value:
        if self.inverse is not None:
            return self.inverse
        ones = self.builder.splat_literal("true" if self.type is MASK else "-1", self.type, self.lanes)
        found = self.builder.value(self.type, self.lanes, f"xor {self.ir} {self.text}, {ones}")
        found.inverse = self
        return found

    def _compare(self, other: Value, name: str) -> Value:
        x, y = self.builder.match(self, other)
        if self.type.is_float:
            predicate = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}[name]
            text = f"fcmp {predicate} {x.ir} {x.text}, {y.text}"
        else:
            sign = "" if name in ("eq", "ne") else "s" if self.type.is_signed else "u"
            text = f"icmp {sign}{name} {x.ir} {x.text}, {y.text}"
        return self.builder.value(MASK, x.lanes, text)

    def __eq__(self, other: Any) -> Value:  # type: ignore[override]
        return self._compare(other, "eq")

    def __ne__(self, other: Any) -> Value:  # type: ignore[override]
        return self._compare(other, "ne")

    def __lt__(self, other: Value) -> Value:
        return self._compare(other, "lt")

    def __le__(self, other: Value) -> Value:
        return self._compare(other, "le")

    def __gt__(self, other: Value) -> Value:
        return self._compare(other, "gt")

    def __ge__(self, other: Value) -> Value:
        return self._compare(other, "ge")

    __hash__ = object.__hash__


class Lazy(Value):
    """An integer value without side effects that is emitted where it is used, again where no earlier use dominates."""

    __slots__ = ("depth", "expression", "key", "name")

    def __init__(
        self, builder: Builder, data_type: DataType, lanes: int, expression: Callable[[], str], depth: int
    ) -> None:
        self.builder, self.type, self.lanes, self.constant, self.expression, self.depth = (
            builder,
            data_type,
            lanes,
            None,
            expression,
            depth,
        )
        self.narrow, self.affine, self.inside, self.inverse, self.base_pointer = None, None, frozenset(), None, None
        self.key = self.name = ""
        if depth > MAXIMUM_DEPTH:
            given = self.text
            self.expression, self.depth = lambda: given, 0

    @property
    def text(self) -> str:  # type: ignore[override]
        key, b = self.key, self.builder
        if not key or (b.known.get(key) != self.name and b.steady.get(key) != self.name):
            self.key = self.expression()
            self.name = b.assign(self.key)
        return self.name

    def copy(self, data_type: DataType) -> Value:
        found = Lazy(self.builder, data_type, self.lanes, self.expression, self.depth)
        found.base_pointer = self.base_pointer
        return found

    def settled(self) -> Value:
        found = Value(self.builder, self.type, self.lanes, self.text)
        found.narrow, found.affine, found.base_pointer = self.narrow, self.affine, self.base_pointer
        return found


class Builder:
    """The text of one function, block by block, and the lane algebra over it (see :class:`vsim.semantics.algebra.Algebra`)."""

    def __init__(self, intrinsics: dict[str, str]) -> None:
        self.intrinsics = intrinsics
        self.integers: dict[tuple[int | float, DataType], Value] = {}
        self.begin("entry")

    def begin(self, block: str) -> None:
        """Begin the function, or begin it anew, with a block."""
        self.lines: list[str] = []
        self.counter = 0
        self.scratch_bytes = 0
        self.assigned = False
        """Whether something was assigned since somebody reset this."""
        self.known: dict[str, str] = {}
        self.block = block
        self.order: list[str] = []
        self.steady: dict[str, str] = {}
        self.heads: tuple[list[str], ...] = ([], [], [])
        """What is emitted once for a launch, a group and a thread."""
        self.levels: dict[str, int] = {}
        """Names of these, and of arguments, with their place in ``heads``."""
        self.hoists = False
        """Whether a launch and a group have parts of their own."""

    def scratch(self, size: int) -> str:
        """Memory for the moment, in the entry block's frame."""
        self.scratch_bytes = max(self.scratch_bytes, size)
        return "%scratch"

    # -- text ----------------------------------------------------------------------------------------------

    def name(self) -> str:
        self.counter += 1
        return f"%v{self.counter}"

    def emit(self, text: str) -> None:
        self.lines.append("  " + text)

    def assign(self, text: str) -> str:
        """An instruction with a result; its name. One without side effects whose twin dominates this place is that twin."""
        self.assigned = True
        pure = text.startswith(_PURE) or text.endswith(_INVARIANT)
        if pure and (equivalent := self.known.get(text) or self.steady.get(text)) is not None:
            return equivalent
        if pure and self.hoists and "<" not in text and (level := self._level(text)) < THREAD:
            return self._steady(text, level)
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return self.remember(text, name) if pure else name

    def once(self, text: str) -> str:
        """A pure instruction over what holds for a launch, a group or a thread, emitted at its beginning; its name."""
        return self.steady.get(text) or self._steady(text, self._level(text))

    def _level(self, text: str) -> int:
        """For what part of a launch an instruction's operands hold."""
        return max([self.levels.get(name, THREAD) for name in _NAMES.findall(text)], default=THREAD)

    def _steady(self, text: str, level: int) -> str:
        found = self.steady[text] = self.name()
        self.heads[level].append(f"  {found} = {text}")
        self.levels[found] = level
        return found

    def field(self, base: str, offset: int, ir: str = "i64") -> str:
        """A field that does not change while the function runs, of a structure that it is given."""
        pointer = self.once(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base
        return self.once(f"load {ir}, ptr {pointer}, align 8, {_INVARIANT}")

    def remember(self, what: str, name: str) -> str:
        """Keep something that was found here, for :attr:`known`, where this place dominates."""
        if what not in self.known:
            self.known[what] = name
            self.order.append(what)
        return name

    def mark(self) -> int:
        """This place, for :meth:`label`."""
        return len(self.order)

    def value(self, data_type: DataType, lanes: int, text: str) -> Value:
        return Value(self, data_type, lanes, self.assign(text))

    def label(self, name: str, dominated_by: int = 0) -> None:
        """Begin a block; what was emitted up to the mark dominates it."""
        for text in self.order[dominated_by:]:
            del self.known[text]
        del self.order[dominated_by:]
        self.block = name
        self.lines.append(f"{name}:")

    def end_block(self, target: str) -> str:
        """End this block with a branch to a label; the name of this block."""
        self.emit(f"br label %{target}")
        return self.block

    def new_label(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}.{self.counter}"

    def declare(self, name: str, result: str, arguments: str) -> None:
        """An intrinsic that the module needs."""
        self.intrinsics.setdefault(name, f"declare {result} @{name}({arguments})")

    def call(self, stem: str, x: Value, *rest: Value) -> Value:
        """An intrinsic whose result has the type of its first argument."""
        lanes = max(v.lanes for v in (x, *rest))
        operands = [self.broadcast(v, lanes) for v in (x, *rest)]
        ir = operands[0].ir
        scalar = ir_type(x.type, 1)
        suffix = SUFFIXES[scalar] if lanes == 1 else f"v{lanes}{SUFFIXES[scalar]}"
        name = f"llvm.{stem}.{suffix}"
        self.declare(name, ir, ", ".join([ir] * len(operands)))
        return self.value(x.type, lanes, f"call {ir} @{name}({', '.join(v.typed for v in operands)})")

    # -- shapes --------------------------------------------------------------------------------------------

    def splat_literal(self, text: str, data_type: DataType, lanes: int) -> str:
        if lanes == 1:
            return text
        return splat(f"{ir_type(data_type, 1)} {text}", lanes)

    def phi(self, values: Sequence[Value], blocks: Sequence[str]) -> Value:
        """The value that comes from the block that was run last."""
        first = values[0]
        if not first.text.startswith("%") and all(v.text == first.text for v in values):
            return first
        arms = ", ".join(f"[ {v.text}, %{block} ]" for v, block in zip(values, blocks, strict=True))
        return self.value(first.type, first.lanes, f"phi {first.ir} {arms}")

    def broadcast(self, x: Value, lanes: int) -> Value:
        """A scalar in every lane of a vector."""
        if x.lanes == lanes:
            return x
        assert x.lanes == 1, (x.lanes, lanes)
        if not x.text.startswith("%"):
            return Value(self, x.type, lanes, self.splat_literal(x.text, x.type, lanes))
        scalar, vector = ir_type(x.type, 1), ir_type(x.type, lanes)
        first = self.assign(f"insertelement {vector} poison, {scalar} {x.text}, i64 0")
        return self.value(
            x.type, lanes, f"shufflevector {vector} {first}, {vector} poison, <{lanes} x i32> zeroinitializer"
        )

    def match(self, x: Value, y: Value) -> tuple[Value, Value]:
        lanes = max(x.lanes, y.lanes)
        return self.broadcast(x, lanes), self.broadcast(y, lanes)

    def retype(self, x: Value, data_type: DataType) -> Value:
        """The same SSA value under a type with the same LLVM type."""
        if x.type is data_type:
            return x
        found = x.copy(data_type)
        found.affine = x.affine
        return found

    def shuffle(self, x: Value, indices: list[int]) -> Value:
        """Lanes of a vector by number."""
        if x.lanes == 1:
            return x
        if len(indices) == 1:
            return self.value(x.type, 1, f"extractelement {x.typed}, i64 {indices[0]}")
        if indices == list(range(x.lanes)):
            return x
        mask = ", ".join(f"i32 {i}" for i in indices)

        def text() -> str:
            return f"shufflevector {x.typed}, {x.ir} poison, <{len(indices)} x i32> <{mask}>"

        if (
            x.affine
            and indices == list(range(indices[0], indices[0] + len(indices)))
            and (known := x.affine.part(indices[0], len(indices)))
        ):
            found: Value = Lazy(self, x.type, len(indices), text, x.depth + 1)
            found.affine = known
            return found
        return self.value(x.type, len(indices), text())

    def concat(self, parts: list[Value]) -> Value:
        """Vectors of equal length end to end (a power of two of them)."""
        while len(parts) > 1:
            joined = []
            for x, y in zip(parts[0::2], parts[1::2], strict=True):
                n = x.lanes
                if n == 1:
                    first = self.assign(f"insertelement {ir_type(x.type, 2)} poison, {x.typed}, i64 0")
                    joined.append(
                        self.value(x.type, 2, f"insertelement {ir_type(x.type, 2)} {first}, {y.typed}, i64 1")
                    )
                else:
                    mask = ", ".join(f"i32 {i}" for i in range(2 * n))
                    both = self.value(x.type, 2 * n, f"shufflevector {x.typed}, {y.typed}, <{2 * n} x i32> <{mask}>")
                    both.affine = x.affine.followed_by(y.affine) if x.affine and y.affine else None
                    joined.append(both)
            parts = joined
        return parts[0]

    # -- algebra -------------------------------------------------------------------------------------------

    def const(self, value: int | float, data_type: DataType) -> Value:
        if not data_type.is_integer:
            return Value(self, data_type, 1, literal(value, data_type))
        found = self.integers.get((value, data_type))
        if found is None:
            found = self.integers[value, data_type] = Value(
                self, data_type, 1, literal(value, data_type), int(value) & ((1 << data_type.bits) - 1)
            )
        return found

    def iota(self, count: int, data_type: DataType) -> Value:
        if count == 1:
            return self.const(0, data_type)
        scalar = ir_type(data_type, 1)
        return Value(self, data_type, count, "<" + ", ".join(f"{scalar} {i}" for i in range(count)) + ">")

    def cast(self, x: Value, data_type: DataType, later: bool = False) -> Value:
        """A conversion by value; ``later``: one between integers is emitted where its result is needed."""
        source, to = x.type, ir_type(data_type, x.lanes)
        if source is data_type:
            return x
        if source is MASK:
            return self.value(data_type, x.lanes, f"zext {x.typed} to {to}")
        if source.is_float and data_type.is_float:
            if source is types.DF and data_type is types.HF:
                return self.cast(self._odd_float(x), types.HF)
            op = "fpext" if data_type.size > source.size else "fptrunc"
            return self.value(data_type, x.lanes, f"{op} {x.typed} to {to}")
        if source.is_float:
            op = "fptosi" if data_type.is_signed else "fptoui"
            return self.value(data_type, x.lanes, f"{op} {x.typed} to {to}")
        if data_type.is_float:
            op = "sitofp" if source.is_signed else "uitofp"
            return self.value(data_type, x.lanes, f"{op} {x.typed} to {to}")
        if x.constant is not None:
            number = x.constant
            if source.is_signed and number >> (source.bits - 1):
                number -= 1 << source.bits
            return self.const(number, data_type)
        if source.size == data_type.size:
            return self.retype(x, data_type)
        op = "trunc" if data_type.size < source.size else "sext" if source.is_signed else "zext"
        if later or x.affine:
            found: Value = Lazy(self, data_type, x.lanes, lambda: f"{op} {x.typed} to {to}", x.depth + 1)
        else:
            found = self.value(data_type, x.lanes, f"{op} {x.typed} to {to}")
        if data_type is types.UQ and source is types.UD:
            found.narrow = x
        if known := x.affine:
            jump = None if known.jump is None else self.cast(self.retype(known.jump, source), data_type, later=True)
            fits = known.tiny or data_type.size < source.size
            root = self.cast(self.retype(known.root if fits else known.base, source), data_type, later=True)
            needs, factor = known.needs, 0
            if not fits:
                needs, factor = (*needs, Widening(known, x.lanes, source, data_type)), 1
            if len(needs) <= MAXIMUM_NEEDS:
                found.affine = Affine(
                    root, known.step, known.row, jump, known.tiny, needs, factor, offset=known.offset if fits else 0
                )
        return found

    def _odd_float(self, x: Value) -> Value:
        """A double as a float, rounded to odd."""
        near = self.cast(x, types.F)
        back = self.cast(near, types.DF)
        bits = self.bitcast(near, types.UD)
        one, zero = self.const(1, types.UD), self.const(0, types.UD)
        bigger = self.absolute(x) > self.absolute(back)
        inexact = (back != x) & (x == x) & ((bits & one) == zero)
        return self.bitcast(self.select(inexact, self.select(bigger, bits + one, bits - one), bits), types.F)

    def bitcast(self, x: Value, data_type: DataType) -> Value:
        if ir_type(x.type, 1) == ir_type(data_type, 1):
            return self.retype(x, data_type)
        if x.type is types.F and x.lanes == 1 and x.text.startswith("0x"):
            (real,) = struct.unpack(">d", bytes.fromhex(x.text[2:]))
            return self.const(int.from_bytes(struct.pack(">f", real)), data_type)
        return self.value(data_type, x.lanes, f"bitcast {x.typed} to {ir_type(data_type, x.lanes)}")

    def select(self, mask: Any, x: Value, y: Value) -> Value:
        return x if mask is True else self.merge(mask, x, y).settled()

    def merge(self, mask: Value, x: Value, y: Value, note: Callable[[], None] | None = None) -> Value:
        """``select``, emitted where it is needed; ``note`` is told of that."""
        lanes = max(mask.lanes, x.lanes, y.lanes)
        known = x._lanes_of(lanes)

        def text() -> str:
            if note:
                note()
            m = mask if mask.lanes == 1 else self.broadcast(mask, lanes)
            return f"select {m.typed}, {self.broadcast(x, lanes).typed}, {self.broadcast(y, lanes).typed}"

        found = Lazy(self, x.type, lanes, text, max(x.depth, y.depth) + 1)
        if x.type.is_integer and mask.lanes == lanes and known is not None:
            found.affine = replace(known, needs=(*known.needs, mask.text), factor=0, first=0)
        return found

    def mask_to_int(self, mask: Any, data_type: DataType) -> Value:
        return self.const(1, data_type) if mask is True else self.cast(mask, data_type)

    def udiv(self, x: Value, y: Value) -> Value:
        return x._binary(y, "udiv", "fdiv")

    def fdiv(self, x: Value, y: Value) -> Value:
        return x._binary(y, "udiv", "fdiv")

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        if x.type is types.HF:
            wide = [self.cast(v, types.F) for v in (x, y, z)]
            product, addend = wide[0] * wide[1], wide[2]
            total = product + addend
            part = total - product
            error = (product - (total - part)) + (addend - part)
            bits = self.bitcast(total, types.UD)
            one, zero, none = self.const(1, types.UD), self.const(0, types.UD), self.const(0.0, types.F)
            inexact = (error != none) & (error == error) & ((bits & one) == zero)
            outward = (error > none) ^ (total > none)
            odd = self.select(inexact, self.select(outward, bits - one, bits + one), bits)
            return self.cast(self.bitcast(odd, types.F), types.HF)
        return self.call("fma", x, y, z)

    def sqrt(self, x: Value) -> Value:
        return (
            self.cast(self.call("sqrt", self.cast(x, types.F)), types.HF)
            if x.type is types.HF
            else self.call("sqrt", x)
        )

    def absolute(self, x: Value) -> Value:
        return self.call("fabs", x)

    def negate(self, x: Value) -> Value:
        if x.type.is_float:
            return self.value(x.type, x.lanes, f"fneg {x.typed}")
        return self.const(0, x.type) - x

    def _round(self, stem: str, x: Value) -> Value:
        return self.cast(self.call(stem, self.cast(x, types.F)), types.HF) if x.type is types.HF else self.call(stem, x)

    def floor(self, x: Value) -> Value:
        return self._round("floor", x)

    def ceil(self, x: Value) -> Value:
        return self._round("ceil", x)

    def trunc(self, x: Value) -> Value:
        return self._round("trunc", x)

    def rint(self, x: Value) -> Value:
        return self._round("roundeven", x)

    def popcount(self, x: Value) -> Value:
        return self.call("ctpop", x)

    def leading_zeros(self, x: Value) -> Value:
        scalar = ir_type(x.type, 1)
        suffix = scalar if x.lanes == 1 else f"v{x.lanes}{scalar}"
        self.declare(f"llvm.ctlz.{suffix}", x.ir, f"{x.ir}, i1")
        return self.value(x.type, x.lanes, f"call {x.ir} @llvm.ctlz.{suffix}({x.typed}, i1 false)")

    def reverse_bits(self, x: Value) -> Value:
        return self.call("bitreverse", x)

    def lanes(self, x: Value, indices: list[int]) -> Value:
        return self.shuffle(x, indices)

    # -- helpers for the engine ----------------------------------------------------------------------------

    def load(self, data_type: DataType, lanes: int, pointer: str, align: int) -> Value:
        if data_type is MASK:
            packed = self.assign(f"load i{max(lanes, 8)}, ptr {pointer}, align {align}")
            if lanes == 1:
                return self.value(MASK, 1, f"trunc i8 {packed} to i1")
            cut = packed if lanes >= 8 else self.assign(f"trunc i8 {packed} to i{lanes}")
            return self.value(MASK, lanes, f"bitcast i{lanes} {cut} to <{lanes} x i1>")
        return self.value(data_type, lanes, f"load {ir_type(data_type, lanes)}, ptr {pointer}, align {align}")

    def argument(self, data_type: DataType, pointer: str, byte: int) -> Value:
        """A scalar out of memory that does not change, loaded where it is needed."""
        return Lazy(
            self,
            data_type,
            1,
            lambda: f"load {ir_type(data_type, 1)}, ptr {self.offset(pointer, byte)}, align 1, {_INVARIANT}",
            1,
        )

    def store(self, x: Value, pointer: str, align: int) -> None:
        if x.type is MASK:
            n = x.lanes
            text = x.text
            if n > 1:
                text = self.assign(f"bitcast {x.typed} to i{n}")
            if n < 8:
                text = self.assign(f"zext i{n} {text} to i8")
            self.emit(f"store i{max(n, 8)} {text}, ptr {pointer}, align {align}")
            return
        self.emit(f"store {x.typed}, ptr {pointer}, align {align}")

    def offset(self, pointer: str, byte: int | str) -> str:
        """A pointer some bytes further."""
        if byte == 0:
            return pointer
        return self.assign(f"getelementptr i8, ptr {pointer}, i64 {byte}")

    def any(self, mask: Value) -> str:
        """An i1: whether the mask holds in any lane."""
        if mask.lanes == 1:
            return mask.text
        packed = self.assign(f"bitcast {mask.typed} to i{mask.lanes}")
        return self.assign(f"icmp ne i{mask.lanes} {packed}, 0")

    def all(self, mask: Value) -> str:
        """An i1: whether the mask holds in every lane."""
        if mask.lanes == 1:
            return mask.text
        packed = self.assign(f"bitcast {mask.typed} to i{mask.lanes}")
        return self.assign(f"icmp eq i{mask.lanes} {packed}, -1")
