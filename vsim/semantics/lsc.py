"""Untyped messages of the load/store unit (manual: chapter 6, "LSC Load/Store/Atomic Operations": LSC_UNTYPED).

Where a message goes is an operand: flat memory, local memory, or a surface behind a handle. Each lane has an address,
scaled and moved by constants of the message, and elements behind it; ``transposed`` messages read all elements behind
lane 0's address.

Block messages read rectangles of a matrix whose base, sizes (minus one) and pitch are operands. In the payload, rows
are padded to a power of two of elements and blocks to whole registers. The VNNI form packs rows: of words, those of
rows 2i and 2i + 1 in column c make dword (i, c), so that a row of dwords feeds one step of a dot product. In a block of
3 x 2 words, row 1 column 2 is element 1 * 4 + 2 of the plain form, byte 12, and the high half of dword 2 of the VNNI
form, byte 10. The transposed form has columns in the place of rows. Loads fill the padding with zeros.

The operands can be a payload of eight dwords, too: base, sizes, pitch, x, y, and the shape of the block, which must be
that of the instruction; offsets of the instruction are added to x and y. A raw message has no shape but that of its
payload. So its semantics go the other way, from the places of the data to the elements of the matrix: word 3 of
blocks with two columns is row 1, column 1 in the plain and in the VNNI form, word 1 is row 0, column 1, or row 1,
column 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterator

from visakit.isa.enums import (  # fmt: skip
    LSC_ADDRESS_SIZES,
    LSC_ADDRESS_TYPES,
    LSC_ATOMIC_SIZES,
    LSC_ATOMICS,
    LSC_DATA_TYPES,
    LSC_ELEMENTS,
    LSC_ORDERS,
    LSC_POINTER_TYPES,
    LSC_SFIDS,
    MATRIX_OPERANDS,
)
from visakit.language import types
from visakit.language.operands import NULL, General, Immediate, Raw
from visakit.language.program import Instruction
from visakit.language.types import UQ, UW, D, DataType, Q
from visakit.rules.message_sizes import BLOCK_SHAPE, block_shape
from vsim.semantics.algebra import FindSpace, Lanes, Machine, Mask, Read, ReadMask, Step, Write
from vsim.semantics.core import SEMANTICS, both, mask_of, nothing, semantics, source
from vsim.semantics.memory import ANY_ORDER, atomic, block, channels, data_of, is_store, transfer
from vsim.semantics.registers import layout_of

ELEMENTS_OF = {v: k for k, v in LSC_ELEMENTS.items()}
"""Elements of a lane, by their code."""
_ADDRESS_KIND = {v: k for k, v in LSC_ADDRESS_TYPES.items()}
_EXTENDED = (LSC_ADDRESS_SIZES["a32u"], LSC_ADDRESS_SIZES["a32s"])
SURFACE_STATE = 64
"""Bytes of a surface state, to which a handle points; states of several surfaces are adjacent."""
_TRANSPOSED = LSC_ORDERS["t"]

# -- operands --------------------------------------------------------------------------------------------------


def lsc_types(instruction: Instruction) -> tuple[DataType, DataType]:
    """Types of an element in memory and in registers."""
    return LSC_DATA_TYPES[instruction.args["data_size"]]


def atomic_types(m: Machine, instruction: Instruction) -> tuple[DataType, DataType]:
    """Those of the element that an atomic operation is on; modules and raw messages may ask for others, or for more."""
    args = instruction.args
    if args["data_size"] not in LSC_ATOMIC_SIZES.values():
        raise m.cannot("atomic operations do not work on data of this size")
    if args["elems"] != LSC_ELEMENTS[1] or args["order"] == _TRANSPOSED:
        raise m.cannot("atomic operations work on one element of each lane")
    return lsc_types(instruction)


def address_kind(instruction: Instruction) -> str:
    """How a message says where it goes: flat, bti, ss, bss or surf."""
    return _ADDRESS_KIND.get(instruction.args["addr_type"], "flat")


def _space(m: Machine, instruction: Instruction) -> FindSpace:
    """The address space of a message."""
    args, kind = instruction.args, address_kind(instruction)
    if args.get("sfid") == LSC_SFIDS["slm"]:
        if kind != "flat":
            raise m.cannot(f"local memory has no surfaces, and the address is written {kind}(...)")
        return m.slm
    if kind == "flat":
        return m.flat
    surface = surface_handle(m, instruction)
    return lambda: m.surface_by_handle(kind, surface())


def surface_handle(m: Machine, instruction: Instruction) -> Read:
    """The number or handle of a message's surface: of several states in a row, that with the index of the message.

    Of a raw message some bits of the extended descriptor are the handle.
    """
    args, a, kind = instruction.args, m.algebra, address_kind(instruction)
    surface, index = source(m, args["surface"], 1, types.UD), args.get("surface_index", 0)
    if "surface_bits" in args and not isinstance(args["surface"], Immediate):
        low, mask = args["surface_bits"]
        return lambda: (surface() >> a.const(low, types.UD)) & a.const(mask, types.UD)
    if not index:
        return surface
    if kind not in ("bss", "surf"):
        raise m.cannot(f"the memory of a surface of kind {kind} is not published")
    return lambda: surface() + a.const(SURFACE_STATE * index, types.UD)


def _address(m: Machine, instruction: Instruction, count: int | None = None) -> Read:
    """scale * address + offset, in the width of the address; of ``count`` lanes, else of all.

    a32u and a32s are extended to 64 bits first, and so is the addend in front of the brackets.
    """
    args, a = instruction.args, m.algebra
    t, based = LSC_POINTER_TYPES[args["addr_size"]], _base(m, instruction)
    read = m.raw_reader(args["addr"], 0, count or args["exec"].size, t, by_lane=True)
    scale, offset = args["imm_scale"], args["imm_offset"]
    extended = based is not None or args["addr_size"] in _EXTENDED
    wide = UQ if extended else types.UD if t is UW else t

    def address() -> Lanes:
        x = read()
        x = a.bitcast(a.cast(x, Q), UQ) if t is D else a.cast(x, wide)
        x = x * a.const(scale, wide) if scale > 1 else x
        x = x + a.const(offset & wide.maximum, wide) if offset else x
        if based is not None:
            x = x + based()
        return a.cast(x, UQ)

    return address


def _base(m: Machine, instruction: Instruction) -> Read | None:
    """The address in front of the brackets, ``flat(V)[...]``, to which those of the lanes are added; None without."""
    surface = instruction.args["surface"]
    if address_kind(instruction) != "flat" or surface == Immediate(types.UD, 0):
        return None
    return source(m, surface, 1, UQ)


# -- loads and stores ------------------------------------------------------------------------------------------


@semantics("lsc_load", "lsc_store", "lsc_store_uncompressed", by_lane=True)
def lsc_load(m: Machine, instruction: Instruction) -> Step:
    """Elements at each lane's address, or transposed: consecutive elements at that of lane 0."""
    args, (memory, _) = instruction.args, lsc_types(instruction)
    count = ELEMENTS_OF[args["elems"]]
    if args["order"] != _TRANSPOSED:
        return _transfer(m, instruction, [memory.size * k for k in range(count)])
    space, address = _space(m, instruction), _address(m, instruction, 1)
    return block(m, instruction, space, address, memory, count, block_mask(m, instruction))


def block_mask(m: Machine, instruction: Instruction) -> ReadMask:
    """The single lane of a message about a block: with a larger execution size it runs where any lane does."""
    a, lanes, count = m.algebra, mask_of(m, instruction), instruction.args["exec"].size
    if count == 1:
        return lanes

    def any_lane() -> Mask:
        mask = lanes()
        if mask is True:
            return True
        ones = a.mask_to_int(mask, types.UD)
        found = a.lanes(ones, [0])
        for n in range(1, count):
            found = found | a.lanes(ones, [n])
        return found != a.const(0, types.UD)

    return any_lane


@semantics("lsc_load_quad", "lsc_store_quad")
def lsc_quad(m: Machine, instruction: Instruction) -> Step:
    """The enabled ones of four elements at each lane's address."""
    memory, _ = lsc_types(instruction)
    return _transfer(m, instruction, [memory.size * c for c in channels(instruction.args["elems"])])


def _transfer(m: Machine, instruction: Instruction, offsets: list[int]) -> Step:
    """Elements at these offsets behind each lane's address."""
    space, address = _space(m, instruction), _address(m, instruction)
    return transfer(m, instruction, space, address, offsets, *lsc_types(instruction))


@semantics("lsc_load_strided", "lsc_store_strided")
def lsc_strided(m: Machine, instruction: Instruction) -> Step:
    """Elements at base + i * pitch for lane i."""
    args, a = instruction.args, m.algebra
    memory, register = lsc_types(instruction)
    base, pitch = _address(m, instruction, 1), source(m, args["pitch"], 1, types.UD)
    lanes, space = a.iota(args["exec"].size, UQ), _space(m, instruction)
    offsets = [memory.size * k for k in range(ELEMENTS_OF[args["elems"]])]
    return transfer(m, instruction, space, lambda: base() + lanes * a.cast(pitch(), UQ), offsets, memory, register)


def _lsc_atomic(name: str, op: str) -> None:
    """An atomic operation at each lane's address; ``op`` is the data port's word for it."""

    @semantics(name, deviation=ANY_ORDER)
    def prepare(m: Machine, instruction: Instruction) -> Step:
        args, (memory, register) = instruction.args, atomic_types(m, instruction)
        space, address = _space(m, instruction), _address(m, instruction)
        return atomic(m, instruction, space, address, op, memory, register, [args["dst"], args["src1"], args["src2"]])


for _word, _op in LSC_ATOMICS.items():
    _lsc_atomic(f"lsc_atomic_{_word}", _op)

# -- blocks of a matrix ----------------------------------------------------------------------------------------


@semantics("lsc_load_block2d", "lsc_store_block2d")
def lsc_block2d(m: Machine, instruction: Instruction) -> Step:
    """Blocks of a matrix, side by side: outside the matrix loads give 0 and stores do nothing."""
    args, a, memory = instruction.args, m.algebra, lsc_types(instruction)[0]
    raw, size, store = data_of(instruction), memory.size, is_store(instruction)
    if not store and raw == NULL:
        return nothing(m, instruction)  # it only warms caches, and prefetches do not fault
    if args["sfid"] == LSC_SFIDS["slm"]:
        raise m.cannot("blocks of a matrix are in flat memory")
    if "width" not in args:
        return _block2d_of_payload(m, instruction)
    places, end = _block2d_layout(instruction, size, m.grf_size)
    transfers = {
        at: (m.raw_reader(raw, at, 1, memory), m.raw_writer(raw, at, 1, memory), row, column)
        for at, row, column in places
    }
    pads = [] if store else _pads(m, raw, memory, transfers, end)
    matrix, mask = _matrix(m, instruction), block_mask(m, instruction)

    def step() -> None:
        active = mask()
        move = _mover(m, instruction, matrix(active))
        for read, write, row, column in transfers.values():
            move(read, write, a.const(row, Q), a.const(column, Q), active, True)
        for pad, count in pads:
            pad(a.lanes(a.const(0, memory), [0] * count), active)

    return step


def _pads(m: Machine, raw: Raw, memory: DataType, places: Container[int], end: int) -> list[tuple[Write, int]]:
    """Writers of the elements beside those of the blocks, which loads fill with zeros, and how many each writes."""
    end = min(end, _room(m, raw))
    runs: list[list[int]] = []
    for at in range(0, end - memory.size + 1, memory.size):
        if at in places:
            continue
        if runs and runs[-1][0] + runs[-1][1] * memory.size == at and runs[-1][1] < _MOST_LANES:
            runs[-1][1] += 1
        else:
            runs.append([at, 1])
    return [(m.raw_writer(raw, at, count, memory), count) for at, count in runs]


def _mover(
    m: Machine, instruction: Instruction, matrix: list[Lanes]
) -> Callable[[Read, Write, Lanes, Lanes, Mask, Mask], None]:
    """Loads or stores the elements in a row and a column (type Q) of a block of a matrix, in the lanes of a mask; loads
    give zeros for lanes without a bit in a second mask.
    """
    a, memory = m.algebra, lsc_types(instruction)[0]
    start, last_byte, last_row, last_pitch, x, y = matrix
    zero, size = a.const(0, Q), a.const(memory.size, Q)
    last, rows, line = a.cast(last_byte, Q), a.cast(last_row, Q), a.cast(last_pitch, Q) + a.const(1, Q)

    def move(read: Read, write: Write, r: Lanes, c: Lanes, active: Mask, there: Mask) -> None:
        row, column = y + r, (x + c) * size
        inside = both(there, (row >= zero) & (row <= rows) & (column >= zero) & (column <= last))
        lanes, address = both(active, inside), start + a.bitcast(row * line + column, UQ)
        if is_store(instruction):
            m.store(m.flat(), address, read(), lanes, instruction)
        else:
            found = m.load(m.flat(), address, memory, lanes, instruction)
            write(a.select(inside, found, a.const(0, memory)), active)

    return move


class _Shape:
    """The blocks that a payload describes, as UD lanes, and where in a message their elements lie."""

    def __init__(self, m: Machine, instruction: Instruction, shape: Lanes) -> None:
        a, args, size = m.algebra, instruction.args, lsc_types(instruction)[0].size
        self.algebra, self.transposed = a, args["order"] == _TRANSPOSED
        self.group = _group(instruction, size)
        self.width, self.height, self.blocks = (
            ((shape >> a.const(low, types.UD)) & a.const(mask, types.UD)) + a.const(1, types.UD)
            for low, mask in ((0, 0xFF), (8, 0xFF), (16, 0xF))
        )
        lines, self.line = (self.width, self.height) if self.transposed else (self.height, self.width)
        self.lines = (lines + a.const(self.group - 1, types.UD)) & a.const(-self.group & 0xFFFFFFFF, types.UD)
        self.log = a.const(0, types.UD)
        for n in range(8):
            self.log = self.log + a.mask_to_int(self.line > a.const(1 << n, types.UD), types.UD)
        used = (self.lines << self.log) * a.const(size, types.UD) + a.const(m.grf_size - 1, types.UD)
        self.each = used >> a.const(m.grf_size.bit_length() - 1, types.UD)
        self.registers = self.each * self.blocks
        self.in_register = m.grf_size // size

    def elements(self, register: int, first: int, count: int) -> tuple[Lanes, Lanes, Mask, Mask]:
        """Row and column (type Q) of the elements from ``first`` on in a register of the data, which there are, and
        whether the register belongs to a block.
        """
        a = self.algebra
        block = a.udiv(a.const(register, types.UD), self.each)
        begin = (a.const(register, types.UD) - block * self.each) * a.const(self.in_register, types.UD)
        number = begin + a.const(first, types.UD) + a.iota(count, types.UD)
        group = a.const(self.group.bit_length() - 1, types.UD)
        major, minor = (
            number >> (self.log + group),
            number & ((a.const(self.group, types.UD) << self.log) - a.const(1, types.UD)),
        )
        line, n = major * a.const(self.group, types.UD) + (minor & a.const(self.group - 1, types.UD)), minor >> group
        row, column = (n, line) if self.transposed else (line, n)
        there = (line < self.lines) & (n < self.line)
        return a.cast(row, Q), a.cast(block * self.width + column, Q), there, block < self.blocks


_MOST_LANES = 16
_LONGEST = 31, 32
"""The length of a response has five bits; 32 registers are asked for as 31."""


def _block2d_of_payload(m: Machine, instruction: Instruction) -> Step:
    """The blocks that the payload alone describes, whose data are so many registers at most."""
    args, memory, raw = instruction.args, lsc_types(instruction)[0], data_of(instruction)
    registers, in_register = _registers(m, raw, args["registers"]), m.grf_size // memory.size
    count = min(in_register, _MOST_LANES)
    places = [
        (n, first, n * m.grf_size + first * memory.size)
        for n in range(registers)
        for first in range(0, in_register, count)
    ]
    moved = [(m.raw_reader(raw, at, count, memory), m.raw_writer(raw, at, count, memory)) for _, _, at in places]
    matrix, mask = _matrix(m, instruction), block_mask(m, instruction)
    described = m.raw_reader(_raw_of(m, args["base"]), 28, 1, types.UD)

    def step() -> None:
        active = mask()
        shape = _Shape(m, instruction, described())
        m.require_length(shape.registers, registers, active, instruction)
        move = _mover(m, instruction, matrix(active))
        for (register, first, _), (read, write) in zip(places, moved, strict=True):
            row, column, there, belongs = shape.elements(register, first, count)
            move(read, write, row, column, both(active, belongs), there)

    return step


def _registers(m: Machine, raw: Raw, given: int) -> int:
    """How many registers of data a message moves."""
    return _LONGEST[1] if given == _LONGEST[0] and _room(m, raw) >= _LONGEST[1] * m.grf_size else given


def _room(m: Machine, raw: Raw) -> int:
    """Bytes that a variable has for a message."""
    root, at = layout_of(m.function, m.grf_size).root(raw.var)
    return layout_of(m.function, m.grf_size).room(root) - at - raw.offset


def _matrix(m: Machine, instruction: Instruction) -> Callable[[Mask], list[Lanes]]:
    """Base address, width in bytes, height and pitch, each minus one, and the block's x and y (type Q) of a message."""
    args, a, payload = instruction.args, m.algebra, not instruction.args["addressing"] & MATRIX_OPERANDS
    names = ("base", "surface_width", "surface_height", "surface_pitch", "x", "y")
    kinds = (UQ, types.UD, types.UD, types.UD, types.D, types.D)
    moved = [a.const(args.get(n, 0), Q) for n in ("x_offset", "y_offset")]
    if payload:
        at = _raw_of(m, args["base"])
        reads = [m.raw_reader(at, offset, 1, t) for offset, t in zip((0, 8, 12, 16, 20, 24), kinds, strict=True)]
        shape, wanted = m.raw_reader(at, 28, 1, types.UD), block_shape(args) if "width" in args else None
    else:
        reads = [source(m, args[n], 1, t) for n, t in zip(names, kinds, strict=True)]

    def read(active: Mask) -> list[Lanes]:
        if payload and wanted is not None:
            m.require_shape(shape() & a.const(BLOCK_SHAPE, types.UD), wanted, active, instruction)
        *where, x, y = [r() for r in reads]
        return [*where, a.cast(x, Q) + moved[0], a.cast(y, Q) + moved[1]]

    return read


def _raw_of(m: Machine, op: General | Raw) -> Raw:
    """A register operand as the message that begins with it."""
    return op if isinstance(op, Raw) else Raw(op.var, op.row * m.grf_size + op.col * m.type_of(op).size)


def power_of_two(count: int) -> int:
    """The least power of two that is not below a number."""
    return 1 << max(0, count - 1).bit_length()


def _group(instruction: Instruction, size: int) -> int:
    """How many elements of neighbouring lines lie beside each other: those of a dword in the order of VNNI."""
    return 4 // size if instruction.args["vnni"] and size < 4 else 1


def _block2d_layout(instruction: Instruction, size: int, grf_size: int) -> tuple[Iterator[tuple[int, int, int]], int]:
    """Places of elements in the payload, in bytes, with row and column of each, and where the last block ends.

    A line is a row of a block, or a column of a transposed one. VNNI puts groups of lines together, of which the last
    may go on behind the block.
    """
    args = instruction.args
    width, transposed, group = args["width"], args["order"] == _TRANSPOSED, _group(instruction, size)
    lines, elements = (width, args["height"]) if transposed else (args["height"], width)
    pitch, lines = power_of_two(elements), -(-lines // group) * group
    each = -(-lines * pitch * size // grf_size) * grf_size

    def places() -> Iterator[tuple[int, int, int]]:
        for number, line, n in itertools.product(range(args["blocks"]), range(lines), range(elements)):
            row, column = (n, line) if transposed else (line, n)
            at = line // group * group * pitch + n * group + line % group
            yield number * each + at * size, row, number * width + column

    return places(), args["blocks"] * each


# -- status and compression ------------------------------------------------------------------------------------

ALL_MAPPED = (
    "Every address of a buffer and every element of an image counts as mapped; "
    "the first dword has the bits of all lanes."
)


@semantics("lsc_load_status", deviation=ALL_MAPPED)
def lsc_load_status(m: Machine, instruction: Instruction) -> Step:
    """Bit i of the first dword is 1 if lane i could read its elements; the manual does not define mapped memory."""
    memory, _ = lsc_types(instruction)
    space, address, mask = _space(m, instruction), _address(m, instruction), mask_of(m, instruction)
    size = memory.size * ELEMENTS_OF[instruction.args["elems"]]
    return status_step(m, instruction, lambda: m.mapped(space(), address(), size, mask()))


def status_step(m: Machine, instruction: Instruction, mapped: ReadMask) -> Step:
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


SEMANTICS["lsc_ccs_update"] = SEMANTICS["lsc_extended_cache_ctrl"] = nothing
