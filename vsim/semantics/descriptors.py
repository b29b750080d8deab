"""Descriptors of raw messages: the memory instruction that says the same.

The bits are those of Intel's public programmer's references ("Data port messages", "LSC messages"). Descriptor
0x04024C02 to data port 1 reads: kind 9 in bits 14 to 18 (untyped surface write), 1100 in bits 8 to 11 (the channels
that are *not* written), surface 2 in bits 0 to 7, no header in bit 19. With a payload A of offsets and then data, 16
lanes and registers of 32 bytes, that is ``lsc_store_quad.ugm (M1, 16) bti(0x2)[A.0]:a32 A.64:d32.xy``.

A descriptor may be in a register. Where its value is known before the kernel runs, the instruction says it
(``KNOWN`` of :mod:`vsim.semantics.raw_message`); else it is decoded when the message is sent. Of an extended descriptor
in a register the surface alone counts; only constant descriptors have offsets.
"""

from __future__ import annotations

from typing import NamedTuple

from visakit.isa import instruction_set
from visakit.isa.enums import (
    FENCE_OPS,
    FENCE_SCOPES,
    LSC_ADDRESS_SIZES,
    LSC_ADDRESS_TYPES,
    LSC_DATA_SIZES,
    LSC_ELEMENTS,
    LSC_ORDERS,
    LSC_SFIDS,
    MATRIX_OFFSETS,
)
from visakit.isa.record import Access, InstructionDesc
from visakit.language import types
from visakit.language.operands import NULL, Immediate, Raw, VectorOperand
from visakit.language.program import Fields
from vsim.semantics.raw_message import DATA_PORT_0, DATA_PORT_1, LSC_UNITS, TYPED_UNIT, Message, NoEquivalent

LSC_OPCODE, TYPED_OPCODE = 0x89, 0x8A
LSC_FENCE = 0x1F
_ALL_BITS = 0xFFFFFFFF
_STATELESS, _SLM, _BINDLESS = (253, 255), 254, 252
_HANDLE = 0xFFFFFFC0
"""The bits of an extended descriptor that are the handle of a surface."""

_INTEGER_ATOMICS = {
    1: "and", 2: "or", 3: "xor", 4: "store", 5: "iinc", 6: "idec", 7: "iadd", 8: "isub", 10: "smax", 11: "smin",
    12: "umax", 13: "umin", 14: "icas",
}  # fmt: skip
_FLOAT_ATOMICS = {1: "fmax", 2: "fmin", 3: "fcas", 4: "fadd"}
_COMPARE_AND_SWAP = ("icas", "fcas")
_SOURCES = {"iinc": 0, "idec": 0, "load": 0, "icas": 2, "fcas": 2}
"""How many sources an atomic has, if not one."""
_BYTES = {"a16": 2, "a32": 4, "a64": 8, "d64": 8}
_ADDRESS_SIZES = {v: k for k, v in LSC_ADDRESS_SIZES.items()}
_DATA_SIZES = {v: k for k, v in LSC_DATA_SIZES.items()}
_OTHERS_OF_PORT_0 = {
    0: "oword block read", 1: "aligned block read", 2: "oword dual block read", 3: "dword gathering read",
    5: "qword gathering read", 8: "oword block write", 9: "aligned block write", 10: "oword dual block write",
    11: "dword scattering write", 13: "qword scattering write",
}  # fmt: skip
_OTHERS_OF_PORT_1 = {
    0x03: "atomic on words", 0x04: "media block read", 0x07: "typed atomic on words", 0x0A: "media block write",
    0x0B: "atomic on a counter", 0x0C: "atomic on a counter of words", 0x0E: "typed read with status",
    0x13: "A64 atomic on words", 0x14: "A64 block read", 0x15: "A64 block write", 0x1C: "float atomic on halves",
    0x1D: "A64 float atomic", 0x1E: "A64 float atomic on halves",
}  # fmt: skip


def _signed(bits: int, count: int) -> int:
    """The low bits as a number with a sign."""
    half = 1 << count - 1
    return (bits & half - 1) - (bits & half)


# -- the LSC instruction that says the same --------------------------------------------------------------------


class Space(NamedTuple):
    """Where a message goes.

    Attributes:
        kind: slm, or an LSC address model.
        surface: the number or the handle of the surface.
        bits: the bits of the operand with the surface: the lowest, and their mask.
        offset: is added to each address, in bytes.
    """

    kind: str
    surface: VectorOperand = Immediate(types.UD, 0)
    bits: tuple[int, int] = (0, _ALL_BITS)
    offset: int = 0


_FLAT = Space("flat")
Lsc = tuple[InstructionDesc, Fields]
"""An instruction: its record and its fields."""


def _desc(name: str) -> InstructionDesc:
    return instruction_set().by_mnemonic[name][0]


def _behind_handle(m: Message, kind: str) -> Space:
    """The surface that the extended descriptor says: a number is in its top byte, a handle above bit 5."""
    low, mask = (24, 0xFF) if kind == "bti" else (0, _HANDLE)
    if m.extended is None:
        return Space(kind, m.surface, (low, mask))
    return Space(kind, Immediate(types.UD, m.extended >> low & mask))


def _surface(m: Message) -> Space:
    """What the entry of the binding table in a data port's message stands for."""
    number = m.field(0, 8)
    if number == _BINDLESS:
        return _behind_handle(m, "bss")
    if number in _STATELESS:
        return _FLAT
    return Space("slm") if number == _SLM else Space("bti", Immediate(types.UD, number))


def _place(space: Space) -> Fields:
    """The fields that say where an LSC message goes."""
    return {
        "l1": 0,
        "l3": 0,
        "addr_type": LSC_ADDRESS_TYPES["flat" if space.kind == "slm" else space.kind],
        "surface_index": 0,
        "surface": space.surface,
        "surface_bits": space.bits,
    }


def _lsc(
    m: Message, desc: InstructionDesc, space: Space, address_size: str, data_size: str, elements: int, lanes: int
) -> Lsc:
    """The LSC instruction with these fields, and with the operands that it has.

    Args:
        elements: the code of their number, or the mask of channels.
        lanes: how many addresses there are.
    """
    fields = _place(space) | {
        "sfid": LSC_SFIDS["slm" if space.kind == "slm" else "ugm"],
        "imm_scale": 1,
        "imm_offset": space.offset,
        "addr_size": LSC_ADDRESS_SIZES[address_size],
        "data_size": LSC_DATA_SIZES[data_size],
        "order": LSC_ORDERS["n"],
        "elems": elements,
        "dst": NULL,
        "addr": m.address,
        "src1": NULL,
        "src2": NULL,
    }
    data = m.data(lanes * _BYTES[address_size])
    if desc.access is Access.STORE:
        return desc, fields | {"src1": data}
    if desc.access is Access.ATOMIC:
        fields |= {"src1": data, "src2": m.behind(data, m.execution.size * _BYTES.get(data_size, 4))}
    return desc, fields | {"dst": m.dst}


def _transfer(m: Message, name: str, space: Space, address_size: str, data_size: str, elements: int) -> Lsc:
    """A load or store of each lane."""
    return _lsc(m, _desc(name), space, address_size, data_size, elements, m.execution.size)


def _atomic(m: Message, space: Space, address_size: str, data_size: str, names: dict[int, str]) -> Lsc:
    """An atomic of the data port; without bit 13 the old value is not wanted."""
    name = _named(m, names)
    desc = _desc(f"lsc_atomic_{name}")
    _, fields = _lsc(m, desc, space, address_size, data_size, LSC_ELEMENTS[1], m.execution.size)
    return desc, _as_lsc_has_it(m, name, fields)


def _named(m: Message, names: dict[int, str]) -> str:
    code = m.field(8, 4)
    if code not in names:
        raise NoEquivalent(f"atomic operation {code} has no instruction")
    return names[code]


def _as_lsc_has_it(m: Message, name: str, fields: Fields) -> Fields:
    """The fields of a data port's atomic: the new value comes first, in an LSC message last."""
    if not m.field(13, 1):
        fields["dst"] = NULL
    return fields | ({"src1": fields["src2"], "src2": fields["src1"]} if name in _COMPARE_AND_SWAP else {})


# -- data ports ------------------------------------------------------------------------------------------------

_SCATTERED = ("d8u32", "d16u32", "d32")
_BYTE_SCATTERED = {4: "lsc_load", 12: "lsc_store"}
_MEMORY_FENCE = 7
_UNTYPED = {1: "lsc_load_quad", 9: "lsc_store_quad"}
_TYPED = {5: 2, 13: 6}
_A64_UNTYPED = {0x11: "lsc_load_quad", 0x19: "lsc_store_quad"}
_A64_SCATTERED = {0x10: "lsc_load", 0x1A: "lsc_store"}
_UNTYPED_ATOMIC, _TYPED_ATOMIC, _A64_ATOMIC, _FLOAT_ATOMIC = 2, 6, 0x12, 0x1B


def _data_port_0(m: Message) -> Lsc:
    """Byte scattered messages, and the fence: of local memory, or of the memory that the other units reach."""
    kind = m.field(14, 5)
    if kind in _BYTE_SCATTERED:
        size = m.field(10, 2)
        if size == len(_SCATTERED):
            raise NoEquivalent("its descriptor has a reserved size of data")
        return _transfer(m, _BYTE_SCATTERED[kind], _surface(m), "a32", _SCATTERED[size], LSC_ELEMENTS[1])
    if kind == _MEMORY_FENCE:
        return _desc("fence_local" if m.field(0, 8) == _SLM else "fence_global"), {"flush": 0, "l1": 0}
    name = "scratch block" if m.field(18, 1) else _OTHERS_OF_PORT_0.get(kind, "not published")
    raise NoEquivalent(f"message type {kind} of data port 0 ({name}) has no instruction")


def _data_port_1(m: Message) -> Lsc:
    """Untyped and typed messages and atomics, to surfaces and to flat memory."""
    kind, enabled = m.field(14, 5), ~m.field(8, 4) & 15
    if kind in _UNTYPED:
        return _transfer(m, _UNTYPED[kind], _surface(m), "a32", "d32", enabled)
    if kind in _A64_UNTYPED:
        return _transfer(m, _A64_UNTYPED[kind], _FLAT, "a64", "d32", enabled)
    if kind in _A64_SCATTERED:
        data_size, count = _scattered(m)
        return _transfer(m, _A64_SCATTERED[kind], _FLAT, "a64", data_size, LSC_ELEMENTS[count])
    if kind == _UNTYPED_ATOMIC:
        return _atomic(m, _surface(m), "a32", "d32", _INTEGER_ATOMICS)
    if kind == _A64_ATOMIC:
        return _atomic(m, _FLAT, "a64", "d64" if m.field(12, 1) else "d32", _INTEGER_ATOMICS)
    if kind == _FLOAT_ATOMIC:
        return _atomic(m, _surface(m), "a32", "d32", _FLOAT_ATOMICS)
    if kind in _TYPED:
        _check_slots(m, m.field(12, 2) == 1)
        return _typed(m, _typed_forms()[_TYPED[kind]], _surface(m), "d32", enabled)
    if kind == _TYPED_ATOMIC:
        _check_slots(m, not m.field(12, 1))
        name = _named(m, _INTEGER_ATOMICS)
        desc = next(d for d in _typed_forms().values() if d.mnemonic == f"lsc_atomic_{name}")
        _, fields = _typed(m, desc, _surface(m), "d32", LSC_ELEMENTS[1])
        return desc, _as_lsc_has_it(m, name, fields)
    name = _OTHERS_OF_PORT_1.get(kind, "not published")
    raise NoEquivalent(f"message type {kind} of data port 1 ({name}) has no instruction")


def _check_slots(m: Message, is_low: bool) -> None:
    """Typed messages of a data port are for a register of coordinates: the low half of the lanes."""
    if not is_low or m.execution.size * 4 > m.grf_size:
        raise NoEquivalent("typed messages of a data port are simulated for the low slot group alone")


def _scattered(m: Message) -> tuple[str, int]:
    """Size and number of the elements of a scattered message: so many bytes count as one element."""
    size, blocks = m.field(8, 2), 1 << m.field(10, 2)
    if size in (1, 2):
        return ("", "d32", "d64")[size], blocks
    if size or blocks > 2:
        raise NoEquivalent("scattered blocks of more than two bytes have no instruction")
    return _SCATTERED[blocks - 1], 1


# -- the load/store unit ---------------------------------------------------------------------------------------

_BLOCKS_OF_MATRICES = {3: "lsc_load_block2d", 7: "lsc_store_block2d"}
_MODELS = ("flat", "bss", "ss", "bti")


def _load_store_unit(m: Message) -> Lsc:
    """LSC messages, whose descriptor says what their text does."""
    if m.field(0, 6) == LSC_FENCE:
        return _fence(m, LSC_UNITS[m.unit])
    if m.field(0, 6) in _BLOCKS_OF_MATRICES:
        return _block2d(m, _desc(_BLOCKS_OF_MATRICES[m.field(0, 6)]))
    desc, space = _lsc_operation(m.field(0, 6)), _lsc_space(m)
    address_size, data_size = _ADDRESS_SIZES.get(m.field(7, 2)), _lsc_size(m)
    if address_size is None:
        raise NoEquivalent("its descriptor has a reserved size of addresses")
    quad = desc.mnemonic.endswith("_quad")
    transposed = bool(m.field(15, 1)) and not quad
    elements = m.field(12, 4) if quad else m.field(12, 3) + 1
    lanes = 1 if transposed else m.execution.size
    _, fields = _lsc(m, desc, space, address_size, data_size, elements, lanes)
    return desc, fields | {"order": LSC_ORDERS["t" if transposed else "n"]}


def _lsc_size(m: Message) -> str:
    """The size of elements."""
    found = _DATA_SIZES.get(m.field(9, 3) + 1)
    if found is None:
        raise NoEquivalent("its descriptor has a reserved size of data")
    return found


def _block2d(m: Message, desc: InstructionDesc) -> Lsc:
    """A block of a matrix, whose payload has its shape.

    Bit 7 asks for the VNNI form, bits 9 to 11 are the size of elements, bit 15 transposes. What is added to x is in
    bits 12 to 21 of the extended descriptor, the addend of y in bits 22 to 31.
    """
    store, vnni, transposed = desc.access is Access.STORE, m.field(7, 1), m.field(15, 1)
    size = _DATA_SIZES.get(m.field(9, 3) + 1)
    if LSC_UNITS[m.unit] == "slm" or m.field(29, 2):
        raise NoEquivalent("blocks of a matrix are in flat memory")
    if size not in ("d8", "d16", "d32", "d64"):
        raise NoEquivalent("its descriptor has a size that elements of a matrix do not have")
    if (vnni or transposed) if store else (vnni and transposed):
        raise NoEquivalent("blocks are stored unchanged, and loaded transposed or in VNNI form")
    moved = _offset(m, 20)
    data, length = (m.data(m.grf_size), m.stored) if store else (m.dst, m.loaded)
    return desc, {
        "sfid": LSC_SFIDS[LSC_UNITS[m.unit]],
        "l1": 0,
        "l3": 0,
        "data_size": LSC_DATA_SIZES[size],
        "order": LSC_ORDERS["t" if transposed else "n"],
        "vnni": vnni,
        "registers": length,
        "dst": NULL if store or not length else data,
        "addressing": MATRIX_OFFSETS,
        "base": m.address,
        "x_offset": _signed(moved, 10),
        "y_offset": _signed(moved >> 10, 10),
        "src1": data if store else NULL,
    }


def _offset(m: Message, bits: int) -> int:
    """Bits from 12 on of an extended descriptor that is a number; in registers they have to be zero."""
    if m.extended is None:
        raise NoEquivalent("its extended descriptor is not a constant")
    found = m.extended >> 12 & (1 << bits) - 1
    if found and not m.is_number:
        raise NoEquivalent("it has offsets in an extended descriptor that is a register")
    return found


def _fence(m: Message, unit: str) -> Lsc:
    """An LSC fence: its scope in bits 9 to 11, the operation on caches in bits 12 to 14."""
    scope, op = m.field(9, 3), m.field(12, 3)
    if scope not in FENCE_SCOPES.values() or op not in FENCE_OPS.values():
        raise NoEquivalent("its descriptor has a reserved scope or operation of a fence")
    return _desc("lsc_fence"), {"sfid": LSC_SFIDS[unit], "op": op, "scope": scope}


def _lsc_operation(operation: int) -> InstructionDesc:
    """The LSC instruction with this sub-operation; those with operands beside the surface are not in the descriptor."""
    known = {desc.fixed["subop"]: desc for desc in instruction_set().by_opcode[LSC_OPCODE]}
    desc = known.get(operation)
    if desc is None or [f.name for f in desc.fields if f.kind == "s"] != ["surface"]:
        name = "" if desc is None else f" ({desc.mnemonic})"
        what = "needs state that the descriptor does not have"
        raise NoEquivalent(f"operation {operation}{name} of the load/store unit {what}")
    return desc


def _lsc_space(m: Message) -> Space:
    """Where an LSC message goes. Platforms before bmg have no offsets in bits 12 and up of the extended descriptor."""
    model = _MODELS[m.field(29, 2)]
    space = Space("slm") if LSC_UNITS.get(m.unit) == "slm" else _FLAT if model == "flat" else _behind_handle(m, model)
    bits = {"flat": 20, "bti": 12}.get(model, 0)
    if bits and m.extended is not None:
        return space._replace(offset=_signed(_offset(m, bits), bits))
    return space


# -- typed messages --------------------------------------------------------------------------------------------

_TYPED_QUADS = (2, 6)
_MOST_COORDINATES = 4


def _typed_forms() -> dict[int, InstructionDesc]:
    """The typed LSC instructions by their sub-operation."""
    return {desc.fixed["subop"]: desc for desc in instruction_set().by_opcode[TYPED_OPCODE]}


def _typed_unit(m: Message) -> Lsc:
    """Typed LSC messages: channels of texels, and atomics."""
    operation = m.field(0, 6)
    if operation == LSC_FENCE:
        return _fence(m, "tgm")
    desc = _typed_forms().get(operation)
    if desc is not None and operation in _BLOCKS_OF_MATRICES:
        return _typed_block(m, desc)
    if desc is None or not (operation in _TYPED_QUADS or desc.access is Access.ATOMIC):
        name = "" if desc is None else f" ({desc.mnemonic})"
        raise NoEquivalent(f"operation {operation}{name} of the typed load/store unit has no equivalent")
    space = _image_space(m)
    elements = m.field(12, 4) if operation in _TYPED_QUADS else LSC_ELEMENTS[1]
    return _typed(m, desc, space, _lsc_size(m), elements)


def _image_space(m: Message) -> Space:
    """The surface of an image."""
    space = _lsc_space(m)
    if space.kind not in ("bti", "bss"):
        raise NoEquivalent("images are accessed through surfaces, and its descriptor names none")
    if space.offset:
        raise NoEquivalent("offsets of an extended descriptor are for bytes, not for texels")
    return space


def _typed_block(m: Message, desc: InstructionDesc) -> Lsc:
    """A block of an image, whose payload has its place and shape."""
    store = desc.access is Access.STORE
    data = m.data(m.grf_size) if store else m.dst
    fields = {"payload": m.address, "registers": m.stored if store else m.loaded}
    return desc, _place(_image_space(m)) | fields | {"src1" if store else "dst": data}


def _typed(m: Message, desc: InstructionDesc, space: Space, data_size: str, elements: int) -> Lsc:
    """The typed LSC instruction with these fields: u, v, r and the level in so many registers as the message has."""
    step = m.registers(m.execution.size * 4)
    each = m.registers(m.execution.size * _BYTES.get(data_size, 4))
    operation = desc.mnemonic.removeprefix("lsc_atomic_")
    sources = _SOURCES.get(operation, 1) if desc.access is Access.ATOMIC else elements.bit_count()
    held = sources * each if m.second is None and desc.access is not Access.LOAD else 0
    count = (m.sent - m.has_header - held) // step
    if not 0 < count <= _MOST_COORDINATES:
        raise NoEquivalent(f"its payload has room for {count} coordinates, and texels have one to four")
    places = [Raw(m.address.var, m.address.offset + k * step * m.grf_size) for k in range(count)]
    u, v, r, lod = places + [NULL] * (_MOST_COORDINATES - count)
    data = m.second or m.behind(places[-1], m.execution.size * 4)
    fields = _place(space) | {
        "addr_size": LSC_ADDRESS_SIZES["a32"],
        "moved": 0,
        "msaa": 0,
        "data_size": LSC_DATA_SIZES[data_size],
        "order": LSC_ORDERS["n"],
        "elems": elements,
        "dst": NULL if desc.access is Access.STORE else m.dst,
        "src1": NULL if desc.access is Access.LOAD else data,
        "src2": m.behind(data, m.execution.size * _BYTES.get(data_size, 4)) if sources > 1 else NULL,
    }
    return desc, fields | {"u": u, "v": v, "r": r, "lod": lod}


def memory_instruction(m: Message) -> Lsc:
    """The instruction that is equivalent to a message to one of the memory units.

    Raises:
        NoEquivalent: no instruction has its effect, or (``AtRunTime``) that shows when it is sent.
    """
    if m.unit == DATA_PORT_0:
        return _data_port_0(m)
    if m.unit == DATA_PORT_1:
        return _data_port_1(m)
    if m.unit == TYPED_UNIT:
        return _typed_unit(m)
    return _load_store_unit(m)
