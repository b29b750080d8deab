"""What compiled code may touch. Attacks on what is around it; each ran into memory of the process once."""

import numpy as np
import pytest
from conftest import build_text

import visa
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


# -- ordinary variables ------------------------------------------------------------------------------------------------

BEYOND = {
    "region": ("mov (M1, 16) W(1,8)<1> V(0,0)<1;1,0>", "a region reaches byte 128 of 'W', which has fewer"),
    "message": ("svm_block_ld (8) BUF(0,0)<0;1,0> W.0", "a message reaches byte 128 of 'W', which has fewer"),
    "addresses read": ("mov (M1, 8) W(0,0)<1> r[A8(9),0]<1,0>:ud", "element 16 of 'A8', which has 8"),
    "more lanes than addresses": ("mov (M1, 16) W(0,0)<1> r[A8(0),0]<1,0>:ud", "element 15 of 'A8', which has 8"),
    "addresses written": ("addr_add (M1, 8) A8(9)<8> &V 0:uw", "element 16 of 'A8', which has 8"),
}


@ENGINES
@pytest.mark.parametrize("what", BEYOND)
def test_beyond_an_ordinary_variable_it_faults_when_it_executes(what, engine):
    line, message = BEYOND[what]
    image = image_of(line)
    with pytest.raises(visa.SimulationError, match=message):
        launch(image, engine)
    passed = image_of("jmp (M1, 1) over", line, "over:", "mov (M1, 16) W(0,0)<1> 7:ud", STORE)
    assert launch(passed, engine)[0] == 7


OUTSIDE = {
    "never written": ("", "mov (M1, 1) W(0,0)<1> r[A0(0),0]<0;1,0>:ud", 0),
    "written to by nobody": ("", "mov (M1, 1) r[A0(0),0]<1>:ud 5:ud", 0),
    "far below": (TAKE, "mov (M1, 1) W(0,0)<1> r[A0(0),-512]<0;1,0>:ud", -448),
    "below": (TAKE, "mov (M1, 1) W(0,0)<1> r[A0(0),-16]<0;1,0>:ud", 48),
    "behind": (TAKE, "mov (M1, 1) W(0,0)<1> r[A0(0),64]<0;1,0>:ud", 128),
    "across the end": (TAKE, "mov (M1, 1) W(0,0)<1> r[A0(0),62]<0;1,0>:ud", 126),
    "of all lanes": (TAKE, "mov (M1, 16) W(0,0)<1> r[A0(0),4]<1;1,0>:ud", 128),
    "stored below": (TAKE, "mov (M1, 1) r[A0(0),-4]<1>:ud 5:ud", 60),
    "stored behind": (TAKE, "mov (M1, 16) r[A0(0),4]<1>:ud 5:ud", 128),
}


@ENGINES
@pytest.mark.parametrize("what", OUTSIDE)
def test_indirect_registers_that_are_no_variable_are_faults(what, engine):
    take, line, address = OUTSIDE[what]
    with pytest.raises(visa.SimulationError, match=f"register address {address} lies outside .* by 'mov"):
        launch(image_of(take, line), engine)


@ENGINES
def test_lanes_that_do_not_execute_may_have_any_address(engine):
    lines = [
        "mov (M1, 16) V(0,0)<1> 9:ud",
        "addr_add (M1, 8) A8(0)<8> &V 0:uw",
        "mov (M1, 1) A8(3)<1> 0:uw",
        "setp (M1_NM, 16) P 0xf7:uw",
        "mov (M1, 16) W(0,0)<1> 1:ud",
        "(P) mov (M1, 8) W(0,0)<1> r[A8(0),0]<1,0>:ud",
        STORE,
    ]
    assert launch(image_of(*lines), engine)[:9].tolist() == [9, 9, 9, 1, 9, 9, 9, 9, 1]


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
