"""Raw messages (manual: chapter 6, "Miscellaneous Instructions": RAW_SEND, RAW_SENDS).

A message to a data port or to the load/store unit does what an LSC instruction does, and becomes it: its *equivalent*.
The bits of the descriptors are those of Intel's public programmer's references ("Data port messages", "LSC messages").

Descriptor 0x04024C02 to data port 1 reads: kind 9 in bits 14 to 18 (untyped surface write), 1100 in bits 8 to 11 (the
channels that are *not* written), surface 2 in bits 0 to 7, no header in bit 19. With a payload A of offsets and then
data, 16 lanes and registers of 32 bytes, that is ``lsc_store_quad.ugm (M1, 16) bti(0x2)[A.0]:a32 A.64:d32.xy``.
"""

from __future__ import annotations

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
from visakit.isa.record import Access, Flow, InstructionDesc
from visakit.language import types
from visakit.language.operands import ACTIVE_LANES, NULL, Execution, Immediate, Raw, VectorOperand
from visakit.language.program import Instruction
from vsim.semantics.algebra import Lanes, Machine, Step
from vsim.semantics.core import SEMANTICS, nothing, semantics
from vsim.semantics.flow import arrival
from vsim.semantics.refused import RAW_MESSAGES

GATEWAY, THREAD_SPAWNER, DATA_PORT_0, DATA_PORT_1 = 3, 7, 10, 12
LSC_UNITS = {15: "ugm", 14: "slm", 1: "ugml"}
TYPED_UNIT = 13
GATEWAY_BARRIER, GATEWAY_END = 4, 16
"""Functions of the gateway, in bits 0 to 4 of the descriptor: arrive at a named barrier, end the thread."""
LSC_OPCODE = 0x89
LSC_FENCE = 0x1F
NAMED_BARRIER_GRF_SIZE = 64
"""Bytes of a register of the platforms that have named barriers: those since pvc."""
HEADER = 1 << 19
RAW_MESSAGE = "raw"
"""The field of an equivalent that has the raw message."""
_STATELESS, _SLM = (253, 255), 254
_FLAT: Space = ("flat", 0)

_INTEGER_ATOMICS = {
    1: "and",
    2: "or",
    3: "xor",
    4: "store",
    5: "iinc",
    6: "idec",
    7: "iadd",
    8: "isub",
    10: "smax",
    11: "smin",
    12: "umax",
    13: "umin",
    14: "icas",
}
_FLOAT_ATOMICS = {1: "fmax", 2: "fmin", 3: "fcas", 4: "fadd"}
_COMPARE_AND_SWAP = ("icas", "fcas")
_BYTES = {"a16": 2, "a32": 4, "a64": 8, "d64": 8}
_ADDRESS_SIZES = {v: k for k, v in LSC_ADDRESS_SIZES.items()}
_DATA_SIZES = {v: k for k, v in LSC_DATA_SIZES.items()}


class NoEquivalent(Exception):
    """The message has no instruction of its own; the text says why."""


# -- messages --------------------------------------------------------------------------------------------------


class Message:
    """A raw message: descriptors, and the payload as address part (behind the header) and data part."""

    def __init__(self, instruction: Instruction, grf_size: int) -> None:
        args = instruction.args
        self.grf_size = grf_size
        self.execution: Execution = args["exec"]
        self.dst: Raw = args["dst"]
        self.descriptor = _constant(args["desc"], "descriptor")
        self.extended: int | None
        self.second: Raw | None
        if "src0" in args:
            first, self.second = args["src0"], args["src1"]
            self.extended = args["ex_desc"].bits if isinstance(args["ex_desc"], Immediate) else None
            self.unit = args.get("sfid") or (self.extended or 0) & 15
            self.stored = args["src1_grfs"]
        else:
            first, self.second = args["src"], None
            self.extended, self.unit = args["ex_desc"], args["ex_desc"] & 15
            self.stored = args["src_grfs"] - 1
        self.loaded = args["dst_grfs"]
        self.first: Raw = first
        self.address = Raw(first.var, first.offset + grf_size) if self.descriptor & HEADER else first

    def field(self, low: int, bits: int) -> int:
        """Bits of the descriptor."""
        return self.descriptor >> low & ((1 << bits) - 1)

    def behind(self, raw: Raw, size: int) -> Raw:
        """The register behind ``size`` bytes of a payload."""
        return Raw(raw.var, raw.offset + -(-size // self.grf_size) * self.grf_size)

    def data(self, addresses: int) -> Raw:
        """The data part: the second payload, or what follows so many bytes of addresses."""
        return self.second or self.behind(self.address, addresses)


def _constant(op: VectorOperand, what: str) -> int:
    if not isinstance(op, Immediate):
        raise NoEquivalent(f"its {what} is not a constant")
    return int(op.bits)


# -- the LSC instruction that says the same --------------------------------------------------------------------

Space = tuple[str, int]
"""Where a message goes: slm, or an LSC address model and the surface."""
Lsc = tuple[InstructionDesc, dict[str, object]]
"""An LSC instruction: what it is, and its fields."""


def _desc(name: str) -> InstructionDesc:
    return instruction_set().by_mnemonic[name][0]


def _lsc(
    m: Message, desc: InstructionDesc, space: Space, address_size: str, data_size: str, elements: int, lanes: int
) -> Lsc:
    """The LSC instruction with these fields, and with the operands that it has.

    Args:
        elements: the code of their number, or the mask of channels.
        lanes: how many addresses there are.
    """
    kind, surface = space
    fields: dict[str, object] = {
        "sfid": LSC_SFIDS["slm" if kind == "slm" else "ugm"],
        "l1": 0,
        "l3": 0,
        "addr_type": LSC_ADDRESS_TYPES["flat" if kind == "slm" else kind],
        "surface_index": 0,
        "imm_scale": 1,
        "imm_offset": 0,
        "addr_size": LSC_ADDRESS_SIZES[address_size],
        "data_size": LSC_DATA_SIZES[data_size],
        "order": LSC_ORDERS["n"],
        "elems": elements,
        "surface": Immediate(types.UD, surface),
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


def _surface(number: int) -> Space:
    """What an entry of the binding table stands for."""
    return ("slm", 0) if number == _SLM else _FLAT if number in _STATELESS else ("bti", number)


def _transfer(m: Message, name: str, space: Space, address_size: str, data_size: str, elements: int) -> Lsc:
    """A load or store of each lane."""
    return _lsc(m, _desc(name), space, address_size, data_size, elements, m.execution.size)


def _atomic(m: Message, space: Space, address_size: str, data_size: str, names: dict[int, str]) -> Lsc:
    """An atomic of the data port; without bit 13 the old value is not wanted."""
    code = m.field(8, 4)
    if code not in names:
        raise NoEquivalent(f"atomic operation {code} has no instruction")
    desc = _desc(f"lsc_atomic_{names[code]}")
    _, fields = _lsc(m, desc, space, address_size, data_size, LSC_ELEMENTS[1], m.execution.size)
    if not m.field(13, 1):
        fields["dst"] = NULL
    if names[code] in _COMPARE_AND_SWAP:
        # Here the new value comes first, in an LSC message last.
        fields |= {"src1": fields["src2"], "src2": fields["src1"]}
    return desc, fields


# -- units -----------------------------------------------------------------------------------------------------

_BYTE_SCATTERED = {4: "lsc_load", 12: "lsc_store"}
_BLOCKS_OF_MATRICES = {3: "lsc_load_block2d", 7: "lsc_store_block2d"}
_MEMORY_FENCE = 7
_UNTYPED = {1: "lsc_load_quad", 9: "lsc_store_quad"}
_A64_UNTYPED = {0x11: "lsc_load_quad", 0x19: "lsc_store_quad"}
_A64_SCATTERED = {0x10: "lsc_load", 0x1A: "lsc_store"}
_UNTYPED_ATOMIC, _A64_ATOMIC, _FLOAT_ATOMIC = 2, 0x12, 0x1B


def _data_port_0(m: Message) -> Lsc:
    """Byte scattered messages, and the fence: of local memory, or of what the other units reach."""
    kind, space = m.field(14, 4), _surface(m.field(0, 8))
    if kind in _BYTE_SCATTERED:
        size = ("d8u32", "d16u32", "d32")[m.field(10, 2)]
        return _transfer(m, _BYTE_SCATTERED[kind], space, "a32", size, LSC_ELEMENTS[1])
    if kind == _MEMORY_FENCE:
        return _desc("fence_local" if m.field(0, 8) == _SLM else "fence_global"), {"flush": 0, "l1": 0}
    raise NoEquivalent(f"message type {kind} of data port 0 has no instruction")


def _data_port_1(m: Message) -> Lsc:
    """Untyped messages and atomics, to surfaces and to flat memory."""
    kind, space = m.field(14, 5), _surface(m.field(0, 8))
    enabled = ~m.field(8, 4) & 15
    if kind in _UNTYPED:
        return _transfer(m, _UNTYPED[kind], space, "a32", "d32", enabled)
    if kind in _A64_UNTYPED:
        return _transfer(m, _A64_UNTYPED[kind], _FLAT, "a64", "d32", enabled)
    if kind in _A64_SCATTERED:
        data_size, count = _scattered(m)
        return _transfer(m, _A64_SCATTERED[kind], _FLAT, "a64", data_size, LSC_ELEMENTS[count])
    if kind == _UNTYPED_ATOMIC:
        return _atomic(m, space, "a32", "d32", _INTEGER_ATOMICS)
    if kind == _A64_ATOMIC:
        return _atomic(m, _FLAT, "a64", "d64" if m.field(12, 1) else "d32", _INTEGER_ATOMICS)
    if kind == _FLOAT_ATOMIC:
        return _atomic(m, space, "a32", "d32", _FLOAT_ATOMICS)
    raise NoEquivalent(f"message type {kind} of data port 1 has no instruction")


def _scattered(m: Message) -> tuple[str, int]:
    """Size and number of the elements of a scattered message: so many bytes count as one element."""
    size, blocks = m.field(8, 2), 1 << m.field(10, 2)
    if size:
        return ("", "d32", "d64")[size], blocks
    if blocks > 2:
        raise NoEquivalent("scattered blocks of more than two bytes have no instruction")
    return ("d8u32", "d16u32")[blocks - 1], 1


def _load_store_unit(m: Message) -> Lsc:
    """LSC messages, whose descriptor says what their text does."""
    if m.field(0, 6) == LSC_FENCE:
        return _fence(m, LSC_UNITS[m.unit])
    if m.field(0, 6) in _BLOCKS_OF_MATRICES:
        return _block2d(m, _desc(_BLOCKS_OF_MATRICES[m.field(0, 6)]))
    desc, space = _lsc_operation(m.field(0, 6)), _lsc_space(m)
    address_size, data_size = _ADDRESS_SIZES.get(m.field(7, 2)), _DATA_SIZES.get(m.field(9, 3) + 1)
    if address_size is None or data_size is None:
        raise NoEquivalent("its descriptor has a reserved address or data size")
    quad = desc.mnemonic.endswith("_quad")
    transposed = bool(m.field(15, 1)) and not quad
    elements = m.field(12, 4) if quad else m.field(12, 3) + 1
    lanes = 1 if transposed else m.execution.size
    _, fields = _lsc(m, desc, space, address_size, data_size, elements, lanes)
    return desc, fields | {"order": LSC_ORDERS["t" if transposed else "n"]}


def _block2d(m: Message, desc: InstructionDesc) -> Lsc:
    """A block of a matrix, whose payload has its shape.

    Bit 7 asks for the VNNI form, bits 9 to 11 are the size of elements, bit 15 transposes. What is added to x is in
    bits 12 to 21 of the extended descriptor, what is added to y in bits 22 to 31.
    """
    store, vnni, transposed = desc.access is Access.STORE, m.field(7, 1), m.field(15, 1)
    size = _DATA_SIZES.get(m.field(9, 3) + 1)
    if LSC_UNITS[m.unit] == "slm" or m.field(29, 2):
        raise NoEquivalent("blocks of a matrix are in flat memory")
    if size not in ("d8", "d16", "d32", "d64"):
        raise NoEquivalent("its descriptor has a size that elements of a matrix do not have")
    if m.extended is None:
        raise NoEquivalent("its extended descriptor is not a constant")
    if (vnni or transposed) if store else (vnni and transposed):
        raise NoEquivalent("blocks are stored as they are, and loaded transposed or in VNNI form")
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
        "x_offset": _signed(m.extended >> 12),
        "y_offset": _signed(m.extended >> 22),
        "src1": data if store else NULL,
    }


def _signed(bits: int) -> int:
    """The low ten bits as a number with a sign."""
    return (bits & 0x1FF) - (bits & 0x200)


def _fence(m: Message, unit: str) -> Lsc:
    """An LSC fence: who sees what it orders in bits 9 to 11, what becomes of caches in bits 12 to 14."""
    scope, op = m.field(9, 3), m.field(12, 3)
    if scope not in FENCE_SCOPES.values() or op not in FENCE_OPS.values():
        raise NoEquivalent("its descriptor has a reserved scope or operation of a fence")
    return _desc("lsc_fence"), {"sfid": LSC_SFIDS[unit], "op": op, "scope": scope}


def _lsc_operation(operation: int) -> InstructionDesc:
    """The LSC instruction with this sub-operation; those with operands beside the surface are not in the descriptor."""
    known = {desc.fixed["subop"]: desc for desc in instruction_set().by_opcode[LSC_OPCODE]}
    desc = known.get(operation)
    if desc is None or [f.name for f in desc.fields if f.kind == "s"] != ["surface"]:
        what = "needs state that the descriptor does not have"
        raise NoEquivalent(f"operation {operation} of the load/store unit {what}")
    return desc


def _lsc_space(m: Message) -> Space:
    """Where an LSC message goes: the surface of a binding table entry is in the top byte of the extended descriptor."""
    model = ("flat", "bss", "ss", "bti")[m.field(29, 2)]
    if model != "flat" and m.extended is None:
        raise NoEquivalent("its extended descriptor is not a constant")
    extended = m.extended or 0
    surface = extended >> 24 if model == "bti" else extended & ~0x3F
    return "slm" if LSC_UNITS[m.unit] == "slm" else model, surface


# -- instructions ----------------------------------------------------------------------------------------------


def equivalent(instruction: Instruction, grf_size: int) -> Instruction | None:
    """The instruction that does what a raw message does; None if that is nothing, or :func:`signals_barrier` holds.

    Raises:
        NoEquivalent: there is none.
    """
    m = Message(instruction, grf_size)
    found: Lsc | None = None
    if m.unit == DATA_PORT_0:
        found = _data_port_0(m)
    elif m.unit == DATA_PORT_1:
        found = _data_port_1(m)
    elif m.unit in LSC_UNITS:
        found = _load_store_unit(m)
    elif m.unit == TYPED_UNIT and m.field(0, 6) == LSC_FENCE:
        found = _fence(m, "tgm")
    elif not _only_ends(m, instruction) and not _signals(m, instruction):
        raise NoEquivalent(
            f"messages to unit {m.unit} are not simulated; named barriers ({GATEWAY}), "
            f"the data ports ({DATA_PORT_0}, {DATA_PORT_1}) and the load/store unit (14, 15) are"
        )
    if found is None:
        return None
    desc, fields = found
    fields |= {"exec": m.execution, "pred": instruction.args["pred"], RAW_MESSAGE: instruction}
    return Instruction(desc, fields, instruction.line)


def _only_ends(m: Message, instruction: Instruction) -> bool:
    """Whether a thread's last message does nothing but end it: to the thread spawner, since dg2 to the gateway."""
    ends = m.unit == THREAD_SPAWNER or (m.unit == GATEWAY and m.field(0, 5) == GATEWAY_END)
    return ends and instruction.desc.flow is Flow.END


def _signals(m: Message, instruction: Instruction) -> bool:
    if m.unit != GATEWAY or m.field(0, 5) != GATEWAY_BARRIER:
        return False
    if m.grf_size < NAMED_BARRIER_GRF_SIZE:
        raise NoEquivalent("barriers by messages are simulated where there are named barriers, on pvc and newer")
    if instruction.args["pred"] is not None:
        raise NoEquivalent("messages to barriers are simulated without a predicate")
    return True


def signals_barrier(instruction: Instruction, grf_size: int) -> bool:
    """Whether a raw message arrives at a named barrier."""
    if instruction.desc.semantics not in RAW_MESSAGES:
        return False
    try:
        return _signals(Message(instruction, grf_size), instruction)
    except NoEquivalent:
        return False


def flow_of(instruction: Instruction, grf_size: int) -> Flow:
    """What an instruction does to control flow; of a raw message to a named barrier, what ``nbarrier.signal`` does."""
    return Flow.NAMED_BARRIER if signals_barrier(instruction, grf_size) else instruction.desc.flow


def _signal(m: Machine, instruction: Instruction) -> Step:
    """Arrive at the named barrier that dword 2 of the header names: its number in bits 0 to 7, the role in 14 and 15,
    the producers from 16, the consumers from 24 on.
    """
    a, header = m.algebra, m.raw_reader(Message(instruction, m.grf_size).first, 8, 1, types.UD)

    def part(low: int, bits: int) -> Lanes:
        return (header() >> a.const(low, types.UD)) & a.const((1 << bits) - 1, types.UD)

    return m.named_barrier(lambda: part(0, 8), lambda: arrival(a, part(14, 2), part(16, 8), part(24, 8)), instruction)


def meaning(instruction: Instruction, grf_size: int) -> Instruction:
    """The instruction itself; of a raw message the one that does what it does, where there is one."""
    if instruction.desc.semantics not in RAW_MESSAGES:
        return instruction
    try:
        return equivalent(instruction, grf_size) or instruction
    except NoEquivalent:
        return instruction


@semantics(*RAW_MESSAGES)
def raw_send(m: Machine, instruction: Instruction) -> Step:
    """Does what its equivalent does; a thread's last message ends all its lanes besides."""
    try:
        found = equivalent(instruction, m.grf_size)
    except NoEquivalent:
        return nothing(m, instruction)  # A kernel that could reach it was refused.
    if signals_barrier(instruction, m.grf_size):
        return _signal(m, instruction)
    send = nothing(m, instruction) if found is None else SEMANTICS[found.desc.semantics](m, found)
    if instruction.desc.flow is not Flow.END:
        return send
    leave = m.leave(m.mask(ACTIVE_LANES, None))

    def last() -> object:
        send()
        return leave()

    return last
