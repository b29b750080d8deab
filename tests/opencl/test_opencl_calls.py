"""Random calls of every function of OpenCL, by one thread and by two."""

import random

import numpy as np
import pytest
from support.c_programs import lacking
from support.opencl_host import Session, only_device, sizes
from support.programs import DATA
from support.random_calls import Attack, built, in_threads

from visakit.runtime import cl

only_tgllp = pytest.fixture(autouse=True)(only_device("tgllp"))
XELP = DATA / "zebins" / "xelp.bin"
HANDLES = (
    "context", "device", "in_device", "platform", "command_queue", "buffer", "src_buffer", "dst_buffer", "image",
    "src_image", "dst_image", "memobj", "kernel", "source_kernel", "program", "sampler", "pipe",
)  # fmt: skip
OBJECTS = (
    "platform", "device in_device", "context", "command_queue", "program", "memobj buffer src_buffer dst_buffer",
    "kernel source_kernel", "event",
)  # fmt: skip
"""Parameters that take the first objects of the program in C."""
LEFT_OUT = (
    "clCreateUserEvent",  # Commands that wait for it would wait for ever.
    "clEnqueueNativeKernel", "clSetEventCallback", "clSetMemObjectDestructorCallback", "clEnqueueSVMFree",
    "clSetProgramReleaseCallback", "clSetContextDestructorCallback", "clCreateContext", "clCreateContextFromType",
    "clCreateProgramWithSource", "clCreateProgramWithBinary",  # They read as many bytes as a list in memory says.
    "clGetProgramInfo",  # Binaries go to addresses that a list in memory has.
    "clBuildProgram", "clCompileProgram", "clLinkProgram",  # They call functions of the program.
)  # fmt: skip
NUMBERS = [
    number for name, number in vars(cl).items() if name.startswith("CL_") and isinstance(number, int) and number > 0
]


def is_handle(point, name):
    """Whether a parameter takes an object; functions give an event in parameters of that name, unless it is the first."""
    return name in HANDLES or name == point.parameters[0][1] == "event"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("threads", [1, 2])
def test_random_calls_have_results_and_the_driver_makes_no_mistake(seed, threads, capfd):
    session = Session(XELP.read_bytes())
    buffer = session.buffer(np.zeros(64, "f4"))
    kernel = session.kernel("saxpy", buffer, buffer, np.float32(1), np.uint32(64))
    handles = [session.device, session.context, session.queue, session.program, kernel, buffer]
    handles.append(session.run(kernel, (64,)))

    def check(name, values, result, memory):
        point = session.host.points[name]
        if point.result == "i32":
            assert result in cl.STATUS_NAMES, (name, result)
        return result if point.has_error_parameter and result else 0

    attack = Attack(session.host, handles, NUMBERS, is_handle, LEFT_OUT)
    in_threads(threads, lambda number: attack.run(random.Random(10 * seed + number), check))
    assert "mistake" not in capfd.readouterr().err


@pytest.mark.skipif(bool(lacks := lacking("CL/cl_ext.h")), reason=f"there is no {lacks}")
@pytest.mark.parametrize("threads", [1, 2])
def test_random_calls_of_a_program_in_c(threads, tmp_path):
    attack = Attack(Session(None).host, [], NUMBERS, is_handle, LEFT_OUT)
    objects = {name: number for number, names in enumerate(OBJECTS) for name in names.split()}
    found, done = attack.in_c(built(tmp_path, "OPENCL"), objects, XELP, 0, 1000, threads)
    assert (done.returncode, [one for one in found if one[1] not in cl.STATUS_NAMES]) == (0, [])
    assert found and "mistake" not in done.stderr


@pytest.mark.parametrize("size", [1 << 31, 1 << 63, (1 << 64) - 1])
def test_programs_of_sizes_that_cannot_be_are_refused(size):
    session = Session(None)
    place = np.zeros(8, "u8")
    lists = sizes(size), sizes(place.ctypes.data)
    calls = {
        "clCreateProgramWithIL": (session.context, place, size),
        "clCreateProgramWithSource": (session.context, 1, lists[1], lists[0]),
        "clCreateProgramWithBinary": (session.context, 1, sizes(session.device), *lists, None),
    }
    for name, given in calls.items():
        assert session.host.status(name, *given) == cl.CL_INVALID_VALUE, name
