"""Sums of integers that share no bits, which compilers write as ``or``: distances between lanes stay known."""

import numpy as np
import pytest
from support.programs import build_text
from support.strategies import ENGINES

from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import Launch
from vsim.program import Program

HEAD = """.version 4.2
.kernel "k"
.decl IN v_type=G type=uq num_elts=1
.decl OUT v_type=G type=uq num_elts=1
.decl N v_type=G type=ud num_elts=1
.decl X v_type=G type=ud num_elts=8 align=GRF
.decl Y v_type=G type=ud num_elts=8 align=GRF
.decl Z v_type=G type=ud num_elts=8 align=GRF
.decl AT v_type=G type=uq num_elts=8 align=GRF
.decl V v_type=G type=ud num_elts=8 align=GRF
.input IN offset=64 size=8
.input OUT offset=72 size=8
.input N offset=80 size=4
.kernel_attr SimdSize=8
mov (M1, 8) X(0,0)<1> 0x76543210:v
"""
TAIL = """
mov (M1, 8) AT(0,0)<1> Z(0,0)<1;1,0>
shl (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> 0x2:uq
add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> IN(0,0)<0;1,0>
lsc_load.ugm (M1, 8) V:d32 flat[AT]:a64
mov (M1, 8) AT(0,0)<1> X(0,0)<1;1,0>
shl (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> 0x2:uq
add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> OUT(0,0)<0;1,0>
lsc_store.ugm (M1, 8) flat[AT]:a64 V:d32
ret (M1, 1)
"""
SHIFTED = "shl (M1, 8) Y(0,0)<1> X(0,0)<1;1,0> {}:ud\n"
MASKED = "and (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> {}:ud\n"
OPERANDS = " (M1, 8) Z(0,0)<1> Y(0,0)<1;1,0> N(0,0)<0;1,0>"
CASES = {
    "one bit below": (SHIFTED.format(1) + MASKED.format(1), lambda x, n: 2 * x | n & 1),
    "two bits below, of three": (SHIFTED.format(3) + MASKED.format(3), lambda x, n: 8 * x | n & 3),
    "a bit in common": (SHIFTED.format(1) + MASKED.format(2), lambda x, n: 2 * x | n & 2),
    "any bits": (SHIFTED.format(1), lambda x, n: 2 * x | n),
}


def program(name, operation):
    return Program(build_text(HEAD + CASES[name][0] + operation + OPERANDS + TAIL, "dg2"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("n", [0, 1, 7])
def test_an_index_that_is_an_or(name, engine, n):
    given, found = np.arange(1000, 1256, dtype="u4"), np.zeros(8, "u4")
    program(name, "or").launch("k", 8, 8, [given, found, np.uint32(n)], engine=engine)
    assert found.tolist() == (1000 + CASES[name][1](np.arange(8), n)).tolist()


def emitted(name, operation):
    prepared = program(name, operation)
    arguments = prepared.convert("k", [np.zeros(256, "u4"), np.zeros(8, "u4"), np.uint32(1)])
    dispatch = prepared.bind(Launch("k", (8, 1, 1), (8, 1, 1), args=arguments))
    return translate(dispatch, full=True, row=8).text


@pytest.mark.parametrize(("name", "known"), [(name, name.endswith(("below", "three"))) for name in CASES])
def test_distances_of_lanes_are_those_of_the_sum(name, known):
    assert (emitted(name, "or").count("\n") == emitted(name, "add").count("\n")) == known
