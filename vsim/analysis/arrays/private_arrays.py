"""Private arrays in registers: whether each lane reaches its own elements of them, and no other lane's.

Compilers keep row n of an array in elements ``n * lanes`` to ``n * lanes + lanes - 1`` of a variable, one for each
lane, and compute the address of a lane's element from a multiple of a row and a number of the lane alone::

    mul (M1, 8) V1(0,0)<1> V2(0,0)<2;1,0> 0x20:uw            // rows of eight dwords
    mov (M1_NM, 8) V3(0,0)<1> 0x76543210:v                   // the numbers of lanes
    mul (M1_NM, 8) V4(0,0)<1> V3(0,0)<1;1,0> 0x4:uw
    add (M1, 8) V5(0,0)<1> V1(0,0)<1;1,0> V4(0,0)<1;1,0>
    addr_add (M1, 8) A0(0)<1> &V6 V5(0,0)<1;1,0>
    mov (M1, 8) V7(0,0)<1> r[A0(0),0]<1,0>:d

An address is followed back in its block. What depends on the lane's number may serve for addresses alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import gcd
from typing import NamedTuple

from visakit.language import types
from visakit.language.operands import Address, General, Immediate, Indirect, Predicate, Raw, region_elements
from visakit.language.program import Function, Instruction
from vsim.analysis.arrays.lane_writes import LaneWrites, lane_writes
from vsim.analysis.control_flow import ControlFlow
from vsim.semantics.operands import indirect_elements
from vsim.semantics.products import halves, is_wide_product
from vsim.semantics.registers import Layout, takes_address

_LARGEST_STEP = 1 << 16
"""Addresses are words."""
Element = tuple[str, int, int, int]
"""An element of a register: the kind of its variable, the root variable, its first byte and its bytes."""


class Dependent(Exception):
    """It may make a difference which lanes run which work-items."""


class _Number(NamedTuple):
    """A number in a lane: a multiple of ``step``, which does not depend on the lane's place in its thread, plus a
    constant, which may. With the step 0 it is the constant; ``lane`` is the last one that had a part in it.
    """

    step: int
    constant: int
    lane: int


@dataclass
class PrivateArrays:
    """The private arrays of a kernel.

    Raises:
        Dependent: it is not proved that lanes keep to their own elements.
    """

    kernel: Function
    layout: Layout
    flow: ControlFlow
    simd: int
    writes: dict[int, LaneWrites] = field(default_factory=dict)
    """Writes of one lane each, by the first one's number."""
    left_out: set[int] = field(default_factory=set)
    """Instructions that belong to writes of one lane each, and instructions that compute the numbers of lanes."""
    row: int = 0
    """Bytes of a row of elements; 0 if nothing reaches registers by address."""
    _results: dict[int, list[_Number]] = field(default_factory=dict)
    """What instructions compute for addresses, by number and lane."""
    _unknown: set[tuple[str, int, int]] = field(default_factory=set)
    """Bytes that the addresses depend on in a way which is not known."""

    def __post_init__(self) -> None:
        if not (self.layout.file_offsets or self.layout.has_indirect):
            return
        for writes in lane_writes(self.kernel, self.layout, self.flow.blocks()):
            self.writes[writes.first] = writes
            self.left_out |= set(range(writes.first - 1, writes.instructions[-1] + 1))
        for start, end in self.flow.blocks():
            for pc in range(start, end):
                for op, elements, added in self._accesses(pc):
                    self._reach(range(start, pc), pc, op, elements, added)
        if len({at % self.row for at in self.layout.file_offsets.values()} if self.row else ()) > 1:
            raise Dependent  # an address that leaves its variable may reach another lane's element of the next one
        self._keep_numbers()

    def owner(self, byte: int) -> int:
        """The lane to which a byte of a variable in the register file belongs."""
        return byte % self.row // (self.row // self.simd)

    def touched(self, op: Indirect) -> int:
        """A variable whose elements an operand reaches."""
        return min(self.layout.targets[op.var])

    # -- accesses ----------------------------------------------------------------------------------------------

    def _accesses(self, pc: int) -> Iterator[tuple[Indirect, list[int], list[int]]]:
        """The operands of an instruction in the register file; for each lane the element with the address and the bytes
        that are added to it.
        """
        if pc in self.writes:
            op, elements = self.writes[pc].target, self.writes[pc].elements
            yield op, [*elements], [op.offset + k * op.type.size for k in range(len(elements))]
        elif pc not in self.left_out:
            i = self.kernel.instructions[pc]
            for op in i.args.values():
                if isinstance(op, Indirect):
                    yield op, *indirect_elements(op, i.args["exec"].size)

    def _reach(self, before: range, pc: int, op: Indirect, elements: list[int], added: list[int]) -> None:
        """Check that each lane reaches its own elements."""
        execution, size = self.kernel.instructions[pc].args["exec"], op.type.size
        row, rests = self.simd * size, set()
        unmasked = execution.no_mask and self.kernel.instructions[pc].args.get("dst") is op
        known = self.layout.targets.get(op.var, set()) <= self.layout.file_offsets.keys()
        if self.row not in (0, row) or execution.size == 1 or unmasked or not known:
            raise Dependent
        self.row = row
        for lane, (element, more) in enumerate(zip(elements, added, strict=True), execution.offset):
            number = self._element(before, ("A", op.var, element, 1), execution.no_mask)
            if number.step % row or not 0 <= number.constant < row or number.lane > lane:
                raise Dependent
            base = self._base(before, op.var, element)
            rests.add(base + number.constant + more - lane * size)
        if len(rests) != 1 or rests.pop() % row:
            raise Dependent

    def _base(self, before: range, var: int, element: int) -> int:
        """The byte of a variable whose address an element of an address variable was computed from."""
        for pc in reversed(before):
            i = self.kernel.instructions[pc]
            if ("A", var, element, 1) in self._written(pc):
                register = takes_address(self.kernel, i) if i.desc.semantics == "addr_add" else None
                if register is None:
                    break
                return self.layout.place(register)[1]
        raise Dependent

    # -- numbers -----------------------------------------------------------------------------------------------

    def _element(self, before: range, element: Element, all_lanes: bool) -> _Number:
        """What an element has behind the instructions before a place in their block.

        Args:
            all_lanes: whether it is read in lanes that do not run, too.
        """
        kind, root, low, size = element
        for pc in reversed(before if kind == "A" or root not in self.layout.file_offsets else range(0)):
            written = self._written(pc)
            if any(k == kind and r == root and b < low + size and low < b + s for k, r, b, s in written):
                i = self.kernel.instructions[pc]
                certain = i.args.get("pred") is None and (i.args["exec"].no_mask or not all_lanes)
                if certain and element in written and self._computes(i):
                    return self._computed(range(before.start, pc), pc)[written.index(element)]
                break
        self._unknown |= {(kind, root, byte) for byte in range(low, low + size)}
        return _Number(1, 0, 0)

    def _computed(self, before: range, pc: int) -> list[_Number]:
        """What an instruction computes in its lanes."""
        if pc not in self._results:
            i = self.kernel.instructions[pc]
            execution = i.args["exec"]
            whole = execution.offset == 0 and execution.size >= self.simd
            names = ("src1",) if i.desc.semantics == "addr_add" else ("src0", "src1")
            sources = [self._source(before, i, i.args[name], whole) for name in names if name in i.args]
            lanes = range(execution.offset, execution.offset + execution.size)
            combine = _product if i.desc.semantics == "mul" else _sum
            combined = [combine(numbers) for numbers in zip(*sources, strict=True)]
            self._results[pc] = [n._replace(lane=max(n.lane, k)) for n, k in zip(combined, lanes, strict=True)]
        return self._results[pc]

    def _source(self, before: range, i: Instruction, op: object, whole: bool) -> list[_Number]:
        """A source operand in each lane. A constant of an instruction for some of the lanes depends on the lane."""
        count = i.args["exec"].size
        if isinstance(op, Immediate) and op.type.kind == types.VECTOR and op.type.name == "v":
            nibbles = [op.bits >> 4 * k & 15 for k in range(count)] if count <= 8 else []
            if len(nibbles) != count or max(nibbles) > 7:
                raise Dependent
            return [_Number(0, n, 0) for n in nibbles]
        if isinstance(op, Immediate) and op.type.is_element:
            alike = whole and not i.args["exec"].no_mask
            return [_Number(op.bits & -op.bits, 0, 0) if alike else _Number(0, op.bits, 0)] * count
        if not isinstance(op, General) or op.modifier or not self._is_integer(op):
            raise Dependent
        return [self._element(before, element, i.args["exec"].no_mask) for element in self._elements(op, count)]

    def _computes(self, i: Instruction) -> bool:
        """Whether an instruction adds, multiplies or copies integers, without saturation."""
        dst = i.args.get("dst")
        if i.desc.semantics == "addr_add":
            return isinstance(dst, Address) and takes_address(self.kernel, i) is not None
        sums = i.desc.semantics in ("add", "mov", "mul") and not is_wide_product(i)
        return sums and isinstance(dst, General) and not dst.modifier and self._is_integer(dst)

    def _is_integer(self, op: General) -> bool:
        """Whether an operand has integers of at least 16 bits."""
        own = self.kernel.variable_type(op.var)
        return own.kind in (types.UNSIGNED, types.SIGNED) and own.size > 1

    def _written(self, pc: int) -> list[Element]:
        """The elements that an instruction writes, in the order of its lanes."""
        i, found = self.kernel.instructions[pc], list[Element]()
        count = i.args["exec"].size if "exec" in i.args else 1
        for f in i.desc.fields:
            op = i.args.get(f.name) if f.kind in "dw" else None
            if isinstance(op, Address):
                found += [("A", op.var, op.offset + k, 1) for k in range(count)]
            elif isinstance(op, General):
                found += self._elements(op, count)
            elif isinstance(op, Raw):
                root, _ = self.layout.root(op.var)
                found.append(("V", root, 0, self.layout.room(root)))
        if is_wide_product(i) and isinstance(upper := halves(i, self.layout.grf_size)[1], General):
            found += self._elements(upper, count)
        return found

    def _elements(self, op: General, count: int) -> list[Element]:
        root, begin, size = self.layout.place(op)
        return [("V", root, begin + n * size, size) for n in region_elements(op.region, count)]

    def _keep_numbers(self) -> None:
        """Check that nothing but addresses depends on what depends on lanes' numbers, and that lanes write their own
        elements of arrays.
        """
        numbers = {pc for pc, results in self._results.items() if any(n.constant for n in results)}
        marked = {(k, r, b + n) for pc in numbers for k, r, b, s in self._written(pc) for n in range(s)}
        if marked & self._unknown:
            raise Dependent
        for pc, i in enumerate(self.kernel.instructions):
            is_part = pc in self.left_out and pc not in self.writes
            if not is_part and self._is_unmasked_write(pc, i):
                raise Dependent
            if not is_part and pc not in self._results and not marked.isdisjoint(self._read(pc, i)):
                raise Dependent
        self._keep_predicates()
        self.left_out |= {pc for pc in numbers if not any(n.step for n in self._results[pc])}

    def _keep_predicates(self) -> None:
        """Check that the predicates of one lane each serve for their writes alone."""
        code = self.kernel.instructions
        predicates = {code[pc - 1].args["dst"].var for w in self.writes.values() for pc in w.instructions}
        if any(self._uses(i, predicates) for pc, i in enumerate(code) if pc not in self.left_out):
            raise Dependent

    def _is_unmasked_write(self, pc: int, i: Instruction) -> bool:
        """Whether an instruction writes elements of arrays regardless of the execution mask."""
        execution = i.args.get("exec")
        unmasked = execution is not None and (execution.no_mask or execution.size == 1)
        return unmasked and any(r in self.layout.file_offsets for k, r, *_ in self._written(pc) if k == "V")

    @staticmethod
    def _uses(i: Instruction, predicates: set[int]) -> bool:
        """Whether an instruction reads or writes one of some predicates."""
        own = [op.var for op in i.args.values() if isinstance(op, Predicate)]
        control = i.args.get("pred")
        return not predicates.isdisjoint(own) or (control is not None and control.var in predicates)

    def _read(self, pc: int, i: Instruction) -> set[tuple[str, int, int]]:
        """The bytes that an instruction reads."""
        found, count = set(), i.args["exec"].size if "exec" in i.args else 1
        sources: list[object] = [i.args.get(f.name) for f in i.desc.fields if f.kind == "s"]
        sources = [self.writes[pc].source] if pc in self.writes else sources
        for op in sources:
            if isinstance(op, General):
                found |= {
                    ("V", root, low + byte) for _, root, low, size in self._elements(op, count) for byte in range(size)
                }
            elif isinstance(op, Address):
                found |= {("A", op.var, op.offset + k) for k in range(count)}
        for f in i.desc.fields:
            if f.kind == "r" and (op := i.args.get(f.name)):
                root, _ = self.layout.root(op.var)
                found |= {("V", root, byte) for byte in range(self.layout.room(root))}
        return found


def _sum(numbers: tuple[_Number, ...]) -> _Number:
    steps, constants, lanes = zip(*numbers, strict=True)
    return _Number(gcd(*steps), sum(constants), max(lanes))


def _product(numbers: tuple[_Number, ...]) -> _Number:
    one, other = numbers
    lane = max(one.lane, other.lane)
    if not one.step and not other.step:
        return _Number(0, one.constant * other.constant, lane)
    if one.constant or other.constant:
        raise Dependent
    return _Number(gcd(one.step * other.step, _LARGEST_STEP), 0, lane)
