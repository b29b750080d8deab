"""Lane independence: whether it makes a difference which lanes, and which threads, run which work-items of a group.

In most kernels it makes none: the work of a work-item depends on its local ids and on values that are equal for all.
Then an engine may assign work-items along another axis, so that lanes that lay down the columns of a matrix lie along
its rows. The proof shows that each lane computes the result that it would compute alone in its thread:

* Every byte of a register belongs to one lane, or is equal for all. No lane reads a byte of another lane, no
  instruction depends on the number of the lane or thread, and all lanes run the same program (``symmetry.py``).
* Writes that ignore the execution mask (scalars, blocks, NoMask) are read only where all reading lanes executed the
  write. Otherwise lanes of the other side of a branch would see them, too.

Example: with 16 lanes, ``add (M1, 16) V1(0,0)<1> V2(0,0)<1;1,0> V3(0,0)<0;1,0>`` gives byte 4i of V1 to lane i, if that
byte of V2 is lane i's and V3 is a scalar. ``mov (M1, 16) V1(0,0)<1> V2(0,1)<1;1,0>`` gives lanes the values of their
neighbours, and so does a sum over ``V2(0,0)<8;8,1>`` and ``V2(0,8)<8;8,1>``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from visakit.isa.enums import LSC_ORDERS, LSC_SFIDS
from visakit.isa.record import Access, Flow, Payload, Rule
from visakit.language import types
from visakit.language.operands import (
    SCALAR,
    SURFACE,
    Address,
    General,
    Immediate,
    Indirect,
    Predicate,
    Raw,
    State,
    VectorOperand,
    region_elements,
)
from visakit.language.program import FIRST_VARIABLE, SCRATCH, SLM, Function, Instruction
from visakit.rules.message_sizes import DATA, element_size, message_sizes
from vsim.analysis.arrays.lane_writes import LaneWrites
from vsim.analysis.arrays.private_arrays import Dependent, PrivateArrays
from vsim.analysis.control_flow import ControlFlow, control_flow
from vsim.analysis.dominators import Dominators, Graph
from vsim.analysis.lanes.symmetry import EVERY, Byte, LaneStep, Place, Symmetry, Touch, by_lane
from vsim.analysis.uniformity import is_lanewise, takes_one_way, uniform_predicates
from vsim.launch.threads import GROUP_ID, R0
from vsim.semantics.core import BY_LANE
from vsim.semantics.operands import indirect_elements
from vsim.semantics.products import halves, is_wide_product
from vsim.semantics.registers import CR0, NULL, layout_of, takes_address

MOST_INSTRUCTIONS = 1000
"""Of a kernel for which a proof is tried: it takes about 0.1 ms for each."""
_FLOWS = (Flow.NEXT, Flow.LABEL, Flow.GOTO, Flow.JUMP, Flow.RETURN, Flow.END)
_GROUPS = frozenset([*range(4, 8), *range(24, 32)])
"""The bytes of %r0 that say which work-group it is."""


def is_independent(kernel: Function, grf_size: int, simd: int, ids: range, row: int) -> bool:
    """Whether the work-items of a group may be given to its lanes in any order.

    Args:
        ids: bytes of the thread payload that hold local ids.
        row: bytes of the ids of one dimension.
    """
    try:
        _Proof(kernel, grf_size, simd).run(ids, row)
    except Dependent:
        return False
    return True


class _Proof:
    """The proof for one kernel; it raises :class:`Dependent` where it fails, also when it is made."""

    def __init__(self, kernel: Function, grf_size: int, simd: int) -> None:
        self.kernel, self.grf_size, self.simd = kernel, grf_size, simd
        self.layout = layout_of(kernel, grf_size)
        self.uniform = uniform_predicates(kernel)
        self.owners: dict[Place, dict[int, int]] = {}
        """Of each byte the lane that it belongs to."""
        self.images: dict[Byte, Byte] = {}
        """Of each byte of a local id, or of an array that is indexed, that of lane 0."""
        self.flow = control_flow(kernel)
        if len(kernel.instructions) > MOST_INSTRUCTIONS:
            raise Dependent
        if self.flow.subroutines or any(i.desc.flow not in _FLOWS for i in kernel.instructions):
            raise Dependent
        self.arrays = PrivateArrays(kernel, self.layout, self.flow, simd)

    def run(self, ids: range, row: int) -> None:
        """Prove it."""
        kernel, flow = self.kernel, self.flow
        self._inputs(ids, row)
        touches = [list(self._touches(pc)) for pc in range(len(kernel.instructions))]
        for touch in (t for found in touches for t in found if t.writes):
            self._own(touch)
        for touch in (t for found in touches for t in found if not t.writes):
            self._see(touch)
        steps = [LaneStep(i, by_lane(found)) for i, found in zip(kernel.instructions, touches, strict=True)]
        blocks = [[step for step in steps[start:end] if step.touches] for start, end in flow.blocks()]
        if not Symmetry(kernel, self.layout, self.owners, self.images, self.arrays.row).holds(blocks, self.simd):
            raise Dependent
        self._unmasked(flow, touches)

    # -- whose bytes they are ------------------------------------------------------------------------------

    def _inputs(self, ids: range, row: int) -> None:
        payload: dict[int, Byte] = {}
        for i in self.kernel.inputs:
            if i.variable_class == 0 and i.index >= FIRST_VARIABLE:
                root, start = self.layout.root(i.index)
                payload |= {i.offset + byte: (("V", root), start + byte) for byte in range(i.size)}
        for offset, (place, byte) in payload.items():
            lane = (offset - ids.start) % row // 2 if offset in ids else EVERY
            self._own(Touch(place, byte, 1, lane, True))
            if lane != EVERY:
                self.images[place, byte] = payload.get(offset - 2 * lane, (place, byte))
        size = self.arrays.row // self.simd
        for root in self.layout.file_offsets if size else ():
            for byte in range(self.layout.room(root)):
                lane = self.arrays.owner(byte)
                self._own(Touch(("V", root), byte, 1, lane, True))
                self.images[("V", root), byte] = ("V", root), byte - lane * size

    def _own(self, touch: Touch) -> None:
        """The bytes that are written belong to the lane that writes them."""
        owners = self.owners.setdefault(touch.place, {})
        for byte in range(touch.low, touch.low + touch.size):
            if owners.setdefault(byte, touch.lane) != touch.lane:
                raise Dependent

    def _see(self, touch: Touch) -> None:
        """Check that bytes belong to the lane that reads them, or to all; bytes without an owner are zero."""
        owners = self.owners.get(touch.place, {})
        for byte in range(touch.low, touch.low + touch.size):
            if owners.get(byte, EVERY) not in (EVERY, touch.lane):
                raise Dependent

    # -- what instructions touch ---------------------------------------------------------------------------

    def _touches(self, pc: int) -> Iterator[Touch]:
        i = self.kernel.instructions[pc]
        desc, args = i.desc, i.args
        if pc in self.arrays.writes:
            yield from self._lane_writes(self.arrays.writes[pc])
        if desc.is_directive or pc in self.arrays.left_out:
            return
        execution, predicate = args.get("exec"), args.get("pred")
        count = execution.size if execution is not None else 1
        first = EVERY if execution is None or count == 1 else execution.offset
        if predicate is not None:
            yield from self._control(i, first, count)
        if desc.flow is not Flow.NEXT:
            return
        if desc.access is not Access.NONE:
            yield from self._message(i, first, count)
            return
        if not _is_by_lane(i, count):
            raise Dependent
        for op, writes in _vectors(i, self.grf_size, takes_address(self.kernel, i)):
            yield from self._vector(op, first, count, writes)

    def _lane_writes(self, writes: LaneWrites) -> Iterator[Touch]:
        """The source of writes of one lane each, and the addresses."""
        yield from self._vector(writes.source, writes.execution.offset, writes.execution.size, False)
        yield from self._addresses(writes.target.var, writes.execution.offset, writes.elements, writes=False)

    def _control(self, i: Instruction, first: int, count: int) -> Iterator[Touch]:
        """The predicate of an instruction."""
        predicate = i.args["pred"]
        whole = predicate.var in self.uniform
        if i.desc.writes_predicate or (not whole and (predicate.mode or count == 1)):
            raise Dependent
        yield from self._vector(Predicate(predicate.var), first, count, False)

    def _vector(self, op: VectorOperand, first: int, count: int, writes: bool) -> Iterator[Touch]:
        """The elements of a vector operand."""
        lanes = [EVERY] * count if first == EVERY else range(first, first + count)
        if isinstance(op, Immediate):
            if op.type.kind == types.VECTOR and count > 1:
                raise Dependent
        elif isinstance(op, General):
            root, begin, size = self.layout.place(op)
            for lane, element in zip(lanes, region_elements(op.region, count), strict=True):
                yield from self._variable(root, begin + element * size, size, lane, writes)
        elif isinstance(op, Predicate):
            same = op.var in self.uniform
            if first == EVERY and not writes and not same:
                raise Dependent  # the bits of all lanes
            for n, lane in enumerate(lanes):
                yield Touch(("P", op.var), max(first, 0) + n, 1, EVERY if same else lane, writes)
        elif isinstance(op, Address) and writes:
            yield from self._addresses(op.var, first, range(op.offset, op.offset + count), writes=True)
        elif isinstance(op, Indirect):
            yield from self._addresses(op.var, first, indirect_elements(op, count)[0], writes=False)
        elif isinstance(op, State):
            yield Touch(("S", op.kind << 16 | op.var), op.offset, 1, EVERY, writes)
        else:
            raise Dependent

    @staticmethod
    def _addresses(var: int, first: int, elements: Iterable[int], writes: bool) -> Iterator[Touch]:
        """The elements of an address variable for lanes; each leads to the lane's own elements of an array."""
        for lane, element in enumerate(elements, first):
            yield Touch(("A", var), element, 1, lane, writes)

    def _variable(self, root: int, low: int, size: int, lane: int, writes: bool) -> Iterator[Touch]:
        """Bytes of a general variable; of a predefined one only bytes that are equal in all threads of a group."""
        if root == NULL:
            return
        known = root >= FIRST_VARIABLE or root == CR0
        group = root in range(GROUP_ID, GROUP_ID + 3) or (root == R0 and _GROUPS.issuperset(range(low, low + size)))
        if not known and (writes or not group):
            raise Dependent
        yield Touch(("V", root), low, size, lane, writes)

    def _message(self, i: Instruction, first: int, count: int) -> Iterator[Touch]:
        """The operands of a load or store of memory that others than the group's threads have, too."""
        self._check_message(i, count)
        sizes = message_sizes(i, self.grf_size)
        for f in i.desc.fields:
            value = i.args.get(f.name)
            if f.kind == "T" and isinstance(value, int):
                yield Touch(("S", SURFACE << 16 | value), 0, 1, EVERY, False)
            elif f.kind == "s" and value is not None:
                yield from self._vector(value, EVERY, 1, False)
            elif f.kind in "rw" and isinstance(value, Raw) and value.var != NULL:
                if f.name not in sizes:
                    raise Dependent
                total, writes = sizes[f.name], f.kind == "w"
                if first == EVERY:
                    root, start = self.layout.root(value.var)
                    yield from self._variable(root, start + value.offset, total, EVERY, writes)
                else:
                    size = element_size(i) if f.name in DATA else total // count
                    yield from self._payload(value, total, size, first, count, writes)

    @staticmethod
    def _check_message(i: Instruction, count: int) -> None:
        """Refuse atomics, messages that depend on the order or number of lanes, and memory of the group's threads."""
        desc, args = i.desc, i.args
        block = desc.payload is Payload.OWORDS or args.get("order") == LSC_ORDERS["t"]
        if desc.access is Access.ATOMIC or (block and desc.access is Access.STORE):
            raise Dependent
        if not (block or desc.semantics in BY_LANE) or (block and count > 1):
            raise Dependent
        if args.get("surface") in (SLM, SCRATCH) or args.get("sfid") == LSC_SFIDS["slm"]:
            raise Dependent

    def _payload(self, raw: Raw, total: int, size: int, first: int, count: int, writes: bool) -> Iterator[Touch]:
        """A message operand: parts of an element for each lane, on register boundaries."""
        root, start = self.layout.root(raw.var)
        begin = start + raw.offset
        part = -(-count * size // self.grf_size) * self.grf_size
        for low in range(begin, begin + total, part):
            for n in range(count):
                yield from self._variable(root, low + n * size, size, first + n, writes)

    # -- writes that ignore the execution mask -------------------------------------------------------------

    def _unmasked(self, flow: ControlFlow, touches: list[list[Touch]]) -> None:
        """Check that all lanes that read an unmasked write have executed it."""
        divergence = _Divergence(flow, self.uniform, self.simd)
        found = _Blocks({}, {}, {})
        for start, end in flow.blocks():
            restored = ("V", CR0) if self._restores_control(range(start, end), touches) else None
            for pc in range(start, end):
                instruction, own = self.kernel.instructions[pc], [t for t in touches[pc] if t.place != restored]
                if divergence.sides[start] and not self._may_diverge(instruction, own):
                    raise Dependent
                found.note(start, instruction, own)
        for place, blocks in found.unmasked.items():
            for read, its_bytes in found.reads.get(place, {}).items():
                renewed = {n for n, written in found.whole.get(place, {}).items() if n != read and its_bytes <= written}
                if not all(divergence.leads_on(written, read, renewed) for written in blocks):
                    raise Dependent

    def _restores_control(self, block: range, touches: list[list[Touch]]) -> bool:
        """Whether a block leaves %cr0 as it was: it flips the same bits an even number of times."""
        changes = [pc for pc in block if any(t.writes and t.place == ("V", CR0) for t in touches[pc])]
        flips = [self.kernel.instructions[pc] for pc in changes]
        whole = General(CR0, 0, 0, SCALAR)
        return len(flips) % 2 == 0 and all(
            i.desc.semantics == "xor"
            and i.args == flips[0].args
            and _is_unmasked(i)
            and i.args.get("pred") is None
            and i.args["src0"] == whole
            and isinstance(i.args["src1"], Immediate)
            for i in flips
        )

    @staticmethod
    def _may_diverge(i: Instruction, touches: list[Touch]) -> bool:
        """Whether an instruction may stand where some lanes are, and others are not."""
        execution, writes = i.args.get("exec"), {t.place for t in touches if t.writes}
        effect = writes or i.desc.access is not Access.NONE
        if execution is not None and execution.size == 1 and not execution.no_mask and effect:
            return False  # only if lane 0 is there
        if i.desc.access is not Access.NONE and execution is not None and execution.size > 1 and execution.no_mask:
            return False  # lanes would access memory that are not there
        return ("V", CR0) not in writes  # which every computation reads


class _Blocks(NamedTuple):
    """What blocks do to registers."""

    unmasked: dict[Place, set[int]]
    """The blocks that write a register whatever lanes run."""
    reads: dict[Place, dict[int, set[int]]]
    """By register and block the bytes that are read before they are written there."""
    whole: dict[Place, dict[int, set[int]]]
    """By register and block the bytes that are written there."""

    def note(self, block: int, instruction: Instruction, touches: list[Touch]) -> None:
        """An instruction of a block, which are noted in their order."""
        for t in touches:
            new = set(range(t.low, t.low + t.size)) - self.whole.get(t.place, {}).get(block, set())
            if not t.writes and new:
                self.reads.setdefault(t.place, {}).setdefault(block, set()).update(new)
        for t in touches:
            if t.writes and _is_unmasked(instruction):
                self.unmasked.setdefault(t.place, set()).add(block)
            if t.writes and (instruction.args.get("pred") is None or Rule.SELECTS in instruction.desc.rules):
                self.whole.setdefault(t.place, {}).setdefault(block, set()).update(range(t.low, t.low + t.size))


def _is_by_lane(i: Instruction, count: int) -> bool:
    """Whether lanes of an instruction compute what their own operands say; ``count``: how many there are."""
    moves = i.desc.moves_states and count == 1
    return (moves or is_lanewise(i)) and not any(f.kind in "rw" for f in i.desc.fields)


def _vectors(i: Instruction, grf_size: int, register: General | None) -> Iterator[tuple[VectorOperand, bool]]:
    """The vector operands of an instruction, and whether it writes them.

    Args:
        register: the one whose address the instruction takes; it is not read.
    """
    for f in i.desc.fields:
        if f.kind in "ds" and f.name and i.args[f.name] is not register:
            yield i.args[f.name], f.kind == "d"
    if is_wide_product(i):
        yield halves(i, grf_size)[1], True


def _is_unmasked(i: Instruction) -> bool:
    """Whether an instruction takes effect whatever lanes run."""
    execution = i.args.get("exec")
    return execution is None or execution.no_mask or execution.size == 1


class _Divergence:
    """On which sides of the branches where lanes part the blocks of a kernel lie."""

    def __init__(self, flow: ControlFlow, uniform: frozenset[int], simd: int) -> None:
        self.sides: dict[int, dict[int, set[int]]] = {start: {} for start in flow.starts}
        """For each block the branches on whose sides it lies, with the numbers of these."""
        ends = {start: end - 1 for start, end in flow.blocks()}
        graph: Graph = {start: set(flow.successors(last, simd)) or {flow.end} for start, last in ends.items()}
        graph[flow.end] = set()
        self.graph = graph
        back: Graph = {start: set() for start in graph}
        for start, following in graph.items():
            for other in following:
                back[other].add(start)
        postdominators = Dominators(back, flow.end)
        for start, last in ends.items():
            branch = flow.function.instructions[last]
            if start not in postdominators.first:
                raise Dependent  # a loop without an end
            if not branch.desc.flow.is_terminator or takes_one_way(branch, uniform, simd):
                continue
            for side, edge in enumerate(sorted(graph[start])):
                for block in _before_reconvergence(graph, postdominators, start, edge):
                    self.sides[block].setdefault(start, set()).add(side)

    def leads_on(self, block: int, other: int, renewed: set[int]) -> bool:
        """Whether all lanes that are in another block were in one block whenever it ran on the way there.

        Args:
            renewed: blocks behind which it does not matter any more what ran before them.
        """
        mine, others = self.sides[block], self.sides[other]
        return all(
            len(sides) == 1 and others.get(branch) == sides and not self._comes_back(branch, sides, other, renewed)
            for branch, sides in mine.items()
        )

    def _comes_back(self, branch: int, sides: set[int], other: int, renewed: set[int]) -> bool:
        """Whether lanes of another side of a branch come back to it in a loop and reach another block along this side,
        without passing certain blocks.
        """
        edges = sorted(self.graph[branch])
        back = self._reached([edge for side, edge in enumerate(edges) if side not in sides], renewed)
        return branch in back and other in self._reached([edges[side] for side in sides], renewed)

    def _reached(self, first: list[int], renewed: set[int]) -> set[int]:
        """The blocks to which some lead without passing certain others."""
        found, todo = set[int](), first
        while todo:
            block = todo.pop()
            if block not in found and block not in renewed:
                found.add(block)
                todo += self.graph[block]
        return found


def _before_reconvergence(graph: Graph, postdominators: Dominators, branch: int, first: int) -> set[int]:
    """The blocks from one on in front of where all lanes meet again that a branch has parted."""
    found, todo = set[int](), [first]
    while todo:
        block = todo.pop()
        if block not in found and (block == branch or not postdominators.dominates(block, branch)):
            found.add(block)
            todo += graph[block]
    return found
