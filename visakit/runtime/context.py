"""Contexts: devices with memory and programs in one simulated address space."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Sequence

from visakit.diagnostics import Diagnostic, render
from visakit.runtime import cl, host
from visakit.runtime.allocation import Shared, free_all
from visakit.runtime.device import Device
from visakit.runtime.errors import require, say
from visakit.runtime.objects import ApiObject
from visakit.runtime.order import Order
from visakit.runtime.settings import watches_races
from visakit.runtime.texts import in_files
from vsim.memory.memory import AddressSpace


class Context(ApiObject):
    """Devices whose queues share memory and programs.

    Args:
        like: a context whose addresses, allocations and order of commands it shares; it frees no allocations then.

    Attributes:
        space: where buffers and the data of programs have their addresses.
        shared: allocations that the program and kernels know by the same address, by that.
        allocations: numbers of the next ones.
        queues: the live queues, whose kernels may use the allocations.
        order: which commands come before which, where races of launches are looked for.
        notify: a function of the program that receives errors, and its user data; 0 for none.
    """

    invalid = cl.CL_INVALID_CONTEXT
    title = "context"

    def __init__(
        self, devices: Sequence[Device], properties: bytes = b"", notify: tuple[int, int] = (0, 0),
        like: Context | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.devices = list(dict.fromkeys(devices))
        self.properties = properties
        self.notify = notify
        self.space: AddressSpace = AddressSpace() if like is None else like.space
        self.shared: dict[int, Shared] = {} if like is None else like.shared
        self.allocations: itertools.count[int] = itertools.count(1) if like is None else like.allocations
        self.queues: weakref.WeakSet[ApiObject] = weakref.WeakSet() if like is None else like.queues
        self.order: Order | None = (Order() if watches_races() else None) if like is None else like.order
        if like is None:
            shared = self.shared
            self.at_end(lambda: free_all(shared))

    @property
    def maximum_allocation(self) -> int:
        """Bytes that memory of it may have."""
        return max(device.maximum_allocation for device in self.devices)

    @property
    def has_images(self) -> bool:
        """Whether one of its devices has images."""
        return any(device.model.has_images for device in self.devices)

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
