"""Arithmetic, logic, moves and comparisons on both engines against the scalar model of scalar.py."""

import itertools
import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import scalar
from support.probe import Probe
from support.scalar import INTEGERS, LANEWISE, ROUNDED, SHIFTS, SIZES
from support.strategies import (
    ARITHMETIC_MODIFIERS,
    CHECKED,
    ENGINES,
    FUZZ,
    PACKED,
    RUNNING,
    Source,
    lanewise,
    numbers,
    seeds,
    sources,
    surroundings,
)

APPROXIMATE = {"exp": 1, "log": 1, "sin": 1, "cos": 1, "pow": 1}
"""Units in the last place; of df in PRECISE."""
PRECISE = {"exp": 4, "log": 4, "sin": 4, "cos": 4, "pow": 4096}


def result(case, i):
    """The number that lane i of the destination gets, in the type of the destination."""
    sources = [case.sources[0 if case.chosen(i) else 1]] if case.name == "sel" else case.sources
    types, values = [s.type for s in sources], [s.lane(i) for s in sources]
    return scalar.result(case.name, types, values, case.dst, case.saturate)


def check(cases, running):
    """Run the cases on both engines and compare every element of every destination."""
    probe = Probe(running=running)
    for case in cases:
        case.declare(probe)
    for engine in ENGINES:
        found = probe.run(engine)
        for case in cases:
            wanted = list(case.before)
            for i in range(case.size):
                if case.runs(i, running) and (case.chosen(i) or case.name == "sel"):
                    wanted[i * case.stride] = result(case, i)
            got = scalar.decode(found[f"D{case.number}"], case.dst)
            for at, (a, b) in enumerate(zip(got, wanted, strict=False)):
                ulps = (PRECISE if case.dst == "df" else APPROXIMATE).get(case.name, 0)
                lane = at // case.stride
                inputs = [s.lane(lane) for s in case.sources] if lane < case.size else []
                assert scalar.agree(a, b, case.dst, ulps), (
                    f"{engine}: {case.text}: element {at} is {a!r}, expected {b!r} of {inputs}, running {running:#x}"
                )


COUNTS = st.sampled_from([1, *[10 if FUZZ else 6] * 9])
"""Instructions in a program; one in the simplest, in which all would be the same."""
NAMES = sorted({*LANEWISE, *ROUNDED, *SHIFTS, "cbit", "lzd", "bfn"})


@pytest.mark.parametrize("name", NAMES)
@CHECKED
@given(st.data())
def test_lanewise(name, data):
    check([data.draw(lanewise(name, n)) for n in range(data.draw(COUNTS))], data.draw(RUNNING))


# -- moves, selection, comparison ------------------------------------------------------------------------------

ANY = sorted(SIZES)
TOGETHER = {"f": ("f", "hf", "bf"), "hf": ("f", "hf"), "bf": ("f", "bf"), "df": ("df",)}
"""Types of results of selections of floats."""


@st.composite
def move(draw, name, number):
    size = draw(st.sampled_from([1, 4, 8, 16]))
    modifiers = ARITHMETIC_MODIFIERS if name == "mov" else ("",)
    kind = draw(st.sampled_from(["", "", "", *(PACKED if name == "mov" and size > 1 else ())]))
    if kind:
        bits, (t, pick) = draw(st.integers(0, (1 << 32) - 1)), PACKED[kind]
        operands = [Source(t, f"{bits:#x}:{kind}", [pick(bits, i) for i in range(16)], lambda i: i, "", False)]
    elif name == "sel":
        family = draw(
            st.sampled_from(
                [("d", "w", "b"), ("ud", "uw", "ub"), ("f",), ("hf",), ("df",), ("q", "d"), ("uq",), ("bf",)]
            )
        )
        operands = [draw(sources(f"S{number}_{k}", family, size)) for k in range(2)]
    else:
        operands = [draw(sources(f"S{number}_0", ANY, size, modifiers))]
    dst = draw(st.sampled_from(ANY if name == "mov" else TOGETHER.get(operands[0].type, sorted(INTEGERS))))
    saturate = name == "mov" and "bf" not in (dst, operands[0].type) and draw(st.integers(0, 3)) == 0
    case = draw(surroundings(name, number, dst, operands, size, saturate))
    if name == "sel" and not case.predicate:
        case.predicate = (False, "", draw(st.integers(0, 65535)))
    return case


@pytest.mark.parametrize("name", ["mov", "sel"])
@settings(CHECKED, max_examples=3 * CHECKED.max_examples)
@given(st.data())
def test_moves(name, data):
    check([data.draw(move(name, n)) for n in range(data.draw(COUNTS))], data.draw(RUNNING))


ROUNDING = {"up": 0x10, "down": 0x20, "zero": 0x30}


@pytest.mark.parametrize("mode", ROUNDING)
@CHECKED
@given(st.data())
def test_rounding_modes(mode, data):
    """Conversions between all types, and the arithmetic of each float type."""
    probe, wanted = Probe(), {}
    probe.lines.append(f"or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {ROUNDING[mode]:#x}:ud")
    for t in ("hf", "f", "df"):
        for source in (t for t in SIZES if t != "bf"):
            x = data.draw(numbers(source, 16))
            name = f"{source}_to_{t}"
            probe.variable(f"S_{name}", source, x)
            probe.variable(f"D_{name}", t, bytes(16 * SIZES[t]))
            probe.lines.append(f"mov (M1, 16) D_{name}(0,0)<1> S_{name}(0,0)<1;1,0>")
            wanted[f"D_{name}"] = t, [scalar.round_to(Fraction(v), t, v, mode) if math.isfinite(v) else v for v in x]
        operands = [data.draw(numbers(t, 16)) for _ in range(3)]
        for k, values in enumerate(operands):
            probe.variable(f"X{k}_{t}", t, values)
        for op, count in (("add", 2), ("mul", 2), ("mad", 3), ("div", 2), ("inv", 1), ("sqrt", 1)):
            probe.variable(f"{op}_{t}", t, bytes(16 * SIZES[t]))
            probe.lines.append(
                f"{op} (M1, 16) {op}_{t}(0,0)<1> {' '.join(f'X{k}_{t}(0,0)<1;1,0>' for k in range(count))}"
            )
            wanted[f"{op}_{t}"] = t, [ROUNDED[op](*v[:count], t, mode) for v in zip(*operands, strict=True)]
    expect(probe, wanted)


TINY = 2.0**-1074
FUSED = [
    (-0.9, TINY, 65504.0), (0.9, TINY, 65504.0), (0.6, TINY, -TINY), (TINY, TINY, 0.0), (TINY, -TINY, TINY),
    (2.0**-500, 2.0**-500, -(2.0**-1000)), (2.0**-500, 1.1 * 2.0**-500, -(2.0**-1000)), (TINY, 1e300, -1e-20),
    (2.0**1007, 32.0, TINY), (2.0**1007, -32.0, TINY), (1.0, 2.0**1023, -TINY), (2.0**1022, 4.0, -(2.0**1023)),
    (1.0, 1.0, -TINY), (0.0, TINY, -TINY), (0.0, -1.0, 1.5), (math.inf, TINY, 1.0),
]  # fmt: skip
"""Products that are nothing but the error of a sum, or of which the addend is."""


@pytest.mark.parametrize("mode", ROUNDING)
def test_rounding_of_sums_with_tiny_and_large_products(mode):
    probe = Probe("pvc", 16)
    probe.lines.append(f"or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {ROUNDING[mode]:#x}:ud")
    for name, values in zip("XYZ", zip(*FUSED, strict=True), strict=True):
        probe.variable(name, "df", values)
    probe.variable("SUM", "df", bytes(8 * 16))
    probe.lines.append("mad (M1, 16) SUM(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0> Z(0,0)<1;1,0>")
    expect(probe, {"SUM": ("df", [scalar.fma(*v, "df", mode) for v in FUSED])})


BITS = [
    "bfi (M1, 16) {to}(0,0)<1> 22:ud 0:ud {one}(0,0)<1;1,0> {other}(0,0)<1;1,0>",
    "and (M1_NM, 16) S(0,0)<1> {one}(0,0)<1;1,0> 0xfff:ud\nand (M1_NM, 16) R(0,0)<1> {other}(0,0)<1;1,0> 0xfffff000:ud\n"
    "or (M1, 16) {to}(0,0)<1> R(0,0)<1;1,0> S(0,0)<1;1,0>",
    "xor (M1_NM, 16) S(0,0)<1> {one}(0,0)<1;1,0> {other}(0,0)<1;1,0>\nand (M1_NM, 16) S(0,0)<1> S(0,0)<1;1,0> 0xfff:ud\n"
    "xor (M1, 16) {to}(0,0)<1> S(0,0)<1;1,0> {other}(0,0)<1;1,0>",
]  # fmt: skip


@pytest.mark.parametrize("to", "AB")
@pytest.mark.parametrize("line", range(len(BITS)))
def test_bits_that_a_constant_chooses_under_a_mask(line, to):
    """Bits of the old value or another one, under a mask: the emitted IR prevents wrong selects of LLVM 22."""
    values = {"A": [0xDA79C800 + n for n in range(16)], "B": [0x12345678 * n & 0xFFFFFFFF for n in range(16)]}
    for one, other in ("AB", "BA"):
        probe = Probe("pvc", 16)
        probe.predicate("P1", 0x5AC3)
        for name in "ABRST":
            probe.variable(name, "ud", values.get(name, [0] * 16))
        *before, last = BITS[line].format(to=to, one=one, other=other).split("\n")
        probe.lines += [*before, f"(P1) {last}", f"xor (M1, 16) T(0,0)<1> {to}(0,0)<1;1,0> {to}(0,1)<0;1,0>"]
        low = (1 << 22) - 1 if line == 0 else 0xFFF
        chosen = [x & low | y & ~low for x, y in zip(values[one], values[other], strict=True)]
        kept = [c if 0x5AC3 >> n & 1 else values[to][n] for n, c in enumerate(chosen)]
        expect(probe, {to: ("ud", kept), "T": ("ud", [x ^ kept[1] for x in kept])})


@pytest.mark.parametrize("op", ["max", "min"])
def test_two_saturated_words_under_a_mask(op):
    """LLVM 22 ends the process where it joins the saturation of a pair of dwords with the mask, unless it is told."""
    probe = Probe("tgllp", 16, 0b01)
    probe.fill(X=("b", [-100] * 4), Y=("w", [-32768, -7, 300, 5]), Z=("w", [9] * 4))
    probe.lines.append(f"{op}.sat (M1, 2) Z(0,0)<1> X(0,0)<0;1,0> Y(0,0)<1;1,0>")
    expect(probe, {"Z": ("w", [-100 if op == "max" else -32768, 9])})


@pytest.mark.parametrize("size", [1, 8, 32])
def test_rounding_of_few_and_many_lanes(size):
    """Vectors shorter and longer than those of the processor's instructions."""
    probe, wanted, random = Probe("pvc", 32), {}, Random(size)
    probe.lines.append(f"or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {ROUNDING['zero']:#x}:ud")
    for t, count in (("f", size), ("df", min(size, 16))):
        operands = [[float(np.float32(random.uniform(-4, 4))) for _ in range(count)] for _ in "xyz"]
        for k, values in enumerate(operands):
            probe.variable(f"X{k}_{t}", t, values)
        for op, taken in (("add", 2), ("mad", 3), ("div", 2)):
            probe.variable(f"{op}_{t}", t, bytes(count * SIZES[t]))
            sources = " ".join(f"X{k}_{t}(0,0)<1;1,0>" for k in range(taken))
            probe.lines.append(f"{op} (M1_NM, {count}) {op}_{t}(0,0)<1> {sources}")
            wanted[f"{op}_{t}"] = t, [ROUNDED[op](*v[:taken], t, "zero") for v in zip(*operands, strict=True)]
    expect(probe, wanted)


RELATIONS = {"eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y,
             "lt": lambda x, y: x < y, "le": lambda x, y: x <= y}  # fmt: skip


@pytest.mark.parametrize("t", ["ub", "w", "hf", "bf", "d", "f", "q", "df"])
def test_cmp_gives_all_ones_of_any_type(t):
    """In active lanes; others keep their values."""
    size = SIZES[t]
    probe = probe_of(0b0111, "xehp", X=("f", [1.0, -1.0] * 8), R=(t, bytes([7]) * 16 * size))
    probe.lines.append("cmp.gt (M1, 16) R(0,0)<1> X(0,0)<1;1,0> 0.0:f")
    for engine in ENGINES:
        assert bytes(probe.run(engine)["R"])[: 5 * size] == b"".join(bytes([b]) * size for b in (255, 0, 255, 7, 7)), (
            engine
        )


@CHECKED
@given(st.data())
def test_cmp(data):
    """Into predicates, and into registers as all ones or zeros."""
    cases, running = [], data.draw(RUNNING)
    for n in range(10):
        family = data.draw(
            st.sampled_from([("d", "w", "b", "ud", "uw", "ub", "q"), ("uq", "ud"), ("f",), ("hf",), ("df",)])
        )
        size = data.draw(st.sampled_from([4, 8, 16]))
        operands = [data.draw(sources(f"S{n}_{k}", family, size, ARITHMETIC_MODIFIERS)) for k in range(2)]
        case = data.draw(
            surroundings(
                f"cmp.{data.draw(st.sampled_from(sorted(RELATIONS)))}",
                n,
                data.draw(st.sampled_from(["uw", "ud", "uq"])),
                operands,
                size,
            )
        )
        case.stride, case.extra = 1, data.draw(st.none() | st.integers(0, 65535))
        cases.append(case)
    probe = Probe(running=running)
    for case in cases:
        case.declare(probe)
        if case.extra is not None:
            probe.predicate(f"F{case.number}", case.extra)
            probe.lines[-1] = case.text.replace(f"D{case.number}(0,0)<1>", f"F{case.number}")
    for engine in ENGINES:
        found = probe.run(engine)
        for case in cases:
            bits, elements = case.extra, list(case.before)
            for i in range(case.size):
                if case.runs(i, running):
                    x, y = (s.lane(i) for s in case.sources)
                    answer, at = RELATIONS[case.name[4:]](x, y), case.offset + i
                    elements[i] = (1 << 8 * SIZES[case.dst]) - 1 if answer else 0
                    bits = None if bits is None else bits & ~(1 << at) | answer << at
            got = (
                found[f"F{case.number}"] if bits is not None else scalar.decode(found[f"D{case.number}"], case.dst)[:32]
            )
            assert got == (elements if bits is None else bits), f"{engine}: {case.text}"


@CHECKED
@given(st.data())
def test_predicates(data):
    """Logic between predicates, setp, and predicates as integers."""
    running, a, b, c, d = (data.draw(st.integers(0, 65535)) for _ in range(5))
    size, mask = data.draw(st.sampled_from([(16, "M1"), (8, "M3"), (16, "M1_NM"), (8, "M1")]))
    offset = 4 * (int(mask[1]) - 1)
    lanes = sum(1 << offset + i for i in range(size) if running and ("_NM" in mask or running >> offset + i & 1))
    wanted = {"AND": a & b, "OR": a | b, "XOR": a ^ b, "NOT": ~a, "SET": c << offset}
    probe = Probe(running=running)
    for name, bits in (("A", a), ("B", b)):
        probe.predicate(name, bits)
    for name in wanted:
        probe.predicate(name, d)
        value = "A" if name == "NOT" else f"{c:#x}:ud" if name == "SET" else "A B"
        probe.lines.append(f"{name.lower() if name != 'SET' else 'setp'} ({mask}, {size}) {name} {value}")
    for engine in ENGINES:
        found = probe.run(engine)
        for name, bits in wanted.items():
            assert found[name] == d & ~lanes | bits & lanes, f"{engine}: {name}"


# -- instructions whose lanes or operands are special ----------------------------------------------------------


def probe_of(running, platform="xehp", **variables):
    """A probe with variables given as type and values."""
    probe = Probe(platform, running=running)
    probe.fill(**variables)
    return probe


def lanes_of(running, size=16):
    return [i for i in range(size) if running >> i & 1]


def expect(probe, wanted, ulps=0):
    """Every variable of ``wanted`` holds these numbers on both engines."""
    for engine in ENGINES:
        found = probe.run(engine)
        for name, (t, values) in wanted.items():
            got = scalar.decode(found[name], t)
            for at, (a, b) in enumerate(zip(got, values, strict=False)):
                if b is not None:
                    assert scalar.agree(a, b, t, ulps), (
                        f"{engine}: {name} ({len(probe.lines)} lines): element {at} of {name} is {a!r}, expected {b!r}"
                    )


@CHECKED
@given(st.data(), st.sampled_from(["f", "df"]), RUNNING, st.booleans())
def test_beginnings_of_divisions(data, t, running, negative):
    """The predicate has the lanes whose result is NaN, infinite or zero; lanes that do not execute keep their bits."""
    x, y = (data.draw(numbers(t, 16)) for _ in range(2))
    probe = probe_of(running, X=(t, x), Y=(t, y), Q=(t, [7.0] * 16), R=(t, [7.0] * 16))
    probe.predicate("P1", 0x5A5A)
    probe.predicate("P2", 0xA5A5)
    size = 8 if t == "df" else 16
    sign = "(-)" if negative else ""
    for half in range(0, 16, size):
        places = [f"({half // 4},0)" if t == "df" else "(0,0)"] * 4
        q, r, a, b = (name + place for name, place in zip("QRXY", places, strict=True))
        mask = f"(M{1 + half // 4}, {size})"
        probe.lines += [f"invm {mask} {q}<1> P1 {sign}{a}<1;1,0> {b}<1;1,0>", f"rsqtm {mask} {r}<1> P2 {a}<1;1,0>"]
    first = [scalar.div(-v if negative else v, w, t) for v, w in zip(x, y, strict=True)]
    second = [scalar.div(1.0, scalar.sqrt(v, t), t) for v in x]

    def early(values, before):
        done = sum((v == 0 or not math.isfinite(v)) << i for i, v in enumerate(values))
        return done & running | before & ~running

    lanes = lanes_of(running)
    expect(probe, {n: (t, [v[i] if i in lanes else 7.0 for i in range(16)]) for n, v in (("Q", first), ("R", second))})
    for engine in ENGINES:
        found = probe.run(engine)
        assert (found["P1"], found["P2"]) == (early(first, 0x5A5A), early(second, 0xA5A5)), engine


@CHECKED
@given(st.data())
def test_carry_and_borrow(data):
    x, y = data.draw(numbers("ud", 16)), data.draw(numbers("ud", 16))
    running = data.draw(RUNNING)
    names = ("SUM", "CARRY", "DIFFERENCE", "BORROW")
    probe = probe_of(running, X=("ud", x), Y=("ud", y), **{n: ("ud", [7] * 16) for n in names})
    probe.lines += ["addc (M1, 16) SUM(0,0)<1> CARRY(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>",
                    "subb (M1, 16) DIFFERENCE(0,0)<1> BORROW(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>"]  # fmt: skip
    wanted = {n: [7] * 16 for n in names}
    for i in lanes_of(running):
        total, difference = x[i] + y[i], x[i] - y[i]
        wanted["SUM"][i], wanted["CARRY"][i] = total & 0xFFFFFFFF, total >> 32
        wanted["DIFFERENCE"][i], wanted["BORROW"][i] = difference & 0xFFFFFFFF, int(difference < 0)
    expect(probe, {n: ("ud", v) for n, v in wanted.items()})


@CHECKED
@given(st.data(), st.sampled_from(["d", "ud", "w", "uw"]))
def test_add3_with_overflow(data, t):
    x, y, z = (data.draw(numbers(t, 16)) for _ in range(3))
    running = data.draw(RUNNING)
    probe = probe_of(running, "pvc", X=(t, x), Y=(t, y), Z=(t, z), R=(t, [7] * 16))
    probe.predicate("OVER", 0xAAAA)
    probe.lines.append("(OVER) add3.o (M1, 16) R(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0> Z(0,0)<1;1,0>")
    over, result_ = 0xAAAA, [7] * 16
    for i in lanes_of(running):
        total = x[i] + y[i] + z[i]
        result_[i] = scalar.wrap(total, t)
        over = over & ~(1 << i) | int(result_[i] != total) << i
    expect(probe, {"R": (t, result_)})
    assert all(probe.run(engine)["OVER"] == over for engine in ENGINES)


@CHECKED
@given(st.data(), st.sampled_from(["d", "ud"]), st.booleans())
def test_madw(data, t, by_address):
    """The low halves, and the high halves from the next register on, also behind a place by its address."""
    x, y, z = (data.draw(numbers(t, 16)) for _ in range(3))
    running = data.draw(RUNNING)
    probe = probe_of(running, X=(t, x), Y=(t, y), Z=(t, z), R=(t, [7] * 32))
    target = f"r[A0(0),0]<1>:{t}" if by_address else "R(0,0)<1>"
    probe.declarations += [".decl A0 v_type=A num_elts=1"] * by_address
    probe.lines += ["addr_add (M1_NM, 1) A0(0)<1> &R 0x0:uw"] * by_address
    probe.lines.append(f"madw (M1, 16) {target} X(0,0)<1;1,0> Y(0,0)<1;1,0> Z(0,0)<1;1,0>")
    wanted = [7] * 32
    for i in lanes_of(running):
        total = x[i] * y[i] + z[i]
        wanted[i], wanted[16 + i] = scalar.wrap(total, t), scalar.wrap(total >> 32, t)
    expect(probe, {"R": (t, wanted)})


@CHECKED
@given(st.data(), st.sampled_from(["d", "ud"]), st.sampled_from(["d", "ud"]), st.booleans())
def test_dp4a(data, first, second, saturate):
    base, x, y = data.draw(numbers("d", 16)), data.draw(numbers(first, 16)), data.draw(numbers(second, 16))
    running = data.draw(RUNNING)
    probe = probe_of(running, B=("d", base), X=(first, x), Y=(second, y), R=("d", [7] * 16))
    probe.lines.append(f"dp4a{'.sat' if saturate else ''} (M1, 16) R(0,0)<1> B(0,0)<1;1,0> X(0,0)<1;1,0> Y(0,0)<1;1,0>")

    def parts(v, t):
        return [scalar.wrap(v >> 8 * k, "b" if t == "d" else "ub") for k in range(4)]

    wanted = [7] * 16
    for i in lanes_of(running):
        total = base[i] + sum(a * b for a, b in zip(parts(x[i], first), parts(y[i], second), strict=True))
        wanted[i] = scalar.clamp(total, "d") if saturate else scalar.wrap(total, "d")
    expect(probe, {"R": ("d", wanted)})


@CHECKED
@given(st.data(), st.sampled_from(["ub", "b"]))
def test_sums_of_absolute_differences(data, t):
    x, y = data.draw(numbers(t, 16)), data.draw(numbers(t, 16))
    z = data.draw(numbers("w" if INTEGERS[t][1] else "uw", 16))
    dst = "w" if INTEGERS[t][1] else "uw"
    probe = probe_of(None, "skl", X=(t, x), Y=(t, y), Z=(dst, z), R=(dst, [7] * 16), A=(dst, [7] * 16))
    probe.lines += [
        "sad2 (M1, 16) R(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>",
        "sad2add (M1, 16) A(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0> Z(0,0)<1;1,0>",
    ]
    sums = [abs(x[i & ~1] - y[i & ~1]) + abs(x[i | 1] - y[i | 1]) for i in range(16)]
    even = range(0, 16, 2)
    for engine in ENGINES:
        found = probe.run(engine)
        for i in even:
            assert scalar.decode(found["R"], dst)[i] == scalar.wrap(sums[i], dst), engine
            assert scalar.decode(found["A"], dst)[i] == scalar.wrap(sums[i] + z[i], dst), engine


DOT = {"dp2": (2, False), "dp3": (3, False), "dp4": (4, False), "dph": (3, True)}


@pytest.mark.parametrize("name", DOT)
@CHECKED
@given(st.data())
def test_dot_products(name, data):
    terms, extra = DOT[name]
    x, y = data.draw(numbers("f", 16)), data.draw(numbers("f", 16))
    probe = probe_of(None, X=("f", x), Y=("f", y), R=("f", [7.0] * 16))
    probe.lines.append(f"{name} (M1, 16) R(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>")
    wanted = []
    for group in range(0, 16, 4):
        total = scalar.mul(x[group], y[group], "f")
        for k in range(1, terms):
            total = scalar.add(total, scalar.mul(x[group + k], y[group + k], "f"), "f")
        wanted += [scalar.add(total, y[group + terms], "f") if extra else total] * 4
    expect(probe, {"R": ("f", wanted)})


@CHECKED
@given(st.data(), st.sampled_from([*DOT]), RUNNING)
def test_other_lanes_sources_are_their_present_values(data, name, running):
    """Instructions that read other lanes get their present values, also values written under a mask."""
    x, w, y = (data.draw(numbers("f", 16)) for _ in range(3))
    lines = {}
    for way in ("written", "given"):
        given_x = x if way == "written" else [w[i] if running >> i & 1 else x[i] for i in range(16)]
        probe = Probe(running=running)
        probe.fill(X=("f", given_x), W=("f", w), Y=("f", y), R=("f", [7] * 16))
        if way == "written":
            probe.lines.append("mov (M1, 16) X(0,0)<1> W(0,0)<1;1,0>")
        probe.lines.append(f"{name} (M1, 16) R(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>")
        lines[way] = [probe.run(engine)["R"].tobytes() for engine in ENGINES]
    assert len({*lines["written"], *lines["given"]}) == 1


@CHECKED
@given(st.data())
def test_line_and_plane(data):
    coefficients, u, v = data.draw(numbers("f", 4)), data.draw(numbers("f", 16)), data.draw(numbers("f", 16))
    p, q, _, r = coefficients
    probe = probe_of(None, C=("f", coefficients), U=("f", u[:8] + v[:8]), L=("f", [0.0] * 8), R=("f", [0.0] * 8))
    probe.lines += [
        "line (M1, 8) L(0,0)<1> C(0,0)<0;4,1> U(0,0)<1;1,0>",
        "plane (M1, 8) R(0,0)<1> C(0,0)<0;4,1> U(0,0)<1;1,0>",
    ]
    lines = [scalar.add(scalar.mul(p, a, "f"), r, "f") for a in u[:8]]
    planes = [
        scalar.add(scalar.add(scalar.mul(p, a, "f"), scalar.mul(q, b, "f"), "f"), r, "f")
        for a, b in zip(u[:8], v[:8], strict=True)
    ]
    expect(probe, {"L": ("f", lines), "R": ("f", planes)})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("platform", ["skl", "pvc"])
def test_plane_of_sixteen_lanes(platform, engine):
    """u of eight lanes, their v, then both of the other eight, for all sizes of registers and regions."""
    pairs = [float(k * k) for k in range(32)]
    probe = probe_of(None, C=("f", [2.0, 0.5, 9.0, 1.0]), U=("f", pairs), R=("f", [0.0] * 16), S=("f", [0.0] * 8))
    probe.platform = platform
    probe.lines += [
        "plane (M1, 16) R(0,0)<1> C(0,0)<0;4,1> U(0,0)<8;8,1>",
        "plane (M1, 8) S(0,0)<1> C(0,0)<0;4,1> U(0,0)<0;1,0>",
    ]
    expected = [2 * pairs[j] + 0.5 * pairs[j + 8] + 1 for j in [*range(8), *range(16, 24)]]
    found = probe.run(engine)
    assert [*found["R"]][:16] == expected and [*found["S"]][:8] == expected[:8]


@CHECKED
@given(st.data())
def test_fcvt(data):
    """To and from the narrow floats: bf8 as ub, hf8 as b, tf32 as ud."""
    half, single, byte = data.draw(numbers("hf", 16)), data.draw(numbers("f", 16)), data.draw(numbers("ub", 16))
    probe = probe_of(None, "pvc", H=("hf", half), F=("f", single), U=("ub", byte), S=("b", [scalar.wrap(x, "b") for x in byte]),
                     BF8=("ub", [7] * 16), HF8=("b", [7] * 16), TF32=("ud", [7] * 16), FROM_BF8=("hf", [7.0] * 16), FROM_HF8=("hf", [7.0] * 16))  # fmt: skip
    probe.lines += [
        f"fcvt (M1, 16) {d}(0,0)<1> {s}(0,0)<1;1,0>"
        for d, s in (("BF8", "H"), ("HF8", "H"), ("TF32", "F"), ("FROM_BF8", "U"), ("FROM_HF8", "S"))
    ]

    def tf32(x):
        bits = np.array([x], np.float32).view(np.uint32)[0]
        return (
            int(np.array([scalar.narrow(x, "tf32")], np.float32).view(np.uint32)[0]) if math.isfinite(x) else int(bits)
        )

    def bf8(x):
        bits = np.array([scalar.narrow(x, "e5m2")], np.float16).view(np.uint16)[0]
        return int(bits >> 8)

    def hf8(x):
        sign = 0x80 if math.copysign(1, x) < 0 else 0
        near = scalar.narrow(x, "e4m3")
        if not math.isfinite(near) or abs(near) >= 480:
            return scalar.wrap(sign | 0x7F, "b")
        mantissa, exponent = math.frexp(abs(near))
        exponent += 6
        code = round(abs(near) * 512) if abs(near) < 2**-6 else exponent << 3 | round((mantissa * 2 - 1) * 8)
        return scalar.wrap(sign | code, "b")

    def from_hf8(code):
        magnitude, sign = code & 0x7F, -1.0 if code & 0x80 else 1.0
        if magnitude == 0x7F:
            return math.nan
        return sign * (magnitude / 512 if magnitude < 8 else (1 + (magnitude & 7) / 8) * 2.0 ** ((magnitude >> 3) - 7))

    nan_codes = {i for i, x in enumerate(half) if x != x}
    for engine in ENGINES:
        found = probe.run(engine)
        for i in range(16):
            if i not in nan_codes:
                assert found["BF8"][i] == bf8(half[i]) and found["HF8"][i] == hf8(half[i]), (engine, half[i])
            else:
                assert found["BF8"][i] & 0x7C == 0x7C and found["BF8"][i] & 3 and found["HF8"][i] & 0x7F == 0x7F
            assert found["TF32"][i] == tf32(single[i]) or single[i] != single[i], (engine, single[i])
            assert scalar.agree(
                float(found["FROM_BF8"][i]), float(np.array([byte[i] << 8], np.uint16).view(np.float16)[0]), "hf"
            )
            assert scalar.agree(float(found["FROM_HF8"][i]), from_hf8(byte[i]), "hf"), (engine, byte[i])


def test_saturated_fcvt():
    """Beyond the range the largest finite number; a NaN stays one. Without .sat infinity, which hf8 does not have."""
    half = [math.inf, -math.inf, 65504.0, -500.0, 448.0, 1.0, -0.0, math.nan] * 2
    names = ("BF8", "BF8_SAT", "HF8", "HF8_SAT")
    probe = probe_of(None, "pvc", H=("hf", half), **{n: ("ub" if n[0] == "B" else "b", [7] * 16) for n in names})
    probe.lines += [f"fcvt{'.sat' if '_' in n else ''} (M1_NM, 16) {n}(0,0)<1> H(0,0)<1;1,0>" for n in names]
    wanted = {"BF8": [0x7C, 0xFC, 0x7C, 0xE0, 0x5F, 0x3C, 0x80], "BF8_SAT": [0x7B, 0xFB, 0x7B, 0xE0, 0x5F, 0x3C, 0x80],
              "HF8": [0x7F, 0xFF, 0x7F, 0xFF, 0x7E, 0x38, 0x80], "HF8_SAT": [0x7E, 0xFE, 0x7E, 0xFE, 0x7E, 0x38, 0x80]}  # fmt: skip
    for engine in ENGINES:
        found = probe.run(engine)
        for name, codes in wanted.items():
            got = found[name][:8].view(np.uint8).tolist()
            assert got[:7] == codes and got[7] & 0x7F > (0x7C if name[0] == "B" else 0x7E), (engine, name)


@CHECKED
@given(st.data(), st.sampled_from(["f", "uw", "ub"]))
def test_srnd(data, noise_type):
    """The random bits are added below the last place, then the rest is cut; NaN and infinity do not change."""
    drawn = [x for x in data.draw(numbers("f", 64)) if 1e-3 < abs(x) < 6e4][:12]
    single = np.array([*drawn, math.inf, -math.inf, *[1.0] * (14 - len(drawn))], "f4")
    single.view("u4")[14:] = 0x7F800001, 0x7FFFFFFF  # NaNs, with the random bits infinity and -0
    noise = np.array(data.draw(numbers("ud", 16)), "u4")
    noise &= {"f": 0xFFFFFFFF, "uw": 0xFFFF, "ub": 0xFF}[noise_type]
    stored = noise.astype({"f": "u4", "uw": "u2", "ub": "u1"}[noise_type])
    probe = probe_of(None, "pvc", F=("f", single.tobytes()), N=(noise_type, stored.tobytes()), R=("hf", [7.0] * 16))
    probe.lines.append("srnd (M1_NM, 16) R(0,0)<1> F(0,0)<1;1,0> N(0,0)<1;1,0>")
    bits = single.view(np.uint32).astype(np.uint64) + (noise.astype(np.uint64) & 0x1FFF)
    wanted = (bits & 0xFFFFE000).astype(np.uint32).view(np.float32)
    expect(probe, {"R": ("hf", [float(x) if y == y else y for x, y in zip(wanted, single, strict=True)])})


@CHECKED
@given(st.data())
def test_register_addresses(data):
    """addr_add, addresses in moves, single- and multi-address operands."""
    x = data.draw(numbers("d", 64))
    first, places = data.draw(st.integers(0, 40)), data.draw(st.lists(st.integers(0, 63), min_size=8, max_size=8))
    probe = probe_of(
        None,
        X=("d", x),
        PLACES=("uw", [4 * p for p in places]),
        ONE=("d", [7] * 8),
        MANY=("d", [7] * 8),
        W=("d", [0] * 64),
    )
    probe.declarations += [".decl A1 v_type=A num_elts=1", ".decl A8 v_type=A num_elts=8"]
    probe.lines += [f"addr_add (M1, 1) A1(0)<1> &X {4 * first}:uw", "mov (M1, 8) ONE(0,0)<1> r[A1(0),0]<1;1,0>:d",
                    "addr_add (M1, 8) A8(0)<1> &X PLACES(0,0)<1;1,0>", "mov (M1, 8) MANY(0,0)<1> r[A8(0),0]<1,0>:d",
                    f"addr_add (M1, 1) A1(0)<1> &W {4 * first}:uw", "mov (M1, 8) r[A1(0),0]<1>:d MANY(0,0)<1;1,0>"]  # fmt: skip
    many = [x[p] for p in places]
    expect(probe, {"ONE": ("d", x[first : first + 8]), "MANY": ("d", many), "W": ("d", [0] * first + many)})


# -- systolic --------------------------------------------------------------------------------------------------

INTEGER_PRECISIONS = {
    "s8": (8, True),
    "u8": (8, False),
    "s4": (4, True),
    "u4": (4, False),
    "s2": (2, True),
    "u2": (2, False),
    "s1": (1, True),
    "u1": (1, False),
}


def unpack(words, bits, signed):
    """The elements of dwords, lowest first."""
    found = []
    for word in words:
        for k in range(32 // bits):
            v = word >> (bits * k) & ((1 << bits) - 1)
            found.append(v - (1 << bits) if signed and v >> (bits - 1) else v)
    return found


@CHECKED
@given(
    st.data(),
    st.sampled_from(sorted(INTEGER_PRECISIONS)),
    st.sampled_from(sorted(INTEGER_PRECISIONS)),
    st.sampled_from([1, 2, 3, 8]),
)
def test_dpas_of_integers(data, weight, activation, rows):
    """dst[r][n] = src0[r][n] + sum of src1[d][n] * src2[r][d] over depth and groups of four or eight elements."""
    (wb, ws), (ab, as_) = INTEGER_PRECISIONS[weight], INTEGER_PRECISIONS[activation]
    ops = 4 if 8 in (wb, ab) else 8
    seed = np.random.default_rng(data.draw(seeds))
    lanes, depth = 8, 8
    acc = seed.integers(-(1 << 31), 1 << 31, rows * lanes).astype("i4")
    first = seed.integers(0, 1 << 32, depth * lanes, dtype="u4")
    second = seed.integers(0, 1 << 32, rows * depth, dtype="u4")
    probe = probe_of(
        None, A=("d", acc.tobytes()), W=("ud", first.tobytes()), X=("ud", second.tobytes()), R=("d", [7] * rows * lanes)
    )
    mnemonic = data.draw(st.sampled_from(["dpas", "dpasw"])) if rows == 8 else "dpas"
    probe.lines.append(f"{mnemonic}.{weight}.{activation}.{depth}.{rows} (M1, {lanes}) R.0 A.0 W.0 X(0,0)")
    # A dword of a lane's weights has as many steps of the depth as fit; activations stand one behind the other.
    per_dword = 32 // wb
    weights = unpack(first.tolist(), wb, ws)
    activations = unpack(second.tolist(), ab, as_)
    wanted = []
    for r in range(rows):
        for n in range(lanes):
            total = int(acc[r * lanes + n])
            for d in range(depth):
                for k in range(ops):
                    total += (
                        weights[(d * ops // per_dword * lanes + n) * per_dword + d * ops % per_dword + k]
                        * activations[(r * depth + d) * ops + k]
                    )
            wanted.append(scalar.wrap(total, "d"))
    expect(probe, {"R": ("d", wanted)})


@CHECKED
@given(st.data(), st.sampled_from(["hf", "bf"]))
def test_dpas_of_floats(data, precision):
    seed = Random(data.draw(seeds))
    lanes, depth, rows = 8, 8, 4
    acc = [scalar.narrow(seed.uniform(-9, 9), "f") for _ in range(rows * lanes)]
    w = [scalar.narrow(seed.uniform(-9, 9), precision) for _ in range(depth * lanes * 2)]
    x = [scalar.narrow(seed.uniform(-9, 9), precision) for _ in range(rows * depth * 2)]
    probe = probe_of(None, A=("f", acc), W=(precision, w), X=(precision, x), R=("f", [7.0] * rows * lanes))
    probe.lines.append(f"dpas.{precision}.{precision}.{depth}.{rows} (M1, {lanes}) R.0 A.0 W.0 X(0,0)")
    wanted = []
    for r in range(rows):
        for n in range(lanes):
            total = acc[r * lanes + n]
            for d in range(depth):
                for k in range(2):
                    total = scalar.fma(w[(d * lanes + n) * 2 + k], x[(r * depth + d) * 2 + k], total, "f")
            wanted.append(total)
    expect(probe, {"R": ("f", wanted)})


@pytest.mark.parametrize("engine", ENGINES)
def test_words_are_accumulators_of_bf(engine):
    """Older compilers declare words (docs/deviations.md): the results have the same bits as with variables of bf."""
    seed = np.random.default_rng(8)
    acc = (seed.integers(0x3F80, 0x4100, 32)).astype("i2")
    w, x = (seed.integers(0x3F00, 0x4000, n).astype("u2") for n in (256, 32))
    probe = Probe("pvc")
    probe.fill(A=("bf", acc.tobytes()), AW=("w", acc.tobytes()), W=("ud", w.tobytes()), X=("ud", x.tobytes()),
               R=("bf", bytes(64)), RW=("w", bytes(64)))  # fmt: skip
    probe.lines += ["dpas.bf.bf.8.2 (M1, 16) R.0 A.0 W.0 X(0,0)", "dpas.bf.bf.8.2 (M1, 16) RW.0 AW.0 W.0 X(0,0)"]
    found = probe.run(engine)
    assert found["RW"].tobytes() == found["R"].tobytes() != bytes(64)


@CHECKED
@given(seeds, st.sampled_from(["hf8", "bf8", "e2m1"]))
def test_dpas_of_narrow_floats(seed, precision):
    """Every code but NaN and infinity; products and sums of so few small ones are exact."""
    random, bits = Random(seed), 4 if precision == "e2m1" else 8
    each, lanes, depth, rows = 32 // bits, 16, 8, 2
    values = scalar.narrow_floats(precision)
    codes = sorted(values)
    w, x = ([random.choice(codes) for _ in range(n * depth * each)] for n in (lanes, rows))
    acc = [float(random.randrange(-9, 10)) for _ in range(rows * lanes)]
    probe = Probe("bmg")
    probe.fill(
        A=("f", acc), W=("ud", scalar.packed(w, bits)), X=("ud", scalar.packed(x, bits)), R=("f", [7.0] * rows * lanes)
    )
    probe.lines.append(f"dpas.{precision}.{precision}.{depth}.{rows} (M1, {lanes}) R.0 A.0 W.0 X(0,0)")
    wanted = []
    for r, n in itertools.product(range(rows), range(lanes)):
        total = acc[r * lanes + n]
        for d, k in itertools.product(range(depth), range(each)):
            first, second = values[w[(d * lanes + n) * each + k]], values[x[(r * depth + d) * each + k]]
            total = scalar.fma(float(first), float(second), total, "f")
        wanted.append(total)
    expect(probe, {"R": ("f", wanted)})


@CHECKED
@given(seeds, st.sampled_from(["f", "hf", "bf"]))
def test_hyperbolic_functions(seed, t):
    """Within one unit in the last place of tanh, and of 1 / (1 + e**-x)."""
    random = Random(seed)
    inputs = [0.0, -0.0, math.inf, -math.inf, 2.0**-14, -(2.0**-24), 88.5, -88.5]
    inputs += [random.uniform(-1, 1) * 2.0 ** random.randrange(-14, 7) for _ in range(8)]
    inputs = [scalar.narrow(x, t) for x in inputs]
    models = {"tanh": math.tanh, "sigm": lambda x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0}
    probe = Probe("cri")
    probe.fill(X=(t, inputs), **{name.upper(): (t, [7.0] * 16) for name in models})
    probe.lines += [f"{name} (M1, 16) {name.upper()}(0,0)<1> X(0,0)<1;1,0>" for name in models]
    for engine in ENGINES:
        found = probe.run(engine)
        for name, model in models.items():
            for x, y in zip(inputs, scalar.decode(found[name.upper()][:16], t), strict=True):
                wanted = scalar.narrow(model(x), t)
                assert scalar.agree(y, wanted, t, 1), (engine, name, x)
                assert math.copysign(1, y) == math.copysign(1, wanted), (engine, name, x)


COVERED = {
    *NAMES,
    "invm",
    "rsqtm",
    "tanh",
    "sigm",
    *("lfsr", "shfl_idx4", "dnscl", "bdpas"),
    "mov",
    "sel",
    "cmp",
    "setp",
    "addc",
    "subb",
    "add3.o",
    "madw",
    "dp4a",
    "sad2",
    "sad2add",
    *DOT,
    "line",
    "plane",
    "fcvt",
    "srnd",
    "addr_add",
    "dpas",
    "dpasw",
}
