"""Values of scalars that the text of a function says: constants, and sums of constants.

The value follows from the instructions in front of a use, back to the beginning of its block; else from all
instructions of the function that write the scalar, where they agree.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import NamedTuple

from visakit.isa.record import Flow
from visakit.language import types
from visakit.language.operands import SCALAR, General, Immediate, Raw
from visakit.language.program import FIRST_VARIABLE, Function, Instruction
from vsim.semantics.core import sources_of
from vsim.semantics.registers import Layout

_OPERATIONS: dict[str, Callable[..., int]] = {"mov": int, "add": operator.add, "or": operator.or_}
_DWORDS = (types.UD, types.D)
_MOST_STEPS = 64
"""How many instructions are followed back."""


class _Place(NamedTuple):
    """Bytes of a root variable, from ``low`` to before ``end``."""

    root: int
    low: int
    end: int

    def meets(self, other: _Place) -> bool:
        """Whether both have a byte."""
        return self.root == other.root and self.low < other.end and other.low < self.end


class KnownValues:
    """Values of scalars of a function that its text says."""

    def __init__(self, function: Function, layout: Layout) -> None:
        self.function, self.layout = function, layout
        self.written = [list(self._writes(i)) for i in function.instructions]
        self.given = {layout.root(own.index)[0] for own in function.inputs if own.variable_class == 0}
        self.is_straight = function.is_cm and not any(i.desc.flow is Flow.GOTO for i in function.instructions)
        """Whether all lanes run everywhere."""

    def _writes(self, i: Instruction) -> Iterator[_Place]:
        for f in i.desc.fields:
            op = i.args.get(f.name) if f.name and f.kind in "dw" else None
            if isinstance(op, Raw):
                root, _ = self.layout.root(op.var)
                yield _Place(root, 0, self.layout.room(root))
            elif isinstance(op, General):
                yield self._place(op, i.args["exec"].size if "exec" in i.args else 1)

    def _place(self, op: General, count: int) -> _Place:
        root, low, size = self.layout.place(op)
        step = op.region[2] if count > 1 and op.region[2] is not None else 1
        return _Place(root, low, low + ((count - 1) * step + 1) * size)

    def before(self, number: int, op: object, steps: int = _MOST_STEPS) -> int | None:
        """The value that a scalar has in front of an instruction; None if it is not known.

        Args:
            steps: how many instructions are followed back.
        """
        if isinstance(op, Immediate):
            return op.bits if op.type in _DWORDS and not op.modifier else None
        if not isinstance(op, General) or op.region != SCALAR or op.modifier or not steps:
            return None
        place = self._place(op, 1)
        if self.function.variable_type(op.var) not in _DWORDS or self._is_given(place):
            return None
        return self._written_before(number, place, steps)

    def _written_before(self, number: int, place: _Place, steps: int) -> int | None:
        """The value that instructions have written to a place in front of an instruction."""
        writers = [n for n, places in enumerate(self.written) if any(place.meets(other) for other in places)]
        for n in range(number - 1, -1, -1):
            if self.function.instructions[n].desc.flow is not Flow.NEXT:
                break
            if n in writers:
                return self._result(n, place, steps) if self._is_certain(self.function.instructions[n]) else None
        found = {self._result(n, place, steps // 2) for n in writers[:steps]}
        return found.pop() if len(found) == 1 and len(writers) <= steps else None

    def of_message(self, number: int, operand: Raw) -> int | None:
        """The dword that a message takes from a byte of a variable on; None if it is not known."""
        row, column = divmod(operand.offset, self.layout.grf_size)
        return self.before(number, General(operand.var, row, column // 4, SCALAR))

    def _is_given(self, place: _Place) -> bool:
        """Whether others than the function's instructions write to a variable."""
        return place.root < FIRST_VARIABLE or place.root in self.given or place.root in self.layout.file_offsets

    def _is_certain(self, i: Instruction) -> bool:
        """Whether it writes its first lane wherever it executes."""
        execution = i.args.get("exec")
        return execution is not None and i.args.get("pred") is None and (execution.no_mask or self.is_straight)

    def _result(self, n: int, place: _Place, steps: int) -> int | None:
        """What an instruction writes to a place."""
        i = self.function.instructions[n]
        compute = _OPERATIONS.get(i.desc.mnemonic)
        dst = i.args.get("dst")
        if compute is None or not isinstance(dst, General) or dst.modifier or self.written[n] != [place]:
            return None
        if self.function.variable_type(dst.var) not in _DWORDS:
            return None  # A name of another type for the same bytes.
        operands = [self.before(n, i.args[name], steps - 1) for name in sources_of(i)]
        known = [x for x in operands if x is not None]
        return compute(*known) & 0xFFFFFFFF if len(known) == len(operands) else None
