"""Messages whose predicate holds for no lane, which LLVM may know, have no effect at any address."""

import numpy as np
import pytest
from support.programs import build_text, kernel_head
from support.strategies import ENGINES

from vsim.program import Program

KERNEL = (
    kernel_head("OUT=uq@qword AT=uq*16 OFFSET=ud*16 LANE=uw*16 V=ud*16 P=P*16", "OUT", Target="cm", SLMSize=1)
    + """mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:uv
add (M1_NM, 8) LANE(0,8)<1> LANE(0,0)<1;1,0> 8:uw
mov (M1_NM, 16) V(0,0)<1> 7:ud
setp (M1_NM, 16) P 0:ud
mov (M1_NM, 16) OFFSET(0,0)<1> 0x7ffffff0:ud
mov (M1_NM, 16) AT(0,0)<1> 0x12345:ud
(P) {message}
shl (M1_NM, 16) OFFSET(0,0)<1> LANE(0,0)<1;1,0> 2:ud
add (M1_NM, 16) AT(0,0)<1> OFFSET(0,0)<1;1,0> OUT(0,0)<0;1,0>
lsc_store.ugm (M1_NM, 16) flat[AT]:a64 V:d32
ret (M1, 1)
"""
)
MESSAGES = [
    "lsc_load.slm (M1, 16) V:d32 flat[OFFSET]:a32",
    "lsc_store.slm (M1, 16) flat[OFFSET]:a32 V:d32",
    "lsc_atomic_iadd.slm (M1, 16) V:d32 flat[OFFSET]:a32 V %null",
    "lsc_atomic_icas.slm (M1, 16) V:d32 flat[OFFSET]:a32 V V",
    "lsc_atomic_iadd.ugm (M1, 16) V:d32 flat[AT]:a64 V %null",
    "lsc_atomic_icas.ugm (M1, 16) V:d32 flat[AT]:a64 V V",
    "lsc_load.ugm (M1, 16) V:d32 flat[AT]:a64",
    "lsc_store.ugm (M1, 16) flat[AT]:a64 V:d32",
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("message", MESSAGES)
def test_inactive_messages_change_nothing(engine, message):
    out = np.zeros(16, "u4")
    Program(build_text(KERNEL.format(message=message), "dg2")).launch("k", 1, 1, [out], engine=engine)
    assert out.tolist() == [7] * 16
