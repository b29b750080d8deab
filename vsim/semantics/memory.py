"""Memory messages: addresses, channel layouts, atomics (manual: data port, SVM and LSC chapters).

Payloads are structures of arrays: each channel or vector element of all lanes begins on a register boundary.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

from visa import types
from visa.isa.enums import ATOMICS, COUNTS, LSC_ADDRESS_TYPES, LSC_ATOMICS, LSC_ELEMENTS, LSC_SFIDS, OWORDS
from visa.operands import Immediate, Raw
from visa.program import Instruction
from visa.types import UB, UQ, UW, DataType, Q
from vsim.semantics.algebra import Lanes, Machine, Mask, Read, Space, Step
from vsim.semantics.core import SEMANTICS, both, mask_of, nothing, semantics, source

_UNSIGNED = {1: UB, 2: UW, 4: types.UD, 8: UQ}
ATOMIC_NAMES = {v: k for k, v in ATOMICS.items()}
_COUNT_OF = {v: int(k) for k, v in COUNTS.items()}
_OWORDS_OF = {v: k for k, v in OWORDS.items()}
ELEMENTS_OF = {v: k for k, v in LSC_ELEMENTS.items()}
_ADDRESS_KIND = {v: k for k, v in LSC_ADDRESS_TYPES.items()}


def stride(m: Machine, count: int, size: int) -> int:
    """Bytes from one payload element of all lanes to the next."""
    return -(-count * size // m.grf_size) * m.grf_size


def channels(mask: int) -> list[int]:
    """Numbers of the enabled channels."""
    return [c for c in range(4) if mask >> c & 1]


def _payload(
    m: Machine, raw: Raw, count: int, memory: DataType, register: DataType, parts: int
) -> tuple[list[Read], list[Callable[[Lanes, Mask], None]]]:
    """Readers (as the memory type) and writers (from it) of the parts of a payload."""
    step = stride(m, count, register.size)
    reads, writes = [], []
    for k in range(parts):
        read, write = (
            m.raw_reader(raw, k * step, count, register, by_lane=True),
            m.raw_writer(raw, k * step, count, register),
        )
        reads.append(_read_as(m, read, memory, register))
        writes.append(write if memory is register else partial(_write_as, m, write, register))
    return reads, writes


def _read_as(m: Machine, read: Read, memory: DataType, register: DataType) -> Read:
    return read if memory is register else lambda: m.algebra.cast(read(), memory)


def _write_as(m: Machine, write: Callable[[Lanes, Mask], None], register: DataType, value: Lanes, mask: Mask) -> None:
    write(m.algebra.cast(value, register), mask)


def _transfer(
    m: Machine, instruction: Instruction, space: Callable[[], Space], address: Read, offsets: list[int], raw: Raw, memory: DataType, register: DataType,
    mask: Callable[[], Mask], *, store: bool,
) -> Step:  # fmt: skip
    """Load or store elements at ``address + offset`` for each offset; part k of the payload belongs to offset k."""
    a, count = m.algebra, instruction.args["exec"].size
    reads, writes = _payload(m, raw, count, memory, register, len(offsets))
    runs = _runs(offsets, memory.size)

    def load_step() -> None:
        where, base, lanes = space(), address(), mask()
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

    return store_step if store else load_step


def _runs(offsets: list[int], size: int) -> list[tuple[int, int]]:
    """Offsets of elements that follow each other, as offset and number."""
    found: list[tuple[int, int]] = []
    for o in offsets:
        if found and o == found[-1][0] + found[-1][1] * size:
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append((o, 1))
    return found


def _surface_address(m: Machine, instruction: Instruction, scale: int = 1) -> Read:
    """Global offset plus each lane's offset, as UQ."""
    args, a = instruction.args, m.algebra
    count = args["exec"].size
    base = source(m, args["global_offset"], 1, types.UD) if "global_offset" in args else None
    offsets = m.raw_reader(args["offsets"], 0, count, types.UD, by_lane=True)
    if isinstance(args.get("global_offset"), Immediate) and not args["global_offset"].bits:
        return lambda: a.cast(offsets(), UQ)
    assert base
    return lambda: a.cast(base() + offsets(), UQ)


@semantics("gather4_scaled", "scatter4_scaled")
def gather4_scaled(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    store = "src" in args
    offsets = [4 * c for c in channels(args["channel_mask"])]
    return _transfer(m, instruction, lambda: m.surface(args["surface"]), _surface_address(m, instruction), offsets, args["src" if store else "dst"],
                     types.UD, types.UD, mask_of(m, instruction), store=store)  # fmt: skip


@semantics("gather_scaled", "scatter_scaled")
def gather_scaled(m: Machine, instruction: Instruction) -> Step:
    """1, 2 or 4 bytes in the low end of each lane's dword."""
    args = instruction.args
    store = "src" in args
    memory = _UNSIGNED[_COUNT_OF[args["num_blocks"]]]
    return _transfer(m, instruction, lambda: m.surface(args["surface"]), _surface_address(m, instruction), [0], args["src" if store else "dst"],
                     memory, types.UD, mask_of(m, instruction), store=store)  # fmt: skip


@semantics("qw_gather", "qw_scatter")
def qw_gather(m: Machine, instruction: Instruction) -> Step:
    args, a = instruction.args, m.algebra
    store = "src" in args
    offsets = m.raw_reader(args["offsets"], 0, args["exec"].size, types.UD, by_lane=True)
    parts = [8 * k for k in range(_COUNT_OF[args["num_blocks"]])]
    return _transfer(m, instruction, lambda: m.surface(args["surface"]), lambda: a.cast(offsets(), UQ), parts, args["src" if store else "dst"], UQ, UQ,
                     mask_of(m, instruction), store=store)  # fmt: skip


@semantics("gather", "scatter")
def gather(m: Machine, instruction: Instruction) -> Step:
    """The old form: offsets in elements, execution size and mask in one byte."""
    from visa.operands import Execution

    args, a = instruction.args, m.algebra
    execution = Execution({0: 8, 1: 16, 2: 1}[args["num_elts"]], args["mask"])
    plain = Instruction(instruction.desc, args | {"exec": execution}, instruction.line)
    memory = _UNSIGNED[1 << args["elt_size"]]
    scale = a.const(memory.size, types.UD)
    base = source(m, args["global_offset"], 1, types.UD)
    offsets = m.raw_reader(args["offsets"], 0, execution.size, types.UD)
    store = "src" in args
    return _transfer(m, plain, lambda: m.surface(args["surface"]), lambda: a.cast((base() + offsets()) * scale, UQ), [0], args["src" if store else "dst"],
                     memory, types.UD, m.mask(execution, None), store=store)  # fmt: skip


# -- blocks ----------------------------------------------------------------------------------------------------


def _block(
    m: Machine,
    instruction: Instruction,
    space: Callable[[], Space],
    address: Read,
    raw: Raw,
    size: int,
    *,
    store: bool,
    element: DataType = types.UD,
) -> Step:
    """Consecutive bytes at a scalar address, for every thread at the instruction."""
    a, count = m.algebra, size // element.size
    places = a.iota(count, UQ) * a.const(element.size, UQ)
    read, write = m.raw_reader(raw, 0, count, element), m.raw_writer(raw, 0, count, element)
    if store:
        return lambda: m.store(space(), address() + places, read(), m.thread_mask(), instruction)
    return lambda: write(m.load(space(), address() + places, element, m.thread_mask(), instruction), m.thread_mask())


def _oword(name: str, unit: int) -> None:
    @semantics(name)
    def prepare(m: Machine, instruction: Instruction) -> Step:
        args, a = instruction.args, m.algebra
        offset = source(m, args["offset"], 1, types.UD)
        store = "src" in args
        size = 16 * _OWORDS_OF[args["owords"]]
        return _block(m, instruction, lambda: m.surface(args["surface"]), lambda: a.cast(offset(), UQ) * a.const(unit, UQ), args["src" if store else "dst"],
                      size, store=store)  # fmt: skip


_oword("oword_ld", 16)
_oword("oword_st", 16)
_oword("oword_ld_unaligned", 1)


@semantics("svm_block_ld", "svm_block_st")
def svm_block(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    store = "src" in args
    address = source(m, args["address"], 1, UQ)
    return _block(
        m, instruction, m.flat, address, args["src" if store else "dst"], 16 * _OWORDS_OF[args["owords"]], store=store
    )


# -- SVM -------------------------------------------------------------------------------------------------------


@semantics("svm_gather", "svm_scatter")
def svm_gather(m: Machine, instruction: Instruction) -> Step:
    """Bytes: num_blocks of them in each lane's dword. Dwords and qwords: num_blocks parts."""
    args = instruction.args
    store = "src" in args
    address = m.raw_reader(args["addresses"], 0, args["exec"].size, UQ, by_lane=True)
    blocks = _COUNT_OF[args["num_blocks"]]
    size = (1, 4, 8)[args["block_type"]]
    if size == 1 and blocks <= 4:
        memory, register, offsets = _UNSIGNED[blocks], types.UD, [0]
    elif size == 1:
        memory, register, offsets = UQ, UQ, [0]
    else:
        memory = register = _UNSIGNED[size]
        offsets = [size * k for k in range(blocks)]
    return _transfer(
        m,
        instruction,
        m.flat,
        address,
        offsets,
        args["src" if store else "dst"],
        memory,
        register,
        mask_of(m, instruction),
        store=store,
    )


@semantics("svm_gather4scaled", "svm_scatter4scaled")
def svm_gather4scaled(m: Machine, instruction: Instruction) -> Step:
    args, _a = instruction.args, m.algebra
    store = "src" in args
    base, offsets = (
        source(m, args["address"], 1, UQ),
        m.raw_reader(args["offsets"], 0, args["exec"].size, UQ, by_lane=True),
    )
    parts = [4 * c for c in channels(args["channel_mask"])]
    return _transfer(m, instruction, m.flat, lambda: base() + offsets(), parts, args["src" if store else "dst"], types.UD, types.UD,
                     mask_of(m, instruction), store=store)  # fmt: skip


# -- atomics ---------------------------------------------------------------------------------------------------

ATOMIC_SOURCES = {"inc": 0, "dec": 0, "load": 0, "cmpxchg": 2, "fcmpwr": 2}
ATOMIC_TYPES = (types.UD, UW, UQ)
"""What an atomic of the data port works on, by its width."""
ANY_ORDER = "Lanes of one message in ascending order; threads in any."


def data_port_order(op: str, args: dict[str, Any]) -> list[Raw]:
    """Destination and sources of an atomic of the data port; its compare-and-swap has the new value first, LSC's has it last."""
    sources = [args["src0"], args["src1"]][: ATOMIC_SOURCES.get(op, 1)]
    return [args["dst"], *reversed(sources)]


def _atomic(
    m: Machine,
    instruction: Instruction,
    space: Callable[[], Space],
    address: Read,
    op: str,
    memory: DataType,
    register: DataType,
    raws: list[Raw],
) -> Step:
    """Old value to dst, the first of ``raws``; operands from the others."""
    a, count = m.algebra, instruction.args["exec"].size
    dst, *operands = raws
    reads = [
        _read_as(m, m.raw_reader(raw, 0, count, register, by_lane=True), memory, register)
        for raw in operands[: ATOMIC_SOURCES.get(op, 1)]
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


def _data_port_atomic(m: Machine, instruction: Instruction, space: Callable[[], Space], address: Read) -> Step:
    args = instruction.args
    op, memory = ATOMIC_NAMES[args["op"]], ATOMIC_TYPES[args["width"]]
    return _atomic(
        m, instruction, space, address, op, memory, types.UD if memory is UW else memory, data_port_order(op, args)
    )


@semantics("svm_atomic", deviation=ANY_ORDER)
def svm_atomic(m: Machine, instruction: Instruction) -> Step:
    return _data_port_atomic(
        m,
        instruction,
        m.flat,
        m.raw_reader(instruction.args["addresses"], 0, instruction.args["exec"].size, UQ, by_lane=True),
    )


@semantics("dword_atomic", deviation=ANY_ORDER)
def dword_atomic(m: Machine, instruction: Instruction) -> Step:
    args, a = instruction.args, m.algebra
    offsets = m.raw_reader(args["offsets"], 0, args["exec"].size, types.UD, by_lane=True)
    return _data_port_atomic(m, instruction, lambda: m.surface(args["surface"]), lambda: a.cast(offsets(), UQ))


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


# -- LSC -------------------------------------------------------------------------------------------------------

_LSC_TYPES = {
    1: (UB, UB),
    2: (UW, UW),
    3: (types.UD, types.UD),
    4: (UQ, UQ),
    5: (UB, types.UD),
    6: (UW, types.UD),
    7: (UW, types.UD),
}


def lsc_types(data_size: int) -> tuple[DataType, DataType]:
    """Types of an element in memory and in registers."""
    return _LSC_TYPES[data_size]


def lsc_space(m: Machine, instruction: Instruction) -> Callable[[], Space]:
    """The address space of an LSC message."""
    args = instruction.args
    kind = _ADDRESS_KIND.get(args["addr_type"], "flat")
    if args.get("sfid") == LSC_SFIDS["slm"]:
        return m.slm
    if kind == "flat":
        return m.flat
    surface = source(m, args["surface"], 1, types.UD)
    return lambda: m.surface_by_handle(kind, surface())


def lsc_address(m: Machine, instruction: Instruction, count: int | None = None) -> Read:
    """scale * address + offset, in the width of the address; of ``count`` lanes, else of all."""
    args, a = instruction.args, m.algebra
    t = {1: UW, 2: types.UD, 3: UQ}[args["addr_size"]]
    read = m.raw_reader(args["addr"], 0, count or args["exec"].size, t, by_lane=count is None)
    scale, offset = args["imm_scale"], args["imm_offset"]
    wide = types.UD if t is UW else t

    def address() -> Lanes:
        x = read()
        x = a.cast(x, wide) if t is not wide else x
        x = x * a.const(scale, wide) if scale > 1 else x
        x = x + a.const(offset & wide.maximum, wide) if offset else x
        return x if wide is UQ else a.cast(x, UQ)

    return address


@semantics("lsc_load", "lsc_store", "lsc_load_quad", "lsc_store_quad", "lsc_store_uncompressed")
def lsc_load(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    store = "store" in instruction.desc.mnemonic
    memory, register = lsc_types(args["data_size"])
    raw = args["src1"] if store else args["dst"]
    transposed = args["order"] == 2 and "quad" not in instruction.desc.mnemonic
    space, address = lsc_space(m, instruction), lsc_address(m, instruction, 1 if transposed else None)
    if "quad" in instruction.desc.mnemonic:
        offsets = [memory.size * c for c in channels(args["elems"])]
    elif transposed:
        return _lsc_block(m, instruction, space, address, raw, memory, store)
    else:
        offsets = [memory.size * k for k in range(ELEMENTS_OF[args["elems"]])]
    if args["data_size"] == 7:
        return _high_half(m, instruction, space, address, raw, store)
    return _transfer(
        m, instruction, space, address, offsets, raw, memory, register, mask_of(m, instruction), store=store
    )


def _lsc_block(
    m: Machine,
    instruction: Instruction,
    space: Callable[[], Space],
    address: Read,
    raw: Raw,
    memory: DataType,
    store: bool,
) -> Step:
    """Transposed: consecutive elements at the address of lane 0."""
    a, args = m.algebra, instruction.args
    count = ELEMENTS_OF[args["elems"]]
    places = a.iota(count, UQ) * a.const(memory.size, UQ)
    read, write = m.raw_reader(raw, 0, count, memory), m.raw_writer(raw, 0, count, memory)
    mask = m.mask(args["exec"], args["pred"])
    if store:
        return lambda: m.store(space(), address() + places, read(), mask(), instruction)
    return lambda: write(m.load(space(), address() + places, memory, mask(), instruction), mask())


def _high_half(
    m: Machine, instruction: Instruction, space: Callable[[], Space], address: Read, raw: Raw, store: bool
) -> Step:
    """d16u32h: the word is the high half of the dword; a load clears the low half."""
    a, count = m.algebra, instruction.args["exec"].size
    mask, shift = mask_of(m, instruction), a.const(16, types.UD)
    read, write = m.raw_reader(raw, 0, count, types.UD, by_lane=True), m.raw_writer(raw, 0, count, types.UD)

    def load_step() -> None:
        lanes = mask()
        write(a.cast(m.load(space(), address(), UW, lanes, instruction), types.UD) << shift, lanes)

    return (
        (lambda: m.store(space(), address(), a.cast(read() >> shift, UW), mask(), instruction)) if store else load_step
    )


@semantics("lsc_load_strided", "lsc_store_strided")
def lsc_strided(m: Machine, instruction: Instruction) -> Step:
    """Lane i accesses base + i * pitch."""
    args, a = instruction.args, m.algebra
    count = args["exec"].size
    store = "store" in instruction.desc.mnemonic
    memory, register = lsc_types(args["data_size"])
    base, pitch = lsc_address(m, instruction, 1), source(m, args["pitch"], 1, types.UD)
    lanes = a.iota(count, UQ)
    offsets = [memory.size * k for k in range(ELEMENTS_OF[args["elems"]])]
    return _transfer(m, instruction, lsc_space(m, instruction), lambda: base() + lanes * a.cast(pitch(), UQ), offsets,
                     args["src1"] if store else args["dst"], memory, register, mask_of(m, instruction), store=store)  # fmt: skip


for _lsc, _plain in LSC_ATOMICS.items():

    def _register(lsc: str, plain: str) -> None:
        @semantics(f"lsc_atomic_{lsc}", deviation=ANY_ORDER)
        def prepare(m: Machine, instruction: Instruction) -> Step:
            args = instruction.args
            memory, register = lsc_types(args["data_size"])
            return _atomic(m, instruction, lsc_space(m, instruction), lsc_address(m, instruction), plain, memory, register,
                           [args["dst"], args["src1"], args["src2"]])  # fmt: skip

    _register(_lsc, _plain)


@semantics("lsc_load_block2d", "lsc_store_block2d")
def lsc_block2d(m: Machine, instruction: Instruction) -> Step:
    """A block of a matrix: rows are padded to a power of two; outside the matrix loads give 0 and stores do nothing.

    ``transposed`` swaps rows and columns of the registers, ``vnni`` packs pairs (or fours) of rows into dwords.
    """
    args, a = instruction.args, m.algebra
    store = "store" in instruction.desc.mnemonic
    memory = lsc_types(args["data_size"])[0]
    raw = args["src1"] if store else args["dst"]
    width, height = args["width"], args["height"]
    names = ("base", "surface_width", "surface_height", "surface_pitch", "x", "y")
    reads = [source(m, args[n], 1, UQ if n == "base" else types.D if n in "xy" else types.UD) for n in names]
    size = memory.size
    rows = height if args["order"] != 2 else width
    row_elements = width if args["order"] != 2 else height
    pitch = 1
    while pitch < row_elements:
        pitch *= 2
    group = 4 // size if args["vnni"] and size < 4 else 1
    block_bytes = -(-rows * pitch * size // m.grf_size) * m.grf_size
    if group > 1:
        block_bytes = -(-(-(-height // group) * group) * pitch * size // m.grf_size) * m.grf_size

    def place(block: int, row: int, column: int) -> int:
        """Byte of an element of the block in the payload."""
        if args["order"] == 2:
            element = column * pitch + row
        elif group > 1:
            element = (row // group) * pitch * group + column * group + row % group
        else:
            element = row * pitch + column
        return int(block * block_bytes + element * size)

    transfers = [
        (m.raw_reader(raw, place(b, r, c), 1, memory), m.raw_writer(raw, place(b, r, c), 1, memory), b, r, c)
        for b in range(args["blocks"]) for r in range(height) for c in range(width)
    ]  # fmt: skip
    mask = m.mask(args["exec"], args["pred"])

    def step() -> None:
        base, last_byte, last_row, last_pitch, x, y = (r() for r in reads)
        active = mask()
        columns = a.cast(last_byte + a.const(1, types.UD), Q)
        line = a.cast(last_pitch + a.const(1, types.UD), Q)
        for read, write, b, r, c in transfers:
            row, column = a.cast(y, Q) + a.const(r, Q), (a.cast(x, Q) + a.const(b * width + c, Q)) * a.const(size, Q)
            zero = a.const(0, Q)
            inside = (row >= zero) & (row <= a.cast(last_row, Q)) & (column >= zero) & (column < columns)
            lanes = both(active, inside)
            address = base + a.bitcast(row * line + column, UQ)
            if store:
                m.store(m.flat(), address, read(), lanes, instruction)
            else:
                write(m.load(m.flat(), address, memory, lanes, instruction), active)

    return step


ALL_MAPPED = "Every address of a buffer and every element of an image counts as mapped; the bits of all lanes stand in the first dword."


@semantics("lsc_load_status", deviation=ALL_MAPPED)
def lsc_load_status(m: Machine, instruction: Instruction) -> Step:
    """Bit i of the first dword is 1 if lane i could read its elements."""
    memory, _ = lsc_types(instruction.args["data_size"])
    space, address, mask = lsc_space(m, instruction), lsc_address(m, instruction), mask_of(m, instruction)
    size = memory.size * ELEMENTS_OF[instruction.args["elems"]]
    return status_step(m, instruction, lambda: m.mapped(space(), address(), size, mask()))


def status_step(m: Machine, instruction: Instruction, mapped: Callable[[], Mask]) -> Step:
    """Stores a mask as the bits of the first dword."""
    a, count = m.algebra, instruction.args["exec"].size
    write = m.raw_writer(instruction.args["dst"], 0, 1, types.UD)

    def step() -> None:
        bits = a.select(mapped(), a.const(1, types.UD) << a.iota(count, types.UD), a.const(0, types.UD))
        total = a.lanes(bits, [0])
        for k in range(1, count):
            total = total | a.lanes(bits, [k])
        write(total, m.thread_mask())

    return step


SEMANTICS["lsc_ccs_update"] = nothing
