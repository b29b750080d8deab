"""Every work-item of an ND-range runs once, whatever its sizes, and in any order of groups and threads."""

import itertools
import math

import numpy as np
from hypothesis import given
from support.programs import build_text, kernel_head
from support.strategies import ENGINES, effort, nd_ranges, schedules

from vsim.program import Program

COUNT = (
    kernel_head("OUT=uq AT=uq*8 X=ud*8 PLACE=ud*8 N=ud THREAD=ud", "OUT", name="count", SimdSize=8)
    + """mad (M1_NM, 1) N(0,0)<1> %group_id_z(0,0)<0;1,0> {y}:d %group_id_y(0,0)<0;1,0>
mad (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> {x}:d %group_id_x(0,0)<0;1,0>
and (M1_NM, 1) THREAD(0,0)<1> %r0(0,2)<0;1,0> 0xff:ud
mad (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> {threads}:d THREAD(0,0)<0;1,0>
mov (M1, 8) PLACE(0,0)<1> 0x76543210:uv
mad (M1, 8) PLACE(0,0)<1> N(0,0)<0;1,0> 8:d PLACE(0,0)<1;1,0>
shl (M1, 8) AT(0,0)<1> PLACE(0,0)<1;1,0> 2:ud
add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> OUT(0,0)<0;1,0>
svm_gather.4.1 (M1, 8) AT.0 X.0
add (M1, 8) X(0,0)<1> X(0,0)<1;1,0> 1:ud
svm_scatter.4.1 (M1, 8) AT.0 X.0
ret (M1, 1)
"""
)
"""Adds one to the place of each work-item: group, thread, lane."""


@effort(25)
@given(nd_ranges(), schedules)
def test_every_work_item_runs_once(sizes, schedule):
    whole, local = ((*size, 1, 1)[:3] for size in sizes)
    groups = [-(-n // size) for n, size in zip(whole, local, strict=True)]
    lanes = -(-math.prod(local) // 8) * 8
    expected = np.zeros((*reversed(groups), lanes), "u4")
    for z, y, x in itertools.product(*(range(n) for n in reversed(groups))):
        here = [min(size, n - size * at) for n, size, at in zip(whole, local, (x, y, z), strict=True)]
        expected[z, y, x, : math.prod(here)] = 1
    program = Program(build_text(COUNT.format(x=groups[0], y=groups[1], threads=lanes // 8), "xehp"))
    for engine in ENGINES:
        out = np.zeros(expected.shape, "u4")
        program.launch("count", sizes[0], sizes[1], [out], engine=engine, schedule=schedule)
        assert (out == expected).all(), engine
