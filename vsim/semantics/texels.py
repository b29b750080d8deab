"""Elements of images in memory: where a texel lies, and how its channels are read and written by the format (OpenCL C, image data conversions)."""

from __future__ import annotations

from visa import types
from visa.program import Instruction
from visa.types import UB, UQ, UW, B, D, DataType, F, W
from vsim.images import ORDERS, ImageFormat
from vsim.semantics.algebra import Algebra, ImageView, Lanes, Machine, Mask

_STORED: dict[int, DataType] = {1: UB, 2: UW, 4: types.UD}
_SIGNED: dict[int, DataType] = {1: B, 2: W, 4: D}


def offset_of(a: Algebra, image: ImageView, places: list[Lanes]) -> Lanes:
    """Bytes from the beginning of the image to the texels at coordinates that it has."""
    number = a.cast(places[-1], UQ)
    for x, size in zip(reversed(places[:-1]), reversed(image.sizes[: len(places) - 1]), strict=True):
        number = number * a.cast(size, UQ) + a.cast(x, UQ)
    return number * a.const(image.kind.format.size, UQ)


def _decoded(a: Algebra, format: ImageFormat, bits: Lanes) -> Lanes:
    """An element, given as its bits, as F or UD lanes."""
    size = format.dtype.itemsize
    if format.element == "f32":
        return a.bitcast(bits, F)
    if format.element == "f16":
        return a.cast(a.bitcast(a.cast(bits, UW), types.HF), F)
    shift = a.const(32 - 8 * size, D)
    number = a.bitcast(bits, D)
    if format.dtype.kind == "i" and size < 4:
        number = (number << shift) >> shift
    if not format.scale:
        return a.bitcast(number, types.UD)
    x, least = a.fdiv(a.cast(number, F), a.const(format.scale, F)), a.const(-1.0, F)
    return a.select(x < least, least, x) if format.dtype.kind == "i" else x


def _encoded(a: Algebra, format: ImageFormat, bits: Lanes) -> Lanes:
    """A channel, given as 32 bits, as the bits of an element; normalised formats clamp and round, integers clamp."""
    size = format.dtype.itemsize
    if format.element == "f32" or (size == 4 and not format.is_real):
        return bits
    stored = _STORED[size]
    if format.element == "f16":
        return a.cast(a.bitcast(a.cast(a.bitcast(bits, F), types.HF), UW), types.UD)
    if format.is_real:
        x, zero, one, least = (
            a.bitcast(bits, F),
            a.const(0.0, F),
            a.const(1.0, F),
            a.const(-1.0 if format.dtype.kind == "i" else 0.0, F),
        )
        x = a.select(x == x, x, zero)
        x = a.select(x < least, least, a.select(x > one, one, x))
        number = a.cast(a.rint(x * a.const(format.scale, F)), D)
    elif format.dtype.kind == "i":
        number, low, high = a.bitcast(bits, D), a.const(_SIGNED[size].minimum, D), a.const(_SIGNED[size].maximum, D)
        number = a.select(number < low, low, a.select(number > high, high, number))
    else:
        high = a.const(stored.maximum, types.UD)
        number = a.select(bits > high, high, bits)
    return a.bitcast(number, types.UD) & a.const(stored.maximum, types.UD)


def fetch_texels(
    m: Machine, image: ImageView, places: list[Lanes], mask: Mask, instruction: Instruction
) -> list[Lanes]:
    """Four channels of each texel (F for formats of real numbers, else UD). Outside the mask stored channels are 0: the border."""
    a, format = m.algebra, image.kind.format
    at, size = offset_of(a, image, places), format.dtype.itemsize
    if format.size % 4:
        elements = [
            a.cast(x, types.UD)
            for x in m.load_elements(image.space, at, _STORED[size], format.channels, mask, instruction)
        ]
    else:
        words = m.load_elements(image.space, at, types.UD, format.size // 4, mask, instruction)
        low = a.const(_STORED[size].maximum, types.UD)
        elements = []
        for k in range(0, format.size, size):
            shifted = words[k // 4] >> a.const(8 * (k % 4), types.UD) if k % 4 else words[k // 4]
            elements.append(shifted & low if size < 4 else shifted)
    known = {c: _decoded(a, format, bits) for c, bits in zip("rgba", elements, strict=False)}
    for constant in "01":
        known[constant] = a.const(float(constant), F) if format.is_real else a.const(int(constant), types.UD)
    return [known[c] for c in ORDERS[format.order]]


def store_texels(
    m: Machine, image: ImageView, places: list[Lanes], values: dict[int, Lanes], mask: Mask, instruction: Instruction
) -> None:
    """Write channels, given as 32 bits; those that the format does not have are dropped."""
    a, format = m.algebra, image.kind.format
    at, size = offset_of(a, image, places), format.dtype.itemsize
    elements: dict[int, Lanes] = {}
    for channel, source in enumerate(ORDERS[format.order]):
        if source in "rgba" and channel in values:
            elements.setdefault("rgba".index(source), _encoded(a, format, values[channel]))
    if format.size % 4 or len(elements) < format.channels:
        for k, bits in elements.items():
            m.store(image.space, at + a.const(k * size, UQ), a.cast(bits, _STORED[size]), mask, instruction)
        return
    words = []
    for first in range(0, format.channels, 4 // size):
        words.append(elements[first])
        for k in range(1, 4 // size):
            words[-1] = words[-1] | elements[first + k] << a.const(8 * size * k, types.UD)
    m.store_elements(image.space, at, words, mask, instruction)
