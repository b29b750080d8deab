"""A program in Python that holds Python's lock while it waits for a thread that calls the driver.

Arguments: the driver, the library of lock_holder.c, the interface, the way to wait, and ``signal`` for a program that
uses the signal which the driver takes first.
"""

import ctypes
import signal
import sys
import threading
import time

driver, holder = ctypes.CDLL(sys.argv[1]), ctypes.PyDLL(sys.argv[2])  # PyDLL keeps Python's lock.
FOREVER = 0xFFFF_FFFF_FFFF_FFFF


class Call(ctypes.Structure):
    """A call for the other thread."""

    _fields_ = (("function", ctypes.c_void_p), ("given", ctypes.c_ssize_t * 9), ("result", ctypes.c_ssize_t))


def number(value):
    """What a call gets for a value: the address of an array or structure."""
    at = ctypes.addressof(value) if isinstance(value, (ctypes.Array, ctypes.Structure)) else value or 0
    return ctypes.c_ssize_t(at).value


def address_of(library, name):
    """The address of a function."""
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value


def call(name, *given):
    """Call from this thread, which lets go of Python's lock."""
    function = getattr(driver, name)
    function.restype, function.argtypes = ctypes.c_ssize_t, [ctypes.c_ssize_t] * len(given)
    return function(*(number(value) for value in given))


def made(name, *given):
    """The handle that a call writes to its last parameter."""
    place = (ctypes.c_size_t * 1)()
    assert call(name, *given, place) == 0, name
    return place[0]


def prepared(*calls):
    """Calls for the library."""
    array = (Call * (len(calls) + 1))()
    for one, (name, *given) in zip(array, calls, strict=False):
        one.function = address_of(driver, name) if name.startswith(("cl", "ze")) else address_of(holder, name)
        one.given[: len(given)] = [number(value) for value in given]
    return array


def meanwhile(*calls):
    """The results of calls from another thread, which this one waits for with Python's lock held."""
    array = prepared(*calls)
    holder.call_and_wait(array, sys.argv[4].encode())
    return [one.result for one in array][:-1]


def words(*given):
    """An array of 32-bit numbers."""
    return (ctypes.c_uint32 * len(given))(*given)


def level_zero():
    """Calls of Level Zero: some that make objects, some that only have a status, and wrong ones."""
    one, place = words(1), (ctypes.c_size_t * 4)()
    pattern = words(7)
    assert meanwhile(("zeInit", 0)) == [0]
    zero_driver = made("zeDriverGet", one)
    device = made("zeDeviceGet", zero_driver, one)
    context = made("zeContextCreate", zero_driver, words(0xD, *[0] * 7))
    commands = made("zeCommandListCreateImmediate", context, device, words(0xE, *[0] * 11))
    pool_desc = words(0x10, 0, 0, 0, 1, 8, 0, 0)
    pool = made("zeEventPoolCreate", context, pool_desc, 0, None)
    event = made("zeEventCreate", pool, words(0x11, *[0] * 9))
    shared = made("zeMemAllocShared", context, words(0x15, *[0] * 9), words(0x16, *[0] * 9), 64, 64, device)
    results = meanwhile(
        ("zeCommandListAppendMemoryFill", commands, shared, pattern, 4, 64, event, 0, None),
        ("zeEventHostSynchronize", event, FOREVER),
        ("zeEventHostReset", event),
        ("zeEventQueryStatus", event),
        ("zeEventPoolCreate", context, pool_desc, 0, None, place),
        ("zeKernelSetArgumentValue", event, 0, 8, place),
        ("zeCommandListHostSynchronize", commands, FOREVER),
    )
    filled = list((ctypes.c_uint32 * 16).from_address(shared))
    assert results == [0, 0, 0, 1, 0, results[5], 0] and results[5] not in (0, 1), results
    assert place[0] and filled == [7] * 16
    # The same between two threads of Python: the driver lets go of the lock that the first one has held.
    waits = prepared(("zeEventHostSynchronize", event, 500_000_000))
    first = threading.Thread(target=holder.call_with_locks, args=(waits,))
    first.start()
    time.sleep(0.3)
    holder.wait_for_lock()
    first.join()
    assert waits[0].result == 1


def opencl():
    """Calls of OpenCL, also one that waits for a command of a queue's thread."""
    place, pattern, error = (ctypes.c_size_t * 4)(), words(7), words(0)
    platform = (ctypes.c_size_t * 1)()
    assert meanwhile(("clIcdGetPlatformIDsKHR", 1, platform, None)) == [0]
    devices = (ctypes.c_size_t * 1)()
    assert call("clGetDeviceIDs", platform[0], 4, 1, devices, None) == 0
    context = call("clCreateContext", None, 1, devices, None, None, error)
    queue = call("clCreateCommandQueue", context, devices[0], 0, error)
    memory = (ctypes.c_uint32 * 16)()
    buffer = call("clCreateBuffer", context, 1 << 3, 64, memory, error)
    results = meanwhile(
        ("clEnqueueFillBuffer", queue, buffer, pattern, 4, 0, 64, 0, None, place),
        ("clWaitForEvents", 1, place),
        ("clGetEventInfo", 0, 0x11D3, 4, pattern, None),
        ("clFinish", queue),
    )
    assert results == [0, 0, -58, 0] and place[0] and list(memory) == [7] * 16, (results, list(memory))
    begins, is_told = call("clCreateUserEvent", context, error), words(0)
    assert call("clEnqueueFillBuffer", queue, buffer, pattern, 4, 0, 64, 1, (ctypes.c_size_t * 1)(begins), place) == 0
    for name in "slow", "told":
        assert call("clSetEventCallback", place[0], 0, address_of(holder, name), is_told) == 0
    call("clSetUserEventStatus", begins, 0)
    assert meanwhile(("wait_until_told", is_told)) == [0]  # The queue's thread wants Python's lock between the two.


if sys.argv[5:] == ["signal"]:
    signal.signal(signal.SIGURG, lambda *_: print("the program's signal"))
is_over = threading.Event()


def count():
    """Another thread of the program, which wants Python's lock, too."""
    while not is_over.is_set():
        pass


other = threading.Thread(target=count)
other.start()
try:
    {"opencl": opencl, "level-zero": level_zero}[sys.argv[3]]()
finally:
    is_over.set()
    other.join()
print("over")
