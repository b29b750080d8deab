"""Local ids under constant masks, as in transforms and sorting networks: distances between lanes stay known."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.programs import build_text, kernel_head, ze_info_of
from support.strategies import ENGINES, effort

from visakit.language.types import UD
from vsim.engines.llvm.ir.affine import AffineLanes, affine_masked
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.types import ir_type
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.affine_registers import AffineShape
from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import Launch
from vsim.program import Program

KERNEL = (
    kernel_head("X=uw*32 IN=uq OUT=uq ID=ud*32 P=ud*32 Q=ud*32 AT=uq*32", "X", at=32)
    + """.input IN offset=224 size=8
.input OUT offset=232 size=8
.kernel_attr SimdSize=32
.kernel_attr SLMSize=1
add (M1, 16) ID(0,0)<1> X(0,0)<1;1,0> {before}:uw
add (M5, 16) ID(2,0)<1> X(1,0)<1;1,0> {before}:uw
barrier
"""
)
STEPS = """add ({mask}, 16) P({row},0)<1> ID({row},0)<1;1,0> {added}:ud
shl ({mask}, 16) P({row},0)<1> P({row},0)<1;1,0> {shift}:ud
and ({mask}, 16) P({row},0)<1> P({row},0)<1;1,0> {high}:ud
and ({mask}, 16) Q({row},0)<1> ID({row},0)<1;1,0> {low}:ud
{joined} ({mask}, 16) P({row},0)<1> P({row},0)<1;1,0> Q({row},0)<1;1,0>
shl ({mask}, 16) P({row},0)<1> P({row},0)<1;1,0> 2:ud
add ({mask}, 16) AT({at},0)<1> P({row},0)<1;1,0> IN(0,0)<0;1,0>
svm_gather.4.1 ({mask}, 16) AT.{byte} P.{half}
shl ({mask}, 16) Q({row},0)<1> ID({row},0)<1;1,0> 2:ud
add ({mask}, 16) AT({at},0)<1> Q({row},0)<1;1,0> OUT(0,0)<0;1,0>
svm_scatter.4.1 ({mask}, 16) AT.{byte} P.{half}
"""
INFO = ze_info_of("buffer buffer", "local_id=192", simd_size=32, slm_size=1024, barrier_count=1)


def program(before=0, **numbers):
    """Each work-item takes the element at the joined parts of its number: that of its id and one before a barrier."""
    halves = [("M1", 0, 0), ("M5", 2, 4)]
    steps = [STEPS.format(mask=m, row=r, at=a, byte=32 * a, half=32 * r, **numbers) for m, r, a in halves]
    return Program(build_text(KERNEL.format(before=before) + "".join(steps) + "ret (M1, 1)\n", info=INFO))


@effort(60, shrink=False)
@example(0, (64, 1), 16, 0, 63, 0, "or")  # The sums of 32 to 63 and 16 go around in the mask.
@example(0, (64, 1), 31, 1, 127, 31, "add")
@example(0, (96, 1), 1, 0, 0xF8, 7, "or")
@example(1, (64, 1), 0, 0, 0x3E, 15, "add")  # The first lane's number is odd.
@given(
    st.sampled_from([0, 0, 1, 8]),
    st.sampled_from(
        [(n, 1) for n in (32, 64, 96, 128, 24, 40)] + [(32, 2), (16, 2), (16, 3), (8, 4), (8, 16), (1, 64)]
    ),
    st.sampled_from([0, 1, 3, 16, 31]),
    st.integers(0, 4),
    st.sampled_from([*(255 << n & 255 for n in range(9)), 0x15, 0xF7, 0x60]) | st.integers(0, 255),
    st.sampled_from([*((1 << n) - 1 for n in range(9)), 0x14, 0x70, 0xE7]) | st.integers(0, 255),
    st.sampled_from(["or", "add", "xor"]),
)
def test_places_of_joined_parts(before, size, added, shift, high, low, joined):
    """Ids in rows from any id on, with any masks; work-items of a column store the same value."""
    elements, ids = np.arange(5000, 5512, dtype="u4"), np.arange(before, before + size[0])
    first, second = (ids + added << shift) & high, ids & low
    places = {"or": first | second, "add": first + second, "xor": first ^ second}[joined]
    for engine in ENGINES:
        found = np.zeros(before + size[0], "u4")
        given = program(before, added=added, shift=shift, high=high, low=low, joined=joined)
        given.launch("k", size, size, [elements, found], engine=engine)
        assert found[before:].tolist() == elements[places].tolist()


def emitted(low):
    """The code for a step of a transform."""
    prepared = program(added=0, shift=1, high=0xFF & ~(2 * low + 1), low=low, joined="or")
    arguments = prepared.convert("k", [np.zeros(512, "u4"), np.zeros(128, "u4")])
    dispatch = prepared.bind(Launch("k", (128, 1, 1), (128, 1, 1), args=arguments))
    return translate(dispatch, full=True, row=32).text


@pytest.mark.parametrize("low", [1, 7, 15, 31, 63, 0x15])
def test_steps_of_a_transform_go_along_rows(low):
    """Only lanes without a known distance are loaded one by one."""
    assert ("insertelement <16 x i32>" in emitted(low)) == (low == 0x15)
    assert low < 7 or low == 0x15 or f"load <{min(16, low + 1)} x i32>" in emitted(low)


MASKED = {
    "rise": (1, {}, 7, (1, 8)),
    "rise over bits that may be set": (4, {}, 7, None),
    "fall": (-1, {"offset": 15}, 7, (-1, 8)),
    "fall by a bit that may be set": (-32, {}, 32, None),
    "have constant distances": (0, {"steps": (0, 9, 2, 11, 4, 13, 6, 15) * 2}, 7, (1, 8)),
    "have other ones under the mask": (0, {"steps": (0, 9, 3, 11, 4, 13, 6, 15) * 2}, 7, None),
}


def loaded(b, lanes=1):
    """A value of which nothing is known."""
    return Value(b, UD, lanes, b.assign(f"load {ir_type(UD, lanes)}, ptr %p"))


@pytest.mark.parametrize("lanes", MASKED)
def test_distances_under_a_mask(lanes):
    """Lanes from a multiple of 32 on, under a mask: stride and length of rows, if these are known."""
    stride, facts, mask, expected = MASKED[lanes]
    b = Builder({})
    b.begin("entry")
    known = AffineLanes(loaded(b).with_low_zeros(5), stride, 16, **facts)
    found = affine_masked(loaded(b, 16).with_facts(affine=known), b.const(mask, UD))
    assert (found and (found.stride, found.row)) == expected


ZEROS = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "and": lambda x, y: x & y, "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y,
}  # fmt: skip


@pytest.mark.parametrize("op", [*ZEROS, "shl", "lshr"])
@pytest.mark.parametrize("zeros", [*itertools.product((0, 1, 5), (0, 2, 5))])
def test_bits_that_are_known_to_be_zero(op, zeros):
    """No number with these lowest zeros has a result with fewer than are known of it."""
    b = Builder({})
    b.begin("entry")
    x, y = (loaded(b).with_low_zeros(n) for n in zeros)
    if op in ZEROS:
        found = [ZEROS[op](x, y), x.deferred(op, y)]
        least = [ZEROS[op](p << zeros[0], q << zeros[1]) for p in (0, 1, 3) for q in (0, 1, 3)]
    else:
        found = [x << b.const(2, UD)] if op == "shl" else [x >> b.const(2, UD)]
        least = [p << zeros[0] << 2 if op == "shl" else p << zeros[0] >> 2 for p in (0, 1, 3)]
    for value in found:
        assert all(number % (1 << value.low_zeros) == 0 for number in least), value.low_zeros
    assert op not in ("add", "mul", "shl") or not all(zeros) or found[0].low_zeros > 0


def test_zeros_of_a_register_are_those_of_its_first_lane():
    b = Builder({})
    b.begin("entry")
    shape, root = AffineShape(4, 16, 1, 16, zeros=5), loaded(b).with_low_zeros(5)
    even, odd = (loaded(b, 16).with_facts(affine=AffineLanes(root, 1, 16, offset=n)) for n in (32, 33))
    assert shape.scalars_of(even, None) and not shape.scalars_of(odd, None)
    assert shape.joined(replace(shape, zeros=3)) == replace(shape, zeros=3)
