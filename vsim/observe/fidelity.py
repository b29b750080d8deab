"""How exact a run was: the class of every instruction that executed, and where results of inexact ones went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from visakit.isa.record import Access, Flow, InstructionDesc, MemoryKind
from visakit.language.operands import Address, General, Immediate, Indirect, Predicate, Raw, State
from visakit.language.program import FIRST_VARIABLE, Function, Instruction
from vsim.analysis.atomics import is_local
from vsim.semantics import ALLOWED_DEVIATION
from vsim.semantics.messages import meaning
from vsim.semantics.refused import REFUSED
from vsim.semantics.registers import DENORMAL_BITS, FloatModes, layout_of, operand_type

EXACT, WITHIN, REFUSED_CLASS = "exact", "within freedom", "refused"
_OPERANDS = frozenset(("d", "s", "r", "w", "r*", "r!"))
"""Kinds of fields that are operands."""
_RESULTS = frozenset(("d", "w"))
_DATA = frozenset(("src", "src0", "src1", "src2", "data", "outputs"))
"""Fields of messages that carry data; all others say where."""


def class_of(desc: InstructionDesc) -> str:
    """``exact``, ``within freedom`` or ``refused``. A raw message is what its equivalent is."""
    return REFUSED_CLASS if desc.semantics in REFUSED else WITHIN if desc.semantics in ALLOWED_DEVIATION else EXACT


@dataclass(repr=False)
class Report:
    """Mnemonics that executed, by class, and whether results within the manual's freedom may decide where things go.

    ``denormals``: ``zeros`` where floats were computed and the program never writes %cr0: a thread begins with 0 there,
    which asks for zeros; else empty.
    """

    exact: list[str]
    within: list[str]
    address: bool
    branch: bool
    denormals: str = ""

    def __repr__(self) -> str:
        reached = [what for what in ("address", "branch") if getattr(self, what)]
        doubt = f", inexact results reached {' and '.join(reached)}" if reached else ""
        return (
            f"<Report: {len(self.exact)} mnemonics exact, {len(self.within)} within the freedom of the manual{doubt}>"
        )

    def tree(self) -> dict[str, list[str] | dict[str, bool] | str]:
        """For a report as JSON."""
        found: dict[str, list[str] | dict[str, bool] | str] = {
            "exact": self.exact,
            "within_freedom": self.within,
            "inexact_reached": {"address": self.address, "branch": self.branch},
        }
        return found | {"denormals": self.denormals} if self.denormals else found


Cell = tuple[str | int, ...]
"""What holds values, by name: a variable of a function (address-taken ones are one), a predicate, memory."""


@dataclass
class _Effect:
    """What an instruction reads and writes, by cell; those of ``address`` and ``branch`` decide where it goes."""

    inexact: bool
    reads: list[Cell] = field(default_factory=list)
    writes: list[Cell] = field(default_factory=list)
    address: list[Cell] = field(default_factory=list)
    branch: list[Cell] = field(default_factory=list)


class _Cells:
    """The cells of one function, and what its instructions do to them."""

    def __init__(self, function: Function, grf_size: int) -> None:
        self.function, self.grf_size, self.layout = function, grf_size, layout_of(function, grf_size)

    def effect(self, instruction: Instruction) -> _Effect:
        """What an instruction reads and writes."""
        instruction = meaning(instruction, self.grf_size)
        found = _Effect(class_of(instruction.desc) == WITHIN)
        for f in instruction.desc.fields:
            value = instruction.args.get(f.name)
            if value is not None and f.kind in _OPERANDS:
                self._operand(found, instruction.desc, f.name, value, f.kind in _RESULTS)
        self._predicate(found, instruction)
        self._memory(found, instruction)
        return found

    def _operand(self, found: _Effect, desc: InstructionDesc, name: str, value: object, is_result: bool) -> None:
        """An operand is a result, decides where control or a message goes, or is a plain source."""
        cells = self._cells(value)
        if isinstance(value, Indirect):
            found.address += cells[:1]
            found.reads += cells[:1]
        if is_result:
            found.writes += cells[-1:]
        elif _decides_flow(desc):
            found.branch += cells
        elif desc.memory is not MemoryKind.NONE and name not in _DATA:
            found.address += cells
            found.reads += cells
        else:
            found.reads += cells

    def _predicate(self, found: _Effect, instruction: Instruction) -> None:
        predicate = instruction.args.get("pred")
        if predicate is None:
            return
        cell: Cell = ("P", id(self.function), predicate.var)
        if instruction.desc.writes_predicate:
            found.writes.append(cell)
            return
        found.reads.append(cell)
        if _decides_flow(instruction.desc):
            found.branch.append(cell)

    def _memory(self, found: _Effect, instruction: Instruction) -> None:
        access, cell = instruction.desc.access, _memory_cell(instruction)
        if access in (Access.LOAD, Access.ATOMIC):
            found.reads.append(cell)
        if access in (Access.STORE, Access.ATOMIC):
            found.writes.append(cell)

    def _variable(self, var: int) -> Cell:
        root, _ = self.layout.root(var)
        # Registers whose addresses are taken are one file.
        where = "file" if root in self.layout.file_offsets else root
        return ("V", 0 if root < FIRST_VARIABLE else id(self.function), where)

    def _cells(self, value: object) -> list[Cell]:
        """The cells of an operand; a result goes to the last one."""
        if isinstance(value, Indirect):
            return [("A", id(self.function), value.var), ("V", id(self.function), "file")]
        if isinstance(value, Address):
            return [("A", id(self.function), value.var)]
        if isinstance(value, Predicate):
            return [("P", id(self.function), value.var)]
        if isinstance(value, State):
            return [("S", id(self.function), value.kind, value.var)]
        if isinstance(value, (list, tuple)):
            return [cell for one in value for cell in self._cells(one)]
        return [self._variable(value.var)] if isinstance(value, (General, Raw)) and value.var else []


def _decides_flow(desc: InstructionDesc) -> bool:
    """Whether an instruction's sources decide where lanes go on, or when; those of the last message are its payload."""
    return desc.flow not in (Flow.NEXT, Flow.END)


def _memory_cell(instruction: Instruction) -> Cell:
    """The memory that a message accesses: a numbered surface, local memory, or the rest."""
    number = instruction.args.get("surface")
    if is_local(instruction):
        return ("M", "local")
    if isinstance(number, int):
        return ("M", number)
    return ("M", int(number.bits)) if isinstance(number, Immediate) and number.bits else ("M", "flat")


def report(
    executed: Iterable[tuple[Function, int, Instruction]], grf_size: int, modes: FloatModes | None = None
) -> Report:
    """Classes of the instructions that executed, and whether inexact results may have decided where things went.

    What becomes of denormals is told where the ``modes`` of the program are given.

    The second part follows values through registers, predicates and memory to addresses and branches without regard to
    order, so it says yes too often rather than too seldom.
    """
    exact: set[str] = set()
    within: set[str] = set()
    cells: dict[int, _Cells] = {}
    effects: list[_Effect] = []
    computes = False
    for function, _, instruction in executed:
        if instruction.desc.is_directive:
            continue
        if id(function) not in cells:
            cells[id(function)] = _Cells(function, grf_size)
        effect = cells[id(function)].effect(instruction)
        effects.append(effect)
        computes = computes or _computes_floats(function, instruction)
        (within if effect.inexact else exact).add(instruction.desc.mnemonic)
    inexact = set(_spread(effects))
    return Report(
        sorted(exact),
        sorted(within),
        any(inexact.intersection(e.address) for e in effects),
        any(inexact.intersection(e.branch) for e in effects),
        "zeros" if computes and modes is not None and not modes.written else "",
    )


def _computes_floats(function: Function, instruction: Instruction) -> bool:
    """Whether denormals of an operand of an instruction matter."""
    if instruction.desc.category not in ("arithmetic", "compare"):
        return False
    return any(operand_type(function, op) in DENORMAL_BITS for op in instruction.args.values() if op is not None)


def _spread(effects: list[_Effect]) -> Iterator[Cell]:
    """The cells that inexact results reach."""
    readers: dict[Cell, list[_Effect]] = {}
    for e in effects:
        for cell in e.reads:
            readers.setdefault(cell, []).append(e)
    seen: set[Cell] = set()
    todo = [cell for e in effects if e.inexact for cell in e.writes]
    while todo:
        cell = todo.pop()
        if cell not in seen:
            seen.add(cell)
            yield cell
            todo += [w for e in readers.get(cell, ()) for w in e.writes]
