"""Base and uniform offset: the sum of a vector that is constant in a loop and of scalars that change from round to
round.

Example: ``a[row * n + k]``, where ``row * n`` is the base, computed in front of the loop, and ``k`` counts. The address
of a lane is ``widened(base + scalar) * outer_factor + outer``. The scalars are emitted on demand.

The base may be the initial value of a vector induction variable: of ``k`` in ``for (int k = starts[row]; k <
starts[row + 1]; k++)`` the scalar is the sum of the increments (``memory/induction.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.values import Value


@dataclass(frozen=True, slots=True, eq=False)
class BaseOffset:
    """A base vector and a scalar; if ``narrow`` is set, their sum was converted to a wider type, times ``outer_factor``
    and plus ``outer`` (None for 0). ``lanes`` is the base, computed from lane values and constants; None for the
    initial value of the induction variable of a ``loop``.
    """

    lanes: Value | None
    scalar: Value
    loop: range | None = None
    narrow: Value | None = None
    outer: Value | None = None
    outer_factor: int = 1

    def plus(self, op: str, other: Value) -> BaseOffset:
        """The same, and a scalar added or subtracted (``op``: ``add`` or ``sub``)."""
        b = other.builder
        if self.narrow is None:
            return replace(self, scalar=self.scalar.deferred(op, b.retype(other, self.scalar.type)))
        before = self.outer or b.const(0, other.type)
        return replace(self, outer=b.retype(before, other.type).deferred(op, other))

    def times(self, factor: int) -> BaseOffset:
        """The same times a constant."""
        by = self.scalar.builder.const
        if self.narrow is None:
            scalar = self.scalar.deferred("mul", by(factor, self.scalar.type))
            return replace(self, scalar=scalar)
        outer = self.outer and self.outer.deferred("mul", by(factor, self.outer.type))
        return replace(self, outer=outer, outer_factor=self.outer_factor * factor)

    def widened(self, narrow: Value) -> BaseOffset | None:
        """The same, which is that value until now, in a wider type."""
        return None if self.narrow else replace(self, narrow=narrow)


def base_offset_sum(x: Value, y: Value, op: str) -> BaseOffset | None:
    """A sum or a difference (``op``: ``add`` or ``sub``) of a vector and a uniform value."""
    parts = vector_and_scalar(x, y, op)
    if parts is None:
        return None
    vector, scalar = parts
    known = vector.facts.base_offset or BaseOffset(vector, vector.builder.const(0, vector.type))
    return known.plus(op, scalar)


def vector_and_scalar(x: Value, y: Value, op: str) -> tuple[Value, Value] | None:
    """The operands of an ``add`` or ``sub`` of integers of which exactly one is uniform, that one as a scalar.

    A uniform minuend does not count.
    """
    scalar = shared_by_lanes(y)
    if scalar is None and op == "add" and (scalar := shared_by_lanes(x)) is not None:
        x = y
    if scalar is None or x.lanes == 1 or not x.type.is_integer or shared_by_lanes(x) is not None:
        return None
    return x, scalar


def shared_by_lanes(x: Value) -> Value | None:
    """What is the same for all lanes of a value, as a scalar; None if it is not known to be."""
    if x.lanes == 1:
        return x
    known = x.facts.affine
    is_one = known and known.row == x.lanes and not (known.stride or known.steps or known.assumptions)
    return x.builder.retype(known.first_lane, x.type) if known and is_one else None
