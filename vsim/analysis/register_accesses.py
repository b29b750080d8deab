"""Which bytes of which registers an instruction reads and writes, without executing it.

Registers are the root variables of a function (aliases are resolved), its predicates and its address variables. Sets of
their bytes (bits of predicates, elements of addresses) are integers.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from typing import NamedTuple

from visakit.isa.enums import LIFETIME_CLASSES
from visakit.isa.record import Flow, Rule
from visakit.isa.systolic import NAMES, bits_of, group_of, row_bytes
from visakit.language.operands import (
    ACTIVE_LANES,
    MAXIMUM_LANES,
    SCALAR,
    Address,
    Execution,
    General,
    Indirect,
    Predicate,
    PredicateControl,
    Raw,
    region_elements,
)
from visakit.language.program import ARG, FIRST_VARIABLE, RETVAL, Function, Instruction
from visakit.rules.message_sizes import message_sizes
from vsim.semantics.products import halves, is_wide_product
from vsim.semantics.registers import Layout


class Bank(enum.IntEnum):
    """The register files, each with separate registers."""

    GENERAL = 0
    PREDICATE = 1
    ADDRESS = 2


class Register(NamedTuple):
    """A register of a function, by its number there; of general ones that of a root variable."""

    file: Bank
    number: int


class RegisterAccess(NamedTuple):
    """An access of an operand.

    ``places`` is the set of bytes of the register; ``whole`` says of a write that every lane whose bytes these are
    writes them, if it runs; ``crosses`` says of a read that lanes may read bytes of lanes that do not run.
    """

    register: Register
    places: int
    writes: bool
    whole: bool = False
    crosses: bool = False


def bytes_from(low: int, end: int) -> int:
    """The set of bytes from one to before another."""
    return (1 << max(low, end)) - (1 << low)


_LIFETIME = "lifetime"
_FILES = {
    LIFETIME_CLASSES["V"]: Bank.GENERAL,
    LIFETIME_CLASSES["A"]: Bank.ADDRESS,
    LIFETIME_CLASSES["P"]: Bank.PREDICATE,
}
R0 = 7
_IN_R0 = (1, 2, 3, 4, 5, R0)
"""%r0, and the numbers of threads and groups, which are parts of it."""
PAYLOAD_REGISTERS = (R0, ARG, RETVAL)
"""The predefined variables that take registers as declared ones do."""


class Accesses:
    """The accesses of the instructions of a function."""

    def __init__(self, function: Function, layout: Layout) -> None:
        self.function, self.layout = function, layout
        self.pointed_to = _pointed_to(layout)
        self._masks: dict[tuple[object, ...], int] = {}
        self._known: dict[int, tuple[Instruction, list[RegisterAccess]]] = {}
        """Accesses by the identity of their instruction, which lives as long as they do."""

    def of(self, i: Instruction) -> list[RegisterAccess]:
        """The accesses of an instruction, reads first."""
        known = self._known.get(id(i))
        if known is None:
            known = self._known[id(i)] = i, self._of(i)
        return known[1]

    def _of(self, i: Instruction) -> list[RegisterAccess]:
        args = i.args
        operands = [*_operands(i)]
        if is_wide_product(i):
            operands.append(("dst", "d", halves(i, self.layout.grf_size)[1]))
        found = [access for name, kind, op in operands for access in self._operand(i, name, kind, op)]
        predicate = args.get("pred")
        if isinstance(predicate, PredicateControl):
            found += self._predication(i, predicate)
        found += self._payloads(i)
        if i.desc.semantics == _LIFETIME and not i.desc.fixed["end"]:
            found += self._begins(i)
        return sorted(found, key=lambda access: access.writes)

    def beyond(self, i: Instruction) -> set[Register]:
        """The variables that operands of an instruction exceed; with any, the instruction faults."""
        return {a.register for a in self.of(i) if a.places.bit_length() > self._room(a.register)}

    def _room(self, register: Register) -> float:
        """Bytes (of address variables: elements) that operands may touch."""
        file, number = register
        if file is Bank.ADDRESS:
            return self.function.addresses[number].elements
        return self.layout.rooms[number] if file is Bank.GENERAL and number >= FIRST_VARIABLE else math.inf

    # -- operands ------------------------------------------------------------------------------------------

    def _operand(self, i: Instruction, name: str, kind: str, op: object) -> Iterator[RegisterAccess]:
        writes = kind in "dw"
        execution = i.args.get("exec") or ACTIVE_LANES
        whole = i.args.get("pred") is None or Rule.SELECTS in i.desc.rules
        crosses = not writes and (execution.no_mask and execution.size > 1)
        if isinstance(op, General) and name in (systolic := _systolic_sizes(i, self.function)):
            root, begin, _ = self.layout.place(op)
            yield from self._bytes(root, begin, systolic[name], writes, whole, True)
        elif isinstance(op, General):
            broadcasts = not writes and op.region == SCALAR and execution.size > 1
            yield from self._general(op, execution.size, writes, whole, crosses or broadcasts)
        elif isinstance(op, Raw) and op.var:
            yield from self._bytes(op.var, op.offset, self._size(i, name, op), writes, whole, crosses)
        elif isinstance(op, Indirect):
            yield self._address(op.var, op.element, execution.size, False)
            for root in self.pointed_to.get(op.var, ()):
                yield RegisterAccess(self._general_register(root), self.all_of(root), writes, False, not writes)
        elif isinstance(op, Address):
            yield self._address(op.var, op.offset, execution.size, writes, whole)
        elif isinstance(op, Predicate):
            places = bytes_from(execution.offset, execution.offset + execution.size)
            yield RegisterAccess(Register(Bank.PREDICATE, op.var), places, writes, whole)

    def _general(self, op: General, count: int, writes: bool, whole: bool, crosses: bool) -> Iterator[RegisterAccess]:
        root, begin, size = self.layout.place(op)
        if root in _IN_R0:
            yield RegisterAccess(self._general_register(R0), bytes_from(0, self.layout.grf_size), writes, False)
            return
        if root < FIRST_VARIABLE and root not in PAYLOAD_REGISTERS:
            return
        key = op.region, count, size
        mask = self._masks.get(key)
        if mask is None:
            mask = 0
            for element in region_elements(op.region, count):
                mask |= bytes_from(element * size, (element + 1) * size)
            self._masks[key] = mask
        yield RegisterAccess(self._general_register(root), mask << max(0, begin), writes, whole, crosses)

    def _bytes(
        self, var: int, offset: int, size: int, writes: bool, whole: bool, crosses: bool
    ) -> Iterator[RegisterAccess]:
        root, start = self.layout.root(var)
        if size and (root >= FIRST_VARIABLE or root in PAYLOAD_REGISTERS):
            places = bytes_from(start + offset, start + offset + size)
            yield RegisterAccess(self._general_register(root), places, writes, whole, crosses)

    def _address(self, var: int, offset: int, count: int, writes: bool, whole: bool = False) -> RegisterAccess:
        return RegisterAccess(Register(Bank.ADDRESS, var), bytes_from(offset, offset + count), writes, whole)

    def _predication(self, i: Instruction, control: PredicateControl) -> Iterator[RegisterAccess]:
        execution: Execution = i.args.get("exec") or ACTIVE_LANES
        register = Register(Bank.PREDICATE, control.var)
        places = bytes_from(execution.offset, execution.offset + execution.size)
        if control.mode or i.desc.flow is Flow.JUMP:
            places = bytes_from(0, self.function.predicate_bits(control.var))
        yield RegisterAccess(register, places, i.desc.writes_predicate, i.desc.writes_predicate)

    def _payloads(self, i: Instruction) -> Iterator[RegisterAccess]:
        """The registers of arguments and results of calls and returns."""
        grf = self.layout.grf_size
        if i.desc.flow.calls_function:
            for var, count, writes in ((ARG, i.args["arg_grf"], False), (RETVAL, i.args["ret_grf"], True)):
                yield from self._bytes(var, 0, count * grf, writes, True, True)
        elif i.desc.flow is Flow.RETURN and not self.function.is_kernel:
            count = self.function.integer_attribute("RetValSize", self.function.return_size)
            yield from self._bytes(RETVAL, 0, count * grf, False, False, True)

    def _begins(self, i: Instruction) -> Iterator[RegisterAccess]:
        """The mark from which on the contents of a variable count: earlier contents are dead."""
        file, number = _FILES[i.args["class"]], i.args["variable"]
        if file is Bank.GENERAL:
            yield from self._bytes(
                number, 0, self.function.variable_size(number, self.layout.grf_size), True, True, False
            )
        else:
            yield RegisterAccess(Register(file, number), bytes_from(0, MAXIMUM_LANES), True, True)

    def _general_register(self, root: int) -> Register:
        return Register(Bank.GENERAL, root)

    def all_of(self, root: int) -> int:
        """All bytes of a general variable."""
        return bytes_from(0, self.function.variable_size(root, self.layout.grf_size))

    def _size(self, i: Instruction, name: str, op: Raw) -> int:
        """Bytes of a message operand; to the end of its variable where nothing says them."""
        sizes = _systolic_sizes(i, self.function) or message_sizes(i, self.layout.grf_size)
        said = sizes.get(name) or _registers_of(i, name) * self.layout.grf_size or i.args.get(f"{name}_bytes", 0)
        rest = self.function.variable_size(op.var, self.layout.grf_size) - op.offset
        return max(0, rest) if said == 0 and name not in sizes else said


def _operands(i: Instruction) -> Iterator[tuple[str, str, object]]:
    """Names, kinds (d or s, of messages w or r) and values of the operands of an instruction."""
    for f in i.desc.fields:
        if f.name and f.kind[:1] in "dswr" and f.kind in ("d", "s", "w", "r", "r*", "r!"):
            op = i.args.get(f.name)
            for one in op if isinstance(op, (tuple, list)) else (op,):
                yield f.name, f.kind[0], one


_COUNTS = {"src": "src_grfs", "dst": "dst_grfs", "src0": "src0_grfs", "src1": "src1_grfs"}


def _registers_of(i: Instruction, name: str) -> int:
    """The registers of an operand of a raw message."""
    count: int = i.args.get(_COUNTS.get(name, ""), 0)
    return count


def _systolic_sizes(i: Instruction, function: Function) -> dict[str, int]:
    """Bytes of the operands of a systolic product; empty for other instructions."""
    args = i.args
    if Rule.SYSTOLIC not in i.desc.rules:
        return {}
    lanes, rows, depth = args["exec"].size, args["count"], args["depth"]
    weights, activations = NAMES[args["src1_precision"]], NAMES[args["src2_precision"]]
    found = {name: rows * lanes * function.variable_type(args[name].var).size for name in ("dst", "src0")}
    found["src1"] = lanes * depth * group_of(weights, activations) * bits_of(weights) // 8
    return found | {"src2": rows * row_bytes(weights, activations, depth)}


def _pointed_to(layout: Layout) -> dict[int, frozenset[int]]:
    """The root variables whose addresses each address variable may hold."""
    found = {n: set(layout.targets.get(n, ())) for n in range(len(layout.function.addresses))}
    copies: list[tuple[int, int]] = []
    for i in layout.function.instructions if found else ():
        if isinstance(dst := i.args.get("dst"), Address):
            copies += [(op.var, dst.var) for _, kind, op in _operands(i) if kind == "s" and isinstance(op, Address)]
    while any(not found[source] <= found[target] for source, target in copies):
        for source, target in copies:
            found[target] |= found[source]
    anywhere = frozenset().union(*found.values()) if found else frozenset()
    return {n: frozenset(roots) or anywhere for n, roots in found.items()}
