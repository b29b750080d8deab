"""Image messages: sampling, loads, stores, sizes, blocks (manual: sampler and data port chapters; filters as OpenCL defines them).

The machine finds images and samplers when an instruction executes; what is done with them is written for one kind of image and one state of a sampler.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from visa import types
from visa.isa.enums import LSC_ADDRESS_TYPES, LSC_ATOMICS, TARGET_OUTPUTS
from visa.operands import Immediate, Raw
from visa.program import PREDEFINED_SURFACES, SCRATCH, SLM, STATELESS, Instruction
from visa.types import UB, UQ, UW, D, F
from vsim.memory import SamplerState
from vsim.semantics.algebra import Algebra, ImageReference, ImageView, Lanes, Machine, Mask, Read, Step
from vsim.semantics.arithmetic import quotient
from vsim.semantics.core import SEMANTICS, both, mask_of, nothing, semantics, source
from vsim.semantics.memory import (
    ALL_MAPPED,
    ANY_ORDER,
    ATOMIC_NAMES,
    ATOMIC_SOURCES,
    ATOMIC_TYPES,
    ELEMENTS_OF,
    channels,
    data_port_order,
    lsc_types,
    status_step,
    stride,
)
from vsim.semantics.texels import fetch_texels, offset_of, store_texels

_MIRRORS = ("mirror", "mirrored_repeat")
_BORDERS = ("clamp", "clamp_border")

_PLACE = "u v r"
_GRADIENTS = "u dudx dudy v dvdx dvdy r drdx drdy"
PARAMETERS = {
    "sample_3d": _PLACE, "sample_lz": _PLACE, "sample_b": f"bias {_PLACE}", "sample_l": f"lod {_PLACE}", "sample_d": _GRADIENTS, "sample_c": f"ref {_PLACE}",
    "sample_c_lz": f"ref {_PLACE}", "sample_b_c": f"ref bias {_PLACE}", "sample_l_c": f"ref lod {_PLACE}", "sample_d_c": f"ref {_GRADIENTS}", "sample4": _PLACE,
    "sample4_c": f"ref {_PLACE}", "sample4_po": "u v offset_u offset_v r", "sample4_po_c": "ref u v offset_u offset_v r", "load_3d": "u v lod r",
    "load_lz": _PLACE, "load_2dms_w": "sample mcs_low mcs_high u v r lod", "load_mcs": "u v r lod",
}  # fmt: skip
"""The parameters of each sampler message in the order of its payload; trailing ones may be missing."""

_COMPARISONS: dict[str, Callable[[Lanes, Lanes], Mask]] = {
    "le": lambda x, y: x <= y, "lt": lambda x, y: x < y, "ge": lambda x, y: x >= y, "gt": lambda x, y: x > y, "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y, "always": lambda x, y: (x == x) | (x != x), "never": lambda x, y: (x == x) & (x != x),
}  # fmt: skip


def _modulo(a: Algebra, i: Lanes, n: Lanes) -> Lanes:
    """i modulo n, from 0 to n - 1."""
    _, rest = quotient(a, D, i, n)
    return a.select(rest < a.const(0, D), rest + n, rest)


def _wrap(a: Algebra, i: Lanes, size: Lanes, addressing: str) -> tuple[Lanes, Mask]:
    """A texel number by the addressing mode, and whether it lies in the image (outside is the border)."""
    zero, one = a.const(0, D), a.const(1, D)
    last = size - one
    if addressing == "repeat":
        i = _modulo(a, i, size)
    if addressing in _MIRRORS:
        i = _modulo(a, i, size + size)
        i = a.select(i > last, last + size - i, i)
    if addressing in _BORDERS:
        inside = (i >= zero) & (i <= last)
        return a.select(inside, i, zero), inside
    held = a.select(i < zero, zero, a.select(i > last, last, i))
    return held, held == held


def _texel_space(a: Algebra, x: Lanes, size: Lanes, state: SamplerState) -> Lanes:
    """A coordinate in texels; periodic modes are brought near the image first, as OpenCL's formulas do."""
    if not state.normalized:
        return x
    if state.addressing == "repeat":
        x = x - a.floor(x)
    if state.addressing in _MIRRORS:
        x = a.absolute(x - a.const(2.0, F) * a.rint(x * a.const(0.5, F)))
    return x * a.cast(size, F)


def _integer(a: Algebra, x: Lanes) -> Lanes:
    """Floor as an integer; coordinates far outside are held just outside."""
    limit = a.const(1e6, F)
    x = a.floor(x)
    x = a.select(x < limit, a.select(x > a.negate(limit), x, a.negate(limit)), limit)
    return a.cast(x, D)


Axis = list[tuple[Lanes, Mask, Lanes | None]]
"""The texel numbers that count along an axis: one for nearest, two with weights for linear."""


def _axes(
    a: Algebra,
    image: ImageView,
    coordinates: list[Lanes],
    state: SamplerState,
    linear: bool,
    offsets: list[Lanes | None],
) -> list[Axis]:
    """For each axis the texels that count; along the layers of an array it is the one nearest, held in the array (OpenCL C, image addressing)."""
    found: list[Axis] = []
    for number, (x, size, offset) in enumerate(zip(coordinates, image.sizes, offsets, strict=False)):
        if image.kind.layered and number == image.kind.axes - 1:
            layer, inside = _wrap(a, _integer(a, a.rint(x)), size, "clamp_edge")
            found.append([(layer, inside, None)])
            continue
        x = _texel_space(a, x, size, state)
        x = x - a.const(0.5, F) if linear else x
        low = _integer(a, x)
        low = low if offset is None else low + offset
        i0, in0 = _wrap(a, low, size, state.addressing)
        if not linear:
            found.append([(i0, in0, None)])
            continue
        fraction = x - a.floor(x)
        i1, in1 = _wrap(a, low + a.const(1, D), size, state.addressing)
        found.append([(i0, in0, a.const(1.0, F) - fraction), (i1, in1, fraction)])
    return found


def _passes(a: Algebra, texel: list[Lanes], reference: Lanes, comparison: str) -> list[Lanes]:
    """1 where the reference compares with the red channel, else 0; the other channels are those of an image with one channel."""
    zero, one = a.const(0.0, F), a.const(1.0, F)
    return [a.select(_COMPARISONS[comparison](reference, texel[0]), one, zero), zero, zero, one]


def sample(
    m: Machine,
    image: ImageView,
    axes: list[Axis],
    state: SamplerState,
    reference: Lanes | None,
    mask: Mask,
    i: Instruction,
) -> list[Lanes]:
    """Four channels, filtered over the texels of the axes."""
    a = m.algebra
    total: list[Lanes] | None = None
    for picks in itertools.product(*reversed(axes)):
        inside, weight = mask, None
        for _, ok, w in reversed(picks):
            inside = both(inside, ok)
            weight = w if weight is None else weight if w is None else weight * w
        texel = fetch_texels(m, image, [p[0] for p in reversed(picks)], inside, i)
        if reference is not None:
            texel = _passes(a, texel, reference, state.compare)
        if weight is not None:
            texel = [a.cast(t, F) * weight for t in texel]
        total = texel if total is None else [x + y for x, y in zip(total, texel, strict=True)]
    assert total is not None
    return [a.bitcast(t, types.UD) for t in total]


def _image(m: Machine, instruction: Instruction) -> Callable[[], ImageReference]:
    """The image that a message names."""
    index = instruction.args["surface"]
    if index in (SLM, SCRATCH, STATELESS):
        raise m.cannot(f"{PREDEFINED_SURFACES[index]} is no image")
    return lambda: m.image(index)


def _sampled(
    m: Machine,
    instruction: Instruction,
    image: ImageReference,
    coordinates: list[Lanes],
    offsets: list[Lanes | None],
    reference: Lanes | None,
    mask: Mask,
) -> list[Lanes]:
    """Four channels, as the sampler that a message names filters them."""

    def texels(view: ImageView, state: SamplerState, lanes: Mask) -> list[Lanes]:
        axes = _axes(m.algebra, view, coordinates, state, state.filter == "linear", offsets)
        return sample(m, view, axes, state, reference, lanes, instruction)

    return m.with_sampler(image, instruction.args["sampler"], mask, instruction, texels)


def _store_channels(m: Machine, raw: Raw, count: int, chosen: list[int]) -> Callable[[list[Lanes], Mask], None]:
    """Writes the enabled channels one behind the other."""
    a, step = m.algebra, stride(m, count, 4)
    writers = [m.raw_writer(raw, k * step, count, types.UD) for k in range(len(chosen))]

    def write(values: list[Lanes], mask: Mask) -> None:
        for writer, c in zip(writers, chosen, strict=True):
            writer(a.bitcast(values[c], types.UD), mask)

    return write


def _parameters(m: Machine, instruction: Instruction) -> dict[str, Raw]:
    """The parameters of a sampler message by name; a leading empty slot (since Xe2) does not count."""
    params = list(instruction.args["params"])
    if len(params) > 1 and params[0].var == 0:
        params = params[1:]
    return dict(zip(PARAMETERS[instruction.desc.mnemonic].split(), params, strict=False))


def _offsets(m: Machine, instruction: Instruction) -> Callable[[], list[Lanes | None]]:
    """Texel offsets along u, v and r: four signed bits each, from bit 8 down."""
    a, op = m.algebra, instruction.args["offsets"]
    if isinstance(op, Immediate) and not op.bits & 0xFFF:
        return lambda: [None, None, None]
    packed = source(m, op, 1, types.UD)

    def read() -> list[Lanes | None]:
        word = packed()
        return [a.bitcast(word << a.const(28 - at, types.UD), D) >> a.const(28, D) for at in (8, 4, 0)]

    return read


def _reads(m: Machine, found: dict[str, Raw], names: str, count: int, data_type: types.DataType) -> list[Read]:
    return [m.raw_reader(found[n], 0, count, data_type) for n in names.split() if n in found]


@semantics("sample_3d", "sample_l", "sample_lz", "sample_b", "sample_d", "sample_c", "sample_l_c", "sample_c_lz", "sample_b_c", "sample_d_c",
           deviation="Filter weights are floats, not fixed-point numbers; images have one level, so its choice (bias, gradients) has no effect.")  # fmt: skip
def sample_message(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    count, found = args["exec"].size, _parameters(m, instruction)
    reads = _reads(m, found, _PLACE, count, F)
    reference = m.raw_reader(found["ref"], 0, count, F) if "ref" in found else None
    image, offsets = _image(m, instruction), _offsets(m, instruction)
    write, mask = _store_channels(m, args["dst"], count, channels(args["channel_mask"])), mask_of(m, instruction)

    def step() -> None:
        lanes = mask()
        write(
            _sampled(
                m, instruction, image(), [r() for r in reads], offsets(), reference() if reference else None, lanes
            ),
            lanes,
        )

    return step


def _pixels(instruction: Instruction) -> int:
    return 16 if instruction.args["simd16"] else 8


@semantics("sample", deviation="Filter weights are floats, not fixed-point numbers.")
def media_sample(m: Machine, instruction: Instruction) -> Step:
    """The media form: coordinates of 8 or 16 pixels, whatever the execution mask."""
    args, count = instruction.args, _pixels(instruction)
    reads = [m.raw_reader(args[n], 0, count, F) for n in _PLACE.split()]
    image, write = _image(m, instruction), _store_channels(m, args["dst"], count, channels(args["channel_mask"]))
    return lambda: write(
        _sampled(m, instruction, image(), [r() for r in reads], [None] * 3, None, m.thread_mask()), m.thread_mask()
    )


@semantics("load")
def media_load(m: Machine, instruction: Instruction) -> Step:
    """The media form of a load: texels at the integer coordinates of 8 or 16 pixels."""
    args, count = instruction.args, _pixels(instruction)
    reads = [m.raw_reader(args[n], 0, count, D) for n in _PLACE.split()]
    image, write = _image(m, instruction), _store_channels(m, args["dst"], count, channels(args["channel_mask"]))
    return lambda: write(_fetch(m, image(), [r() for r in reads], m.thread_mask(), instruction), m.thread_mask())


@semantics("load_3d", "load_lz", "load_2dms_w")
def load_message(m: Machine, instruction: Instruction) -> Step:
    """Texels at integer coordinates; outside the image, in levels but the first and in samples but the first all channels are 0."""
    args, a = instruction.args, m.algebra
    count, found = args["exec"].size, _parameters(m, instruction)
    reads, offsets = _reads(m, found, _PLACE, count, D), _offsets(m, instruction)
    image, zeros = _image(m, instruction), _reads(m, found, "lod sample", count, D)
    write, mask = _store_channels(m, args["dst"], count, channels(args["channel_mask"])), mask_of(m, instruction)

    def step() -> None:
        lanes, inside = mask(), mask()
        places = [r() if o is None else r() + o for r, o in zip(reads, offsets(), strict=False)]
        for zero in zeros:
            inside = both(inside, zero() == a.const(0, D))
        write(_fetch(m, image(), places, inside, instruction), lanes)

    return step


@semantics("load_mcs")
def load_mcs(m: Machine, instruction: Instruction) -> Step:
    """Images have one sample, whose control data are 0."""
    args, a = instruction.args, m.algebra
    count = args["exec"].size
    write, mask = _store_channels(m, args["dst"], count, channels(args["channel_mask"])), mask_of(m, instruction)
    return lambda: write([a.const(0, types.UD)] * 4, mask())


def _inside(m: Machine, image: ImageView, places: list[Lanes], mask: Mask) -> tuple[list[Lanes], Mask]:
    """The coordinates that the image has, and the lanes that are in it."""
    a = m.algebra
    for x, size in zip(places, image.sizes, strict=False):
        mask = both(mask, (x >= a.const(0, D)) & (x < size))
    return places[: image.kind.axes], mask


def _fetch(m: Machine, image: ImageReference, places: list[Lanes], mask: Mask, instruction: Instruction) -> list[Lanes]:
    """Four channels of the texels at these coordinates, 0 outside the image."""

    def texels(view: ImageView, lanes: Mask) -> list[Lanes]:
        return [
            m.algebra.bitcast(t, types.UD) for t in fetch_texels(m, view, *_inside(m, view, places, lanes), instruction)
        ]

    return m.with_image(image, mask, instruction, texels)


@semantics("sample4", "sample4_c", "sample4_po", "sample4_po_c")
def gather_four(m: Machine, instruction: Instruction) -> Step:
    """One channel of the four texels that a linear filter would read, counter-clockwise from the lower left."""
    args, a = instruction.args, m.algebra
    count, found, channel = args["exec"].size, _parameters(m, instruction), args["channel_mask"]
    reads, moved = _reads(m, found, "u v", count, F), _reads(m, found, "offset_u offset_v", count, D)
    reference = m.raw_reader(found["ref"], 0, count, F) if "ref" in found else None
    image, offsets = _image(m, instruction), _offsets(m, instruction)
    write, mask = _store_channels(m, args["dst"], count, [0, 1, 2, 3]), mask_of(m, instruction)

    def step() -> None:
        lanes, coordinates, places, compared = (
            mask(),
            [r() for r in reads],
            [r() for r in moved] or offsets(),
            reference() if reference else None,
        )

        def texels(view: ImageView, state: SamplerState, lanes: Mask) -> list[Lanes]:
            x_axis, y_axis = _axes(a, view, coordinates, state, True, places)
            found = []
            for i, j in ((0, 1), (1, 1), (1, 0), (0, 0)):
                (x, x_in, _), (y, y_in, _) = x_axis[i], y_axis[j]
                texel = fetch_texels(m, view, [x, y], both(lanes, x_in & y_in), instruction)
                found.append(texel[channel] if compared is None else _passes(a, texel, compared, state.compare)[0])
            return [a.bitcast(t, types.UD) for t in found]

        write(m.with_sampler(image(), args["sampler"], lanes, instruction, texels), lanes)

    return step


@semantics("sampleinfo")
def sampleinfo(m: Machine, instruction: Instruction) -> Step:
    """Images have one sample."""
    args, a = instruction.args, m.algebra
    count = args["exec"].size
    write, mask = _store_channels(m, args["dst"], count, channels(args["channel_mask"])), mask_of(m, instruction)
    return lambda: write([a.const(n, types.UD) for n in (1, 0, 0, 0)], mask())


@semantics("resinfo")
def resinfo(m: Machine, instruction: Instruction) -> Step:
    """Width, height, depth or layers, number of levels."""
    args, a = instruction.args, m.algebra
    count = args["exec"].size
    write, mask = _store_channels(m, args["dst"], count, channels(args["channel_mask"])), mask_of(m, instruction)

    image = _image(m, instruction)

    def sizes(view: ImageView, _: Mask) -> list[Lanes]:
        return [a.bitcast(n, types.UD) for n in [*view.sizes, a.const(0, D), a.const(0, D)][:3]] + [
            a.const(1, types.UD)
        ]

    return lambda: write(m.with_image(image(), mask(), instruction, sizes), mask())


# -- typed memory ----------------------------------------------------------------------------------------------


def _typed(
    m: Machine,
    instruction: Instruction,
    image: Callable[[], ImageReference],
    coordinates: list[Raw],
    mask_bits: int,
    *,
    store: bool,
) -> Step:
    args = instruction.args
    count = args["exec"].size
    reads = [m.raw_reader(r, 0, count, D) for r in coordinates]
    chosen, mask = channels(mask_bits), mask_of(m, instruction)
    if not store:
        write = _store_channels(m, args["dst"], count, chosen)
        return lambda: write(_fetch(m, image(), [r() for r in reads], mask(), instruction), mask())
    step_bytes = stride(m, count, 4)
    raw = args["src1"] if "src1" in args else args["src"]
    values = [m.raw_reader(raw, k * step_bytes, count, types.UD) for k in range(len(chosen))]

    return lambda: _store(
        m, image(), [r() for r in reads], {c: v() for c, v in zip(chosen, values, strict=True)}, mask(), instruction
    )


def _store(
    m: Machine,
    image: ImageReference,
    places: list[Lanes],
    values: dict[int, Lanes],
    mask: Mask,
    instruction: Instruction,
) -> None:
    """Write channels of the texels at these coordinates; those outside the image are dropped."""

    def put(view: ImageView, lanes: Mask) -> list[Lanes]:
        inner, inside = _inside(m, view, places, lanes)
        store_texels(m, view, inner, values, inside, instruction)
        return []

    m.with_image(image, mask, instruction, put)


@semantics("gather4_typed", "scatter4_typed")
def typed_message(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    return _typed(
        m,
        instruction,
        _image(m, instruction),
        [args["u"], args["v"], args["r"]],
        args["channel_mask"],
        store="src" in args,
    )


def _lsc_image(m: Machine, instruction: Instruction) -> Callable[[], ImageReference]:
    kind = next((k for k, v in LSC_ADDRESS_TYPES.items() if v == instruction.args["addr_type"]), "flat")
    surface = source(m, instruction.args["surface"], 1, types.UD)
    return lambda: m.image_by_handle(kind, surface())


@semantics("typed_lsc_load_quad", "typed_lsc_store_quad", "typed_lsc_store_uncompressed")
def lsc_quad(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    store = "store" in instruction.desc.mnemonic
    chosen = args["elems"] if "quad" in instruction.desc.mnemonic else (1 << ELEMENTS_OF[args["elems"]]) - 1
    return _typed(m, instruction, _lsc_image(m, instruction), [args["u"], args["v"], args["r"]], chosen, store=store)


def _typed_atomic(
    m: Machine,
    instruction: Instruction,
    image: Callable[[], ImageReference],
    op: str,
    memory: types.DataType,
    raws: list[Raw],
) -> Step:
    """An atomic on one element of an image; lanes outside the image do nothing and get 0. ``raws``: dst, then the sources in the order of the algebra."""
    args, a = instruction.args, m.algebra
    count = args["exec"].size
    register = types.UD if memory is UW else memory
    reads = [m.raw_reader(args[n], 0, count, D) for n in _PLACE.split()]
    dst, *operands = raws
    sources = [m.raw_reader(r, 0, count, register) for r in operands[: ATOMIC_SOURCES.get(op, 1)]]
    write, mask = m.raw_writer(dst, 0, count, register), mask_of(m, instruction)

    def step() -> None:
        active, places, values = mask(), [r() for r in reads], [a.cast(s(), memory) for s in sources]

        def update(view: ImageView, lanes: Mask) -> list[Lanes]:
            inner, inside = _inside(m, view, places, lanes)
            if view.kind.format.size < memory.size:
                raise m.cannot(
                    f"an operation on {memory.size} bytes of an image with elements of {view.kind.format.size}",
                    instruction,
                )
            return [m.atomic(view.space, op, offset_of(a, view, inner), memory, values, inside, instruction)]

        (old,) = m.with_image(image(), active, instruction, update)
        write(a.cast(old, register), active)

    return step


@semantics("typed_atomic", deviation=ANY_ORDER)
def typed_atomic(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    op = ATOMIC_NAMES[args["op"]]
    return _typed_atomic(
        m, instruction, _image(m, instruction), op, ATOMIC_TYPES[args["width"]], data_port_order(op, args)
    )


for _lsc, _plain in LSC_ATOMICS.items():

    def _register(lsc: str, plain: str) -> None:
        @semantics(f"typed_lsc_atomic_{lsc}", deviation=ANY_ORDER)
        def prepare(m: Machine, instruction: Instruction) -> Step:
            args = instruction.args
            memory = lsc_types(args["data_size"])[0]
            return _typed_atomic(
                m, instruction, _lsc_image(m, instruction), plain, memory, [args["dst"], args["src1"], args["src2"]]
            )

    _register(_lsc, _plain)

SEMANTICS["typed_lsc_ccs_update"] = nothing


@semantics("typed_lsc_load_status", deviation=ALL_MAPPED)
def lsc_load_status(m: Machine, instruction: Instruction) -> Step:
    """Bit i of the first dword is 1 if lane i's element lies in the image."""
    image, mask = _lsc_image(m, instruction), mask_of(m, instruction)
    reads = [m.raw_reader(instruction.args[n], 0, instruction.args["exec"].size, D) for n in _PLACE.split()]

    def mapped() -> Mask:
        places = [r() for r in reads]
        return m.with_image(image(), mask(), instruction, lambda view, lanes: [_inside(m, view, places, lanes)[1]])[0]

    return status_step(m, instruction, mapped)


# -- the graphics pipeline -------------------------------------------------------------------------------------


@semantics(
    "rt_write_3d",
    deviation="The pixel of a lane is its work-item's global id; source-0 alpha, masks, depth and stencil are not kept.",
)
def render_target_write(m: Machine, instruction: Instruction) -> Step:
    """The colours of each lane go to its pixel of the render target."""
    args = instruction.args
    count, outputs = args["exec"].size, list(args["outputs"])
    first = sum(1 for bit in TARGET_OUTPUTS[:2] if args["mode"] & bit)
    colours = {c: m.raw_reader(raw, 0, count, types.UD) for c, raw in enumerate(outputs[first : first + 4]) if raw.var}
    image, pixel, mask = _image(m, instruction), m.pixel(args["exec"]), mask_of(m, instruction)
    return lambda: _store(m, image(), pixel(), {c: r() for c, r in colours.items()}, mask(), instruction)


# -- blocks ----------------------------------------------------------------------------------------------------


def _image_block(
    m: Machine,
    instruction: Instruction,
    image: Callable[[], ImageReference],
    x: Read,
    y: Read,
    width: int,
    height: int,
    raw: Raw,
    *,
    store: bool,
) -> Step:
    """Rows of bytes, in registers padded to a power of two of at least four; reads beyond the rim repeat it, writes there do nothing."""
    a, pitch, zero = m.algebra, 4, m.algebra.const(0, D)
    while pitch < width:
        pitch *= 2
    columns = a.iota(pitch, D)
    used = True if pitch == width else columns < a.const(width, D)
    reads = [m.raw_reader(raw, r * pitch, pitch, UB) for r in range(height)]
    writes = [m.raw_writer(raw, r * pitch, pitch, UB) for r in range(height)]

    def held(place: Lanes, size: Lanes) -> Lanes:
        last = size - a.const(1, D)
        return a.select(place < zero, zero, a.select(place > last, last, place))

    def step() -> None:
        left, top, lanes = x() + columns, y(), m.thread_mask()
        lanes = used if lanes is True else both(used, lanes)
        data = [r() for r in reads] if store else []

        def move(view: ImageView, lanes: Mask) -> list[Lanes]:
            row_bytes, rows = view.sizes[0] * a.const(view.kind.format.size, D), view.sizes[1]
            column, found = held(left, row_bytes), []
            for r in range(height):
                row = top + a.const(r, D)
                at = a.cast(held(row, rows), UQ) * a.cast(row_bytes, UQ) + a.cast(column, UQ)
                if store:
                    inside = both(both(lanes, (left >= zero) & (left < row_bytes)), (row >= zero) & (row < rows))
                    m.store(view.space, at, data[r], inside, instruction)
                else:
                    found.append(m.load(view.space, at, UB, lanes, instruction))
            return found

        for write, values in zip(writes, m.with_image(image(), lanes, instruction, move), strict=not store):
            write(values, lanes)

    return step


@semantics("media_ld", "media_st")
def media_block(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    width, height = args["block_width"], args["block_height"]
    x, y = source(m, args["x"], 1, D), source(m, args["y"], 1, D)
    store = instruction.desc.mnemonic == "media_st"
    return _image_block(m, instruction, _image(m, instruction), x, y, width, height, args["data"], store=store)


@semantics("typed_lsc_load_block2d", "typed_lsc_store_block2d")
def lsc_block(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    store = "store" in instruction.desc.mnemonic
    x, y = (m.raw_reader(args[n], 0, 1, D) for n in "uv")
    data = args["src1"] if store else args["dst"]
    return _image_block(
        m, instruction, _lsc_image(m, instruction), x, y, args["width"], args["height"], data, store=store
    )
