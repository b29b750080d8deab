"""Expressions of DWARF, as Intel's compiler writes them: where a value is, for a lane of a thread.

Besides the operations of DWARF 4 there are those of Intel (IGC's public sources): the number of the lane, a register by
its number, and bits of a register, in forms of this compiler and of older ones.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

FIRST_REGISTER = 16
"""DWARF's number of the register r0."""
_LANE, _REGISTERS, _OLD_BITS, _BITS = 0xED, 0xEB, 0xEC, 0xFE
_ADDRESS, _BRANCH, _SKIP, _IMPLICIT, _STACK_VALUE = 0x03, 0x28, 0x2F, 0x9E, 0x9F
_CONSTANT, _PLUS_CONSTANT, _PIECE, _BIT_PIECE, _AND, _EQUAL = 0x10, 0x23, 0x93, 0x9D, 0x1A, 0x29
_CONSTANTS = {0x08: "B", 0x09: "b", 0x0A: "H", 0x0B: "h", 0x0C: "I", 0x0D: "i", 0x0E: "Q", 0x0F: "q"}
_WORD = 1 << 64
MOST_STEPS = 1000


class RegisterBits(NamedTuple):
    """Bits of a hardware register; ``size`` 0 where only the register is named."""

    register: int
    bit: int
    size: int


class ValuePart(NamedTuple):
    """A part of a value.

    Attributes:
        size: in bits; 0 for the whole value.
        where: bits of registers, an address of memory, or the bytes themselves; None where it is nowhere.
    """

    size: int
    where: RegisterBits | int | bytes | None


class UnknownLocation(Exception):
    """An operation is not known, or has no meaning here."""


class PlaceMachine:
    """Evaluates expressions for one lane.

    Args:
        lane: its number.
        read: the value of bits of a register.
        load: the value at an address of memory, of so many bytes.

    Attributes:
        uses_lane: whether the expression has asked for the lane.
    """

    def __init__(self, lane: int, read: Callable[[RegisterBits], int], load: Callable[[int, int], int]) -> None:
        self.lane, self.read, self.load = lane, read, load
        self.stack: list[int | RegisterBits] = []
        self.parts: list[ValuePart] = []
        self.is_value = self.uses_lane = False
        self.bytes: bytes | None = None

    def run(self, code: bytes) -> list[ValuePart]:
        """The parts of the value, from its lowest bits on.

        Raises:
            Unknown: see there.
        """
        at = steps = 0
        try:
            while at < len(code):
                at = self.step(code, at)
                steps += 1
                if steps > MOST_STEPS:
                    raise UnknownLocation("the expression does not end")
        except (IndexError, struct.error):
            raise UnknownLocation("the expression is damaged") from None
        if not self.parts:
            if len(self.stack) > 1:
                raise UnknownLocation("the expression leaves several values")
            own = self.stack[-1] if self.stack else None
            if isinstance(own, RegisterBits) and own.size and not self.is_value:
                self.stack[-1] = self.read(own)  # The register has the address.
            self.parts.append(ValuePart(0, self.top()))
        return self.parts

    def number(self) -> int:
        """The number at the top, which is taken away."""
        found = self.stack.pop()
        return self.read(found) if isinstance(found, RegisterBits) else found

    def top(self) -> RegisterBits | int | bytes | None:
        """What the expression has found so far, which is taken away."""
        found: RegisterBits | int | bytes | None = self.bytes
        if found is None and self.stack:
            own = self.stack.pop()
            found = own.to_bytes(8, "little") if self.is_value and not isinstance(own, RegisterBits) else own
        self.bytes, self.is_value = None, False
        self.stack.clear()
        return found

    def step(self, code: bytes, at: int) -> int:
        """Do an operation; gives the place of the next one."""
        op, at = code[at], at + 1
        if 0x30 <= op <= 0x4F:
            self.stack.append(op - 0x30)
        elif 0x50 <= op <= 0x6F:
            self.stack.append(RegisterBits(op - 0x50, 0, 0))
        elif op in _CONSTANTS:
            self.stack.append(struct.unpack_from(f"<{_CONSTANTS[op]}", code, at)[0] % _WORD)
            at += struct.calcsize(_CONSTANTS[op])
        elif op in _ALONE:
            _ALONE[op](self)
        elif op in _BINARY:
            self.binary(op)
        elif op in (_BRANCH, _SKIP):
            (distance,) = struct.unpack_from("<h", code, at)
            at += 2 + (distance if op == _SKIP or self.number() else 0)
        else:
            at = self.with_operand(op, code, at)
        return at

    def with_operand(self, op: int, code: bytes, at: int) -> int:
        """An operation that has operands behind it."""
        if op == _ADDRESS:
            self.stack.append(struct.unpack_from("<Q", code, at)[0])
            return at + 8
        operand, at = _leb128(code, at)
        if op == _CONSTANT:
            if operand > 0x7F:  # Compilers write 1000 as 0xe8 0x03, the bytes of a word, where DWARF has 0xe8 0x07.
                raise UnknownLocation("it is computed with a constant that the compiler may write wrongly")
            self.stack.append(operand)
        elif op == 0x90:
            self.stack.append(RegisterBits(operand, 0, 0))
        elif op == _PLUS_CONSTANT:
            self.stack.append((self.number() + operand) % _WORD)
        elif op == _BITS:
            bit = self.number()
            self.stack.append(RegisterBits(self.number(), bit, operand))
        elif op == _PIECE:
            self.parts.append(ValuePart(8 * operand, self.top()))
        elif op == _BIT_PIECE:
            offset, at = _leb128(code, at)
            own = self.top()
            if isinstance(own, RegisterBits):
                own = own._replace(bit=own.bit + offset)
            self.parts.append(ValuePart(operand, own))
        elif op == 0x94:
            self.stack.append(self.load(self.number(), operand))
        elif op == _IMPLICIT:
            self.bytes = code[at : at + operand]
            at += operand
        else:
            raise UnknownLocation(f"the operation {op:#x} is not known")
        return at

    def binary(self, op: int) -> None:
        b = self.stack.pop()
        a = self.stack[-1]
        if op == _AND and isinstance(a, RegisterBits) and isinstance(b, int) and b & (b + 1) == 0:
            self.stack[-1] = a._replace(size=min(a.size, b.bit_length()))  # Its low bits: it stays a place.
            return
        self.stack.append(b)
        right = self.number()
        left = self.number()
        self.stack.append(int(_BINARY[op](left, right)) % _WORD)

    def push_lane(self) -> None:
        self.uses_lane = True
        self.stack.append(self.lane)

    def old_bits(self) -> None:
        size, bit, register = self.number(), self.number(), self.stack.pop()
        if not isinstance(register, RegisterBits):
            raise UnknownLocation("bits of no register")
        self.stack.append(register._replace(bit=bit, size=size))


def _signed(number: int) -> int:
    return number - _WORD if number >> 63 else number


def _swap(machine: PlaceMachine) -> None:
    machine.stack[-2:] = machine.stack[:-3:-1]


def _mark(machine: PlaceMachine) -> None:
    machine.is_value = True


_ALONE: dict[int, Callable[[PlaceMachine], object]] = {
    0x00: lambda m: None,  # The compiler's jumps over a part end in front of its last byte, which is 0.
    0x06: lambda m: m.stack.append(m.load(m.number(), 8)),
    0x12: lambda m: m.stack.append(m.stack[-1]),
    0x13: lambda m: m.stack.pop(),
    0x14: lambda m: m.stack.append(m.stack[-2]),
    0x16: _swap,
    0x18: lambda m: m.stack.pop(-2),  # The space of an address: all of ours are one.
    0x1F: lambda m: m.stack.append(-m.number() % _WORD),
    0x20: lambda m: m.stack.append(~m.number() % _WORD),
    0x96: lambda m: None,
    _STACK_VALUE: _mark,
    _LANE: lambda m: m.push_lane(),
    _REGISTERS: lambda m: m.stack.append(RegisterBits(m.number(), 0, 0)),
    _OLD_BITS: PlaceMachine.old_bits,
}
_BINARY: dict[int, Callable[[int, int], int]] = {
    _AND: lambda a, b: a & b, 0x1C: lambda a, b: a - b, 0x1E: lambda a, b: a * b, 0x21: lambda a, b: a | b,
    0x22: lambda a, b: a + b, 0x24: lambda a, b: a << min(b, 64), 0x25: lambda a, b: a >> min(b, 64),
    0x26: lambda a, b: _signed(a) >> min(b, 64), 0x27: lambda a, b: a ^ b, _EQUAL: lambda a, b: a == b,
    0x2A: lambda a, b: _signed(a) >= _signed(b), 0x2B: lambda a, b: _signed(a) > _signed(b),
    0x2C: lambda a, b: _signed(a) <= _signed(b), 0x2D: lambda a, b: _signed(a) < _signed(b),
    0x2E: lambda a, b: a != b,
}  # fmt: skip


def _leb128(code: bytes, at: int) -> tuple[int, int]:
    """An unsigned number of variable length, and the place behind it."""
    value = shift = 0
    while True:
        byte = code[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return value, at
