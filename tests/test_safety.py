"""What compiled code may touch. Attacks on what is around it; each ran into memory of the process once."""

import numpy as np
import pytest
from conftest import build_text

import vsim

ENGINES = pytest.mark.parametrize("engine", ["llvm", "numpy"])
HEAD = """.version 4.1
.kernel "k"
.decl BUF v_type=G type=uq num_elts=1
.decl V v_type=G type=ud num_elts=16 align=GRF
.decl W v_type=G type=ud num_elts=16 align=GRF
.decl A0 v_type=A num_elts=1
.decl A8 v_type=A num_elts=8
.decl P v_type=P num_elts=16
.kernel_attr SimdSize=16
.input BUF offset=64 size=8
"""
TAKE = "addr_add (M1, 1) A0(0)<1> &V 0:uw"
STORE = "svm_block_st (4) BUF(0,0)<0;1,0> W.0"


def image_of(*lines, callee=""):
    return build_text(HEAD + "\n".join([*lines, "ret (M1, 1)", callee]))


def launch(image, engine, *more):
    buffer = np.zeros(64, "u4")
    vsim.load(image).launch("k", 16, 16, [buffer, *more], engine=engine)
    return buffer


# -- the payload -------------------------------------------------------------------------------------------------------


@ENGINES
def test_an_input_fills_no_more_than_its_variable(engine):
    lines = [
        ".input V offset=128 size=16384",
        "mov (M1, 16) W(0,0)<1> 7:ud",
        TAKE,
        "mov (M1, 1) W(0,0)<1> r[A0(0),60]<0;1,0>:ud",
        STORE,
    ]
    value = np.zeros((), [("words", "u4", 4096)])
    value["words"] = np.arange(4096)
    assert launch(image_of(*lines), engine, value)[:2].tolist() == [15, 7]


@ENGINES
def test_large_inputs_are_copied(engine):
    """So that their size does not decide how long compilation takes."""
    lines = [".decl Z v_type=G type=ud num_elts=16384", ".input Z offset=128 size=32768"]
    lines += ["mov (M1, 16) W(0,0)<1> Z(200,3)<1;1,0>", "jmp (M1, 1) over", "over:", STORE]
    value = np.zeros((), [("words", "u4", 8192)])
    value["words"] = np.arange(8192)
    image = image_of(*lines)
    assert launch(image, engine, value)[0] == 200 * 8 + 3


@ENGINES
def test_what_an_input_leaves_of_its_variable_is_zero(engine):
    """It held what was on the stack before, such as pointers of the process."""
    lines = [".decl N v_type=G type=ud num_elts=1", ".decl Z v_type=G type=ud num_elts=1024 align=GRF"]
    lines += [".input N offset=72 size=4", ".input Z offset=76 size=4"]
    lines += ["cmp.eq (M1, 16) P N(0,0)<0;1,0> 0:ud", "(P) goto (M1, 16) over"]
    lines += ["add (M1, 16) Z(1,0)<1> Z(1,0)<1;1,0> 1:ud", "over:", "svm_block_st (8) BUF(0,0)<0;1,0> Z.0"]
    lines += ["add (M1, 1) BUF(0,0)<1> BUF(0,0)<0;1,0> 128:uq", "svm_block_st (8) BUF(0,0)<0;1,0> Z.3072"]
    assert launch(image_of(*lines), engine, 0, 5).tolist() == [5] + 63 * [0]
