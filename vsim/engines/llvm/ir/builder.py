"""The builder: the lane algebra of the semantics (:class:`vsim.semantics.algebra.Algebra`), emitted as instructions of
LLVM IR.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace

from visakit.language import types
from visakit.language.types import DataType
from vsim.engines.llvm.ir import divisions, matrix_products, quotients, rounded
from vsim.engines.llvm.ir.affine import AffineLanes, AssumedMask, affine_conversion, affine_pair
from vsim.engines.llvm.ir.carries import dwords_of
from vsim.engines.llvm.ir.constant_masks import constant_lanes
from vsim.engines.llvm.ir.denormals import comes_of_constants, like, unknown_of_constants, without_denormals
from vsim.engines.llvm.ir.emitter import INVARIANT_LOAD, Emitter
from vsim.engines.llvm.ir.facts import NO_FACTS, Facts
from vsim.engines.llvm.ir.half_fma import half_fma, rounded_to_odd
from vsim.engines.llvm.ir.halves import half_of_result
from vsim.engines.llvm.ir.index import WideIndex
from vsim.engines.llvm.ir.interleaved import Interleaved
from vsim.engines.llvm.ir.pairs import concatenated, lanes_of_one_half, mixed_text
from vsim.engines.llvm.ir.powers import element_plus, power_of_whole
from vsim.engines.llvm.ir.rounding_modes import in_mode
from vsim.engines.llvm.ir.types import MASK, ir_type, literal, overload, splat
from vsim.engines.llvm.ir.values import Mask, Rematerialized, Value, float_of_bits
from vsim.engines.llvm.ir.whole_parts import whole_part
from vsim.engines.llvm.ir.word_products import high_product

_COMPUTES = ("fma", "sqrt")
"""Intrinsics that read floats as operations do, not as bits; of constants LLVM computes them with denormals."""


class Builder(Emitter):
    """Emits the operations on lane values at the current place of a function."""

    directs = True

    def __init__(self, declarations: dict[str, str], exact: bool = True, takes_zeros: bool = False) -> None:
        super().__init__(declarations)
        self.exact = exact
        self.takes_zeros = takes_zeros  # Whether the processor takes denormal operands as zeros.
        self.integers: dict[tuple[int | float, DataType], Value] = {}  # Constants, which are made once.
        self.mask_parts: dict[str, tuple[str, int]] = {}
        """Of masks that are a part of others, by name: which one, and from which lane on."""
        self.whole_numbers: set[str] = set()  # Names of floats that are whole numbers, infinities or NaN.
        self.constants: set[str] = set()
        """Names of values that LLVM may compute, as they come out of constants and slots alone."""
        self.tracks_base_offset = False
        """Whether sums of vectors and scalars remember both; they are emitted where they are needed then."""
        self.calls_functions = False  # Those of floats (:func:`rounded.has_many`).
        self.follows_divisions = False  # By floats: whether their parts are noted (:mod:`divisions`).
        self.follows_carries = False  # Whether sums of dwords and carries are noted as parts of sums of qwords.

    def begin(self, block: str, levels: dict[str, int] | None = None) -> None:
        super().begin(block, levels)
        self.mask_parts, self.whole_numbers, self.constants = {}, set(), set()

    def assign(self, text: str) -> str:
        name = super().assign(text)
        if self.takes_zeros and comes_of_constants(self, text):
            self.constants.add(name)
        return name

    def value(self, data_type: DataType, lanes: int, text: str, facts: Facts = NO_FACTS) -> Value:
        """The result of an instruction, or of an equal one that dominates this place."""
        return Value(self, data_type, lanes, self.assign(text), facts=facts)

    def call(self, stem: str, x: Value, *rest: Value) -> Value:
        """An intrinsic whose result has the type of its first argument."""
        lanes = max(v.lanes for v in (x, *rest))
        operands = [self.broadcast(v, lanes) for v in (x, *rest)]
        if stem in _COMPUTES:
            operands = [v.facts.denormal or v for v in operands]
        attributes = " nobuiltin" if stem in _COMPUTES and self.takes_zeros else ""
        ir = operands[0].ir
        name = f"llvm.{stem}.{overload(ir_type(x.type, 1), lanes)}"
        self.declare(name, ir, ", ".join([ir] * len(operands)))
        return self.value(x.type, lanes, f"call {ir} @{name}({', '.join(v.typed for v in operands)}){attributes}")

    # -- lanes ---------------------------------------------------------------------------------------------

    def splat_literal(self, text: str, data_type: DataType, lanes: int) -> str:
        """A constant in every lane."""
        return text if lanes == 1 else splat(f"{ir_type(data_type, 1)} {text}", lanes)

    def broadcast(self, x: Value, lanes: int) -> Value:
        """A scalar in every lane of a vector."""
        if x.lanes == lanes:
            return x
        assert x.lanes == 1, (x.lanes, lanes)
        if x.facts.denormal is not None:
            return like(self, x, self.broadcast(x.facts.denormal, lanes))
        if not x.text.startswith("%"):
            found = Value(self, x.type, lanes, self.splat_literal(x.text, x.type, lanes))
        elif x.facts.extended is not None and x.type.size == 2:
            narrow = self.broadcast(x.facts.extended, lanes)
            found = self._conversion("sext" if narrow.type.is_signed else "zext", narrow, x.type)
        else:
            scalar, vector = ir_type(x.type, 1), ir_type(x.type, lanes)
            first = self.assign(f"insertelement {vector} poison, {scalar} {x.text}, i64 0")
            zeros = f"<{lanes} x i32> zeroinitializer"
            found = self.value(x.type, lanes, f"shufflevector {vector} {first}, {vector} poison, {zeros}")
        return found.with_facts(affine=AffineLanes(x, 0, lanes)) if x.type.is_integer else found

    def match(self, x: Value, y: Value) -> tuple[Value, Value]:
        """Two values with the same number of lanes."""
        lanes = max(x.lanes, y.lanes)
        return self.broadcast(x, lanes), self.broadcast(y, lanes)

    def retype(self, x: Value, data_type: DataType) -> Value:
        """The same SSA value under a type with the same LLVM type."""
        if x.type is data_type:
            return x
        found = x.copy(data_type)
        found.facts = x.facts.of_bits()
        return found

    def lanes(self, x: Value, indices: list[int]) -> Value:
        """Lanes of a vector by number."""
        if x.lanes == 1 or indices == list(range(x.lanes)):
            return x
        if x.facts.denormal is not None:
            return like(self, x, self.lanes(x.facts.denormal, indices))
        if x.facts.interleaved and (part := x.facts.interleaved.part(x.type, indices)):
            return self.bitcast(self.lanes(*part), x.type)
        if len(indices) == 1:
            return self.lane(x, indices[0])
        if known := lanes_of_one_half(self, x, indices) or constant_lanes(self, x, indices):
            return known
        mask = ", ".join(f"i32 {i}" for i in indices)

        def text() -> str:
            return f"shufflevector {x.typed}, {x.ir} poison, <{len(indices)} x i32> <{mask}>"

        consecutive = indices == list(range(indices[0], indices[0] + len(indices)))
        if x.facts.affine and consecutive and (affine := x.facts.affine.part(indices[0], len(indices))):
            return Rematerialized(self, x.type, len(indices), text, x.depth + 1, Facts(affine))
        taken = self.value(x.type, len(indices), text())
        if x.type is MASK and consecutive:
            self.mask_parts[taken.text] = x.text, indices[0]
        if x.facts.interleaved and consecutive:
            return taken.with_facts(interleaved=x.facts.interleaved.from_element(x.type, indices[0]))
        return taken

    def lane(self, x: Value, index: int | str) -> Value:
        """One lane of a vector."""
        return self.value(x.type, 1, f"extractelement {x.typed}, i64 {index}")

    def mixed(self, x: Value, y: Value, picks: Sequence[int]) -> Value:
        """Lanes of two vectors: of the second from the first's number of lanes on; -1 where it does not matter."""
        return self.value(x.type, len(picks), mixed_text(x, y, picks))

    def concat(self, parts: list[Value]) -> Value:
        """Vectors of equal length end to end (a power of two of them)."""
        while len(parts) > 1:
            parts = [concatenated(self, x, y) for x, y in zip(parts[0::2], parts[1::2], strict=True)]
        return parts[0]

    # -- constants -----------------------------------------------------------------------------------------

    def const(self, value: int | float, data_type: DataType) -> Value:
        """The same value in every lane."""
        if not data_type.is_integer:
            return Value(self, data_type, 1, literal(value, data_type))
        found = self.integers.get((value, data_type))
        if found is None:
            bits = int(value) & ((1 << data_type.bits) - 1)
            found = self.integers[value, data_type] = Value(self, data_type, 1, literal(value, data_type), bits)
        return found

    def vector(self, values: Sequence[int], data_type: DataType) -> Value:
        """A constant vector of integers; of one, a constant."""
        if len(values) == 1:
            return self.const(values[0], data_type)
        scalar = ir_type(data_type, 1)
        return Value(self, data_type, len(values), "<" + ", ".join(f"{scalar} {v}" for v in values) + ">")

    def iota(self, count: int, data_type: DataType) -> Value:
        """0, 1, 2, ... across the lanes."""
        if count == 1:
            return self.const(0, data_type)
        lanes = AffineLanes(self.const(0, data_type), 1, count, small=True)
        return self.vector(range(count), data_type).with_facts(affine=lanes)

    def all_lanes(self, lanes: int) -> Value:
        """The mask of all lanes."""
        return Value(self, MASK, lanes, self.splat_literal("true", MASK, lanes))

    # -- conversions ---------------------------------------------------------------------------------------

    def cast(self, x: Value, data_type: DataType, deferred: bool = False) -> Value:
        """A conversion by value; ``deferred``: one between integers is emitted where its result is needed."""
        source, facts = x.type, x.facts
        if source is data_type:
            return x
        if source is MASK:
            return self._conversion("zext", x, data_type).with_facts(carried=facts.carried, division=facts.division)
        if source.is_float:
            return self._from_float(x, data_type)
        if data_type.is_float:
            return self._whole(self._conversion("sitofp" if source.is_signed else "uitofp", x, data_type))
        return self._between_integers(x, data_type, deferred)

    def _conversion(self, op: str, x: Value, data_type: DataType) -> Value:
        return self.value(data_type, x.lanes, f"{op} {x.typed} to {ir_type(data_type, x.lanes)}")

    def _from_float(self, x: Value, data_type: DataType) -> Value:
        if not data_type.is_float:
            return self._conversion("fptosi" if data_type.is_signed else "fptoui", x, data_type)
        if x.type is types.DF and data_type is types.HF:
            return self.cast(rounded_to_odd(self, x), types.HF)
        return self._conversion("fpext" if data_type.size > x.type.size else "fptrunc", x, data_type)

    def _between_integers(self, x: Value, data_type: DataType, deferred: bool) -> Value:
        source = x.type
        if x.constant is not None:
            negative = source.is_signed and x.constant >> (source.bits - 1)
            return self.const(x.constant - (1 << source.bits) if negative else x.constant, data_type)
        if source.size == data_type.size:
            return self.retype(x, data_type)
        op = "trunc" if data_type.size < source.size else "sext" if source.is_signed else "zext"
        is_index = op == "sext" and source is types.D and data_type.size == 8 and x.lanes > 1
        if deferred or x.facts.affine or x.facts.base_offset or is_index:
            to = ir_type(data_type, x.lanes)
            found: Value = Rematerialized(self, data_type, x.lanes, lambda: f"{op} {x.typed} to {to}", x.depth + 1)
        else:
            found = self._conversion(op, x, data_type)
            is_index = op == "zext" and source.size == 4 and data_type.size == 8 and self.ranges.is_index(x.text)
        found.facts = _facts_of_conversion(x, data_type, op != "trunc", is_index)
        return found

    def bitcast(self, x: Value, data_type: DataType) -> Value:
        """The same bits as another type of the same size."""
        if ir_type(x.type, 1) == ir_type(data_type, 1):
            return self.retype(x, data_type)
        if x.type is types.F and x.lanes == 1 and x.text.startswith("0x"):
            (real,) = struct.unpack(">d", bytes.fromhex(x.text[2:]))
            return self.const(int.from_bytes(struct.pack(">f", real)), data_type)
        return self.value(data_type, x.lanes, f"bitcast {x.typed} to {ir_type(data_type, x.lanes)}")

    def regroup(self, x: Value, data_type: DataType, lanes: int) -> Value:
        """The same bits as elements of another size."""
        found = self.value(data_type, lanes, f"bitcast {x.typed} to {ir_type(data_type, lanes)}")
        interleaved, affine = x.facts.interleaved, None
        if data_type.size == 8 and interleaved and (pair := interleaved.dwords_of_qwords()):
            affine = affine_pair(*pair)
        if x.type.is_integer and x.type.size == 8 and data_type.size == 4 and (x.facts.affine or x.lanes == 1):
            interleaved = Interleaved(dwords_of(x), 0)
        return found.with_facts(affine=affine, interleaved=interleaved)

    # -- selection -----------------------------------------------------------------------------------------

    def select(self, mask: Mask, x: Value, y: Value) -> Value:
        """x where the mask holds, else y."""
        if mask is True:
            return x
        found = self._merge(mask, x, y)
        if x.facts.denormal is not None and y.facts.denormal is not None:
            found = found.with_facts(denormal=found)
        return found.emitted()

    def merge(self, mask: Value, x: Value, y: Value, note: Callable[[], None] | None = None) -> Value:
        """:meth:`select`, emitted where it is needed; ``note`` is told of that."""
        if x.facts.denormal is None or y.facts.denormal is None:
            return self._merge(mask, x, y, note)
        return like(self, x, self._merge(mask, x.facts.denormal, y.facts.denormal, note))

    def _merge(self, mask: Value, x: Value, y: Value, note: Callable[[], None] | None = None) -> Value:
        lanes = max(mask.lanes, x.lanes, y.lanes)
        known = x.affine_over(lanes)

        def text() -> str:
            if note:
                note()
            m = mask if mask.lanes == 1 else self.broadcast(mask, lanes)
            return f"select {m.typed}, {self.broadcast(x, lanes).typed}, {self.broadcast(y, lanes).typed}"

        half = None if note else half_of_result("select", x, y, mask)  # Qwords would need y without a note.
        facts = Facts(half=half, division=divisions.selection(mask, x, y))
        if x.type.is_integer and mask.lanes == lanes and known is not None:
            assumptions = (*known.assumptions, AssumedMask(mask.text))
            facts = facts._replace(affine=replace(known, assumptions=assumptions, factor=0, first=0))
        return Rematerialized(self, x.type, lanes, text, max(x.depth, y.depth) + 1, facts)

    without_denormals = without_denormals

    def mask_to_int(self, mask: Mask, data_type: DataType) -> Value:
        """1 where the mask holds, else 0."""
        return self.const(1, data_type) if mask is True else self.cast(mask, data_type)

    def packed(self, mask: Value) -> str:
        """A mask as an integer of as many bits as it has lanes."""
        return self.assign(f"bitcast {mask.typed} to i{mask.lanes}")

    def any(self, mask: Value) -> str:
        """An i1: whether the mask holds in any lane."""
        if mask.text in self.nonempty:
            return "true"
        return mask.text if mask.lanes == 1 else self.assign(f"icmp ne i{mask.lanes} {self.packed(mask)}, 0")

    def all(self, mask: Value) -> str:
        """An i1: whether the mask holds in every lane."""
        return mask.text if mask.lanes == 1 else self.assign(f"icmp eq i{mask.lanes} {self.packed(mask)}, -1")

    # -- arithmetic ----------------------------------------------------------------------------------------

    products = matrix_products.products
    products_of_bytes = matrix_products.products_of_bytes
    rounded_once = rounded.rounded_once
    replaced = rounded.replaced
    udiv = quotients.udiv
    float_of_bits = float_of_bits
    whole_part = whole_part
    in_mode = in_mode
    high_product = high_product
    element_plus = element_plus
    power_of_whole = power_of_whole

    def fdiv(self, x: Value, y: Value) -> Value:
        """Correctly rounded quotient of floats."""
        return x.binary(y, "", "fdiv")

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        """x * y + z rounded once."""
        if x.type is not types.HF:
            return self.call("fma", x, y, unknown_of_constants(self, x, y, z))
        lanes = max(x.lanes, y.lanes, z.lanes)
        return self.call_own(*half_fma(self, [self.broadcast(v, lanes) for v in (x, y, z)]))

    def call_own(self, name: str, data_type: DataType, operands: Sequence[Value]) -> Value:
        """The result of a function of the module's own."""
        lanes = operands[0].lanes
        arguments = ", ".join(x.typed for x in operands)
        return self.value(data_type, lanes, f"call {ir_type(data_type, lanes)} @{name}({arguments})")

    def sqrt(self, x: Value) -> Value:
        """Correctly rounded square root."""
        return self._through_float("sqrt", x)

    def absolute(self, x: Value) -> Value:
        """Absolute value of a float (clears the sign)."""
        if x.facts.denormal is not None:
            return like(self, x, self.absolute(x.facts.denormal))
        return self.call("fabs", x)

    def negate(self, x: Value) -> Value:
        """Negation (of a float: flips the sign)."""
        if x.facts.denormal is not None:
            return like(self, x, self.negate(x.facts.denormal))
        if x.type.is_float:
            return self.value(x.type, x.lanes, f"fneg {x.typed}")
        found = self.const(0, x.type) - x
        return found.with_facts(negated=x, division=divisions.negation(x)) if found.constant is None else found

    def _through_float(self, stem: str, x: Value) -> Value:
        """An operation of which half has none: done in float, which gives the same result."""
        if x.type is types.HF:
            return self.cast(self.call(stem, self.cast(x, types.F)), types.HF)
        return self.call(stem, x)

    def _whole(self, x: Value) -> Value:
        """A value, and note that its lanes are whole numbers."""
        self.whole_numbers.add(x.text)
        return x

    def is_whole(self, x: Value) -> bool:
        """Whether that was noted."""
        return x.text in self.whole_numbers

    def floor(self, x: Value) -> Value:
        """The largest integral value that is not greater."""
        return self._whole(self._through_float("floor", x))

    def ceil(self, x: Value) -> Value:
        """The smallest integral value that is not less."""
        return self._whole(self._through_float("ceil", x))

    def trunc(self, x: Value) -> Value:
        """The integral value towards zero."""
        return self._whole(self._through_float("trunc", x))

    def rint(self, x: Value) -> Value:
        """The nearest integral value, ties to even."""
        return self._whole(self._through_float("roundeven", x))

    def popcount(self, x: Value) -> Value:
        """Number of one bits."""
        return self.call("ctpop", x)

    def leading_zeros(self, x: Value) -> Value:
        """Number of leading zero bits; the width for zero."""
        suffix = overload(ir_type(x.type, 1), x.lanes)
        self.declare(f"llvm.ctlz.{suffix}", x.ir, f"{x.ir}, i1")
        return self.value(x.type, x.lanes, f"call {x.ir} @llvm.ctlz.{suffix}({x.typed}, i1 false)")

    def reverse_bits(self, x: Value) -> Value:
        """Bit 0 becomes the highest one, and so on."""
        return self.call("bitreverse", x)

    def rotated(self, x: Value, count: Value) -> Value | None:
        """An integer rotated left; LLVM finds rotations by constants itself."""
        return None if count.constant is not None else self.call("fshl", x, x, count)

    def load(self, data_type: DataType, lanes: int, pointer: str, align: int) -> Value:
        """Elements at a host pointer; masks lie there as the bits of bytes. LLVM may know the contents of slots."""
        if data_type is not MASK:
            self.constants.add(name := self.assign(f"load {ir_type(data_type, lanes)}, ptr {pointer}, align {align}"))
            return Value(self, data_type, lanes, name)
        packed = self.assign(f"load i{max(lanes, 8)}, ptr {pointer}, align {align}")
        if lanes == 1:
            return self.value(MASK, 1, f"trunc i8 {packed} to i1")
        cut = packed if lanes >= 8 else self.assign(f"trunc i8 {packed} to i{lanes}")
        return self.value(MASK, lanes, f"bitcast i{lanes} {cut} to <{lanes} x i1>")

    def store(self, x: Value, pointer: str, align: int) -> None:
        """Elements to a host pointer; see :meth:`load`."""
        if x.type is not MASK:
            self.emit(f"store {x.typed}, ptr {pointer}, align {align}")
            return
        n = x.lanes
        text = self.packed(x) if n > 1 else x.text
        if n < 8:
            text = self.assign(f"zext i{n} {text} to i8")
        self.emit(f"store i{max(n, 8)} {text}, ptr {pointer}, align {align}")

    def argument(self, data_type: DataType, pointer: str, byte: int) -> Value:
        """A scalar out of memory that does not change, loaded where it is needed."""

        def text() -> str:
            return f"load {ir_type(data_type, 1)}, ptr {self.offset(pointer, byte)}, align 1, {INVARIANT_LOAD}"

        return Rematerialized(self, data_type, 1, text, 1)


def _facts_of_conversion(x: Value, data_type: DataType, widens: bool, is_index: bool) -> Facts:
    """The facts about an integer after a conversion to a type of another size."""
    affine, base_offset = x.facts.affine, x.facts.base_offset
    return Facts(
        affine_conversion(x, data_type) if affine else None,
        wide_index=WideIndex(x.builder.retype(x, types.D)) if is_index else None,
        base_offset=base_offset.widened(x) if base_offset and widens else None,
        near=x.facts.near.widened(x.type, data_type) if x.facts.near and widens else None,
        extended=x if widens else None,
        narrow=x if data_type is types.UQ and x.type is types.UD else None,
        low_zeros=x.low_zeros,
    )
