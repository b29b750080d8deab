"""Which memory atomics go to: that of the surface that they name, or of the pointer that their address is a sum of.

The bytes of a variable hold numbers, a part of an address in the memory of one pointer, or anything. A sum of such an
address and numbers is an address in the same memory: programs are undefined that leave it. What was loaded counts as a
number, as an index is one; an address that is a number belongs to no pointer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from visakit.isa.record import Access, MemoryKind
from visakit.language.operands import Indirect
from visakit.language.program import Function, Instruction
from vsim.analysis.lanes.order import surface_numbers
from vsim.analysis.register_accesses import Accesses, Bank, RegisterAccess, bytes_from
from vsim.semantics.lsc import address_kind
from vsim.semantics.registers import layout_of

_SUMS = ("mov", "add", "addc", "add3", "sub", "subb", "or")
_NUMBER, _ANYTHING = -1, -2
_POINTER_BYTES = 8


def places_of(
    function: Function, grf_size: int, pointers: Iterable[int], atomics: dict[int, Instruction]
) -> list[int | None]:
    """The memory of atomics: the place of its pointer in the payload, the inverted number of its surface, or None.

    Args:
        pointers: places of pointers in the payload.
        atomics: by number of the instruction.
    """
    surfaces, variables = surface_numbers(function), _Variables(function, grf_size, pointers)
    found: list[int | None] = []
    for n, atomic in atomics.items():
        args, is_flat = atomic.args, atomic.desc.memory is MemoryKind.FLAT
        is_flat = is_flat or (atomic.desc.memory is MemoryKind.OPERAND and address_kind(atomic) == "flat")
        pointer = variables.held_by(args["addr" if "addr" in args else "addresses"].var) if is_flat else _ANYTHING
        found.append(~surfaces[n] if n in surfaces else pointer if pointer >= 0 else None)
    return found


class _Variables:
    """What the root variables of a function hold, wherever they are read."""

    def __init__(self, function: Function, grf_size: int, pointers: Iterable[int]) -> None:
        self.layout = layout_of(function, grf_size)
        self.inputs: dict[int, list[tuple[int, int]]] = {}
        """The pointers in variables that the payload fills: their places in the payload, and their bytes."""
        for i in function.inputs:
            root, start = self.layout.root(i.index) if i.variable_class == 0 else (0, 0)
            inside = (p for p in pointers if i.offset <= p < i.offset + i.size)
            own = [(p, bytes_from(p - i.offset + start, p - i.offset + start + _POINTER_BYTES)) for p in inside]
            self.inputs.setdefault(root, []).extend(own)
        self.held = dict.fromkeys(self.layout.file_offsets, _ANYTHING)
        accesses = Accesses(function, self.layout)
        before: dict[int, int] | None = None
        while before != self.held:
            before = dict(self.held)
            for instruction in function.instructions:
                general = [a for a in accesses.of(instruction) if a.register.file is Bank.GENERAL]
                self._execute(instruction, general)

    def held_by(self, variable: int) -> int:
        """What a variable holds as a whole."""
        root, _ = self.layout.root(variable)
        values = set(self._values(root, -1))
        return values.pop() if len(values) == 1 else _ANYTHING

    def _execute(self, i: Instruction, accesses: list[RegisterAccess]) -> None:
        """Note what an instruction writes."""
        values = {value for a in accesses if not a.writes for value in self._values(a.register.number, a.places)}
        addresses, result = values - {_NUMBER}, _NUMBER
        if i.desc.flow.calls_function or any(isinstance(op, Indirect) for op in i.args.values()):
            result = _ANYTHING
        elif i.desc.access is Access.NONE and addresses:
            result = addresses.pop() if len(addresses) == 1 and i.desc.semantics in _SUMS else _ANYTHING
        for root in (a.register.number for a in accesses if a.writes):
            self.held[root] = result if self.held.get(root, result) == result else _ANYTHING

    def _values(self, root: int, places: int) -> Iterator[int]:
        """What bytes of a variable hold, each of its kinds of contents once."""
        if root in self.held:
            yield self.held[root]
        if root in self.inputs:
            own = [pointer for pointer, mask in self.inputs[root] if mask & places]
            yield from own or (_NUMBER,)
