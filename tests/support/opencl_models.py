"""What the sources in tests/data/opencl compute, in numpy: for each of them launches with arguments and expected results.

A model is written from the source and OpenCL's specification, and knows nothing of vISA. :func:`write` makes a launch file of one.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np


@dataclass
class Buffer:
    """A buffer: before the launch, and after it where that counts; ``shared`` is a name that later launches use."""

    before: np.ndarray
    after: np.ndarray | None = None
    rtol: float = 0.0
    atol: float = 0.0
    shared: str = ""
    format: str = ""


class Scalar(NamedTuple):
    """A number, vector or structure by value."""

    value: object
    type: str = "i32"


class Local(NamedTuple):
    """Local memory of so many bytes."""

    size: int


class Sampler(NamedTuple):
    """A sampler."""

    normalized: bool
    addressing: str
    filter: str


class Run(NamedTuple):
    """A launch."""

    kernel: str
    size: int | list[int]
    args: list[object]
    local: int | list[int] | None = None
    offset: int | list[int] | None = None


@dataclass
class Model:
    """Launches of a source, its printed text, and the build options."""

    runs: list[Run]
    printed: str = ""
    options: str = ""


MODELS: dict[str, Callable[[np.random.Generator], Model]] = {}


def model(function):
    """Enter a model under the name of its source."""
    MODELS[function.__name__.rstrip("_")] = function
    return function


def write(made: Model, folder: Path) -> Path:
    """The launch file of a model, with its arrays beside it."""
    launches = []
    for number, run in enumerate(made.runs):
        items = [_item(argument, folder, f"{number}_{index}") for index, argument in enumerate(run.args)]
        entry = {"kernel": run.kernel, "global_size": run.size, "args": items}
        if run.local is not None:
            entry["local_size"] = run.local
        if run.offset is not None:
            entry["global_offset"] = run.offset
        launches.append(entry)
    path = folder / "launch.json"
    path.write_text(json.dumps({"launches": launches}))
    return path


def _item(argument, folder, name):
    if isinstance(argument, Scalar):
        return {"scalar": argument.value, "type": argument.type}
    if isinstance(argument, Local):
        return {"local": argument.size}
    if isinstance(argument, Sampler):
        return {"sampler": argument._asdict()}
    np.save(folder / f"{name}.npy", argument.before)
    item = {"image" if argument.format else "buffer": f"{name}.npy"}
    if argument.format:
        item["format"] = argument.format
    if argument.shared:
        item["shared"] = argument.shared
    if argument.after is not None:
        np.save(folder / f"{name}.expected.npy", argument.after)
        item |= {"expect": f"{name}.expected.npy", "rtol": argument.rtol, "atol": argument.atol}
    return item


def ints(rng, count, low=-1000, high=1000, dtype="i4"):
    """Random whole numbers."""
    return rng.integers(low, high, count).astype(dtype)


def reals(rng, count, low=-4.0, high=4.0):
    """Random floats that have few bits, so that sums of products are exact."""
    return (rng.integers(int(low * 16), int(high * 16), count) / 16).astype("f4")


# -- the sources, in alphabetical order --------------------------------------------------------------------------------


@model
def atomics(rng):
    x = ints(rng, 128)
    sums = x.reshape(4, 32).sum(1).astype("f4") / 2
    return Model(
        [
            Run("tickets", 64, [Buffer(np.int32([0]), np.int32([64])), Buffer(np.zeros(64, "i4"), np.ones(64, "i4"))]),
            Run("largest", 128, [Buffer(np.int32([-5000]), x.max(keepdims=True)), Buffer(x)]),
            Run("sums", 128, [Buffer(np.zeros(4, "f4"), sums), Local(4), Buffer(x)], 32),
        ]
    )


@model
def constants(rng):
    x, weights = ints(rng, 64), reals(rng, 5)
    letters = np.frombuffer(b"vISA text", "i1").astype("i4")
    looked = (x & 7) ** 2 + letters[np.arange(64) % 9]
    y = reals(rng, 68)
    filtered = sum(weights[k] * y[k : k + 64] for k in range(5))
    return Model(
        [
            Run("look", 64, [Buffer(np.zeros(64, "i4"), looked.astype("i4")), Buffer(x)]),
            Run(
                "filter", 64, [Buffer(np.zeros(64, "f4"), filtered, 1e-6, 1e-6), Buffer(y), Buffer(weights), Scalar(5)]
            ),
        ]
    )


@model
def conversions(rng):
    x = np.float32([0, 0.5, 1.5, 2.5, -0.5, -1.5, 126.6, 127.5, 500, -128.5, -129, -1e9, 3.25, 100.75, 7, -7])
    halves, n = np.float16(x[:8]), ints(rng, 8)
    positive = np.abs(x[2:6]) * 10
    casts = positive.view("u4") ^ positive.astype("i4").astype("u2")
    return Model(
        [
            Run("bytes", 16, [Buffer(np.zeros(16, "i1"), np.clip(np.rint(x), -128, 127).astype("i1")), Buffer(x)]),
            Run("halves", 8, [Buffer(np.zeros(8, "f2"), halves), Buffer(x[:8])]),
            Run(
                "back", 8, [Buffer(np.zeros(8, "f4"), halves.astype("f4") + n.astype("f4")), Buffer(halves), Buffer(n)]
            ),
            Run("casts", 4, [Buffer(np.zeros(4, "u4"), casts), Buffer(positive)]),
        ]
    )


@model
def flow(rng):
    def steps(n):
        count = 0
        while n != 1:
            n, count = (3 * n + 1 if n & 1 else n // 2), count + 1
        return count

    def case(v):
        which = v & 7
        if which == 5:
            return sum(k for k in range(min(v, 9)) if not k & 1) if v > 0 else 0
        return {0: 5, 1: v * 3 + 7, 2: 7}.get(which, -v)

    x = ints(rng, 128, -50, 50)
    prime = np.array([i > 1 and all(i % d for d in range(2, int(i**0.5) + 1)) for i in range(128)], "u1")
    return Model(
        [
            Run("collatz", 100, [Buffer(np.zeros(100, "i4"), np.int32([steps(n + 1) for n in range(100)]))]),
            Run("cases", 128, [Buffer(np.zeros(128, "i4"), np.int32([case(int(v)) for v in x])), Buffer(x)]),
            Run("primes", 128, [Buffer(np.full(128, 9, "u1"), prime), Scalar(128)]),
        ]
    )


@model
def functions(rng):
    x = ints(rng, 64, 0)

    def mix(a, b):
        return (a ^ (b << 3)) + np.gcd(a & 255, 36)

    p = rng.random((64, 2)).astype("f4")
    matrix = np.array([[0.8, -0.6], [0.6, 0.8]], "f4")
    once = p @ matrix.T
    turned = np.where(np.arange(64)[:, None] & 1, once, once @ matrix.T)
    return Model(
        [
            Run("mixed", 64, [Buffer(np.zeros(64, "i4"), mix(x, mix(np.arange(64), x)).astype("i4")), Buffer(x)]),
            Run("turned", 64, [Buffer(p, turned.astype("f4"), 1e-5, 1e-6), Scalar(0.6, "f32"), Scalar(0.8, "f32")]),
        ]
    )


@model
def generic(rng):
    x = ints(rng, 128, 0, 100)
    groups = x.reshape(4, 32)
    both = groups.sum(1) * np.int32([1, 2, 1, 2])
    before = np.cumsum(groups, 1) - groups
    y = 1000 * groups.max(1, keepdims=True) + before + groups[:, 3:4]
    return Model(
        [
            Run("both", 128, [Buffer(np.zeros(4, "i4"), both.astype("i4")), Buffer(x), Local(128)], 32),
            Run("groups", 128, [Buffer(np.zeros(128, "i4"), y.reshape(-1).astype("i4")), Buffer(x)], 32),
        ],
        options="-cl-std=CL2.0",
    )


@model
def geometry(rng):
    a, b = reals(rng, (32, 4)), reals(rng, (32, 4))
    cross = np.zeros((32, 4), "f4")
    cross[:, :3] = np.cross(a[:, :3], b[:, :3])
    lengths = np.stack([np.hypot(a[:, 0], a[:, 1]), np.hypot(*(a - b)[:, :2].T)], 1)
    first, second = np.ascontiguousarray(a[:, :2]), np.ascontiguousarray(b[:, :2])
    return Model(
        [
            Run("products", 32, [Buffer(np.zeros(32, "f4"), (a * b).sum(1), 1e-6), Buffer(np.ones((32, 4), "f4"), cross, 0, 1e-5), Buffer(a), Buffer(b)]),
            Run("lengths", 32, [Buffer(np.zeros((32, 2), "f4"), lengths.astype("f4"), 1e-5), Buffer(first), Buffer(second)]),
        ]
    )  # fmt: skip


@model
def halves(rng):
    x, y = np.float16(reals(rng, 64)), np.float16(reals(rng, 64))
    larger = np.maximum(x, y) - np.minimum(x, np.float16(0))
    return Model(
        [
            Run("scale", 64, [Buffer(np.zeros(64, "f2"), np.float16(1.5) * x + np.float16(1), 1e-3), Buffer(x), Scalar(1.5, "f16")]),
            Run("larger", 16, [Buffer(y, larger, 1e-3), Buffer(x)]),
        ]
    )  # fmt: skip


@model
def hashes(rng):
    x = ints(rng, (16, 40), 0, 256, "u1")
    crc = np.uint32([zlib.crc32(row.tobytes()) for row in x])
    fnv = []
    for row in x:
        h = 14695981039346656037
        for byte in row.tolist():
            h = (h ^ byte) * 1099511628211 % (1 << 64)
        fnv.append(h)
    return Model(
        [
            Run("crc", 16, [Buffer(np.zeros(16, "u4"), crc), Buffer(x), Scalar(40)]),
            Run("fnv", 16, [Buffer(np.zeros(16, "u8"), np.uint64(fnv)), Buffer(x), Scalar(40)]),
        ]
    )


@model
def histogram(rng):
    x = ints(rng, 256, 0, 256, "u1")
    bins = np.bincount(x & 15, minlength=16).astype("u4")
    found = [x.min(), x.max(), np.bitwise_or.reduce(1 << (x.astype("i8") & 31)), np.bitwise_xor.reduce(x)]
    limits = np.int64(found).astype("i4")
    return Model(
        [
            Run("count", 256, [Buffer(np.zeros(16, "u4"), bins), Buffer(x)], 64),
            Run("limits", 256, [Buffer(np.int32([999, -1, 0, 0]), limits), Buffer(x)]),
        ]
    )


@model
def ids(rng):
    z, y, x = np.indices((2, 6, 16))
    where = x % 4 + 10 * (y % 3) + 100 * (x // 4) + 1000 * (y // 3) + 10000 * z
    sizes = np.full(40, 16 + 300 + 160000 + 1000000, "u4")
    sizes[32:] -= 8
    return Model(
        [
            Run(
                "where",
                [16, 6, 2],
                [Buffer(np.zeros(192, "u4"), where.reshape(-1).astype("u4"))],
                [4, 3, 1],
                [100, 0, 0],
            ),
            Run("sizes", 40, [Buffer(np.zeros(40, "u4"), sizes)], 16),
        ],
        options="-cl-std=CL2.0",
    )


@model
def images(rng):
    image = ints(rng, (8, 16, 4), 0, 200, "u1")
    flipped = image[:, ::-1] + np.uint8([0, 1, 2, 3])
    rim = np.zeros(18, "u4")
    rim[1:17] = image[2, :, 0]
    return Model(
        [
            Run(
                "flip",
                [16, 8],
                [Buffer(np.zeros_like(image), flipped, format="rgba_u8"), Buffer(image, format="rgba_u8")],
            ),
            Run("rim", 18, [Buffer(np.ones(18, "u4"), rim), Buffer(image, format="rgba_u8")]),
        ]
    )


@model
def integers(rng):
    x = rng.integers(0, 1 << 32, 64).astype("u4")
    x[:3] = 0, 1, 0xFFFFFFFF
    wide = x.astype("u8")
    bits = np.stack([
        [int(v).bit_count() for v in x], [32 - int(v).bit_length() for v in x],
        (wide << np.uint64(7) | wide >> np.uint64(25)) & np.uint64(0xFFFFFFFF), wide * np.uint64(0x9E3779B9) >> np.uint64(32),
    ], 1).astype("u4")  # fmt: skip
    a, b = rng.integers(-(1 << 31), 1 << 31, (2, 64))
    low, high = -(1 << 31), (1 << 31) - 1
    limited = np.stack([np.clip(a + b, low, high), np.clip(a - b, low, high), (a + b) >> 1, np.abs(a - b), (a & 0xFFF) * (b & 0xFFF) + 5], 1)  # fmt: skip
    quotient = np.trunc(a / 37).astype("i8")
    quotients = np.stack([quotient, a - 37 * quotient], 1)
    return Model(
        [
            Run("bits", 64, [Buffer(np.zeros((64, 4), "u4"), bits), Buffer(x)]),
            Run("limited", 64, [Buffer(np.zeros((64, 5), "i4"), limited.astype("i4")), Buffer(a.astype("i4")), Buffer(b.astype("i4"))]),
            Run("quotients", 64, [Buffer(np.zeros((64, 2), "i4"), quotients.astype("i4")), Buffer(a.astype("i4")), Scalar(37)]),
        ]
    )  # fmt: skip


@model
def long_(rng):
    a, b = (rng.integers(0, 1 << 63, 32).astype("u8") * np.uint64(2) + np.uint64(1) for _ in range(2))
    products = [(int(x) * int(y) >> s) % (1 << 64) for x, y in zip(a, b, strict=True) for s in (0, 64)]
    p, q = a.view("i8"), rng.integers(-(1 << 20), 1 << 20, 32) | 1
    quotients = []
    for x, y in zip(p.tolist(), q.tolist(), strict=True):
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        quotients += [quotient, x - quotient * y, (x >> 9) + (y << 3)]
    return Model(
        [
            Run("products", 32, [Buffer(np.zeros(64, "u8"), np.uint64(products)), Buffer(a), Buffer(b)]),
            Run("quotients", 32, [Buffer(np.zeros(96, "i8"), np.int64(quotients)), Buffer(p), Buffer(q)]),
        ]
    )


@model
def mathematics(rng):
    x = (rng.random(64) * 6).astype("f4")
    wide = x.astype("f8")
    powers = np.stack([np.exp(wide), np.log(wide + 1), np.sqrt(wide), wide**1.5], 1).astype("f4")
    signed = reals(rng, 64)
    rounds = np.stack([np.floor(signed), np.ceil(signed), np.trunc(signed), np.fmod(signed, 0.75)], 1).astype("f4")
    waves = [Buffer(np.zeros(64, "f4"), f(wide).astype("f4"), 1e-5, 1e-6) for f in (np.sin, np.cos)]
    return Model(
        [
            Run("waves", 64, [*waves, Buffer(x)]),
            Run("powers", 64, [Buffer(np.zeros((64, 4), "f4"), powers, 1e-5, 1e-6), Buffer(x)]),
            Run("rounds", 64, [Buffer(np.zeros((64, 4), "f4"), rounds, 0, 1e-6), Buffer(signed)]),
        ]
    )


@model
def matrices(rng):
    a, b = reals(rng, (16, 16)), reals(rng, (16, 16))
    x = reals(rng, 16)
    product = a @ b
    return Model(
        [
            Run("multiply", [16, 16], [Buffer(np.zeros((16, 16), "f4"), product, 1e-6, 1e-4, "c"), Buffer(a), Buffer(b), Scalar(16)]),
            Run("transpose", [16, 16], [Buffer(np.zeros((16, 16), "f4"), b.T.copy()), Buffer(b), Scalar(16)]),
            Run("apply", 16, [Buffer(np.zeros(16, "f4"), product @ x, 1e-5, 1e-3), Buffer(product, shared="c"), Buffer(x), Scalar(16)]),
        ]
    )  # fmt: skip


@model
def pictures(rng):
    re, im = np.arange(24, dtype="f4") * np.float32(0.125) - np.float32(2), np.arange(16, dtype="f4") * np.float32(0.125) - np.float32(1)  # fmt: skip
    n = np.zeros((16, 24), "i4")
    a = b = np.zeros((16, 24), "f4")
    active = np.ones((16, 24), bool)
    with np.errstate(all="ignore"):
        for _ in range(12):
            active &= a * a + b * b <= 4
            a, b = np.where(active, a * a - b * b + re, a), np.where(active, 2 * a * b + im[:, None], b)
            n += active
    board = ints(rng, (16, 16), 0, 2, "u1")
    around = sum(np.roll(board, (j, i), (0, 1)) for j in (-1, 0, 1) for i in (-1, 0, 1) if i or j)
    return Model(
        [
            Run("escape", [24, 16], [Buffer(np.zeros((16, 24), "i4"), n), Scalar(0.125, "f32"), Scalar(12)]),
            Run("life", [16, 16], [Buffer(np.zeros((16, 16), "u1"), ((around == 3) | (around == 2) & (board == 1)).astype("u1")), Buffer(board)]),
        ]
    )  # fmt: skip


@model
def printing(rng):
    y = np.arange(16, dtype="i4").reshape(4, 4)
    lines = [f"item {i}: {i * i}, {'late' if i > 8 else 'soon'} {i / 4:.2f}" for i in range(24) if i % 8 == 3]
    return Model(
        [
            Run("hello", 24, [Buffer(np.zeros(24, "i4"), np.arange(24, dtype="i4") ** 2)], 8),
            Run("vectors", 4, [Buffer(y, y + 1)]),
        ],
        "\n".join([*lines, "4,5,6,7|ff"]) + "\n",
    )


@model
def private(rng):
    x = ints(rng, 32, 0, 1000)
    found = []
    for v in x.tolist():
        own = [v + k for k in range(16)]
        for k in range(9):
            own[(v + k * 5) & 15] += own[(v + k) & 15]
        found.append(np.bitwise_xor.reduce(own))
    y = ints(rng, (16, 4))
    return Model(
        [
            Run("last", 32, [Buffer(np.zeros(32, "i4"), np.int32(found)), Buffer(x), Scalar(9)]),
            Run("sorted", 16, [Buffer(y, np.sort(y, 1))]),
        ]
    )


@model
def reduce(rng):
    x = ints(rng, 256)
    part = x.reshape(4, 64).sum(1).astype("i4")
    return Model(
        [
            Run("sums", 256, [Buffer(np.zeros(4, "i4"), part, shared="part"), Buffer(x), Local(256)], 64),
            Run("total", 1, [Buffer(np.zeros(2, "i4"), np.int32([part.sum(), part.max()])), Buffer(part, shared="part"), Scalar(4)]),
        ]
    )  # fmt: skip


@model
def relations(rng):
    a, b = ints(rng, 64, -5, 5), ints(rng, 64, -5, 5)
    x = np.float32([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1e38])
    tiny = np.finfo("f4").tiny
    normal = np.isfinite(x) & (np.abs(x) >= tiny)
    classes = np.isnan(x) | np.isinf(x) * 2 | np.signbit(x) * 4 | normal * 8
    p, q = a.reshape(16, 4), b.reshape(16, 4)
    less = p < q
    merged = np.where(less, q, p) + less.any(1, keepdims=True) + 2 * less.all(1, keepdims=True)
    return Model(
        [
            Run("choose", 64, [Buffer(np.zeros(64, "i4"), np.where(a > b, a - b, np.where(a == b, 1000, -1)).astype("i4")), Buffer(a), Buffer(b)]),
            Run("classes", 10, [Buffer(np.zeros(10, "i4"), classes.astype("i4")), Buffer(x)]),
            Run("merge", 16, [Buffer(np.zeros((16, 4), "i4"), merged.astype("i4")), Buffer(p), Buffer(q)]),
        ]
    )  # fmt: skip


@model
def sampling(rng):
    image = rng.random((8, 8, 4)).astype("f4")
    nearest = np.stack([image[np.clip(y, 0, 7), np.clip(x, 0, 7)] for y in range(12) for x in range(12)])
    linear = np.stack(
        [
            (image[j - 1, i - 1] + image[j - 1, i] + image[j, i - 1] + image[j, i]) / 4 if i and j else image[0, 0] * 0
            for j in range(4)
            for i in range(4)
        ]
    ).astype("f4")
    for i in range(1, 4):
        linear[i] = (image[0, i - 1] + image[0, i]) / 2
        linear[4 * i] = (image[i - 1, 0] + image[i, 0]) / 2
    linear[0] = image[0, 0]
    runs = [
        Run("sample", [12, 12], [Buffer(np.zeros((144, 4), "f4"), nearest), Buffer(image, format="rgba_f32"), Sampler(False, "clamp_edge", "nearest"), Scalar([1.0, 1.0], "f32")]),
        Run("sample", [4, 4], [Buffer(np.zeros((16, 4), "f4"), linear, 1e-2, 1e-2), Buffer(image, format="rgba_f32"), Sampler(True, "clamp_edge", "linear"), Scalar([0.125, 0.125], "f32")]),
        Run("sizes", 1, [Buffer(np.zeros(2, "i4"), np.int32([8, 8])), Buffer(image, format="rgba_f32")]),
    ]  # fmt: skip
    return Model(runs)


@model
def scan(rng):
    x = ints(rng, 256, 0, 100, "u4")
    local = np.cumsum(x.reshape(4, 64), 1).astype("u4")
    ends = local[:, -1].copy()
    return Model(
        [
            Run("scan", 256, [Buffer(x, local, shared="x"), Buffer(np.zeros(4, "u4"), ends, shared="ends")], 64),
            Run("add", 256, [Buffer(x, np.cumsum(x).astype("u4"), shared="x"), Buffer(ends, shared="ends")], 64),
        ]
    )


@model
def shuffles(rng):
    x, y = ints(rng, (16, 4), 0, 1000, "u4"), ints(rng, (16, 4), 0, 1000, "u4")
    both = np.concatenate([x, y], 1)
    mixed = x[:, [2, 2, 0, 1]] + both[:, [0, 4, 3, 7]]
    pairs = ints(rng, (16, 8), 0, 1000, "u2")
    words = rng.integers(0, 1 << 32, 16).astype("u4")
    return Model(
        [
            Run("mixed", 16, [Buffer(y, mixed), Buffer(x), Scalar([2, 6, 4, 1], "u32")]),
            Run("loads", 16, [Buffer(np.zeros((16, 4), "u2"), pairs[:, ::2] + pairs[:, 1::2]), Buffer(pairs)]),
            Run(
                "words",
                16,
                [Buffer(np.zeros((16, 4), "u1"), words.byteswap().view("u1").reshape(16, 4)), Buffer(words)],
            ),
        ]
    )


@model
def small(rng):
    x, s = ints(rng, 64, 0, 256, "u1"), ints(rng, 64, -30000, 30000, "i2")
    a, b = ints(rng, (16, 4), 0, 256, "u1"), ints(rng, (16, 4), 0, 256, "u1")
    wide = s.astype("i8")
    quotient, rest = np.trunc(wide / 3).astype("i8"), np.fmod(wide, 7)
    blended = ((a.astype("u4") * 155 % 65536 + b.astype("u4") * 100 % 65536) % 65536 // 255).astype("u1")
    return Model(
        [
            Run("bytes", 64, [Buffer(np.zeros(64, "u1"), (x * np.uint8(3) + np.uint8(7)) ^ (x >> 2)), Buffer(x)]),
            Run("shorts", 64, [Buffer(np.zeros(64, "i2"), (quotient + rest - abs(wide)).astype("i2")), Buffer(s)]),
            Run("blend", 16, [Buffer(np.zeros((16, 4), "u1"), blended), Buffer(a), Buffer(b), Scalar(100, "u8")]),
        ]
    )


@model
def sort(rng):
    x = rng.integers(0, 1 << 32, 32).astype("u4")
    done, runs = x.copy(), []
    for size, half in ((1 << k, 1 << j) for k in range(1, 6) for j in range(k - 1, -1, -1)):
        for i in range(16):
            at = 2 * i - (i & (half - 1))
            if (done[at] > done[at + half]) == (at & size == 0):
                done[[at, at + half]] = done[[at + half, at]]
        runs.append(Run("bitonic", 16, [Buffer(x, done.copy(), shared="x"), Scalar(size, "u32"), Scalar(half, "u32")]))
    assert all(a <= b for a, b in pairwise(done.tolist()))
    keys = np.concatenate([x[:8], x[:8] + np.uint32(1)])
    places = np.searchsorted(done, keys).astype("i4")
    return Model([*runs, Run("search", 16, [Buffer(np.zeros(16, "i4"), places), Buffer(x, shared="x"), Buffer(keys), Scalar(32)])])  # fmt: skip


@model
def stencil(rng):
    image = reals(rng, (12, 20))
    padded = np.pad(image, 1, "edge")
    smooth = sum(padded[j : j + 12, i : i + 20] for j in range(3) for i in range(3))
    cube = ints(rng, (4, 6, 8))
    padded = np.pad(cube, 1)
    inner = slice(1, -1)
    laplace = sum(np.roll(padded, s, axis)[inner, inner, inner] for axis in range(3) for s in (1, -1)) - 6 * cube
    return Model(
        [
            Run("smooth", [20, 12], [Buffer(np.zeros((12, 20), "f4"), smooth), Buffer(image), Scalar(20), Scalar(12)]),
            Run("laplace", [8, 6, 4], [Buffer(np.zeros((4, 6, 8), "i4"), laplace.astype("i4")), Buffer(cube)]),
        ]
    )


@model
def structures(rng):
    body = np.dtype([("at", "f4", 3), ("gap", "u4"), ("mass", "f4"), ("id", "i4"), ("end", "u8")])
    bodies = np.zeros(16, body)
    bodies["at"], bodies["mass"], bodies["id"] = reals(rng, (16, 3)), reals(rng, 16), np.arange(16)
    after = bodies.copy()
    after["at"][:12] += 0.5 * bodies["mass"][:12, None]
    after["id"][:12] = bodies["id"][:12] * 2 + np.int32([1, -2, 3, 4])[np.arange(12) & 3]
    flags = int.from_bytes(np.int8([1, -2, 3, 4]).tobytes(), "little")
    settings = Scalar([0x3F000000, 12, flags], "u32")
    mass = after["mass"] + after["at"][:, 1]
    return Model(
        [
            Run("step", 16, [Buffer(bodies, after, shared="b"), settings]),
            Run("split", 16, [Buffer(np.zeros(16, "f4"), mass), Buffer(np.zeros(16, "i4"), after["id"].copy()), Buffer(after, shared="b")]),
        ]
    )  # fmt: skip


@model
def subgroups(rng):
    x = ints(rng, 64, 0, 50)
    groups = x.reshape(4, 16)
    total = np.repeat(groups.sum(1), 16)
    before = (np.cumsum(groups, 1) - groups).reshape(-1)
    moved = groups[:, np.arange(16) ^ 5] + 100 * groups[:, 3:4]
    return Model(
        [
            Run("sums", 64, [Buffer(np.zeros(64, "i4"), total.astype("i4")), Buffer(np.zeros(64, "i4"), before.astype("i4")), Buffer(x)], 32),
            Run("moved", 64, [Buffer(np.zeros(64, "i4"), moved.reshape(-1).astype("i4")), Buffer(x)], 32),
        ],
        options="-cl-std=CL2.0",
    )  # fmt: skip


@model
def texts(rng):
    text = np.frombuffer(b"the compiler hands the text to the finalizer, then the finalizer...", "i1").copy()
    word = np.frombuffer(b"the", "i1").copy()
    upper = np.frombuffer(text.tobytes().upper(), "i1").copy()
    return Model(
        [
            Run("matches", len(text) - 2, [Buffer(np.zeros(1, "i4"), np.int32([text.tobytes().count(b"the")])), Buffer(text), Buffer(word), Scalar(3)]),
            Run("capitals", len(text), [Buffer(text, upper)]),
        ]
    )  # fmt: skip


@model
def variables(rng):
    x = ints(rng, 16)
    return Model(
        [
            Run("keep", 16, [Buffer(x)]),
            Run("show", 16, [Buffer(np.zeros(16, "i4"), (x * x)[::-1] + 7)]),
        ],
        options="-cl-std=CL2.0",
    )


@model
def vectors(rng):
    x, y = reals(rng, (32, 4)), reals(rng, (32, 4))
    scaled = np.float32(1.5) * x + np.float32([1, 2, 3, 4])
    return Model(
        [
            Run("scale", 32, [Buffer(np.zeros((32, 4), "f4"), scaled), Buffer(x), Scalar(1.5, "f32")]),
            Run("swizzle", 32, [Buffer(y, y[:, ::-1] + y[:, [0, 0, 1, 1]])]),
            Run("pack", 32, [Buffer(np.zeros((32, 3), "f4"), 2 * x[:, :3]), Buffer(x)]),
        ]
    )
