"""Threads without loops run row by row, through all groups side by side, with the same results."""

import numpy as np
import pytest
from ordinary import KERNELS
from support.programs import build, build_text, ze_info_of
from vsim_programs import program_of

from vsim.engines.llvm import abi
from vsim.launch.launch import Launch
from vsim.program import Program


@pytest.fixture(scope="module", params=["tgllp", "bmg"])
def floyd(request):
    return Program(build(KERNELS["floyd"].folder / request.param, request.param))


def context_of(program, size, local, **options):
    """The context of a launch, which is compared with that of the reference engine."""
    width, height = size
    paths = np.random.default_rng(1).integers(1, 1000, (height, width), "i4")
    found = []
    for engine in ("llvm", "numpy"):
        result = paths.copy()
        program.launch("floyd", size, local, [result, width, 0], engine=engine, **options)
        found.append(result)
    assert (found[0] == found[1]).all()
    return program.engines.native.prepared.plan.context


@pytest.mark.parametrize(
    ("size", "local", "threads"),
    [((192, 12), (64, 4), 2), ((64, 12), (32, 4), 1), ((96, 32), (16, 8), 1), ((1088, 8), (64, 4), 8), ((64, 4), (64, 1), 2),
     ((70, 5), (32, 4), 1), ((96, 4), (48, 2), 3), ((16, 64), (4, 32), 4)],
)  # fmt: skip
def test_threads_without_loops(floyd, size, local, threads):
    for workers in (1, 2):
        assert context_of(floyd, size, local, threads=workers)[abi.ROW_THREADS // 8] == threads


def test_an_order_is_kept(floyd):
    assert context_of(floyd, (192, 12), (64, 4), schedule="reverse")[abi.ROW_THREADS // 8] == 8


def test_workers_take_whole_rows(floyd):
    assert context_of(floyd, (192, 12), (64, 4), threads=2)[abi.CHUNK // 8] == 3


TEXT = """.version 4.1
.kernel "k"
.decl N v_type=G type=d num_elts=16 align=GRF
.decl P v_type=P num_elts=16
.kernel_attr SimdSize={simd}
mov (M1, {simd}) N(0,0)<1> 3:d
{lines}
ret (M1, 1)
"""
ROUND = (
    "ROUND:\nadd (M1, 16) N(0,0)<1> N(0,0)<1;1,0> -1:d\ncmp.gt (M1, 16) P N(0,0)<1;1,0> 0:d\n(P) goto (M1, 16) ROUND"
)


@pytest.mark.parametrize(
    ("lines", "simd", "more", "local", "expected"),
    [
        ("", 16, {}, (16, 4), (1, 4)),
        ("", 16, {"slm_size": 1024}, (16, 4), (4, 1)),
        ("barrier", 16, {"barrier_count": 1}, (16, 4), (4, 1)),
        (ROUND, 16, {}, (16, 4), (4, 1)),
        ("", 1, {}, (16, 4), (64, 1)),
        ("", 16, {}, (16, 1), (1, 1)),
    ],
    ids=["plain", "local memory", "barrier", "loop", "one lane", "one row"],
)
def test_which_kernels_run_row_by_row(lines, simd, more, local, expected):
    """Groups with local memory must end before the next one begins; the others gain nothing. Threads at a time for each
    group, and groups that a worker takes at a time.
    """
    text, info = TEXT.format(lines=lines, simd=simd), ze_info_of(simd_size=simd, **more)
    program = Program(build_text(text, info=info))
    program.launch("k", (64, 8), local, [], engine="llvm", threads=2)
    context = program.engines.native.prepared.plan.context
    assert (context[abi.ROW_THREADS // 8], context[abi.CHUNK // 8]) == expected


@pytest.mark.parametrize("device", ["tgllp", "bmg"])
@pytest.mark.parametrize("groups", [None, (3, 9), (1, 2), (0, 15)])
def test_groups_follow_each_other_along_the_lanes(device, groups):
    """Lanes of this kernel go along y, and so do groups, but not those of a part of them."""
    program, found = program_of(KERNELS["gaussian"].folder / device), []
    for engine in ("llvm", "numpy"):
        given = KERNELS["gaussian"].work(64).args
        rows = given[0].shape[0]
        launch = Launch("gaussian", (80, 48), (16, 16), args=program.convert("gaussian", given))
        program.run(launch, engine=engine, groups=groups)
        found.append(given[1])
    assert rows >= 128 and (found[0] == found[1]).all()
    assert program.engines.native.prepared.plan.kernel.transposed is (groups is None)
