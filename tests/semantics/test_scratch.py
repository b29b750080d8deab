"""Scratch memory by its handle, as the compiler reaches it from cri on: in %scratchloc and in ze_info's ``scratch_pointer``."""

import numpy as np
import pytest
from support.programs import build_text, ze_info_of
from support.strategies import ENGINES

from visakit import SimulationError
from vsim.launch.launch import ImageArgument
from vsim.program import Program

INFO = ze_info_of(
    "indirect_data_pointer scratch_pointer buffer image",
    "local_id=64",
    memory={"type": "scratch", "usage": "single_space", "size": 256},
    inline_data_payload_size=64,
    simd_size=16,
)
DECLARATIONS = """.decl OWN v_type=G type=uq num_elts=1 alias=<%scratchloc, 0>
.decl R0 v_type=G type=ud num_elts=16 alias=<%r0, 0>
.decl AT v_type=G type=ud num_elts=16 align=GRF
.decl DATA v_type=G type=ud num_elts=16 align=GRF
.decl PASSED v_type=G type=ud num_elts=32 align=GRF alias=<%arg, 0>
.decl RETURNED v_type=G type=ud num_elts=16 align=GRF alias=<%retval, 0>
"""
KERNEL = """.version 4.2
.kernel "k"
{declarations}
.decl IDS v_type=G type=uw num_elts=16 align=GRF
.decl INDIRECT v_type=G type=uq num_elts=1
.decl POINTER v_type=G type=uq num_elts=1
.decl Y v_type=G type=uq num_elts=1
.decl IMAGE v_type=G type=uq num_elts=1
.decl HANDLE v_type=G type=uq num_elts=1
.decl CHOICE v_type=G type=ud num_elts=1
.decl P1 v_type=P num_elts=1
.input IDS offset=64 size=32
.input INDIRECT offset=128 size=8
.input POINTER offset=136 size=8
.input Y offset=144 size=8
.input IMAGE offset=152 size=8
.kernel_attr SimdSize=16
add (M1_NM, 1) HANDLE(0,0)<1> Y(0,0)<0;1,0> 0x100:ud
lsc_load.ugm (M1_NM, 1) CHOICE:d32x1t flat[HANDLE]:a64
cmp.eq (M1_NM, 1) P1 CHOICE(0,0)<0;1,0> R0(0,1)<0;1,0>
mov (M1_NM, 1) HANDLE(0,0)<1> OWN(0,0)<0;1,0>
(P1) mov (M1_NM, 1) HANDLE(0,0)<1> IMAGE(0,0)<0;1,0>
mov (M1, 16) AT(0,0)<1> IDS(0,0)<1;1,0>
mad (M1, 16) AT(0,0)<1> R0(0,1)<0;1,0> 32:ud AT(0,0)<1;1,0>
add (M1, 16) DATA(0,0)<1> AT(0,0)<1;1,0> 1000:ud
shl (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> 2:ud
{lines}
xor (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> 0x3c:ud
lsc_store.ugm (M1, 16) flat(Y)[AT]:a32u DATA:d32
ret (M1, 1)
"""
TURN = "lsc_store.ugm (M1, 16) surf({0})[AT]:a32u DATA:d32\nxor (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> 0x3c:ud\nlsc_load.ugm (M1, 16) DATA:d32 surf({0})[AT]:a32u"
"""The data of each lane into memory, and those of the lane on the other side of the thread back."""
FUNCTION = f""".global_function "f"
{DECLARATIONS}.kernel_attr SimdSize=16
mov (M1, 16) AT(0,0)<1> PASSED(0,0)<1;1,0>
mov (M1, 16) DATA(0,0)<1> PASSED(1,0)<1;1,0>
{TURN.format("OWN")}
mov (M1, 16) RETURNED(0,0)<1> DATA(0,0)<1;1,0>
fret (M1, 16)
"""
CALL = """mov (M1, 16) PASSED(0,0)<1> AT(0,0)<1;1,0>
mov (M1, 16) PASSED(1,0)<1> DATA(0,0)<1;1,0>
fcall (M1, 16) f 2 1
mov (M1, 16) DATA(0,0)<1> RETURNED(0,0)<1;1,0>
xor (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> 0x3c:ud"""
NOBODY = 9


def launch(lines, engine, functions="", image_of=NOBODY, **options):
    """The buffer and the image after a launch of 64 work-items in groups of 32; one group has its handle in HANDLE."""
    text = KERNEL.format(declarations=DECLARATIONS, lines=lines) + functions
    y, picture = np.full(65, image_of, "u4"), np.zeros((1, 64, 1), "u4")
    program = Program(build_text(text, "cri", INFO))
    result = program.launch("k", 64, 32, [y, ImageArgument(picture, "r_u32")], engine=engine, **options)
    return y[:64].tolist(), picture.ravel().tolist(), result


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("handle", ["OWN", "POINTER", "HANDLE"])
def test_each_thread_has_its_own(engine, handle):
    written, picture, _ = launch(TURN.format(handle), engine)
    assert written == [1000 + (n ^ 15) for n in range(64)]
    assert not any(picture)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("handle", ["OWN", "POINTER", "HANDLE"])
def test_scratch_memory_is_zero_when_a_thread_begins(engine, handle):
    """Writes of earlier groups are not visible."""
    lines = f"""and (M1, 16) PASSED(0,0)<1> AT(0,0)<1;1,0> 0x3c:ud
lsc_load.ugm (M1, 16) RETURNED:d32 surf({handle})[PASSED]:a32u
lsc_store.ugm (M1, 16) surf({handle})[PASSED]:a32u DATA:d32
mov (M1, 16) DATA(0,0)<1> RETURNED(0,0)<1;1,0>"""
    written, _, _ = launch(lines, engine)
    assert not any(written)


@pytest.mark.parametrize("engine", ENGINES)
def test_in_a_function(engine):
    written, _, _ = launch(CALL, engine, FUNCTION)
    assert written == [1000 + (n ^ 15) for n in range(64)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_handle_that_is_an_image_in_one_group(engine):
    """Which memory a handle means is decided where the message executes."""
    written, picture, _ = launch(TURN.format("HANDLE"), engine, image_of=1)
    assert written == [1000 + (n ^ 15) for n in range(64)]
    assert picture == [0] * 32 + list(range(1032, 1064))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("handle", ["OWN", "POINTER", "HANDLE"])
def test_accesses_outside(engine, handle):
    lines = f"add (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> 200:ud\nlsc_store.ugm (M1, 16) surf({handle})[AT]:a32u DATA:d32"
    with pytest.raises(
        SimulationError, match=r"outside 'scratch memory', which has 256 bytes, at offset 256 by .*lane 14"
    ):
        launch(lines, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_indirect_data_is_nowhere(engine):
    """Only instructions that a finalizer writes in front of a kernel read it."""
    with pytest.raises(SimulationError, match="address 0x0, where there is no buffer"):
        launch("lsc_load.ugm (M1_NM, 1) DATA:d32x4t flat[INDIRECT]:a64", engine)


def test_undefined_values_of_scratch_memory_are_found():
    """Also if the handle is known only at run time; then the reference engine checks."""
    for handle, engine in (("OWN", "llvm"), ("HANDLE", "numpy")):
        lines = TURN.format(handle)
        *_, result = launch(lines, "auto", check="undefined")
        assert (result.engine, list(result.findings)) == (engine, [])
        *_, result = launch("\n".join(lines.splitlines()[1:]), "auto", check="undefined")
        assert result.engine == engine and [f.code for f in result.findings] == ["K013"]
