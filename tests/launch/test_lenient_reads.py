"""Reads beyond the end that compilers write and drop: zeros where an image is asked to be lenient, faults elsewhere, on both engines."""

import numpy as np
import pytest
from support.programs import build_text, kernel_head
from support.strategies import ENGINES

from visakit import SimulationError
from vsim.program import Program

TEXT = (
    kernel_head(
        "X=uq OUT=uq N=ud ON=ud NW=uw AT=uq*1 PLACE=ud*1 V=ud*16 W=ud*3 A0=A*8 T6=T P1=P*16", "X OUT N ON", SimdSize=16
    )
    + """mov (M1_NM, 16) V(0,0)<1> 77:ud
add (M1_NM, 1) AT(0,0)<1> X(0,0)<0;1,0> N(0,0)<0;1,0>
mov (M1_NM, 1) PLACE(0,0)<1> N(0,0)<0;1,0>
mov (M1_NM, 1) NW(0,0)<1> N(0,0)<0;1,0>
cmp.ne (M1, 16) P1 ON(0,0)<0;1,0> 0:ud
{lines}
svm_block_st (4) OUT(0,0)<0;1,0> V.0
ret (M1, 1)
"""
)
BLOCKS = {
    # line, bytes that it reads
    "block of owords": ("svm_block_ld (4) AT(0,0)<0;1,0> V.0", 64),
    "owords of a surface": ("oword_ld_unaligned (4) T6 PLACE(0,0)<0;1,0> V.0", 64),
    "block": ("lsc_load.ugm (M1, 1) V:d32x16t flat[AT]:a64", 64),
    "block of a surface": ("lsc_load.ugm (M1, 1) V:d32x4t bti(0x0)[PLACE]:a32", 16),
    "one element": ("lsc_load.ugm (M1_NM, 1) V:d32t bti(0x0)[PLACE]:a32", 4),
    "one lane": ("svm_gather.8.1 (M1_NM, 1) AT.0 V.0", 8),
    "one lane of a surface": ("gather_scaled.4 (M1_NM, 1) T6 0x0:ud PLACE.0 V.0", 4),
    "under a mask": ("(P1) lsc_load.ugm (M1, 1) V:d64x4t flat[AT]:a64", 32),
}
SIZE = 87
"""Bytes of the buffer."""


def run(lines, engine, offset=0, lenient=True, on=1, **options):
    image = build_text(TEXT.format(lines=lines), "dg2")
    image.lenient_reads = lenient
    memory, out = np.arange(1, SIZE + 1, dtype="u1"), np.zeros(16, "u4")
    Program(image).launch("k", 16, 16, [memory, out, np.uint32(offset), np.uint32(on)], engine=engine, **options)
    assert (memory == np.arange(1, SIZE + 1)).all()
    return out


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", BLOCKS)
def test_a_block_has_zeros_behind_the_end_of_its_buffer(what, engine):
    line, size = BLOCKS[what]
    memory = np.concatenate([np.arange(1, SIZE + 1, dtype="u1"), np.zeros(64, "u1")])
    for offset in (0, SIZE - size, SIZE - size + 1, SIZE - 3, SIZE - 1):
        found = run(line, engine, offset).view("u1")
        assert (found[:size] == memory[offset : offset + size]).all()
        assert (found[size:].view("u4") == 77).all()
    for offset in (SIZE, SIZE + 1, 0x40000000):
        with pytest.raises(SimulationError, match=f"which has {SIZE} bytes, at offset {offset} by"):
            run(line, engine, offset)
    with pytest.raises(SimulationError, match=f"which has {SIZE} bytes, at offset"):
        run(line, engine, SIZE - 1, lenient=False)
    with pytest.raises(SimulationError, match=f"which has {SIZE} bytes, at offset"):
        run(line, engine, SIZE - 1, check="race")


@pytest.mark.parametrize("engine", ENGINES)
def test_an_inactive_block_may_have_any_address(engine):
    assert (run(BLOCKS["under a mask"][0], engine, 0x40000000, on=0) == 77).all()


STRICT = {
    "store": "svm_block_st (4) AT(0,0)<0;1,0> V.0",
    "store of a block": "lsc_store.ugm (M1, 1) flat[AT]:a64 V:d32x4t",
    "lanes": "lsc_load.ugm (M1, 2) V:d32 flat[AT]:a64",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", STRICT)
def test_stores_and_lanes_stay_inside(what, engine):
    with pytest.raises(SimulationError, match=f"outside 'X', which has {SIZE} bytes"):
        run(STRICT[what], engine, SIZE - 2)


TAKE = "mov (M1_NM, 16) V(0,0)<1> 5:ud\nmov (M1_NM, 2) W(0,0)<1> 9:ud\naddr_add (M1_NM, 1) A0(0)<1> &W NW(0,0)<0;1,0>"
TAKE_EIGHT = TAKE.replace("(M1_NM, 1) A0(0)<1>", "(M1_NM, 8) A0(0)<1>")
TAKE_EIGHT += "\naddr_add (M1_NM, 1) A0(2)<1> &W 0:uw"


@pytest.mark.parametrize("engine", ENGINES)
def test_registers_where_no_variable_lies_are_read_as_zeros(engine):
    one, each = ("mov (M1, 1) V(0,0)<1> r[A0(0),0]<0;1,0>:ud", "mov (M1, 8) V(0,0)<1> r[A0(0),0]<1,0>:ud")
    for offset, expected in ((0, 9), (4, 9), (8, 0), (12, 0), (10, 0), (100, 0), (0x8000, 0), (0xFFFC, 0)):
        assert run(f"{TAKE}\n{one}", engine, offset)[:2].tolist() == [expected, 5]
        wanted = [expected, expected, 9, *[expected] * 5, 5]
        assert run(f"{TAKE_EIGHT}\n{each}", engine, offset)[:9].tolist() == wanted
    for lines in (f"{TAKE}\n{one}", f"{TAKE_EIGHT}\n{each}"):
        with pytest.raises(SimulationError, match="outside the registers"):
            run(lines, engine, 12, lenient=False)


@pytest.mark.parametrize("engine", ENGINES)
def test_registers_are_not_written_where_no_variable_lies(engine):
    with pytest.raises(SimulationError, match="outside the registers"):
        run(f"{TAKE}\nmov (M1, 1) r[A0(0),0]<1>:ud 1:ud", engine, 12)
