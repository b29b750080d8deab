"""Texels in memory: where one lies, and how its channels are read and written by the format (OpenCL C, "Conversion
rules").

A texel is loaded and stored with plain memory accesses, as dwords where its size allows it. One of rgba_unorm8 is a
dword, green its bits 8 to 15: 0x80 there is read as 128 / 255 = 0.50196, and 0.5 is written as rint(0.5 * 255), the
even 128.
"""

from __future__ import annotations

from collections.abc import Callable

from visakit.language import types
from visakit.language.operands import Raw
from visakit.language.program import PREDEFINED_SURFACES, SCRATCH, SLM, STATELESS, Instruction
from visakit.language.types import HF, UQ, UW, D, F
from vsim.memory.images import ORDERS, ImageFormat
from vsim.semantics.algebra import Algebra, FindImage, ImageReference, ImageView, Lanes, Machine, Mask
from vsim.semantics.core import both, signed_of, source, unsigned_of
from vsim.semantics.lsc import SURFACE_STATE
from vsim.semantics.memory import stride

_CHANNELS = "rgba"

COORDINATES = ("u", "v", "r")
"""The fields of a message for the coordinates of texels."""

# -- images ----------------------------------------------------------------------------------------------------


def image_of(m: Machine, instruction: Instruction) -> FindImage:
    """The image that a message names."""
    if instruction.args.get("in_registers"):
        handle, index = source(m, instruction.args["surface_handle"], 1, types.UD), instruction.args["surface_index"]
        return lambda: m.image_by_handle("surf", handle() + m.algebra.const(SURFACE_STATE * index, types.UD))
    index = instruction.args["surface"]
    if index in (SLM, SCRATCH, STATELESS):
        raise m.cannot(f"{PREDEFINED_SURFACES[index]} is not an image")
    return lambda: m.image(index)


def channel_writer(m: Machine, raw: Raw, count: int, chosen: list[int]) -> Callable[[list[Lanes], Mask], None]:
    """Writes the chosen ones of four channels to a payload, one behind the other."""
    a, step = m.algebra, stride(m, count, 4)
    writers = [m.raw_writer(raw, k * step, count, types.UD) for k in range(len(chosen))]

    def write(values: list[Lanes], mask: Mask) -> None:
        for writer, c in zip(writers, chosen, strict=True):
            writer(a.bitcast(values[c], types.UD), mask)

    return write


def inside(m: Machine, image: ImageView, places: list[Lanes], mask: Mask) -> tuple[list[Lanes], Mask]:
    """The coordinates that the image has, and the lanes that are in it."""
    a = m.algebra
    for x, size in zip(places, image.sizes, strict=False):
        mask = both(mask, (x >= a.const(0, D)) & (x < size))
    return places[: image.kind.axes], mask


def read_image(
    m: Machine, image: ImageReference, places: list[Lanes], mask: Mask, instruction: Instruction
) -> list[Lanes]:
    """Four channels as UD of the texels at integer coordinates, 0 outside the image."""

    def texels(view: ImageView, lanes: Mask) -> list[Lanes]:
        found = fetch_texels(m, view, *inside(m, view, places, lanes), instruction)
        return [m.algebra.bitcast(t, types.UD) for t in found]

    return m.with_image(image, mask, instruction, texels)


def write_image(
    m: Machine,
    image: ImageReference,
    places: list[Lanes],
    values: dict[int, Lanes],
    mask: Mask,
    instruction: Instruction,
) -> None:
    """Write channels, by number, of the texels at integer coordinates; those outside the image are dropped."""

    def put(view: ImageView, lanes: Mask) -> list[Lanes]:
        inner, held = inside(m, view, places, lanes)
        store_texels(m, view, inner, values, held, instruction)
        return []

    m.with_image(image, mask, instruction, put)


def offset_of(a: Algebra, image: ImageView, places: list[Lanes]) -> Lanes:
    """Bytes from the beginning of the image to the texels at coordinates that it has."""
    number = a.cast(places[-1], UQ)
    for x, size in zip(reversed(places[:-1]), reversed(image.sizes[: len(places) - 1]), strict=True):
        number = number * a.cast(size, UQ) + a.cast(x, UQ)
    return number * a.const(image.kind.format.size, UQ)


# -- reading ---------------------------------------------------------------------------------------------------


def fetch_texels(
    m: Machine, image: ImageView, places: list[Lanes], mask: Mask, instruction: Instruction
) -> list[Lanes]:
    """Four channels of each texel, F for formats of real numbers, else UD.

    Outside the mask the stored channels are 0, which makes the border.
    """
    a, format = m.algebra, image.kind.format
    at = offset_of(a, image, places)
    elements = _load_elements(m, image, at, mask, instruction)
    known = {c: _decoded(a, format, bits) for c, bits in zip(_CHANNELS, elements, strict=False)}
    for constant in "01":
        known[constant] = a.const(float(constant), F) if format.is_real else a.const(int(constant), types.UD)
    return [known[c] for c in ORDERS[format.order]]


def _load_elements(m: Machine, image: ImageView, at: Lanes, mask: Mask, instruction: Instruction) -> list[Lanes]:
    """The elements of texels as the low bits of UD lanes, by dwords if a texel is made of these."""
    a, format = m.algebra, image.kind.format
    size = format.dtype.itemsize
    if format.size % 4:
        found = m.load_elements(image.space, at, unsigned_of(size), format.channels, mask, instruction)
        return [a.cast(x, types.UD) for x in found]
    words = m.load_elements(image.space, at, types.UD, format.size // 4, mask, instruction)
    low = a.const(unsigned_of(size).maximum, types.UD)
    elements = []
    for k in range(0, format.size, size):
        shifted = words[k // 4] >> a.const(8 * (k % 4), types.UD) if k % 4 else words[k // 4]
        elements.append(shifted & low if size < 4 else shifted)
    return elements


def _decoded(a: Algebra, format: ImageFormat, bits: Lanes) -> Lanes:
    """An element, given as its bits, as F or UD lanes."""
    size, signed = format.dtype.itemsize, format.dtype.kind == "i"
    if format.element == "f32":
        return a.bitcast(bits, F)
    if format.element == "f16":
        return a.cast(a.bitcast(a.cast(bits, UW), HF), F)
    shift = a.const(32 - 8 * size, D)
    number = a.bitcast(bits, D)
    if signed and size < 4:
        number = (number << shift) >> shift
    if not format.scale:
        return a.bitcast(number, types.UD)
    x, least = a.fdiv(a.cast(number, F), a.const(format.scale, F)), a.const(-1.0, F)
    return a.select(x < least, least, x) if signed else x


# -- writing ---------------------------------------------------------------------------------------------------


def store_texels(
    m: Machine, image: ImageView, places: list[Lanes], values: dict[int, Lanes], mask: Mask, instruction: Instruction
) -> None:
    """Write channels, given by number as 32 bits; channels that the format lacks are dropped.

    Red alone makes the one element of intensity and luminance, which several channels read.
    """
    a, format = m.algebra, image.kind.format
    at, size = offset_of(a, image, places), format.dtype.itemsize
    order = ORDERS[format.order]
    elements = {
        _CHANNELS.index(letter): _encoded(a, format, values[channel])
        for channel, letter in enumerate(order)
        if letter in _CHANNELS and channel in values and order.index(letter) == channel
    }
    if format.size % 4 or len(elements) < format.channels:
        for k, bits in elements.items():
            m.store(image.space, at + a.const(k * size, UQ), a.cast(bits, unsigned_of(size)), mask, instruction)
        return
    words = []
    for first in range(0, format.channels, 4 // size):
        words.append(elements[first])
        for k in range(1, 4 // size):
            words[-1] = words[-1] | elements[first + k] << a.const(8 * size * k, types.UD)
    m.store_elements(image.space, at, words, mask, instruction)


def _encoded(a: Algebra, format: ImageFormat, bits: Lanes) -> Lanes:
    """A channel, given as 32 bits, as the bits of an element; normalised formats clamp and round, integers clamp."""
    size, signed = format.dtype.itemsize, format.dtype.kind == "i"
    if format.element == "f32" or (size == 4 and not format.is_real):
        return bits
    stored = unsigned_of(size)
    if format.element == "f16":
        return a.cast(a.bitcast(a.cast(a.bitcast(bits, F), HF), UW), types.UD)
    if format.is_real:
        number = _normalised(a, format, a.bitcast(bits, F), -1.0 if signed else 0.0)
    elif signed:
        number, low, high = a.bitcast(bits, D), a.const(signed_of(size).minimum, D), a.const(signed_of(size).maximum, D)
        number = a.select(number < low, low, a.select(number > high, high, number))
    else:
        high = a.const(stored.maximum, types.UD)
        number = a.select(bits > high, high, bits)
    return a.bitcast(number, types.UD) & a.const(stored.maximum, types.UD)


def _normalised(a: Algebra, format: ImageFormat, x: Lanes, lowest: float) -> Lanes:
    """A float between ``lowest`` and 1 as a whole number of steps; NaN is 0."""
    zero, one, least = a.const(0.0, F), a.const(1.0, F), a.const(lowest, F)
    x = a.select(x == x, x, zero)
    x = a.select(x < least, least, a.select(x > one, one, x))
    return a.cast(a.rint(x * a.const(format.scale, F)), D)
