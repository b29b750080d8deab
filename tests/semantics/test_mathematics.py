"""Transcendental functions of floats against numpy's of long doubles: rounded once, or as good as that."""

import itertools
import math
import os
import re
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from support import scalar
from support.probe import translated
from support.programs import COPY, LANE_NUMBERS, build_text
from support.strategies import FUZZ

from visakit.language.types import HF, F
from vsim.engines.llvm import target
from vsim.engines.llvm.ir import rounded
from vsim.engines.numpy import algebra as numpy_algebra
from vsim.engines.numpy.algebra import DTYPES, NumpyAlgebra, fma_double
from vsim.program import Program
from vsim.semantics import mathematics

KEEP = "or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud\n"
"""As compilers begin kernels: all denormals are kept."""
CASES = {
    "exp": (mathematics.exp, np.exp2, [(-150, 129), (-1, 1)]),
    "log": (mathematics.log, np.log2, [(1e-40, 2), (0.9, 1.1), (1, 3e38)]),
    "sin": (mathematics.sin, np.sin, [(-10, 10), (-1e5, 1e5)]),
    "cos": (mathematics.cos, np.cos, [(-10, 10), (-1e5, 1e5)]),
    "pow": (mathematics.pow_, np.power, [(0.01, 20)]),
}
WORST = 0.501
"""Units in the last place."""


@pytest.mark.parametrize("name", CASES)
def test_floats_are_rounded_once(name):
    function, exact, ranges = CASES[name]
    random, algebra = np.random.default_rng(1), NumpyAlgebra()
    for low, high in ranges:
        arguments = [random.uniform(low, high, (1, 20_000)).astype("f4")]
        if name == "pow":
            arguments.append(random.uniform(-25, 25, (1, 20_000)).astype("f4"))
        with np.errstate(all="ignore"):
            found = function(algebra, F, *arguments)
            wanted = exact(*(x.astype(np.longdouble) for x in arguments))
            rounded = wanted.astype("f4")
        finite = np.isfinite(rounded)
        assert (found[~finite] == rounded[~finite]).all()
        unit = np.spacing(np.abs(rounded[finite])).astype(np.longdouble)
        assert (np.abs(found[finite] - wanted[finite]) / unit).max() < WORST


def test_powers_of_floats_are_the_same_whether_floats_or_doubles_are_reduced():
    random, count = np.random.default_rng(9), 200_000 if FUZZ else 25_000
    bits = np.concatenate([random.integers(0, 1 << 32, count, "u4"), random.integers(0x3C000000, 0x43400000, count)])
    floats = bits.astype("u4").view("f4")[None, :]
    special = np.array(
        [[0.0, -0.0, np.inf, -np.inf, np.nan, 1e-44, -1e-44, 0.5, 1.5, -126, -149, -150, 128, 200.5]], "f4"
    )
    algebra = NumpyAlgebra()
    with np.errstate(all="ignore"):
        for x in (floats, -floats, special):
            found = mathematics.exp(algebra, F, x).view("u4")
            wide = mathematics._exp2_for_float(algebra, fma_double, x.astype("f8")).astype("f4").view("u4")
            assert (found == wide).all()


EVERY_FLOAT = 1 if os.environ.get("EVERY_FLOAT") else 4099
"""Which floats of all 2**32 are tried (page 182): takes six minutes with each of them."""
HARDEST = [-150, *map(float.fromhex, ("-0x1.5a3f34p-21", "-0x1.e7526ep-6", "-0x1.a7a04cp-14", "0x1.853a6ep-9", "-0x1.d8568p-10",
                                      "0x1.0f0af8p-11", "-0x1.3e53bcp-3", "0x1.05535ap-7"))]  # fmt: skip
"""Their powers are half-way between two floats: the first one's exactly, the others' but for 2**-59 to 2**-51."""


def _nearest_powers(x):
    near, logarithm = np.exp2(x.astype("f8")), Decimal(2).ln(Context(prec=60))
    found, other = ((near * (1 + change)).astype("f4") for change in (-(2.0**-48), 2.0**-48))
    for n in np.flatnonzero((found != other) & (near == near)):
        exact = Context(prec=60).multiply(Decimal(float(x[n])), logarithm).exp(Context(prec=60))
        found[n] = scalar.round_to(Fraction(2) ** int(x[n]) if x[n] == int(x[n]) else Fraction(exact), "f")
    return found


@pytest.mark.parametrize("lanes, whole", [(8, False), (16, False), (16, True)])
def test_powers_of_floats_are_the_nearest_ones(lanes, whole):
    text = COPY.replace(".decl BASE", ".decl Y v_type=G type=f num_elts=8 align=GRF alias=<X,0>\n.decl BASE")
    lines = [f"{name} (M1_NM, 8) Y(0,0)<1> Y(0,0)<1;1,0>" for name in ("rnde", "exp")]
    text = text.replace("MIDDLE", KEEP + "\n".join(lines if whole else lines[1:]))
    if lanes == 16:
        for old, new in (("elts=8", "elts=16"), ("Size=8", "Size=16"), (", 8)", ", 16)"), (" 8:uw", " 16:uw")):
            text = text.replace(old, new)
        text = text.replace("mov (M1, 16) LANE(0,0)<1> 0x76543210:uv\n", LANE_NUMBERS)
    program, step = Program(build_text(text)), EVERY_FLOAT << 18
    for first in range(0, 1 << 32, step):
        bits = np.arange(first, min(first + step, 1 << 32), EVERY_FLOAT).astype("u4")
        bits = np.append(bits, np.resize(np.array(HARDEST, "f4").view("u4"), -bits.size % 64 or 64))
        with np.errstate(all="ignore"):
            x = np.rint(bits.view("f4")) if whole else bits.view("f4")
            assert _same(_launched(program, bits, "llvm").view("f4"), _nearest_powers(x)), hex(first)


def test_fused_products_of_doubles_at_the_ends_of_their_range():
    """Fractions are for neither zeros nor numbers that are not finite: idle lanes hold zeros."""
    ends = [0.0, 1.0, 1 / 3, 5e-324, 1e-160, 1e160, 1.7976931348623157e308, math.inf, math.nan]
    signed = [*ends, *(-x for x in ends)]
    rows = list(itertools.product(signed, repeat=3))
    with np.errstate(all="ignore"):
        found = fma_double(*np.array(rows).T)
    wanted = np.array([scalar.fma(*row, "df") for row in rows])
    differ = (found.view("u8") != wanted.view("u8")) & ~(np.isnan(found) & np.isnan(wanted))
    assert not differ.any(), [(rows[n], found[n], wanted[n]) for n in np.flatnonzero(differ)[:3]]


class Fused(NumpyAlgebra):
    """Fuses all products and sums that may be fused."""

    def rounded_once(self, compute, data_type, *operands):
        return compute(self, fma_double, *operands).astype(DTYPES[data_type])


@pytest.mark.parametrize("change", [numpy_algebra.LARGEST_CHANGE, 2.0**-25], ids=["few", "many"])
@pytest.mark.parametrize("name", CASES)
def test_products_and_sums_may_be_rounded_where_that_makes_no_difference(name, change, monkeypatch):
    monkeypatch.setattr(numpy_algebra, "LARGEST_CHANGE", change)
    function, _, ranges = CASES[name]
    random = np.random.default_rng(4)
    arguments = [np.concatenate([random.uniform(*r, (1, 4000)) for r in ranges], axis=1).astype("f4")]
    if name == "pow":
        arguments.append(random.uniform(-25, 25, arguments[0].shape).astype("f4"))
    arguments[0][0, :6] = np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-44
    with np.errstate(all="ignore"):
        found, wanted = (function(a, F, *arguments).view("u4") for a in (NumpyAlgebra(), Fused()))
    assert (found == wanted).all()


def test_ambiguous_roundings_are_computed_again():
    """x * y + z is a little above the middle between 1 and the next float, and that middle if the product is rounded."""
    x, y, z = (np.array([[v]]) for v in (1 + 2.0**-26, 3 - 3 * 2.0**-26, -2 + 2.0**-24 + 2.0**-50))
    found = NumpyAlgebra().rounded_once(lambda a, fused, *operands: fused(*operands), F, x, y, z)
    assert (x * y + z).astype("f4") == 1
    assert found == np.float32(1 + 2.0**-23)


@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos"])
def test_every_half_is_rounded_once(name):
    function, exact, _ = CASES[name]
    halves = np.arange(1 << 16, dtype=np.uint16).view("f2")[None, :]
    with np.errstate(all="ignore"):
        found, wanted = function(NumpyAlgebra(), HF, halves), exact(halves.astype("f8")).astype("f2")
    assert ((found == wanted) | (np.isnan(found) & np.isnan(wanted))).all()


@pytest.mark.parametrize("algebra", [NumpyAlgebra(), NumpyAlgebra(exact=False)], ids=["exact", "manual"])
def test_whole_powers_and_their_logarithms_are_exact(algebra):
    numbers = np.arange(-149, 128, dtype="f4")[None, :]
    powers = np.ldexp(np.float32(1), numbers.astype(int)).astype("f4")
    with np.errstate(all="ignore"):
        assert (mathematics.exp(algebra, F, numbers) == powers).all()
        assert (mathematics.log(algebra, F, powers) == numbers).all()


@pytest.mark.parametrize("data_type", [F, HF], ids=str)
def test_sines_of_infinity_nan_and_tiny_numbers(data_type):
    dtype = "f4" if data_type is F else "f2"
    some = np.array([[np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-7, -1e-7]], dtype)
    with np.errstate(all="ignore"):
        sines, cosines = (function(NumpyAlgebra(), data_type, some) for function in (mathematics.sin, mathematics.cos))
        large = mathematics.cos(NumpyAlgebra(), F, np.array([[3e38, -1e30, 2.0**31, 1e9]], "f4"))
    assert np.isnan(sines[0, :3]).all() and np.isnan(cosines[0, :3]).all()
    assert (sines[0, 3:] == some[0, 3:]).all() and (np.signbit(sines) == np.signbit(some))[0, 3:].all()
    assert (cosines[0, 3:] == 1).all()
    assert (np.abs(large) <= 1).all()


@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos"])
def test_approximations_are_close_enough(name):
    """Within the bounds of docs/fidelity.md."""
    function, exact, ranges = CASES[name]
    random, approximate = np.random.default_rng(2), NumpyAlgebra(exact=False)
    for low, high in ranges:
        x = random.uniform(low, high, (1, 50_000)).astype("f4")
        with np.errstate(all="ignore"):
            found, wanted = function(approximate, F, x), exact(x.astype(np.longdouble))
            rounded = wanted.astype("f4")
        finite = np.isfinite(rounded)
        assert (found[~finite] == rounded[~finite]).all() and (found != rounded).any()
        error = np.abs(found - wanted)[finite]
        if name in ("sin", "cos"):
            assert error.max() < 2**-22
        else:
            assert (error / np.spacing(np.abs(rounded[finite])).astype(np.longdouble)).max() < 3


@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos"])
def test_approximations_of_special_values(name):
    function, _, _ = CASES[name]
    for data_type, dtype in ((F, "f4"), (HF, "f2")):
        special = np.array([[np.inf, -np.inf, np.nan, 0.0, -0.0, -1.0, 1.0, 1e-7, 6e4]], dtype)
        with np.errstate(all="ignore"):
            found, wanted = (function(NumpyAlgebra(e), data_type, special) for e in (False, True))
        assert found.dtype == wanted.dtype
        assert np.isclose(found, wanted, rtol=2e-3 if data_type is HF else 1e-5, atol=2**-22, equal_nan=True).all()
        assert (np.signbit(found) == np.signbit(wanted))[~np.isnan(wanted)].all()


@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos"])
@pytest.mark.parametrize("data_type", ["f", "hf"])
def test_engines_agree_on_approximations(name, data_type):
    """On bits of every kind; and what changes the exactness between two launches changes the result."""
    program, bits, dtype = _program_and_bits(name, data_type)
    found = {}
    for approximate in (False, True, False):
        program.image.approximate = approximate
        for engine in ("llvm", "numpy"):
            found[engine, approximate] = _launched(program, bits, engine).view(dtype)
    for approximate in (False, True):
        one, other = found["llvm", approximate], found["numpy", approximate]
        assert _same(one, other)
    assert data_type == "hf" or (found["llvm", True] != found["llvm", False])[~np.isnan(one)].any()


@pytest.mark.parametrize("change", [rounded.LARGEST_CHANGE, 2.0**-25], ids=["few", "many"])
@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos"])
@pytest.mark.parametrize("data_type", ["f", "hf"])
def test_processors_without_fused_products_compute_the_same(name, data_type, change, monkeypatch):
    """With few lanes that are computed again, and with many."""
    if "x86-64-v2" not in target.possible():
        pytest.skip("this machine cannot stand for x86-64-v2")
    monkeypatch.setenv(target.VARIABLE, "x86-64-v2")
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    monkeypatch.setattr(rounded, "LARGEST_CHANGE", change)
    program, bits, dtype = _program_and_bits(name, data_type)
    one, other = (_launched(program, bits, engine).view(dtype) for engine in ("llvm", "numpy"))
    assert _same(one, other)


@pytest.mark.parametrize("rounding", ["rndz", "rndd", "rndu", "rnde"])
def test_powers_of_whole_numbers_need_no_polynomial(rounding):
    """Native code knows that they are whole: e**x is a product of two powers for compilers, and one of them is."""
    program, bits, dtype = _program_and_bits("exp", "f", f"{rounding} (M1_NM, 8) Y(0,0)<1> Y(0,0)<1;1,0>\n")
    bits[:1000] = np.random.default_rng(4).uniform(-200, 200, 1000).astype(dtype).view(bits.dtype)
    for approximate in (False, True):
        program.image.approximate = approximate
        one, other = (_launched(program, bits, engine).view(dtype) for engine in ("llvm", "numpy"))
        assert _same(one, other)
        ir = translated(program, [bits, np.zeros_like(bits)], 64, "copy")
        assert not re.search(r"double|@llvm\.fma", ir)


def test_sine_and_cosine_of_an_argument_share_polynomials():
    """Although a branch for large arguments is between them: two products reduce, four and five are the polynomials."""
    declared = "".join(f".decl {v} v_type=G type=f num_elts=8 align=GRF\n" for v in ("S", "C"))
    declared += ".decl Y v_type=G type=f num_elts=8 align=GRF alias=<X,0>\n.decl BASE"
    lines = ["sin (M1_NM, 8) S(0,0)<1> Y(0,0)<1;1,0>", "cos (M1_NM, 8) C(0,0)<1> Y(0,0)<1;1,0>"]
    lines.append("add (M1_NM, 8) Y(0,0)<1> S(0,0)<1;1,0> C(0,0)<1;1,0>")
    program = Program(
        build_text(COPY.replace(".decl BASE", declared).replace("MIDDLE", "\n".join([KEEP.strip(), *lines])))
    )
    bits = np.zeros(64, "u4")
    text = translated(program, [bits, bits.copy()], 64, "copy")
    group = text[text.index("define void @group(") :].partition("\n}")[0]
    assert len(re.findall(r"call <8 x double> @llvm\.fma", group)) == (11 if target.fuses() else 0)


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "rsqrt"])
def test_a_narrower_destination_gets_the_result_converted(name, engine):
    """Functions of f execute in f, and f is what becomes hf, as docs/fidelity.md says."""
    found = {}
    for dst, lines in {
        "f": [f"{name} (M1_NM, 8) Y(0,0)<1> Y(0,0)<1;1,0>"],
        "hf": [f"{name} (M1_NM, 8) H(0,0)<2> Y(0,0)<1;1,0>"],
    }.items():
        aliases = ".decl Y v_type=G type=f num_elts=8 align=GRF alias=<X,0>\n"
        aliases += ".decl H v_type=G type=hf num_elts=16 align=GRF alias=<X,0>\n.decl BASE"
        text = COPY.replace(".decl BASE", aliases).replace("MIDDLE", "\n".join([KEEP.strip(), *lines]))
        numbers = np.random.default_rng(5).uniform(0.01, 10, 1 << 12).astype("f4")
        found[dst] = _launched(Program(build_text(text)), numbers.view("u4"), engine)
    halves = found["hf"].view("f2")[::2]
    assert (halves == found["f"].view("f4").astype("f2")).all()


def _same(one, other):
    """Whether two arrays have the same bits, or NaN."""
    bits = f"u{one.itemsize}"
    return ((one.view(bits) == other.view(bits)) | (np.isnan(one) & np.isnan(other))).all()


def _launched(program, bits, engine):
    out = np.zeros(bits.nbytes // 4, "u4")
    program.launch("copy", out.size, 64, [bits.view("u4"), out], engine=engine)
    return out


def _program_and_bits(name, data_type, before=""):
    """A program that keeps denormals and computes a function, behind other lines, what of, and its type."""
    lanes = 8 if data_type == "f" else 16
    alias = f".decl Y v_type=G type={data_type} num_elts={lanes} align=GRF alias=<X,0>\n.decl BASE"
    text = COPY.replace(".decl BASE", alias).replace(
        "MIDDLE", f"{KEEP}{before}{name} (M1_NM, {lanes}) Y(0,0)<1> Y(0,0)<1;1,0>"
    )
    program = Program(build_text(text))
    random = np.random.default_rng(3)
    dtype = "f4" if data_type == "f" else "f2"
    bits = random.integers(0, 1 << 8 * np.dtype(dtype).itemsize, 1 << 14, "u4").astype(f"u{np.dtype(dtype).itemsize}")
    bits[: 1 << 13] = random.uniform(-100, 100, 1 << 13).astype(dtype).view(bits.dtype)
    return program, bits, dtype
