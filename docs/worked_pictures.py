"""Images and samplers in pseudo-code, with examples on a picture of four by four texels whose values tell their place."""

from __future__ import annotations

from collections.abc import Iterator

from worked_operations import BFLOATS, UPDATES
from worked_records import BFLOAT, FLOATS, SIGNED, UNSIGNED, Setting

PICTURE = ("rgba_f32", [[[100 * c + 10 * y + x for c in range(4)] for x in range(4)] for y in range(4)])
PLACES = (
    "The picture has four by four texels. The one at x, y has 10 * y + x in red, 100 more in green, "
    "200 more in blue and 300 more in alpha."
)
_NUMBERS = [[10 * y + x for x in range(4)] for y in range(4)]
_TILE = ("r_u8", [[10 * y + x for x in range(8)] for y in range(4)])

_COLUMNS = (SIGNED, [0, 1, 2, 3, 0, 3, 4, -1])
_ROWS = (SIGNED, [0, 0, 1, 2, 3, 3, 1, 2])
_NONE = (SIGNED, [0, 0, 0, 0, 0, 1, 0, 0])
"""A level or a sample: there is only the first."""
# -- texels by their numbers -----------------------------------------------------------------------------------

THIRD = " A third coordinate, `r`, is that of a volume, or the layer of an array."
CHANNELS = " `.RG` are the channels, of `.RGBA`: each has a separate row of registers, here of eight lanes."
_XY = {"X": _COLUMNS, "Y": _ROWS}
_OUTSIDE = " Outside the picture they are zeros, but 1 for an alpha that a format lacks."
_TWO = "dst[i] = image[{0}][0]\ndst[8 + i] = image[{0}][1]"
TWO_RESULTS = {"D": (FLOATS, 16)}
_AT = "u[i], v[i]"
_ONE_LEVEL = "found = image[u[i], v[i]] if {0}[i] == 0 else [0, 0]\ndst[i] = found[0]"
_FURTHER = " Parameters at the end may be left out, and are zeros."

_LOADS = {
    "load_lz": Setting(
        "load_lz.RG (M1, 8) 0x0:uw T8 D.0 X.0 Y.0",
        _TWO.format(_AT),
        "dst=D u=X v=Y",
        _XY,
        TWO_RESULTS,
        f"{PLACES}{_OUTSIDE}\n\nThe parameters are `u`, `v`, `r`.{_FURTHER}{THIRD}{CHANNELS}",
        picture=PICTURE,
    ),
    "load_3d": Setting(
        "load_3d.RG (M1, 8) 0x0:uw T8 D.0 X.0 Y.0 LEVEL.0",
        _ONE_LEVEL.format("lod") + "\ndst[8 + i] = found[1]",
        "dst=D u=X v=Y lod=LEVEL",
        {**_XY, "LEVEL": _NONE},
        TWO_RESULTS,
        f"{PLACES}{_OUTSIDE} Images have one level; others read as zeros.\n\n"
        f"The parameters are `u`, `v`, `lod`, `r`.{_FURTHER}{THIRD}{CHANNELS}",
        picture=PICTURE,
    ),
    "load_l": Setting(
        "load_l.R (M1, 8) 0x0:uw T8 D.0 %null.0 X.0 Y.0 %null.0 LEVEL.0",
        _ONE_LEVEL.format("lod"),
        "dst=D u=X v=Y lod=LEVEL",
        {**_XY, "LEVEL": _NONE},
        {"D": (FLOATS, 8)},
        f"{PLACES}{_OUTSIDE} Images have one level; others read as zeros.\n\n"
        f"Behind `%null` the parameters are `u`, `v`, `r`, `lod`.{_FURTHER}{THIRD}",
        picture=PICTURE,
        platform="bmg",
    ),
    "load_2dms_w": Setting(
        "load_2dms_w.RG (M1, 8) 0x0:uw T8 D.0 SAMPLE.0 %null.0 %null.0 X.0 Y.0",
        _ONE_LEVEL.format("sample") + "\ndst[8 + i] = found[1]",
        "dst=D u=X v=Y sample=SAMPLE",
        {"SAMPLE": _NONE, **_XY},
        TWO_RESULTS,
        f"{PLACES}{_OUTSIDE} Images have one sample; others read as zeros.\n\n"
        f"The parameters are the number of the sample, two with the control data that `load_mcs` gives, `u`, `v`, `r`, `lod`.{_FURTHER}{CHANNELS}",
        picture=PICTURE,
    ),
    "load_mcs": Setting(
        "load_mcs.RG (M1, 8) 0x0:uw T8 D.0 X.0 Y.0",
        "dst[i] = dst[8 + i] = 0",
        "dst=D",
        _XY,
        {"D": (UNSIGNED, 16)},
        "The control data of a picture with several samples for each pixel. Images have one sample, so they are zeros.\n\n"
        f"The parameters are `u`, `v`, `r`, `lod`.{_FURTHER}",
        picture=PICTURE,
    ),
    "load": Setting(
        "load.RG (8) T8 X.0 Y.0 %null.0 D.0",
        _TWO.format(_AT),
        "dst=D u=X v=Y",
        _XY,
        TWO_RESULTS,
        f"{PLACES}{_OUTSIDE}\n\n`(8)` is the number of pixels: the message knows no mask.{CHANNELS}",
        each="for each of eight pixels i:",
        picture=PICTURE,
    ),
    "resinfo": Setting(
        "resinfo.RGBA (M1, 8) T8 LEVEL.0 D.0",
        "dst[i], dst[8 + i], dst[16 + i], dst[24 + i] = width, height, depth, levels",
        "dst=D",
        {"LEVEL": (UNSIGNED, [0] * 8)},
        {"D": (UNSIGNED, 32)},
        "Of an array the depth is the number of layers. Images have one level.",
        functions="width, height, depth, levels = 4, 4, 0, 1            # of this picture",
        picture=PICTURE,
    ),
    "sampleinfo": Setting(
        "sampleinfo.R (M1, 8) T8 D.0",
        "dst[i] = 1",
        "dst=D",
        results={"D": (UNSIGNED, 8)},
        meaning="The number of samples of a pixel. Images have one.",
        picture=PICTURE,
    ),
}

# -- typed messages --------------------------------------------------------------------------------------------

_STORED = (FLOATS, [float(500 + i) for i in range(8)] + [float(600 + i) for i in range(8)])
_TYPED = " The operands are `u`, `v`, `r` and a level; `%null` replaces coordinates that a picture lacks."
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
_PADDED = "Rows are padded to a power of two, of four bytes at least."
_RIM = " Reads outside the picture repeat the pixels of its rim, writes there do nothing."

_TYPED_MESSAGES = {
    "gather4_typed": Setting(
        "gather4_typed.RG (M1, 8) T8 X.0 Y.0 %null.0 %null.0 D.0",
        _TWO.format(_AT),
        "dst=D u=X v=Y",
        _XY,
        TWO_RESULTS,
        f"{PLACES}{_OUTSIDE}{_TYPED}{CHANNELS}",
        picture=PICTURE,
        platform="tgllp",
    ),
    "scatter4_typed": Setting(
        "scatter4_typed.RG (M1, 8) T8 X.0 Y.0 %null.0 %null.0 S.0",
        "image[u[i], v[i]] = [src[i], src[8 + i], *image[u[i], v[i]][2:]]",
        "src=S u=X v=Y",
        {**_XY, "S": _STORED},
        {},
        f"{PLACES} Outside the picture nothing is written.{_TYPED}{CHANNELS}{_KEPT}",
        picture=PICTURE,
        platform="tgllp",
    ),
    "typed_atomic": Setting(
        "typed_atomic.add (M1, 8) T8 X.0 Y.0 %null.0 %null.0 S.0 %null.0 D.0",
        "dst[i] = image[u[i], v[i]]\nimage[u[i], v[i]] = dst[i] + src0[i]",
        "dst=D src0=S u=X v=Y",
        {**_XY, "S": (UNSIGNED, [100 * (i + 1) for i in range(8)])},
        meaning=f"{_ATOMIC}{_TYPED}",
        picture=("r_u32", _NUMBERS),
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
        f"{PLACES}{_OUTSIDE} Images have one sample; others read as zeros.\n\n{_SAMPLE_OF}",
        picture=PICTURE,
        platform="cri",
    ),
    "lsc_store_quad_msrt": Setting(
        "lsc_store_quad_msrt.tgm (M1, 8) surf(0xc0)[X,Y,%null,SAMPLE]:a32 S:d32.x",
        "if sample[i] == 0:\n    image[u[i], v[i]] = [src[i], *image[u[i], v[i]][1:]]",
        "src=S u=X v=Y sample=SAMPLE",
        {**_XY, "SAMPLE": _NONE, "S": (FLOATS, _STORED[1][:8])},
        {},
        f"{PLACES} Outside the picture, and in other samples than the first, nothing is written.{_KEPT}\n\n{_SAMPLE_OF}",
        picture=PICTURE,
        platform="cri",
    ),
    "lsc_load_quad_status": Setting(
        "lsc_load_quad_status.tgm (M1, 8) D:d32.x surf(0xc0)[X,Y]:a32",
        "dst[i] = int((u[i], v[i]) in image)",
        "dst=D u=X v=Y",
        _XY,
        meaning="Whether the texel is backed by memory: those of the picture of four by four texels are.\n\n"
        "`surf(0xc0)` is the picture by its handle; `[X,Y]` are its coordinates.",
        picture=PICTURE,
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

# -- typed forms of LSC messages -------------------------------------------------------------------------------

_FORMS = {
    "typed_lsc_load_quad": Setting(
        "lsc_load_quad.tgm (M1, 8) D:d32.xy bti(0x2)[X,Y]:a32",
        _TWO.format(_AT),
        "dst=D u=X v=Y",
        _XY,
        TWO_RESULTS,
        f"{PLACES}{_OUTSIDE}\n\n{_ADDRESS}",
        picture=PICTURE,
    ),
    "typed_lsc_store_quad": Setting(
        "lsc_store_quad.tgm (M1, 8) bti(0x2)[X,Y]:a32 S:d32.xy",
        "image[u[i], v[i]] = [src[i], src[8 + i], *image[u[i], v[i]][2:]]",
        "src=S u=X v=Y",
        {**_XY, "S": _STORED},
        {},
        f"{PLACES} Outside the picture nothing is written.{_KEPT}\n\n{_ADDRESS}",
        picture=PICTURE,
    ),
    "typed_lsc_store_uncompressed": Setting(
        "lsc_store_uncompressed.tgm (M1, 8) bti(0x2)[X,Y]:a32 S:d32x2",
        "image[u[i], v[i]] = [src[i], src[8 + i], *image[u[i], v[i]][2:]]",
        "src=S u=X v=Y",
        {**_XY, "S": _STORED},
        {},
        f"{PLACES} Outside the picture nothing is written.{_KEPT} The cache does not compress the data.\n\n{_ADDRESS}",
        picture=PICTURE,
    ),
    "typed_lsc_load_status": Setting(
        "lsc_load_status.tgm (M1, 8) D:d32 bti(0x2)[X,Y]:a32",
        "dst[0] = sum(int((u[i], v[i]) in image) << i for i in range(8))",
        "dst=D u=X v=Y",
        _XY,
        {"D": (UNSIGNED, 1)},
        "Whether the texel of a lane is backed by memory: those of the picture of four by four texels are. "
        f"The first dword has the bits of all lanes that execute.\n\n{_ADDRESS}",
        each="once for the message:",
        picture=PICTURE,
    ),
    "typed_lsc_ccs_update": Setting(
        "lsc_ccs_update.tgm (M1, 8) bti(0x2)[X,Y]:a32 S:d32\nlsc_load_quad.tgm (M1, 8) D:d32.x bti(0x2)[X,Y]:a32",
        "the state of compression of the texel's line is updated; the texels do not change",
        inputs={**_XY, "S": (FLOATS, _STORED[1][:8])},
        results={"D": (FLOATS, 8)},
        effect="D[i] = image[X[i], Y[i]][0]",
        meaning=f"{PLACES}\n\n{_ADDRESS}",
        picture=PICTURE,
    ),
    "typed_lsc_load_block2d": Setting(
        "lsc_load_block2d.tgm (M1_NM, 1) D:4x4 bti(0x2)[X,Y]:a32",
        "dst[4 * r + c] = image[min(max(x[0] + c, 0), 7), min(max(y[0] + r, 0), 3)]",
        "dst=D x=X y=Y",
        {"X": (SIGNED, [6]), "Y": (SIGNED, [1])},
        {"D": ("ub", 16)},
        f"`4x4` are the block's width in bytes and its height. {_PADDED}{_RIM}\n\n{_ADDRESS}",
        each=_OF_BLOCK,
        over=_BLOCK,
        picture=_TILE,
    ),
    "typed_lsc_store_block2d": Setting(
        "lsc_store_block2d.tgm (M1_NM, 1) bti(0x2)[X,Y]:a32 S:4x4",
        "image[x[0] + c, y[0] + r] = src[4 * r + c]",
        "src=S x=X y=Y",
        {"X": (SIGNED, [6]), "Y": (SIGNED, [1]), "S": _BYTES},
        {},
        f"`4x4` are the block's width in bytes and its height. {_PADDED}{_RIM}\n\n{_ADDRESS}",
        each=_OF_BLOCK,
        over=_BLOCK,
        picture=_TILE,
    ),
}


def _atomics() -> Iterator[tuple[str, Setting]]:
    """Atomic operations on texels."""
    for operation, update in {**UPDATES, "load": "", **BFLOATS}.items():
        is_bfloat, is_float = operation.startswith("bf"), operation[0] in "bf"
        kind = BFLOAT if is_bfloat else FLOATS if is_float else SIGNED if operation in ("smin", "smax") else UNSIGNED
        form = {BFLOAT: "r_u16:bf", FLOATS: "r_f32", SIGNED: "r_i32", UNSIGNED: "r_u32"}[kind]
        first = [0, 5, 12, 5, 30, 5, 0, 0] if "src1" in update else [5, 1, 30, 8, 12, 65, 100, 3]
        inputs = {"S": (kind, first)} if "src0" in update else {}
        inputs |= {"C": (kind, range(90, 98))} if "src1" in update else {}
        given = " ".join(n if n in inputs else "%null" for n in "SC")
        yield (
            f"typed_lsc_atomic_{operation}",
            Setting(
                f"lsc_atomic_{operation}.tgm (M1, 8) D:{'d16u32' if is_bfloat else 'd32'} bti(0x2)[X,Y]:a32 {given}",
                f"dst[i] = image[u[i], v[i]]\nimage[u[i], v[i]] = {update}" if update else "dst[i] = image[u[i], v[i]]",
                "dst=D u=X v=Y" + (" src0=S" if "S" in inputs else "") + (" src1=C" if "C" in inputs else ""),
                {**_XY, **inputs},
                {"D": (kind, 8)},
                f"{_ATOMIC}\n\n{_ADDRESS}",
                picture=(form, _NUMBERS),
                platform="cri" if is_bfloat else "dg2",
            ),
        )


PICTURES: dict[str, Setting] = {**_LOADS, **_TYPED_MESSAGES, **_FORMS, **dict(_atomics())}
