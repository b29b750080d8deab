"""Functions that ask for sizes and ids: they find them behind ``%impl_arg_buf_ptr``, where the driver puts them."""

import struct

import numpy as np
import pytest

import vasm
import vlink
import vsim

READER = """.version 4.1
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
"""
ZE_INFO = """version: '1.73'
kernels:
  - name: ask
    execution_env: {simd_size: 8, grf_count: 128}
    payload_arguments:
      - {arg_type: arg_bypointer, offset: 0, size: 8, arg_index: 0, addrmode: stateless, addrspace: global, access_type: readwrite}
      - {arg_type: implicit_arg_buffer, offset: 8, size: 8}
"""


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_the_buffer_of_implicit_arguments(engine, tmp_path):
    """Each launch finds its own, also one that is like the last but one of its kernel."""
    objects = [vasm.assemble_text(READER, "ask.visaasm", "tgllp").object_bytes()]
    (tmp_path / "ze_info.yaml").write_text(ZE_INFO)
    program = vsim.load(vlink.link(objects, str(tmp_path / "ze_info.yaml")))
    for size, local, offset in (((64, 6), (16, 2), (3, 0, 0)), ((8,), (8,), (0, 0, 0)), ((64, 6), (16, 2), (3, 0, 0))):
        out = np.zeros(128, "u1")
        program.launch("ask", size, local, [out], engine=engine, global_offset=offset)
        found = struct.unpack("<4B3I3QQ3QQ3II2Q16x", out.tobytes())
        x, y = (*size, 1)[:2], (*local, 1)[:2]
        groups = [a // b for a, b in zip(x, y, strict=True)]
        assert found == (112, 0, len(size), 8, *y, 1, *x, 1, 0, *offset, 0, *groups, 1, 0, 0, 0)
