"""Threads without loops run row by row, through all groups side by side, with the same results."""

import numpy as np
import pytest
from ordinary import KERNELS
from support.programs import build

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


@pytest.mark.parametrize("device", ["tgllp", "bmg"])
@pytest.mark.parametrize("groups", [None, (3, 9), (1, 2), (0, 15)])
def test_groups_follow_each_other_along_the_lanes(device, groups):
    """Lanes of this kernel go along y, and so do groups, but not those of a part of them."""
    program, found = Program(build(KERNELS["gaussian"].folder / device, device)), []
    for engine in ("llvm", "numpy"):
        given = KERNELS["gaussian"].work(64).args
        rows = given[0].shape[0]
        launch = Launch("gaussian", (80, 48), (16, 16), args=program.convert("gaussian", given))
        program.run(launch, engine=engine, groups=groups)
        found.append(given[1])
    assert rows >= 128 and (found[0] == found[1]).all()
    assert program.engines.native.prepared.plan.kernel.transposed is (groups is None)
