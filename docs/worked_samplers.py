"""Samplers in pseudo-code, with examples on the picture of docs/worked_pictures.py."""

from __future__ import annotations

from collections.abc import Iterator

from worked_pictures import CHANNELS, PICTURE, PLACES, THIRD, TWO_RESULTS
from worked_records import FLOATS, SIGNED, Setting

from vsim.launch.launch import SamplerArgument

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
"""The variables of parameters and their values."""

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
_LEVELS = "Images have one level, so that nothing follows from {}."
_ORDER = "The parameters are {}; those at the end may be left out, and are zeros."
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
    """The line of a sampler message, its inputs, their names in the pseudo-code, and its platform."""
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
        third = ["r", "drdx", "drdy"] if "dudx" in unused else ["r"]
        meaning = [PLACES, _COORDINATES, _ORDER.format(_listed([*parameters.split(), *third])) + THIRD + _OFFSETS]
        meaning[2] += CHANNELS if channels == "RG" else ""
        meaning[2] += _NULL if name in _SINCE_XE2 else ""
        meaning += [_LEVELS.format(_listed(unused))] if unused else []
        yield name, Setting(
            line, pseudo, names, inputs, {"D": (FLOATS, 8 * len(channels))}, "\n\n".join(meaning), functions=functions,
            picture=PICTURE, sampler=_SAMPLER, platform=platform,
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
            PLACES,
            _COORDINATES,
            _ORDER.format(_listed([*parameters.split(), "r"])) + THIRD + _OFFSETS
            + " `.R` is the channel that is read; a linear filter weighs these four texels, "
            f"and each has a separate row of registers, here of {per} lanes." + (_NULL if per == 16 else ""),
            *([_LEVELS.format(_listed(unused))] if unused else []),
        ]  # fmt: skip
        functions = _TEXEL.format(more=more, found=_COMPARES if more else "found[0]")
        yield name, Setting(
            line, pseudo, names, inputs, {"D": (FLOATS, 4 * per)}, "\n\n".join(meaning), functions=functions,
            picture=PICTURE, sampler=_SAMPLER, platform=platform,
        )  # fmt: skip


_MEDIA = {
    "sample": Setting(
        "sample.RG (8) S0 T8 U.0 V.0 %null.0 D.0",
        "dst[i] = filtered(u[i], v[i])[0]\ndst[8 + i] = filtered(u[i], v[i])[1]",
        "dst=D u=U v=V",
        {"U": _U, "V": _V},
        TWO_RESULTS,
        f"{PLACES}\n\n{_COORDINATES} `(8)` is the number of pixels: the message knows no mask.{CHANNELS}",
        functions=_TEXEL.format(more="", found="found") + "\n" + _FILTERED.format(more=""),
        each="for each of eight pixels i:",
        picture=PICTURE,
        sampler=_SAMPLER,
    ),
}

SAMPLERS: dict[str, Setting] = {**dict(_samples()), **dict(_fours()), **_MEDIA}
