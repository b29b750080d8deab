"""The library interface: arguments from Python values, shared memory, images, ``expect``."""

import sys
from pathlib import Path

import numpy as np
import pytest
from support.ocloc import needs_ocloc
from support.programs import DATA, build, build_text

import visakit
import vlink
import vsim
from visakit import LaunchError, SimulationError
from vsim.engines.llvm.engine import Engine
from vsim.launch.launch import Launch
from vsim.program import Program

ENGINES = pytest.mark.parametrize("engine", ["llvm", "numpy"])
CHANGE = np.dtype([("factor", "f4"), ("shift", "i4")])
NODE = np.dtype([("next", "u8"), ("value", "i4"), ("", "i4")])


@pytest.fixture(scope="module")
def program():
    return Program(build(DATA.parent.parent / "samples" / "python", "tgllp"))


@ENGINES
def test_scalars_take_the_declared_type(program, engine):
    change = np.array((2, 1), CHANGE)
    for number in (4, np.int32(4), np.uint32(4), True + 3):
        data = np.ones(8, "f4")
        program.launch("scale", 8, 8, [data, change, number], engine=engine)
        vsim.expect(data, [3, 3, 3, 3, 1, 1, 1, 1])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (lambda d, c: [d, c, 2.5], r"argument 2 \('n'\) is int: 2.5 does not fit"), (lambda d, c: [d, c, 1 << 40], r"argument 2 \('n'\) is int: .* does not fit"),
        (lambda d, c: [d, c, [1, 2]], r"argument 2 \('n'\) is int, which has 1 element, found 2"), (lambda d, c: [d, c, "x"], r"argument 2 \('n'\) cannot be a str"),
        (lambda d, c: [d[::2], c, 1], r"argument 0 \('data'\) is an array that is not contiguous"), (lambda d, c: [d, c], "takes 3 arguments, the launch has 2"),
        (lambda d, c: [d, c, 1, 2], "takes 3 arguments, the launch has 4"),
        (lambda d, c: [5, c, 1], r"argument 0 \('data'\) is a pointer"), (lambda d, c: [d, np.zeros(3, "f4"), 1], r"argument 1 \('change'\) must be a scalar"),
        (lambda d, c: [d, np.int32(1), 1], r"argument 1 \('change'\) has 8 bytes, the launch gives 4"),
        (lambda d, c: [np.ma.array(d, mask=d > 3), c, 1], r"argument 0 \('data'\) is an array with a mask"),
        (lambda d, c: [np.array(["text"] * 8), c, 1], r"argument 0 \('data'\) is an array of texts"),
        (lambda d, c: [d, c, vsim.Sampler()], r"argument 2 \('n'\) must be a scalar, the launch gives a sampler"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_named(program, args, message):
    data, change = np.ones(8, "f4"), np.array((2, 1), CHANGE)
    with pytest.raises(LaunchError, match=message):
        program.launch("scale", 8, 8, args(data, change))
    assert (data == 1).all()


def _numbers(**given):
    """The values that a kernel with scalars of many types gets; two as floats, the others as integers."""
    text = """kernel void s(global float *x, global long *y, float a, half h, uint n, long q, uchar c)
{ x[0] = a; x[1] = h; y[0] = n; y[1] = q; y[2] = c; }"""
    Path("s.cl").write_text(text)
    program = vsim.load("s.cl", platform="tgllp")
    x, y = np.zeros(2, "f4"), np.zeros(3, "i8")
    program.s(x=x, y=y, global_size=1, **{**dict(a=0.0, h=0.0, n=0, q=0, c=0), **given})
    return [*x.tolist(), *y.tolist()]


@needs_ocloc
def test_numpy_numbers_are_numbers_of_their_kind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert _numbers(a=np.float64(3.5), h=np.float32(1.5), n=np.int64(3), q=np.int32(-3), c=np.int64(255)) == [
        3.5, 1.5, 3, -3, 255,
    ]  # fmt: skip
    assert _numbers(a=np.float16(2.5), h=np.array(0.5), n=np.True_, q=np.uint8(200)) == [2.5, 0.5, 1, 200, 0]
    assert _numbers(a=np.float64(np.inf), h=65519.0) == [np.inf, 65504.0, 0, 0, 0]


@needs_ocloc
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(a=np.int32(3)), r"'a'\) is float, and the scalar is of type int32 .*float\(value\), or value.view\('f4'\)"),
        (dict(a=np.bool_(1)), r"is float, and the scalar is of type bool \[S003\] \(pass float\(value\)\)"),
        (dict(n=np.float32(3)), r"'n'\) is uint, and the scalar is of type float32"),
        (dict(h=np.uint16(0x3E00)), r"'h'\) is half, and the scalar is of type uint16"),
        (dict(n=np.int64(1 << 40)), "1099511627776 does not fit uint"), (dict(c=np.int64(256)), "256 does not fit uchar"),
        (dict(a=1e39), r"1e\+39 does not fit float"), (dict(a=np.float64(1e300)), r"1e\+300 does not fit float"),
        (dict(h=65520.0), "65520.0 does not fit half"), (dict(h=-(10**400)), "does not fit half"),
    ],
)  # fmt: skip
def test_numbers_of_another_kind_or_size_are_refused(given, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LaunchError, match=message):
        _numbers(**given)


@ENGINES
def test_shared_memory(engine):
    program = Program(build(DATA.parent.parent / "samples" / "python", "tgllp"))
    nodes, out = np.zeros(4, NODE), np.zeros(1, "i4")
    address = program.usm(nodes)
    nodes["value"] = 1, 10, 100, 1000
    nodes["next"][:3] = [address + 16 * k for k in (1, 2, 3)]
    # The whole, a part of the array, and an address in it are the same memory.
    for first, wanted in ((nodes, 1111), (nodes[1:], 1110), (np.uint64(address + 32), 1100)):
        program.launch("walk", 1, 1, [first, out], engine=engine)
        assert out[0] == wanted
    nodes["next"][3] = 0x1234
    with pytest.raises(SimulationError, match="address 0x123"):
        program.launch("walk", 1, 1, [nodes, out], engine=engine)
    with pytest.raises(
        LaunchError, match=r"argument 0 \('first'\) is a pointer: it must be an array, or an address in one"
    ):
        program.launch("walk", 1, 1, [np.uint64(12), out], engine=engine)


@ENGINES
def test_released_memory_is_gone(engine):
    program = Program(build(DATA.parent.parent / "samples" / "python", "tgllp"))
    first, second, out = np.zeros(1, NODE), np.zeros(1, NODE), np.zeros(1, "i4")
    first["next"], second["value"] = program.usm(second), 9
    program.launch("walk", 1, 1, [first, out], engine=engine)
    assert out[0] == 9
    program.release(second)
    with pytest.raises(SimulationError, match="where there is no buffer"):
        program.launch("walk", 1, 1, [first, out], engine=engine)


@ENGINES
def test_the_same_launch_again(program, engine):
    nodes, out, picture = np.zeros(3, NODE), np.zeros(4, "i4"), np.zeros((2, 2, 4), "f4")
    nodes["value"] = 1, 10, 100
    address = program.usm(nodes)

    def walk(first, size=1):
        out[:] = 0
        return program.launch("walk", size, 1, [first, out], engine=engine)

    first = walk(nodes)
    nodes["next"][:2] = address + 16, address + 32
    again = walk(nodes)
    assert again is not first and again.dispatch is first.dispatch
    assert out.tolist() == [111, 0, 0, 0]
    walk(nodes, 3)
    assert out.tolist() == [111, 111, 111, 0]
    for at, wanted in ((16, 110), (32, 100), (32, 100)):
        walk(np.uint64(address + at))
        assert out[0] == wanted
    for _ in range(2):
        program.launch("invert", (2, 2), (2, 2), [picture, picture], engine=engine)
        walk(nodes)
        assert out[0] == 111
    assert (picture == 0).all()
    picture.shape = (1, 4, 4)  # the same array, another image
    program.launch("invert", (4, 1), (4, 1), [picture, picture], engine=engine)
    assert (picture == 1).all()
    program.release(nodes)
    nodes["next"] = 0
    walk(nodes, 3)
    assert out.tolist() == [1, 1, 1, 0]
    with pytest.raises(LaunchError, match=r"argument 0 \('first'\) is a pointer"):
        walk(np.uint64(address + 16))


@ENGINES
def test_the_same_launch_with_other_numbers(engine):
    """The launch is bound already, except for its numbers; a wrong number has the message of a first launch."""
    program = Program(build(DATA.parent.parent / "samples" / "saxpy", "tgllp"))
    x, y = np.arange(64, dtype="f4"), np.zeros(64, "f4")

    def saxpy(a, size=64):
        y[:] = 1
        return program.launch("saxpy", size, 16, [y, x, a, 64], engine=engine).dispatch

    first = saxpy(2.0)
    for a in (3.0, -0.0, 0.5, np.float32(4), np.float32(8), 1, 2, True):
        again = saxpy(a)
        assert again.arguments.buffers is first.arguments.buffers or type(a) is not float
        assert y.tolist() == (1 + np.float32(a) * x).tolist()
    with pytest.raises(LaunchError, match=r"argument 2 \('a'\) is float, which has 1 element, found 2"):
        saxpy([1.0, 2.0])
    saxpy(5.0)
    with pytest.raises(LaunchError, match=r"argument 3 \('n'\) is int: 1099511627776 does not fit"):
        program.launch("saxpy", 64, 16, [y, x, 5.0, 1 << 40], engine=engine)
    saxpy(6.0, 32)
    assert y.tolist() == [1 + 6 * n if n < 32 else 1 for n in range(64)]
    x[:] = 1
    saxpy(7.0, 32)
    assert y.tolist() == [8] * 32 + [1] * 32


def test_launches_like_the_last_one_only_run_their_kernel(monkeypatch):
    """All others are prepared, and so is the launch that follows them."""
    repeated, repeat = [], Engine.repeat
    monkeypatch.setattr(Engine, "repeat", lambda *args: repeated.append(repeat(*args)) or repeated[-1])
    program = Program(build(DATA.parent.parent / "samples" / "saxpy", "tgllp"))
    x, y = np.arange(64, dtype="f4"), np.zeros(64, "f4")

    def saxpy(a=2.0, **options):
        y[:] = 1
        options = {"engine": "llvm", "threads": 1, **options}
        result = program.launch("saxpy", 64, 16, [y, x, a, 64], **options)
        assert y.tolist() == (1 + a * x).tolist() and result.seconds > 0
        assert result.engine == ("numpy" if options["engine"] == "numpy" else "llvm")
        return bool(repeated and repeated.pop())

    assert [saxpy(), saxpy(), saxpy(3.0), saxpy(engine="auto")] == [False, True, True, True]
    others = [{"profile": True}, {"check": "race"}, {"max_seconds": 60}, {"threads": 2}, {"schedule": "reverse"}]
    for options in (*others, {"observers": [vsim.Observer()]}, {"engine": "numpy"}):
        if options != {"engine": "numpy"}:
            assert not saxpy(**options), options
        saxpy()
        assert saxpy(), options
    program.image.approximate = True
    assert [saxpy(), saxpy()] == [False, True]
    held = np.zeros(4, "f4")
    program.usm(held)
    assert [saxpy(), saxpy()] == [False, True]
    del held
    program.release(x)
    assert [saxpy(), saxpy()] == [False, True]
    program.memory.limit = 1 << 30
    assert not saxpy()
    program.memory.limit = None
    saxpy()
    for _ in range(2):
        with pytest.raises(LaunchError, match="'threads' is a whole number from 1 on, found 0"):
            saxpy(threads=0)


def test_faults_of_launches_like_the_last_one():
    program = Program(build(DATA.parent.parent / "samples" / "python", "tgllp"))
    nodes, out = np.zeros(1, NODE), np.zeros(1, "i4")
    program.usm(nodes)
    for bad in (0, 0, 8, 8, 0, 8):
        nodes["next"] = bad
        if bad:
            with pytest.raises(SimulationError, match="where there is no buffer") as caught:
                program.launch("walk", 1, 1, [nodes, out], engine="llvm", threads=1)
            assert caught.value.diagnostics[0].registers
        else:
            program.launch("walk", 1, 1, [nodes, out], engine="llvm", threads=1)


@pytest.mark.parametrize(("sample", "platform", "most"), [("saxpy", "tgllp", 18), ("mandelbrot", "bmg", 30)])
def test_a_launch_like_the_last_one_takes_few_calls(sample, platform, most):
    """One without loops, and one with, which another thread runs: each call is code that caches have lost since."""
    program = Program(build(DATA.parent.parent / "samples" / sample, platform))
    x = np.zeros(64, "f4")
    args = [x, x.copy(), 2.0, 64] if sample == "saxpy" else [x.view("i4"), 8, 8, 9]
    calls = []

    def launch():
        program.launch("", (8, 8), (8, 1), args, engine="llvm", threads=1)

    launch()
    launch()
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name) if event == "call" else None)
    try:
        launch()
    finally:
        sys.setprofile(None)
    assert len(calls) <= most, (len(calls), calls)


@ENGINES
def test_the_result_of_a_launch(program, engine):
    data, change = np.ones(8, "f4"), np.array((2, 1), CHANGE)
    result = program.launch("scale", 8, 8, [data, change, 8], engine=engine)
    assert isinstance(result, vsim.LaunchResult)
    assert (result.kernel, result.engine, result.printf, result.executed) == ("scale", engine, "", [])
    assert result.fidelity is None and 0 < result.seconds < 60
    assert repr(result).startswith("<LaunchResult of 'scale': ") and repr(result).endswith(f" ms on {engine}>")
    result = program.launch("scale", 8, 8, [data, change, 8], engine=engine, schedule="round-robin")
    assert result.engine == engine


OURS = ("vasm", "vlink", "vsim", "visakit")


def shown_shortly(value, seen=None, depth=0):
    """Hold what an object of ours shows, and what its attributes and elements do, against one short line."""
    seen = {} if seen is None else seen
    if id(value) in seen or depth > 6:
        return
    seen[id(value)], cls = value, type(value)
    parts = []
    if cls.__module__.partition(".")[0] in OURS:
        assert len(repr(value)) < 250 and "\n" not in repr(value), repr(value)
        if not cls.__module__.startswith(("vsim.engines.llvm", "visakit.isa")):  # the inside of engine and table
            assert " object at " not in repr(value), repr(value)
        names = {n for c in cls.__mro__ for n in (*getattr(c, "__slots__", ()), *getattr(value, "__dict__", ()))}
        names |= {n for n in dir(cls) if isinstance(getattr(cls, n, None), property) and not n.startswith("_")}
        parts = [getattr(value, n) for n in sorted(names) if hasattr(value, n)]
    elif isinstance(value, (list, tuple)):
        parts = list(value[:20])
    elif isinstance(value, dict):
        parts = list(value.values())[:20]
    for part in parts:
        shown_shortly(part, seen, depth + 1)


def test_everything_is_shown_in_one_short_line(program):
    data, change = np.ones(100000, "f4"), np.array((2, 1), CHANGE)
    record = Launch("scale", (8,), (8,), args=program.convert("scale", [data, change, 8]))
    dispatch = program.run(record).dispatch
    image = vsim.Image(np.zeros((99, 99, 4), "f4"), "rgba_f32")
    module = program.image.module
    with pytest.raises(visakit.AssemblyError) as caught:
        visakit.assemble("what\n" * 30)
    options = vlink.LinkOptions(data={"x": bytes(10000)}, launch="{}" * 1000, pick=True)
    assert repr(options) == "LinkOptions(launch=<2000 characters>, data=<symbols x>, pick=True)"
    result = program.scale(data, change, 8, global_size=8, profile=True)
    module = program.image.module
    for value in (
        program,
        record,
        *record.args,
        image,
        dispatch,
        module,
        caught.value,
        options,
        result,
        vsim.Sampler(),
    ):
        shown_shortly(value)
    assert repr(program) == "<Program of scale, walk, invert for tgllp>".replace(
        "scale, walk, invert", ", ".join(program.kernels)
    )
    assert repr(dispatch.signature) == "<KernelSignature scale(float* data, Change change, int n), SIMD32>"
    assert repr(record.args[0]) == "BufferArgument(<float32 array of shape (100000,)>)"


def test_images_by_shape(program):
    picture = np.linspace(0, 1, 4 * 8 * 4, dtype="f4").reshape(4, 8, 4)
    for array, wanted in (
        (np.zeros((4, 8, 4), "f4"), 1 - picture),
        (np.zeros((4, 8, 4), "f2"), (1 - picture).astype("f2")),
    ):
        program.launch("invert", (8, 4), (8, 1), [picture, array])
        vsim.expect(array, wanted)
    with pytest.raises(LaunchError, match=r"argument 1 \('to'\) is an image, but no format fits shape \(4, 8, 3\)"):
        program.launch("invert", (8, 4), (8, 1), [picture, np.zeros((4, 8, 3), "f4")])


def test_expect():
    vsim.expect(np.array([1.0, np.nan]), [1.0, np.nan])
    vsim.expect(np.ones(4), 1)
    vsim.expect(np.array([1.0]), [1.001], rtol=0.01)
    with pytest.raises(AssertionError, match=r"^sum: 1 of 2 elements differ \(by up to 1\): \[1\] is 3, expected 2$"):
        vsim.expect(np.array([1, 3]), [1, 2], name="sum")
    with pytest.raises(AssertionError, match="2 elements, expected 3"):
        vsim.expect(np.array([1, 3]), [1, 2, 3])


# -- kernels by name -------------------------------------------------------------------------------------------


@ENGINES
def test_a_kernel_is_called_with_arguments_by_name(program, engine):
    change = np.array((2, 1), CHANGE)
    for call in (
        lambda data: program.scale(n=4, change=change, data=data, global_size=8, engine=engine),
        lambda data: program["scale"](data, n=4, change=change, global_size=8, local_size=4, engine=engine),
        lambda data: program.scale(data, change, 4, global_size=8, engine=engine),
        lambda data: program.launch("scale", 8, args={"n": 4, "change": change, "data": data}, engine=engine),
    ):
        data = np.ones(8, "f4")
        assert call(data).engine == engine
        vsim.expect(data, [3, 3, 3, 3, 1, 1, 1, 1])
    assert repr(program.scale) == "<Kernel scale(data, change, n)>"
    assert program.scale is program["scale"] and "scale" in dir(program)


BY_NAME = {
    "missing": (lambda k, d: k(data=d, n=4, global_size=8), "argument 'change' is missing.*arguments are data, change, n"),
    "all missing": (lambda k, d: k(global_size=8), "takes 3 arguments, the launch has 0"),
    "two missing": (lambda k, d: k(data=d, global_size=8), "arguments 'change', 'n' are missing"),
    "unknown": (lambda k, d: k(dat=d, n=4, global_size=8), "no argument 'dat'.*did you mean 'data'"),
    "twice": (lambda k, d: k(d, d, 4, n=4, global_size=8), "argument 'n' is given twice"),
    "wrong value": (lambda k, d: k(d, np.array((2, 1), CHANGE), n="x", global_size=8), r"argument 2 \('n'\) cannot be a str"),
}  # fmt: skip


def test_names_of_arguments_are_texts(program):
    with pytest.raises(visakit.LaunchError, match="no argument 1"):
        program.launch("scale", 8, args={1: np.ones(8, "f4"), 2: 4})


@pytest.mark.parametrize("what", BY_NAME)
def test_faulty_arguments_by_name(program, what):
    call, message = BY_NAME[what]
    data = np.ones(8, "f4")
    with pytest.raises(LaunchError, match=message):
        call(program.scale, data)
    assert (data == 1).all()


def test_a_name_that_is_no_kernel(program):
    with pytest.raises(AttributeError, match="no kernel or attribute 'scal': did you mean 'scale'"):
        program.scal  # noqa: B018
    with pytest.raises(LaunchError, match="no kernel 'scal'"):
        program["scal"]
    assert not hasattr(program, "__array__") and program.kernels


@ENGINES
def test_without_ze_info_arguments_have_the_names_of_inputs(engine):
    text = (
        '.version 4.1\n.kernel "put"\n.decl TO v_type=G type=uq num_elts=1\n.decl WHAT v_type=G type=d num_elts=1\n'
        ".input TO offset=64 size=8\n.input WHAT offset=72 size=4\n"
        "lsc_store.ugm (M1_NM, 1) flat[TO]:a64 WHAT:d32\nret (M1, 1)\n"
    )
    program = Program(build_text(text, "dg2"))
    out = np.zeros(1, "i4")
    program.put(WHAT=7, TO=out, global_size=1, engine=engine)
    assert out.tolist() == [7] and program.put.argument_names == ["TO", "WHAT"]


@ENGINES
def test_text_of_kernels_is_printed(engine, capsys):
    program = vsim.load(DATA / "zebins" / "xelp.bin")
    for options, shown in (({}, "item 2 of 16: 6\n"), ({"show_printf": False}, "")):
        z = np.arange(16, dtype="i4") % 8
        result = program.steps(y=z, t=64, global_size=16, local_size=16, engine=engine, **options)
        assert result.printf == "item 2 of 16: 6\n" and capsys.readouterr().out == shown


@ENGINES
def test_text_of_a_faulting_kernel_is_printed(engine, capsys):
    program = vsim.load(DATA / "zebins" / "xelp.bin")
    with pytest.raises(SimulationError) as caught:
        program.steps(y=np.zeros(4, "i4"), t=64, global_size=16, local_size=16, engine=engine)
    assert capsys.readouterr().out == caught.value.printf


@pytest.mark.parametrize("name", ["x\0", "\ud800"])
def test_names_that_no_file_has(name):
    """Such names are errors like missing files."""
    for read in (vsim.load, lambda path: vlink.link([path])):
        with pytest.raises(visakit.FileError, match="F001"):
            read(name)


@pytest.mark.parametrize("name", [[], {}, bytearray(b"k"), b"k", None, 5])
def test_names_of_kernels_are_texts(name):
    program = vsim.load(build_text('.version 4.1\n.kernel "k"\nret (M1, 1)'))
    for use in (lambda: program.launch(name, 8, 8, []), lambda: program[name]):
        with pytest.raises(visakit.UsageError, match="the name of a kernel is a str, found"):
            use()
