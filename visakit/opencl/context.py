"""Contexts: devices with memory and programs in one simulated address space."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Sequence

from visakit.diagnostics import Diagnostic, render
from visakit.opencl import cl, host, info
from visakit.opencl.allocation import Shared, free_all
from visakit.opencl.device import Device, Platform, platform
from visakit.opencl.errors import ClError, require
from visakit.opencl.info import Answers
from visakit.opencl.objects import ClObject
from visakit.opencl.order import Order
from visakit.opencl.settings import watches_races
from visakit.opencl.texts import in_files
from vsim.memory.memory import AddressSpace


class Context(ClObject):
    """Devices whose queues share memory and programs.

    Attributes:
        space: where buffers and the data of programs have their addresses.
        shared: allocations that the program and kernels know by the same address, by that.
        allocations: how many there have been.
        queues: the live queues.
        order: which commands come before which, where races of launches are looked for.
        notify: a function of the program that receives errors, and its user data; 0 for none.
    """

    invalid = cl.CL_INVALID_CONTEXT
    title = "context"

    def __init__(self, devices: Sequence[Device], properties: bytes = b"", notify: tuple[int, int] = (0, 0)) -> None:
        super().__init__()
        self.devices = list(dict.fromkeys(devices))
        self.properties = properties
        self.notify = notify
        self.space = AddressSpace()
        self.shared: dict[int, Shared] = {}
        self.allocations = 0
        self.queues: weakref.WeakSet[ClObject] = weakref.WeakSet()
        self.order = Order() if watches_races() else None
        shared = self.shared
        self.at_end(lambda: free_all(shared))

    def device(self, handle: int) -> Device:
        """A device of the context."""
        device = Device.find(handle)
        require(device in self.devices, cl.CL_INVALID_DEVICE, "the device is not of the context")
        return device

    def devices_at(self, address: int, count: int) -> list[Device]:
        """Devices of the context in an array of handles; all of them for no array."""
        require(bool(address) == bool(count), cl.CL_INVALID_VALUE, "an array of devices and its length belong together")
        return [self.device(handle) for handle in host.read_sizes(address, count)] if address else self.devices

    def report_all(self, diagnostics: Sequence[Diagnostic]) -> None:
        """:meth:`report` diagnostics; the texts that they cite are in files then."""
        self.report(render(in_files(diagnostics)))

    def report(self, message: str) -> None:
        """Report an error outside of calls to the user, and to the program's callback."""
        say(message)
        function, user_data = self.notify
        if function:
            host.call(function, "ppsp", message.encode("utf-8", "surrogateescape") + b"\0", None, 0, user_data or None)


def say(message: str) -> None:
    """Write to standard error, which not every program has, or can be written to."""
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr is not None:
            print(message, file=sys.stderr, flush=True)


def read_properties(address: int) -> bytes:
    """The properties of a new context as they were given.

    Raises:
        ClError: a property is not known, or names another platform.
    """
    if not address:
        return b""
    pairs = host.properties(address)
    names = [name for name, _ in pairs]
    for name, value in pairs:
        if name == cl.CL_CONTEXT_PLATFORM:
            require(value == platform().handle, cl.CL_INVALID_PLATFORM, "the platform is another driver's")
        elif name == cl.CL_CONTEXT_INTEROP_USER_SYNC:
            require(value in (0, 1), cl.CL_INVALID_PROPERTY, f"{value:#x} is no truth value")
        else:
            raise ClError(cl.CL_INVALID_PROPERTY, f"{name:#x} is no property of contexts here")
        require(names.count(name) == 1, cl.CL_INVALID_PROPERTY, "a property is given twice")
    return host.pack_sizes([n for pair in pairs for n in pair] + [0])


def find_platform(handle: int) -> Platform:
    """The platform; null is it, too."""
    return Platform.find(handle) if handle else platform()


CONTEXT_ANSWERS: Answers[Context] = {
    cl.CL_CONTEXT_REFERENCE_COUNT: lambda c: info.u32(c.references),
    cl.CL_CONTEXT_NUM_DEVICES: lambda c: info.u32(len(c.devices)),
    cl.CL_CONTEXT_DEVICES: lambda c: info.handles(c.devices),
    cl.CL_CONTEXT_PROPERTIES: lambda c: c.properties,
}
