"""Workers take groups in chunks: each group runs once, the first chunks are large, but not too large, the last small."""

import numpy as np
import pytest
from kernels import KERNELS
from support.programs import build, build_text, ze_info_of

from vsim.engines.llvm import abi
from vsim.engines.llvm.plan import SLICE_WORK
from vsim.launch.launch import Launch
from vsim.program import Program

LOCAL = 32


@pytest.fixture(scope="module")
def saxpy():
    return Program(build(KERNELS["saxpy"].folder / "bmg", "bmg"))


def dealing_of(program):
    """Groups of the smallest chunk, groups left for each smallest chunk, and smallest chunks of the largest chunk."""
    context = program.engines.native.prepared.plan.context
    return tuple(int(context[field // 8]) for field in (abi.CHUNK, abi.SHARE, abi.MOST))


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("groups", [1, 2, 7, 255, 256, 257, 3000])
def test_each_group_runs_once(saxpy, groups, threads):
    """A group that ran twice, or never, would add another multiple of x."""
    x, y = np.arange(groups * LOCAL, dtype="f4"), np.ones(groups * LOCAL, "f4")
    for _ in range(3):
        saxpy.launch("saxpy", (groups * LOCAL,), (LOCAL,), [y, x, np.float32(2)], engine="llvm", threads=threads)
    assert (y == 1 + 6 * x).all()


def test_parts_of_the_groups(saxpy):
    x, y = np.arange(600 * LOCAL, dtype="f4"), np.ones(600 * LOCAL, "f4")
    launch = Launch("saxpy", (600 * LOCAL,), (LOCAL,), args=saxpy.convert("saxpy", [y, x, np.float32(2)]))
    saxpy.run(launch, engine="llvm", threads=2, groups=(100, 431))
    assert (y[: 100 * LOCAL] == 1).all() and (y[431 * LOCAL :] == 1).all()
    assert (y == 1 + 2 * x)[100 * LOCAL : 431 * LOCAL].all()


def test_chunks_are_parts_of_the_groups_that_are_left(saxpy):
    """At first a quarter of the groups for two workers, at last one of some hundred parts of them."""
    found = []
    for groups, threads in ((32768, 2), (2048, 2), (2048, 8)):
        data = [np.zeros(groups * LOCAL, "f4")] * 2
        saxpy.launch("saxpy", (groups * LOCAL,), (LOCAL,), [*data, np.float32(2)], engine="llvm", threads=threads)
        found.append(dealing_of(saxpy)[:2])
    assert found == [(64, 256), (8, 32), (2, 32)]


TEXT = """.version 4.1
.kernel "k"
.decl N v_type=G type=d num_elts=16 align=GRF
.decl P v_type=P num_elts=16
.kernel_attr SimdSize=16
mov (M1, 16) N(0,0)<1> 3:d
{lines}
ret (M1, 1)
"""
ROUND = (
    "ROUND:\nadd (M1, 16) N(0,0)<1> N(0,0)<1;1,0> -1:d\ncmp.gt (M1, 16) P N(0,0)<1;1,0> 0:d\n(P) goto (M1, 16) ROUND"
)


def test_chunks_that_may_take_long_are_limited():
    """Loops take who knows how long; other groups as many instructions as some milliseconds have. A schedule gives the
    order of single groups.
    """
    for lines, schedule, largest in ((ROUND, None, 64), ("", None, SLICE_WORK // 2), ("", "reverse", 1)):
        program = Program(build_text(TEXT.format(lines=lines), info=ze_info_of(simd_size=16)))
        program.launch("k", (1 << 20,), (16,), [], engine="llvm", threads=2, schedule=schedule)
        least, _, most = dealing_of(program)
        assert least * most == largest and least == (1 if schedule else 64)
