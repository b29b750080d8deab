"""The one place that knows what differs between versions of LLVM: masked memory intrinsics
and the end of coroutines.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from llvmlite import binding

from visakit.language import types
from visakit.language.types import DataType
from vsim.engines.llvm.ir.types import ir_type, overload
from vsim.engines.llvm.ir.values import Value

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder

_ALIGN_IS_ARGUMENT = int(binding.llvm_version_info[0]) < 22
"""Before LLVM 22, masked memory intrinsics took their alignment as an argument; since then it is an attribute of the
pointer.
"""


class MaskedIntrinsic(NamedTuple):
    """``llvm.masked.load``, ``store``, ``gather`` or ``scatter`` of vectors with elements of an LLVM type."""

    op: str
    element: str
    lanes: int

    @property
    def _reads(self) -> bool:
        return self.op in ("load", "gather")

    @property
    def _pointers(self) -> str:
        return "ptr" if self.op in ("load", "store") else f"<{self.lanes} x ptr>"

    @property
    def name(self) -> str:
        """With the types that it is overloaded for."""
        pointers = "p0" if self.op in ("load", "store") else f"v{self.lanes}p0"
        return f"llvm.masked.{self.op}.{overload(self.element, self.lanes)}.{pointers}"

    @property
    def result(self) -> str:
        return f"<{self.lanes} x {self.element}>" if self._reads else "void"

    @property
    def arguments(self) -> str:
        """Types of the arguments."""
        vector, align = f"<{self.lanes} x {self.element}>", ", i32" if _ALIGN_IS_ARGUMENT else ""
        target = f"{self._pointers}{align}, <{self.lanes} x i1>"
        return f"{target}, {vector}" if self._reads else f"{vector}, {target}"

    def call(self, pointers: str, align: int, mask: str, value: str = "") -> str:
        """The call: reads give 0 for lanes outside the mask; ``value``: the written vector.

        Args:
            pointers: a pointer, or a vector of them.
            mask: with its type, as ``value``.
        """
        if _ALIGN_IS_ARGUMENT:
            target = f"{self._pointers} {pointers}, i32 {align}, {mask}"
        else:
            target = f"{self._pointers} align {align} {pointers}, {mask}"
        operands = f"{target}, {self.result} zeroinitializer" if self._reads else f"{value}, {target}"
        return f"call {self.result} @{self.name}({operands})"


def masked_read(b: Builder, op: str, data_type: DataType, pointers: str, align: int, mask: Value) -> Value:
    """Elements at a pointer (``load``) or at one for each lane (``gather``); 0 where the mask does not hold."""
    intrinsic = MaskedIntrinsic(op, ir_type(data_type, 1), mask.lanes)
    b.declare(intrinsic.name, intrinsic.result, intrinsic.arguments)
    return b.value(data_type, mask.lanes, intrinsic.call(pointers, align, mask.typed))


def masked_write(b: Builder, op: str, value: Value, pointers: str, align: int, mask: Value) -> None:
    """Elements to a pointer (``store``) or to one for each lane (``scatter``), where the mask holds."""
    if op == "store" and not value.type.is_float and value.type.size < 8:
        value, mask = _not_truncating(b, value, mask)
    intrinsic = MaskedIntrinsic(op, ir_type(value.type, 1), mask.lanes)
    b.declare(intrinsic.name, intrinsic.result, intrinsic.arguments)
    b.emit(intrinsic.call(pointers, align, mask.typed, value.typed))


def _not_truncating(b: Builder, value: Value, mask: Value) -> tuple[Value, Value]:
    """A masked store of integers that LLVM cannot make a truncating one of.

    LLVM 22 for x86 stores the whole source element of a truncated one if the mask is a constant with one lane, and
    overwrites the bytes beyond it. LLVM does not look for truncations through a change to floats, and a mask that
    depends on an unknown value is no constant.
    """
    if value.type.size == types.F.size:
        return b.bitcast(value, types.F), mask
    return value, mask ^ b.broadcast(Value(b, mask.type, 1, _unknown_false(b)), mask.lanes)


LARGEST_SPREAD = 32
"""Bytes of a register up to which dwords are inserted into gaps directly. Beyond it LLVM's code generator, on
processors with AVX-512, makes extensions to qwords of some vectors of floats, also where they count as dwords, of which
it then takes the lower half where that is no longer allowed, and ends the process: "cannot select" (LLVM 22). Which
ones depends on the shuffles around them. Where no floats are it never did, and products of 64 bits would take longer.
"""


def spreadable(b: Builder, row: Value, places: int) -> Value:
    """Dwords that are inserted into gaps of so many dwords of a register."""
    return opaque(b, row) if places * types.UD.size > LARGEST_SPREAD and b.has_floats else row


def opaque(b: Builder, value: Value) -> Value:
    """The same integers, of which LLVM does not know how they came about."""
    zero = b.hoist(f"zext i1 {_unknown_false(b)} to {ir_type(value.type, 1)}")
    return value ^ b.broadcast(Value(b, value.type, 1, zero), value.lanes)


def _unknown_false(b: Builder) -> str:
    """A condition (i1) that never holds, which LLVM does not know: the sign of a pointer to memory of a process."""
    return b.hoist(f"icmp slt i64 {b.hoist('ptrtoint ptr %ctx to i64')}, 0")


@cache
def coroutine_end() -> tuple[str, str]:
    """Declaration and call of ``llvm.coro.end``, whose form changed between versions of LLVM."""
    forms = (
        ("void @llvm.coro.end(ptr, i1, token)", "call void @llvm.coro.end(ptr %handle, i1 false, token none)"),
        ("i1 @llvm.coro.end(ptr, i1, token)", "%ended = call i1 @llvm.coro.end(ptr %handle, i1 false, token none)"),
        ("i1 @llvm.coro.end(ptr, i1)", "%ended = call i1 @llvm.coro.end(ptr %handle, i1 false)"),
    )
    for declaration, call in forms:
        try:
            binding.parse_assembly(f"declare {declaration}").verify()
            return f"declare {declaration}", call
        except RuntimeError:
            continue
    return f"declare {forms[0][0]}", forms[0][1]
