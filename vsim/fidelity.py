"""How exact a run was: the class of every instruction that executed, and where results of inexact ones went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from visa.isa.record import InstructionDesc
from visa.operands import Address, General, Immediate, Indirect, Predicate, State
from visa.program import FIRST_VARIABLE, Function, Instruction
from vsim.atomics import is_local
from vsim.refused import RAW_MESSAGES, REFUSED
from vsim.registers import layout_of
from vsim.semantics import ALLOWED_DEVIATION
from vsim.semantics.messages import equivalent

EXACT, WITHIN, REFUSED_CLASS = "exact", "within freedom", "refused"
_MESSAGES = ("memory", "lsc", "sampler")
_DATA = ("src", "src0", "src1", "src2", "data", "outputs")
"""Fields of messages that carry data; all others say where."""


def class_of(desc: InstructionDesc) -> str:
    """``exact``, ``within freedom`` or ``refused``. A raw message is what its twin is."""
    return REFUSED_CLASS if desc.semantics in REFUSED else WITHIN if desc.semantics in ALLOWED_DEVIATION else EXACT


@dataclass
class Report:
    """Mnemonics that executed, by class, and whether a result within the manual's freedom may have reached an address or a branch."""

    exact: list[str]
    within: list[str]
    address: bool
    branch: bool

    def tree(self) -> dict[str, Any]:
        """For a report as JSON."""
        return {
            "exact": self.exact,
            "within_freedom": self.within,
            "inexact_reached": {"address": self.address, "branch": self.branch},
        }


Cell = tuple[Any, ...]


@dataclass
class _Effect:
    """What an instruction reads and writes, by cell; ``address`` and ``branch`` are the cells that decide where it goes."""

    reads: list[Cell]
    writes: list[Cell]
    address: list[Cell]
    branch: list[Cell]
    inexact: bool


class _Cells:
    """Names for what holds values: variables (all of a kind in one function), address variables, predicates, and memory by surface."""

    def __init__(self, function: Function) -> None:
        self.function, self.layout = function, layout_of(function)

    def variable(self, var: int) -> Cell:
        root, _ = self.layout.root(var)
        # Registers whose addresses are taken are one file.
        where = "file" if root in self.layout.file_offsets else root
        return ("V", 0 if root < FIRST_VARIABLE else id(self.function), where)

    def operand(self, value: Any) -> list[Cell]:
        if isinstance(value, General):
            return [self.variable(value.var)] if value.var else []
        if isinstance(value, Indirect):
            return [("A", id(self.function), value.var), ("V", id(self.function), "file")]
        if isinstance(value, Address):
            return [("A", id(self.function), value.var)]
        if isinstance(value, Predicate):
            return [("P", id(self.function), value.var)]
        if isinstance(value, State):
            return [("S", id(self.function), value.kind, value.var)]
        if isinstance(value, (list, tuple)):
            return [self.variable(raw.var) for raw in value if raw.var]
        return [self.variable(value.var)] if getattr(value, "var", 0) else []


def _memory(instruction: Instruction) -> Cell:
    """The memory that a message accesses: a numbered surface, local memory, or the rest."""
    args = instruction.args
    number = args.get("surface")
    if is_local(instruction):
        return ("M", "local")
    if isinstance(number, int):
        return ("M", number)
    return ("M", int(number.bits)) if isinstance(number, Immediate) and number.bits else ("M", "flat")


def _effect(cells: _Cells, instruction: Instruction, grf_size: int) -> _Effect:
    if instruction.desc.semantics in RAW_MESSAGES:
        instruction = equivalent(instruction, grf_size) or instruction
    desc, args = instruction.desc, instruction.args
    reads: list[Cell] = []
    writes: list[Cell] = []
    address: list[Cell] = []
    branch: list[Cell] = []
    message = desc.category in _MESSAGES
    for f in desc.fields:
        value = args.get(f.name)
        if value is None or f.kind not in ("d", "s", "r", "w", "r*", "r!"):
            continue
        found = cells.operand(value)
        if isinstance(value, Indirect):
            address += found[:1]
        if f.kind in ("d", "w"):
            writes += found[-1:]
        elif desc.category in ("flow", "sync"):
            branch += found
        elif message and f.name not in _DATA:
            address += found
        else:
            reads += found
    if args.get("pred") is not None:
        pred = [("P", id(cells.function), args["pred"].var)]
        if desc.mnemonic == "add3.o":
            writes += pred
        else:
            branch += pred if desc.category == "flow" else []
            reads += pred
    if message:
        memory = _memory(instruction)
        reads += [memory]
        writes += [memory] if "atomic" in desc.mnemonic or not any(f.kind == "w" for f in desc.fields) else []
    return _Effect(reads + address, writes, address, branch, class_of(desc) == WITHIN)


def report(executed: Iterable[tuple[Function, int, Instruction]], grf_size: int) -> Report:
    """Classes of the instructions that executed, and whether inexact results may have decided where memory was accessed or control went.

    The second part follows values through registers, predicates and memory without regard to order, so it says yes too often rather than
    too seldom.
    """
    exact: set[str] = set()
    within: set[str] = set()
    cells: dict[int, _Cells] = {}
    effects: list[_Effect] = []
    for function, _, instruction in executed:
        if instruction.desc.mnemonic.startswith("."):
            continue
        effect = _effect(cells.setdefault(id(function), _Cells(function)), instruction, grf_size)
        effects.append(effect)
        (within if effect.inexact else exact).add(instruction.desc.mnemonic)
    inexact = set(_spread(effects))
    return Report(
        sorted(exact),
        sorted(within),
        any(inexact.intersection(e.address) for e in effects),
        any(inexact.intersection(e.branch) for e in effects),
    )


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
