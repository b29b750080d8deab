"""Raw messages: those to the data ports and the load/store unit are what an LSC instruction says, so they become one (manual: RAW_SEND, RAW_SENDS).

Bits of the descriptors are those of Intel's public programmer's references ("Data port messages", "LSC messages").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from visa import types
from visa.isa import instruction_set
from visa.isa.enums import LSC_ADDRESS_SIZES, LSC_ADDRESS_TYPES, LSC_DATA_SIZES, LSC_ELEMENTS, LSC_ORDERS, LSC_SFIDS
from visa.operands import NULL, Execution, Immediate, Raw
from visa.program import Instruction
from vsim.refused import RAW_MESSAGES
from vsim.semantics.algebra import Machine, Step
from vsim.semantics.core import SEMANTICS, nothing, semantics

THREAD_SPAWNER, DATA_PORT_0, DATA_PORT_1 = 7, 10, 12
LSC_UNITS = {15: "ugm", 14: "slm", 1: "ugml"}
HEADER = 1 << 19
_STATELESS, _SLM = (253, 255), 254
_INTEGER_ATOMICS = {
    1: "and", 2: "or", 3: "xor", 4: "store", 5: "iinc", 6: "idec", 7: "iadd", 8: "isub", 10: "smax", 11: "smin", 12: "umax", 13: "umin", 14: "icas",
}  # fmt: skip
_FLOAT_ATOMICS = {1: "fmax", 2: "fmin", 3: "fcas", 4: "fadd"}
_BLOCK_OWORDS = {0: 1, 2: 2, 3: 4, 4: 8}


class NoEquivalent(Exception):
    """The message has no instruction of its own; the text says why."""


@dataclass
class Message:
    """A raw message: descriptors, and the payload as address part (behind the header) and data part."""

    unit: int
    descriptor: int
    extended: int | None
    execution: Execution
    header: Raw | None
    address: Raw
    data: Callable[[int], Raw]
    dst: Raw
    grf_size: int

    def field(self, low: int, bits: int) -> int:
        """Bits of the descriptor."""
        return self.descriptor >> low & ((1 << bits) - 1)


def _constant(op: Any, what: str) -> int:
    if not isinstance(op, Immediate):
        raise NoEquivalent(f"its {what} is not a constant")
    return int(op.bits)


def _message(instruction: Instruction, grf_size: int) -> Message:
    args = instruction.args
    descriptor = _constant(args["desc"], "descriptor")
    if "src0" in args:
        first, second = args["src0"], args["src1"]
        extended = args["ex_desc"].bits if isinstance(args["ex_desc"], Immediate) else None
        unit = args.get("sfid") or (extended or 0) & 15
    else:
        first, second = args["src"], None
        extended, unit = args["ex_desc"], args["ex_desc"] & 15
    header = first if descriptor & HEADER else None
    address = Raw(first.var, first.offset + grf_size) if header else first

    def data(address_bytes: int) -> Raw:
        return second or Raw(address.var, address.offset + -(-address_bytes // grf_size) * grf_size)

    return Message(unit, descriptor, extended, args["exec"], header, address, data, args["dst"], grf_size)


def _lsc(
    m: Message,
    name: str,
    kind: str,
    surface: int,
    address_size: str,
    data_size: str,
    elements: int,
    raws: dict[str, Raw],
) -> tuple[str, dict[str, Any]]:
    """The LSC instruction with these fields; ``kind`` is the address model or slm."""
    return name, {
        "sfid": LSC_SFIDS["slm" if kind == "slm" else "ugm"], "l1": 0, "l3": 0, "addr_type": LSC_ADDRESS_TYPES["flat" if kind == "slm" else kind],
        "imm_scale": 1, "imm_offset": 0, "addr_size": LSC_ADDRESS_SIZES[address_size], "data_size": LSC_DATA_SIZES[data_size], "order": LSC_ORDERS["n"],
        "elems": elements, "surface": Immediate(types.UD, surface), "dst": NULL, "addr": m.address, "src1": NULL, "src2": NULL, **raws,
    }  # fmt: skip


def _surface(number: int) -> tuple[str, int]:
    return ("slm", 0) if number == _SLM else ("flat", 0) if number in _STATELESS else ("bti", number)


def _transfer(
    m: Message, name: str, space: tuple[str, int], address_size: str, data_size: str, elements: int
) -> tuple[str, dict[str, Any]]:
    """A load or store of each lane."""
    size = m.execution.size * (8 if address_size == "a64" else 4)
    raws = {"src1": m.data(size)} if "store" in name else {"dst": m.dst}
    return _lsc(m, name, *space, address_size, data_size, elements, raws)


def _atomic(
    m: Message, space: tuple[str, int], address_size: str, data_size: str, names: dict[int, str], code: int
) -> tuple[str, dict[str, Any]]:
    if code not in names:
        raise NoEquivalent(f"atomic operation {code} has no instruction")
    size = m.execution.size * (8 if address_size == "a64" else 4)
    first = m.data(size)
    second = Raw(
        first.var, first.offset + -(-m.execution.size * (8 if data_size == "d64" else 4) // m.grf_size) * m.grf_size
    )
    raws = {"dst": m.dst if m.field(13, 1) else NULL, "src1": first, "src2": second}
    if names[code] in ("icas", "fcas"):
        raws |= {"src1": second, "src2": first}
    return _lsc(m, f"lsc_atomic_{names[code]}", *space, address_size, data_size, LSC_ELEMENTS[1], raws)


def _data_port_0(m: Message) -> tuple[str, dict[str, Any]] | None:
    kind, space = m.field(14, 4), _surface(m.field(0, 8))
    if kind in (4, 12):
        size = ("d8u32", "d16u32", "d32")[m.field(10, 2)]
        return _transfer(m, "lsc_load" if kind == 4 else "lsc_store", space, "a32", size, LSC_ELEMENTS[1])
    if kind == 7:
        return None
    raise NoEquivalent(f"message type {kind} of data port 0 has no instruction")


def _data_port_1(m: Message) -> tuple[str, dict[str, Any]]:
    kind, space, flat = m.field(14, 5), _surface(m.field(0, 8)), ("flat", 0)
    enabled = ~m.field(8, 4) & 15
    if kind in (1, 9):
        return _transfer(m, "lsc_load_quad" if kind == 1 else "lsc_store_quad", space, "a32", "d32", enabled)
    if kind in (0x11, 0x19):
        return _transfer(m, "lsc_load_quad" if kind == 0x11 else "lsc_store_quad", flat, "a64", "d32", enabled)
    if kind in (0x10, 0x1A):
        size, blocks = m.field(8, 2), 1 << m.field(10, 2)
        if size == 0 and blocks > 2:
            raise NoEquivalent("scattered blocks of more than two bytes have no instruction")
        data = ("d8u32", "d16u32")[blocks - 1] if size == 0 else ("", "d32", "d64")[size]
        return _transfer(
            m, "lsc_load" if kind == 0x10 else "lsc_store", flat, "a64", data, LSC_ELEMENTS[1 if size == 0 else blocks]
        )
    if kind == 2:
        return _atomic(m, space, "a32", "d32", _INTEGER_ATOMICS, m.field(8, 4))
    if kind == 0x12:
        return _atomic(m, flat, "a64", "d64" if m.field(12, 1) else "d32", _INTEGER_ATOMICS, m.field(8, 4))
    if kind == 0x1B:
        return _atomic(m, space, "a32", "d32", _FLOAT_ATOMICS, m.field(8, 4))
    raise NoEquivalent(f"message type {kind} of data port 1 has no instruction")


def _load_store_unit(m: Message) -> tuple[str, dict[str, Any]]:
    operation, model = m.field(0, 6), ("flat", "bss", "ss", "bti")[m.field(29, 2)]
    names = {f.fixed["subop"]: f.mnemonic for f in instruction_set().by_opcode[0x89]}
    name = names.get(operation, "")
    if name in ("", "lsc_load_strided", "lsc_store_strided", "lsc_load_block2d", "lsc_store_block2d"):
        raise NoEquivalent(
            f"operation {operation} of the load/store unit needs state that the descriptor does not have"
        )
    if model != "flat" and m.extended is None:
        raise NoEquivalent("its extended descriptor is not a constant")
    surface = (m.extended or 0) >> 24 if model == "bti" else (m.extended or 0) & ~0x3F
    address_size, code = m.field(7, 2), m.field(9, 3) + 1
    size_names = {v: k for k, v in LSC_DATA_SIZES.items()}
    if not address_size or code not in size_names:
        raise NoEquivalent("its descriptor has a reserved address or data size")
    quad = name.endswith("quad")
    address_bytes = (m.execution.size if quad or not m.field(15, 1) else 1) * (2, 4, 8)[address_size - 1]
    found = {"dst": m.dst} if "store" not in name or "atomic" in name else {"src1": m.data(address_bytes)}
    if "atomic" in name:
        first = m.data(address_bytes)
        bytes_each = 8 if size_names[code] == "d64" else 4
        found |= {
            "src1": first,
            "src2": Raw(first.var, first.offset + -(-m.execution.size * bytes_each // m.grf_size) * m.grf_size),
        }
    kind = "slm" if LSC_UNITS[m.unit] == "slm" else model
    text = {v: k for k, v in LSC_ADDRESS_SIZES.items()}[address_size]
    elements = m.field(12, 4) if quad else m.field(12, 3) + 1
    name, args = _lsc(m, name, kind, surface, text, size_names[code], elements, found)
    return name, args | {"order": LSC_ORDERS["t" if m.field(15, 1) and not quad else "n"]}


def equivalent(instruction: Instruction, grf_size: int) -> Instruction | None:
    """The instruction that says what a raw message does; None if it does nothing.

    Raises:
        NoTwin: there is none.
    """
    m = _message(instruction, grf_size)
    if m.unit == DATA_PORT_0:
        found = _data_port_0(m)
    elif m.unit == DATA_PORT_1:
        found = _data_port_1(m)
    elif m.unit in LSC_UNITS:
        found = _load_store_unit(m)
    elif m.unit == THREAD_SPAWNER and instruction.desc.fixed.get("eot"):
        found = None
    else:
        raise NoEquivalent(
            f"messages to unit {m.unit} are not simulated; the data ports ({DATA_PORT_0}, {DATA_PORT_1}) and the load/store unit (14, 15) are"
        )
    if found is None:
        return None
    name, args = found
    (desc,) = instruction_set().by_mnemonic[name][:1]
    return Instruction(desc, args | {"exec": m.execution, "pred": instruction.args["pred"]}, instruction.line)


@semantics(*RAW_MESSAGES)
def raw_send(m: Machine, instruction: Instruction) -> Step:
    """As its twin does; a thread's last message ends all its lanes besides."""
    try:
        found = equivalent(instruction, m.grf_size)
    except NoEquivalent:
        return nothing(m, instruction)  # A kernel that could reach it was refused.
    send = nothing(m, instruction) if found is None else SEMANTICS[found.desc.semantics](m, found)
    if not instruction.desc.fixed.get("eot"):
        return send
    leave = m.leave(m.mask(Execution(32, 0), None))

    def last() -> Any:
        send()
        return leave()

    return last
