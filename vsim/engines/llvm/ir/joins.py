"""Values of several ways through a function: what blocks behind a branch compute, joined where the ways meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vsim.engines.llvm import Unsupported
from vsim.engines.llvm.ir.emitter import UNLIKELY
from vsim.engines.llvm.ir.values import Mask, Value

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder

Emit = Callable[[], list[Value]]
"""Emits code and gives its values."""


def phi(b: Builder, values: Sequence[Value], blocks: Sequence[str]) -> Value:
    """The value that comes from the block that was run last."""
    first = values[0]
    if not first.text.startswith("%") and all(v.text == first.text for v in values):
        return first
    arms = ", ".join(f"[ {v.text}, %{block} ]" for v, block in zip(values, blocks, strict=True))
    return b.value(first.type, first.lanes, f"phi {first.ir} {arms}")


def if_any(b: Builder, mask: Mask, emit: Emit, otherwise: Sequence[Value] = ()) -> list[Value]:
    """Values that are computed only if the mask holds in some lane, and are 0 else.

    Args:
        otherwise: other values than 0 for that case, which is the likely one then.
    """
    if mask is True:
        return emit()
    some = b.any(mask)
    if some == "true":
        return emit()
    inside, behind, here, before = b.new_label("active"), b.new_label("behind"), b.block, b.mark()
    b.branch(some, inside, behind, UNLIKELY if otherwise else "")
    b.label(inside, before)
    values = emit()
    last = b.jump(behind)
    b.label(behind, before)
    others = otherwise or [b.broadcast(b.const(0, v.type), v.lanes) for v in values]
    return [phi(b, [v, other], [last, here]) for v, other in zip(values, others, strict=True)]


def first_of(b: Builder, arms: Sequence[tuple[str, str, Emit]], otherwise: Emit, done: str) -> list[Value]:
    """Values of the first arm whose condition holds; without one, those of ``otherwise``.

    Args:
        arms: condition (i1), weights of its branch, and a function that emits the arm. Each sees the code in front of
            the first test.
        done: the label behind all arms.
    """
    before = b.mark()
    found: list[tuple[list[Value], str]] = []
    for condition, weights, emit in arms:
        way, other = b.new_label("way"), b.new_label("other")
        b.branch(condition, way, other, weights)
        b.label(way, before)
        found.append((emit(), b.jump(done)))
        b.label(other, before)
    found.append((otherwise(), b.jump(done)))
    b.label(done, before)
    ends = [end for _, end in found]
    return [_joined(b, column, ends) for column in zip(*(values for values, _ in found), strict=True)]


def _joined(b: Builder, values: Sequence[Value], ends: list[str]) -> Value:
    """The phi of values, of which constants may have one lane where the others have many."""
    lanes = max(v.lanes for v in values)
    if any(v.lanes != lanes and v.text.startswith("%") for v in values):
        raise Unsupported("ways that give one lane and many")
    return phi(b, [b.broadcast(v, lanes) for v in values], ends)
