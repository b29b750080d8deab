"""Elements of registers whose values the text of a function determines, found by a walk over its code in order.

A lane knows its results of masked instructions until other lanes join. Where control or lanes come together, elements
stay known whose single writer dominates the place.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import partial, reduce
from typing import NamedTuple

from visakit.isa.record import Access
from visakit.language.operands import CONSECUTIVE, NEG, Address, General, Immediate, Predicate, region_elements
from visakit.language.program import FIRST_VARIABLE, Function, Instruction
from visakit.language.types import VF
from vsim.analysis.register_accesses import Accesses, Bank, Register, bytes_from
from vsim.semantics.core import sources_of
from vsim.semantics.operands import packed_elements
from vsim.semantics.registers import Layout, operand_type, takes_address

_SUMS: dict[str, Callable[..., int]] = {
    "add": operator.add,
    "mul": operator.mul,
    "add3": lambda x, y, z: x + y + z,
    "mad": lambda x, y, z: x * y + z,
}
_SHIFTS = {"shl": operator.lshift, "shr": operator.rshift, "asr": operator.rshift}
_OTHERS = {"mov": int, "sel": int, "and": operator.and_, "or": operator.or_, "xor": operator.xor}
_RELATIONS = (operator.eq, operator.ne, operator.gt, operator.ge, operator.lt, operator.le)
ROOT_BITS = 20
"""A known address is the number of a root variable above so many bits for the byte, to which words are added."""
_ALL = -1


class NotKnown(Exception):
    """The text does not determine it."""


class _Element(NamedTuple):
    """The places and the bits of an element, the lane that knows them, or all, and the instruction that writes them."""

    places: int
    bits: int
    lane: int
    writer: int


class ElementValues:
    """The known elements of registers."""

    def __init__(self, function: Function, layout: Layout) -> None:
        self.function, self.layout, self.accesses = function, layout, Accesses(function, layout)
        self.known: dict[Register, dict[int, _Element]] = {}
        """By the first place of each element."""
        self.often, seen = dict[Register, int](), dict[Register, int]()
        """The places that several instructions write."""
        for a in (a for i in function.instructions for a in self.accesses.of(i) if a.writes):
            self.often[a.register] = self.often.get(a.register, 0) | seen.get(a.register, 0) & a.places
            seen[a.register] = seen.get(a.register, 0) | a.places

    def meet(self, dominates: Callable[[int], bool]) -> None:
        """Forget what may be otherwise on another way.

        Args:
            dominates: whether all ways lead through an instruction.
        """
        sure = {
            n for n in {x.writer for found in self.known.values() for x in found.values()} if n >= 0 and dominates(n)
        }
        for r, found in self.known.items():
            often = self.often.get(r, -1)
            self.known[r] = {at: x for at, x in found.items() if x.writer in sure and not x.places & often}

    def execute(self, i: Instruction, writer: int) -> None:
        """Note what an instruction writes."""
        try:
            results = [*self._results(i, writer)]
        except NotKnown:
            results = []
        for a in (a for a in self.accesses.of(i) if a.writes):
            found = self.known.get(a.register, {})
            self.known[a.register] = {at: x for at, x in found.items() if not x.places & a.places}
        for register, at, x in results:
            self.known[register][at] = x

    def bits(self, register: Register, at: int, size: int, lane: int = _ALL) -> int:
        """An element of a register for a lane, or for all.

        Raises:
            NotKnown: it is not known.
        """
        x = self.known.get(register, {}).get(at)
        if x is None or x.places < bytes_from(at, at + size) or x.lane not in (_ALL, lane):
            raise NotKnown
        return x.bits

    def holds(self, i: Instruction) -> bool:
        """Whether the predicate of an instruction holds in all lanes.

        Raises:
            NotKnown: that is not known, or some differ.
        """
        control, execution = i.args["pred"], i.args["exec"]
        lanes = range(execution.offset, execution.offset + execution.size)
        for_all = execution.no_mask or execution.size == 1
        register = Register(Bank.PREDICATE, control.var)
        found = {self.bits(register, lane, 1, _ALL if for_all else lane) for lane in lanes}
        if len(found) != 1 or control.mode:
            raise NotKnown
        return found != {int(control.inverse)}

    def _element(self, op: object, k: int, lane: int, is_summand: bool) -> int:
        """The integer that an operand has as its k-th element for a lane; summands may be negated."""
        t = operand_type(self.function, op)
        if not isinstance(op, (General, Immediate)) or t.is_float or t is VF:
            raise NotKnown
        if op.modifier and not (op.modifier == NEG and is_summand):
            raise NotKnown
        if isinstance(op, General):
            root, begin, _ = self.layout.place(op)
            found = self.bits(Register(Bank.GENERAL, root), begin + k * t.size, t.size, lane)
        else:
            packed = packed_elements(op)
            found = op.bits if packed is None else int(packed[k % len(packed)])
        found &= (1 << t.bits) - 1
        found -= (1 << t.bits) if t.kind != "unsigned" and found >> (t.bits - 1) else 0
        return -found if op.modifier else found

    def _results(self, i: Instruction, writer: int) -> Iterator[tuple[Register, int, _Element]]:
        """The elements that an instruction writes."""
        name, execution, pred = i.desc.semantics, i.args.get("exec"), i.args.get("pred")
        if execution is None or i.desc.access is not Access.NONE or (pred is None) == (name == "sel"):
            raise NotKnown
        sources = [i.args[source] for source in sources_of(i)]
        register, begin, size, compute = self._operation(i, sources)
        sources = [sources[not self.holds(i)]] if name == "sel" else sources[-1:] if name == "addr_add" else sources
        mask = (1 << 8 * size) - 1 if register.file is Bank.GENERAL else -1
        operands = [i.args["dst"], *sources]
        regions = [op.region if isinstance(op, General) else CONSECUTIVE for op in operands]
        for k, (element, *at) in enumerate(zip(*(region_elements(r, execution.size) for r in regions), strict=True)):
            lane = _ALL if execution.no_mask else execution.offset + k
            x = [self._element(op, n, lane, name in _SUMS) for op, n in zip(sources, at, strict=True)]
            if name in _SHIFTS and not (0 <= x[0] <= mask >> 1 and 0 <= x[1] < 8 * size):  # No sign comes in.
                raise NotKnown
            place = begin + element * size
            yield register, place, _Element(bytes_from(place, place + size), compute(*x) & mask, lane, writer)

    def _operation(self, i: Instruction, sources: list[object]) -> tuple[Register, int, int, Callable[..., int]]:
        """The destination of an instruction (register, first place, places of an element), and its function of
        integers.
        """
        name, dst, types = i.desc.semantics, i.args.get("dst"), [operand_type(self.function, op) for op in sources]
        if name == "cmp" and isinstance(dst, Predicate) and types[0] is types[1]:
            return Register(Bank.PREDICATE, dst.var), i.args["exec"].offset, 1, _RELATIONS[i.args["rel_op"]]
        if isinstance(dst, Address) and name == "addr_add" and (taken := takes_address(self.function, i)):
            root, at, _ = self.layout.place(taken)
            return Register(Bank.ADDRESS, dst.var), dst.offset, 1, partial(operator.add, (root << ROOT_BITS) + at)
        found = partial(_boolean, i.args["function"]) if name == "bfn" else (_SUMS | _SHIFTS | _OTHERS).get(name)
        if found is None or not isinstance(dst, General) or dst.modifier:
            raise NotKnown
        root, begin, size = self.layout.place(dst)
        fits = name == "mov" or size <= max(t.size for t in types[: 1 if name in _SHIFTS else None])
        if root < FIRST_VARIABLE or not operand_type(self.function, dst).is_integer or not fits:
            raise NotKnown
        return Register(Bank.GENERAL, root), begin, size, found


def _boolean(table: int, x: int, y: int, z: int) -> int:
    """The boolean function with a truth table, bit by bit."""
    terms = ((x if n & 1 else ~x) & (y if n & 2 else ~y) & (z if n & 4 else ~z) for n in range(8) if table >> n & 1)
    return reduce(operator.or_, terms, 0)
