"""Reads of registers by address that compilers do without a mask for a half of 32 lanes in which none runs.

Such loops over the lanes of a half begin with the lowest one that runs. Where none does, its number, and so the address,
is meaningless; hardware reads there, and the value is unused.
"""

import numpy as np
import pytest

import vasm
import visakit
import vlink
import vsim

TEXT = """.version 4.1
.kernel "lowest"
.decl OUT    v_type=G type=uq num_elts=1 align=qword
.decl TABLE  v_type=G type=ud num_elts=16 align=GRF
.decl BITS   v_type=G type=ud num_elts=1
.decl PLACE  v_type=G type=ud num_elts=1
.decl OFFSET v_type=G type=uw num_elts=1 alias=<PLACE, 0>
.decl FOUND  v_type=G type=ud num_elts=1
.decl A0     v_type=A num_elts=1
.decl P1     v_type=P num_elts=32
.input OUT offset=64 size=8
.kernel_attr SimdSize=32
mov (M1_NM, 16) TABLE(0,0)<1> 7:ud
mov (M1_NM, 1) FOUND(0,0)<1> 5:ud
setp (M1_NM, 32) P1 0x{mask:x}:ud
(!P1) goto (M1, 32) end
mov (M1_NM, 1) BITS(0,0)<1> P1
and (M1_NM, 1) BITS(0,0)<1> BITS(0,0)<0;1,0> 0x{half:x}:ud
fbl (M1_NM, 1) PLACE(0,0)<1> BITS(0,0)<0;1,0>
shl (M1_NM, 1) PLACE(0,0)<1> PLACE(0,0)<0;1,0> 2:uw
and (M1_NM, 1) OFFSET(0,0)<1> OFFSET(0,0)<0;1,0> 0xffbf:uw
addr_add ({exec}, 1) A0(0)<1> &TABLE OFFSET(0,0)<0;1,0>
mov ({exec}, 1) FOUND(0,0)<1> r[A0(0),0]<0;1,0>:ud
end:
svm_scatter.4.1 (M1_NM, 1) OUT.0 FOUND.0
ret (M1, 1)
"""


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
@pytest.mark.parametrize(
    ("mask", "execution", "is_fault"),
    [
        (0x0000000F, "M5_NM", False),
        (0x000F0000, "M1_NM", False),
        (0x0000000F, "M1_NM", True),
        (0x00010001, "M5_NM", True),
    ],
)
def test_reads_for_a_half_in_which_no_lane_runs(engine, mask, execution, is_fault):
    """The address is that of no lane's, and a fault where a lane of the half runs."""
    text = TEXT.format(mask=mask, half=0, exec=execution)
    program = vsim.load(vlink.link([vasm.assemble_text(text, "lowest.visaasm", "tgllp").object_bytes()]))
    out = np.zeros(1, "u4")
    if is_fault:
        with pytest.raises(visakit.SimulationError, match="lies outside the registers"):
            program.launch("lowest", 32, 32, [out], engine=engine)
    else:
        program.launch("lowest", 32, 32, [out], engine=engine)
