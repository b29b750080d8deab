"""Bytes of the parts of a message: of its operands' variables, from their offset on.

A payload is a structure of arrays: the part for one element of all lanes begins on a register boundary. Payloads that
the table does not describe (samplers, raw messages, matrices) are checked when an engine prepares them, by their
accesses.
"""

from __future__ import annotations

from collections.abc import Callable

from visakit.isa.enums import (
    ATOMIC_SOURCES,
    ATOMIC_TYPES,
    ATOMICS,
    COUNTS,
    GATHER_SIZES,
    LSC_DATA_TYPES,
    LSC_ELEMENTS,
    LSC_ORDERS,
    LSC_POINTER_TYPES,
    OWORDS,
)
from visakit.isa.record import Access, Payload
from visakit.language.program import Fields, Instruction

Sizes = dict[str, int]

_COUNT_OF = {v: int(k) for k, v in COUNTS.items()}
_OWORDS_OF = {v: k for k, v in OWORDS.items()}
_LANES_OF = {v: k for k, v in GATHER_SIZES.items()}
_ELEMENTS_OF = {v: k for k, v in LSC_ELEMENTS.items()}
_OPERATION_OF = {v: k for k, v in ATOMICS.items()}
_DWORD, _QWORD, _OWORD = 4, 8, 16

_DECIDING = (
    *("exec", "owords", "channel_mask", "num_blocks", "block_type", "num_elts"),
    *("op", "width", "addr_size", "data_size", "elems", "order"),
)
"""The fields that decide how large a message is."""
_KNOWN: dict[tuple[object, ...], Sizes] = {}
_MOST_KNOWN = 4096


MATRIX_PAYLOAD = 32
"""Bytes of the payload of a block message with the address of its matrix."""
BLOCK_SHAPE = 0xFFFFF
"""The significant bits of the last dword of a block message's payload."""


def block_shape(args: Fields) -> int:
    """The last dword of the payload of a block message: columns, rows and number of blocks, each minus one."""
    columns, rows, blocks = int(args["width"]), int(args["height"]), int(args["blocks"])
    return (columns - 1 & 0xFF) | (rows - 1 & 0xFF) << 8 | (blocks - 1 & 0xF) << 16


def shape_difference(found: int, wanted: int) -> str:
    """Says that the payload of a block message describes other blocks than its instruction."""
    there, here = (f"{(n >> 16) + 1}x{(n & 0xFF) + 1}x{(n >> 8 & 0xFF) + 1}" for n in (found, wanted))
    return f"the payload describes {there} elements (blocks, columns, rows), the instruction {here},"


def length_difference(needed: int, given: int) -> str:
    """Says that the payload of a raw block message describes more registers than the message moves."""
    return f"the payload describes blocks of {needed} registers, the message has {given},"


def message_sizes(i: Instruction, grf_size: int) -> Sizes:
    """Bytes of the message operands of an instruction by field; 0 for unchecked ones.

    Fields that are left out take at least one byte.
    """
    args = i.args
    key = i.desc, grf_size, *(args.get(name) for name in _DECIDING)
    sizes = _KNOWN.get(key)
    if sizes is None:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        sizes = _KNOWN[key] = _message_sizes(i, grf_size)
    return sizes


def _message_sizes(i: Instruction, grf_size: int) -> Sizes:
    sizes = _SIZES.get(i.desc.payload)
    return sizes(i, grf_size) if sizes else {}


DATA = ("dst", "src", "src1")
"""The data fields of loads and stores."""


def element_size(i: Instruction) -> int:
    """Bytes of a lane's element in each part of the payload of a load or store by lanes.

    Raises:
        KeyError: it is another message.
    """
    return _ELEMENT[i.desc.payload](i.args)


def block_element(i: Instruction) -> int:
    """Bytes of an element of a load or store whose elements follow each other at one address; 0 for other messages."""
    args, payload = i.args, i.desc.payload
    if payload is Payload.ELEMENTS and args["order"] == LSC_ORDERS["t"] and "pitch" not in args:
        return LSC_DATA_TYPES[args["data_size"]][0].size
    return _DWORD if payload is Payload.OWORDS else 0


def _parts(lanes: int, size: int, count: int, grf_size: int) -> int:
    """Bytes of a payload with a number of elements for each lane; 0 without elements."""
    return ((count - 1) * (-(-lanes * size // grf_size) * grf_size) + lanes * size) if count else 0


def _data(i: Instruction, size: int) -> Sizes:
    """The payload of a load or a store."""
    stored = "src" if "src" in i.args else "src1"
    return {stored if i.desc.access is Access.STORE else "dst": size}


def _lanes(args: Fields) -> int:
    return _LANES_OF[args["num_elts"]] if "num_elts" in args else int(args["exec"].size)


def _owords(i: Instruction, grf_size: int) -> Sizes:
    return _data(i, _OWORD * _OWORDS_OF[i.args["owords"]])


def _channels(i: Instruction, grf_size: int) -> Sizes:
    lanes, count = _lanes(i.args), (i.args["channel_mask"] & 15).bit_count()
    offset = _QWORD if "address" in i.args else _DWORD
    return {"offsets": lanes * offset} | _data(i, _parts(lanes, _DWORD, count, grf_size))


def _dword(i: Instruction, grf_size: int) -> Sizes:
    lanes = _lanes(i.args)
    return {"offsets": _DWORD * lanes} | _data(i, _DWORD * lanes)


def _block_elements(args: Fields) -> tuple[int, int]:
    """Size and number of the elements of a lane; up to four bytes share a dword, eight a qword."""
    count, size = _COUNT_OF[args["num_blocks"]], (1, 4, 8)[args["block_type"]]
    return (size, count) if size > 1 else (_DWORD if count <= _DWORD else _QWORD, 1)


def _qwords(i: Instruction, grf_size: int) -> Sizes:
    lanes = _lanes(i.args)
    count = _COUNT_OF[i.args["num_blocks"]]
    return {"offsets": _DWORD * lanes} | _data(i, _parts(lanes, _QWORD, count, grf_size))


def _blocks(i: Instruction, grf_size: int) -> Sizes:
    lanes, (size, count) = _lanes(i.args), _block_elements(i.args)
    return {"addresses": _QWORD * lanes} | _data(i, _parts(lanes, size, count, grf_size))


def _sources(operation: str, first: str, second: str, size: int) -> Sizes:
    """The operands of an atomic that hold sources: one, two or none of them."""
    count = ATOMIC_SOURCES.get(operation, 1)
    return {"dst": size, first: size if count else 0, second: size if count > 1 else 0}


def _atomic(i: Instruction, grf_size: int) -> Sizes:
    args, lanes = i.args, _lanes(i.args)
    size = max(ATOMIC_TYPES[args["width"]].size, _DWORD) * lanes
    where = {"addresses": _QWORD * lanes} if "addresses" in args else {"offsets": _DWORD * lanes}
    return where | _sources(_OPERATION_OF.get(args["op"], ""), "src0", "src1", size)


def _address(i: Instruction, lanes: int) -> Sizes:
    return {"addr": LSC_POINTER_TYPES[i.args["addr_size"]].size * lanes, "dst": 0, "src1": 0, "src2": 0}


def _elements(i: Instruction, grf_size: int) -> Sizes:
    """Elements of each lane, or all after the address of the first one."""
    args, (_, register) = i.args, LSC_DATA_TYPES[i.args["data_size"]]
    lanes, count = _lanes(args), _ELEMENTS_OF[args["elems"]]
    if size := block_element(i):
        return _address(i, 1) | _data(i, count * size)
    return _address(i, 1 if "pitch" in args else lanes) | _data(i, _parts(lanes, register.size, count, grf_size))


def _quad(i: Instruction, grf_size: int) -> Sizes:
    args, lanes = i.args, _lanes(i.args)
    count = (args["elems"] & 15).bit_count()
    _, register = LSC_DATA_TYPES[args["data_size"]]
    return _address(i, lanes) | _data(i, _parts(lanes, register.size, count, grf_size))


def _lsc_atomic(i: Instruction, grf_size: int) -> Sizes:
    lanes = _lanes(i.args)
    _, register = LSC_DATA_TYPES[i.args["data_size"]]
    return _address(i, lanes) | _sources(i.desc.operation, "src1", "src2", register.size * lanes)


_SIZES: dict[Payload, Callable[[Instruction, int], Sizes]] = {
    Payload.OWORDS: _owords, Payload.CHANNELS: _channels, Payload.DWORD: _dword, Payload.QWORDS: _qwords,
    Payload.BLOCKS: _blocks, Payload.ATOMIC: _atomic, Payload.ELEMENTS: _elements, Payload.QUAD: _quad,
    Payload.LSC_ATOMIC: _lsc_atomic,
}  # fmt: skip
_ELEMENT: dict[Payload, Callable[[Fields], int]] = {
    Payload.CHANNELS: lambda args: _DWORD,
    Payload.DWORD: lambda args: _DWORD,
    Payload.QWORDS: lambda args: _QWORD,
    Payload.BLOCKS: lambda args: _block_elements(args)[0],
    Payload.ELEMENTS: lambda args: LSC_DATA_TYPES[args["data_size"]][1].size,
}
