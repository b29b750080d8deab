"""If-conversion: branches over a few instructions that become masks, so that the code around them is one block.

Compilers write a select, a guard or ``continue`` as a branch of lanes over some instructions::

    (P1) goto (M1, 16) ELSE        lanes wait at ELSE
    add (M1, 16) X X Y
    goto (M1, 1) DONE
    ELSE: mov (M1, 16) X Z
    DONE: ...

The lanes that such a branch takes leave the mask of the instructions that follow, and come back at its target, in the
same order as if they waited there. So a goto can become a mask if control goes from it to its target in no other way
than instruction by instruction: between the two there are only other gotos of that kind, and no place to which another
branch leads. That holds for nests of them as compilers make of ``||``, ``&&`` and ``?:``, too.

An instruction in between runs even if it has no lanes. It does nothing then, unless it ignores the mask: such a one is
admitted if it writes a register that each block writes before it reads it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator

from visakit.isa.record import Access, Flow, MemoryKind, Pipe
from visakit.language.operands import SAMPLER, SURFACE, General, Indirect, Raw, State
from visakit.language.program import FIRST_VARIABLE, Instruction
from vsim.analysis.control_flow import ControlFlow, covers_all, takes_all
from vsim.analysis.named_registers import computed_from
from vsim.analysis.register_accesses import Accesses, Bank, Register
from vsim.analysis.uniformity import is_scalar
from vsim.analysis.waiting import touches_memory
from vsim.semantics.refused import RAW_MESSAGES
from vsim.semantics.registers import takes_address

LARGEST_COST = 40
"""Vectors of the processor that the instructions of a branch fill, up to which it becomes a mask."""
_HEAVY = 8
"""How many times as much an instruction costs that divides, or computes a root, a power or a sine."""
_LOAD = 6
"""How many vectors a load from private memory counts for."""


def private_loads(accesses: Accesses, variables: Collection[int]) -> frozenset[int]:
    """The loads of a kernel whose addresses are computed from that of private memory. They are cheap: no other thread's
    accesses drive it out of the cache.

    Args:
        variables: that begin with the address.
    """
    function, layout = accesses.function, accesses.layout
    reads, writes = list[set[Register]](), list[set[Register]]()
    for i in function.instructions:
        found = accesses.of(i)
        reads.append({a.register for a in found if not a.writes})
        writes.append({a.register for a in found if a.writes and not touches_memory(i)})
    addresses = computed_from((Register(Bank.GENERAL, layout.root(v)[0]) for v in variables), reads, writes)
    loads = (n for n, i in enumerate(function.instructions) if i.desc.access is Access.LOAD)
    return frozenset(n for n in loads if not addresses.isdisjoint(reads[n]))


def masked_gotos(
    flow: ControlFlow, lanes: int, vector_bytes: int, private_loads: frozenset[int] = frozenset()
) -> frozenset[int]:
    """The gotos of a function that become masks.

    Args:
        flow: the control flow with all branches.
        lanes: of a thread.
        vector_bytes: of the processor's vectors.
        private_loads: loads that a branch may become a mask for (:func:`private_loads`).
    """
    if flow.function.is_cm:
        return frozenset()
    return _Candidates(flow, lanes, vector_bytes, private_loads).found()


class _Candidates:
    """The gotos of one function that may become masks."""

    def __init__(self, flow: ControlFlow, lanes: int, vector_bytes: int, private_loads: frozenset[int]) -> None:
        self.flow, self.lanes, self.vector_bytes, self.private_loads = flow, lanes, vector_bytes, private_loads
        self.instructions = flow.function.instructions
        self.temporaries = _Temporaries(flow)

    def found(self) -> frozenset[int]:
        """The greatest set in which no goto has another branch or call, or the target of one, before its own target."""
        found = {n: target for n, target in self._short()}
        while True:
            ends = sorted(n for n in self._terminators() if n not in found)
            targets = sorted({t for n in ends for t in self.flow.targets(self.instructions[n])})
            kept = {
                n: target
                for n, target in found.items()
                if not _any_between(ends, n, target) and not _any_between(targets, n, target)
            }
            if len(kept) == len(found):
                return frozenset(found)
            found = kept

    def _terminators(self) -> Iterator[int]:
        return (n for n, i in enumerate(self.instructions) if i.desc.flow.is_terminator)

    def _short(self) -> Iterator[tuple[int, int]]:
        """Gotos over few instructions, with their targets."""
        for n, i in enumerate(self.instructions):
            if i.desc.flow is not Flow.GOTO or (i.args["exec"].size == 1 and i.args["pred"] is not None):
                continue
            predicate = i.args["pred"]
            if predicate is None and not takes_all(i, self.lanes):
                continue
            (target,) = self.flow.targets(i)
            lanes_alone = covers_all(i, self.lanes) and (predicate is None or not predicate.mode)
            if target > n and lanes_alone and self._is_cheap(n, target):
                yield n, target

    def _is_cheap(self, branch: int, target: int) -> bool:
        total = 0
        for n in range(branch + 1, target):
            cost = self._cost(n)
            if cost is None or (total := total + cost) > LARGEST_COST:
                return False
        return True

    def _cost(self, n: int) -> int | None:
        """Vectors that an instruction fills; None for one that should not run without lanes."""
        i = self.instructions[n]
        desc, execution = i.desc, i.args.get("exec")
        if desc.flow in (Flow.LABEL, Flow.GOTO):
            return 0
        if desc.pipe is Pipe.NOTHING and execution is None:
            return 0
        if desc.flow is not Flow.NEXT or desc.semantics in RAW_MESSAGES or execution is None:
            return None
        if desc.access is not Access.NONE or desc.memory is not MemoryKind.NONE:
            # Where no lane wants them, other accesses cost more than branches.
            return _LOAD if n in self.private_loads and not execution.no_mask else None
        if execution.no_mask and not self.temporaries.has(n):
            return None
        if any(isinstance(operand, Indirect) for operand in i.args.values()):
            return None  # An address that no lane wants may lie outside of its registers.
        vectors: int = max(1, execution.size * 4 // self.vector_bytes)
        return vectors * (_HEAVY if desc.pipe is Pipe.EM else 1)


_STATES = {"surface": SURFACE, "sampler": SAMPLER}
"""Fields of messages that name a variable of states by its number."""


def _any_between(places: list[int], low: int, high: int) -> bool:
    """Whether one of some ascending places lies strictly between two."""
    at = bisect_right(places, low)
    return at < len(places) and places[at] < high


class _Temporaries:
    """Scalar registers that every block which names them writes first, without regard to the mask."""

    def __init__(self, flow: ControlFlow) -> None:
        self.function = function = flow.function
        self.instructions = function.instructions
        self.others: set[_Register] = set()
        """Registers that some block reads before it writes them, or reads in other places, too."""
        aliases = ((n, v.alias) for n, v in enumerate(function.variables, FIRST_VARIABLE) if v.alias is not None)
        self.others |= {("V", var) for n, alias in aliases for var in (n, alias[0])}
        for start, end in flow.blocks():
            written: dict[_Register, object] = {}
            for i in self.instructions[start:end]:
                self._note(i, written)

    def _note(self, i: Instruction, written: dict[_Register, object]) -> None:
        results = _scalar_results(i)
        for name, value in i.args.items():
            kind = _STATES.get(name)
            if kind is not None and isinstance(value, int) and (kind, value) not in written:
                self.others.add((kind, value))
            if name not in results:
                self._note_reads(value if isinstance(value, tuple) else (value,), written)
        addressed = takes_address(self.function, i)
        if addressed is not None:
            self.others.add(("V", addressed.var))
        for value in results.values():
            register = _register(value)
            if register is not None and written.setdefault(register, _place(value)) != _place(value):
                self.others.add(register)

    def _note_reads(self, values: tuple[object, ...], written: dict[_Register, object]) -> None:
        for value in values:
            register, whole = _register(value), isinstance(value, General) and not is_scalar(value)
            if register is not None and (whole or register not in written or written[register] != _place(value)):
                self.others.add(register)

    def has(self, n: int) -> bool:
        """Whether an instruction writes some, and does nothing else."""
        registers = [_register(value) for value in _scalar_results(self.instructions[n]).values()]
        return bool(registers) and None not in registers and self.others.isdisjoint(registers)


_Register = tuple[object, int]


def _register(value: object) -> _Register | None:
    if isinstance(value, State):
        return value.kind, value.var
    return ("V", value.var) if isinstance(value, (General, Raw)) else None


def _place(value: object) -> tuple[int, int] | None:
    """Where an operand begins in its variable; None for a message's, which may reach further."""
    if isinstance(value, State):
        return value.offset, 0
    return (value.row, value.col) if isinstance(value, General) else None


def _scalar_results(i: Instruction) -> dict[str, object]:
    """The destinations of an instruction that writes one element of each, with or without running lanes; else none."""
    execution = i.args.get("exec")
    if execution is None or not execution.no_mask or execution.size != 1 or i.args.get("pred") is not None:
        return {}
    results = {f.name: i.args[f.name] for f in i.desc.fields if f.kind == "d"}
    return results if all(map(_is_variable, results.values())) else {}


def _is_variable(value: object) -> bool:
    return isinstance(value, State) or (isinstance(value, General) and value.var >= FIRST_VARIABLE)
