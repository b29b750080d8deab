"""Finds images and samplers: code is emitted for each kind that the launch has, behind tests where the number is not known when it is compiled."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

from visa import types
from vsim.abi import IMAGE_HANDLE_STEP, Dispatch
from vsim.images import ImageKind
from vsim.llvm_engine import Unsupported
from vsim.llvm_engine import context as cx
from vsim.llvm_engine.access import Fault, Place
from vsim.llvm_engine.ir import Builder, Value
from vsim.llvm_engine.surfaces import kinds, place_in_table
from vsim.memory import SamplerState
from vsim.semantics.algebra import ImageView

Choice = TypeVar("Choice", bound=Hashable)


@dataclass
class ImageNumber:
    """The number of a surface, or the handle of a bindless image."""

    bindless: bool
    value: Value


class Images:
    """Images and samplers in one function."""

    def __init__(self, builder: Builder, fault: Fault, dispatch: Dispatch) -> None:
        self.b, self.fault, self.dispatch = builder, fault, dispatch

    def with_image(self, image: ImageNumber, act: Callable[[ImageView], list[Value]]) -> list[Value]:
        """What ``act`` emits for the image; surfaces that are no image leave the function."""
        wanted = {number: kind for bindless, number, kind in kinds(self.dispatch) if bindless == image.bindless}
        return self._choose(image.value, wanted, None, lambda kind: act(self._view(image, kind)))

    def with_sampler(self, number: Value, act: Callable[[SamplerState], list[Value]]) -> list[Value]:
        return self._choose(number, self.dispatch.samplers, SamplerState(), act)

    def _view(self, image: ImageNumber, kind: ImageKind) -> ImageView:
        b, number = self.b, image.value
        table = b.field("%ctx", cx.SURFACES, "ptr")
        if number.constant is not None:
            entry = b.offset(table, place_in_table(image.bindless, number.constant) * cx.SURFACE_ENTRY)
        else:
            index = b.cast(number, types.UQ)
            if image.bindless:
                index = b.udiv(index, b.const(IMAGE_HANDLE_STEP, types.UQ)) + b.const(cx.SURFACE_LIMIT, types.UQ)
            entry = b.assign(f"getelementptr [{cx.SURFACE_ENTRY} x i8], ptr {table}, i64 {index.text}")
        pointer = b.assign(f"load ptr, ptr {entry}, align 8, !invariant.load !0")
        size = b.assign(f"load i64, ptr {b.offset(entry, 8)}, align 8, !invariant.load !0")
        sizes = [
            b.value(
                types.D, 1, f"load i32, ptr {b.offset(entry, cx.SURFACE_SIZES + 4 * axis)}, align 4, !invariant.load !0"
            )
            for axis in range(kind.axes)
        ]
        return ImageView(kind, sizes, Place(cx.SURFACE, pointer, size, inside=True))

    def _choose(
        self, number: Value, wanted: dict[int, Choice], default: Choice | None, act: Callable[[Choice], list[Value]]
    ) -> list[Value]:
        """``act`` for what a number means; where the number is not known now, a branch for each thing that it may mean."""
        if number.constant is not None:
            found = wanted.get(number.constant, default)
            if found is None:
                raise Unsupported(f"surface {number.constant}, which is no image")
            return act(found)
        b = self.b
        groups: dict[Choice, list[int]] = {}
        for n, choice in wanted.items():
            if choice != default:
                groups.setdefault(choice, []).append(n)
        tests = {
            choice: reduce(lambda x, y: x | y, (number == b.const(n, number.type) for n in numbers))
            for choice, numbers in groups.items()
        }
        if default is None:
            if not tests:
                raise Unsupported("a surface in a launch without images")
            known: Value = reduce(lambda x, y: x | y, tests.values())
            self.fault((~known).text, cx.IMAGE, b.cast(number, types.UQ).text, "0", lambda: ("0", 0, 0, "0"))
            default, _ = tests.popitem()
        return self._branches(list(tests.items()), default, act)

    def _branches(
        self, tests: list[tuple[Choice, Value]], default: Choice, act: Callable[[Choice], list[Value]]
    ) -> list[Value]:
        b = self.b
        if not tests:
            return act(default)
        before, done = b.mark(), b.new_label("chosen")
        arms: list[tuple[list[Value], str]] = []
        for choice, test in tests:
            way, other = b.new_label("way"), b.new_label("other")
            b.emit(f"br i1 {test.text}, label %{way}, label %{other}")
            b.label(way, before)
            arms.append((act(choice), b.end_block(done)))
            b.label(other, before)
        arms.append((act(default), b.end_block(done)))
        b.label(done, before)
        ends = [end for _, end in arms]
        return [self._joined(column, ends) for column in zip(*(values for values, _ in arms), strict=True)]

    def _joined(self, values: tuple[Value, ...], ends: list[str]) -> Value:
        lanes = max(v.lanes for v in values)
        if any(v.lanes != lanes and v.text.startswith("%") for v in values):
            raise Unsupported("kinds of images that give one lane and many")
        return self.b.phi([self.b.broadcast(v, lanes) for v in values], ends)
