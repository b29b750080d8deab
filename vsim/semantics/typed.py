"""Typed messages: images by integer coordinates, without a sampler (manual: chapter 6, GATHER4_TYPED, SCATTER4_TYPED,
TYPED_ATOMIC, MEDIA_LD, MEDIA_ST, LSC_TYPED, RT_WRITE).

Coordinates outside the image do nothing: atomics give 0 there, loads too (but 1 for an alpha that the format lacks),
stores are dropped. Only blocks repeat the rim when they are read. A block of 5 x 2 bytes has rows of 8 in its payload,
the next power of two: byte 9 of dst is column 1 of row 1.
"""

from __future__ import annotations

from collections.abc import Callable

from visakit.isa.enums import ATOMIC_SOURCES, ATOMIC_TYPES, LSC_ATOMICS, MEDIA_MODIFIERS, TARGET_OUTPUTS
from visakit.language import types
from visakit.language.operands import Raw
from visakit.language.program import Instruction
from visakit.language.types import UB, UQ, UW, D, DataType
from vsim.semantics.algebra import Algebra, FindImage, ImageView, Lanes, Machine, Mask, Read, ReadMask, Step
from vsim.semantics.core import SEMANTICS, both, mask_of, nothing, semantics, source
from vsim.semantics.lsc import (
    ALL_MAPPED,
    ELEMENTS_OF,
    address_kind,
    atomic_types,
    block_mask,
    power_of_two,
    status_step,
    surface_handle,
)  # fmt: skip
from vsim.semantics.memory import (
    ANY_ORDER,
    ATOMIC_NAMES,
    channels,
    data_of,
    data_port_order,
    is_store,
    stride,
)  # fmt: skip
from vsim.semantics.texels import COORDINATES, channel_writer, image_of, inside, offset_of, read_image, write_image


def _coordinates(m: Machine, instruction: Instruction) -> list[Read]:
    """Each lane's integer coordinates."""
    return [_coordinate(m, instruction, name, instruction.args["exec"].size) for name in COORDINATES]


def _coordinate(m: Machine, instruction: Instruction, name: str, count: int) -> Read:
    """Integer coordinates of an axis, moved by a number of the message."""
    a, read = m.algebra, m.raw_reader(instruction.args[name], 0, count, D)
    offset = instruction.args.get(f"{name}_offset", 0)
    return (lambda: read() + a.const(offset, D)) if offset else read


def _lsc_image(m: Machine, instruction: Instruction) -> FindImage:
    """The image behind the surface operand of an LSC message."""
    kind, surface = address_kind(instruction), surface_handle(m, instruction)
    return lambda: m.image_by_handle(kind, surface())


# -- loads and stores ------------------------------------------------------------------------------------------


Existing = Callable[[Mask], Mask]
"""Takes lanes out whose element does not exist, wherever it lies."""


def _all(lanes: Mask) -> Mask:
    return lanes


def _first_sample(m: Machine, instruction: Instruction) -> Existing:
    """The lanes whose sample an image has, of messages that name one behind the coordinates: images have one sample."""
    if not instruction.args.get("msaa") and "_msrt" not in instruction.desc.mnemonic:
        return _all
    a, sample = m.algebra, m.raw_reader(instruction.args["lod"], 0, instruction.args["exec"].size, D)
    return lambda lanes: both(lanes, sample() == a.const(0, D))


def _typed(
    m: Machine, instruction: Instruction, image: FindImage, chosen: list[int], existing: Existing = _all
) -> Step:
    """Load or store the chosen channels of each lane's texel, if it is of a sample that exists."""
    count, raw = instruction.args["exec"].size, data_of(instruction)
    reads, mask = _coordinates(m, instruction), mask_of(m, instruction)
    if not is_store(instruction):
        write = channel_writer(m, raw, count, chosen)
        return lambda: write(read_image(m, image(), [r() for r in reads], existing(mask()), instruction), mask())
    step_bytes = stride(m, count, 4)
    values = [m.raw_reader(raw, k * step_bytes, count, types.UD) for k in range(len(chosen))]

    def store_step() -> None:
        where, places = image(), [r() for r in reads]
        write_image(
            m, where, places, {c: v() for c, v in zip(chosen, values, strict=True)}, existing(mask()), instruction
        )

    return store_step


@semantics("gather4_typed", "scatter4_typed")
def typed_message(m: Machine, instruction: Instruction) -> Step:
    """The enabled channels of a texel."""
    return _typed(m, instruction, image_of(m, instruction), channels(instruction.args["channel_mask"]))


@semantics("typed_lsc_load_quad", "typed_lsc_store_quad")
def lsc_quad(m: Machine, instruction: Instruction) -> Step:
    """The enabled channels of a texel of an LSC surface."""
    return _typed(m, instruction, _lsc_image(m, instruction), channels(instruction.args["elems"]))


@semantics(
    "typed_lsc_load_quad_msrt",
    "typed_lsc_store_quad_msrt",
    deviation="Images have one sample: others read as 0, and writing them does nothing.",
)
def lsc_quad_of_a_sample(m: Machine, instruction: Instruction) -> Step:
    """The enabled channels of one sample of a texel."""
    chosen = channels(instruction.args["elems"])
    return _typed(m, instruction, _lsc_image(m, instruction), chosen, _first_sample(m, instruction))


@semantics("typed_lsc_store_uncompressed")
def lsc_store_uncompressed(m: Machine, instruction: Instruction) -> Step:
    """The first channels of a texel of an LSC surface; images are not compressed."""
    count = ELEMENTS_OF[instruction.args["elems"]]
    return _typed(m, instruction, _lsc_image(m, instruction), list(range(min(4, count))))


# -- atomics ---------------------------------------------------------------------------------------------------


def _typed_atomic(
    m: Machine,
    instruction: Instruction,
    image: FindImage,
    op: str,
    memory: DataType,
    raws: list[Raw],
    existing: Existing = _all,
) -> Step:
    """An atomic operation on an element of each lane's texel; lanes outside the image do nothing and get 0.

    Args:
        raws: dst, then the sources in the order of the algebra.
    """
    a, count = m.algebra, instruction.args["exec"].size
    register = types.UD if memory is UW else memory
    reads = _coordinates(m, instruction)
    dst, *operands = raws
    sources = [m.raw_reader(r, 0, count, register) for r in operands[: ATOMIC_SOURCES.get(op, 1)]]
    write, mask = m.raw_writer(dst, 0, count, register), mask_of(m, instruction)

    def step() -> None:
        active, places, values = mask(), [r() for r in reads], [a.cast(s(), memory) for s in sources]

        def update(view: ImageView, lanes: Mask) -> list[Lanes]:
            inner, held = inside(m, view, places, existing(lanes))
            size = view.kind.format.size
            if size < memory.size:
                what = f"an operation on {memory.size} bytes of an image with elements of {size}"
                raise m.cannot(what, instruction)
            return [m.atomic(view.space, op, offset_of(a, view, inner), memory, values, held, instruction)]

        (old,) = m.with_image(image(), active, instruction, update)
        write(a.cast(old, register), active)

    return step


@semantics("typed_atomic", deviation=ANY_ORDER)
def typed_atomic(m: Machine, instruction: Instruction) -> Step:
    """An atomic operation on each lane's texel; the manual leaves the order of lanes and threads open."""
    args, op = instruction.args, ATOMIC_NAMES[instruction.args["op"]]
    raws = data_port_order(op, instruction)
    return _typed_atomic(m, instruction, image_of(m, instruction), op, ATOMIC_TYPES[args["width"]], raws)


def _lsc_atomic(name: str, op: str) -> None:
    """An atomic operation on each lane's texel of an LSC surface; ``op`` is the data port's word for it."""

    @semantics(name, deviation=ANY_ORDER)
    def prepare(m: Machine, instruction: Instruction) -> Step:
        raws = [instruction.args[n] for n in ("dst", "src1", "src2")]
        memory, existing = atomic_types(m, instruction)[0], _first_sample(m, instruction)
        return _typed_atomic(m, instruction, _lsc_image(m, instruction), op, memory, raws, existing)


for _word, _op in LSC_ATOMICS.items():
    _lsc_atomic(f"typed_lsc_atomic_{_word}", _op)

# -- status and compression ------------------------------------------------------------------------------------

SEMANTICS["typed_lsc_ccs_update"] = nothing


@semantics("typed_lsc_load_status", deviation=ALL_MAPPED)
def lsc_load_status(m: Machine, instruction: Instruction) -> Step:
    """Bit i of the first dword is 1 if lane i's element is in the image; the manual does not define mapped texels."""
    image, mask = _lsc_image(m, instruction), mask_of(m, instruction)
    reads = _coordinates(m, instruction)

    def mapped() -> Mask:
        places = [r() for r in reads]
        return m.with_image(image(), mask(), instruction, lambda view, lanes: [inside(m, view, places, lanes)[1]])[0]

    return status_step(m, instruction, mapped)


@semantics(
    "typed_lsc_load_quad_status",
    deviation="Every element of an image counts as mapped; each channel of a lane is 1 where its element is, else 0.",
)
def lsc_quad_status(m: Machine, instruction: Instruction) -> Step:
    """A dword for each lane and each named channel: 1 if its element is in the image, else 0."""
    a, count, mask = m.algebra, instruction.args["exec"].size, mask_of(m, instruction)
    reads, image = _coordinates(m, instruction), _lsc_image(m, instruction)
    chosen = channels(instruction.args["elems"])
    write = channel_writer(m, instruction.args["dst"], count, chosen)

    def mapped(view: ImageView, lanes: Mask) -> list[Lanes]:
        held = inside(m, view, [r() for r in reads], lanes)[1]
        return [a.select(held, a.const(1, types.UD), a.const(0, types.UD))] * 4

    return lambda: write(m.with_image(image(), mask(), instruction, mapped), mask())


# -- the graphics pipeline -------------------------------------------------------------------------------------


@semantics(
    "rt_write_3d",
    deviation="The pixel of a lane is its work-item's global id; "
    "source-0 alpha, masks, depth and stencil are not kept.",
)
def render_target_write(m: Machine, instruction: Instruction) -> Step:
    """The colours of each lane go to its pixel of the render target; which pixel that is, the manual leaves open."""
    args = instruction.args
    count, outputs = args["exec"].size, list(args["outputs"])
    first = sum(1 for bit in TARGET_OUTPUTS[:2] if args["mode"] & bit)
    colours = {c: m.raw_reader(raw, 0, count, types.UD) for c, raw in enumerate(outputs[first : first + 4]) if raw.var}
    image, pixel, mask = image_of(m, instruction), m.pixel(args["exec"]), mask_of(m, instruction)
    return lambda: write_image(m, image(), pixel(), {c: r() for c, r in colours.items()}, mask(), instruction)


# -- blocks ----------------------------------------------------------------------------------------------------


_WHOLE_PICTURE = (MEDIA_MODIFIERS["nomod"], MEDIA_MODIFIERS["modified"])
"""Modifiers that name no field of an interlaced picture."""


@semantics("media_ld", "media_st")
def media_block(m: Machine, instruction: Instruction) -> Step:
    """A block of bytes at a scalar place of an image."""
    args = instruction.args
    if args["modifier"] not in _WHOLE_PICTURE:
        raise m.cannot("images are not interlaced, and have no field to access alone")
    if args["plane"]:
        raise m.cannot(f"images have one plane, which is number 0, not {args['plane']}")
    x, y = source(m, args["x"], 1, D), source(m, args["y"], 1, D)
    image, size = image_of(m, instruction), (args["block_width"], args["block_height"])
    return _image_block(m, instruction, image, (x, y), size, args["data"], m.thread_mask)


@semantics("typed_lsc_load_block2d", "typed_lsc_store_block2d")
def lsc_block(m: Machine, instruction: Instruction) -> Step:
    """A block of bytes at a scalar place of an LSC surface."""
    args = instruction.args
    if "payload" in args:
        return _block_of_payload(m, instruction)
    x, y = (_coordinate(m, instruction, n, 1) for n in ("u", "v"))
    image, size = _lsc_image(m, instruction), (args["width"], args["height"])
    return _image_block(m, instruction, image, (x, y), size, data_of(instruction), block_mask(m, instruction))


def _image_block(
    m: Machine,
    instruction: Instruction,
    image: FindImage,
    corner: tuple[Read, Read],
    size: tuple[int, int],
    raw: Raw,
    mask: ReadMask,
) -> Step:
    """Load or store a block of bytes, by rows; reads beyond the rim repeat its pixels, writes there do nothing."""
    a, (width, height) = m.algebra, size
    pitch = max(4, power_of_two(width))
    columns = a.iota(pitch, D)
    used = True if pitch == width else columns < a.const(width, D)
    reads = [m.raw_reader(raw, r * pitch, pitch, UB) for r in range(height)]
    writes = [m.raw_writer(raw, r * pitch, pitch, UB) for r in range(height)]
    x, y = corner
    data: list[Read | None] = [*reads] if is_store(instruction) else [None] * height

    def step() -> None:
        left, top, lanes = x() + columns, y(), mask()
        lanes = used if lanes is True else both(used, lanes)
        stored = [read and read() for read in data]

        def move(view: ImageView, lanes: Mask) -> list[Lanes]:
            found: list[Lanes] = []
            for r in range(height):
                found += _move_bytes(m, instruction, view, (left, top + a.const(r, D)), stored[r], lanes)
            return found

        values = m.with_image(image(), lanes, instruction, move)
        for write, value in zip(writes, values, strict=not is_store(instruction)):
            write(value, lanes)

    return step


def _move_bytes(
    m: Machine, instruction: Instruction, view: ImageView, place: tuple[Lanes, Lanes], stored: Lanes | None, lanes: Mask
) -> list[Lanes]:
    """Load bytes of an image, or store some, by their places from the left and from the top."""
    a, zero, pixel, (left, row) = m.algebra, m.algebra.const(0, D), view.kind.format.size, place
    row_bytes, rows = view.sizes[0] * a.const(pixel, D), view.sizes[1]
    within = left & a.const(pixel - 1, D)
    column = _held(a, left - within, row_bytes, pixel) + within
    at = a.cast(_held(a, row, rows), UQ) * a.cast(row_bytes, UQ) + a.cast(column, UQ)
    if stored is None:
        return [m.load(view.space, at, UB, lanes, instruction)]
    held = both(both(lanes, (left >= zero) & (left < row_bytes)), (row >= zero) & (row < rows))
    m.store(view.space, at, stored, held, instruction)
    return []


_CHUNK = 16
"""Bytes that a block of a raw message moves at once."""


def _block_of_payload(m: Machine, instruction: Instruction) -> Step:
    """A block of bytes, whose place and shape a payload says: x and y in dwords 5 and 6, in dword 7 width and height,
    each minus one, a byte each. Its data are so many registers at most.
    """
    a, args, raw = m.algebra, instruction.args, data_of(instruction)
    x, y, shape = (m.raw_reader(args["payload"], 4 * n, 1, t) for n, t in ((5, D), (6, D), (7, types.UD)))
    image, mask, store = _lsc_image(m, instruction), block_mask(m, instruction), is_store(instruction)
    places = range(0, args["registers"] * m.grf_size, _CHUNK)
    chunks = [(at, m.raw_reader(raw, at, _CHUNK, UB), m.raw_writer(raw, at, _CHUNK, UB)) for at in places]

    def step() -> None:
        active, left, top = mask(), x(), y()
        width, height = (
            ((shape() >> a.const(low, types.UD)) & a.const(0xFF, types.UD)) + a.const(1, types.UD) for low in (0, 8)
        )
        log = a.const(2, types.UD)
        for n in range(2, 8):
            log = log + a.mask_to_int(width > a.const(1 << n, types.UD), types.UD)
        needed = ((height << log) + a.const(m.grf_size - 1, types.UD)) >> a.const(m.grf_size.bit_length() - 1, types.UD)
        m.require_length(needed, args["registers"], active, instruction)
        for at, read, write in chunks:
            number = a.const(at, types.UD) + a.iota(_CHUNK, types.UD)
            row, column = number >> log, number & ((a.const(1, types.UD) << log) - a.const(1, types.UD))
            place = left + a.cast(column, D), top + a.cast(row, D)
            lanes, stored = both(active, (row < height) & (column < width)), read() if store else None

            def move(
                view: ImageView, lanes: Mask, place: tuple[Lanes, Lanes] = place, stored: Lanes | None = stored
            ) -> list[Lanes]:
                return _move_bytes(m, instruction, view, place, stored, lanes)

            for value in m.with_image(image(), lanes, instruction, move):
                write(value, lanes)

    return step


def _held(a: Algebra, place: Lanes, size: Lanes, step: int = 1) -> Lanes:
    """A coordinate, held between 0 and the last of an axis, whose places are so many apart."""
    zero, last = a.const(0, D), size - a.const(step, D)
    return a.select(place < zero, zero, a.select(place > last, last, place))
