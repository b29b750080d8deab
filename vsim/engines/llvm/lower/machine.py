"""The machine that the semantics drive (:class:`vsim.semantics.algebra.Machine`): every call emits code at the current
place.

It does nothing itself: each method is one of the part that does it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from visakit.language import types
from visakit.language.program import Instruction
from visakit.language.types import DataType
from vsim.engines.llvm import CannotExecute, Unsupported
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.lower.calls import Calls
from vsim.engines.llvm.lower.control_flow import ControlFlowLowering
from vsim.engines.llvm.lower.fault_sources import NotedSources
from vsim.engines.llvm.lower.faults import FaultExits
from vsim.engines.llvm.lower.float_controls import FloatControls
from vsim.engines.llvm.lower.images import ImageNumber, Images
from vsim.engines.llvm.lower.masks import Masks
from vsim.engines.llvm.lower.observers.selection import LoweredAccess
from vsim.engines.llvm.lower.operands import Operands
from vsim.engines.llvm.lower.spaces import Spaces
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.lower.waiting import ThreadWaits
from vsim.engines.llvm.memory.access import AtomicOperation, MemoryAccess
from vsim.engines.llvm.memory.space import MemorySpace
from vsim.engines.llvm.memory.texels import TexelAccess
from vsim.memory.memory import SamplerState
from vsim.observe.observer import Observer, listeners
from vsim.semantics.algebra import ImageView, Step


class LoweringMachine:
    """The parts that lower the instructions of one function."""

    def __init__(
        self,
        state: FunctionState,
        masks: Masks,
        flow: ControlFlowLowering,
        exits: FaultExits,
        observers: Sequence[Observer],
    ) -> None:
        self.state, self.accessed = state, listeners(observers, Observer.accessed)
        self.function, self.grf_size, self.algebra = state.function, state.dispatch.grf_size, state.b
        module, self.exits = state.module, exits
        self.access = MemoryAccess(state.b, exits.leave_if, module.helpers, state.prefetcher, state.access_traits)
        self.texels = TexelAccess(state.b, exits.leave_if, module.helpers, module.row)
        operands = Operands(state, masks, self.access)
        self.type_of = operands.type_of
        self.sources = NotedSources(state, operands)
        self.reader, self.writer = self.sources.reader, operands.writer
        self.write_lanes = operands.write_lanes
        self.raw_reader, self.raw_writer = self.sources.raw_reader, operands.raw_writer
        self.state_reader, self.state_writer = operands.state_reader, operands.state_writer
        self.predicate_writer, self.address_of = operands.predicate_writer, operands.address_of
        self.mask, self.predicate_bits = masks.mask, masks.predicate_bits
        self.predicate_reader = masks.predicate_reader
        self.predicate_as_integer = masks.predicate_as_integer
        self.predicate_from_integer = masks.predicate_from_integer
        spaces = Spaces(state)
        self.flat, self.slm, self.urb = spaces.flat, spaces.slm, spaces.urb
        self.surface, self.surface_by_handle = spaces.surface, spaces.surface_by_handle
        self.for_blocks = spaces.for_blocks
        self.images = Images(state, spaces, exits)
        self.sampler = self.images.sampler
        self.image, self.image_by_handle, self.pixel = self.images.image, self.images.image_by_handle, self.images.pixel
        self.goto, self.jump, self.switch = flow.goto, flow.jump, flow.switch
        self.call, self.leave, self.around_calls = flow.call, flow.leave, flow.around_calls
        self.waiting = ThreadWaits(state, masks, observers)
        self.barrier, self.named_barrier = self.waiting.barrier, self.waiting.named_barrier
        calls = Calls(state, masks, flow, exits, observers)
        self.call_function, self.call_address = calls.call_function, calls.call_address
        controls = FloatControls(state)
        self.rounding, self.denormals = controls.rounding, controls.denormals

    # -- state of the machine ------------------------------------------------------------------------------

    def thread_mask(self) -> Mask:
        """A thread runs alone here, so every one is at this instruction."""
        return True

    def require_shape(self, found: Value, wanted: int, mask: Mask, instruction: Instruction) -> None:
        """Leave the function where the payload of a block message has another shape than its instruction."""
        self._refuse(found != self.state.b.const(wanted, types.UD), mask, cx.SHAPE, found, wanted)

    def require_length(self, needed: Value, given: int, mask: Mask, instruction: Instruction) -> None:
        """Leave the function where a payload asks for more registers than its message has."""
        self._refuse(needed > self.state.b.const(given, types.UD), mask, cx.LENGTH, needed, given)

    def _refuse(self, wrong: Value, mask: Mask, kind: int, found: Value, wanted: int) -> None:
        b = self.state.b
        some = b.any(wrong if mask is True else mask & wrong)
        self.exits.leave_if(some, kind, b.cast(found, types.UQ).text, str(wanted), lambda: ("0", 0, 0, "0"))

    def symbol_address(self, instruction: Instruction) -> int | None:
        """Address of the function or data symbol that faddr names; None if it is not defined."""
        return self.state.dispatch.image.symbol_address(self.function, instruction.args["name"])

    def cannot(self, text: str, instruction: Instruction | None = None) -> CannotExecute:
        """The reference engine says what cannot be executed."""
        return CannotExecute(text)

    def decoded(self, instruction: Instruction, prepare: Callable[[int], Step]) -> Step:
        """The reference engine decodes descriptors when messages are sent."""
        raise Unsupported("a message whose descriptor is known when it is sent")

    # -- memory --------------------------------------------------------------------------------------------

    def _tell(self, access: LoweredAccess) -> None:
        for tell in self.accessed:
            tell(self.state.event, access)

    def load(
        self, space: MemorySpace, address: Value, data_type: DataType, mask: Mask, instruction: Instruction
    ) -> Value:
        """One element for each lane."""
        return self.load_elements(space, address, data_type, 1, mask, instruction)[0]

    def store(self, space: MemorySpace, address: Value, value: Value, mask: Mask, instruction: Instruction) -> None:
        """One element of each lane."""
        self.store_elements(space, address, [value], mask, instruction)

    def load_elements(
        self, space: MemorySpace, address: Value, data_type: DataType, count: int, mask: Mask, instruction: Instruction
    ) -> list[Value]:
        """Consecutive elements for each lane."""
        access = self.texels if space.checked_elsewhere else self.access
        found = access.load(space, address, data_type, mask, count)
        self._tell(LoweredAccess(space, address, count * data_type.size, mask, "read"))
        return found

    def store_elements(
        self, space: MemorySpace, address: Value, values: list[Value], mask: Mask, instruction: Instruction
    ) -> None:
        """Consecutive elements of each lane."""
        access = self.texels if space.checked_elsewhere else self.access
        access.store(space, address, values, mask)
        self._tell(LoweredAccess(space, address, sum(v.type.size for v in values), mask, "write"))

    def mapped(self, space: MemorySpace, address: Value, size: int, mask: Mask) -> Mask:
        """The lanes of a mask that could read so many bytes at their address."""
        return self.access.mapped(space, address, size, mask)

    def atomic(
        self,
        space: MemorySpace,
        op: str,
        address: Value,
        data_type: DataType,
        sources: list[Value],
        mask: Mask,
        instruction: Instruction,
    ) -> Value:
        """Atomic operations in lane order; gives the old values."""
        args = instruction.args
        operation = AtomicOperation(op, data_type, sources, wanted=args["dst"].var != 0)
        found = self.access.atomic(space, address, operation, mask, args["exec"].size)
        self._tell(LoweredAccess(space, address, data_type.size, mask, "atomic"))
        return found

    # -- images --------------------------------------------------------------------------------------------

    def with_image(
        self,
        image: ImageNumber,
        mask: Mask,
        instruction: Instruction,
        act: Callable[[ImageView, Mask], list[Value]],
    ) -> list[Value]:
        """What ``act`` gives for the image that the thread finds."""
        return self.images.with_image(image, lambda view: act(view, mask))

    def with_sampler(
        self,
        image: ImageNumber,
        sampler: Value,
        mask: Mask,
        instruction: Instruction,
        act: Callable[[ImageView, SamplerState, Mask], list[Value]],
    ) -> list[Value]:
        """The same with the state of a sampler."""
        return self.images.with_sampler(image, sampler, lambda view, state: act(view, state, mask))
