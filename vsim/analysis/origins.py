"""Origins of undefined values: variables without a write, as far as the text of a function shows.

The analysis walks back from an instruction over its reads, and over the instructions that may have written them, to
bytes that no instruction of the function writes, or that some path from the beginning does not write. These are facts
about the text, equal for both engines. Run-time facts, such as inactive lanes, are not part of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from visakit.isa.record import Access
from visakit.language.operands import General, Predicate, Raw, region_elements
from visakit.language.program import FIRST_VARIABLE, Function, Instruction
from visakit.rules.message_sizes import message_sizes
from vsim.analysis.atomics import is_local
from vsim.analysis.control_flow import control_flow
from vsim.analysis.register_accesses import bytes_from
from vsim.semantics.memory import data_of
from vsim.semantics.messages import meaning
from vsim.semantics.registers import layout_of

MOST_ORIGINS = 3
LOCAL, MEMORY = -1, -2
"""Stand for local and for other memory in place of a variable."""


class Origin(NamedTuple):
    """Something undefined that an instruction reads.

    Attributes:
        variable: its number, or :data:`LOCAL` or :data:`MEMORY`.
        read: the number of the first instruction that reads it on the way to the value.
        first, last: its read bytes that no instruction writes; both 0 for the whole variable.
        is_written: whether something writes it, though not on every path.
    """

    variable: int
    read: int
    first: int = 0
    last: int = 0
    is_written: bool = False


class _Part(NamedTuple):
    """Bytes of a root variable, as bits; a predicate, or memory that is read."""

    root: int
    mask: int


class _Step(NamedTuple):
    """What an instruction reads and writes of variables."""

    reads: tuple[_Part, ...]
    writes: tuple[_Part, ...]
    is_certain: bool
    """Whether it writes in all lanes that come to it."""
    memory: int = 0
    """The memory that it loads from; 0 for no load. Registers of the address are no part of the loaded value."""


def undefined_origins(function: Function, grf_size: int, number: int, only_data: bool = False) -> list[Origin]:
    """The undefined inputs of an instruction's value: bytes without a write, else bytes that some path does not write,
    else memory.

    Args:
        only_data: of a store, only the stored value counts.
    """
    steps = _Steps(function, grf_size)
    own = steps.of[number]
    reads = own.reads
    if only_data and function.instructions[number].desc.access is Access.STORE:
        stored = data_of(meaning(function.instructions[number], grf_size))
        reads = tuple(part for part in reads if part.root == steps.layout.root(stored.var)[0])
    found: dict[int, Origin] = {}
    if function.instructions[number].desc.access is Access.ATOMIC:
        found[own.memory] = Origin(own.memory, number, is_written=True)
    for part, reader in steps.back_from(reads, number):
        origin = steps.origin(part, reader)
        if origin is not None:
            known = found.get(origin.variable)
            if known is None or origin.read < known.read:
                found[origin.variable] = origin
    variables = [o for o in found.values() if o.variable >= 0]
    shown = [o for o in variables if not o.is_written] or variables or found.values()
    return sorted(shown, key=lambda o: o.read)[:MOST_ORIGINS]


class _Steps:
    """The instructions of a function by their reads and writes."""

    def __init__(self, function: Function, grf_size: int) -> None:
        self.function, self.layout = function, layout_of(function, grf_size)
        self.of = [self._step(meaning(i, grf_size)) for i in function.instructions]
        self.writers: dict[int, list[int]] = {}
        for number, step in enumerate(self.of):
            for part in step.writes:
                self.writers.setdefault(part.root, []).append(number)
        self.inputs: dict[int, int] = {}
        for own in function.inputs:
            if own.variable_class == 0 and own.index >= FIRST_VARIABLE:
                root, start = self.layout.root(own.index)
                self.inputs[root] = self.inputs.get(root, 0) | bytes_from(start, start + own.size)
        flow = control_flow(function)
        self.before: dict[int, list[int]] = {}
        for number in range(len(self.of)):
            for target in flow.successors(number, function.lanes):
                self.before.setdefault(target, []).append(number)

    def back_from(self, reads: tuple[_Part, ...], number: int) -> Iterator[tuple[_Part, int]]:
        """All that a value is made of, with the instructions that read it."""
        ahead = deque((part, number) for part in reads)
        seen = set(ahead)
        while ahead:
            part, reader = ahead.popleft()
            yield part, reader
            for writer in self.writers.get(part.root, ()):
                step = self.of[writer]
                if any(w.root == part.root and w.mask & part.mask for w in step.writes):
                    reads = (_Part(step.memory, 0),) if step.memory else step.reads
                    new = [(read, writer) for read in reads if (read, writer) not in seen]
                    seen.update(new)
                    ahead.extend(new)

    def origin(self, part: _Part, reader: int) -> Origin | None:
        """What is undefined of a part that an instruction reads; None for nothing."""
        if part.root in (LOCAL, MEMORY) and not part.mask:
            return Origin(part.root, reader, is_written=True)
        if part.root < FIRST_VARIABLE or part.root in self.layout.file_offsets:  # as it may be written by address
            return None
        written = 0
        for writer in self.writers.get(part.root, ()):
            for own in self.of[writer].writes:
                written |= own.mask if own.root == part.root else 0
        given = self.inputs.get(part.root, 0)
        missing = part.mask & ~written & ~given
        if missing:
            is_whole = not written and not given
            first, last = ((missing & -missing).bit_length() - 1, missing.bit_length() - 1) if not is_whole else (0, 0)
            return Origin(part.root, reader, first, last)
        if part.mask & ~given and self._is_reached_unwritten(part, reader):
            return Origin(part.root, reader, is_written=True)
        return None

    def _is_reached_unwritten(self, part: _Part, reader: int) -> bool:
        """Whether a path leads from the beginning to an instruction on which no other writes any byte of a part."""
        ahead, seen = [reader], {reader}
        while ahead:
            number = ahead.pop()
            if number == 0:
                return True
            for before in self.before.get(number, ()):
                step = self.of[before]
                if before not in seen and not (
                    step.is_certain and any(w.root == part.root and w.mask & part.mask for w in step.writes)
                ):
                    seen.add(before)
                    ahead.append(before)
        return False

    def _step(self, i: Instruction) -> _Step:
        reads, writes, args = [], [], i.args
        for f in i.desc.fields:
            op = args.get(f.name) if f.name else None
            if f.kind in ("s", "r"):
                reads += self._parts(op, i, f.name)
            elif f.kind in ("d", "w"):
                writes += self._parts(op, i, f.name)
            elif f.kind in ("r*", "r!"):
                for raw in op or ():
                    reads += self._parts(raw, i, f.name)
        predicate = args.get("pred")
        if predicate is not None:
            part = _predicate(predicate.var)
            (writes if i.desc.writes_predicate else reads).append(part)
        memory = 0
        if i.desc.access in (Access.LOAD, Access.ATOMIC):
            memory = LOCAL if is_local(i) else MEMORY
        return _Step(tuple(reads), tuple(writes), predicate is None, memory)

    def _parts(self, op: object, i: Instruction, name: str) -> list[_Part]:
        """The part of variables that an operand is."""
        if isinstance(op, Predicate):
            return [_predicate(op.var)]
        if not isinstance(op, (General, Raw)) or not op.var:
            return []
        if isinstance(op, Raw):
            root, start = self.layout.root(op.var)
            size = message_sizes(i, self.layout.grf_size).get(name, self.layout.room(root) - start - op.offset)
            return [_Part(root, bytes_from(start + op.offset, start + op.offset + size))]
        root, begin, size = self.layout.place(op)
        execution, mask = i.args.get("exec"), 0
        for element in region_elements(op.region, execution.size if execution is not None else 1):
            mask |= bytes_from(begin + element * size, begin + (element + 1) * size)
        return [_Part(root, mask)]


def _predicate(number: int) -> _Part:
    """A predicate as a part of a separate kind; the numbers are negative, below the numbers of memory."""
    return _Part(MEMORY - 1 - number, 1)
