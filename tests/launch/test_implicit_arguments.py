"""Functions that ask for sizes and ids: they find them where the driver puts them."""

import struct

import numpy as np
import pytest
from support.programs import ze_info_of

import vasm
import visakit
import vlink
import vsim

ENGINES = pytest.mark.parametrize("engine", ["llvm", "numpy"])
READERS = {
    "tgllp": """.version 4.1
.kernel "ask"
.decl OUT  v_type=G type=uq num_elts=1 align=qword
.decl ARGS v_type=G type=uq num_elts=1 align=qword
.decl TO   v_type=G type=uq num_elts=1 align=qword alias=<%arg, 0>
.input OUT  offset=64 size=8
.input ARGS offset=72 size=8
.kernel_attr SimdSize=8
mov (M1_NM, 1) %impl_arg_buf_ptr(0,0)<1> ARGS(0,0)<0;1,0>
mov (M1_NM, 1) TO(0,0)<1> OUT(0,0)<0;1,0>
fcall (M1_NM, 1) copy 1 0
ret (M1, 1)
.global_function "copy"
.decl TO   v_type=G type=uq num_elts=1 align=qword alias=<%arg, 0>
.decl DATA v_type=G type=ud num_elts=32 align=GRF
.kernel_attr SimdSize=8
.kernel_attr Extern
.kernel_attr ArgSize=1
svm_block_ld (8) %impl_arg_buf_ptr(0,0)<0;1,0> DATA.0
svm_block_st (8) TO(0,0)<0;1,0> DATA.0
fret (M1_NM, 1)
""",
    "bmg": """.version 4.2
.kernel "ask"
.decl OUT  v_type=G type=uq num_elts=1 align=qword
.decl TO   v_type=G type=uq num_elts=1 align=qword alias=<%arg, 0>
.input OUT  offset=64 size=8
.kernel_attr SimdSize=16
mov (M1_NM, 1) TO(0,0)<1> OUT(0,0)<0;1,0>
fcall (M1_NM, 1) copy 1 0
ret (M1, 1)
.global_function "copy"
.decl TO    v_type=G type=uq num_elts=1 align=qword alias=<%arg, 0>
.decl FIRST v_type=G type=ud num_elts=1
.decl TABLE v_type=G type=uq num_elts=1 align=GRF
.decl DATA  v_type=G type=ud num_elts=32 align=GRF
.decl IDS   v_type=G type=ud num_elts=32 align=GRF
.kernel_attr SimdSize=16
.kernel_attr Extern
.kernel_attr ArgSize=1
mov (M1_NM, 1) FIRST(0,0)<1> 0:ud
lsc_load.ugm (M1_NM, 1) DATA:d32x32t arg[FIRST]:a32
mov (M1_NM, 1) FIRST(0,0)<1> 72:ud
lsc_load.ugm (M1_NM, 1) TABLE:d64t arg[FIRST]:a32
lsc_load.ugm (M1_NM, 1) IDS:d32x32t flat[TABLE]:a64
lsc_store.ugm (M1_NM, 1) flat[TO]:a64 DATA:d32x32t
lsc_store.ugm (M1_NM, 1) flat[TO+128]:a64 IDS:d32x32t
fret (M1_NM, 1)
""",
}


@pytest.fixture(params=READERS)
def program(request):
    """A kernel with a function that copies its implicit arguments, by the pointer of tgllp and by ``arg[...]``."""
    simd = 16 if request.param == "bmg" else 8
    pointer = " implicit_arg_buffer" if simd == 8 else ""
    info = ze_info_of("buffer" + pointer, name="ask", simd_size=simd)
    objects = [vasm.assemble_text(READERS[request.param], "ask.visaasm", request.param).object_bytes()]
    return vsim.load(vlink.link(objects, info.encode()))


@ENGINES
def test_the_buffer_of_implicit_arguments(program, engine):
    """Each launch finds its own, also one that is like the last but one of its kernel."""
    simd = 16 if program.image.platform == "bmg" else 8
    for size, local, offset in (((64, 6), (16, 2), (3, 0, 0)), ((8,), (8,), (0, 0, 0)), ((64, 6), (16, 2), (3, 0, 0))):
        out = np.zeros(256, "u1")
        program.launch("ask", size, local, [out], engine=engine, global_offset=offset)
        found = struct.unpack("<4B3I3QQ3QQ3II2Q16x", out[:128].tobytes())
        x, y = (*size, 1)[:2], (*local, 1)[:2]
        groups = [a // b for a, b in zip(x, y, strict=True)]
        assert found[:14] == (112, 0, len(size), simd, *y, 1, *x, 1, 0, *offset)
        assert found[15:] == (*groups, 1, 0, 0, 0)
        if simd == 16:  # The first thread's x and y in rows of 16 words.
            ids, items = out[128:].view("u2")[:32].reshape(2, 16), range(min(16, y[0] * y[1]))
            assert [*ids[0, : len(items)]] == [n % y[0] for n in items]
            assert [*ids[1, : len(items)]] == [n // y[0] for n in items]


def test_no_answer_for_groups_of_several_sizes(program):
    with pytest.raises(visakit.LaunchError, match=r"whole groups of \(16, 1, 1\) .*divides the global size"):
        program.launch("ask", 40, 16, [np.zeros(128, "u1")])
