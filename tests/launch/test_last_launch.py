"""Launches of images, and with private memory, that are like the last one; see test_python for others."""

import numpy as np
import pytest
from support.programs import DATA, build, build_text, kernel_head, ze_info_of

import vsim
from visakit import LaunchError, SimulationError
from vsim.engines.llvm.engine import Engine
from vsim.launch import last_launch
from vsim.launch.binding import ASSERT_HEAD
from vsim.launch.launch import ImageArgument, SamplerArgument
from vsim.program import Program

ENGINES = pytest.mark.parametrize("engine", ["llvm", "numpy"])


@pytest.fixture
def repeated(monkeypatch):
    """For each launch of the fast engine, in order, whether it repeated the one before."""
    found, repeat = [], Engine.repeat
    monkeypatch.setattr(Engine, "repeat", lambda *args: found.append(repeat(*args)) or found[-1])
    return found


@pytest.mark.parametrize("named", [True, False])
def test_images_stay_in_place(named, repeated):
    program = Program(build(DATA.parent.parent / "samples" / "python", "tgllp"))
    source, target, other = (np.zeros((2, 2, 4), "f4") for _ in range(3))
    images = [vsim.Image(a, "rgba_f32") if named else a for a in (source, target)]

    def again(size=(2, 2)):
        program.launch("invert", size, (2, 1), images, engine="llvm", threads=1)
        vsim.expect(target, 1 - source)
        return bool(repeated and repeated[-1])

    again()
    for value in (0.25, 0.5):
        source[:] = value
        assert again()
    target.shape = source.shape = (1, 4, 4)
    assert [again(size=(4, 1)), again(size=(4, 1))] == [False, True]
    if named:
        images[0].array = other.reshape(1, 4, 4)
        source[:] = 0
        assert not again(size=(4, 1))
        images[1].format = "rgba_u32"
        assert not again(size=(4, 1))


def test_new_contents_of_read_only_images_are_read(repeated):
    program = Program(build(DATA.parent.parent / "samples" / "python", "tgllp"))
    source, target = np.zeros((2, 2, 4), "f4"), np.zeros((2, 2, 4), "f4")
    for value in (0.25, 0.5, 0.75):
        source.flags.writeable = True
        source[:] = value
        source.flags.writeable = False
        program.launch("invert", (2, 2), (2, 1), [source, target], engine="llvm", threads=1)
        vsim.expect(target, 1 - source)


def image():
    return ImageArgument(np.zeros((2, 4, 4), "f4"), "rgba_f32")


def test_printf_of_repeated_launches(repeated):
    program, y = vsim.load(DATA / "zebins" / "xelp.bin"), np.zeros(16, "i4")
    for _ in range(3):
        y[:] = np.arange(16) % 8
        result = program.launch("steps", 16, 16, [y, 64], engine="llvm", threads=1, show_printf=False)
        assert result.printf == "item 2 of 16: 6\n"


def read_only():
    array = np.zeros(4)
    array.setflags(write=False)
    return array


CHANGES = {
    "shape of an image": (image, lambda x: setattr(x.array, "shape", (4, 2, 4))),
    "elements of an image": (image, lambda x: setattr(x.array, "dtype", "i4")),
    "format": (image, lambda x: setattr(x, "format", "rgba_u32")),
    "layers": (image, lambda x: setattr(x, "layered", True)),
    "writing to an image": (image, lambda x: x.array.setflags(write=False)),
    "shape of a bare image": (lambda: image().array, lambda x: setattr(x, "shape", (4, 2, 4))),
    "elements of a bare image": (lambda: image().array, lambda x: setattr(x, "dtype", "i4")),
    "writing": (lambda: np.zeros(4), lambda x: x.setflags(write=False)),
    "reading": (read_only, lambda x: x.setflags(write=True)),
    "sampler": (lambda: SamplerArgument(addressing="repeat"), lambda x: setattr(x, "addressing", "mirror")),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_arguments_that_change_in_place_are_others(kind):
    make, change = CHANGES[kind]
    argument = make()
    known = last_launch._known_by(argument, "image" in kind or kind in ("format", "layers"))
    assert last_launch._same(argument, known)
    change(argument)
    assert not last_launch._same(argument, known)


@pytest.mark.parametrize("number", [float, np.float32])
def test_zeros_of_both_signs_are_other_numbers(number):
    assert last_launch._same(number(0), number(0))
    assert not last_launch._same(number(0), number(-0.0))


def test_equal_numbers_of_other_types_are_others():
    """A float of four bytes has other bits than the integer of the same value."""
    values = [1, 1.0, True, np.float32(1), np.float64(1), np.int32(1), np.uint32(1), np.bool_(True)]
    assert all(last_launch._same(x, y) == (x is y) for x in values for y in values)


def test_messages_of_assertions_are_cleared(repeated):
    """The buffer begins with its size, to which the kernel adds a number."""
    info = ze_info_of("assert_buffer buffer value=4", simd_size=1)
    program, out = Program(build_text(COUNT, "pvc", info)), np.zeros(1, "u4")
    for _ in range(3):
        program.launch("k", 1, 1, [out, 8], engine="llvm", threads=1)
        assert out[0] == ASSERT_HEAD[0] + 8
    assert not any(repeated)


def test_numbers_of_other_types_repeat_a_launch(repeated):
    program, out = Program(build_text(COUNT, "pvc", COUNT_INFO)), np.zeros(1, "u4")
    for n in (1, 1.0, np.float32(2), np.int32(-3), np.uint32(4)):
        program.launch("k", 1, 1, [out, n], engine="llvm", threads=1)
        assert out[0] == (np.float32(n) if isinstance(n, (float, np.floating)) else np.int64(n).astype("i4")).view("u4")
    assert repeated[-4:] == [True] * 4


COUNT = (
    kernel_head("BASE=uq OUT=uq X=ud*1 N=ud", "BASE OUT N")
    + """svm_gather.4.1 (M1_NM, 1) BASE.0 X.0
add (M1_NM, 1) X(0,0)<1> X(0,0)<0;1,0> N(0,0)<0;1,0>
svm_scatter.4.1 (M1_NM, 1) BASE.0 X.0
svm_scatter.4.1 (M1_NM, 1) OUT.0 X.0
ret (M1, 1)
"""
)
COUNT_INFO = ze_info_of("private buffer value=4", simd_size=1)


@ENGINES
def test_private_memory_begins_with_zeros_each_time(engine, repeated):
    program, out = Program(build_text(COUNT, "pvc", COUNT_INFO)), np.zeros(1, "u4")
    for n in (7, 7, 9, 7):
        program.launch("k", 1, 1, [out, n], engine=engine, threads=1)
        assert out[0] == n
    assert engine == "numpy" or repeated[-3:] == [True] * 3


@ENGINES
def test_what_changes_between_launches_counts(engine):
    """A number changes in its list or array; another launch makes a buffer read-only; an argument is left out."""
    image = build_text(COUNT, "pvc", COUNT_INFO)
    program, out = Program(image), np.zeros(1, "u4")
    for number, place in (([7], 0), (np.array(7, "u4"), ())):
        for value in (7, 9):
            number[place] = value
            program.launch("k", 1, 1, [out, number], engine=engine, threads=1)
            assert out[0] == value
    program.launch("k", 1, 1, [out, 5], engine=engine, threads=1)
    out.setflags(write=False)
    with pytest.raises(SimulationError):
        Program(image, program.memory).launch("k", 1, 1, [out, 5], engine=engine, threads=1)
    out.setflags(write=True)
    program.launch("k", 1, 1, [out, 5], engine=engine, threads=1)
    with pytest.raises(LaunchError):
        program.launch("k", 1, 1, [out], engine=engine, threads=1)
