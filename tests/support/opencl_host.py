"""A program that uses OpenCL, in Python: calls the functions of the driver with addresses, as C does."""

import ctypes

import numpy as np

from visakit.opencl.driver import exports
from visakit.opencl.interface import served_points
from visakit.runtime import cl, device
from visakit.runtime.settings import PLATFORM_SETTING


class Failed(Exception):
    """A call that failed; ``status`` is the name of its status."""

    def __init__(self, name, status):
        super().__init__(f"{name}: {cl.STATUS_NAMES.get(status, status)}")
        self.status = status


def address(value):
    """The C value of an argument: numbers and handles unchanged, arrays and texts by their address."""
    if value is None:
        return 0
    if isinstance(value, np.ndarray):
        return value.ctypes.data
    if isinstance(value, ctypes.Array):
        return ctypes.addressof(value)
    return int(value)


def text(value):
    return ctypes.create_string_buffer(value if isinstance(value, bytes) else value.encode())


def sizes(*values):
    return np.array(values, np.uint64)


class Host:
    """Functions by name; an error raises :class:`Failed`, whether its status is a result or a parameter."""

    def __init__(self, trace=None):
        self.functions = exports(trace)
        self.points = {point.name: point for point in served_points()}

    def __getattr__(self, name):
        point, function = self.points[name], self.functions[name]

        def call(*given):
            place = np.zeros(1, np.int32)
            last = [place] if point.has_error_parameter else []
            result = function(*(address(v) for v in (*given, *last)))
            assert (result is None) == (point.result == "none")
            status = result if point.result == "i32" else int(place[0])
            if status:
                raise Failed(name, status)
            return result

        return call

    def status(self, name, *given):
        """The status of a call that fails."""
        try:
            getattr(self, name)(*given)
        except Failed as problem:
            return problem.status
        return cl.CL_SUCCESS

    def ask(self, function, *given):
        """The bytes of an answer."""
        room = np.zeros(1, np.uint64)
        getattr(self, function)(*given, 0, None, room)
        data = np.zeros(int(room[0]), np.uint8)
        if data.size:
            getattr(self, function)(*given, data.nbytes, data, None)
        return data.tobytes()

    def number(self, function, *given):
        return int.from_bytes(self.ask(function, *given), "little")

    def words(self, function, *given):
        return self.ask(function, *given).rstrip(b"\0").decode()

    def set_arguments(self, kernel, *values):
        """Arguments of a kernel: buffers as int, numbers as numpy scalars, local memory as ("local", bytes)."""
        for index, value in enumerate(values):
            if isinstance(value, tuple):
                self.clSetKernelArg(kernel, index, value[1], None)
            else:
                data = sizes(value) if value is None or isinstance(value, int) else np.array(value, ndmin=1)
                self.clSetKernelArg(kernel, index, data.nbytes, data)


def only_device(name):
    """Makes a fixture: programs find one device with any compiler; its value is a function that changes the device."""

    def fixture(monkeypatch):
        def choose(platform):
            monkeypatch.setenv(PLATFORM_SETTING, platform)
            device.platform.cache_clear()

        choose(name)
        yield choose
        device.platform.cache_clear()

    return fixture


class Session:
    """A device, a context, a queue and the program of ``tests/data/zebins``."""

    def __init__(self, binary, queue_properties=cl.CL_QUEUE_PROFILING_ENABLE, notify=0):
        self.host = host = Host()
        device = sizes(0)
        host.clGetDeviceIDs(0, cl.CL_DEVICE_TYPE_GPU, 1, device, None)
        self.device = int(device[0])
        self.context = host.clCreateContext(None, 1, device, notify, None)
        self.queue = host.clCreateCommandQueue(self.context, self.device, queue_properties)
        self.program = 0 if binary is None else self.load(binary)

    def source(self, source):
        place = text(source)
        return self.host.clCreateProgramWithSource(self.context, 1, sizes(ctypes.addressof(place)), None)

    def build(self, source, options=""):
        program = self.source(source)
        self.host.clBuildProgram(program, 0, None, text(options), None, None)
        return program

    def load(self, binary):
        data = np.frombuffer(binary, np.uint8)
        lengths, places = sizes(data.size), sizes(data.ctypes.data)
        program = self.host.clCreateProgramWithBinary(self.context, 1, sizes(self.device), lengths, places, None)
        self.host.clBuildProgram(program, 0, None, None, None, None)
        return program

    def kernel(self, name, *values, program=None):
        kernel = self.host.clCreateKernel(program or self.program, text(name))
        self.host.set_arguments(kernel, *values)
        return kernel

    def buffer(self, array, flags=cl.CL_MEM_COPY_HOST_PTR):
        return self.host.clCreateBuffer(self.context, flags, array.nbytes, array)

    def run(self, kernel, size, local=None, waits=(), offset=None):
        """Enqueue a kernel; gives its event."""
        event, dims = sizes(0), len(size)
        given = [None if v is None else sizes(*v) for v in (offset, size, local)]
        self.host.clEnqueueNDRangeKernel(
            self.queue, kernel, dims, *given, len(waits), sizes(*waits) if waits else None, event
        )
        return int(event[0])

    def read(self, buffer, dtype, count):
        out = np.zeros(count, dtype)
        self.host.clEnqueueReadBuffer(self.queue, buffer, 1, 0, out.nbytes, out, 0, None, None)
        return out

    def event_status(self, event):
        return int(
            np.frombuffer(self.host.ask("clGetEventInfo", event, cl.CL_EVENT_COMMAND_EXECUTION_STATUS), np.int32)[0]
        )
