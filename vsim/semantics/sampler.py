"""Image messages: sampling, loads, stores, sizes, blocks (manual: sampler and data port chapters; filters as OpenCL defines them).

Images and samplers are host objects that the machine finds when an instruction executes; coordinates and texels are lane values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from visa import types
from visa.isa.enums import LSC_ADDRESS_TYPES, LSC_ATOMICS, TARGET_OUTPUTS
from visa.operands import Immediate, Raw
from visa.program import Instruction
from visa.types import UB, UW, D, F
from vsim.memory import SamplerState
from vsim.semantics.algebra import Algebra, Lanes, Machine, Mask, Read, Step
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


def _modulo(a: Algebra, i: Lanes, n: int) -> Lanes:
    """i modulo n, from 0 to n - 1."""
    _, rest = quotient(a, D, i, a.const(n, D))
    return a.select(rest < a.const(0, D), rest + a.const(n, D), rest)


def _wrap(a: Algebra, i: Lanes, size: int, addressing: str) -> tuple[Lanes, Mask]:
    """A texel number by the addressing mode, and whether it lies in the image (outside is the border)."""
    zero, last = a.const(0, D), a.const(size - 1, D)
    if addressing == "repeat":
        i = _modulo(a, i, size)
    if addressing in _MIRRORS:
        i = _modulo(a, i, 2 * size)
        i = a.select(i > last, a.const(2 * size - 1, D) - i, i)
    if addressing in _BORDERS:
        inside = (i >= zero) & (i <= last)
        return a.select(inside, i, zero), inside
    held = a.select(i < zero, zero, a.select(i > last, last, i))
    return held, held == held


def _texel_space(a: Algebra, x: Lanes, size: int, state: SamplerState) -> Lanes:
    """A coordinate in texels; periodic modes are brought near the image first, as OpenCL's formulas do."""
    if not state.normalized:
        return x
    if state.addressing == "repeat":
        x = x - a.floor(x)
    if state.addressing in _MIRRORS:
        x = a.absolute(x - a.const(2.0, F) * a.rint(x * a.const(0.5, F)))
    return x * a.const(float(size), F)


def _integer(a: Algebra, x: Lanes) -> Lanes:
    """Floor as an integer; coordinates far outside are held just outside."""
    limit = a.const(1e6, F)
    x = a.floor(x)
    x = a.select(x < limit, a.select(x > a.negate(limit), x, a.negate(limit)), limit)
    return a.cast(x, D)


Axis = list[tuple[Lanes, Mask, Lanes | None]]
"""The texel numbers that count along an axis: one for nearest, two with weights for linear."""


def _axes(a: Algebra, coordinates: list[Lanes], sizes: list[int], state: SamplerState, linear: bool, offsets: list[Lanes | None]) -> list[Axis]:
    found: list[Axis] = []
    for x, size, offset in zip(coordinates, sizes, offsets, strict=False):
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


def sample(m: Machine, image: Any, axes: list[Axis], state: SamplerState, reference: Lanes | None, mask: Mask) -> list[Lanes]:
    """Four channels, filtered over the texels of the axes."""
    a = m.algebra
    total: list[Lanes] | None = None
    for picks in itertools.product(*reversed(axes)):
        inside, weight = mask, None
        for _, ok, w in reversed(picks):
            inside = both(inside, ok)
            weight = w if weight is None else weight * w
        texel = m.image_fetch(image, [p[0] for p in reversed(picks)], inside)
        if reference is not None:
            texel = _passes(a, texel, reference, state.compare)
        if weight is not None:
            texel = [t * weight for t in texel]
        total = texel if total is None else [x + y for x, y in zip(total, texel, strict=True)]
    assert total is not None
    return total


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
    return dict(zip(PARAMETERS[instruction.form.mnemonic].split(), params, strict=False))


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
           within="Filter weights are floats, not fixed-point numbers; images have one level, so its choice (bias, gradients) has no effect.")  # fmt: skip
def sample_message(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    count, found = args["exec"].size, _parameters(m, instruction)
    reads = _reads(m, found, _PLACE, count, F)
    reference = m.raw_reader(found["ref"], 0, count, F) if "ref" in found else None
    offsets = _offsets(m, instruction)
    write, mask = _store_channels(m, args["dst"], count, channels(args["channel_mask"])), mask_of(m, instruction)

    def step() -> None:
        lanes = mask()
        image, state = m.image(args["surface"]), m.sampler(args["sampler"])
        axes = _axes(m.algebra, [r() for r in reads], m.image_size(image), state, state.filter == "linear", offsets())
        write(sample(m, image, axes, state, reference() if reference else None, lanes), lanes)

    return step


def _pixels(instruction: Instruction) -> int:
    return 16 if instruction.args["simd16"] else 8


@semantics("sample", within="Filter weights are floats, not fixed-point numbers.")
def media_sample(m: Machine, instruction: Instruction) -> Step:
    """The media form: coordinates of 8 or 16 pixels, whatever the execution mask."""
    args, count = instruction.args, _pixels(instruction)
    reads = [m.raw_reader(args[n], 0, count, F) for n in _PLACE.split()]
    write = _store_channels(m, args["dst"], count, channels(args["channel_mask"]))

    def step() -> None:
        image, state, lanes = m.image(args["surface"]), m.sampler(args["sampler"]), m.thread_mask()
        axes = _axes(m.algebra, [r() for r in reads], m.image_size(image), state, state.filter == "linear", [None] * 3)
        write(sample(m, image, axes, state, None, lanes), lanes)

    return step


@semantics("load")
def media_load(m: Machine, instruction: Instruction) -> Step:
    """The media form of a load: texels at the integer coordinates of 8 or 16 pixels."""
    args, count = instruction.args, _pixels(instruction)
    reads = [m.raw_reader(args[n], 0, count, D) for n in _PLACE.split()]
    write = _store_channels(m, args["dst"], count, channels(args["channel_mask"]))
    return lambda: write(_fetch(m, m.image(args["surface"]), [r() for r in reads], m.thread_mask()), m.thread_mask())


@semantics("load_3d", "load_lz", "load_2dms_w")
def load_message(m: Machine, instruction: Instruction) -> Step:
    """Texels at integer coordinates; outside the image, in levels but the first and in samples but the first all channels are 0."""
    args, a = instruction.args, m.algebra
    count, found = args["exec"].size, _parameters(m, instruction)
    reads, offsets = _reads(m, found, _PLACE, count, D), _offsets(m, instruction)
    zeros = _reads(m, found, "lod sample", count, D)
    write, mask = _store_channels(m, args["dst"], count, channels(args["channel_mask"])), mask_of(m, instruction)

    def step() -> None:
        lanes, inside = mask(), mask()
        places = [r() if o is None else r() + o for r, o in zip(reads, offsets(), strict=False)]
        for zero in zeros:
            inside = both(inside, zero() == a.const(0, D))
        write(_fetch(m, m.image(args["surface"]), places, inside), lanes)

    return step


@semantics("load_mcs")
def load_mcs(m: Machine, instruction: Instruction) -> Step:
    """Images have one sample, whose control data are 0."""
    args, a = instruction.args, m.algebra
    count = args["exec"].size
    write, mask = _store_channels(m, args["dst"], count, channels(args["channel_mask"])), mask_of(m, instruction)
    return lambda: write([a.const(0, types.UD)] * 4, mask())


def _inside(m: Machine, image: Any, places: list[Lanes], mask: Mask) -> tuple[list[Lanes], Mask]:
    """The coordinates that the image has, and the lanes that are in it."""
    a = m.algebra
    places = places[: len(m.image_size(image))]
    for x, size in zip(places, m.image_size(image), strict=False):
        mask = both(mask, (x >= a.const(0, D)) & (x < a.const(size, D)))
    return places, mask


def _fetch(m: Machine, image: Any, places: list[Lanes], mask: Mask) -> list[Lanes]:
    places, inside = _inside(m, image, places, mask)
    return m.image_fetch(image, places, inside)


@semantics("sample4", "sample4_c", "sample4_po", "sample4_po_c")
def gather_four(m: Machine, instruction: Instruction) -> Step:
    """One channel of the four texels that a linear filter would read, counter-clockwise from the lower left."""
    args, a = instruction.args, m.algebra
    count, found, channel = args["exec"].size, _parameters(m, instruction), args["channel_mask"]
    reads, moved = _reads(m, found, "u v", count, F), _reads(m, found, "offset_u offset_v", count, D)
    reference = m.raw_reader(found["ref"], 0, count, F) if "ref" in found else None
    offsets = _offsets(m, instruction)
    write, mask = _store_channels(m, args["dst"], count, [0, 1, 2, 3]), mask_of(m, instruction)

    def step() -> None:
        lanes = mask()
        image, state = m.image(args["surface"]), m.sampler(args["sampler"])
        places = [r() for r in moved] or offsets()
        x_axis, y_axis = _axes(a, [r() for r in reads], m.image_size(image)[:2], state, True, places)
        texels = []
        for i, j in ((0, 1), (1, 1), (1, 0), (0, 0)):
            (x, x_in, _), (y, y_in, _) = x_axis[i], y_axis[j]
            texel = m.image_fetch(image, [x, y], both(lanes, x_in & y_in))
            texels.append(_passes(a, texel, reference(), state.compare)[0] if reference else texel[channel])
        write(texels, lanes)

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

    def step() -> None:
        sizes = [*m.image_size(m.image(args["surface"])), 0, 0][:3]
        write([a.const(n, types.UD) for n in (*sizes, 1)], mask())

    return step


# -- typed memory ----------------------------------------------------------------------------------------------


def _typed(m: Machine, instruction: Instruction, image: Callable[[], Any], coordinates: list[Raw], mask_bits: int, *, store: bool) -> Step:
    args = instruction.args
    count = args["exec"].size
    reads = [m.raw_reader(r, 0, count, D) for r in coordinates]
    chosen, mask = channels(mask_bits), mask_of(m, instruction)
    if not store:
        write = _store_channels(m, args["dst"], count, chosen)
        return lambda: write(_fetch(m, image(), [r() for r in reads], mask()), mask())
    step_bytes = stride(m, count, 4)
    raw = args["src1"] if "src1" in args else args["src"]
    values = [m.raw_reader(raw, k * step_bytes, count, types.UD) for k in range(len(chosen))]

    def step() -> None:
        where = image()
        places, lanes = _inside(m, where, [r() for r in reads], mask())
        m.image_store(where, places, {c: v() for c, v in zip(chosen, values, strict=True)}, lanes)

    return step


@semantics("gather4_typed", "scatter4_typed")
def typed_message(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    return _typed(m, instruction, lambda: m.image(args["surface"]), [args["u"], args["v"], args["r"]], args["channel_mask"], store="src" in args)


def _lsc_image(m: Machine, instruction: Instruction) -> Callable[[], Any]:
    kind = next((k for k, v in LSC_ADDRESS_TYPES.items() if v == instruction.args["addr_type"]), "flat")
    surface = source(m, instruction.args["surface"], 1, types.UD)
    return lambda: m.image_by_handle(kind, surface())


@semantics("typed_lsc_load_quad", "typed_lsc_store_quad", "typed_lsc_store_uncompressed")
def lsc_quad(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    store = "store" in instruction.form.mnemonic
    chosen = args["elems"] if "quad" in instruction.form.mnemonic else (1 << ELEMENTS_OF[args["elems"]]) - 1
    return _typed(m, instruction, _lsc_image(m, instruction), [args["u"], args["v"], args["r"]], chosen, store=store)


def _typed_atomic(m: Machine, instruction: Instruction, image: Callable[[], Any], op: str, memory: types.DataType, raws: list[Raw]) -> Step:
    """An atomic on one element of an image; lanes outside the image do nothing and get 0. ``raws``: dst, then the sources in the order of the algebra."""
    args = instruction.args
    count = args["exec"].size
    register = types.UD if memory is UW else memory
    reads = [m.raw_reader(args[n], 0, count, D) for n in _PLACE.split()]
    dst, *operands = raws
    sources = [m.raw_reader(r, 0, count, register) for r in operands[: ATOMIC_SOURCES.get(op, 1)]]
    write, mask = m.raw_writer(dst, 0, count, register), mask_of(m, instruction)

    def step() -> None:
        where, active = image(), mask()
        places, lanes = _inside(m, where, [r() for r in reads], active)
        values = [m.algebra.cast(s(), memory) for s in sources]
        write(m.algebra.cast(m.image_atomic(where, op, places, memory, values, lanes, instruction), register), active)

    return step


@semantics("typed_atomic", within=ANY_ORDER)
def typed_atomic(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    op = ATOMIC_NAMES[args["op"]]
    return _typed_atomic(m, instruction, lambda: m.image(args["surface"]), op, ATOMIC_TYPES[args["width"]], data_port_order(op, args))


for _lsc, _plain in LSC_ATOMICS.items():

    def _register(lsc: str, plain: str) -> None:
        @semantics(f"typed_lsc_atomic_{lsc}", within=ANY_ORDER)
        def prepare(m: Machine, instruction: Instruction) -> Step:
            args = instruction.args
            memory = lsc_types(args["data_size"])[0]
            return _typed_atomic(m, instruction, _lsc_image(m, instruction), plain, memory, [args["dst"], args["src1"], args["src2"]])

    _register(_lsc, _plain)

SEMANTICS["typed_lsc_ccs_update"] = nothing


@semantics("typed_lsc_load_status", within=ALL_MAPPED)
def lsc_load_status(m: Machine, instruction: Instruction) -> Step:
    """Bit i of the first dword is 1 if lane i's element lies in the image."""
    image, mask = _lsc_image(m, instruction), mask_of(m, instruction)
    reads = [m.raw_reader(instruction.args[n], 0, instruction.args["exec"].size, D) for n in _PLACE.split()]
    return status_step(m, instruction, lambda: _inside(m, image(), [r() for r in reads], mask())[1])


# -- the graphics pipeline -------------------------------------------------------------------------------------


@semantics("rt_write_3d", within="The pixel of a lane is its work-item's global id; source-0 alpha, masks, depth and stencil are not kept.")
def render_target_write(m: Machine, instruction: Instruction) -> Step:
    """The colours of each lane go to its pixel of the render target."""
    args = instruction.args
    count, outputs = args["exec"].size, list(args["outputs"])
    first = sum(1 for bit in TARGET_OUTPUTS[:2] if args["mode"] & bit)
    colours = {c: m.raw_reader(raw, 0, count, types.UD) for c, raw in enumerate(outputs[first : first + 4]) if raw.var}
    pixel, mask = m.pixel(args["exec"]), mask_of(m, instruction)

    def step() -> None:
        image = m.image(args["surface"])
        places, lanes = _inside(m, image, pixel(), mask())
        m.image_store(image, places, {c: r() for c, r in colours.items()}, lanes)

    return step


# -- blocks ----------------------------------------------------------------------------------------------------


def _image_block(m: Machine, image: Callable[[], Any], x: Read, y: Read, width: int, height: int, pitch: int, raw: Raw, *, store: bool) -> Step:
    """Rows of bytes; reads beyond the rim repeat it, writes there do nothing."""
    a = m.algebra
    columns = a.iota(width, D)
    reads = [m.raw_reader(raw, r * pitch, width, UB) for r in range(height)]
    writes = [m.raw_writer(raw, r * pitch, width, UB) for r in range(height)]

    def step() -> None:
        where = image()
        left, top = x(), y()
        for r in range(height):
            row = top + a.const(r, D)
            if store:
                m.image_store_bytes(where, left + columns, row, reads[r](), m.thread_mask())
            else:
                writes[r](m.image_fetch_bytes(where, left + columns, row), m.thread_mask())

    return step


@semantics("media_ld", "media_st")
def media_block(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    width, height = args["block_width"], args["block_height"]
    pitch = 4
    while pitch < width:
        pitch *= 2
    x, y = source(m, args["x"], 1, D), source(m, args["y"], 1, D)
    return _image_block(m, lambda: m.image(args["surface"]), x, y, width, height, pitch, args["data"], store=instruction.form.mnemonic == "media_st")


@semantics("typed_lsc_load_block2d", "typed_lsc_store_block2d")
def lsc_block(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    store = "store" in instruction.form.mnemonic
    x, y = (m.raw_reader(args[n], 0, 1, D) for n in "uv")
    pitch = 4
    while pitch < args["width"]:
        pitch *= 2
    return _image_block(m, _lsc_image(m, instruction), x, y, args["width"], args["height"], pitch, args["src1"] if store else args["dst"], store=store)
