"""The library interface: arguments from Python values, shared memory, images, ``expect``."""

import numpy as np
import pytest
from conftest import DATA, build

import vsim
from visa import LaunchError, SimulationError
from vsim.launch import Launch
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
        (lambda d, c: [d, c, [1, 2]], r"argument 2 \('n'\) is int, which has 1 elements, found 2"), (lambda d, c: [d, c, "x"], r"argument 2 \('n'\) cannot be a str"),
        (lambda d, c: [d[::2], c, 1], r"argument 0 \('data'\) is an array that is not contiguous"), (lambda d, c: [d, c], "takes 3 arguments, the launch has 2"),
        (lambda d, c: [d, c, 1, 2], "takes 3 arguments, the launch has 4"),
        (lambda d, c: [5, c, 1], r"argument 0 \('data'\) is a pointer"), (lambda d, c: [d, np.zeros(3, "f4"), 1], r"argument 1 \('change'\) must be a scalar"),
        (lambda d, c: [d, np.int32(1), 1], r"argument 1 \('change'\) has 8 bytes, the launch gives 4"),
        (lambda d, c: [d, c, vsim.Sampler()], r"argument 2 \('n'\) must be a scalar, the launch gives a sampler"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(program, args, message):
    data, change = np.ones(8, "f4"), np.array((2, 1), CHANGE)
    with pytest.raises(LaunchError, match=message):
        program.launch("scale", 8, 8, args(data, change))
    assert (data == 1).all()


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
def test_what_comes_back(program, engine):
    data, change = np.ones(8, "f4"), np.array((2, 1), CHANGE)
    result = program.launch("scale", 8, 8, [data, change, 8], engine=engine)
    assert isinstance(result, vsim.LaunchResult)
    assert (result.kernel, result.engine, result.printf, result.executed) == ("scale", engine, "", [])
    assert result.fidelity is None and 0 < result.seconds < 60
    assert repr(result).startswith("<LaunchResult of 'scale': ") and repr(result).endswith(f" ms on {engine}>")
    result = program.launch("scale", 8, 8, [data, change, 8], engine=engine, schedule="round-robin")
    assert result.engine == engine


def test_everything_is_shown_in_one_short_line(program):
    data, change = np.ones(100000, "f4"), np.array((2, 1), CHANGE)
    record = Launch("scale", (8,), (8,), args=program.convert("scale", [data, change, 8]))
    dispatch = program.run(record).dispatch
    image = vsim.Image(np.zeros((99, 99, 4), "f4"), "rgba_f32")
    module = program.image.module
    for value in (
        program,
        record,
        *record.args,
        image,
        dispatch,
        dispatch.signature,
        module,
        module.kernels[0],
        program.image,
    ):
        assert len(repr(value)) < 120 and "\n" not in repr(value) and " object at " not in repr(value), repr(value)
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
    with pytest.raises(
        LaunchError, match=r"argument 1 \('to'\) is an image, but no format goes with shape \(4, 8, 3\)"
    ):
        program.launch("invert", (8, 4), (8, 1), [picture, np.zeros((4, 8, 3), "f4")])


def test_expect():
    vsim.expect(np.array([1.0, np.nan]), [1.0, np.nan])
    vsim.expect(np.ones(4), 1)
    vsim.expect(np.array([1.0]), [1.001], rtol=0.01)
    with pytest.raises(AssertionError, match=r"^sum: 1 of 2 elements differ \(by up to 1\): \[1\] is 3, expected 2$"):
        vsim.expect(np.array([1, 3]), [1, 2], name="sum")
    with pytest.raises(AssertionError, match="2 elements, expected 3"):
        vsim.expect(np.array([1, 3]), [1, 2, 3])
