"""Where the variables of a body live: alias chains, sizes, and the register file for variables whose addresses are taken."""

from __future__ import annotations

from dataclasses import dataclass, field

from visa import types
from visa.diagnostics import Diagnostic, SimulationError, Span
from visa.operands import SCALAR, Address, General, Immediate, Indirect
from visa.program import FIRST_VARIABLE, Body
from visa.types import DataType

CR0 = 14
ROUNDING_BITS = 0x30


@dataclass
class Layout:
    """Registers of a body. ``sizes`` are in bytes by root variable; ``file_offsets`` place the address-taken roots."""

    body: Body
    roots: dict[int, tuple[int, int]] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    file_offsets: dict[int, int] = field(default_factory=dict)
    file_size: int = 64
    changes_rounding: bool = False

    def root(self, var: int) -> tuple[int, int]:
        """The variable that holds the bytes of a variable, and the offset in it."""
        if var < FIRST_VARIABLE:
            return var, 0
        return self.roots[var]


def operand_type(body: Body, op: object) -> DataType:
    """The type of an operand's elements; that of state operands is ud."""
    if isinstance(op, General):
        return body.variable_type(op.var)
    if isinstance(op, (Immediate, Indirect)):
        return op.type
    return types.UD


def is_address_of(body: Body, mnemonic: str, op: object, dst: object) -> bool:
    """Whether a source means the address of a register: the encoding writes ``&V`` as a scalar region of V."""
    if not isinstance(op, General) or not isinstance(dst, Address):
        return False
    return mnemonic == "addr_add" or (mnemonic == "mov" and op.region == SCALAR and body.variable_type(op.var).size != 2)


def layout_of(body: Body) -> Layout:
    """Lay out the registers of a body.

    Raises:
        SimulationError: an alias names itself.
    """
    found = Layout(body)
    for number, variable in enumerate(body.variables):
        var, offset, seen = FIRST_VARIABLE + number, 0, set()
        while var >= FIRST_VARIABLE and body.variables[var - FIRST_VARIABLE].alias is not None:
            if var in seen or var - FIRST_VARIABLE >= len(body.variables):
                raise SimulationError(Diagnostic("S021", f"the alias of '{variable.name}' in '{body.name}' goes in a circle", Span(body.file, 0)))
            seen.add(var)
            alias = body.variables[var - FIRST_VARIABLE].alias
            assert alias
            var, offset = alias[0], offset + alias[1]
        found.roots[FIRST_VARIABLE + number] = (var, offset)
        if var >= FIRST_VARIABLE:
            size = max(found.sizes.get(var, 0), offset + variable.size)
            found.sizes[var] = -(-size // 64) * 64
    for i in body.instructions:
        dst = i.args.get("dst")
        if isinstance(dst, Address) and is_address_of(body, i.form.mnemonic, i.args.get("src0"), dst):
            root, _ = found.root(i.args["src0"].var)
            if root >= FIRST_VARIABLE and root not in found.file_offsets:
                found.file_offsets[root] = found.file_size
                found.file_size += found.sizes[root]
        if isinstance(dst, General) and found.root(dst.var)[0] == CR0:
            changed = [i.args[s] for s in ("src0", "src1") if isinstance(i.args.get(s), Immediate)]
            if not changed or any(op.bits & ROUNDING_BITS for op in changed if op.type is not types.DF):
                found.changes_rounding = True
    return found
