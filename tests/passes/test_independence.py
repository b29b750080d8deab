"""Kernels whose work-items may run in any lane of their group, and where lanes that lie down columns go along rows."""

import re

import numpy as np
import pytest
from ordinary import DEVICES, KERNELS
from support.programs import kernel_head
from vsim_programs import program_of

import visakit
from visakit.diagnostics import SimulationError
from vsim.analysis.lanes.independence import is_independent
from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import Launch

GUARD = "cmp.lt (M1, 16) P1 X(0,0)<1;1,0> N(0,0)<0;1,0>\n(!P1) goto (M1, 16) OUT"
STORE = "mov (M1, 16) TO(0,0)<1> A(0,0)<1;1,0>\nlsc_store.ugm (M1, 16) flat[TO]:a64 A:d32"
LOOP = """mov (M1_NM, 1) S(0,0)<1> 0x0:ud
AGAIN:
add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> S(0,0)<0;1,0>
add (M1_NM, 1) S(0,0)<1> S(0,0)<0;1,0> 0x1:ud
cmp.lt (M1{mask}, 16) P2 S(0,0)<0;1,0> {limit}
(P2) goto (M1, 16) AGAIN"""
WHILE = LOOP.format(mask="_NM", limit="0x8:ud")
DIVERGENT = LOOP.format(mask="", limit="X(0,0)<1;1,0>")
AFTER = "add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> S(0,0)<0;1,0>"


def arms(one, other):
    return f"""cmp.lt (M1, 16) P1 X(0,0)<1;1,0> N(0,0)<0;1,0>
(P1) goto (M1, 16) ELSE
{one}
goto (M1, 16) OUT
ELSE:
{other}"""


LOOP_AROUND = """mov (M1_NM, 1) S(0,0)<1> 0x0:ud
mov (M1_NM, 1) B(0,0)<1> 0x0:ud
OUTER:
{inner}
add (M1_NM, 1) B(0,0)<1> B(0,0)<0;1,0> 0x1:ud
cmp.lt (M1_NM, 16) P2 B(0,0)<0;1,0> 0x8:ud
(P2) goto (M1, 16) OUTER
"""
READ = "mov (M1, 16) A(0,0)<1> S(0,0)<0;1,0>"
SKIPPED = f"""cmp.lt (M1, 16) P1 X(0,0)<1;1,0> B(0,0)<0;1,0>
(P1) goto (M1, 16) SKIP
{{arm}}
{READ}
SKIP:"""
COUNTED = "add (M1_NM, 1) S(0,0)<1> S(0,0)<0;1,0> 0x1:ud"
INNER = f"""INNER:
{COUNTED}
add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> S(0,0)<0;1,0>
cmp.lt (M1, 16) P1 A(0,0)<1;1,0> X(0,0)<1;1,0>
(P1) goto (M1, 16) INNER"""

HALVES = """mul (M1, 8) B(0,0)<1> X(0,0)<1;1,0> 0x4:ud
mul (M3, 8) PAIR(0,0)<1> X(0,8)<1;1,0> 0x4:ud
add (M1, 8) A(0,0)<1> B(0,0)<1;1,0> N(0,0)<0;1,0>
add (M3, 8) A(0,8)<1> PAIR(0,0)<1;1,0> N(0,0)<0;1,0>"""
OF_BLOCK = "lsc_load.ugm (M1_NM, 1) B:d32x8t flat[WHERE]:a64"
SCALARS = """mov (M1_NM, 1) S(0,0)<1> 0x1:ud
add (M1, 8) A(0,0)<1> X(0,0)<1;1,0> S(0,0)<0;1,0>
mov (M1_NM, 1) S(0,0)<1> 0x1:ud
add (M3, 8) A(0,8)<1> X(0,8)<1;1,0> S(0,0)<0;1,0>"""

INDEPENDENT = {
    "halves in other registers": HALVES,
    "a constant for each half": SCALARS,
    "computing": "mul (M1, 16) A(0,0)<1> X(0,0)<1;1,0> N(0,0)<0;1,0>",
    "half of the lanes": "mov (M1, 8) A(0,0)<1> X(0,0)<1;1,0>\nmov (M3, 8) A(0,8)<1> X(0,8)<1;1,0>",
    "a guard": f"{GUARD}\n{STORE}",
    "a loop behind a guard": f"{GUARD}\n{WHILE}\n{STORE}",
    "a loop of other lengths": f"{DIVERGENT}\n{STORE}",
    "arms": arms("mov (M1, 16) A(0,0)<1> 0x1:ud", "mov (M1, 16) A(0,0)<1> 0x2:ud"),
    "a scalar of one arm": arms(f"{WHILE}", STORE),
    "an arm in a loop": LOOP_AROUND.format(inner=SKIPPED.format(arm=f"mov (M1_NM, 1) S(0,0)<1> 0x0:ud\n{COUNTED}"))
    + STORE,
    "a loop in an arm in a loop": LOOP_AROUND.format(
        inner=SKIPPED.format(arm=f"mov (M1_NM, 1) S(0,0)<1> 0x0:ud\n{INNER.replace('P1', 'P3')}").replace(READ, "")
    ),
    "a loop of other lengths in a loop": LOOP_AROUND.format(inner=f"mov (M1_NM, 1) S(0,0)<1> 0x0:ud\n{INNER}"),
    "a constant predicate": f"setp (M1_NM, 16) P1 0xffff:ud\n(!P1) goto (M1, 16) OUT\n{STORE}",
    "a scalar chosen in an arm": LOOP_AROUND.format(
        inner=SKIPPED.format(
            arm="cmp.lt (M1_NM, 1) P4 B(0,0)<0;1,0> 0x3:ud\n(P4) sel (M1_NM, 1) S(0,0)<1> B(0,0)<0;1,0> 0x1:ud"
        )
    ),
    "a block": "lsc_load.ugm (M1_NM, 1) B:d32x8t flat[WHERE]:a64\nadd (M1, 16) A(0,0)<1> X(0,0)<1;1,0> B(0,3)<0;1,0>",
    "the group": "add (M1, 16) A(0,0)<1> X(0,0)<1;1,0> %r0(0,1)<0;1,0>",
    "two elements a lane": "mov (M1, 16) TO(0,0)<1> X(0,0)<1;1,0>\nlsc_load.ugm (M1, 16) PAIR:d32x2 flat[TO]:a64\n"
    "add (M1, 16) A(0,0)<1> PAIR(0,0)<1;1,0> PAIR(1,0)<1;1,0>",
}
DEPENDENT = {
    "a constant of one half": HALVES.replace("X(0,8)<1;1,0> 0x4", "X(0,8)<1;1,0> 0x8"),
    "an instruction of one half": HALVES.replace("add (M3", "mul (M3"),
    "a type of one half": HALVES.replace("PAIR(0,0)<1;1,0> N", "A(0,8)<1;1,0> N"),
    "a scalar of one half": HALVES.replace("PAIR(0,0)<1;1,0> N(0,0)", "PAIR(0,0)<1;1,0> S(0,0)"),
    "a modifier of one half": HALVES.replace("PAIR(0,0)<1;1,0> N", "(-)PAIR(0,0)<1;1,0> N"),
    "half of the lanes alone": "mov (M1, 8) A(0,0)<1> X(0,0)<1;1,0>",
    "registers that change places": f"{HALVES}\nmov (M1, 8) A(0,0)<1> A(0,0)<1;1,0>\nmov (M3, 8) A(0,8)<1> PAIR(0,0)<1;1,0>",
    "rows by the number of the lane": "mov (M1, 16) PAIR(0,0)<1> X(0,0)<1;1,0>\nmov (M1, 16) PAIR(1,0)<1> 0x0:ud\n"
    "mov (M1, 8) A(0,0)<1> PAIR(0,0)<1;1,0>\nmov (M3, 8) A(0,8)<1> PAIR(1,8)<1;1,0>",
    "a row of a block": f"{OF_BLOCK}\nadd (M1, 8) A(0,0)<1> X(0,0)<1;1,0> B(0,0)<1;1,0>\n"
    "add (M3, 8) A(0,8)<1> X(0,8)<1;1,0> B(0,0)<1;1,0>",
    "another constant for each half": SCALARS[::-1].replace("du:1x0", "du:2x0", 1)[::-1],
    "a store between the halves": SCALARS.replace(
        "mov (M1_NM, 1) S(0,0)<1> 0x1:ud\nadd (M3", "lsc_store.ugm (M1_NM, 1) flat[WHERE]:a64 S:d32\nadd (M3"
    ).replace("add (M1, 8) A(0,0)<1> X", "mov (M1_NM, 1) S(0,0)<1> 0x1:ud\nadd (M1, 8) A(0,0)<1> X"),
    "a neighbour": "mov (M1, 16) A(0,0)<1> X(0,0)<1;1,0>\nmov (M1, 8) A(0,0)<1> A(0,1)<1;1,0>",
    "one lane's": "mov (M1, 16) A(0,0)<1> X(0,0)<0;1,0>",
    "a scalar of a lane": "mov (M1_NM, 1) S(0,0)<1> X(0,0)<0;1,0>",
    "numbers of lanes": "mov (M1, 8) A(0,0)<1> 0x76543210:v",
    "bits by the number of the lane": f"setp (M1_NM, 16) P1 0xff:ud\n(!P1) goto (M1, 16) OUT\n{STORE}",
    "bits of a scalar": f"setp (M1_NM, 16) P1 N(0,0)<0;1,0>\n(!P1) goto (M1, 16) OUT\n{STORE}",
    "a scalar written in an arm at times": LOOP_AROUND.format(
        inner=SKIPPED.format(
            arm="cmp.lt (M1_NM, 1) P4 B(0,0)<0;1,0> 0x3:ud\n(P4) mov (M1_NM, 1) S(0,0)<1> B(0,0)<0;1,0>"
        )
    ),
    "the thread": "mov (M1_NM, 1) S(0,0)<1> %r0(0,2)<0;1,0>",
    "an atomic": "lsc_atomic_iadd.ugm (M1, 16) A:d32 flat[TO]:a64 A %null",
    "a barrier": "barrier",
    "local memory": "lsc_store.slm (M1, 16) flat[A]:a32 A:d32",
    "a block of lanes": "lsc_load.ugm (M1_NM, 1) A:d32x8t flat[WHERE]:a64\nadd (M1, 8) A(0,0)<1> A(0,0)<1;1,0> 0x1:ud",
    "any lane": "cmp.lt (M1, 16) P1 X(0,0)<1;1,0> N(0,0)<0;1,0>\n(P1.any) jmp (M1, 1) OUT",
    "bits of lanes": "cmp.lt (M1, 16) P1 X(0,0)<1;1,0> N(0,0)<0;1,0>\nmov (M1_NM, 1) S(0,0)<1> P1",
    "the count of the longest loop": f"{DIVERGENT}\n{AFTER}\n{STORE}",
    "a scalar of the other arm": arms("mov (M1_NM, 1) S(0,0)<1> 0x1:ud", AFTER),
    "lanes of the other arm": arms("mov (M1_NM, 16) A(0,0)<1> 0x1:ud", STORE),
    "a store of lanes that are elsewhere": arms("lsc_store.ugm (M1_NM, 16) flat[TO]:a64 A:d32", STORE),
    "rounding in one arm": arms("mov (M1_NM, 1) %cr0(0,0)<1> 0x4c0:ud", STORE),
    "how often others were in an arm": LOOP_AROUND.format(inner=SKIPPED.format(arm=COUNTED)) + STORE,
    "how often others ran a loop": LOOP_AROUND.format(inner=INNER) + STORE,
    "what lane 0 stores": arms("lsc_store.ugm (M1, 1) flat[WHERE]:a64 S:d32", STORE),
    "bits of upper lanes": "cmp.lt (M3, 8) P1 X(0,8)<1;1,0> N(0,0)<0;1,0>\nmov (M1_NM, 1) S(0,0)<1> P1",
    "what lane 0 does": arms("mov (M1, 1) S(0,0)<1> 0x1:ud", STORE),
    "another part of a pair": "mov (M1, 16) TO(0,0)<1> X(0,0)<1;1,0>\nlsc_load.ugm (M1, 16) PAIR:d32x2 flat[TO]:a64\n"
    "add (M1, 16) A(0,0)<1> PAIR(0,0)<1;1,0> PAIR(0,8)<1;1,0>",
    "an address of registers": "mov (M1_NM, 1) AT(0)<1> &A\nmov (M1, 16) A(0,0)<1> r[AT(0),0]<1;1,0>:ud",
}


def is_free(body):
    text = (
        kernel_head(
            "X=uw*32 N=ud S=ud A=ud*16 B=ud*8 PAIR=ud*32 TO=uq*16 WHERE=uq P1=P*16 P2=P*16 P3=P*16 P4=P AT=A", "X N"
        )
        + f""".input WHERE offset=136 size=8
.kernel_attr SimdSize=16
{body}
OUT:
ret (M1, 1)
"""
    )
    (kernel,) = visakit.read_module(visakit.assemble(text, platform="pvc")).kernels
    return is_independent(kernel, 64, 16, range(64, 128), 64)


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent(name):
    assert is_free(INDEPENDENT[name])


@pytest.mark.parametrize("name", DEPENDENT)
def test_dependent(name):
    assert not is_free(DEPENDENT[name])


@pytest.mark.parametrize("device", DEVICES)
def test_lanes_are_transposed_if_rows_follow_y(device):
    """Faults name the transposed work-item."""
    work = KERNELS["gaussian"].work(16)
    program = program_of(KERNELS["gaussian"].folder / device)
    dispatch = program.bind(
        Launch("gaussian", work.global_size, work.local_size, args=program.convert("gaussian", work.args))
    )
    assert translate(dispatch, True, 16, 16).transposed
    assert not translate(dispatch, True, 16).transposed
    m, a, n, t = work.args
    found = []
    for engine in ("llvm", "numpy"):
        short = np.array(a).reshape(-1)[: int(n) * int(n) - 1].copy()
        with pytest.raises(SimulationError) as error:
            program.launch("gaussian", work.global_size, work.local_size, [m, short, n, t], engine=engine)
        found.append(re.search(r"lane \d+, work-item .*", str(error.value))[0])
    assert found[0] == found[1], found
