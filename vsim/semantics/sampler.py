"""Image messages: sampling, loads, stores, sizes, blocks (manual: sampler and data port chapters; filters as OpenCL defines them).

Images and samplers are host objects that the machine finds when an instruction executes; coordinates and texels are lane values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from visa import types
from visa.isa.enums import LSC_ADDRESS_TYPES
from visa.operands import Raw
from visa.program import Instruction
from visa.types import UB, D, F
from vsim.memory import SamplerState
from vsim.semantics.algebra import Algebra, Lanes, Machine, Mask, Read, Step
from vsim.semantics.core import mask_of, semantics, source
from vsim.semantics.memory import channels, stride

_EDGES = ("clamp_edge", "clamp_to_edge", "none")
_MIRRORS = ("mirror", "mirrored_repeat")


def _wrap(a: Algebra, i: Lanes, size: int, addressing: str) -> tuple[Lanes, Mask]:
    """A texel number by the addressing mode, and whether it lies in the image (outside is the border)."""
    zero, last = a.const(0, D), a.const(size - 1, D)
    if addressing == "repeat":
        n = a.const(size, D)
        i = a.select(i < zero, i + n, i)
        i = a.select(i > last, i - n, i)
    if addressing in ("clamp", "clamp_border"):
        inside = (i >= zero) & (i <= last)
        return a.select(inside, i, zero), inside
    held = a.select(i < zero, zero, a.select(i > last, last, i))
    return held, held == held


def _texel_space(a: Algebra, x: Lanes, size: int, state: SamplerState) -> Lanes:
    """A coordinate in texels."""
    if not state.normalized:
        return x
    n = a.const(float(size), F)
    if state.addressing == "repeat":
        return (x - a.floor(x)) * n
    if state.addressing in _MIRRORS:
        half = x * a.const(0.5, F)
        return a.absolute(x - a.const(2.0, F) * a.rint(half)) * n
    return x * n


def _integer(a: Algebra, x: Lanes) -> Lanes:
    """Floor as an integer; coordinates far outside are held just outside."""
    limit = a.const(1e6, F)
    x = a.floor(x)
    x = a.select(x < limit, a.select(x > a.negate(limit), x, a.negate(limit)), limit)
    return a.cast(x, D)


def _axes(a: Algebra, coordinates: list[Lanes], sizes: list[int], state: SamplerState, linear: bool) -> list[list[tuple[Lanes, Mask, Lanes | None]]]:
    """For each axis the texel numbers that count: one for nearest, two with weights for linear."""
    found = []
    for x, size in zip(coordinates, sizes, strict=False):
        x = _texel_space(a, x, size, state)
        if not linear:
            i, inside = _wrap(a, _integer(a, x), size, state.addressing)
            found.append([(i, inside, None)])
            continue
        x = x - a.const(0.5, F)
        low = _integer(a, x)
        fraction = x - a.floor(x)
        i0, in0 = _wrap(a, low, size, state.addressing)
        i1, in1 = _wrap(a, low + a.const(1, D), size, state.addressing)
        found.append([(i0, in0, a.const(1.0, F) - fraction), (i1, in1, fraction)])
    return found


def sample(m: Machine, image: Any, coordinates: list[Lanes], state: SamplerState, mask: Mask) -> list[Lanes]:
    """Four channels at float coordinates."""
    a = m.algebra
    sizes = m.image_size(image)
    linear = state.filter == "linear"
    axes = _axes(a, coordinates[: len(sizes)], sizes, state, linear)
    total: list[Lanes] | None = None
    for corner in range(1 << (len(axes) if linear else 0)):
        picks = [axis[corner >> n & 1] if linear else axis[0] for n, axis in enumerate(axes)]
        inside = picks[0][1]
        weight = picks[0][2]
        for _, ok, w in picks[1:]:
            inside = inside & ok
            weight = None if weight is None or w is None else weight * w
        texel = m.image_fetch(image, [p[0] for p in picks], inside if mask is True else inside & mask)
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


def _parameters(instruction: Instruction) -> list[Raw]:
    """The coordinates of a sampler message: a leading empty slot (since Xe2) and the level of detail do not count."""
    params = list(instruction.args["params"])
    if len(params) > 1 and params[0].var == 0:
        params = params[1:]
    if instruction.form.mnemonic in ("sample_l", "sample_b"):
        params = params[1:]
    if instruction.form.mnemonic == "load_3d" and len(params) > 2:
        params = [*params[:2], *params[3:]]
    return params


@semantics("sample_3d", "sample_l", "sample_lz", "sample_b")
def sample_message(m: Machine, instruction: Instruction) -> Step:
    """Images have one level, so the level of detail and its bias have no effect."""
    args = instruction.args
    count = args["exec"].size
    reads = [m.raw_reader(p, 0, count, F) for p in _parameters(instruction)]
    write, mask = _store_channels(m, args["dst"], count, channels(args["channel_mask"])), mask_of(m, instruction)

    def step() -> None:
        lanes = mask()
        image, state = m.image(args["surface"]), m.sampler(args["sampler"])
        write(sample(m, image, [r() for r in reads], state, lanes), lanes)

    return step


@semantics("load_3d", "load_lz")
def load_message(m: Machine, instruction: Instruction) -> Step:
    """Texels at integer coordinates; outside the image all channels are 0."""
    args = instruction.args
    count = args["exec"].size
    reads = [m.raw_reader(p, 0, count, D) for p in _parameters(instruction)]
    write, mask = _store_channels(m, args["dst"], count, channels(args["channel_mask"])), mask_of(m, instruction)
    return lambda: write(_fetch(m, m.image(args["surface"]), reads, mask()), mask())


def _fetch(m: Machine, image: Any, reads: list[Read], mask: Mask) -> list[Lanes]:
    a = m.algebra
    places = [r() for r in reads][: len(m.image_size(image))]
    inside: Mask = mask
    for x, size in zip(places, m.image_size(image), strict=False):
        within = (x >= a.const(0, D)) & (x < a.const(size, D))
        inside = within if inside is True else inside & within
    return m.image_fetch(image, places, inside)


@semantics("sample4")
def gather_four(m: Machine, instruction: Instruction) -> Step:
    """One channel of the four texels that a linear filter would read, counter-clockwise from the lower left."""
    args, a = instruction.args, m.algebra
    count, channel = args["exec"].size, args["channel_mask"]
    reads = [m.raw_reader(p, 0, count, F) for p in _parameters(instruction)]
    write, mask = _store_channels(m, args["dst"], count, [0, 1, 2, 3]), mask_of(m, instruction)

    def step() -> None:
        lanes = mask()
        image, state = m.image(args["surface"]), m.sampler(args["sampler"])
        x_axis, y_axis = _axes(a, [r() for r in reads][:2], m.image_size(image)[:2], state, True)
        texels = []
        for i, j in ((0, 1), (1, 1), (1, 0), (0, 0)):
            (x, x_in, _), (y, y_in, _) = x_axis[i], y_axis[j]
            inside = x_in & y_in if lanes is True else x_in & y_in & lanes
            texels.append(m.image_fetch(image, [x, y], inside)[channel])
        write(texels, lanes)

    return step


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
    args, a = instruction.args, m.algebra
    count = args["exec"].size
    reads = [m.raw_reader(r, 0, count, D) for r in coordinates]
    chosen, mask = channels(mask_bits), mask_of(m, instruction)
    if not store:
        write = _store_channels(m, args["dst"], count, chosen)
        return lambda: write(_fetch(m, image(), reads, mask()), mask())
    step_bytes = stride(m, count, 4)
    raw = args["src1"] if "src1" in args else args["src"]
    values = [m.raw_reader(raw, k * step_bytes, count, types.UD) for k in range(len(chosen))]

    def step() -> None:
        where, lanes = image(), mask()
        sizes = m.image_size(where)
        places = [r() for r in reads][: len(sizes)]
        for x, size in zip(places, sizes, strict=False):
            within = (x >= a.const(0, D)) & (x < a.const(size, D))
            lanes = within if lanes is True else lanes & within
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


@semantics("typed_lsc_load_quad", "typed_lsc_store_quad")
def lsc_quad(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    store = "store" in instruction.form.mnemonic
    return _typed(m, instruction, _lsc_image(m, instruction), [args["u"], args["v"], args["r"]], args["elems"], store=store)


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
