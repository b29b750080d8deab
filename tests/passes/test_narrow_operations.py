"""Operations whose results are stored as bytes or words have this width in native code: vectors hold more lanes."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.probe import LANES, Probe
from support.strategies import CHECKED, ENGINES, RUNNING
from test_regions import ir_of

CONTENTS = np.random.default_rng(42).integers(0, 256, 192, "u1")
SIZES = {"b": 1, "ub": 1, "w": 2, "uw": 2, "d": 4, "ud": 4, "q": 8}
OPERATIONS = {
    "add ({m}) {to} {x} {y}": lambda x, y, z: x + y,
    "add ({m}) {to} {x} (-){y}": lambda x, y, z: x - y,
    "add ({m}) {to} (-){x} {y}": lambda x, y, z: y - x,
    "add ({m}) {to} (-){x} (-){y}": lambda x, y, z: -x - y,
    "add ({m}) {to} (abs){x} {y}": lambda x, y, z: abs(x) + y,
    "mul ({m}) {to} {x} (-){y}": lambda x, y, z: -(x * y),
    "mad ({m}) {to} {x} {y} (-){z}": lambda x, y, z: x * y - z,
    "and ({m}) {to} {x} (~){y}": lambda x, y, z: x & ~y,
    "xor ({m}) {to} {x} {y}": lambda x, y, z: x ^ y,
    "not ({m}) {to} {x}": lambda x, y, z: ~x,
}


def wrapped(value, t):
    """A number as elements of a type have it."""
    low = value & ((1 << 8 * SIZES[t]) - 1)
    return low - (1 << 8 * SIZES[t]) if t in "bwdq" and low >> (8 * SIZES[t] - 1) else low


def numbers(name, first):
    """Numbers of a type out of the contents."""
    dtype = np.dtype(f"{'u' if name[0] == 'u' else 'i'}{SIZES[name]}")
    return [int(x) for x in np.roll(CONTENTS, -first).view(dtype)[:LANES]]


@CHECKED
@given(
    st.sampled_from([*OPERATIONS]),
    st.sampled_from(["b", "ub", "w", "uw", "d"]),
    st.lists(st.sampled_from(["b", "ub", "w", "uw", "d", "ud"]), min_size=3, max_size=3),
    RUNNING,
)
def test_narrow_destinations(template, to, kinds, running):
    """Results equal those of a model in whole numbers, whose intermediate values may be wider than the destination."""
    function = OPERATIONS[template]
    if "(abs)" in template:
        kinds[0] = kinds[0].lstrip("u")
    sources = [numbers(t, 5 * n) for n, t in enumerate(kinds)]
    probe = Probe(running=running)
    probe.fill(**{name: (t, data) for name, t, data in zip("XYZ", kinds, sources, strict=True)}, R=(to, [7] * LANES))
    x, y, z = (f"{name}(0,0)<1;1,0>" for name in "XYZ")
    probe.lines.append(template.format(m="M1, 16", to="R(0,0)<1>", x=x, y=y, z=z))
    results = [wrapped(function(*lane), to) for lane in zip(*sources, strict=True)]
    wanted = [r if running >> lane & 1 else 7 for lane, r in enumerate(results)]
    for engine in ENGINES:
        assert probe.run(engine)["R"][:LANES].tolist() == wanted, engine


RELATIONS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "ge": np.greater_equal}


@pytest.mark.parametrize("name", RELATIONS)
@pytest.mark.parametrize("t", ["b", "ub", "w", "uw"])
@pytest.mark.parametrize("through", ["", "w", "uw", "d", "ud"])
def test_comparisons_with_one_element_for_all_lanes(name, t, through):
    """Operands are narrow values, or narrow values that were extended before."""
    values = numbers(t, 3)
    probe = Probe()
    probe.fill(X=(t, values), WX=(through or t, [0] * LANES), WY=(through or t, [0] * LANES))
    probe.predicate("P1", 0)
    x, y = ("WX(0,0)<1;1,0>", "WY(0,0)<0;1,0>") if through else ("X(0,0)<1;1,0>", "X(0,4)<0;1,0>")
    probe.lines += [
        "mov (M1, 16) WX(0,0)<1> X(0,0)<1;1,0>",
        "mov (M1_NM, 1) WY(0,0)<1> X(0,4)<0;1,0>",
        f"cmp.{name} (M1, 16) P1 {x} {y}",
    ]
    wide = np.array([wrapped(v, through or t) for v in values])
    wanted = sum(int(bit) << lane for lane, bit in enumerate(RELATIONS[name](wide, wide[4])))
    for engine in ENGINES:
        assert probe.run(engine)["P1"] == wanted, engine


BYTES = [
    ".decl V v_type=G type=ub num_elts=64 align=GRF",
    ".decl W v_type=G type=uw num_elts=16 align=GRF",
    ".decl P v_type=P num_elts=16",
]
LOAD, STORE = "svm_block_ld (4) OUT(0,0)<0;1,0> V.0", "svm_block_st (4) OUT(0,0)<0;1,0> V.0"


def test_sums_and_comparisons_of_bytes_are_of_bytes():
    """An absolute difference, as compilers write it."""
    found = ir_of(
        [
            LOAD,
            "cmp.gt (M1, 16) P V(1,31)<0;1,0> V(0,0)<1;1,0>",
            "add (M1, 16) V(0,16)<1> V(1,31)<0;1,0> (-)V(0,0)<1;1,0>",
            "add (M1, 16) V(1,0)<1> V(0,0)<1;1,0> (-)V(1,31)<0;1,0>",
            "(P) sel (M1, 16) V(0,0)<1> V(0,16)<1;1,0> V(1,0)<1;1,0>",
            STORE,
        ],
        BYTES,
    )
    assert len(re.findall(r"sub <16 x i8> %", found)) == 2
    assert "icmp ugt <16 x i8>" in found
    assert not re.search(r"(add <16 x i8>|(add|sub|icmp \w+) <16 x i32>)", found)


def test_words_that_were_bytes_are_extended_after_they_are_the_same_in_all_lanes():
    """Then LLVM knows that only the low bytes of the results are used."""
    found = ir_of(
        [
            LOAD,
            "mov (M1_NM, 1) W(0,0)<1> V(1,31)<0;1,0>",
            "add (M1, 16) V(0,0)<1> V(0,0)<1;1,0> W(0,0)<0;1,0>",
            "add (M1, 16) W(0,0)<1> V(0,0)<1;1,0> W(0,0)<0;1,0>",
            "mov (M1, 16) V(0,16)<1> W(0,0)<1;1,0>",
            STORE,
        ],
        BYTES,
    )
    assert re.search(r"zext <16 x i8> \S+ to <16 x i16>", found)
    assert "insertelement <16 x i16>" not in found


def test_saturation_sees_the_whole_result():
    probe = Probe()
    probe.fill(X=("ub", range(240, 240 + LANES)), R=("ub", [0] * LANES))
    probe.lines.append("add.sat (M1, 16) R(0,0)<1> X(0,0)<1;1,0> 10:uw")
    for engine in ENGINES:
        assert probe.run(engine)["R"][:LANES].tolist() == [min(255, 250 + n) for n in range(LANES)], engine
