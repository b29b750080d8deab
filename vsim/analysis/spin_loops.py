"""Spin loops: those in which a thread does nothing but wait until others have written to memory.

Each round of such a loop reads the same addresses as the one before, changes nothing that the next round reads, and the
read values decide whether there is a next round::

    AGAIN:
        lsc_atomic_or.slm (M1, 16) V40:d32 flat[V41]:a32 V42 %null      V42 is 0: an atomic load
        cmp.ne (M1, 16) P1 V40(0,0)<1;1,0> V43(0,0)<0;1,0>
        (P1) goto (M1, 16) AGAIN

Who runs threads one after the other must let others run before it goes back, or the loop never ends. A loop of which
that is not seen (it counts its rounds into an address, or writes) is run like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from visakit.isa.record import Access, Flow, MemoryKind
from visakit.language.operands import Indirect
from visakit.language.program import Function, Instruction
from vsim.analysis.control_flow import ControlFlow, control_flow
from vsim.analysis.named_registers import computed_from, registers
from vsim.analysis.register_accesses import Register
from vsim.semantics.refused import RAW_MESSAGES
from vsim.semantics.registers import Layout, layout_of

_READING = (Access.LOAD, Access.ATOMIC)
_WITHIN = (Flow.NEXT, Flow.LABEL, Flow.GOTO, Flow.JUMP)
_CALLS = (Flow.CALL_FUNCTION, Flow.CALL_ADDRESS)
_VALUES = ("src", "src0", "src1")
"""The fields of an atomic with the values that it writes or compares."""
MOST_INSTRUCTIONS = 200
"""Of a loop that may be one: they read little, and compute less."""


def spins(function: Function, grf_size: int) -> bool:
    """Whether a function has spin loops."""
    reads = any(i.desc.access in _READING for i in function.instructions)
    return reads and bool(spin_branches(control_flow(function), layout_of(function, grf_size)))


def spin_branches(flow: ControlFlow, layout: Layout) -> frozenset[int]:
    """The branches that lead back in spin loops. A loop is what lies between a branch back and its target; none of
    these has another one in it.
    """
    found: set[int] = set()
    inner = -1
    for branch, target in sorted(flow.backward):
        if target > inner:
            body = flow.function.instructions[target : branch + 1]
            if len(body) <= MOST_INSTRUCTIONS and _Loop(layout, body).waits():
                found.add(branch)
        inner = branch
    return frozenset(found)


class _Loop:
    """A loop, and what its rounds hand on."""

    def __init__(self, layout: Layout, body: Sequence[Instruction]) -> None:
        self.layout, self.body = layout, body
        self.sources = [self._places(i, written=False) for i in body]
        self.written = [self._places(i, written=True) for i in body]

    def waits(self) -> bool:
        """Whether it only waits for others."""
        reads = [n for n, i in enumerate(self.body) if i.desc.access in _READING]
        if not reads or not self._may_wait():
            return False
        evolving = self._following(self._evolving())
        if any(self.sources[n] & evolving for n in reads):
            return False
        data = self._following(register for n in reads for register in self.written[n])
        if any(registers(self.layout, *map(self.body[n].args.get, _VALUES)) & data for n in reads):
            return False  # An atomic writes a value computed from the value that it read.
        return any(i.desc.flow.is_branch and sources & data for i, sources in zip(self.body, self.sources, strict=True))

    def _may_wait(self) -> bool:
        """Whether the instructions may be those of a spin loop: they write nothing to memory but by atomics, reach no
        registers by their addresses, and call functions only beside an atomic, as code that is not optimised does for
        fences.
        """
        within = _WITHIN + _CALLS if any(i.desc.access is Access.ATOMIC for i in self.body) else _WITHIN
        return all(i.desc.flow in within and _only_reads(i) for i in self.body)

    def _evolving(self) -> frozenset[Register]:
        """Registers that a round computes from their values of the round before, such as induction variables."""
        written = frozenset[Register]().union(*self.written)
        seen: set[Register] = set()
        carried: set[Register] = set()
        for sources, results in zip(self.sources, self.written, strict=True):
            carried |= sources & written - seen
            seen |= results
        return frozenset(place for place in carried if place in self._made_of(place))

    def _made_of(self, place: Register) -> frozenset[Register]:
        """The registers that are computed from one in the loop."""
        readers = [n for n, sources in enumerate(self.sources) if place in sources]
        return self._following(register for n in readers for register in self.written[n])

    def _following(self, places: Iterable[Register]) -> frozenset[Register]:
        """These registers and all that are computed from them in the loop."""
        return computed_from(places, self.sources, self.written)

    def _places(self, instruction: Instruction, written: bool) -> frozenset[Register]:
        """The registers that an instruction writes (``written``) or reads."""
        desc, args = instruction.desc, instruction.args
        operands = [args.get(f.name) for f in desc.fields if (f.kind in "dw") is written]
        if desc.writes_predicate or not written:
            operands.append(args.get("pred"))
        return registers(self.layout, *operands)


def _only_reads(instruction: Instruction) -> bool:
    """Whether an instruction writes nothing to memory but by an atomic, and reaches no register by its address."""
    desc = instruction.desc
    if desc.semantics in RAW_MESSAGES or any(isinstance(a, Indirect) for a in instruction.args.values()):
        return False
    return desc.access in _READING or (desc.access is Access.NONE and desc.memory is MemoryKind.NONE)
