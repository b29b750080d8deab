"""Kernels of the vector compiler's kind (CM, ESIMD), one thread a work-item, against models in numpy.

The texts in ``vc`` are written by hand. They give each element as one of row 0, whatever a register's size is; here the
rows are counted. So a text is for all platforms.
"""

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from support.programs import TESTS, build_text
from support.scalar import SIZES
from support.strategies import ENGINES, each_engine

import vsim
from visakit.language.platforms import find
from vsim.launch.launch import BufferArgument, ImageArgument, Launch, SamplerArgument
from vsim.program import Program

TEXTS = TESTS / "data" / "vector"
ANY, NEWER = ("tgllp", "dg2", "pvc", "bmg"), ("pvc", "bmg")
PLACE = re.compile(r"(?<![\w%])(%?\w+)\(0,(\d+)\)")
DECLARED = re.compile(r"^\.decl (\w+) v_type=G type=(\w+)", re.MULTILINE)


def text_for(name, platform):
    """The text of a kernel with the rows and columns of a platform's registers."""
    text, grf = (TEXTS / f"{name}.visaasm").read_text(), find(platform).grf_size
    types = dict(DECLARED.findall(text))

    def place(m):
        if m[1] not in types:
            return m[0]
        row, byte = divmod(int(m[2]) * SIZES[types[m[1]]], grf)
        return f"{m[1]}({row},{byte // SIZES[types[m[1]]]})"

    return PLACE.sub(place, text)


@dataclass
class Case:
    """A kernel: its data, the first contents of its result, and the model of the result."""

    model: Callable
    data: Callable
    result: Callable = lambda: np.zeros(16, "u4")
    threads: int = 1
    groups: int = 1
    platforms: tuple = ANY
    rtol: float = 0


R = np.random.default_rng()
"""What inputs are drawn from: the same for a kernel in every test."""
CASES = {}


def seed(name):
    """Draw the inputs of a kernel from here on."""
    R.bit_generator.state = np.random.default_rng(zlib.crc32(name.encode())).bit_generator.state


def case(name, data, result=lambda: np.zeros(16, "u4"), **more):
    """Registers the function behind it, which gets input and result, as the model of a kernel."""

    def register(model):
        CASES[name] = Case(model, data, result, **more)
        return model

    return register


def floats(*shape):
    return R.integers(-40, 40, shape).astype("f4") / 4


def dwords(*shape, most=1 << 32):
    return R.integers(0, most, shape, dtype="u8").astype("u4")


# -- linear algebra ------------------------------------------------------------------------------------------------


@case("saxpy", lambda: floats(32), lambda: floats(32))
def saxpy(x, y):
    return x * np.float32(2.5) + y


@case("matvec", lambda: floats(9, 8), lambda: np.zeros(8, "f4"))
def matvec(a, _):
    return a[:8] @ a[8]


@case("matmul", lambda: floats(2, 8, 8), lambda: np.zeros((8, 8), "f4"))
def matmul(a, _):
    return a[0] @ a[1]


@case("transpose", lambda: floats(8, 8), lambda: np.zeros((8, 8), "f4"))
def transpose(a, _):
    return a.T


@case("dot", lambda: floats(2, 64), lambda: np.zeros(4, "f4"))
def dot(a, _):
    return np.array([a[0] @ a[1], 0, 0, 0], "f4")


@case("softmax", lambda: floats(16), lambda: np.zeros(16, "f4"), rtol=1e-6)
def softmax(x, _):
    e = np.exp(x.astype("f8") - x.max())
    return e / e.sum()


@case("argmin", lambda: R.permutation(16).astype("f4") // 2 - 5, lambda: np.zeros(4, "u4"))
def argmin(x, _):
    return np.array([x.min().view("u4"), x.argmin(), 0, 0], "u4")


# -- sort, scan, hash, bits ----------------------------------------------------------------------------------------


@case("scan", lambda: dwords(16, most=1000).astype("i4"), lambda: np.zeros(16, "i4"))
def scan(x, _):
    return np.cumsum(x, dtype="i4")


@case("sort", lambda: dwords(16).view("i4"), lambda: np.zeros(16, "i4"))
def sort(x, _):
    return np.sort(x)


@case("hash", lambda: R.integers(0, 256, (16, 8)).astype("u1"))
def fnv(s, _):
    h = np.full(16, 0x811C9DC5, "u4")
    for k in range(8):
        h = (h ^ s[:, k]) * np.uint32(0x1000193)
    return h


@case("crc", lambda: dwords(16))
def crc(x, _):
    return np.array([zlib.crc32(int(n).to_bytes(4, "little")) ^ 0 for n in x], "u4")


@case("bits", lambda: np.append(dwords(14), [0, 1]).astype("u4"), lambda: np.zeros((4, 16), "u4"))
def bits(x, _):
    words = [f"{n:032b}" for n in x.tolist()]
    count = [w.count("1") for w in words]
    leading = [len(w) - len(w.lstrip("0")) for w in words]
    trailing = [len(w) - len(w.rstrip("0")) if "1" in w else 0xFFFFFFFF for w in words]
    return np.array([count, [int(w[::-1], 2) for w in words], leading, trailing], "u4")


@case("random", lambda: dwords(16))
def xorshift(x, _):
    for _ in range(8):
        for shift, count in ((np.left_shift, 13), (np.right_shift, 17), (np.left_shift, 5)):
            x = x ^ shift(x, np.uint32(count))
    return x


@case("long", lambda: R.integers(0, 1 << 63, (2, 16), dtype="u8") * 2 + 1, lambda: np.zeros(16, "u8"))
def long(a, _):
    return a[0] + a[1]


@case("gcd", lambda: dwords(2, 16, most=5000) * 6)
def gcd(a, _):
    return np.gcd(a[0], a[1])


@case("life", lambda: R.integers(0, 1 << 16, 16).astype("u2"), lambda: np.zeros(16, "u2"))
def life(rows, _):
    cells = np.pad(rows[:, None] >> np.arange(16, dtype="u2") & 1, 1).astype(int)
    around = sum(np.roll(cells, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1)) - cells
    alive = ((around == 3) | ((around == 2) & (cells == 1)))[1:-1, 1:-1]
    return (alive << np.arange(16)).sum(1).astype("u2")


# -- bytes, halves, images -----------------------------------------------------------------------------------------


@case("string", lambda: np.frombuffer(b"vector Compiler 44\0z~`{A@[ abc\0d", "u1"), lambda: np.zeros(48, "u1"))
def string(s, _):
    ends = sum(1 << k for k in np.flatnonzero(s == 0).tolist())
    head = np.frombuffer(s.tobytes().upper(), "u1")
    first = np.array([ends, int(np.flatnonzero(s == 0)[0])], "u4")
    return np.concatenate([head, first.view("u1"), np.zeros(8, "u1")])


@case("half", lambda: (R.integers(-30, 30, (2, 32)) / 4).astype("f2"), lambda: np.zeros(128, "u1"))
def half(x, _):
    product = (x[0].astype("f8") * x[1] + x[0]).astype("f2")
    sums = x[0, ::2].astype("f4") + x[0, 1::2]
    return np.concatenate([product.view("u1"), sums.astype("f2").astype("f4").view("u1")])


@case("bytes", lambda: floats(16) * 40, lambda: np.zeros(32, "u1"))
def narrow(x, _):
    n = np.rint(x)
    return np.concatenate([np.clip(n, 0, 255).astype("u1"), np.clip(n, -128, 127).astype("i1").view("u1")])


@case("blur", lambda: R.integers(0, 256, 64).astype("u1"), lambda: np.zeros(32, "u1"))
def blur(s, _):
    s = s.astype("u2")
    return ((s[:32] + 2 * s[1:33] + s[2:34] + 2) // 4).astype("u1")


@case("gray", lambda: R.integers(0, 256, (16, 4)).astype("u1"), lambda: np.zeros(16, "u1"))
def gray(s, _):
    return (s[:, :3].astype("u4") @ np.array([77, 150, 29], "u4") // 256).astype("u1")


@case("blend", lambda: R.integers(0, 256, (2, 32)).astype("u1"), lambda: np.zeros((2, 32), "u1"))
def blend(s, _):
    a, b = s.astype("u2")
    return np.array([(a + b + 1) // 2, np.minimum(a + b, 255)], "u1")


@case("lookup", lambda: R.integers(0, 256, (2, 16)).astype("u1"), lambda: np.zeros((2, 16), "u1"))
def lookup(s, _):
    rows = (s[1, :4] & 12).astype(int)
    return np.array([s[0][s[1] & 15], np.concatenate([s[0][n : n + 4] for n in rows])])


@case(
    "mandelbrot", lambda: np.array([np.linspace(-2, 0.5, 16), np.linspace(0, 1, 16)], "f4"), lambda: np.zeros(16, "i4")
)
def mandelbrot(c, _):
    counts = []
    for x, y in c.T:
        u = v = np.float32(0)
        n = 0
        while n < 40:
            s, t = u * u, v * v
            u, v, n = s - t + x, u * v + u * v + y, n + 1
            if not s + t < 4:
                break
        counts.append(n)
    return np.array(counts, "i4")


# -- flow ----------------------------------------------------------------------------------------------------------


@case("tangle", lambda: np.arange(1, 17, dtype="u4") * 3, lambda: np.zeros(16, "i4"))
def collatz(x, _):
    def steps(n):
        return 0 if n == 1 else 1 + steps(3 * n + 1 if n % 2 else n // 2)

    return np.array([steps(int(n)) for n in x], "i4")


@case(
    "interpreter", lambda: np.array([0, 1, 0, 2, 1, 1, 0, 2, 0, 3, 3, 3, 3, 3, 3, 3], "u1"), lambda: np.zeros(4, "i4")
)
def interpreter(code, _):
    x = 0
    for op in code.tolist():
        if op == 3:
            break
        x = (x + 1, 2 * x, -x)[op]
    return np.full(4, x, "i4")


@case("call", lambda: np.arange(-3, 5, dtype="i4"), lambda: np.zeros(8, "i4"))
def call(x, _):
    return (x * x + 3) ** 2 + 3


@case(
    "pointers",
    lambda: np.concatenate([R.integers(0, 4, 16).astype("u1"), np.arange(8, dtype="i4").view("u1")]),
    lambda: np.zeros(8, "i4"),
)
def pointers(data, _):
    x = data[16:].view("i4")
    for f in data[:16].tolist():
        x = (x + 1, 2 * x, -x, np.roll(x, -1))[f]
    return x


@case("recursion", lambda: np.array([0, 1, 2, 3, 5, 7, 8, 6], "i4"), lambda: np.zeros(8, "i4"))
def fibonacci(x, _):
    def f(n):
        return n if n < 2 else f(n - 1) + f(n - 2)

    return np.array([f(n) for n in x.tolist()], "i4")


# -- memory and threads --------------------------------------------------------------------------------------------


@case("permute", lambda: R.permutation(16).astype("u4"))
def permute(indices, _):
    out = np.zeros(16, "u4")
    out[15 - indices] = indices[indices]
    return out


@case("counters", lambda: dwords(16, most=1000), lambda: np.zeros(8, "u4"), threads=3, groups=2)
def counters(x, _):
    sums = [6 * x[x & 3 == k].sum() for k in range(4)]
    return np.array([*sums, *(x[x & 3 == k].max(initial=0) for k in range(4))], "u4")


@case("swap", lambda: R.permutation(40)[:8].astype("u4") + 1)
def swap(keys, _):
    table = np.zeros(16, "u4")
    waiting = [(int(k) * 7 & 15, int(k)) for k in keys]
    while waiting:
        again = []
        for place, key in waiting:
            if table[place]:
                again.append((place + 1 & 15, key))
            else:
                table[place] = key
        waiting = again
    return table


@case("reverse", lambda: dwords(64), lambda: np.zeros(64, "u4"), threads=8)
def reverse(x, _):
    return x[::-1]


@case("histogram", lambda: R.integers(0, 256, 64).astype("u1"), threads=4)
def histogram(x, _):
    return np.bincount(x & 15, minlength=16).astype("u4")


@case("stencil", lambda: floats(64), lambda: np.zeros(64, "f4"), threads=4)
def stencil(x, _):
    for _ in range(10):
        e = np.pad(x, 1, "edge")
        x = (x + e[:-2] + e[2:]) * np.float32(1 / 3)
    return x


@case("named", lambda: dwords(64), lambda: np.zeros(64, "u4"), threads=4, platforms=NEWER)
def named(x, _):
    return np.roll(x, -16)


@case("surfaces", lambda: dwords(64), lambda: np.zeros(64, "u4"), platforms=("dg2", "pvc", "bmg"))
def surfaces(x, out):
    out[::4], out[1::4] = x[2::4], x[::4]
    return out


@case("last", lambda: dwords(16))
def last(x, _):
    return x


# -- instructions of few platforms -----------------------------------------------------------------------------------


@case("carry", lambda: dwords(3, 16), lambda: np.zeros(32, "u4"), platforms=("pvc", "bmg", "cri"))
def carry(x, _):
    sums = x.astype("u8").sum(0)
    bits = sum(1 << k for k in np.flatnonzero(sums >> 32).tolist())
    return np.array([*(sums & 0xFFFFFFFF), bits, *[0] * 15], "u4")


@case(
    "curves", lambda: R.uniform(0.1, 6, 16).astype("f4"), lambda: np.zeros((4, 16), "f4"), platforms=("cri",), rtol=2e-7
)
def curves(x, _):
    d = x.astype("f8")
    return np.array([np.tanh(d), 1 / (1 + np.exp(-d)), x[0] / d, 1 / np.sqrt(d)], "f4")


@case("noise", lambda: dwords(32), lambda: np.zeros(32, "u4"), platforms=("cri",))
def noise(given, _):
    x, table = given[:16], given[16:]
    for _ in range(4):
        x = x >> np.uint32(1) ^ np.where(x & 1, np.uint32(0xA3000000), np.uint32(0))
    low, high = x & 15, x >> np.uint32(4) & 15
    return np.concatenate([table[low] & 0xFFFF | table[high] & 0xFFFF0000, x])


@case(
    "narrow",
    lambda: (R.uniform(0.25, 60, 16) * R.choice([-1, 1], 16)).astype("f2"),
    lambda: np.zeros((2, 16), "f2"),
    platforms=NEWER,
)
def to_bytes(h, _):
    """The upper byte of a half is the number; the random bits are added below it, and the rest is cut."""
    bits = h.view("u2").astype("u4")
    return np.array([(bits + noise & 0xFF00) for noise in (0, 0xFF)]).astype("u2").view("f2")


# -- matrices ------------------------------------------------------------------------------------------------------


@case("tile", lambda: dwords(16, 16), lambda: np.zeros((16, 16), "u4"), platforms=NEWER)
def tile(x, out):
    out[2:10, 4:12] = x[4:12, 8:].T
    out[8:, 8:] = x[:8, :8].T
    return out


@case(
    "product", lambda: (R.integers(-8, 8, (24, 32)) / 4).astype("f2"), lambda: np.zeros((8, 16), "f4"), platforms=NEWER
)
def product(x, _):
    return x[:8, :16].astype("f4") @ x[8:, :16].astype("f4")


@case("product8", lambda: R.integers(0, 256, 512).astype("u1"), lambda: np.zeros((8, 8), "i4"), platforms=("dg2",))
def product8(x, _):
    a, b = x[:256].reshape(8, 32), x[256:].view("i1").reshape(8, 8, 4)
    return a.astype("i4") @ b.transpose(0, 2, 1).reshape(32, 8).astype("i4")


@case(
    "scaled",
    lambda: np.concatenate(
        [(R.integers(-8, 8, 384) / 4).astype("f2").view("u1"), R.choice([120, 126, 127, 128, 131], 128).astype("u1")]
    ),
    lambda: np.zeros((8, 16), "f4"),
    platforms=("cri",),
)
def scaled(data, _):
    """Dword k of a column and of a row has the halves 2k and 2k + 1; a scale is an exponent."""
    w, x = data[:512].view("f2").reshape(8, 16, 2), data[512:768].view("f2").reshape(8, 8, 2)
    columns, rows = np.exp2(data[768:784] - 127.0), np.exp2(data[832:840] - 127.0)
    return (np.einsum("kcn,rkn->rc", w.astype("f8"), x.astype("f8")) * columns * rows[:, None]).astype("f4")


@case("nibbles", lambda: (R.integers(-40, 41, 64) / 4).astype("f2"), platforms=("cri",))
def nibbles(h, _):
    """Mode 0: the pair of the first source in bits 0 to 7, that of the second from bit 16 on."""
    codes = (np.clip(np.rint(h.astype("f8")), -8, 7).astype("i4") & 15).astype("u4").reshape(2, 16, 2)
    pairs = codes[..., 0] | codes[..., 1] << np.uint32(4)
    return pairs[0] | pairs[1] << np.uint32(16)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_of_paged_attention(engine):
    """Two heads, a page of 16 keys for each of two threads; halves between the products are the kernel's only rounding."""
    seed("attention")
    q, k, v = (R.normal(size=shape).astype("f2") for shape in ((8, 32), (128, 32), (128, 32)))
    pages = np.array([5, 2], "u4")
    out = np.zeros((8, 32), "f4")
    vsim.load(build_text(text_for("attention", "bmg"), "bmg")).launch("k", 4, 2, [q, k, v, pages, out], engine=engine)
    rows = np.concatenate([np.arange(16 * p, 16 * p + 16) for p in pages])
    for head in (slice(0, 16), slice(16, 32)):
        scores = q[:, head].astype("f8") @ k[rows, head].astype("f8").T / 4
        weights = np.exp(scores - scores.max(1, keepdims=True))
        wanted = weights / weights.sum(1, keepdims=True) @ v[rows, head].astype("f8")
        np.testing.assert_allclose(out[:, head], wanted, 0, 2e-3)


IMAGES = [
    ("invert", "skl"),
    ("invert", "tgllp"),
    ("texels", "tgllp"),
    ("texels", "pvc"),
    ("texels", "bmg"),
    ("elements", "dg2"),
    ("elements", "bmg"),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "platform"), IMAGES)
def test_images(name, platform, engine):
    """Media blocks, samplers and typed messages of one thread."""
    seed(name)
    is_bytes = name == "invert"
    pixels = R.integers(0, 256, (8, 12, 4)).astype("u1") if is_bytes else floats(5, 7, 4)
    image = ImageArgument(pixels.copy(), "rgba_u8" if is_bytes else "rgba_f32")
    out = np.zeros((4, 4, 4), "u1") if is_bytes else np.zeros((4, 4, 4), "f4")
    arguments = [BufferArgument(out), image, *([SamplerArgument(False, "clamp_edge")] if name == "texels" else [])]
    Program(build_text(text_for(name, platform), platform)).run(Launch("k", (1,), (1,), args=arguments), engine=engine)
    if is_bytes:
        pixels[2:6, 4:8] = ~pixels[2:6, 4:8]
        np.testing.assert_array_equal(out, pixels[2:6, 4:8])
    else:
        np.testing.assert_array_equal(out, pixels[:4, :4].transpose(2, 0, 1))
        if name == "elements":
            pixels[3, 3, 0] = pixels[0, 0, 0]
    np.testing.assert_array_equal(image.array, pixels)


@pytest.mark.parametrize(("name", "platform", "engine"), each_engine({n: c.platforms for n, c in CASES.items()}))
def test_kernels_agree_with_numpy(name, platform, engine):
    seed(name)
    c = CASES[name]
    given, out = c.data(), c.result()
    wanted = c.model(given.copy(), out.copy())
    vsim.load(build_text(text_for(name, platform), platform)).launch(
        "k", c.threads * c.groups, c.threads, [given, out], engine=engine
    )
    np.testing.assert_allclose(out, wanted, c.rtol, 0)


@pytest.mark.parametrize(("name", "engine"), [(n, ENGINES[k % 2]) for k, n in enumerate(CASES, 1)])
def test_checks_find_nothing(name, engine):
    """Lanes that are no work-items, and threads that share memory behind barriers, are no mistakes."""
    seed(name)
    c, platform = CASES[name], CASES[name].platforms[-1]
    program = vsim.load(build_text(text_for(name, platform), platform))
    arrays = [c.data(), c.result()]
    assert not program.launch("k", c.threads * c.groups, c.threads, arrays, engine=engine, check=["all"]).findings


def test_every_text_has_a_model():
    assert sorted(p.stem for p in TEXTS.glob("*.visaasm")) == sorted({*CASES, "attention", *(n for n, _ in IMAGES)})
