"""What the parts that lower one function share: its analyses, the builder, its registers, and the place that is lowered
now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from visakit.language import types
from visakit.language.operands import Execution
from visakit.language.program import Function, Instruction
from visakit.language.types import DataType
from vsim.analysis.arrays.lane_writes import LaneWrites, lane_writes
from vsim.analysis.control_flow import ControlFlow, control_flow
from vsim.analysis.if_conversion import masked_gotos, private_loads
from vsim.analysis.induction import induction_variables
from vsim.analysis.lockstep import lockstep_loops
from vsim.analysis.read_only_loops import read_only_loops
from vsim.analysis.reconvergence import reconvergence
from vsim.analysis.register_accesses import Accesses
from vsim.analysis.short_loops import short_loops
from vsim.analysis.spin_loops import spin_branches
from vsim.analysis.split_instructions import SplitInstructions
from vsim.analysis.uniformity import uniform_predicates
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.emitter import GROUP, LAUNCH
from vsim.engines.llvm.ir.rounded import has_many
from vsim.engines.llvm.ir.types import MASK, ir_type
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.lower.affine_registers import AffineRegisters, Places
from vsim.engines.llvm.lower.denormal_registers import DenormalRegisters
from vsim.engines.llvm.lower.lockstep_registers import LockstepRegisters
from vsim.engines.llvm.lower.module import ModuleState
from vsim.engines.llvm.lower.registers import Registers
from vsim.engines.llvm.lower.storage import Key, Storage
from vsim.engines.llvm.memory.common_buffer import MOST_IN_LOOP
from vsim.engines.llvm.memory.induction import InductionVariables
from vsim.engines.llvm.memory.stream_prefetch import StreamPrefetcher
from vsim.engines.llvm.memory.traits import AccessTraits
from vsim.engines.llvm.target import vector_bits
from vsim.launch.threads import private_variables
from vsim.observe.observer import Event
from vsim.semantics.registers import layout_of

ENTRY = -1
"""The block in front of all others, in which a function's inputs go into registers."""


@dataclass
class Position:
    """The place that is lowered: an instruction in a block."""

    block: int
    running: Mask
    """The lanes that run; True where the block is converged and every thread is full."""
    converged: bool
    pc: int = 0
    execution: Execution | None = None
    """Exec size and mask of the instruction, where it has them."""
    left: bool = False
    """Whether an instruction has ended the block."""
    running_parts: dict[tuple[int, int], Value] = field(default_factory=dict)
    """Parts of the running lanes by first lane and size."""
    sources: dict[int, Value] = field(default_factory=dict)
    """What the instruction has read of registers that faults show, by number (``fault_sources.py``)."""
    around: Position | None = None
    """The nearest block in which all lanes of this one ran when it was run last."""
    whole: Position | None = None
    """Where some lanes wait for others in the block: the place with all lanes that run in the block."""


class FunctionState:
    """The analyses of a function and its emitted code."""

    def __init__(self, module: ModuleState, function: Function, one_way: frozenset[int] = frozenset()) -> None:
        self.module, self.function, self.dispatch = module, function, module.dispatch
        self.one_way = one_way
        """Branches that an earlier emission saw all running lanes take, or none."""
        self.is_kernel = function.is_kernel
        self.lanes = self.dispatch.lanes if self.is_kernel else function.lanes
        """Lanes of a thread in this function."""
        self.jump_lanes = function.jump_lanes if function.is_cm else self.lanes
        self.layout = layout_of(function, self.dispatch.grf_size)
        self.is_coroutine = module.can_wait(function)
        if self.dispatch.image.register_overrun:
            self.layout.allow_overrun()
        self.accesses = Accesses(function, self.layout.copy())
        self.flow = self._control_flow()
        self.uniform = uniform_predicates(function)
        self.reconvergence = reconvergence(self.flow, self.uniform, self.jump_lanes, self.is_kernel, one_way)
        calls = any(i.desc.flow.calls_function for i in function.instructions)
        self.shares = calls or bool(self.flow.recursive) or not self.is_kernel
        """Whether calls are counted, and predefined variables are in the block that functions of a thread share."""
        self.spin_branches = frozenset[int]()
        """Branches back in loops that wait for other threads, where threads take turns."""
        if self.is_coroutine and module.takes_turns:
            self.spin_branches = spin_branches(self.flow, self.layout)
        straight = len(self.flow.starts) == 1 and not self.block_successors(self.flow.end)
        self.is_straight = straight or not self.flow.starts  # a function without instructions has no block
        self.b = Builder(module.declarations, self.dispatch.exact, module.takes_zeros)
        self.b.calls_functions = has_many(function.instructions)
        self.b.follows_carries = any(i.desc.semantics == "addc" for i in function.instructions)
        self.b.follows_divisions = any(i.desc.semantics == "inv" for i in function.instructions)
        self.storage = Storage(self.b, function, self.layout, self.shares)
        self.lockstep = LockstepRegisters(self.b, self.storage, self.lanes, ())
        self.registers = self._registers(None, None)
        self.at = Position(ENTRY, True, self.is_kernel)
        watched = module.takes_turns or bool(self.dispatch.checks)  # Checks see each access where it happens.
        loops = {} if watched else read_only_loops(self.flow, self.layout)
        inductions = InductionVariables(self.b, induction_variables(self.flow, self.layout, loops))
        self.lane_writes: dict[int, LaneWrites] = {}
        """Writes of one lane each that are one of all lanes, by the first one's number."""
        self.instructions, self.left_out = self._put_together(frozenset(v.pc for v in inductions.variables))
        self.prefetcher = StreamPrefetcher(self.b, loops, lambda: self.at.pc, inductions)
        self.around: list[Position] = []
        """Blocks before this place that may enclose later ones; the nearest comes last."""
        self.alike: set[int] = set()
        """Predicates that an instruction gave one bit for all lanes that run."""
        self.cold: list[str] = []
        """Lines off the hot path, which follow all others."""

    def _control_flow(self) -> ControlFlow:
        """The control flow of the function, without the branches that become masks."""
        found = control_flow(self.function)
        if self.dispatch.checks or self.module.takes_turns:
            return found
        masked = masked_gotos(found, self.jump_lanes, vector_bits() // 8, self._private_loads())
        return control_flow(self.function, masked) if masked else found

    def _private_loads(self) -> frozenset[int]:
        """The loads from private memory, of a kernel."""
        own = private_variables(self.dispatch) if self.is_kernel else []
        return private_loads(self.accesses, own) if own else frozenset()

    def _put_together(self, inductions: frozenset[int]) -> tuple[Sequence[Instruction], Set[int]]:
        """The instructions of the function, with those together that are halves of one, and which are left out then."""
        if self.dispatch.checks or any(self.dispatch.observed):
            return self.function.instructions, frozenset()
        atomics = not self.dispatch.takes_turns
        split = SplitInstructions(self.function, self.layout, self.accesses, self.lanes, inductions, atomics)
        split.join(self.flow.blocks())
        self.lane_writes = {w.first: w for w in lane_writes(self.function, self.layout, self.flow.blocks())}
        others = (pc for writes in self.lane_writes.values() for pc in writes.instructions[1:])
        return split.instructions, split.left_out.union(others)

    def _registers(self, shapes: Mapping[Key, Places] | None, results: Mapping[Key, DataType] | None) -> Registers:
        affine = AffineRegisters(self.b, self.storage, shapes, self.lockstep)
        return Registers(self.b, self.storage, self.lanes, affine, DenormalRegisters(self.b, self.storage, results))

    def find_lockstep(self) -> bool:
        """Find the lockstep registers after the first emission, which tells of writers; whether there are any."""
        if self.dispatch.checks or self.module.takes_turns or not self.is_kernel or self.function.is_cm:
            return False
        flow = control_flow(self.function)
        loops = lockstep_loops(flow, self.layout, self.lanes, self.registers.writers)
        self.lockstep = LockstepRegisters(self.b, self.storage, self.lanes, loops)
        return bool(loops)

    def begin(
        self,
        extents: Mapping[Key, int],
        shapes: Mapping[Key, Places] | None,
        results: Mapping[Key, DataType] | None,
    ) -> None:
        """Begin an emission of the function; extents and shapes of its registers, and which of them hold results of
        floats alone, if that is known.
        """
        if self.is_kernel and not self.is_coroutine:
            self.b.begin("begin", {"%ctx": LAUNCH, "%worker": LAUNCH, "%variant": LAUNCH, "%group_x": GROUP})
        else:
            self.b.begin("started" if self.is_coroutine else "entry")
        self.storage.begin(extents)
        self.prefetcher.begin(self.registers.writers)
        self.registers = self._registers(shapes, results)
        self.around = []
        self.cold = []

    @property
    def event(self) -> Event:
        """The instruction that is lowered, for observers."""
        return Event(self.function, self.at.pc)

    @property
    def access_traits(self) -> AccessTraits:
        """The properties that the code of accesses depends on."""
        dispatch, size = self.dispatch, len(self.function.instructions)
        traits = dispatch.separates_writes, size, self.module.row, self.is_straight
        is_alone = dispatch.needs_order and not dispatch.signature.summary.spins
        short = short_loops(self.flow, MOST_IN_LOOP // self.lanes)
        return AccessTraits(*traits, is_alone, short, self.is_kernel and self.module.knows_straying)

    @property
    def mask_ir(self) -> str:
        """The LLVM type of a mask of all lanes."""
        return ir_type(MASK, self.lanes)

    def block_successors(self, end: int) -> set[int]:
        """Blocks at which control can be after a block that ends in front of an instruction.

        A thread without running lanes continues at the next reconvergence point; a return from a subroutine
        leads behind its calls.
        """
        flow, last = self.flow, end - 1
        found = set(flow.successors(last, self.jump_lanes))
        if self.function.instructions[last].desc.flow.ends_lanes:
            found.update(flow.return_sites.get(flow.subroutine_of(last), ()))
        following = self.reconvergence.next_point(last)
        if following is not None:
            found.add(following)
        return {f for f in found if f < flow.end}

    @property
    def thread(self) -> str:
        """The number of the thread in its group."""
        return "%thread" if self.is_kernel else self.b.field("%shared", cx.SHARED_THREAD)

    def group_id(self, axis: int) -> Value:
        """The work-group's id along an axis."""
        if axis == self.module.transposed:
            return Value(self.b, types.UQ, 1, "%group_x")
        return self.b.argument(types.UQ, "%worker", cx.WORKER_GROUP + 8 * axis)

    def mask_value(self, text: str) -> Value:
        """A mask of all lanes by its SSA name."""
        return Value(self.b, MASK, self.lanes, text)
