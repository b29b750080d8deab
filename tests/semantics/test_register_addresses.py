"""Addresses of registers in masked-off reads: compiled loops over distinct values of lanes read the element of the
first remaining lane, and a half of a thread without work-items has no such lane.
"""

import numpy as np
import pytest
from support.programs import build_text, kernel_head
from support.strategies import ENGINES

import visakit
from vsim.program import Program

TEXT = (
    kernel_head("OUT=uq X=ud*32 AT=uw GOT=ud A0=A", "OUT", SimdSize=32)
    + """mov (M1_NM, 16) X(0,0)<1> 7:ud
mov (M5_NM, 16) X(2,0)<1> 9:ud
mov (M1_NM, 1) AT(0,0)<1> 0xfffc:uw
addr_add (M5_NM, 1) A0(0)<1> &X AT(0,0)<0;1,0>
mov (M5_NM, 1) GOT(0,0)<1> r[A0(0),0]<0;1,0>:ud
mov (M5, 16) X(0,0)<1> GOT(0,0)<0;1,0>
svm_block_st (4) OUT(0,0)<0;1,0> X.0
ret (M1, 1)
"""
)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_unused_element_may_have_any_address(engine):
    found = np.zeros(16, "u4")
    Program(build_text(TEXT, "tgllp")).launch("k", 16, 16, [found], engine=engine)
    assert found.tolist() == [7] * 16
    with pytest.raises(visakit.SimulationError, match=r"lies outside the registers"):
        Program(build_text(TEXT, "tgllp")).launch("k", 17, 17, [found], engine=engine)
