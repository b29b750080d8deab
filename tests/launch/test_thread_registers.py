"""What threads find in predefined registers when they begin, on every platform, in whole threads and in cut ones."""

import numpy as np
import pytest
from support.programs import build_text, kernel_head
from support.strategies import ENGINES

import vsim
from visakit import SimulationError
from visakit.language.platforms import PLATFORMS, find

pytestmark = pytest.mark.filterwarnings("ignore:.*S005")  # %thread_x, where groups cut threads

READ = [
    *((f"%r0(0,{n})", n) for n in range(8)),
    *((f"%sr0(0,{n})", 8 + n) for n in range(4)),
    *((f"%cr0(0,{n})", 12 + n) for n in range(3)),
    ("%ce0(0,0)", 15), ("%hw_id(0,0)", 16), *((f"%dbg0(0,{n})", 17 + n) for n in range(2)),
    *((f"%msg0(0,{n})", 19 + n) for n in range(3)), *((f"%tsc(0,{n})", 22 + n) for n in range(5)),
    ("%group_id_x(0,0)", 27), ("%group_id_y(0,0)", 28), ("%group_id_z(0,0)", 29),
    ("%thread_x(0,0)", 30), ("%thread_y(0,0)", 31),
]  # fmt: skip


def text_of(grf, simd, target="3d"):
    """A kernel whose threads store their payload, 32 dwords each: of the group (x, y, z) and the thread t in it."""
    row = grf // 4
    lines = [f"mov (M1_NM, 1) V({at // row},{at % row})<1> {name}<0;1,0>" for name, at in READ]
    return (
        kernel_head("OUT=uq@qword A=uq@qword N=ud*2@qword V=ud*32", "OUT", at=grf, SimdSize=simd, Target=target)
        + f"""{chr(10).join(lines)}
mul (M1_NM, 1) N(0,0)<1> %group_id_y(0,0)<0;1,0> 2:ud
add (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> %group_id_x(0,0)<0;1,0>
mul (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> 3:ud
and (M1_NM, 1) N(0,1)<1> %r0(0,2)<0;1,0> 0xff:ud
add (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> N(0,1)<0;1,0>
mul (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> 128:ud
add (M1_NM, 1) A(0,0)<1> OUT(0,0)<0;1,0> N(0,0)<0;1,0>
svm_block_st (8) A(0,0)<0;1,0> V.0
ret (M1, 1)
"""
    )


def state_register(platform, slot):
    """%sr0 and %msg0 of a thread slot: bits 3 (and some of 6 and 7) of the register are no bits of the number."""
    low, high = slot & 7, slot >> 3
    if platform in ("dg2", "pvc", "xehp"):
        return low | (high & 3) << 4 | (high >> 2) << (7 if platform == "dg2" else 8), 0
    return low | (high & 7) << 4, high >> 3


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("simd", [8, 16, 32])
@pytest.mark.parametrize("platform", PLATFORMS)
def test_registers_at_entry(platform, simd, engine):
    """Two groups of three threads, the last of which is cut, in the second row of the ND-range."""
    grf = find(platform).grf_size
    image = build_text(text_of(grf, simd), platform)
    out = np.zeros((12, 32), "u4")
    size = 2 * simd + 3
    vsim.load(image).launch("k", (2 * size, 2), (size, 1), [out], engine=engine)
    for t in range(3):
        found = out[9 + t].tolist()  # of the group (1, 1)
        lanes = (1 << simd) - 1 if t < 2 else 7
        slot = found[16]
        assert found[:8] == [0, 1, t, 0, 0, slot & 0x3FF, 1, 0]
        assert found[8:12] == [state_register(platform, slot)[0], 0, lanes, 0]
        assert found[12:16] == [0, 0, 0, lanes]
        assert found[17:22] == [0, 0, state_register(platform, slot)[1], 0, 0]
        assert found[22:30] == [0, 0, 0, 0, 0, 1, 1, 0]
        assert found[30:] == [(size + t * simd) // simd, 1]
    assert len({row[16] for row in out.tolist()}) >= 3  # no two threads of a group have one number


@pytest.mark.parametrize("engine", ENGINES)
def test_all_lanes_run_in_threads_of_one_work_item(engine):
    image = build_text(text_of(32, 16, "cm"), "dg2")
    out = np.zeros((12, 32), "u4")
    vsim.load(image).launch("k", (38, 2), (19, 1), [out], engine=engine)
    for row in (0, 1, 9, 10):
        assert out[row, 10] == out[row, 15] == 0xFFFFFFFF


@pytest.mark.parametrize("engine", ENGINES)
def test_the_lanes_of_a_branch(engine):
    """%ce0 has the lanes that run, not those of the instruction or its predicate; %sr0 keeps the mask of the dispatch."""
    text = (
        kernel_head("OUT=uq@qword V=ud*16 P=P*16", "OUT", at=32, SimdSize=16)
        + """mov (M1_NM, 16) V(0,0)<1> 0:ud
setp (M1_NM, 16) P 0x0ff0:ud
(P) goto (M1, 16) other
mov (M1_NM, 1) V(0,0)<1> %ce0(0,0)<0;1,0>
(P) mov (M1, 4) V(0,4)<1> %ce0(0,0)<0;1,0>
other:
mov (M1_NM, 1) V(0,1)<1> %ce0(0,0)<0;1,0>
mov (M1_NM, 1) V(0,2)<1> %sr0(0,2)<0;1,0>
svm_block_st (4) OUT(0,0)<0;1,0> V.0
ret (M1, 1)
"""
    )
    out = np.zeros(16, "u4")
    vsim.load(build_text(text, "dg2")).launch("k", 13, 13, [out], engine=engine)
    assert out.tolist() == [0x100F, 0x1FFF, 0x1FFF, *[0] * 13]


@pytest.mark.parametrize("engine", ENGINES)
def test_more_than_ce0_has(engine):
    """An instruction that also reads what lanes run is refused with its reason, as any other is."""
    text = (
        kernel_head("OUT=uq@qword D=ud*64", "OUT", at=32, SimdSize=8)
        + "dpas.s8.s8.8.8 (M1, 8) D.0 %ce0.0 D.0 D(0,0)\nret (M1, 1)\n"
    )
    with pytest.raises(SimulationError, match=r"reaches byte 32 of '%ce0', whose registers have 4, in 'dpas"):
        vsim.load(build_text(text, "dg2")).launch("k", 8, 8, [np.zeros(16, "u4")], engine=engine)
