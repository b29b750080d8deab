"""Where the variables of a function live: alias chains, sizes, and the register file for variables whose addresses are taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from visa import types
from visa.diagnostics import Diagnostic, SimulationError, Span
from visa.operands import SCALAR, Address, General, Immediate, Indirect
from visa.program import FIRST_VARIABLE, Function, Instruction
from visa.types import DataType

CR0 = 14
ROUNDING_BITS = 0x30
DENORMAL_BITS = {types.DF: 0x40, types.F: 0x80, types.HF: 0x400}
"""The bits of %cr0 that keep the denormals of a type."""
_ALL_BITS = 0xFFFFFFFF


@dataclass
class Layout:
    """Registers of a function. ``sizes`` are in bytes by root variable; ``file_offsets`` place the address-taken roots."""

    function: Function
    roots: dict[int, tuple[int, int]] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    file_offsets: dict[int, int] = field(default_factory=dict)
    file_size: int = 64

    def root(self, var: int) -> tuple[int, int]:
        """The variable that holds the bytes of a variable, and the offset in it."""
        if var < FIRST_VARIABLE:
            return var, 0
        return self.roots[var]


def operand_type(function: Function, op: object) -> DataType:
    """The type of an operand's elements; that of state operands is ud."""
    if isinstance(op, General):
        return function.variable_type(op.var)
    if isinstance(op, (Immediate, Indirect)):
        return op.type
    return types.UD


def is_address_of(function: Function, mnemonic: str, op: object, dst: object) -> bool:
    """Whether a source means the address of a register: the encoding writes ``&V`` as a scalar region of V."""
    if not isinstance(op, General) or not isinstance(dst, Address):
        return False
    return mnemonic == "addr_add" or (
        mnemonic == "mov" and op.region == SCALAR and function.variable_type(op.var).size != 2
    )


def layout_of(function: Function) -> Layout:
    """Lay out the registers of a function.

    Raises:
        SimulationError: an alias names itself.
    """
    found = Layout(function)
    for number, variable in enumerate(function.variables):
        var, offset, seen = FIRST_VARIABLE + number, 0, set()
        while var >= FIRST_VARIABLE and function.variables[var - FIRST_VARIABLE].alias is not None:
            if var in seen or var - FIRST_VARIABLE >= len(function.variables):
                raise SimulationError(
                    Diagnostic(
                        "S021",
                        f"the alias of '{variable.name}' in '{function.name}' goes in a circle",
                        Span(function.file, 0),
                    )
                )
            seen.add(var)
            alias = function.variables[var - FIRST_VARIABLE].alias
            assert alias
            var, offset = alias[0], offset + alias[1]
        found.roots[FIRST_VARIABLE + number] = (var, offset)
        if var >= FIRST_VARIABLE:
            size = max(found.sizes.get(var, 0), offset + variable.size)
            found.sizes[var] = -(-size // 64) * 64
    for i in function.instructions:
        dst = i.args.get("dst")
        if isinstance(dst, Address) and is_address_of(function, i.desc.mnemonic, i.args.get("src0"), dst):
            root, _ = found.root(i.args["src0"].var)
            if root >= FIRST_VARIABLE and root not in found.file_offsets:
                found.file_offsets[root] = found.file_size
                found.file_size += found.sizes[root]
    return found


@dataclass(frozen=True)
class FloatModes:
    """What a program does with the float controls of %cr0.

    ``rounding``: it may change the rounding mode. ``flushed``: types whose denormals count as zeros while their bit is clear; those that are
    always kept are not in it. A program that never writes %cr0 keeps all denormals.
    """

    rounding: bool
    flushed: dict[DataType, int]


def float_modes(functions: Iterable[Function]) -> FloatModes:
    """The float modes of a kernel and the functions that it may call; the kernel comes first."""
    # Bits that are set before control can flow anywhere (labels and marks of functions lead nowhere), that are set and cleared somewhere.
    kept = set_somewhere = cleared = 0
    straight = True
    for function in functions:
        for i in function.instructions:
            straight = straight and (i.desc.category != "flow" or i.desc.mnemonic.startswith("."))
            dst = i.args.get("dst")
            if isinstance(dst, General) and _is_control(function, dst.var):
                sets, clears = _control_change(i)
                kept |= sets & ~clears if straight else 0
                set_somewhere, cleared = set_somewhere | sets, cleared | clears
        straight = False
    flushed = (
        {t: bit for t, bit in DENORMAL_BITS.items() if not bit & kept & ~cleared} if set_somewhere | cleared else {}
    )
    return FloatModes(bool(set_somewhere & ROUNDING_BITS), flushed)


def _control_change(instruction: Instruction) -> tuple[int, int]:
    """The bits that a write of %cr0 may set, and those that it may clear; those that it surely sets are in the first alone."""
    args = instruction.args
    constants = [op.bits & _ALL_BITS for op in (args.get("src0"), args.get("src1")) if isinstance(op, Immediate)]
    if len(constants) != 1 or args.get("pred") is not None:
        return _ALL_BITS, _ALL_BITS
    (bits,) = constants
    rest = bits ^ _ALL_BITS
    return {"or": (bits, 0), "and": (0, rest), "xor": (bits, bits), "mov": (bits, rest)}.get(
        instruction.desc.mnemonic, (_ALL_BITS, _ALL_BITS)
    )


def _is_control(function: Function, var: int) -> bool:
    while var >= FIRST_VARIABLE:
        alias = function.variables[var - FIRST_VARIABLE].alias
        if alias is None:
            return False
        var = alias[0]
    return var == CR0
