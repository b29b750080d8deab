"""Instructions that a compiler has split into halves for some of the lanes each, put together again.

Compilers split an instruction whose operands are too wide for the hardware, for example of more than two registers::

    addc (M1, 8) V3(0,0)<1> V5(0,0)<1> V1(0,0)<1;1,0> V2(0,0)<1;1,0>
    add  (M1, 8) V4(0,0)<1> V5(0,0)<1;1,0> V4(0,0)<1;1,0>
    addc (M3, 8) V3(1,0)<1> V6(0,0)<1> V1(1,0)<1;1,0> V2(1,0)<1;1,0>
    add  (M3, 8) V4(1,0)<1> V6(0,0)<1;1,0> V4(1,0)<1;1,0>

The second half runs with the first one, if nothing between them hinders it. V6 is then laid out right behind V5.
Atomics of halves of the lanes run together, too, if no other access is between them: lanes act one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from visakit.language import types
from visakit.language.operands import Execution, General, Immediate, Predicate, Raw, region_elements
from visakit.language.program import FIRST_VARIABLE, Function, Instruction
from visakit.rules.message_sizes import message_sizes
from vsim.analysis.register_accesses import R0, Accesses, Bank, RegisterAccess
from vsim.semantics.core import BY_LANE
from vsim.semantics.registers import NULL, Layout

WINDOW = 8
"""How many instructions the halves are apart at most."""
_SECOND_RESULTS = ("carry", "borrow")
"""Operands whose variables may go one behind the other. Threads of 32 lanes in two halves of 16 have all of their
variables apart, and stay so: their messages are for halves, too.
"""
_ATOMIC = "svm_atomic"
_OPERANDS = (General, Immediate, Predicate)


@dataclass
class SplitInstructions:
    """Puts the halves of a function's instructions together.

    Args:
        layout: of the function's registers, in which some go behind others.
        accesses: to a layout in which none does (:meth:`Layout.copy`).
        lanes: of a thread.
        kept: numbers of instructions to leave alone.
        atomics: whether halves of atomics may run together, lane after lane.
    """

    function: Function
    layout: Layout
    accesses: Accesses
    lanes: int
    kept: frozenset[int] = frozenset()
    atomics: bool = False

    def __post_init__(self) -> None:
        self.instructions = list(self.function.instructions)
        """Those of the function, with both halves at the place of the first one."""
        self.left_out = set[int]()
        """The numbers of second halves."""
        self._plain: dict[int, bool] = {}
        self._touched: dict[int, list[RegisterAccess]] = {}

    def join(self, blocks: Iterable[tuple[int, int]]) -> None:
        """Put the halves within each block together: from one instruction to before another."""
        for start, end in blocks:
            seconds = [pc for pc in range(start, end) if self._is_second(self.instructions[pc])]
            while any([self._joins(start, pc) for pc in seconds if pc not in self.left_out]):
                pass  # Halves of halves may follow.

    def _is_second(self, i: Instruction) -> bool:
        execution = i.args.get("exec")
        return execution is not None and execution.offset % (2 * execution.size) == execution.size

    def _joins(self, start: int, pc: int) -> bool:
        """Whether an instruction was a second half that is now put to the first one."""
        second = self.instructions[pc]
        atomic = self._is_atomic(pc)
        if pc in self.kept or not self._is_second(second) or not (atomic or self._is_plain(pc)):
            return False
        between: list[int] = []
        for n in range(pc - 1, max(start, pc - WINDOW) - 1, -1):
            if n in self.left_out:
                continue
            if not (self._is_plain(n) or (atomic and self._is_atomic(n))):
                return False
            first = self.instructions[n]
            pairs = None if n in self.kept or first.desc is not second.desc else self._pairs(first, second)
            if pairs is not None:
                if self._hinders(n, pc, False) or any(self._hinders(m, pc, True) for m in between):
                    return False
                self._put(n, pc, pairs)
                return True
            if self._is_atomic(n):
                return False
            between.append(n)
        return False

    def _put(self, n: int, pc: int, pairs: set[tuple[int, int]]) -> None:
        """Let a first half run for both."""
        for one, other in pairs:
            self.layout.put_behind(one, other)
        self._touched[n] = self._touches(n) + self._touches(pc)
        first = self.instructions[n]
        both = Execution(2 * first.args["exec"].size, first.args["exec"].mask)
        self.instructions[n] = Instruction(first.desc, first.args | {"exec": both}, first.line)
        self.left_out.add(pc)

    def _is_plain(self, n: int) -> bool:
        """Whether lanes compute apart from each other, and from registers that are declared; without a fault."""
        found = self._plain.get(n)
        if found is None:
            i = self.instructions[n]
            found = self._plain[n] = self._computes_by_lane(i) and not self.accesses.beyond(i)
        return found

    def _is_atomic(self, n: int) -> bool:
        """Whether an instruction is an atomic at an address for each lane, which the registers of its halves follow."""
        i = self.instructions[n]
        return self.atomics and i.desc.semantics == _ATOMIC and not self.accesses.beyond(i)

    def _computes_by_lane(self, i: Instruction) -> bool:
        if i.desc.semantics not in BY_LANE or any(f.kind in "rw" for f in i.desc.fields):
            return False
        return all(isinstance(op, _OPERANDS) and self._is_declared(op) for op in _operands(i))

    def _is_declared(self, op: object) -> bool:
        root = self.layout.root(op.var)[0] if isinstance(op, General) else NULL
        return root >= FIRST_VARIABLE or root in (NULL, R0)

    def _touches(self, n: int) -> list[RegisterAccess]:
        found = self._touched.get(n)
        if found is None:
            found = self._touched[n] = self.accesses.of(self.instructions[n])
        return found

    def _hinders(self, before: int, second: int, reads_too: bool) -> bool:
        """Whether an instruction touches results of the second half, or writes its sources.

        Args:
            reads_too: whether its own sources count; those of the first half do not.
        """
        pairs = product(self._touches(before), self._touches(second))
        return any(
            (one.writes or (other.writes and reads_too)) and one.places & other.places
            for one, other in pairs
            if one.register == other.register
        )

    def _pairs(self, first: Instruction, second: Instruction) -> set[tuple[int, int]] | None:
        """The variables to lay out one after the other, so that two instructions are halves of one; None where they are
        no halves.
        """
        one, other = first.args["exec"], second.args["exec"]
        size = one.size
        if (size, one.no_mask, one.offset + size) != (other.size, other.no_mask, other.offset):
            return None
        if one.offset + 2 * size > self.lanes:
            return None
        pairs, grf_size = set[tuple[int, int]](), self.layout.grf_size
        for name, op in first.args.items():
            where = pairs if name in _SECOND_RESULTS else None
            behind = second.args.get(name)
            if isinstance(op, Raw) and isinstance(behind, Raw) and op.var:
                if (behind.var, behind.offset) != (op.var, op.offset + message_sizes(first, grf_size)[name]):
                    return None
            elif name != "exec" and not self._continues(op, behind, size, where):
                return None
        return pairs

    def _continues(self, op: object, behind: object, count: int, pairs: set[tuple[int, int]] | None) -> bool:
        """Whether an operand is of the lanes behind those of another one; notes the variables of two whole ones, where
        these may go one behind the other.
        """
        if not isinstance(op, General) or not isinstance(behind, General):
            return op == behind and not (isinstance(op, Immediate) and op.type.kind == types.VECTOR)
        data_type = self.function.variable_type(op.var)
        same = op.region == behind.region and op.modifier == behind.modifier
        if not same or data_type is not self.function.variable_type(behind.var):
            return False
        step = region_elements(op.region, 2 * count)[count]
        (root, at, size), (other, start, _) = self.layout.place(op), self.layout.place(behind)
        if root == other:
            return root == NULL or start - at == step * size
        if pairs is None:
            return False
        rooms = self.layout.rooms
        whole = not at and not start and rooms.get(root) == rooms.get(other) == step * size
        pairs.add((root, other))
        return whole and {root, other}.isdisjoint(self._fixed)

    @cached_property
    def _fixed(self) -> set[int]:
        """Root variables that stay where they are: their addresses are taken, or an operand exceeds them and faults."""
        beyond = {register for i in self.function.instructions for register in self.accesses.beyond(i)}
        return {*self.layout.file_offsets, *(number for file, number in beyond if file is Bank.GENERAL)}


def half_of_lane(function: Function, number: int, lane: int) -> tuple[int, int]:
    """The instruction that acts for a lane of an atomic or a later half of it, and the number of the lane there.

    Args:
        lane: counted from the first one of the instruction with this number.
    """
    instructions = function.instructions
    while instructions[number].desc.semantics == _ATOMIC:
        execution = instructions[number].args["exec"]
        if lane < execution.size:
            break
        lane -= execution.size
        behind = execution.offset + execution.size
        later = range(number + 1, len(instructions))
        halves = (n for n in later if instructions[n].desc is instructions[number].desc)
        number = next(n for n in halves if instructions[n].args["exec"].offset == behind)
    return number, lane


def _operands(i: Instruction) -> Iterator[object]:
    """The operands of an instruction, without its predicate."""
    return (i.args[f.name] for f in i.desc.fields if f.kind in ("d", "s") and f.name in i.args)
