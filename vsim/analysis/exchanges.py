"""Exchanges: where lanes of a thread come together within it, so that its work-items are ordered there.

Compiled code has no instructions for operations of sub-groups. A shuffle, a reduction or a vote is a move, a sum or a
comparison that reads registers of other lanes. So an instruction is an exchange if it reads what other lanes have
computed from memory:

* Every byte of a register belongs to the lanes that write it in instructions for several lanes. Instructions of size 1
  and messages for the whole thread write bytes without an owner.
* The analysis follows values that lanes load from memory, and all values computed from them. Lane numbers and local ids
  are no such values.

``add (M1_NM, 8) V2(0,0)<1> V1(0,0)<1;1,0> V1(0,8)<1;1,0>`` is one if V1 was loaded by 16 lanes; so are a scalar that is
read out of V1, a predicate of 16 lanes that is read as a number, and a block that stores V1. Other steps that order the
work-items of a thread are fences and barriers. If several lanes run, an exchange orders all lanes of the thread; if one
lane runs alone, it orders no lanes, as compilers read values of the same lane in such ways.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from visakit.isa.record import Access
from visakit.language.operands import Execution, General, Indirect, Predicate, Raw, region_elements
from visakit.language.program import Function, Instruction
from visakit.rules.message_sizes import element_size, message_sizes
from vsim.analysis.named_registers import computed_from, registers
from vsim.analysis.register_accesses import Bank, Register
from vsim.checks.accesses import fence_of
from vsim.semantics.messages import meaning
from vsim.semantics.registers import NULL, layout_of, takes_address

Places = npt.NDArray[np.int64]
"""Bytes of a variable, lanes x bytes of an element."""
_LANES = 32


def _bits(execution: Execution) -> npt.NDArray[np.uint32]:
    """The bit of each lane of an instruction."""
    return (1 << (execution.offset + np.arange(execution.size)) % _LANES).astype(np.uint32)


def is_for_lanes(execution: Execution | None) -> bool:
    """Whether a message is for the lanes of a thread, one by one: compilers write messages that serve the whole thread
    without a mask, of whatever size they are.
    """
    return execution is not None and execution.size > 1 and not execution.no_mask


def ordering_steps(function: Function, grf_size: int) -> frozenset[int]:
    """Numbers of the instructions of a function that order the work-items of the thread that executes them."""
    exchanges = _Exchanges(function, grf_size)
    return frozenset(
        number
        for number, i in enumerate(exchanges.instructions)
        if i.desc.flow.is_barrier or fence_of(i) is not None or exchanges.has(i)
    )


class _Exchanges:
    """The owners and the marked registers of a function."""

    def __init__(self, function: Function, grf_size: int) -> None:
        self.function, self.grf_size = function, grf_size
        self.layout = layout_of(function, grf_size)
        self.instructions = [meaning(i, grf_size) for i in function.instructions]
        self.owners: dict[int, npt.NDArray[np.uint32]] = {}
        """By general variable for each byte the lanes that write it."""
        self.loaded: set[Register] = set()
        for i in self.instructions:
            self._own(i)
        # An address does not mark the loaded value.
        steps = [i for i in self.instructions if i.desc.access is Access.NONE]
        self.made = computed_from(self.loaded, [self._read(i) for i in steps], [self._written(i) for i in steps])
        """Registers with values that were made of what lanes found in memory."""

    def has(self, i: Instruction) -> bool:
        """Whether lanes of an instruction read values of other lanes."""
        predicate, execution = i.args.get("pred"), i.args.get("exec")
        if i.desc.is_directive or not self.made:
            return False
        count = execution.size if execution is not None else 1
        if predicate is not None and self._is_made(predicate) and (predicate.mode or count == 1):
            return True
        if takes_address(self.function, i) is not None:
            return False
        return any(self._is_others(op, i, execution, count) for op in self._sources(i))

    def _is_others(self, op: object, i: Instruction, execution: Execution | None, count: int) -> bool:
        """Whether a source is read by lanes to which it does not belong."""
        if isinstance(op, Predicate):
            return count == 1 and self._is_made(op)
        if isinstance(op, Indirect):
            return any(
                Register(Bank.GENERAL, root) in self.made and size <= _LANES * op.type.size
                for root, size in self.layout.file_sizes.items()
            )
        if isinstance(op, Raw):
            root, _ = self.layout.root(op.var)
            is_collective = i.desc.access is Access.NONE or not is_for_lanes(execution)
            return is_collective and self._is_made(op) and bool(self._owners(root).any())
        if not isinstance(op, General) or not self._is_made(op):
            return False
        root, places = self._elements(op, count)
        owners = np.bitwise_or.reduce(self._owners(root)[places], axis=1)
        readers = np.zeros(1, np.uint32) if execution is None or count == 1 else _bits(execution)
        return bool(((owners != 0) & (owners & readers == 0)).any())

    # -- whose registers are -------------------------------------------------------------------------------

    def _owners(self, root: int) -> npt.NDArray[np.uint32]:
        """The owners of a variable's bytes; the last entry covers all bytes beyond the variable, which are a fault."""
        found = self.owners.get(root)
        if found is None:
            found = self.owners[root] = np.zeros(self.layout.room(root) + 1, np.uint32)
        return found

    def _own(self, i: Instruction) -> None:
        """What an instruction for several lanes writes belongs to them."""
        execution, dst = i.args.get("exec"), i.args.get("dst")
        if execution is None or execution.size == 1:
            return
        count = execution.size
        if isinstance(dst, General):
            root, places = self._elements(dst, count)
            np.bitwise_or.at(self._owners(root), places, _bits(execution)[:, None])
        elif isinstance(dst, Raw) and dst.var != NULL and is_for_lanes(execution):
            root, start = self.layout.root(dst.var)
            for places in self._payload(i, start + dst.offset, count, self._owners(root).size - 1):
                np.bitwise_or.at(self._owners(root), places, _bits(execution)[:, None])
            self.loaded.add(Register(Bank.GENERAL, root))

    def _payload(self, i: Instruction, begin: int, count: int, limit: int) -> Iterator[Places]:
        """The bytes of each lane in the message's result, from a byte of a variable on, part after part."""
        total = message_sizes(i, self.grf_size).get("dst", 0)
        try:
            size = element_size(i)
        except KeyError:
            size = total // count
        part = -(-count * size // self.grf_size) * self.grf_size
        for low in range(begin, begin + total, max(part, 1)):
            yield np.minimum(low + np.arange(count * size).reshape(count, size), limit)

    def _elements(self, op: General, count: int) -> tuple[int, Places]:
        """The root variable of an operand, and the bytes of each lane's element in it."""
        root, begin, size = self.layout.place(op)
        elements = np.array(region_elements(op.region, count))
        return root, np.minimum(begin + elements[:, None] * size + np.arange(size), self._owners(root).size - 1)

    # -- values computed from loads ------------------------------------------------------------------------

    def _sources(self, i: Instruction) -> Iterator[object]:
        for f in i.desc.fields:
            value = i.args.get(f.name) if f.name else None
            if f.kind in "sr" and value is not None and not (isinstance(value, (General, Raw)) and value.var == NULL):
                yield value

    def _is_made(self, op: object) -> bool:
        return not self.made.isdisjoint(registers(self.layout, op))

    def _read(self, i: Instruction) -> frozenset[Register]:
        return registers(self.layout, *self._sources(i), i.args.get("pred"))

    def _written(self, i: Instruction) -> frozenset[Register]:
        results = (i.args.get(f.name) for f in i.desc.fields if f.kind in "dw" and f.name)
        return registers(self.layout, *results, i.args.get("pred") if i.desc.writes_predicate else None)
