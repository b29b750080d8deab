"""Where native code is long in the making, the reference engine runs meanwhile."""

import threading

import numpy as np
import pytest
from support.programs import build_text

import vsim
from vsim.engines import tiers
from vsim.engines.llvm import kernels, pipeline

ADDITIONS = 500
TEXT = "\n".join(
    [
        ".version 4.1",
        '.kernel "count"',
        ".decl DATA v_type=G type=uq num_elts=1",
        ".decl AT v_type=G type=uq num_elts=8 align=GRF",
        ".decl X v_type=G type=ud num_elts=8 align=GRF",
        ".kernel_attr SimdSize=8",
        ".input DATA offset=64 size=8",
        "mov (M1, 8) X(0,0)<1> 0x76543210:uv",
        "mad (M1, 8) X(0,0)<1> %group_id_x(0,0)<0;1,0> 8:uw X(0,0)<1;1,0>",
        "shl (M1, 8) AT(0,0)<1> X(0,0)<1;1,0> 2:ud",
        "add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> DATA(0,0)<0;1,0>",
        "svm_gather.4.1 (M1, 8) AT.0 X.0",
        *["add (M1, 8) X(0,0)<1> X(0,0)<1;1,0> 1:ud"] * ADDITIONS,
        "svm_scatter.4.1 (M1, 8) AT.0 X.0",
        "ret (M1, 1)",
        "",
    ]
)
ITEMS = 8 * 8 * tiers.THREADS_AT_ONCE
"""So many that they are several batches."""


@pytest.fixture
def program():
    return vsim.load(build_text(TEXT))


@pytest.fixture
def slow(monkeypatch, tmp_path):
    """Compiling waits until the test lets it go on; nothing is on disk."""
    go_on = threading.Event()
    compile_objects = pipeline.compile_objects

    def wait(translation):
        assert go_on.wait(60)
        return compile_objects(translation)

    monkeypatch.setattr(pipeline, "compile_objects", wait)
    monkeypatch.setattr(kernels, "GRACE_SECONDS", 0)
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path))
    yield go_on
    go_on.set()


def test_the_reference_engine_ends_first(program, slow):
    data = np.arange(ITEMS, dtype=np.uint32)
    result = program.launch("count", ITEMS, 8, [data])
    assert result.engine == "numpy"
    assert (data == np.arange(ITEMS) + ADDITIONS).all()
    slow.set()
    (compilation,) = program.engines.native.kernels.unfinished.values()
    assert compilation.wait(60)
    result = program.launch("count", ITEMS, 8, [data])
    assert result.engine == "llvm"
    assert (data == np.arange(ITEMS) + 2 * ADDITIONS).all()
    assert not program.engines.native.kernels.unfinished


def test_native_code_is_ready_first(program, slow, monkeypatch):
    overtake = tiers.overtake

    def interrupted(dispatch, max_seconds, is_ready):
        looks = iter(range(2))

        def ready():
            if next(looks, None) is None:  # in the middle of the launch
                slow.set()
                (compilation,) = program.engines.native.kernels.unfinished.values()
                assert compilation.wait(60)
            return is_ready()

        return overtake(dispatch, max_seconds, ready)

    monkeypatch.setattr(tiers, "overtake", interrupted)
    data = np.arange(ITEMS, dtype=np.uint32)
    result = program.launch("count", ITEMS, 8, [data])
    assert result.engine == "llvm"
    assert (data == np.arange(ITEMS) + ADDITIONS).all(), "some items were counted twice"


def test_whoever_asks_for_an_engine_gets_it(program, slow):
    data = np.arange(8, dtype=np.uint32)
    threading.Timer(0.1, slow.set).start()
    assert program.launch("count", 8, 8, [data], engine="llvm").engine == "llvm"
    assert program.launch("count", 8, 8, [data], engine="numpy").engine == "numpy"


@pytest.mark.parametrize("options", [{"schedule": "reverse"}, {"profile": True}], ids=str)
def test_order_and_coverage_wait_for_native_code(program, slow, options):
    threading.Timer(0.1, slow.set).start()
    assert program.launch("count", 8, 8, [np.zeros(8, np.uint32)], **options).engine == "llvm"


def test_errors_of_the_compiler_are_those_of_the_launch(program, slow, monkeypatch):
    def fail(translation):
        raise RuntimeError("no")

    monkeypatch.setattr(pipeline, "compile_objects", fail)
    monkeypatch.setattr(kernels, "GRACE_SECONDS", 60)
    with pytest.raises(RuntimeError, match="no"):
        program.launch("count", 8, 8, [np.zeros(8, np.uint32)])
