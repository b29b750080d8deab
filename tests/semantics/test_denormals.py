"""Denormals where a program never writes %cr0 are zeros, as threads begin with zeros there."""

import numpy as np
import pytest
from support.programs import build_text
from support.strategies import ENGINES

import vsim
from visakit.language.platforms import find

TINY = {"f": ("f4", 1e-39), "hf": ("f2", 1e-6), "df": ("f8", 1e-310)}
BITS = {"f": 0x80, "hf": 0x400, "df": 0x40}


def tripled(t, target, platform, engine, setting=""):
    """Three times a denormal, its comparison with 0 and a copy of it; and what the report says of denormals."""
    dtype, tiny = TINY[t]
    size = np.dtype(dtype).itemsize
    text = f"""
.version 4.1
.kernel "k"
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl A v_type=G type=uq num_elts=1 align=qword
.decl X v_type=G type={t} num_elts={64 // size} align=GRF
.decl Y v_type=G type={t} num_elts={64 // size} align=GRF
.decl P v_type=P num_elts=1
.input OUT offset={find(platform).grf_size} size=8
.kernel_attr SimdSize=8
.kernel_attr Target="{target}"
{setting}
svm_block_ld (4) OUT(0,0)<0;1,0> X.0
mov (M1_NM, 1) Y(0,2)<1> X(0,0)<0;1,0>
add (M1_NM, 1) Y(0,0)<1> X(0,0)<0;1,0> X(0,0)<0;1,0>
add (M1_NM, 1) Y(0,0)<1> Y(0,0)<0;1,0> X(0,0)<0;1,0>
cmp.eq (M1_NM, 1) P X(0,0)<0;1,0> X(0,3)<0;1,0>
(P) add (M1_NM, 1) Y(0,1)<1> X(0,1)<0;1,0> X(0,3)<0;1,0>
svm_block_st (4) OUT(0,0)<0;1,0> Y.0
ret (M1, 1)
"""
    x = np.zeros(64 // size, dtype)
    x[:4] = tiny, 1, tiny, 0
    result = vsim.load(build_text(text, platform)).launch("k", 1, 1, [x], engine=engine, profile=True)
    return (
        x[0] == np.dtype(dtype).type(tiny) * 3,
        x[1] == 1,
        x[2] == np.dtype(dtype).type(tiny),
        result.fidelity.denormals,
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("t", TINY)
@pytest.mark.parametrize("platform", ["skl", "xehp", "pvc"])
def test_denormals_where_cr0_is_never_written(platform, t, engine):
    keep = f"or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {BITS[t]:#x}:ud"
    for target in ("cm", "3d"):
        assert tripled(t, target, platform, engine) == (False, True, True, "zeros")
        assert tripled(t, target, platform, engine, keep) == (True, False, True, "")
