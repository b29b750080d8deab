"""Where the variables of a function live: alias chains, sizes, and the register file for address-taken ones."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from visakit.diagnostics import Diagnostic, SimulationError, Span
from visakit.isa.record import Flow, Rule
from visakit.language import types
from visakit.language.operands import SCALAR, SURFACE, Address, General, Immediate, Indirect, Raw
from visakit.language.platforms import MAXIMUM_GRF_SIZE
from visakit.language.program import FIRST_VARIABLE, AliasCircle, Function, Instruction, predefined_size
from visakit.language.types import DataType
from visakit.objects.payload import round_up

NULL, CR0, CE0 = 0, 14, 15
UNADDRESSED = (NULL, CR0, CE0)
"""Predefined variables without an address: writes of %cr0 take effect at once, %ce0 changes by itself."""
FILE_BEGIN = 64
"""Offset of the first variable in the register file; no variable has addresses before it, such as 0."""
FILE_GAP = 64
"""Unused bytes after each variable in the file, so that an access beyond one does not reach the next."""
ROUNDING_BITS = 0x30
DENORMAL_BITS = {types.DF: 0x40, types.F: 0x80, types.HF: 0x400}
"""The bits of %cr0 that keep the denormals of a type."""
ALL_BITS = 0xFFFFFFFF


@dataclass
class Layout:
    """Registers of a function: ``sizes`` in bytes by root variable; ``file_offsets`` place the address-taken roots.

    Predefined variables are among the roots when their address is taken: the file has a copy of them, which goes back
    to the thread before other functions run (``carried``).
    """

    function: Function
    grf_size: int
    roots: dict[int, tuple[int, int]] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    rooms: dict[int, int] = field(default_factory=dict)
    """Bytes of the registers that root variables take; storage holds them in pieces of 64 bytes."""
    file_offsets: dict[int, int] = field(default_factory=dict)
    file_ranges: list[tuple[int, int]] = field(default_factory=list)
    """The bytes of the file that are variables', from one to before another."""
    file_sizes: dict[int, int] = field(default_factory=dict)
    """Bytes of each variable in the file."""
    targets: dict[int, set[int]] = field(default_factory=dict)
    """By address variable the roots whose addresses instructions write to it."""
    file_size: int = FILE_BEGIN
    has_indirect: bool = False
    """Whether an operand reaches registers by their address."""

    def allow_overrun(self) -> None:
        """Let addresses lie anywhere in the file."""
        self.file_ranges = [(FILE_BEGIN, self.file_size)] if self.file_ranges else []

    def copy(self) -> Layout:
        """The same layout, which :meth:`put_behind` does not change."""
        return replace(self, roots=dict(self.roots), rooms=dict(self.rooms))

    def put_behind(self, first: int, second: int) -> None:
        """Lay a root variable out behind another one, as part of it; neither has its address taken."""
        at = self.rooms[first]
        self.rooms[first] = at + self.rooms.pop(second)
        self.sizes[first] = round_up(self.rooms[first], 64)
        del self.sizes[second]
        self.roots |= {var: (first, at + start) for var, (root, start) in self.roots.items() if root == second}

    def root(self, var: int) -> tuple[int, int]:
        """The variable that holds the bytes of a variable, and the offset in it."""
        if var < FIRST_VARIABLE:
            return var, 0
        return self.roots[var]

    def place(self, op: General) -> tuple[int, int, int]:
        """The root variable of a register operand, the byte at which the operand begins in it, bytes of an element."""
        root, start = self.root(op.var)
        size = self.function.variable_type(op.var).size
        return root, start + op.row * self.grf_size + op.col * size, size

    def room(self, root: int) -> int:
        """Bytes of a root variable that operands may touch: of its registers, of a predefined one just its own."""
        return self.rooms[root] if root >= FIRST_VARIABLE else predefined_size(root, self.grf_size)

    def holds(self, root: int, low: int, end: int) -> bool:
        """Whether bytes from ``low`` to before ``end`` of a root variable are its own."""
        return low >= 0 and end <= self.room(root)

    def has_elements(self, address: int, first: int, end: int) -> bool:
        """Whether an address variable has the elements from ``first`` to before ``end``."""
        return first >= 0 and end <= self.function.addresses[address].elements

    def overrun(self, variable: int, begin: int, end: int, what: str) -> str:
        """What errors say of bytes of a variable that reach beyond its registers; empty if they do not."""
        root, start = self.root(variable)
        if not variable or self.holds(root, start + begin, start + end):
            return ""
        room = max(self.room(root) - start, 0)
        return f"{what} reaches byte {end} of '{self.function.variable_name(variable)}', whose registers have {room},"

    def missing_elements(self, address: int, first: int, end: int) -> str:
        """What errors say of elements that an address variable lacks; empty if it has them."""
        if self.has_elements(address, first, end):
            return ""
        declared = self.function.addresses[address]
        return f"an operand reaches element {end - 1} of '{declared.name}', which has {declared.elements},"

    def missing_state(self, kind: int, index: int, element: int) -> str:
        """What errors say of an element that a surface or sampler variable lacks; empty if it has it."""
        function = self.function
        if element < (elements := function.state_elements(kind, index)):
            return ""
        name = function.surface_name(index) if kind == SURFACE else function.sampler_name(index)
        return f"an operand reaches element {element} of '{name}', which has {elements},"

    def outside(self, address: int) -> str:
        """What faults say of an address at which no variable lies: how far behind the nearest one it is."""
        before = [(start, root) for root, start in self.file_offsets.items() if start <= address]
        where = ""
        if before:
            start, root = max(before)
            name = self.function.variable_name(root)
            where = f", {address - start} bytes after the beginning of '{name}', which has {self.file_sizes[root]},"
        return f"register address {address}{where} lies outside the registers whose addresses are taken"

    @cached_property
    def lane_names(self) -> frozenset[int]:
        """The variables that are %ce0."""
        return frozenset((CE0, *(var for var, (root, _) in self.roots.items() if root == CE0)))

    @property
    def carried(self) -> list[tuple[int, int, int]]:
        """Predefined variables in the file: number, offset and bytes."""
        return [(root, at, self.sizes[root]) for root, at in self.file_offsets.items() if root < FIRST_VARIABLE]

    def address_of(self, op: General) -> int | None:
        """Where a register operand begins in the register file, as address variables hold it.

        None if nothing takes the address of its variable, or its address cannot be taken.
        """
        root, begin, _ = self.place(op)
        return self.file_offsets[root] + begin if root in self.file_offsets else None


def operand_type(function: Function, op: object) -> DataType:
    """The type of an operand's elements; that of state operands is ud."""
    if isinstance(op, General):
        return function.variable_type(op.var)
    if isinstance(op, (Immediate, Indirect)):
        return op.type
    return types.UD


def takes_address(function: Function, instruction: Instruction) -> General | None:
    """The register whose address an instruction takes; None if it takes none.

    The encoding writes ``&V`` as a scalar region of V. Numbers for address variables are words, so a scalar that is no
    word can only be an address.
    """
    if not isinstance(instruction.args.get("dst"), Address):
        return None
    source = instruction.args.get("src0")
    if not isinstance(source, General):
        return None
    is_address = source.region == SCALAR and function.variable_type(source.var).size != 2
    return source if is_address or Rule.ADDRESS_OF in instruction.desc.rules else None


def layout_of(function: Function, grf_size: int) -> Layout:
    """Lay out the registers of a function; ``grf_size`` in bytes.

    Raises:
        SimulationError: an alias names itself.
    """
    found = Layout(function, grf_size)
    for number, variable in enumerate(function.variables, FIRST_VARIABLE):
        found.roots[number] = _alias_root(function, number)
        if variable.alias is None:  # An alias may be longer, but has its root's bytes.
            found.sizes[number] = round_up(variable.size, 64)
            found.rooms[number] = round_up(variable.size, grf_size)
    for i in function.instructions:
        found.has_indirect = found.has_indirect or any(isinstance(value, Indirect) for value in i.args.values())
        register = takes_address(function, i)
        if register is not None:
            root, _ = found.root(register.var)
            found.targets.setdefault(i.args["dst"].var, set()).add(root)
            if root not in UNADDRESSED and root not in found.file_offsets:
                own = function.variable_size(root, grf_size)
                if root < FIRST_VARIABLE:
                    found.sizes[root] = round_up(predefined_size(root, MAXIMUM_GRF_SIZE), 64)
                found.file_offsets[root] = found.file_size
                found.file_sizes[root] = own
                found.file_ranges.append((found.file_size, found.file_size + own))
                found.file_size += found.sizes[root] + FILE_GAP
    return found


def _alias_root(function: Function, number: int) -> tuple[int, int]:
    """The variable at the end of a chain of aliases, and the offset in it."""
    try:
        return function.alias_root(number)
    except AliasCircle:
        message = f"the alias of '{function.variable_name(number)}' in '{function.name}' goes in a circle"
        raise SimulationError(Diagnostic("S021", message, Span(function.file, 0))) from None


def reads_lanes(layout: Layout, instruction: Instruction) -> bool:
    """Whether an instruction reads %ce0, which has the lanes that run at that moment."""
    names = layout.lane_names
    for name, op in instruction.args.items():
        if isinstance(op, (General, Raw)) and op.var in names and name != "dst":
            return True
    return False


@dataclass(frozen=True)
class FloatModes:
    """What a program does with the float controls of %cr0.

    ``rounding``: it may change the rounding mode. ``flushed``: types whose denormals count as zeros while their bit is
    clear; without bits that are always kept. Threads begin with zeros in %cr0, so that a program that never writes it
    (``written``) keeps no denormals.
    """

    rounding: bool
    flushed: dict[DataType, int]
    written: bool


def float_modes(functions: Iterable[Function]) -> FloatModes:
    """The float modes of a kernel and the functions that it may call; the kernel comes first."""
    # Bits that are set before control can go anywhere but to the next instruction, that are set and cleared somewhere.
    kept = set_somewhere = cleared = 0
    straight = True
    for function in functions:
        for i in function.instructions:
            flow = i.desc.flow
            straight = straight and (flow in (Flow.NEXT, Flow.LABEL) or flow.is_barrier)
            dst = i.args.get("dst")
            if isinstance(dst, General) and _is_control(function, dst.var):
                sets, clears = _control_change(i)
                kept |= sets & ~clears if straight else 0
                set_somewhere, cleared = set_somewhere | sets, cleared | clears
        straight = False
    flushed = {t: bit for t, bit in DENORMAL_BITS.items() if not bit & kept & ~cleared}
    return FloatModes(bool(set_somewhere & ROUNDING_BITS), flushed, bool(set_somewhere | cleared))


CONTROL_UPDATES: dict[str, Callable[[int, int], int]] = {
    "or": operator.or_,
    "and": operator.and_,
    "xor": operator.xor,
    "mov": lambda old, constant: constant,
}
"""New values from old ones and a constant, by the semantics of instructions that change single bits of %cr0."""


def _control_change(instruction: Instruction) -> tuple[int, int]:
    """The bits that a write of %cr0 may set, and those it may clear; bits surely set are in the first alone."""
    args = instruction.args
    constants = [op.bits & ALL_BITS for op in (args.get("src0"), args.get("src1")) if isinstance(op, Immediate)]
    if len(constants) != 1 or args.get("pred") is not None:
        return ALL_BITS, ALL_BITS
    update = CONTROL_UPDATES.get(instruction.desc.semantics)
    if update is None:
        return ALL_BITS, ALL_BITS
    (bits,) = constants
    return update(0, bits), update(ALL_BITS, bits) ^ ALL_BITS


def _is_control(function: Function, var: int) -> bool:
    while var >= FIRST_VARIABLE:
        alias = function.variables[var - FIRST_VARIABLE].alias
        if alias is None:
            return False
        var = alias[0]
    return var == CR0
