"""Images and samplers in pseudo-code, with examples on a picture of four by four texels whose values tell their place."""

from __future__ import annotations

from collections.abc import Iterator

from worked_records import FLOATS, SIGNED, UNSIGNED, Setting

from vsim.launch import SamplerArgument

_PICTURE = ("rgba_f32", [[[100 * c + 10 * y + x for c in range(4)] for x in range(4)] for y in range(4)])
_PLACES = (
    "The picture has four by four texels. The one at x, y has 10 * y + x in red, 100 more in green, "
    "200 more in blue and 300 more in alpha."
)
_NUMBERS = (("r_u32"), [[10 * y + x for x in range(4)] for y in range(4)])
_TILE = ("r_u8", [[10 * y + x for x in range(8)] for y in range(4)])

_COLUMNS = (SIGNED, [0, 1, 2, 3, 0, 3, 4, -1])
_ROWS = (SIGNED, [0, 0, 1, 2, 3, 3, 1, 2])
_NONE = (SIGNED, [0, 0, 0, 0, 0, 1, 0, 0])
"""A level or a sample: there is only the first."""
_U = (FLOATS, [0.5, 1.0, 1.75, 2.0, 3.5, 0.0, 2.25, 9.0])
_V = (FLOATS, [0.5, 0.5, 1.5, 2.0, 3.5, 1.0, 0.75, 1.5])
_REFERENCE = (FLOATS, [0.0, 0.5, 11.0, 12.0, 34.0, 4.0, 2.0, 13.0])
_ANY = (FLOATS, [0.0, 0.5, 1.0, 1.5, 2.0, -1.0, 3.0, 0.25])
_STEPS = (SIGNED, [0, 1, -1, 0, -3, 1, 0, -8])

_PARAMETERS: dict[str, tuple[str, tuple[str, list[float]]]] = {
    "u": ("U", _U),
    "v": ("V", _V),
    "ref": ("REF", _REFERENCE),
    **{p: ("LEVEL", _ANY) for p in ("bias", "lod", "least")},
    **{p: (p.upper(), _ANY) for p in ("dudx", "dudy", "dvdx", "dvdy")},
    **{p: (p.upper(), _STEPS) for p in ("ou", "ov")},
}
"""The variables of parameters and what they hold."""

# -- samplers --------------------------------------------------------------------------------------------------

_TEXEL = """def texel(x, y{more}):            # outside, the nearest of the rim: the sampler says clamp_edge
    found = image[min(max(x, 0), 3), min(max(y, 0), 3)]
    return {found}"""
_FILTERED = """
def filtered(u, v{more}):         # the four texels around, weighted by their distances: it says linear
    x, y = floor(u - 0.5), floor(v - 0.5)
    a, b = u - 0.5 - x, v - 0.5 - y
    upper = (1 - a) * texel(x, y{more}) + a * texel(x + 1, y{more})
    lower = (1 - a) * texel(x, y + 1{more}) + a * texel(x + 1, y + 1{more})
    return (1 - b) * upper + b * lower"""
_SAMPLER = SamplerArgument(False, "clamp_edge", "linear", "le")
_COMPARES = "int(ref <= found[0])    # it says le"
_COORDINATES = "The sampler takes coordinates in texels; a normalised one takes parts of the width and height."
_LEVELS = "Images have one level, so `{}` has no effect."
_ORDER = "The parameters are {}; those at the end may be left out, and are zeros."
_THIRD = " A third coordinate, `r`, is that of a volume, or the layer of an array."
_CHANNELS = " `.RG` are the channels, of `.RGBA`: each has registers of its own, here of eight lanes."
_OFFSETS = " `0x0:uw` are offsets in texels, of four bits each: u from bit 8 on, v from bit 4 on."
_NULL = " Since Xe2 the first parameter is `%null`."

_SAMPLES = {
    "sample_3d": "u v",
    "sample_lz": "u v",
    "sample_b": "bias u v",
    "sample_l": "lod u v",
    "sample_mlod": "least u v",
    "sample_d": "u dudx dudy v dvdx dvdy",
    "sample_c": "ref u v",
    "sample_c_lz": "ref u v",
    "sample_b_c": "ref bias u v",
    "sample_l_c": "ref lod u v",
    "sample_c_mlod": "least ref u v",
    "sample_d_c": "ref u dudx dudy v dvdx dvdy",
}
"""Parameters in the order of the message; ``r`` comes behind ``v``, and its gradients behind it."""
_SINCE_XE2 = ("sample_mlod", "sample_c_mlod", "sample4_b", "sample4_i", "sample4_l", "sample4_i_c", "sample4_l_c")


def _message(name: str, parameters: str, channels: str) -> tuple[str, dict[str, tuple[str, list[float]]], str, str]:
    """The line of a sampler message, its inputs, what the pseudo-code calls them, and its platform."""
    known = [_PARAMETERS[p] for p in parameters.split()]
    first, platform = (" %null.0", "bmg") if name in _SINCE_XE2 else ("", "dg2")
    line = f"{name}.{channels} (M1, 8) 0x0:uw S0 T8 D.0{first} {' '.join(f'{n}.0' for n, _ in known)}"
    names = " ".join(f"{p}={n}" for p, (n, _) in zip(parameters.split(), known, strict=True))
    return line, dict(known), f"dst=D {names}", platform


def _samples() -> Iterator[tuple[str, Setting]]:
    """The messages that filter."""
    for name, parameters in _SAMPLES.items():
        is_compared, unused = "ref" in parameters, [p for p in parameters.split() if p not in ("u", "v", "ref")]
        channels = "R" if is_compared or name in _SINCE_XE2 else "RG"
        line, inputs, names, platform = _message(name, parameters, channels)
        more = ", ref" if is_compared else ""
        functions = (
            _TEXEL.format(more=more, found=_COMPARES if is_compared else "found") + "\n" + _FILTERED.format(more=more)
        )
        if is_compared:
            pseudo = "dst[i] = filtered(u[i], v[i], ref[i])"
        else:
            pseudo = "dst[i] = filtered(u[i], v[i])[0]" + (
                "\ndst[8 + i] = filtered(u[i], v[i])[1]" if channels == "RG" else ""
            )
        meaning = [_PLACES, _COORDINATES, _ORDER.format(_listed([*parameters.split(), "r"])) + _THIRD + _OFFSETS]
        meaning[2] += _CHANNELS if channels == "RG" else ""
        meaning[2] += _NULL if name in _SINCE_XE2 else ""
        meaning += [_LEVELS.format("`, `".join(unused))] if unused else []
        yield name, Setting(
            line, pseudo, names, inputs, {"D": (FLOATS, 8 * len(channels))}, "\n\n".join(meaning), functions=functions,
            picture=_PICTURE, sampler=_SAMPLER, platform=platform,
        )  # fmt: skip


def _listed(words: list[str]) -> str:
    return ", ".join(f"`{w}`" for w in words)


_FOURS = {
    "sample4": "u v",
    "sample4_i": "u v",
    "sample4_b": "bias u v",
    "sample4_l": "lod u v",
    "sample4_po": "u v ou ov",
    "sample4_c": "ref u v",
    "sample4_i_c": "ref u v",
    "sample4_l_c": "ref lod u v",
    "sample4_po_c": "ref u v ou ov",
}


def _fours() -> Iterator[tuple[str, Setting]]:
    """The messages that give one channel of four texels."""
    for name, parameters in _FOURS.items():
        unused = [p for p in parameters.split() if p in ("bias", "lod")]
        line, inputs, names, platform = _message(name, parameters, "R")
        more, more_of = (", ref", ", ref[i]") if "ref" in parameters else ("", "")
        moved = (" + ou[i]", " + ov[i]") if "ou" in parameters else ("", "")
        per = 16 if platform == "bmg" else 8
        places = (("x", "y + 1"), ("x + 1", "y + 1"), ("x + 1", "y"), ("x", "y"))
        pseudo = "\n".join(
            [
                f"x, y = floor(u[i] - 0.5){moved[0]}, floor(v[i] - 0.5){moved[1]}",
                *(f"dst[{per * k} + i] = texel({a}, {b}{more_of})" for k, (a, b) in enumerate(places)),
            ]
        ).replace("dst[0 + i]", "dst[i]")
        meaning = [
            _PLACES,
            _COORDINATES,
            _ORDER.format(_listed([*parameters.split(), "r"])) + _THIRD + _OFFSETS
            + " `.R` is the channel that is read; the four texels are those that a linear filter weighs, "
            f"and each has registers of its own, here of {per} lanes." + (_NULL if per == 16 else ""),
            *([_LEVELS.format("`, `".join(unused))] if unused else []),
        ]  # fmt: skip
        functions = _TEXEL.format(more=more, found=_COMPARES if more else "found[0]")
        yield name, Setting(
            line, pseudo, names, inputs, {"D": (FLOATS, 4 * per)}, "\n\n".join(meaning), functions=functions,
            picture=_PICTURE, sampler=_SAMPLER, platform=platform,
        )  # fmt: skip


# -- texels by their numbers -----------------------------------------------------------------------------------

_XY = {"X": _COLUMNS, "Y": _ROWS}
_OUTSIDE = " Outside the picture they are zeros."
_TWO = "dst[i] = image[{0}][0]\ndst[8 + i] = image[{0}][1]"
_TWO_RESULTS = {"D": (FLOATS, 16)}
_AT = "u[i], v[i]"
_ONE_LEVEL = "found = image[u[i], v[i]] if {0}[i] == 0 else [0, 0]\ndst[i] = found[0]"
_FURTHER = " Parameters at the end may be left out, and are zeros."

_LOADS = {
    "load_lz": Setting(
        "load_lz.RG (M1, 8) 0x0:uw T8 D.0 X.0 Y.0",
        _TWO.format(_AT),
        "dst=D u=X v=Y",
        _XY,
        _TWO_RESULTS,
        f"{_PLACES}{_OUTSIDE}\n\nThe parameters are `u`, `v`, `r`.{_FURTHER}{_THIRD}{_CHANNELS}",
        picture=_PICTURE,
    ),
    "load_3d": Setting(
        "load_3d.RG (M1, 8) 0x0:uw T8 D.0 X.0 Y.0 LEVEL.0",
        _ONE_LEVEL.format("lod") + "\ndst[8 + i] = found[1]",
        "dst=D u=X v=Y lod=LEVEL",
        {**_XY, "LEVEL": _NONE},
        _TWO_RESULTS,
        f"{_PLACES}{_OUTSIDE} Images have one level; others read as zeros.\n\n"
        f"The parameters are `u`, `v`, `lod`, `r`.{_FURTHER}{_THIRD}{_CHANNELS}",
        picture=_PICTURE,
    ),
    "load_l": Setting(
        "load_l.R (M1, 8) 0x0:uw T8 D.0 %null.0 X.0 Y.0 %null.0 LEVEL.0",
        _ONE_LEVEL.format("lod"),
        "dst=D u=X v=Y lod=LEVEL",
        {**_XY, "LEVEL": _NONE},
        {"D": (FLOATS, 8)},
        f"{_PLACES}{_OUTSIDE} Images have one level; others read as zeros.\n\n"
        f"Behind `%null` the parameters are `u`, `v`, `r`, `lod`.{_FURTHER}{_THIRD}",
        picture=_PICTURE,
        platform="bmg",
    ),
    "load_2dms_w": Setting(
        "load_2dms_w.RG (M1, 8) 0x0:uw T8 D.0 SAMPLE.0 %null.0 %null.0 X.0 Y.0",
        _ONE_LEVEL.format("sample") + "\ndst[8 + i] = found[1]",
        "dst=D u=X v=Y sample=SAMPLE",
        {"SAMPLE": _NONE, **_XY},
        _TWO_RESULTS,
        f"{_PLACES}{_OUTSIDE} Images have one sample; others read as zeros.\n\n"
        f"The parameters are the number of the sample, two with the control data that `load_mcs` gives, `u`, `v`, `r`, `lod`.{_FURTHER}{_CHANNELS}",
        picture=_PICTURE,
    ),
    "load_mcs": Setting(
        "load_mcs.RG (M1, 8) 0x0:uw T8 D.0 X.0 Y.0",
        "dst[i] = dst[8 + i] = 0",
        "dst=D",
        _XY,
        {"D": (UNSIGNED, 16)},
        "The control data of a picture with several samples for each pixel. Images have one sample, so they are zeros.\n\n"
        f"The parameters are `u`, `v`, `r`, `lod`.{_FURTHER}",
        picture=_PICTURE,
    ),
    "load": Setting(
        "load.RG (8) T8 X.0 Y.0 %null.0 D.0",
        _TWO.format(_AT),
        "dst=D u=X v=Y",
        _XY,
        _TWO_RESULTS,
        f"{_PLACES}{_OUTSIDE}\n\n`(8)` is the number of pixels: the message knows no mask.{_CHANNELS}",
        each="for each of eight pixels i:",
        picture=_PICTURE,
    ),
    "sample": Setting(
        "sample.RG (8) S0 T8 U.0 V.0 %null.0 D.0",
        "dst[i] = filtered(u[i], v[i])[0]\ndst[8 + i] = filtered(u[i], v[i])[1]",
        "dst=D u=U v=V",
        {"U": _U, "V": _V},
        _TWO_RESULTS,
        f"{_PLACES}\n\n{_COORDINATES} `(8)` is the number of pixels: the message knows no mask.{_CHANNELS}",
        functions=_TEXEL.format(more="", found="found") + "\n" + _FILTERED.format(more=""),
        each="for each of eight pixels i:",
        picture=_PICTURE,
        sampler=_SAMPLER,
    ),
    "resinfo": Setting(
        "resinfo.RGBA (M1, 8) T8 LEVEL.0 D.0",
        "dst[i], dst[8 + i], dst[16 + i], dst[24 + i] = width, height, depth, levels",
        "dst=D",
        {"LEVEL": (UNSIGNED, [0] * 8)},
        {"D": (UNSIGNED, 32)},
        "Of an array the depth is the number of layers. Images have one level.",
        functions="width, height, depth, levels = 4, 4, 0, 1            # of this picture",
        picture=_PICTURE,
    ),
    "sampleinfo": Setting(
        "sampleinfo.R (M1, 8) T8 D.0",
        "dst[i] = 1",
        "dst=D",
        results={"D": (UNSIGNED, 8)},
        meaning="The number of samples of a pixel. Images have one.",
        picture=_PICTURE,
    ),
}

# -- typed messages --------------------------------------------------------------------------------------------

_STORED = (FLOATS, [float(500 + i) for i in range(8)] + [float(600 + i) for i in range(8)])
_TYPED = " The operands are `u`, `v`, `r` and a level; `%null` stands for those that a picture lacks."
_KEPT = " Channels that are left out keep their values."
_ADDRESS = "`bti(0x2)` is the surface with number 2, here the picture; `[X,Y]` are its coordinates."
_SAMPLE_OF = (
    "`surf(0xc0)` is the picture by its handle; `[X,Y,%null,SAMPLE]` are coordinates and the number of the sample."
)
_ATOMIC = (
    "The lanes do this one after the other, in no order that a program may rely on, and no other thread comes between. "
    "Outside the picture nothing is changed and 0 is given."
)
_BLOCK = {"r": range(4), "c": range(4)}
_BYTES = ("ub", [100 + i for i in range(16)])
_OF_BLOCK = "for each row r and column c of the block:"
_RIM = " Reads outside the picture repeat its rim, writes there do nothing."

_TYPED_MESSAGES = {
    "gather4_typed": Setting(
        "gather4_typed.RG (M1, 8) T8 X.0 Y.0 %null.0 %null.0 D.0",
        _TWO.format(_AT),
        "dst=D u=X v=Y",
        _XY,
        _TWO_RESULTS,
        f"{_PLACES}{_OUTSIDE}{_TYPED}{_CHANNELS}",
        picture=_PICTURE,
        platform="tgllp",
    ),
    "scatter4_typed": Setting(
        "scatter4_typed.RG (M1, 8) T8 X.0 Y.0 %null.0 %null.0 S.0",
        "image[u[i], v[i]] = [src[i], src[8 + i], *image[u[i], v[i]][2:]]",
        "src=S u=X v=Y",
        {**_XY, "S": _STORED},
        {},
        f"{_PLACES} Outside the picture nothing is written.{_TYPED}{_CHANNELS}{_KEPT}",
        picture=_PICTURE,
        platform="tgllp",
    ),
    "typed_atomic": Setting(
        "typed_atomic.add (M1, 8) T8 X.0 Y.0 %null.0 %null.0 S.0 %null.0 D.0",
        "dst[i] = image[u[i], v[i]]\nimage[u[i], v[i]] = dst[i] + src0[i]",
        "dst=D src0=S u=X v=Y",
        {**_XY, "S": (UNSIGNED, [100 * (i + 1) for i in range(8)])},
        meaning=f"{_ATOMIC}{_TYPED}",
        picture=_NUMBERS,
        platform="tgllp",
    ),
    "media_ld": Setting(
        "media_ld.nomod (4,4) T8 0x6:ud 0x1:ud D.0",
        "dst[4 * r + c] = image[min(6 + c, 7), min(1 + r, 3)]",
        "dst=D",
        results={"D": ("ub", 16)},
        meaning="`(4,4)` are the block's width in bytes and its height; its corner is at 6, 1 of a picture of eight by four bytes. "
        "Rows are padded to a power of two, of four bytes at least." + _RIM,
        each=_OF_BLOCK,
        over=_BLOCK,
        picture=_TILE,
    ),
    "media_st": Setting(
        "media_st.nomod (4,4) T8 0x6:ud 0x1:ud S.0",
        "image[6 + c, 1 + r] = src[4 * r + c]",
        "src=S",
        {"S": _BYTES},
        {},
        "`(4,4)` are the block's width in bytes and its height; its corner is at 6, 1 of a picture of eight by four bytes. "
        "Rows are padded to a power of two, of four bytes at least." + _RIM,
        each=_OF_BLOCK,
        over=_BLOCK,
        picture=_TILE,
    ),
    "lsc_load_quad_msrt": Setting(
        "lsc_load_quad_msrt.tgm (M1, 8) D:d32.x surf(0xc0)[X,Y,%null,SAMPLE]:a32",
        "found = image[u[i], v[i]] if sample[i] == 0 else [0]\ndst[i] = found[0]",
        "dst=D u=X v=Y sample=SAMPLE",
        {**_XY, "SAMPLE": _NONE},
        {"D": (FLOATS, 8)},
        f"{_PLACES}{_OUTSIDE} Images have one sample; others read as zeros.\n\n{_SAMPLE_OF}",
        picture=_PICTURE,
        platform="cri",
    ),
    "lsc_store_quad_msrt": Setting(
        "lsc_store_quad_msrt.tgm (M1, 8) surf(0xc0)[X,Y,%null,SAMPLE]:a32 S:d32.x",
        "if sample[i] == 0:\n    image[u[i], v[i]] = [src[i], *image[u[i], v[i]][1:]]",
        "src=S u=X v=Y sample=SAMPLE",
        {**_XY, "SAMPLE": _NONE, "S": (FLOATS, _STORED[1][:8])},
        {},
        f"{_PLACES} Outside the picture, and in other samples than the first, nothing is written.{_KEPT}\n\n{_SAMPLE_OF}",
        picture=_PICTURE,
        platform="cri",
    ),
    "lsc_load_quad_status": Setting(
        "lsc_load_quad_status.tgm (M1, 8) D:d32.x surf(0xc0)[X,Y]:a32",
        "dst[i] = int((u[i], v[i]) in image)",
        "dst=D u=X v=Y",
        _XY,
        meaning="Whether the texel is backed by memory: those of the picture of four by four texels are.\n\n"
        "`surf(0xc0)` is the picture by its handle; `[X,Y]` are its coordinates.",
        picture=_PICTURE,
        platform="cri",
    ),
    "rt_write_3d": Setting(
        "rt_write_3d (M1, 8) T8 %null.0 RED.0 GREEN.0 BLUE.0 ALPHA.0",
        "image[id[i], 0] = [red[i], green[i], blue[i], alpha[i]]",
        "id=ID red=RED green=GREEN blue=BLUE alpha=ALPHA",
        {"ID": (UNSIGNED, range(8)), **{n: (FLOATS, [100.0 * k + i for i in range(8)]) for k, n in enumerate(("RED", "GREEN", "BLUE", "ALPHA"))}},
        {},
        "The pixel of a lane is that of its work-item, here 0 to 7 of the first row: `ID`. Pixels outside the render target are not written.",
        picture=("rgba_f32", [[[0, 0, 0, 0]] * 6]),
    ),
}  # fmt: skip

PICTURES: dict[str, Setting] = {**dict(_samples()), **dict(_fours()), **_LOADS, **_TYPED_MESSAGES}
