"""Local ids in the payload: in all lanes, also where no work-item is, and in inputs of every extent."""

import math
from itertools import pairwise

import numpy as np
import pytest
from support.programs import build_text, ze_info_of
from support.strategies import ENGINES

import vsim
from visakit.language.platforms import find

CUTS = {
    "a row for each": lambda row: [row, 2 * row],
    "all in one": lambda row: [],
    "pieces": lambda row: [8, 24, row, row + 12, 2 * row + 6],
}
"""Where inputs begin behind the first one, of three rows of ids."""


def text_of(grf, simd, row, cuts):
    """A kernel whose threads store their three rows of ids, a dword for each: of the group g and the thread t in it."""
    places = [0, *cuts, 3 * row]
    inputs = [(f"I{n}", low, high - low) for n, (low, high) in enumerate(pairwise(places))]
    words = [
        f"mov (M1_NM, 1) V({at // grf},{at % grf // 4})<1> {name}({byte // grf},{byte % grf // 2})<0;1,0>"
        for name, low, size in inputs
        for byte, at in ((n, 2 * (low + n)) for n in range(0, size, 2))
    ]
    stores = [
        f"svm_block_st (8) A(0,0)<0;1,0> V.{at}\nadd (M1_NM, 1) A(0,0)<1> A(0,0)<0;1,0> 128:ud"
        for at in range(0, 6 * row, 128)
    ]
    return "\n".join(
        [
            ".version 4.1",
            '.kernel "k"',
            *(f".decl {name} v_type=G type=uw num_elts={size // 2} align=GRF" for name, _, size in inputs),
            ".decl OUT v_type=G type=uq num_elts=1",
            ".decl A v_type=G type=uq num_elts=1",
            ".decl N v_type=G type=ud num_elts=1",
            f".decl V v_type=G type=ud num_elts={-(-6 * row // 128) * 32} align=GRF",
            *(f".input {name} offset={grf + low} size={size}" for name, low, size in inputs),
            f".input OUT offset={grf + 3 * row} size=8",
            f".kernel_attr SimdSize={simd}",
            "mul (M1_NM, 1) N(0,0)<1> %r0(0,1)<0;1,0> 4:ud",
            "add (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> %r0(0,2)<0;1,0>",
            "mul (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> 512:ud",
            "add (M1_NM, 1) A(0,0)<1> OUT(0,0)<0;1,0> N(0,0)<0;1,0>",
            *words,
            *stores,
            "ret (M1, 1)",
            "",
        ]
    )


def ids_of(item, size):
    """Local ids of a work-item by its number; behind the last one of the group x counts on."""
    x, y, _ = size
    n = min(item, math.prod(size) - 1)
    return n % x + item - n, n // x % y, n // (x * y)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CUTS)
@pytest.mark.parametrize(("platform", "simd"), [("tgllp", 8), ("tgllp", 16), ("tgllp", 32), ("pvc", 16), ("pvc", 32)])
def test_ids_of_all_lanes(platform, simd, name, engine):
    grf = find(platform).grf_size
    row = 64 if simd == 32 else grf
    info = ze_info_of("buffer", f"local_id={3 * row}", simd_size=simd)
    program = vsim.load(build_text(text_of(grf, simd, row, CUTS[name](row)), platform, info))
    for work, local in [((8,), (8,)), ((13,), (5,)), ((40,), (simd,)), ((4, 4), (4, 4)), ((4, 3, 2), (2, 3, 2)), ((16, 2), (16, 2))]:  # fmt: skip
        out = np.zeros(1 << 14, "u4")
        program.launch("k", work, local, [out], engine=engine)
        rest, last = (*work, 1, 1)[:3], (*local, 1, 1)[:3]
        for group in range(-(-rest[0] // last[0])):
            size = (min(last[0], rest[0] - group * last[0]), last[1], min(last[2], rest[2]))
            for thread in range(-(-math.prod(size) // simd)):
                at = (4 * group + thread) * 128
                found = out[at : at + 3 * row // 2].reshape(3, -1)[:, :simd]
                wanted = [ids_of(thread * simd + lane, size) for lane in range(simd)]
                assert found.T.tolist() == [list(ids) for ids in wanted], (work, local, group, thread)
