"""Memory messages before LSC (manual: chapter 6, "Surface-based Memory Access", "SVM", URB_WRITE of "3D Extensions").

A message reads or writes *elements* at an address for each lane (gather and scatter), or consecutive bytes at one
address (blocks). Its payload is a structure of arrays: the part for one element of all lanes begins on a register
boundary. ``gather4_scaled.RB`` on 16 lanes reads the dwords 0 and 2 behind each lane's offset; with registers of 32
bytes the red channels fill bytes 0 to 63 of dst, the blue ones bytes 64 to 127. An element that is narrower in memory
takes the low end of its register's dword.
"""

from __future__ import annotations

from functools import partial
from itertools import islice

from visakit.isa.enums import ATOMIC_SOURCES, ATOMIC_TYPES, ATOMICS, COUNTS, LSC_DATA_SIZES, OWORDS
from visakit.isa.record import Access
from visakit.language import types
from visakit.language.operands import Execution, Immediate, Raw
from visakit.language.program import Instruction
from visakit.language.types import UQ, UW, DataType
from vsim.semantics.algebra import FindSpace, Lanes, Machine, Mask, Read, ReadMask, Step, Write
from vsim.semantics.core import both, mask_of, semantics, source, unsigned_of

_COUNT_OF = {v: int(k) for k, v in COUNTS.items()}
_OWORDS_OF = {v: k for k, v in OWORDS.items()}

# -- payloads --------------------------------------------------------------------------------------------------


def is_store(instruction: Instruction) -> bool:
    """Whether a message writes memory; atomics do not count."""
    return instruction.desc.access is Access.STORE


def data_of(instruction: Instruction) -> Raw:
    """The payload of a load or store: where the elements go, or where they come from."""
    args = instruction.args
    stored = "src" if "src" in args else "src1"
    raw: Raw = args[stored if is_store(instruction) else "dst"]
    return raw


def stride(m: Machine, count: int, size: int) -> int:
    """Bytes from one payload element of all lanes to the next."""
    return -(-count * size // m.grf_size) * m.grf_size


def channels(mask: int) -> list[int]:
    """Numbers of the enabled channels."""
    return [c for c in range(4) if mask >> c & 1]


def read_as(m: Machine, read: Read, memory: DataType, register: DataType) -> Read:
    """Elements of a payload as those of memory."""
    return read if memory is register else lambda: m.algebra.cast(read(), memory)


def _write_as(m: Machine, write: Write, register: DataType, value: Lanes, mask: Mask) -> None:
    write(m.algebra.cast(value, register), mask)


def _high_half(m: Machine, read: Read) -> Lanes:
    return read() >> m.algebra.const(16, types.UD)


def _write_high_half(m: Machine, write: Write, value: Lanes, mask: Mask) -> None:
    write(m.algebra.cast(value, types.UD) << m.algebra.const(16, types.UD), mask)


def _payload(
    m: Machine, instruction: Instruction, memory: DataType, register: DataType, parts: int
) -> tuple[list[Read], list[Write]]:
    """Readers (as the memory type) of the parts of stored data, or writers (from it) of loaded data.

    A word of d16u32h is the high half of its dword; a load clears the low half.
    """
    raw, execution = data_of(instruction), instruction.args["exec"]
    count = execution.size
    places = [k * stride(m, execution.payload or count, register.size) for k in range(parts)]
    high = instruction.args.get("data_size") == LSC_DATA_SIZES["d16u32h"]
    if is_store(instruction):
        stored = [m.raw_reader(raw, at, count, register, by_lane=True) for at in places]
        return [read_as(m, partial(_high_half, m, read) if high else read, memory, register) for read in stored], []
    loaded = [m.raw_writer(raw, at, count, register) for at in places]
    if high:
        return [], [partial(_write_high_half, m, write) for write in loaded]
    return [], [write if memory is register else partial(_write_as, m, write, register) for write in loaded]


# -- gather and scatter ----------------------------------------------------------------------------------------


def transfer(
    m: Machine,
    instruction: Instruction,
    space: FindSpace,
    address: Read,
    offsets: list[int],
    memory: DataType,
    register: DataType,
) -> Step:
    """Load or store elements at ``address + offset`` for each offset; part k of the payload belongs to offset k.

    Args:
        memory: the type of an element in memory.
        register: its type in the payload.
    """
    a = m.algebra
    reads, writes = _payload(m, instruction, memory, register, len(offsets))
    runs, mask = _runs(offsets, memory.size), mask_of(m, instruction)

    one = instruction.args["exec"].size == 1

    def load_step() -> None:
        where, base, lanes = space(), address(), mask()
        where = m.for_blocks(where) if one else where
        values: list[Lanes] = []
        for o, n in runs:
            values += m.load_elements(where, base + a.const(o, UQ) if o else base, memory, n, lanes, instruction)
        for write, value in zip(writes, values, strict=True):
            write(value, lanes)

    def store_step() -> None:
        where, base, lanes = space(), address(), mask()
        values = iter([r() for r in reads])
        for o, n in runs:
            m.store_elements(where, base + a.const(o, UQ) if o else base, list(islice(values, n)), lanes, instruction)

    return store_step if is_store(instruction) else load_step


def _runs(offsets: list[int], size: int) -> list[tuple[int, int]]:
    """Offsets of elements that follow each other, as offset and number."""
    found: list[tuple[int, int]] = []
    for o in offsets:
        if found and o == found[-1][0] + found[-1][1] * size:
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append((o, 1))
    return found


def execution_of(instruction: Instruction) -> Execution | None:
    """The lanes that an instruction is for, also of messages whose execution size and mask are one byte; None if it has
    none.
    """
    if instruction.desc.semantics in ("gather", "scatter"):
        return _old_execution(instruction)
    found: Execution | None = instruction.args.get("exec")
    return found


def _old_execution(instruction: Instruction) -> Execution:
    return Execution({0: 8, 1: 16, 2: 1}[instruction.args["num_elts"]], instruction.args["mask"])


def _surface(m: Machine, instruction: Instruction) -> FindSpace:
    """The surface that a message names."""
    return lambda: m.surface(instruction.args["surface"])


def _surface_address(m: Machine, instruction: Instruction) -> Read:
    """The message's global offset plus each lane's offset, as UQ; both count bytes."""
    args, a = instruction.args, m.algebra
    base, offsets = source(m, args["global_offset"], 1, types.UD), _lane_offsets(m, instruction)
    if isinstance(args["global_offset"], Immediate) and not args["global_offset"].bits:
        return lambda: a.cast(offsets(), UQ)
    return lambda: a.cast(base() + offsets(), UQ)


def _lane_offsets(m: Machine, instruction: Instruction) -> Read:
    """Each lane's byte offset."""
    args = instruction.args
    return m.raw_reader(args["offsets"], 0, args["exec"].size, types.UD, by_lane=True)


@semantics("gather4_scaled", "scatter4_scaled", by_lane=True)
def gather4_scaled(m: Machine, instruction: Instruction) -> Step:
    """The enabled ones of four dwords behind each lane's offset into a surface."""
    offsets = [4 * c for c in channels(instruction.args["channel_mask"])]
    space, address = _surface(m, instruction), _surface_address(m, instruction)
    return transfer(m, instruction, space, address, offsets, types.UD, types.UD)


@semantics("gather_scaled", "scatter_scaled", by_lane=True)
def gather_scaled(m: Machine, instruction: Instruction) -> Step:
    """1, 2 or 4 bytes at each lane's offset into a surface, in the low end of the lane's dword."""
    memory = unsigned_of(_COUNT_OF[instruction.args["num_blocks"]])
    space, address = _surface(m, instruction), _surface_address(m, instruction)
    return transfer(m, instruction, space, address, [0], memory, types.UD)


@semantics("qw_gather", "qw_scatter", by_lane=True)
def qw_gather(m: Machine, instruction: Instruction) -> Step:
    """``num_blocks`` qwords at each lane's offset into a surface."""
    a, offsets = m.algebra, _lane_offsets(m, instruction)
    parts = [8 * k for k in range(_COUNT_OF[instruction.args["num_blocks"]])]
    return transfer(m, instruction, _surface(m, instruction), lambda: a.cast(offsets(), UQ), parts, UQ, UQ)


@semantics("gather", "scatter")
def gather(m: Machine, instruction: Instruction) -> Step:
    """The old form: offsets in elements, execution size and mask in one byte."""
    args, a = instruction.args, m.algebra
    execution = _old_execution(instruction)
    plain = Instruction(instruction.desc, args | {"exec": execution}, instruction.line)
    space, memory = _surface(m, instruction), unsigned_of(1 << args["elt_size"])
    scale = a.const(memory.size, types.UD)
    base = source(m, args["global_offset"], 1, types.UD)
    offsets = m.raw_reader(args["offsets"], 0, execution.size, types.UD, by_lane=True)
    return transfer(m, plain, space, lambda: a.cast((base() + offsets()) * scale, UQ), [0], memory, types.UD)


@semantics("svm_gather", "svm_scatter", by_lane=True)
def svm_gather(m: Machine, instruction: Instruction) -> Step:
    """Elements at each lane's virtual address: ``num_blocks`` dwords or qwords, or so many bytes in one element."""
    args = instruction.args
    blocks, size = _COUNT_OF[args["num_blocks"]], (1, 4, 8)[args["block_type"]]
    if size == 1:
        memory, offsets = unsigned_of(blocks), [0]
        register = types.UD if blocks <= 4 else UQ
    else:
        memory = register = unsigned_of(size)
        offsets = [size * k for k in range(blocks)]
    return transfer(m, instruction, m.flat, _lane_addresses(m, instruction), offsets, memory, register)


def _lane_addresses(m: Machine, instruction: Instruction) -> Read:
    """Each lane's virtual address."""
    args = instruction.args
    return m.raw_reader(args["addresses"], 0, args["exec"].size, UQ, by_lane=True)


@semantics("svm_gather4scaled", "svm_scatter4scaled", by_lane=True)
def svm_gather4scaled(m: Machine, instruction: Instruction) -> Step:
    """The enabled ones of four dwords behind a virtual address plus each lane's offset."""
    args = instruction.args
    base = source(m, args["address"], 1, UQ)
    offsets = m.raw_reader(args["offsets"], 0, args["exec"].size, UQ, by_lane=True)
    parts = [4 * c for c in channels(args["channel_mask"])]
    return transfer(m, instruction, m.flat, lambda: base() + offsets(), parts, types.UD, types.UD)


# -- blocks ----------------------------------------------------------------------------------------------------


def block(
    m: Machine, instruction: Instruction, space: FindSpace, address: Read, element: DataType, count: int, mask: ReadMask
) -> Step:
    """Load or store ``count`` consecutive elements at a scalar address."""
    a, raw = m.algebra, data_of(instruction)
    places = a.iota(count, UQ) * a.const(element.size, UQ)
    read, write = m.raw_reader(raw, 0, count, element), m.raw_writer(raw, 0, count, element)
    if is_store(instruction):
        return lambda: m.store(space(), address() + places, read(), mask(), instruction)
    return lambda: write(m.load(m.for_blocks(space()), address() + places, element, mask(), instruction), mask())


def _owords(m: Machine, instruction: Instruction, space: FindSpace, address: Read) -> Step:
    """A block of owords, whatever the execution mask."""
    dwords = 4 * _OWORDS_OF[instruction.args["owords"]]
    return block(m, instruction, space, address, types.UD, dwords, m.thread_mask)


def _oword_block(unit: int, *names: str) -> None:
    """Consecutive owords of a surface; the offset counts so many bytes."""

    @semantics(*names)
    def prepare(m: Machine, instruction: Instruction) -> Step:
        a, offset = m.algebra, source(m, instruction.args["offset"], 1, types.UD)
        return _owords(m, instruction, _surface(m, instruction), lambda: a.cast(offset(), UQ) * a.const(unit, UQ))


_oword_block(16, "oword_ld", "oword_st")
_oword_block(1, "oword_ld_unaligned")


@semantics("svm_block_ld", "svm_block_st")
def svm_block(m: Machine, instruction: Instruction) -> Step:
    """Consecutive owords at a virtual address, whatever the execution mask."""
    return _owords(m, instruction, m.flat, source(m, instruction.args["address"], 1, UQ))


# -- atomics ---------------------------------------------------------------------------------------------------

ATOMIC_NAMES = {v: k for k, v in ATOMICS.items()}
ANY_ORDER = "Lanes of one message in ascending order; threads in any."


def data_port_order(op: str, instruction: Instruction) -> list[Raw]:
    """Destination and sources of an atomic of the data port, in the order of the algebra.

    Its compare-and-swap has the new value first, LSC's and the algebra's have it last.
    """
    args = instruction.args
    sources = [args["src0"], args["src1"]][: ATOMIC_SOURCES.get(op, 1)]
    return [args["dst"], *reversed(sources)]


def atomic(
    m: Machine,
    instruction: Instruction,
    space: FindSpace,
    address: Read,
    op: str,
    memory: DataType,
    register: DataType,
    raws: list[Raw],
) -> Step:
    """An atomic operation at each lane's address: the old value to the first of ``raws``, sources from the others.

    The manual leaves the order of lanes and threads open: here lanes of one message act in ascending order.
    """
    a, count = m.algebra, instruction.args["exec"].size
    dst, *sources = raws
    reads = [
        read_as(m, m.raw_reader(raw, 0, count, register, by_lane=True), memory, register)
        for raw in sources[: ATOMIC_SOURCES.get(op, 1)]
    ]
    write = m.raw_writer(dst, 0, count, register)
    mask = mask_of(m, instruction)
    wanted = dst.var != 0

    def step() -> None:
        lanes = mask()
        old = m.atomic(space(), op, address(), memory, [r() for r in reads], lanes, instruction)
        if wanted:
            write(a.cast(old, register), lanes)

    return step


def _data_port_atomic(m: Machine, instruction: Instruction, space: FindSpace, address: Read) -> Step:
    args = instruction.args
    op, memory = ATOMIC_NAMES[args["op"]], ATOMIC_TYPES[args["width"]]
    register, raws = types.UD if memory is UW else memory, data_port_order(op, instruction)
    return atomic(m, instruction, space, address, op, memory, register, raws)


@semantics("svm_atomic", deviation=ANY_ORDER)
def svm_atomic(m: Machine, instruction: Instruction) -> Step:
    """An atomic operation at each lane's virtual address."""
    return _data_port_atomic(m, instruction, m.flat, _lane_addresses(m, instruction))


@semantics("dword_atomic", deviation=ANY_ORDER)
def dword_atomic(m: Machine, instruction: Instruction) -> Step:
    """An atomic operation at each lane's offset into a surface."""
    a, offsets = m.algebra, _lane_offsets(m, instruction)
    return _data_port_atomic(m, instruction, _surface(m, instruction), lambda: a.cast(offsets(), UQ))


# -- URB -------------------------------------------------------------------------------------------------------


@semantics(
    "urb_write_3d",
    deviation="Handles and offsets count owords from the beginning of the buffer that the launch names %urb.",
)
def urb_write(m: Machine, instruction: Instruction) -> Step:
    """Output k of a lane goes to dword k behind its handle and offsets, if its channel mask (bits 16 and up) has it."""
    args, a = instruction.args, m.algebra
    count, step_bytes = args["exec"].size, stride(m, args["exec"].size, 4)
    handle, offset = (m.raw_reader(args[n], 0, count, types.UD, by_lane=True) for n in ("handle", "per_slot_offset"))
    enabled = m.raw_reader(args["channel_mask"], 0, count, types.UD, by_lane=True) if args["channel_mask"].var else None
    values = [m.raw_reader(args["data"], k * step_bytes, count, types.UD, by_lane=True) for k in range(args["num_out"])]
    mask = mask_of(m, instruction)

    def step() -> None:
        lanes, where = mask(), m.urb()
        base = a.cast(handle() + offset() + a.const(args["global_offset"], types.UD), UQ) * a.const(16, UQ)
        for k, value in enumerate(values):
            chosen = lanes
            if enabled is not None:
                bit = ((enabled() >> a.const(16 + k % 8, types.UD)) & a.const(1, types.UD)) != a.const(0, types.UD)
                chosen = both(lanes, bit)
            m.store(where, base + a.const(4 * k, UQ), value(), chosen, instruction)

    return step
