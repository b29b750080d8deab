"""Executes the examples of docs/worked_values.py, worked_pictures.py and worked_threads.py."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence

import numpy as np
from support.probe import Probe
from support.scalar import DTYPES, FLOATS, decode, encode, wrap
from worked_records import BFLOAT, HELPERS, UNSIGNED, Example, Setting

from vsim.launch.launch import ImageArgument
from vsim.memory.images import ImageFormat

_UNWRITTEN = 7
"""What results begin with."""
_CHANNELS = ("red", "green", "blue", "alpha")


def run_setting(name: str, setting: Setting) -> Example:
    """The example of a setting, executed.

    Raises:
        AssertionError: it leaves something else than its pseudo-code.
    """
    probe, picture = _probe_of(setting)
    before = {n: list(values) for n, (_, values) in setting.inputs.items()}
    told = {n: _Written([_UNWRITTEN] * count) for n, (_, count) in setting.results.items()}
    memory = _Memory(setting.memory[1] if setting.memory else [])
    image = _Picture(_numbers_of(picture, setting)) if picture is not None else None
    urb = _Memory(setting.urb)
    names = HELPERS | before | told | {"memory": memory, "surface": memory, "image": image, "urb": urb}
    names |= {"address": 0, "addresses": setting.addresses}
    for pair in setting.names.split():
        short, _, variable = pair.partition("=")
        names[short] = names[variable]
    exec(setting.functions, names)
    for numbers in itertools.product(*setting.over.values()):
        names |= dict(zip(setting.over, numbers, strict=True))
        exec(setting.effect or setting.pseudo, names)

    found = probe.run("numpy")
    rows = [(f"`{n}`", values) for n, values in before.items() if n not in setting.hidden.split()]
    rows += [("bytes behind the address of the buffer", list(setting.addresses))] if setting.addresses else []
    if setting.memory:
        kind, values = setting.memory
        rows.append(("memory before", list(values)))
        _compare(name, "memory", memory.values, _decoded(found["MEMORY"], kind), kind)
        rows += [("memory after", memory.values)] if memory.values != list(values) else []
    if setting.urb:
        done = _decoded(found["%urb"], UNSIGNED)
        _compare(name, "%urb", urb.values, done, UNSIGNED)
        rows.append(("`%urb` after", done))
    if image is not None:
        done = _numbers_of(picture, setting)
        wrapped = image.texels if done.dtype.kind == "f" else image.texels.astype(picture.dtype)
        assert np.allclose(done, wrapped, rtol=1e-6), f"{name}: the picture is {done}, not {wrapped}"
        rows += _changes(image.before, done)
    for n, (kind, count) in setting.results.items():
        done = _decoded(found[n].view(np.uint8), kind)[:count]
        _compare(name, n, told[n], done, kind)
        for first in range(0, count, setting.lanes):
            if told[n].places & {*range(first, first + setting.lanes)}:
                more = f", from {first} on" if first else ""
                rows.append((f"`{n}` after{more}", done[first : first + setting.lanes]))
    head = f"{setting.functions}\n\n" if setting.functions else ""
    pseudo = f"{head}{setting.each}\n{textwrap.indent(setting.pseudo, '    ')}"
    return Example(pseudo, setting.meaning, setting.lines, rows, setting.lanes)


def _probe_of(setting: Setting) -> tuple[Probe, np.ndarray | None]:
    """The kernel of a setting, and the array of its picture, which launches change."""
    probe = Probe(setting.platform, setting.lanes, group=(setting.threads * setting.lanes,))
    probe.declarations += setting.declarations.split("\n") if setting.declarations else []
    probe.attributes += setting.attributes
    if setting.memory:
        kind, values = setting.memory
        probe.buffer("MEMORY", b"".join(_encoded(x, kind) for x in values))
    for name, (kind, values) in setting.inputs.items():
        probe.variable(name, kind.rpartition(":")[2], b"".join(_encoded(x, kind) for x in values))
    for name, (kind, count) in setting.results.items():
        probe.variable(name, kind.rpartition(":")[2], b"".join(_encoded(_UNWRITTEN, kind) for _ in range(count)))
    if setting.urb:
        probe.named["%urb"] = np.array(setting.urb, "u4")
    if setting.addresses:
        probe.addresses("ADDRESSES", "MEMORY", setting.addresses)
    texels = None
    if setting.picture:
        form, _, kind = setting.picture[0].partition(":")
        texels = np.array(setting.picture[1])
        if kind:
            data = b"".join(encode(float(x), kind) for x in texels.flat)
            texels = np.frombuffer(data, DTYPES[kind]).reshape(texels.shape)
        texels = texels.reshape(*texels.shape[:2], -1).astype(ImageFormat.parse(form).dtype)
        probe.image(ImageArgument(texels, form))
    if setting.sampler:
        probe.arguments.append(setting.sampler)
        probe.declarations.append(".decl S0 v_type=S num_elts=1")
    probe.lines += setting.setup.split("\n") if setting.setup else []
    probe.lines += setting.lines.split("\n")
    return probe, texels


class _Written(list[float]):
    """The elements of a variable, and which of them were written."""

    def __init__(self, values: Sequence[float]) -> None:
        super().__init__(values)
        self.places: set[int] = set()

    def __setitem__(self, place: int, value: float) -> None:  # type: ignore[override]
        super().__setitem__(place, value)
        self.places.add(place)


class _Memory:
    """Elements of four bytes, by the first byte of each."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = list(values)

    def __getitem__(self, place: int) -> float:
        return self.values[place // 4]

    def __setitem__(self, place: int, value: float) -> None:
        self.values[place // 4] = value


class _Picture:
    """Texels by x and y: lists of channels, or numbers where there is one channel. Outside they are zeros."""

    def __init__(self, texels: np.ndarray) -> None:
        self.before, self.texels = texels.copy(), texels.copy()

    def __contains__(self, place: tuple[int, int]) -> bool:
        height, width, _ = self.texels.shape
        return 0 <= place[0] < width and 0 <= place[1] < height

    def __getitem__(self, place: tuple[int, int]) -> np.ndarray | float:
        found = self.texels[place[1], place[0]] if place in self else np.zeros_like(self.texels[0, 0])
        return found[0].item() if found.size == 1 else found.astype(float)

    def __setitem__(self, place: tuple[int, int], value: Sequence[float]) -> None:
        if place in self:
            self.texels[place[1], place[0]] = value


def _numbers_of(texels: np.ndarray, setting: Setting) -> np.ndarray:
    """A picture as numbers that do not wrap round."""
    _, _, kind = setting.picture[0].partition(":")
    if kind:
        return np.array(decode(texels.ravel(), kind)).reshape(texels.shape)
    return texels.astype(float if texels.dtype.kind == "f" else int)


def _changes(before: np.ndarray, after: np.ndarray) -> list[tuple[str, list[float]]]:
    """Rows of the channels of a picture that an example changes, and of pictures of one channel."""
    rows, count = [], before.shape[2]
    for channel, word in enumerate(_CHANNELS[:count]):
        one = "" if count == 1 else f", {word}"
        old, new = (texels[..., channel].ravel().tolist() for texels in (before, after))
        if old != new or count == 1:
            rows.append((f"texels row by row{one}, before", old))
        if old != new:
            rows.append((f"texels row by row{one}, after", new))
    return rows


def _encoded(x: float, kind: str) -> bytes:
    return encode(x, "bf").ljust(4, b"\0") if kind == BFLOAT else encode(x, kind)


def _decoded(data: np.ndarray, kind: str) -> list[float]:
    """Numbers out of bytes."""
    return decode(data.view("u2")[::2], "bf") if kind == BFLOAT else decode(data.view(DTYPES[kind]), kind)


def _compare(name: str, what: str, told: Sequence[float], done: Sequence[float], kind: str) -> None:
    for one, other in zip(told, done, strict=True):
        if kind in FLOATS or kind == BFLOAT:
            same = math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-6)
        else:
            same = wrap(int(one), kind) == other
        assert same, f"{name}: the pseudo-code gives {one} in {what}, the instruction {other}"
