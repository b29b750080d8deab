"""Images and samplers: code is emitted for each kind that the launch has, behind tests where the number is not known
when code is made.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

from visakit.language import types
from visakit.language.operands import SAMPLER, Execution
from visakit.language.program import BINDLESS, NAMED_SAMPLER
from vsim.engines.llvm import Unsupported
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.surfaces import kinds, table_index
from vsim.engines.llvm.ir.emitter import INVARIANT_LOAD
from vsim.engines.llvm.ir.joins import first_of
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.faults import FaultExits
from vsim.engines.llvm.lower.spaces import Spaces
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.lower.storage import state_key
from vsim.engines.llvm.memory.space import MemorySpace
from vsim.launch import threads
from vsim.launch.payload import SAMPLER_HANDLE_SHIFT, SURFACE_HANDLE_STEP
from vsim.memory.images import ImageFormat, ImageKind
from vsim.memory.memory import SamplerState
from vsim.semantics.algebra import ImageView

_NO_IMAGE = ImageKind(ImageFormat("rgba", "f32"), 2)
"""What code that is never reached takes a surface for that is no image."""
Choice = TypeVar("Choice", bound=Hashable)


@dataclass(frozen=True)
class ImageNumber:
    """The number of a surface, or the handle of a bindless image."""

    bindless: bool
    value: Value


class Images:
    """Images and samplers in one function."""

    def __init__(self, state: FunctionState, spaces: Spaces, exits: FaultExits) -> None:
        self.state, self.spaces, self.exits = state, spaces, exits

    def image(self, index: int) -> ImageNumber:
        """The image that a surface variable names."""
        return ImageNumber(index == BINDLESS, self.spaces.surface_number(index))

    def image_by_handle(self, kind: str, value: Value) -> ImageNumber:
        """The image behind an LSC surface operand."""
        return ImageNumber(kind != "bti", value)

    def sampler(self, index: int) -> Value:
        """The number of the sampler that a sampler variable holds."""
        number = self.state.registers.read(state_key(SAMPLER, index), 0, 1, types.UD)
        if index != NAMED_SAMPLER:
            return number
        return number >> self.state.b.const(SAMPLER_HANDLE_SHIFT, types.UD)

    def with_image(self, image: ImageNumber, act: Callable[[ImageView], list[Value]]) -> list[Value]:
        """What ``act`` emits for the image; surfaces that are no image leave the function."""
        wanted = {number: kind for bindless, number, kind in kinds(self.state.dispatch) if bindless == image.bindless}
        return self._choose(image.value, wanted, None, lambda kind: act(self._view(image, kind)), _NO_IMAGE)

    def with_sampler(
        self, image: ImageNumber, sampler: Value, act: Callable[[ImageView, SamplerState], list[Value]]
    ) -> list[Value]:
        """The same with the state of the sampler that has this number."""

        def with_view(view: ImageView) -> list[Value]:
            return self._choose(sampler, self.state.dispatch.samplers, SamplerState(), lambda s: act(view, s))

        return self.with_image(image, with_view)

    def _view(self, image: ImageNumber, kind: ImageKind) -> ImageView:
        """An image of a kind: its sizes and its memory out of the table of surfaces."""
        b, number = self.state.b, image.value
        table = b.field("%ctx", cx.SURFACES, "ptr")
        if kind is _NO_IMAGE:  # the table itself, as loads that are not reached may be hoisted
            memory = MemorySpace(cx.SURFACE, table, "0", checked_elsewhere=True)
            return ImageView(kind, [b.const(1, types.D)] * kind.axes, memory)
        if number.constant is not None:
            entry = b.offset(table, table_index(image.bindless, number.constant) * cx.SURFACE_ENTRY)
        else:
            index = b.cast(number, types.UQ)
            if image.bindless:
                index = b.udiv(index, b.const(SURFACE_HANDLE_STEP, types.UQ)) + b.const(cx.SURFACE_LIMIT, types.UQ)
            entry = b.assign(f"getelementptr [{cx.SURFACE_ENTRY} x i8], ptr {table}, i64 {index.text}")
        pointer = b.assign(f"load ptr, ptr {entry}, align 8, {INVARIANT_LOAD}")
        size = b.assign(f"load i64, ptr {b.offset(entry, 8)}, align 8, {INVARIANT_LOAD}")
        places = [cx.SURFACE_SIZES + 4 * axis for axis in range(kind.axes)]
        sizes = [
            b.value(types.D, 1, f"load i32, ptr {b.offset(entry, place)}, align 4, {INVARIANT_LOAD}")
            for place in places
        ]
        counts = None
        if self.state.dispatch.tells_messages:
            counts = b.assign(f"load ptr, ptr {b.offset(entry, cx.SURFACE_COUNTS)}, align 8, {INVARIANT_LOAD}")
        return ImageView(kind, sizes, MemorySpace(cx.SURFACE, pointer, size, checked_elsewhere=True, counts=counts))

    def _choose(
        self,
        number: Value,
        wanted: dict[int, Choice],
        default: Choice | None,
        act: Callable[[Choice], list[Value]],
        other: Choice | None = None,
    ) -> list[Value]:
        """``act`` for the surface of a number; where the number is not known now, a branch for
        each possible surface. ``other``: the surface for unreachable code, if there is no surface.
        """
        if number.constant is not None:
            found = wanted.get(number.constant, default)
            if found is not None:
                return act(found)
        tests = self._tests(number, wanted, default)
        if default is None:
            assert other is not None
            default = self._leave_unless_known(number, tests, other)
        if not tests:
            return act(default)
        arms = [(test.text, "", lambda choice=choice: act(choice)) for choice, test in tests.items()]
        otherwise, done = default, self.state.b.new_label("chosen")
        return first_of(self.state.b, arms, lambda: act(otherwise), done)

    def _tests(self, number: Value, wanted: dict[int, Choice], default: Choice | None) -> dict[Choice, Value]:
        """For each thing but the default whether the number means it."""
        b = self.state.b
        groups: dict[Choice, list[int]] = {}
        for n, choice in wanted.items():
            if choice != default:
                groups.setdefault(choice, []).append(n)
        return {
            choice: reduce(lambda x, y: x | y, (number == b.const(n, number.type) for n in numbers))
            for choice, numbers in groups.items()
        }

    def _leave_unless_known(self, number: Value, tests: dict[Choice, Value], other: Choice) -> Choice:
        """Leave the function where a number means none of the things; takes the one out that needs no test then."""
        b = self.state.b
        unknown = (~reduce(lambda x, y: x | y, tests.values())).text if tests else "true"
        text = b.cast(number, types.UQ).text
        self.exits.leave_if(unknown, cx.IMAGE, text, "0", lambda: ("0", 0, 0, "0"))
        if not tests:
            return other
        default, _ = tests.popitem()
        return default

    def pixel(self, execution: Execution) -> Callable[[], list[Value]]:
        """x and y of each lane's work-item, type D."""
        if not self.state.is_kernel:  # which has the table of local ids of the group's shape
            raise Unsupported("a render target in a function")
        return lambda: [self._global_ids(axis, execution) for axis in range(2)]

    def _global_ids(self, axis: int, execution: Execution) -> Value:
        """Global ids of the lanes along an axis: from the table of local ids of the group's shape."""
        state, b, row = self.state, self.state.b, threads.id_row_bytes(self.state.dispatch)
        ids = b.field("%variant", cx.VARIANT_IDS, "ptr")
        mine = b.assign(f"getelementptr i8, ptr {ids}, i64 {b.assign(f'mul i64 %thread, {row * 3}')}")
        step, whole = threads.id_step_bytes(self.state.dispatch), self.state.dispatch.simd > 1
        skipped, count = (2 * execution.offset, execution.size) if whole else (0, 1)
        local = b.load(types.UW, count, b.offset(mine, step * axis + skipped), 2)
        places = [cx.LOCAL_SIZE + 8 * axis, cx.OFFSETS + 8 * axis]
        size, offset = (b.assign(f"load i64, ptr {b.offset('%ctx', place)}, align 8") for place in places)
        start = b.assign(f"mul i64 {size}, {state.group_id(axis).text}")
        first = b.assign(f"add i64 {offset}, {start}")
        return b.value(types.D, 1, f"trunc i64 {first} to i32") + b.cast(local, types.D)
