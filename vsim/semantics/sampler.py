"""Sampler messages (manual: chapter 6, "3D Extensions": 3D_SAMPLE, 3D_SAMPLE4, 3D_LOAD, INFO, and the media forms
SAMPLE and LOAD).

The manual names the messages and their parameters; the reads of a filter, and the effect of an addressing mode, are
those of OpenCL C ("Image addressing and filtering"). The machine finds image and sampler when an instruction executes;
the functions here are for one kind of image and one state of a sampler.

Sampling works axis by axis. Along an axis a coordinate becomes one texel number (nearest) or two with weights (linear);
a texel's weight is the product over the axes. At u = 0.3 on an axis of 8 texels: 0.3 * 8 - 0.5 = 1.9, so texel 1 counts
0.1 and texel 2 0.9. Numbers outside the axis go where the addressing mode says: texel 8 is 7 clamped to the edge, 0
repeated, 7 mirrored, else border.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence

from visakit.language import types
from visakit.language.operands import NULL, Immediate, Raw
from visakit.language.program import Instruction
from visakit.language.types import HF, UW, D, DataType, F, W
from vsim.launch.payload import SAMPLER_HANDLE_SHIFT
from vsim.memory.memory import SamplerState
from vsim.semantics.algebra import Algebra, ImageReference, ImageView, Lanes, Machine, Mask, Read, Step
from vsim.semantics.arithmetic import quotient
from vsim.semantics.core import COMPARISONS, Compare, both, mask_of, semantics, source
from vsim.semantics.memory import channels, stride
from vsim.semantics.texels import COORDINATES, channel_writer, fetch_texels, image_of, read_image

_MIRRORS = ("mirror", "mirrored_repeat")
_BORDERS = ("clamp", "clamp_border")

_UVR = "u v r"
_GRADIENTS = "u dudx dudy v dvdx dvdy r drdx drdy"
_PARAMETERS = {
    "sample_3d": _UVR,
    "sample_lz": _UVR,
    "sample_b": f"bias {_UVR}",
    "sample_l": f"lod {_UVR}",
    "sample_d": _GRADIENTS,
    "sample_c": f"ref {_UVR}",
    "sample_c_lz": f"ref {_UVR}",
    "sample_b_c": f"ref bias {_UVR}",
    "sample_mlod": f"minimum {_UVR}",
    "sample_c_mlod": f"minimum ref {_UVR}",
    "sample_l_c": f"ref lod {_UVR}",
    "sample_d_c": f"ref {_GRADIENTS}",
    "sample4": _UVR,
    "sample4_i": _UVR,
    "sample4_b": f"bias {_UVR}",
    "sample4_l": f"lod {_UVR}",
    "sample4_c": f"ref {_UVR}",
    "sample4_i_c": f"ref {_UVR}",
    "sample4_l_c": f"ref lod {_UVR}",
    "sample4_po": "u v offset_u offset_v r",
    "sample4_po_c": "ref u v offset_u offset_v r",
    "load_3d": "u v lod r",
    "load_l": "u v r lod",
    "load_lz": _UVR,
    "load_2dms_w": "sample mcs_low mcs_high u v r lod",
    "load_mcs": "u v r lod",
}
"""The parameters of each sampler message in the order of its payload; trailing ones may be missing, and are 0."""

_NARROW_PARAMETERS = {"load_2dms_w": "sample mcs_0 mcs_1 mcs_2 mcs_3 u v r lod"}
"""Those of messages whose parameters are words, where that changes more than their size."""
_PASSES: dict[str, Compare] = COMPARISONS | {
    "always": lambda x, y: (x == x) | (x != x),
    "never": lambda x, y: (x == x) & (x != x),
}

# -- addressing ------------------------------------------------------------------------------------------------


def _modulo(a: Algebra, i: Lanes, n: Lanes) -> Lanes:
    """i modulo n, from 0 to n - 1."""
    _, rest = quotient(a, D, i, n)
    return a.select(rest < a.const(0, D), rest + n, rest)


def _wrap(a: Algebra, i: Lanes, size: Lanes, addressing: str) -> tuple[Lanes, Mask]:
    """A texel number by the addressing mode, and whether it is inside the image (outside is the border)."""
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
"""The texels that count along an axis, as number, whether in the image, and weight: one for nearest, two for linear."""


def _axes(
    a: Algebra,
    image: ImageView,
    coordinates: list[Lanes],
    state: SamplerState,
    linear: bool,
    offsets: list[Lanes | None],
) -> list[Axis]:
    """For each axis the texels that count; along the layers of an array it is the one nearest, held in the array."""
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


# -- filtering -------------------------------------------------------------------------------------------------


def _passes(a: Algebra, texel: list[Lanes], reference: Lanes, comparison: str) -> list[Lanes]:
    """1 where the reference compares with the red channel as a float, else 0; the others as of a depth format."""
    zero, one = a.const(0.0, F), a.const(1.0, F)
    return [a.select(_PASSES[comparison](reference, a.cast(texel[0], F)), one, zero), zero, zero, one]


def filter_texels(
    m: Machine,
    image: ImageView,
    axes: list[Axis],
    state: SamplerState,
    reference: Lanes | None,
    mask: Mask,
    instruction: Instruction,
) -> list[Lanes]:
    """Four channels as UD: the weighted sum of the texels that count.

    Args:
        reference: what each texel is compared with before it is weighed; None without comparison.
    """
    a = m.algebra
    total: list[Lanes] | None = None
    for picks in itertools.product(*reversed(axes)):
        inside, weight = mask, None
        for _, ok, w in reversed(picks):
            inside = both(inside, ok)
            weight = w if weight is None else weight if w is None else weight * w
        texel = fetch_texels(m, image, [p[0] for p in reversed(picks)], inside, instruction)
        if reference is not None:
            texel = _passes(a, texel, reference, state.compare)
        if weight is not None:
            texel = [a.cast(t, F) * weight for t in texel]
        total = texel if total is None else [x + y for x, y in zip(total, texel, strict=True)]
    assert total is not None
    return [a.bitcast(t, types.UD) for t in total]


def _sampler(m: Machine, instruction: Instruction) -> Read:
    """The number of the sampler that a message names: a variable has it, a register the handle of one in front."""
    a, args = m.algebra, instruction.args
    if not args.get("in_registers"):
        return lambda: m.sampler(args["sampler"])
    handle, index = source(m, args["sampler_handle"], 1, types.UD), args["sampler_index"]
    shift = a.const(SAMPLER_HANDLE_SHIFT, types.UD)
    return lambda: (handle() >> shift) + a.const(index, types.UD)


def _sampled(
    m: Machine,
    instruction: Instruction,
    where: tuple[ImageReference, Read],
    coordinates: list[Lanes],
    offsets: list[Lanes | None],
    reference: Lanes | None,
    mask: Mask,
) -> list[Lanes]:
    """Four channels, as a sampler filters them; ``where``: the image, and what reads the sampler's number."""

    def texels(view: ImageView, state: SamplerState, lanes: Mask) -> list[Lanes]:
        axes = _axes(m.algebra, view, coordinates, state, state.filter == "linear", offsets)
        return filter_texels(m, view, axes, state, reference, lanes, instruction)

    image, sampler = where
    return m.with_sampler(image, sampler(), mask, instruction, texels)


# -- operands --------------------------------------------------------------------------------------------------


def _channel_writer(
    m: Machine, instruction: Instruction, count: int, chosen: list[int] | None = None
) -> Callable[[list[Lanes], Mask], None]:
    """Writes the channels that the message's mask enables, or the chosen ones, to its destination.

    One of 16-bit elements gets halves, or the low words of integers, a register or more for each channel.
    """
    a, raw = m.algebra, instruction.args["dst"]
    chosen = channels(instruction.args["channel_mask"]) if chosen is None else chosen
    own = m.function.variable_type(raw.var) if raw.var else F
    if own.size != 2:
        return channel_writer(m, raw, count, chosen)
    stored = HF if own is HF else UW
    writers = [m.raw_writer(raw, k * stride(m, count, 2), count, stored) for k in range(len(chosen))]

    def write(values: list[Lanes], mask: Mask) -> None:
        for writer, c in zip(writers, chosen, strict=True):
            value = values[c]
            writer(a.cast(a.bitcast(value, F), HF) if own is HF else a.cast(value, UW), mask)

    return write


def _plain_reads(m: Machine, instruction: Instruction, count: int, data_type: DataType) -> list[Read]:
    """Readers of the coordinates of a message that has a field for each."""
    return [m.raw_reader(instruction.args[n], 0, count, data_type) for n in COORDINATES]


def _parameters(m: Machine, instruction: Instruction) -> dict[str, Raw]:
    """The parameters of a sampler message by name; a leading empty slot (since Xe2) does not count."""
    params = list(instruction.args["params"])
    if len(params) > 1 and params[0].var == 0:
        params = params[1:]
    names = _NARROW_PARAMETERS if _is_narrow(m, instruction, params) else _PARAMETERS
    return dict(zip(names[instruction.desc.mnemonic].split(), params, strict=False))


def _is_narrow(m: Machine, instruction: Instruction, params: Sequence[Raw]) -> bool:
    """Whether a message that has a form for it has words as parameters; all have one type."""
    known = instruction.desc.mnemonic in _NARROW_PARAMETERS
    return known and any(raw.var and m.function.variable_type(raw.var).size == 2 for raw in params[:1])


def _reads(m: Machine, found: dict[str, Raw], names: str, count: int, data_type: DataType) -> list[Read]:
    """Readers of parameters, of which missing ones are 0; floats may be given as halves."""
    return [_read_parameter(m, found.get(n, NULL), count, data_type) for n in names.split()]


def _read_parameter(m: Machine, raw: Raw, count: int, data_type: DataType) -> Read:
    if data_type is not F or not raw.var or m.function.variable_type(raw.var) is not HF:
        return m.raw_reader(raw, 0, count, data_type)
    a, half = m.algebra, m.raw_reader(raw, 0, count, HF)
    return lambda: a.cast(half(), F)


def _reference(m: Machine, instruction: Instruction, found: dict[str, Raw], count: int) -> Read | None:
    """The reader of what texels are compared with; None if the message does not compare."""
    compares = "ref" in _PARAMETERS[instruction.desc.mnemonic].split()
    return _read_parameter(m, found.get("ref", NULL), count, F) if compares else None


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


# -- sampling --------------------------------------------------------------------------------------------------


@semantics(
    "sample_3d",
    "sample_l",
    "sample_lz",
    "sample_b",
    "sample_d",
    "sample_c",
    "sample_l_c",
    "sample_c_lz",
    "sample_b_c",
    "sample_d_c",
    "sample_mlod",
    "sample_c_mlod",
    deviation="Filter weights are floats, not fixed-point numbers; "
    "images have one level, so its choice (bias, gradients, least level) has no effect.",
)
def sample_message(m: Machine, instruction: Instruction) -> Step:
    """Sample at float coordinates, with comparison if there is a reference; the weights' precision is left open."""
    count, found = instruction.args["exec"].size, _parameters(m, instruction)
    reads = _reads(m, found, _UVR, count, F)
    reference = _reference(m, instruction, found, count)
    image, sampler, offsets = image_of(m, instruction), _sampler(m, instruction), _offsets(m, instruction)
    write, mask = _channel_writer(m, instruction, count), mask_of(m, instruction)

    def step() -> None:
        lanes, where, coordinates, moved = mask(), (image(), sampler), [r() for r in reads], offsets()
        compared = reference() if reference else None
        write(_sampled(m, instruction, where, coordinates, moved, compared, lanes), lanes)

    return step


@semantics(
    "sample4", "sample4_c", "sample4_po", "sample4_po_c",
    "sample4_i", "sample4_b", "sample4_l", "sample4_i_c", "sample4_l_c",
)  # fmt: skip
def gather_four(m: Machine, instruction: Instruction) -> Step:
    """One channel of the four texels that a linear filter would read, counter-clockwise from the lower left.

    Of an array these are texels of one layer, and of an image with depth those of its first slice.
    """
    args, a = instruction.args, m.algebra
    count, found, channel = args["exec"].size, _parameters(m, instruction), args["channel_mask"]
    reads = _reads(m, found, _UVR, count, F)
    moved = _reads(m, found, "offset_u offset_v", count, D) if "_po" in instruction.desc.mnemonic else []
    reference = _reference(m, instruction, found, count)
    image, sampler, offsets = image_of(m, instruction), _sampler(m, instruction), _offsets(m, instruction)
    write, mask = _channel_writer(m, instruction, count, [0, 1, 2, 3]), mask_of(m, instruction)

    def step() -> None:
        lanes, coordinates, places = mask(), [r() for r in reads], [r() for r in moved] or offsets()
        compared = reference() if reference else None

        def texels(view: ImageView, state: SamplerState, lanes: Mask) -> list[Lanes]:
            axes = _axes(a, view, coordinates, state, True, [*places, None][:3])
            layer = [axes[-1][0]] if view.kind.layered else []
            found = []
            for corner in ((0, 1), (1, 1), (1, 0), (0, 0)):
                picks = [axis[k] for axis, k in zip(axes, corner, strict=False) if len(axis) == 2] + layer
                held = functools.reduce(both, (p[1] for p in picks), lanes)
                texel = fetch_texels(m, view, [p[0] for p in picks], held, instruction)
                found.append(texel[channel] if compared is None else _passes(a, texel, compared, state.compare)[0])
            return [a.bitcast(t, types.UD) for t in found]

        write(m.with_sampler(image(), sampler(), lanes, instruction, texels), lanes)

    return step


def _pixels(instruction: Instruction) -> int:
    return 16 if instruction.args["simd16"] else 8


@semantics("sample", deviation="Filter weights are floats, not fixed-point numbers.")
def media_sample(m: Machine, instruction: Instruction) -> Step:
    """The media form: float coordinates of 8 or 16 pixels, whatever the execution mask."""
    count = _pixels(instruction)
    reads, image, sampler = _plain_reads(m, instruction, count, F), image_of(m, instruction), _sampler(m, instruction)
    write = _channel_writer(m, instruction, count)

    def step() -> None:
        where, coordinates = (image(), sampler), [r() for r in reads]
        values = _sampled(m, instruction, where, coordinates, [None] * 3, None, m.thread_mask())
        write(values, m.thread_mask())

    return step


# -- loads and questions ---------------------------------------------------------------------------------------


@semantics("load")
def media_load(m: Machine, instruction: Instruction) -> Step:
    """The media form of a load: texels at the integer coordinates of 8 or 16 pixels."""
    count = _pixels(instruction)
    reads, image = _plain_reads(m, instruction, count, D), image_of(m, instruction)
    write = _channel_writer(m, instruction, count)
    return lambda: write(read_image(m, image(), [r() for r in reads], m.thread_mask(), instruction), m.thread_mask())


@semantics("load_3d", "load_l", "load_lz", "load_2dms_w")
def load_message(m: Machine, instruction: Instruction) -> Step:
    """Texels at integer coordinates; all channels are 0 outside the image, and in levels and samples but the first."""
    a = m.algebra
    count, found = instruction.args["exec"].size, _parameters(m, instruction)
    narrow = _is_narrow(m, instruction, list(found.values()))

    def read(name: str) -> Read:
        words = m.raw_reader(found.get(name, NULL), 0, count, W if narrow else D)
        return (lambda: a.cast(words(), D)) if narrow else words

    reads, offsets = [read(name) for name in _UVR.split()], _offsets(m, instruction)
    image = image_of(m, instruction)
    zeros = [read(name) for name in ("lod", "sample") if name in found]
    write, mask = _channel_writer(m, instruction, count), mask_of(m, instruction)

    def step() -> None:
        lanes, inside = mask(), mask()
        places = [r() if o is None else r() + o for r, o in zip(reads, offsets(), strict=False)]
        for zero in zeros:
            inside = both(inside, zero() == a.const(0, D))
        write(read_image(m, image(), places, inside, instruction), lanes)

    return step


def _constants(m: Machine, instruction: Instruction, values: tuple[int, ...]) -> Step:
    """The same four numbers for all images."""
    a, count = m.algebra, instruction.args["exec"].size
    write, mask = _channel_writer(m, instruction, count), mask_of(m, instruction)
    return lambda: write([a.const(n, types.UD) for n in values], mask())


@semantics("load_mcs")
def load_mcs(m: Machine, instruction: Instruction) -> Step:
    """The multisample control data: images have one sample, for which they are 0."""
    return _constants(m, instruction, (0, 0, 0, 0))


@semantics("sampleinfo")
def sampleinfo(m: Machine, instruction: Instruction) -> Step:
    """The number of samples: images have one."""
    return _constants(m, instruction, (1, 0, 0, 0))


@semantics("resinfo")
def resinfo(m: Machine, instruction: Instruction) -> Step:
    """Width, height, depth or layers, number of levels."""
    a, count = m.algebra, instruction.args["exec"].size
    write, mask = _channel_writer(m, instruction, count), mask_of(m, instruction)
    image = image_of(m, instruction)

    def sizes(view: ImageView, _: Mask) -> list[Lanes]:
        found = [a.bitcast(n, types.UD) for n in [*view.sizes, a.const(0, D), a.const(0, D)][:3]]
        return [*found, a.const(1, types.UD)]

    return lambda: write(m.with_image(image(), mask(), instruction, sizes), mask())
