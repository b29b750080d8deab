"""Formats of four and eight bits on both engines against models in integers and fractions: srnd, dnscl, shfl_idx4, bdpas, and lfsr beside them."""

import itertools
import math
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import scalar
from support.probe import Probe
from support.scalar import FLOATS, narrow_floats, packed
from support.strategies import CHECKED, ENGINES, RUNNING, numbers, seeds


def words_of(values, t):
    """The bits of numbers of a type of two bytes."""
    return [int.from_bytes(scalar.encode(x, t), "little") for x in values]


def same(probe, name, wanted):
    """A variable holds these numbers on both engines."""
    for engine in ENGINES:
        assert probe.run(engine)[name][: len(wanted)].tolist() == wanted, engine


# -- lfsr ------------------------------------------------------------------------------------------------------


def galois(seed, polynomial, bits):
    """One step of a register that shifts right."""
    return seed >> 1 ^ (polynomial if seed & 1 else 0)


@CHECKED
@given(st.data(), st.sampled_from([("b32", 32), ("b16v2", 16), ("b8v4", 8)]), RUNNING, st.booleans())
def test_lfsr(data, form, running, constant):
    name, bits = form
    seeds_, polynomials = (data.draw(numbers("ud", 16)) for _ in range(2))
    polynomials = [0x8E8E8E8E] * 16 if constant else polynomials
    probe = Probe("cri", running=running)
    probe.fill(S=("ud", seeds_), P=("ud", polynomials), R=("ud", [7] * 16))
    second = "0x8E8E8E8E:ud" if constant else "P(0,0)<1;1,0>"
    probe.lines.append(f"lfsr.{name} (M1, 16) R(0,0)<1> S(0,0)<1;1,0> {second}")
    wanted = []
    for lane, (x, p) in enumerate(zip(seeds_, polynomials, strict=True)):
        parts = [
            galois(scalar.bits_of(x >> at, bits), scalar.bits_of(p >> at, bits), bits) for at in range(0, 32, bits)
        ]
        wanted.append(packed(parts, bits)[0] if running >> lane & 1 else 7)
    same(probe, "R", wanted)


def test_published_polynomials_have_their_full_period():
    """0x8E and 0xB400, which the compiler's library uses, visit every number but 0: only to the right."""
    for polynomial, bits in ((0x8E, 8), (0xB400, 16)):
        x, seen = 1, set()
        while x not in seen:
            seen.add(x)
            x = galois(x, polynomial, bits)
        assert len(seen) == (1 << bits) - 1


# -- srnd ------------------------------------------------------------------------------------------------------


def stochastic(x, noise, precision, saturate):
    """A code of eight bits: random bits, as a fraction of the step between the neighbours, are added, and the rest is cut."""
    sign = 0x80 if math.copysign(1, x) < 0 else 0
    values = narrow_floats(precision)
    codes = sorted((c for c in values if c < 0x80), key=values.get)
    largest = codes[-1]
    beyond = largest if saturate else {"bf8": 0x7C, "hf8": 0x7F}[precision]
    if math.isinf(x):
        return sign | beyond
    size = abs(Fraction(x))
    last = max((c for c in codes if values[c] <= size), key=values.get)
    step = values[last + 1] - values[last] if last != largest else values[last] - values[last - 1]
    code = last + math.floor((size - values[last]) / step + Fraction(noise, 256))
    return sign | (code if code <= largest else beyond)


@CHECKED
@given(
    st.data(),
    st.sampled_from(["hf", "bf"]),
    st.sampled_from([("bf8", "ub"), ("hf8", "b")]),
    st.booleans(),
    st.sampled_from(["ub", "uw"]),
)
def test_stochastic_rounding_to_bytes(data, source, form, saturate, random_type):
    (precision, t), noise = form, data.draw(numbers("ub", 16))
    lowest = 2.0 ** (-18 if source == "hf" else -24)
    seed = Random(data.draw(seeds))
    near = [
        seed.choice((1, -1)) * seed.choice((lowest, 2.0**-10, 1.0, 256.0, 4e4)) * seed.random() * 4 for _ in range(8)
    ]
    values = [x for x in data.draw(numbers(source, 7)) if x == x] + [scalar.narrow(x, source) for x in near]
    values = [x if math.isfinite(x) else math.copysign(math.inf, x) for x in values] + [math.inf] * 7
    values = [*values[:15], -math.inf]
    probe = Probe("cri")
    probe.fill(X=(source, values), N=(random_type, noise), R=(t, [7] * 16))
    probe.lines.append(f"srnd{'.sat' if saturate else ''} (M1_NM, 16) R(0,0)<1> X(0,0)<1;1,0> N(0,0)<1;1,0>")
    wanted = [stochastic(x, n, precision, saturate) for x, n in zip(values, noise, strict=True)]
    same(probe, "R", [c - 256 if t == "b" and c > 127 else c for c in wanted])


@pytest.mark.parametrize("source", ["hf", "bf"])
def test_numbers_that_are_none_stay_so(source):
    probe = Probe("cri")
    probe.fill(X=(source, [math.nan] * 16), N=("ub", range(0, 256, 16)), R=("ub", [7] * 16), S=("b", [7] * 16))
    probe.lines += [f"srnd (M1_NM, 16) {r}(0,0)<1> X(0,0)<1;1,0> N(0,0)<1;1,0>" for r in "RS"]
    for engine in ENGINES:
        found = probe.run(engine)
        assert all(c & 0x7C == 0x7C and c & 3 for c in found["R"][:16].tolist())
        assert all(c & 0x7F == 0x7F for c in found["S"][:16].tolist())


# -- dnscl -----------------------------------------------------------------------------------------------------


def to_four_bits(x, target, noise):
    """The code of a number; without noise of the nearest of two neighbours, of two equally near the even one."""
    negative = math.copysign(1, x) < 0
    if target == "int4":
        values = {n: Fraction(n) for n in range(8 + negative)}
    else:
        values = {c: v for c, v in narrow_floats("e2m1").items() if c < 8}
    largest = max(values)
    size = min(abs(Fraction(x)) if math.isfinite(x) else values[largest], values[largest]) if x == x else Fraction(0)
    last = max(c for c in values if values[c] <= size)
    code = last
    if last != largest:
        part = (size - values[last]) / (values[last + 1] - values[last])
        if noise is None:
            code += part > Fraction(1, 2) or (part == Fraction(1, 2) and last % 2)
        else:
            code += math.floor(part + Fraction(noise, 1 << 16))
    return (-code if negative else code) & 15 if target == "int4" else code | 8 * negative


def downscaled(low0, high0, low1, high1, noise, mode, target):
    """A dword of the table of packing modes: four bits for each of four numbers."""
    first = (low0, low1) if mode & 1 else (low0, high0)
    second = (high0, high1) if mode & 1 else (low1, high1)
    codes = [to_four_bits(x, target, n) for x, n in zip((*first, *second), noise * 2, strict=True)]
    return ((codes[0] | codes[1] << 4) | (codes[2] | codes[3] << 4) << 16) << (8 if mode & 2 else 0)


@CHECKED
@given(
    st.data(),
    st.sampled_from(["hf", "bf"]),
    st.sampled_from(["e2m1", "int4"]),
    st.integers(0, 3),
    st.booleans(),
    RUNNING,
)
def test_down_scaling(data, source, target, mode, nearest, running):
    seed = Random(data.draw(seeds))
    special = [x / 4 for x in range(-40, 41)] + [math.inf, -math.inf, -0.0]

    def value():
        if seed.random() < 0.5:
            return seed.choice(special)
        return scalar.narrow(seed.uniform(-9, 9) * 2.0 ** seed.choice((0, 0, -3, -9)), source)

    words = [[value() for _ in range(32)] for _ in range(2)]
    words[0][5] = math.nan
    noise = [seed.randrange(1 << 16) for _ in range(32)]
    probe = Probe("cri", running=running)
    probe.fill(**{n: ("ud", packed(words_of(v, source), 16)) for n, v in zip("XY", words, strict=True)})
    probe.fill(N=("ud", packed(noise, 16)), R=("ud", [7] * 16))
    third = "%null.0" if nearest else "N.0"
    probe.lines.append(
        f"dnscl.{source}to{target}.mode{mode}.{'rne' if nearest else 'srnd'} (M1, 16) R.0 X.0 Y.0 {third}"
    )
    wanted = []
    for lane in range(16):
        places = slice(2 * lane, 2 * lane + 2)
        random = (None, None) if nearest else tuple(noise[places])
        wanted.append(
            downscaled(*words[0][places], *words[1][places], random, mode, target) if running >> lane & 1 else 7
        )
    same(probe, "R", wanted)


def test_down_scaling_of_one_lane_and_two_registers():
    probe = Probe("cri", lanes=32)
    halves = [x / 2 for x in range(-32, 32)]
    probe.fill(X=("ud", packed(words_of(halves, "hf"), 16)), R=("ud", [7] * 32), S=("ud", [7] * 16))
    probe.lines += [
        "dnscl.hftoint4.mode0.rne (M1, 32) R.0 X.0 X.0 %null.0",
        "dnscl.hftoe2m1.mode3.rne (M1_NM, 1) S.0 X.68 X.68 %null.0",
    ]
    none = (None, None)
    pairs = list(zip(halves[::2], halves[1::2], strict=True))
    same(probe, "R", [downscaled(*p, *p, none, 0, "int4") for p in pairs])
    same(probe, "S", [downscaled(*pairs[17], *pairs[17], none, 3, "e2m1"), *[7] * 15])


# -- shfl_idx4 -------------------------------------------------------------------------------------------------


@CHECKED
@given(st.data(), st.sampled_from([("ub", 4), ("uw", 2)]), st.sampled_from([16, 32]), RUNNING)
def test_look_up(data, form, size, running):
    """Part j comes from part j of the dword that index j names; a table of 16 dwords serves all lanes."""
    t, stride = form
    table, indices = data.draw(numbers("ud", 16)), data.draw(numbers(t, size * stride))
    column = data.draw(st.integers(0, stride - 1)) if size == 16 else 0
    probe = Probe("cri", lanes=size, running=running if size == 16 else None)
    probe.fill(T=("ud", table), X=(t, [*indices, *[0] * stride]), R=("ud", [7] * size))
    region = "<1;1,0>" if size == 16 else "<0;16,1>"
    probe.lines.append(f"shfl_idx4 (M1, {size}) R.0 T(0,0){region} X(0,{column})<{stride};1,0>")
    parts = 8 // stride
    wanted = []
    for lane in range(size):
        x, bits = [*indices, 0, 0, 0][lane * stride + column], 32 // parts
        chosen = [scalar.bits_of(table[x >> 4 * j & 15] >> bits * j, bits) for j in range(parts)]
        wanted.append(packed(chosen, bits)[0] if size == 32 or running >> lane & 1 else 7)
    same(probe, "R", wanted)


def test_look_up_shuffles_dwords():
    """The order that the compiler's library gives to the 32 words of its reduction of 32 rows makes them 0, 1, ... 31."""
    rows, order = ([int(f"{n:0{bits}b}"[::-1], 2) for n in range(1 << bits)] for bits in (5, 4))
    probe = Probe("cri")
    probe.fill(T=("ud", packed(rows, 16)), X=("ud", [0x11 * k for k in order]), R=("ud", [7] * 16))
    probe.declarations.append(".decl XB v_type=G type=ub num_elts=64 alias=<X, 0>")
    probe.lines.append("shfl_idx4 (M1_NM, 16) R.0 T(0,0)<1;1,0> XB(0,0)<4;1,0>")
    same(probe, "R", [k | (k + 16) << 16 for k in range(16)])


# -- bdpas -----------------------------------------------------------------------------------------------------


def scale(code):
    """The value of a byte of e8m0."""
    return math.nan if code == 255 else Fraction(2) ** (code - 127)


@pytest.mark.parametrize("precision", ["bf", "hf", "bf8", "hf8", "e2m1"])
@CHECKED
@given(
    seeds,
    st.sampled_from([("f", "f"), ("f", "narrow"), ("narrow", "f"), ("narrow", None)]),
    st.sampled_from(["", "lanes", "rows"]),
)
def test_block_scaled_products(precision, seed, results, missing):
    """dst[r][n] = src0[r][n] + for each block the sum of its products, times the scales of lane and row."""
    random, bits = Random(seed), {"bf": 16, "hf": 16, "e2m1": 4}.get(precision, 8)
    each, lanes, depth, rows = 32 // bits, 16, 8, 8
    dst, acc = ((precision if precision == "hf" else "bf") if t == "narrow" else t for t in results)
    if bits == 16:
        exact = [Fraction(random.randrange(-9, 10), 4) for _ in range(64)]
        values = {words_of([float(x)], precision)[0]: x for x in exact}
    else:
        values = {c: x for c, x in narrow_floats(precision).items() if abs(x) <= 8 and x % Fraction(1, 16) == 0}
    codes = sorted(values)
    w, x = ([random.choice(codes) for _ in range(n * depth * each)] for n in (lanes, rows))
    sums = [float(random.randrange(-9, 10)) for _ in range(rows * lanes)] if acc else [0.0] * rows * lanes
    by_lane, by_row = ([random.choice([120, 126, 127, 128, 131]) for _ in range(64)] for _ in range(2))
    by_lane[3], by_row[5] = (255, 0) if random.random() < 0.2 else (by_lane[3], by_row[5])
    at_lane, at_row = random.choice((0, 16)), random.choice((0, 8, 16, 24))
    probe = Probe("cri")
    probe.fill(
        W=("ud", packed(w, bits)),
        X=("ud", packed(x, bits)),
        R=(dst, [7.0] * rows * lanes),
        A=("ub", by_lane),
        B=("ub", by_row),
    )
    if acc:
        probe.fill(C=(acc, sums))
    first, second = (
        "%null(0,0)" if missing == m else f"{n}(0,{at})"
        for m, n, at in (("lanes", "A", at_lane), ("rows", "B", at_row))
    )
    probe.lines.append(
        f"bdpas.{precision}.{precision}.8.8 (M1, 16) R.0 {'C.0' if acc else '%null.0'} W.0 X.0 {first} {second}"
    )
    wanted = []
    for r, n in itertools.product(range(rows), range(lanes)):
        total = Fraction(sums[r * lanes + n])
        for block in range(max(1, each // 4)):
            factor = 1 if missing == "lanes" else scale(by_lane[at_lane + 32 * block + n])
            factor *= 1 if missing == "rows" else scale(by_row[at_row + 32 * block + r])
            steps = itertools.product(range(4 * block, 4 * block + 4) if each == 8 else range(depth), range(each))
            part = sum(values[w[(d * lanes + n) * each + k]] * values[x[(r * depth + d) * each + k]] for d, k in steps)
            total += part * factor
        wanted.append(total if total != total else scalar.narrow(float(total), "f"))
    for engine in ENGINES:
        for got, exact in zip(scalar.decode(probe.run(engine)["R"], dst), wanted, strict=False):
            assert scalar.agree(got, exact if exact != exact or dst == "f" else scalar.narrow(exact, dst), dst)
    assert dst in FLOATS
