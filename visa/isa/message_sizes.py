"""How many bytes the parts of a message are: what its operands take of their variables, from their offset on.

A payload is a structure of arrays: the part for one element of all lanes begins on a register boundary. Forms that are
not here (samplers, raw messages, matrices) are checked when an engine prepares them, by what they touch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from visa.isa.enums import ATOMICS, COUNTS, GATHER_SIZES, LSC_ADDRESS_SIZES, LSC_DATA_SIZES, LSC_ELEMENTS, LSC_ORDERS
from visa.isa.enums import OWORDS as OWORD_CODES
from visa.isa.record import Access, InstructionDesc

Sizes = dict[str, int]
Fields = dict[str, Any]
"""Values of the fields of an instruction; the notation of the table says of which type each is."""


class Message(Protocol):
    """What is asked of an instruction, which stands above the table."""

    desc: InstructionDesc
    args: Fields


_COUNT = {v: int(k) for k, v in COUNTS.items()}
_OWORDS = {v: k for k, v in OWORD_CODES.items()}
_LANES = {v: k for k, v in GATHER_SIZES.items()}
_ELEMENTS = {v: k for k, v in LSC_ELEMENTS.items()}
_ADDRESS = {LSC_ADDRESS_SIZES[n]: size for n, size in (("a16", 2), ("a32", 4), ("a64", 8))}
_DATA = {
    LSC_DATA_SIZES[n]: size
    for n, size in (("d8", 1), ("d16", 2), ("d32", 4), ("d64", 8), ("d8u32", 4), ("d16u32", 4), ("d16u32h", 4))
}
_ATOMIC_REGISTER = (4, 4, 8)
"""Bytes of an atomic's element in registers, by its width."""
_ATOMIC_SOURCES = {ATOMICS[n]: count for n, count in (("inc", 0), ("dec", 0), ("cmpxchg", 2), ("fcmpwr", 2))}
_LSC_SOURCES = {"iinc": 0, "idec": 0, "load": 0, "icas": 2, "fcas": 2}

_DECIDING = (
    *("exec", "owords", "channel_mask", "num_blocks", "block_type", "num_elts"),
    *("op", "width", "addr_size", "data_size", "elems", "order"),
)
"""The fields that decide how large a message is."""
_KNOWN: dict[tuple[object, ...], Sizes] = {}
_MOST_KNOWN = 4096


def message_sizes(i: Message, grf_size: int) -> Sizes:
    """Bytes of the message operands of an instruction by field; 0 for those that do not count.

    Fields that are left out take at least one byte.
    """
    args = i.args
    key = i.desc, grf_size, *(args.get(name) for name in _DECIDING)
    found = _KNOWN.get(key)
    if found is None:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        found = _KNOWN[key] = _message_sizes(i, grf_size)
    return found


def _message_sizes(i: Message, grf_size: int) -> Sizes:
    table = _SIZES.get(i.desc.mnemonic) or (_lsc_atomic if i.desc.mnemonic.startswith("lsc_atomic_") else None)
    if table is None or (i.desc.category == "lsc" and "addr" not in i.args):
        return {}
    return table(i, grf_size)


def _parts(lanes: int, size: int, count: int, grf_size: int) -> int:
    """Bytes of a payload of so many elements for each lane; 0 if there are none."""
    return ((count - 1) * (-(-lanes * size // grf_size) * grf_size) + lanes * size) if count else 0


def _data(i: Message, size: int) -> Sizes:
    """The payload of a load or a store."""
    stored = "src" if "src" in i.args else "src1"
    return {stored if i.desc.access is Access.STORE else "dst": size}


def _lanes(args: Fields) -> int:
    return int(args["exec"].size)


def _owords(i: Message, grf_size: int) -> Sizes:
    return _data(i, 16 * _OWORDS[i.args["owords"]])


def _channels(i: Message, grf_size: int) -> Sizes:
    lanes, count = _lanes(i.args), (i.args["channel_mask"] & 15).bit_count()
    return {"offsets": lanes * (8 if "address" in i.args else 4)} | _data(i, _parts(lanes, 4, count, grf_size))


def _scaled(i: Message, grf_size: int) -> Sizes:
    return {"offsets": 4 * _lanes(i.args)} | _data(i, 4 * _lanes(i.args))


def _qwords(i: Message, grf_size: int) -> Sizes:
    lanes = _lanes(i.args)
    return {"offsets": 4 * lanes} | _data(i, _parts(lanes, 8, _COUNT[i.args["num_blocks"]], grf_size))


def _gather(i: Message, grf_size: int) -> Sizes:
    lanes = _LANES[i.args["num_elts"]]
    return {"offsets": 4 * lanes} | _data(i, 4 * lanes)


def _svm_gather(i: Message, grf_size: int) -> Sizes:
    lanes, count, size = _lanes(i.args), _COUNT[i.args["num_blocks"]], (1, 4, 8)[i.args["block_type"]]
    if size == 1:
        count, size = 1, 4 if count <= 4 else 8
    return {"addresses": 8 * lanes} | _data(i, _parts(lanes, size, count, grf_size))


def _atomic(i: Message, grf_size: int) -> Sizes:
    lanes, size = _lanes(i.args), _ATOMIC_REGISTER[i.args["width"]] * _lanes(i.args)
    sources = _ATOMIC_SOURCES.get(i.args["op"], 1)
    where = {"addresses": 8 * lanes} if "addresses" in i.args else {"offsets": 4 * lanes}
    return where | {"dst": size, "src0": size if sources else 0, "src1": size if sources > 1 else 0}


def _address(i: Message, lanes: int) -> Sizes:
    return {"addr": _ADDRESS[i.args["addr_size"]] * lanes, "dst": 0, "src1": 0, "src2": 0}


def _lsc(i: Message, grf_size: int) -> Sizes:
    """Elements of each lane, or all behind the address of the first one."""
    args, size = i.args, _DATA[i.args["data_size"]]
    lanes, count = _lanes(args), _ELEMENTS[args["elems"]]
    if args["order"] == LSC_ORDERS["t"] and "strided" not in i.desc.mnemonic:
        narrow = {LSC_DATA_SIZES["d8u32"]: 1, LSC_DATA_SIZES["d16u32"]: 2, LSC_DATA_SIZES["d16u32h"]: 2}
        return _address(i, 1) | _data(i, count * narrow.get(args["data_size"], size))
    if args["data_size"] == LSC_DATA_SIZES["d16u32h"] and "strided" not in i.desc.mnemonic:
        count = 1
    return _address(i, 1 if "pitch" in args else lanes) | _data(i, _parts(lanes, size, count, grf_size))


def _quad(i: Message, grf_size: int) -> Sizes:
    args, lanes = i.args, _lanes(i.args)
    count = (args["elems"] & 15).bit_count()
    if args["data_size"] == LSC_DATA_SIZES["d16u32h"]:
        count = 1
    return _address(i, lanes) | _data(i, _parts(lanes, _DATA[args["data_size"]], count, grf_size))


def _lsc_atomic(i: Message, grf_size: int) -> Sizes:
    lanes, size = _lanes(i.args), _DATA[i.args["data_size"]] * _lanes(i.args)
    sources = _LSC_SOURCES.get(i.desc.mnemonic.removeprefix("lsc_atomic_"), 1)
    own = {"dst": size, "src1": size if sources else 0, "src2": size if sources > 1 else 0}
    return _address(i, lanes) | own


_SIZES: dict[str, Callable[[Message, int], Sizes]] = {
    **dict.fromkeys(("oword_ld", "oword_st", "oword_ld_unaligned", "svm_block_ld", "svm_block_st"), _owords),
    **dict.fromkeys(("gather4_scaled", "scatter4_scaled", "svm_gather4scaled", "svm_scatter4scaled"), _channels),
    **dict.fromkeys(("gather_scaled", "scatter_scaled"), _scaled),
    **dict.fromkeys(("qw_gather", "qw_scatter"), _qwords),
    **dict.fromkeys(("gather", "scatter"), _gather),
    **dict.fromkeys(("svm_gather", "svm_scatter"), _svm_gather),
    **dict.fromkeys(("svm_atomic", "dword_atomic"), _atomic),
    **dict.fromkeys(("lsc_load", "lsc_store", "lsc_store_uncompressed"), _lsc),
    **dict.fromkeys(("lsc_load_strided", "lsc_store_strided"), _lsc),
    **dict.fromkeys(("lsc_load_quad", "lsc_store_quad"), _quad),
}
"""By mnemonic; of the messages to images that are called like LSC's to buffers, what takes coordinates is left out."""
