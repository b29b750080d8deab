"""Images and samplers for generated programs: an image that all sample and read, and one with four rows for each thread.

``T14`` is read only, ``T15`` has rows of the thread from 4 * TID on, ``S0`` is the sampler. Texels
that are floats go to and come from ``REAL``, others ``DATA``: no bits of floats become integers.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from random import Random

import numpy as np

from fuzz.launches import Json, packed
from vsim.launch.launch import SamplerArgument
from vsim.memory.images import ImageFormat

WIDTH, ROWS = 32, 4
"""Texels of a row of a thread's own image, and rows of each thread."""
SHAPES = ((5, 7), (5, 7), (3, 5, 6))
REALS = ("rgba_f32", "r_f32", "rg_f16", "rgba_unorm8", "bgra_unorm8", "r_snorm16", "luminance_f16")
INTEGERS = ("r_u32", "rgba_u8", "rg_i16", "rgba_u32", "r_i8")
MODES = ("none", "clamp_edge", "clamp_border", "clamp", "repeat", "mirror")
PARAMETERS = {
    "sample_3d": 3, "sample_lz": 3, "sample_b": 4, "sample_l": 4, "sample_d": 9, "sample_c": 4, "sample_c_lz": 4, "sample_b_c": 5,
    "sample_l_c": 5, "sample_d_c": 10, "sample4": 2, "sample4_c": 3, "sample4_po": 4, "sample4_po_c": 5,
}  # fmt: skip
"""How many coordinates and other numbers each takes at most, all of them floats but for some offsets."""
OFFSETS = {"sample4_po": (2, 3), "sample4_po_c": (3, 4)}
"""Which of these are whole numbers: of floats, which may be NaN, not all bits are known."""
LOADS = {"load_3d": 4, "load_lz": 3, "load_2dms_w": 6, "load_mcs": 3}
CHANNELS = ("R", "G", "RG", "RGBA", "RA", "B", "GBA")
ATOMICS = {"inc": 0, "dec": 0, "add": 1, "sub": 1, "min": 1, "max": 1, "minsint": 1, "maxsint": 1, "and": 1, "or": 1, "xor": 1,
           "xchg": 1, "cmpxchg": 2}  # fmt: skip
LSC_ATOMICS = {"iinc": 0, "idec": 0, "load": 0, "store": 1, "iadd": 1, "isub": 1, "smin": 1, "smax": 1, "umin": 1, "umax": 1,
               "icas": 2, "and": 1, "or": 1, "xor": 1}  # fmt: skip


class Images:
    """Gives lines for so many lanes of a thread, and the arguments that they need.

    Attributes:
        read, own: formats of the two images.
    """

    def __init__(self, random: Random, simd: int) -> None:
        self.random, self.simd = random, simd
        self.size = min(simd, 16)
        self.read, self.own = (random.choice((*REALS, *INTEGERS, "r_u32")) for _ in range(2))

    def arguments(self, seed: int, threads: int) -> list[Json]:
        """The two images and the sampler, of a launch with so many threads."""
        random = self.random
        normalized = random.random() < 0.5
        modes = MODES if normalized else MODES[:4]
        sampler = SamplerArgument(normalized, random.choice(modes), random.choice(("nearest", "linear")),
                                  random.choice(("le", "lt", "ge", "gt", "eq", "ne", "always", "never")))  # fmt: skip
        shape = random.choice(SHAPES)
        layered = len(shape) == 3 and random.random() < 0.3
        return [_image(self.read, shape, seed, layered), _image(self.own, (ROWS * threads, WIDTH), seed + 1),
                {"sampler": asdict(sampler)}]  # fmt: skip

    def compare(self) -> tuple[int, list[tuple[str, int, int]]]:
        """How texels of the image that is written are compared: the size of one, and its channels."""
        kind = _format(self.own)
        return kind.size, [(kind.dtype.str, 0, kind.channels)]

    # -- lines -------------------------------------------------------------------------------------------------

    def _guard(self) -> str:
        return self.random.choice(("", "", "", "(P1) ", "(!P2) "))

    def _data(self, image: str) -> str:
        return f"{'REAL' if _format(image).is_real else 'DATA'}_{self.random.randrange(2)}"

    def _rows(self) -> tuple[list[str], int]:
        """Lines for each lane's row of the thread's own, in ``YS``, and which of the rows it is."""
        n, k = self.size, self.random.randrange(ROWS)
        return [
            f"mul (M1_NM, {n}) YS(0,0)<1> TID(0,0)<0;1,0> {ROWS}:ud",
            f"add (M1_NM, {n}) YS(0,0)<1> YS(0,0)<1;1,0> {k}:ud",
        ], k

    def sampled(self) -> list[str]:
        """A message to the sampler with any floats as coordinates; its result may be floats in every format."""
        size = self.random.choice([n for n in (8, 16, 32) if n <= self.simd])
        name = self.random.choice(list(PARAMETERS))
        count = self.random.choice((PARAMETERS[name], self.random.randrange(1, PARAMETERS[name] + 1)))
        halves = self.random.random() < 0.2
        numbers = ("HF_0", "HF_1") if halves else ("F_0", "F_1", "REAL_0", "REAL_1")
        given = [self.random.choice(numbers) for _ in range(count)]
        for n in OFFSETS.get(name, ()):
            given[n : n + 1] = ["UW_0" if halves else "UD_0"] * (n < count)
        mask = self.random.choice("RGBA") if name.startswith("sample4") else self.random.choice(CHANNELS)
        offsets = f"{self.random.choice((0, 0, 0x123, self.random.getrandbits(12))):#x}:uw"
        dst = self.random.choice(("HROWS", "REAL_0", "REAL_1"))
        taken = [f"mov (M1_NM, {size}) F_0(0,0)<1> HROWS(0,0)<1;1,0>"] if dst == "HROWS" else []
        return [f"{self._guard()}{name}.{mask} (M1, {size}) {offsets} S0 T14 {dst}.0 {'.0 '.join(given)}.0", *taken]

    def loaded(self) -> list[str]:
        """Texels by number, most of them inside."""
        size = self.random.choice([n for n in (8, 16) if n <= self.simd])
        name = self.random.choice(list(LOADS))
        lines = [f"and (M1_NM, {size}) YS(0,0)<1> UD_{self.random.randrange(2)}(0,0)<1;1,0> 7:ud"] * (
            self.random.random() < 0.8
        )
        given = [self.random.choice(("YS.0", "YS.0", "LANE.0", "UD_0.0")) for _ in range(LOADS[name])]
        given = given[: self.random.randrange(1, len(given) + 1)]
        mask = self.random.choice(CHANNELS)
        return [
            *lines,
            f"{self._guard()}{name}.{mask} (M1, {size}) 0x0:uw T14 {self._data(self.read)}.0 {' '.join(given)}",
        ]

    def media(self) -> list[str]:
        """The media forms of a sample and a load, of eight or sixteen pixels whatever the mask."""
        pixels = self.random.choice((8, 16))
        mask = self.random.choice(CHANNELS)
        if self.random.random() < 0.5:
            return [f"sample.{mask} ({pixels}) S0 T14 F_0.0 F_1.0 {self.random.choice(('%null', 'REAL_0'))}.0 REAL_1.0"]
        return [
            f"load.{mask} ({pixels}) T14 LANE.0 YS.0 {self.random.choice(('%null', 'LANE'))}.0 {self._data(self.read)}.0"
        ]

    def asked(self) -> list[str]:
        """The size of an image."""
        name = self.random.choice(("resinfo", "sampleinfo"))
        lod = " YS.0" if name == "resinfo" else ""
        image = self.random.choice(("T14", "T15"))
        return [f"{name}.{self.random.choice(CHANNELS)} (M1, {self.size}) {image}{lod} DATA_0.0"]

    def typed(self) -> list[str]:
        """A load or store of the thread's own texels, or a load of read-only texels."""
        rows, _ = self._rows()
        size = self.random.choice([n for n in (8, 16) if n <= self.simd])
        channels = self.random.choice(CHANNELS)
        load, lsc = self.random.random() < 0.6, self.random.random() < 0.5
        image, format = ("T14", self.read) if load and self.random.random() < 0.4 else ("T15", self.own)
        data, guard = self._data(format), self._guard()
        if not lsc:
            verb = "gather4_typed" if load else "scatter4_typed"
            return [
                *rows,
                f"{guard}{verb}.{channels} (M1, {8 if load else size}) {image} LANE.0 YS.0 %null.0 %null.0 {data}.0",
            ]
        quad = "".join("xyzw"["RGBA".index(c)] for c in channels)
        place = f"bti({int(image[1:]) - 6:#x})[LANE,YS]:a32"
        if load and self.random.random() < 0.15:
            return [*rows, f"{guard}lsc_load_status.tgm (M1, {size}) DATA_1:d32 {place}"]
        if not load and self.random.random() < 0.2:
            return [*rows, f"{guard}lsc_store_uncompressed.tgm (M1, {size}) {place} {data}:d32"]
        operands = f"{data}:d32.{quad} {place}" if load else f"{place} {data}:d32.{quad}"
        return [*rows, f"{guard}lsc_{'load' if load else 'store'}_quad.tgm (M1, {size}) {operands}"]

    def atomic(self) -> list[str]:
        """An atomic operation on the thread's own texels, which are dwords."""
        if self.own != "r_u32":
            return self.typed()
        rows, _ = self._rows()
        lsc = self.random.random() < 0.5
        names = LSC_ATOMICS if lsc else ATOMICS
        name = self.random.choice(list(names))
        given = [f"DATA_{self.random.randrange(2)}" for _ in range(names[name])] + ["%null"] * (2 - names[name])
        if lsc:
            return [
                *rows,
                f"{self._guard()}lsc_atomic_{name}.tgm (M1, {self.size}) DATA_0:d32 bti(0x9)[LANE,YS]:a32 {' '.join(given)}",
            ]
        return [
            *rows,
            f"{self._guard()}typed_atomic.{name} (M1, 8) T15 LANE.0 YS.0 %null.0 %null.0 {given[0]}.0 {given[1]}.0 DATA_0.0",
        ]

    def block(self) -> list[str]:
        """A block of bytes of the thread's own rows, or a load of read-only ones."""
        rows, k = self._rows()
        width, height = self.random.choice(((4, 2), (8, 1), (16, 3), (3, 3), (32, 2), (5, 4)))
        x, load = self.random.choice((0, 0, 4, 20, 120, -3)), self.random.random() < 0.5
        format = self.own if height + k <= ROWS else self.read
        image = "T15" if format == self.own and height + k <= ROWS else "T14"
        load = load or image == "T14"
        data = self._data(format)
        if self.random.random() < 0.5:
            verb = "media_ld" if load else "media_st"
            return [*rows, f"{verb}.nomod ({width},{height}) {image} {x & 0xFFFFFFFF:#x}:ud YS(0,0)<0;1,0> {data}.0"]
        guard, place = self._guard(), f"bti({int(image[1:]) - 6:#x})[XS,YS]:a32"
        operands = f"{data}:{width}x{height} {place}" if load else f"{place} {data}:{width}x{height}"
        return [*rows, f"mov (M1_NM, 1) XS(0,0)<1> {x & 0xFFFFFFFF:#x}:ud",
                f"{guard}lsc_{'load' if load else 'store'}_block2d.tgm (M1{'' if guard else '_NM'}, 1) {operands}"]  # fmt: skip

    def line(self) -> list[str]:
        """One of these."""
        kinds = (
            self.sampled,
            self.sampled,
            self.loaded,
            self.media,
            self.asked,
            self.typed,
            self.typed,
            self.atomic,
            self.block,
        )
        return self.random.choice(kinds)()


def _format(text: str) -> ImageFormat:
    found = ImageFormat.parse(text)
    assert found
    return found


def _image(format: str, shape: tuple[int, ...], seed: int, layered: bool = False) -> Json:
    """An image of ordinary numbers."""
    kind, source = _format(format), np.random.default_rng(seed)
    whole = (*shape, kind.channels)
    if kind.dtype.kind == "f":
        array = (source.standard_normal(math.prod(whole)) * 4).astype(kind.dtype)
    else:
        array = source.integers(0, 256, math.prod(whole) * kind.dtype.itemsize, dtype=np.uint8).view(kind.dtype)
    return {
        "image": packed(array),
        "dtype": array.dtype.str,
        "shape": list(whole),
        "format": format,
        "layered": layered,
    }
