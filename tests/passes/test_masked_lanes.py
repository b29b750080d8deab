"""Local ids under constant masks, as in transforms and sorting networks: distances between lanes stay known."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.programs import build_text, kernel_head, ze_info_of
from support.strategies import ENGINES, effort

from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import Launch
from vsim.program import Program

KERNEL = (
    kernel_head("X=uw*32 IN=uq OUT=uq ID=ud*32 P=ud*32 Q=ud*32 AT=uq*32", "X", at=32)
    + """.input IN offset=224 size=8
.input OUT offset=232 size=8
.kernel_attr SimdSize=32
.kernel_attr SLMSize=1
mov (M1, 16) ID(0,0)<1> X(0,0)<1;1,0>
mov (M5, 16) ID(2,0)<1> X(1,0)<1;1,0>
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


def program(**numbers):
    """Each work-item takes the element at the joined parts of its id."""
    halves = [("M1", 0, 0), ("M5", 2, 4)]
    steps = [STEPS.format(mask=m, row=r, at=a, byte=32 * a, half=32 * r, **numbers) for m, r, a in halves]
    return Program(build_text(KERNEL + "".join(steps) + "ret (M1, 1)\n", info=INFO))


@effort(60, shrink=False)
@example((64, 1), 16, 0, 63, 0, "or")  # The sums of 32 to 63 and 16 go around in the mask.
@example((64, 1), 31, 1, 127, 31, "add")
@example((96, 1), 1, 0, 0xF8, 7, "or")
@given(
    st.sampled_from(
        [(n, 1) for n in (32, 64, 96, 128, 24, 40)] + [(32, 2), (16, 2), (16, 3), (8, 4), (8, 16), (1, 64)]
    ),
    st.sampled_from([0, 1, 3, 16, 31]),
    st.integers(0, 4),
    st.sampled_from([*(255 << n & 255 for n in range(9)), 0x15, 0xF7, 0x60]) | st.integers(0, 255),
    st.sampled_from([*((1 << n) - 1 for n in range(9)), 0x14, 0x70, 0xE7]) | st.integers(0, 255),
    st.sampled_from(["or", "add", "xor"]),
)
def test_places_of_joined_parts(size, added, shift, high, low, joined):
    """Ids in rows from any id on, with any masks; work-items of a column store the same value."""
    elements, ids = np.arange(5000, 5512, dtype="u4"), np.arange(size[0])
    first, second = (ids + added << shift) & high, ids & low
    places = {"or": first | second, "add": first + second, "xor": first ^ second}[joined]
    for engine in ENGINES:
        found = np.zeros(size[0], "u4")
        given = program(added=added, shift=shift, high=high, low=low, joined=joined)
        given.launch("k", size, size, [elements, found], engine=engine)
        assert found.tolist() == elements[places].tolist()


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
