"""Instructions to bytes and back, driven by the table (manual, chapter 4)."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Iterable

from visakit.binary.legality import SCALAR_SOURCE, checks_of, illegal_operand, slot_of
from visakit.binary.matrices import addressing_of, illegal_matrix
from visakit.isa import InstructionDesc, InstructionSet, instruction_set
from visakit.isa.layout import Field, target_outputs, width_of
from visakit.language import types
from visakit.language.operands import (
    Address,
    Execution,
    General,
    Immediate,
    Indirect,
    Predicate,
    PredicateControl,
    Raw,
    Region,
    State,
    VectorOperand,
)
from visakit.language.program import FIRST_VARIABLE, MAXIMUM_PREDICATES, Fields, Function, Instruction

_STRIDES = {None: 0, 0: 1, 1: 2, 2: 3, 4: 4, 8: 5, 16: 6, 32: 7}
_STRIDE_OF = {v: k for k, v in _STRIDES.items()}
_WIDE = frozenset({types.DF, types.Q, types.UQ})
_WIDE_CODES = frozenset(t.code for t in _WIDE)
_VECTOR_SIZES = {0: 9, 1: 5, 2: 3, 3: 9, 5: 6, 6: 5}
"""Bytes of a vector operand by class; a wide immediate has four more."""
_MODES = {"": 0, "any": 1 << 13, "all": 2 << 13}
_INVERSE = 1 << 15


class DecodeError(Exception):
    """Bytes that are no instruction; ``offset`` counts from the start of the data."""

    def __init__(self, offset: int, message: str) -> None:
        self.offset, self.message = offset, message
        super().__init__(f"{message} at offset {offset:#x}")


def region_code(region: Region) -> int:
    """The two bytes of a region: codes of vertical stride, width and horizontal stride, four bits each."""
    v, w, h = region
    return _STRIDES[v] | _STRIDES[w] << 4 | _STRIDES[h] << 8


def encode_vector(op: VectorOperand) -> bytes:
    """Tag and contents of a vector operand."""
    tag = op.modifier << 3
    if type(op) is General:
        return struct.pack("<BIBBH", tag, op.var, op.row, op.col, region_code(op.region))
    if type(op) is Immediate:
        return struct.pack("<BBQ" if op.type in _WIDE else "<BBI", tag | 5, op.type.code, op.bits)
    if type(op) is Address:
        return struct.pack("<BHBB", tag | 1, op.var, op.offset, op.width.bit_length() - 1)
    if type(op) is Predicate:
        return struct.pack("<BH", tag | 2, op.var)
    if type(op) is Indirect:
        return struct.pack("<BHBhBH", tag | 3, op.var, op.element, op.offset, op.type.code, region_code(op.region))
    assert type(op) is State
    return struct.pack("<BBHB", tag | 6, op.kind, op.var, op.offset)


def encode_predicate(pred: PredicateControl | None) -> int:
    """The two bytes of the predicate of an instruction; 0 without one."""
    if pred is not None and not 0 < pred.var <= MAXIMUM_PREDICATES:
        raise OverflowError(f"predicate {pred.var} has no number in front of an instruction")
    return 0 if pred is None else pred.var | _MODES[pred.mode] | (_INVERSE if pred.inverse else 0)


def encode_exec(execution: Execution) -> int:
    """The byte of execution size (its logarithm) and mask."""
    return execution.size.bit_length() - 1 | execution.mask << 4


@functools.cache
def plain_operands(desc: InstructionDesc) -> tuple[tuple[str, int], ...] | None:
    """Names of the operands, each with its slot, -1 of a message operand; None for instructions that have other fields.

    The plain instructions, of execution size, predicate and operands, are most of a kernel and are coded the short way.
    """
    plain = [f.kind for f in desc.fields[:2]] == ["ec", "pr"] and not any(
        f.condition or f.copy_of or f.constant is not None for f in desc.fields
    )
    if not plain or any(f.kind not in ("d", "s", "r", "w") for f in desc.fields[2:]):
        return None
    return tuple((f.name, -1 if f.kind in ("r", "w") else slot_of(desc, f.name, f.kind)) for f in desc.fields[2:])


class Encoder:
    """Encodes instructions; remembers the bytes of operands that it has seen.

    The same operand is the same object wherever the assembler read the same word, and equal lines share their fields:
    most are found by identity. These are kept alive, so that no other object gets their identity.
    """

    def __init__(self) -> None:
        self._seen: dict[int, bytes] = {}
        self._whole: dict[int, bytes] = {}
        self._keep: list[VectorOperand | Raw | Fields] = []
        self._heads: dict[tuple[InstructionDesc, Execution, PredicateControl | None], bytes] = {}
        self._emitters: dict[InstructionDesc, tuple[Callable[[Fields], bytes], ...]] = {}

    def encode(self, instructions: Iterable[Instruction]) -> list[bytes]:
        """The bytes of each instruction."""
        found: list[bytes] = []
        whole = self._whole
        for instruction in instructions:
            args = instruction.args
            known = whole.get(id(args))
            if known is None:
                self._keep.append(args)
                known = whole[id(args)] = self._encode(instruction.desc, args)
            found.append(known)
        return found

    def _encode(self, desc: InstructionDesc, args: Fields) -> bytes:
        plain = plain_operands(desc)
        if plain is None:
            if desc not in self._emitters:
                self._emitters[desc] = tuple(self._emitter(f) for f in desc.fields)
            return b"".join([desc.opcode.to_bytes(1, "little"), *[emit(args) for emit in self._emitters[desc]]])
        key = (desc, args["exec"], args["pred"])
        head = self._heads.get(key)
        if head is None:
            head = self._heads[key] = struct.pack(
                "<BBH", desc.opcode, encode_exec(args["exec"]), encode_predicate(args["pred"])
            )
        seen = self._seen
        parts = [head]
        for name, _ in plain:
            op = args[name]
            data = seen.get(id(op))
            if data is None:
                self._keep.append(op)
                data = seen[id(op)] = struct.pack("<IH", op.var, op.offset) if type(op) is Raw else encode_vector(op)
            parts.append(data)
        return b"".join(parts)

    def _emitter(self, f: Field) -> Callable[[Fields], bytes]:
        name, kind = f.name, f.kind
        if f.constant is not None:
            data = f.constant.to_bytes(width_of(kind), "little")
            return lambda args: data
        if f.copy_of:
            name = f.copy_of
        if f.condition:
            condition, emit = f.condition, self._emitter(f._replace(condition=None))
            return lambda args: emit(args) if condition.holds(args.get(condition.field, 0)) else b""
        if f.parts:
            return self._packed(f)
        if kind == "ec":
            return lambda args: encode_exec(args["exec"]).to_bytes(1, "little")
        if kind == "pr":
            return lambda args: encode_predicate(args["pred"]).to_bytes(2, "little")
        if kind in ("d", "s"):
            return lambda args: encode_vector(args[name])
        if kind in ("r", "w"):
            return lambda args: struct.pack("<IH", args[name].var, args[name].offset)
        if kind in ("r*", "r!"):
            return lambda args: b"".join(struct.pack("<IH", r.var, r.offset) for r in args[name])
        if kind == "L*":
            return lambda args: struct.pack(f"<{len(args[name])}H", *args[name])
        if kind == "n":
            return lambda args: bytes([len(args[name])])
        if kind == "A":
            return _no_bytes
        pack = _INTEGERS[kind].pack
        return lambda args: pack(args[name])

    def _packed(self, f: Field) -> Callable[[Fields], bytes]:
        size, parts = width_of(f.kind), f.parts

        def emit(args: Fields) -> bytes:
            value = shift = 0
            for part, bits in parts:
                number = args.get(part, 0)
                if not 0 <= number < 1 << bits:
                    raise OverflowError(f"{part} is {number}, it has {bits} bits")
                value |= number << shift
                shift += bits
            return value.to_bytes(size, "little")

        return emit


def _no_bytes(args: Fields) -> bytes:
    """A field whose presence follows from the next bytes; the fields must make that possible.

    Raises:
        OverflowError: they are not.
    """
    if problem := illegal_matrix(args):
        raise OverflowError(problem)
    return b""


_BYTE, _WORD, _DWORD, _QWORD = (struct.Struct(fmt) for fmt in ("<B", "<H", "<I", "<Q"))
_RAW = struct.Struct("<IH")
_INTEGERS = {
    "B": _BYTE, "H": _WORD, "W": _DWORD, "I": struct.Struct("<i"), "T": _BYTE, "S": _BYTE, "L": _WORD, "N2": _WORD,
    "N4": _DWORD, "X": _QWORD,
}  # fmt: skip
"""How the numbers of a kind of field are stored."""
_GENERAL, _ADDRESS = struct.Struct("<IBBH"), struct.Struct("<HBB")
_INDIRECT, _STATE = struct.Struct("<HBhBH"), struct.Struct("<BHB")
"""The contents of vector operands after the tag, by class."""

_EXECUTIONS = tuple(
    e if e.is_aligned and e.is_within else None for e in (Execution(1 << (byte & 15), byte >> 4) for byte in range(256))
)

Operands = tuple[dict[bytes, VectorOperand], ...]
"""Operands by their bytes, for each slot."""


def new_operands() -> Operands:
    """No operands yet."""
    return tuple({} for _ in range(SCALAR_SOURCE + 1))


class Decoder:
    """Decodes the instructions of a function; ``operands`` are decoded operands of the module's other functions."""

    def __init__(self, function: Function, data: bytes, position: int, end: int, operands: Operands) -> None:
        self._table: InstructionSet = instruction_set(function.version)
        self._data, self.position, self._end = data, position, end
        self._vectors, self._variables = operands, function.variables

    def _take(self, layout: struct.Struct) -> tuple[int, ...]:
        position = self.position
        end = position + layout.size
        if end > self._end:
            raise DecodeError(position, "the instruction stream ends inside an instruction")
        self.position = end
        return layout.unpack_from(self._data, position)

    def _number(self, layout: struct.Struct) -> int:
        return self._take(layout)[0]

    def _raw(self) -> Raw:
        var, offset = self._take(_RAW)
        if offset and 0 <= var - FIRST_VARIABLE < len(self._variables):
            size = self._variables[var - FIRST_VARIABLE].size
            if offset >= size:
                raise DecodeError(self.position - 6, f"byte offset {offset} lies outside a variable of {size} bytes")
        return Raw(var, offset)

    def next(self) -> Instruction:
        """The instruction at the current position, which moves to its end."""
        start = self.position
        opcode = self._number(_BYTE)
        forms = self._table.by_opcode.get(opcode)
        if not forms:
            raise DecodeError(start, f"{opcode:#04x} is not an opcode")
        args: Fields = {}
        desc = forms[0]
        done = 0
        if len(forms) == 1 and (plain := plain_operands(desc)) is not None:
            args["exec"] = self._execution()
            args["pred"] = self._predicate(self._number(_WORD))
            for name, slot in plain:
                args[name] = self._raw() if slot < 0 else self._vector(slot)
            if desc.spelling and type(args["src0"]) is Predicate:
                self._check(desc, args, start)
            return Instruction(desc, args)
        if len(forms) > 1:
            chosen = None
            while chosen is None:
                self._field(desc, desc.fields[done], args)
                done += 1
                if all(name in args for name in desc.fixed):
                    key = {name: args[name] for name in desc.fixed}
                    chosen = next((f for f in forms if f.fixed == key), None)
                    if chosen is None:
                        raise DecodeError(start, f"opcode {opcode:#04x} has no sub-operation {key}")
            desc = chosen
        for f in desc.fields[done:]:
            self._field(desc, f, args)
        self._check(desc, args, start)
        return Instruction(desc, args)

    def _check(self, desc: InstructionDesc, args: Fields, start: int) -> None:
        for name, codes in desc.enumerated:
            if args[name] not in codes:
                raise DecodeError(start, f"{desc.mnemonic} has no {name} {args[name]}")
        for check in checks_of(desc):
            if problem := check(args):
                raise DecodeError(start, f"{desc.mnemonic} does not exist like this: {problem}")

    def _field(self, desc: InstructionDesc, f: Field, args: Fields) -> None:
        """Read one field into the values that the text knows; constants and copies are compared."""
        kind, start = f.kind, self.position
        if f.constant is not None or f.copy_of:
            wanted = f.constant if f.constant is not None else args[f.copy_of]
            if self._value(desc, kind, f.copy_of, args) != wanted:
                raise DecodeError(start, f"{desc.mnemonic} has another value here than {wanted}")
        elif f.parts:
            value = self._number(_INTEGERS[kind])
            for part, bits in f.parts:
                args[part] = value & ((1 << bits) - 1)
                value >>= bits
            if value:
                raise DecodeError(start, f"{desc.mnemonic} has bits here that mean nothing")
        elif kind == "n":
            args["#" + f.name] = self._number(_BYTE)
        elif f.condition is None or f.condition.holds(args[f.condition.field]):
            args[f.name] = self._value(desc, kind, f.name, args)

    def _value(self, desc: InstructionDesc, kind: str, name: str, args: Fields) -> object:
        """The value of a field of a kind; the length of a list follows from fields before it."""
        if kind in ("d", "s"):
            return self._vector(slot_of(desc, name, kind))
        if kind in ("r", "w"):
            return self._raw()
        if kind == "ec":
            return self._execution()
        if kind == "pr":
            return self._predicate(self._number(_WORD))
        if kind == "r!":
            return tuple(self._raw() for _ in range(target_outputs(args["mode"])))
        if kind == "r*":
            return tuple(self._raw() for _ in range(args.pop("#" + name)))
        if kind == "A":
            return addressing_of(self._data, self.position, self._end, self._variables)
        if kind == "L*":
            return tuple(self._number(_WORD) for _ in range(args.pop("#" + name)))
        return self._number(_INTEGERS[kind])

    def _execution(self) -> Execution:
        byte = self._number(_BYTE)
        execution = _EXECUTIONS[byte]
        if execution is None:
            raise DecodeError(self.position - 1, f"{byte:#04x} is not an execution size with a mask that fits")
        return execution

    def _predicate(self, code: int) -> PredicateControl | None:
        if not code:
            return None
        if not code & 0xFFF or code & 0x1000:
            raise DecodeError(self.position - 2, f"{code:#06x} is not a predicate")
        mode = {0: "", 1: "any", 2: "all"}.get(code >> 13 & 3)
        if mode is None:
            raise DecodeError(self.position - 2, "predicate control 3 is reserved")
        return PredicateControl(code & 0xFFF, bool(code & _INVERSE), mode)

    def _region(self, code: int) -> Region:
        try:
            if code >> 12:
                raise KeyError
            return _STRIDE_OF[code & 15], _STRIDE_OF[code >> 4 & 15], _STRIDE_OF[code >> 8 & 15]
        except KeyError:
            raise DecodeError(self.position - 2, f"{code:#06x} is not a region") from None

    def _type(self, code: int) -> types.DataType:
        if code not in types.BY_CODE:
            raise DecodeError(self.position - 1, f"{code} is not a code of a data type")
        return types.BY_CODE[code]

    def _vector(self, slot: int) -> VectorOperand:
        """A vector operand; equal bytes in the same slot give the same object."""
        start, vectors = self.position, self._vectors[slot]
        if start >= self._end:
            raise DecodeError(start, "the instruction stream ends inside an instruction")
        tag = self._data[start]
        size = _VECTOR_SIZES.get(tag & 7, 1)
        if tag & 7 == 5 and start + 1 < self._end and self._data[start + 1] in _WIDE_CODES:
            size += 4
        if start + size <= self._end:
            known = vectors.get(self._data[start : start + size])
            if known is not None:
                self.position = start + size
                return known
        operand = self._new_vector()
        if problem := illegal_operand(operand, slot):
            raise DecodeError(start, problem)
        vectors[self._data[start : self.position]] = operand
        return operand

    def _new_vector(self) -> VectorOperand:
        start = self.position
        tag = self._number(_BYTE)
        modifier, operand_class = tag >> 3, tag & 7
        if modifier > 5:
            raise DecodeError(start, f"{modifier} is not a code of an operand modifier")
        if operand_class == 0:
            var, row, col, region = self._take(_GENERAL)
            return General(var, row, col, self._region(region), modifier)
        if operand_class == 1:
            var, offset, width = self._take(_ADDRESS)
            return Address(var, offset, 1 << min(width, 31), modifier)
        if operand_class == 2:
            return Predicate(self._number(_WORD), modifier)
        if operand_class == 3:
            var, element, offset, code, region = self._take(_INDIRECT)
            return Indirect(var, element, offset, self._region(region), self._type(code), modifier)
        if operand_class == 5:
            data_type = self._type(self._number(_BYTE))
            return Immediate(data_type, self._number(_QWORD if data_type in _WIDE else _DWORD), modifier)
        if operand_class == 6:
            kind, var, offset = self._take(_STATE)
            return State(kind, var, offset, modifier)
        raise DecodeError(start, f"{operand_class} is not an operand class")
