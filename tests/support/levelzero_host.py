"""A program that uses Level Zero, in Python: calls the functions of the driver with addresses, as C does."""

import ctypes

import numpy as np

from support.opencl_host import address, sizes, text
from visakit.levelzero import structures, ze
from visakit.levelzero.driver import exports
from visakit.levelzero.interface import served_points
from visakit.runtime import cl

FOREVER = 0xFFFF_FFFF_FFFF_FFFF


class Failed(Exception):
    """A call that failed; ``result`` is the number of its result."""

    def __init__(self, name, result):
        super().__init__(f"{name}: {ze.STATUS_NAMES.get(result, result)}")
        self.result = result


def given(value):
    """The C value of an argument: structures by their address, too."""
    return ctypes.addressof(value) if isinstance(value, ctypes.Structure) else address(value)


class Host:
    """Functions by name; they raise :class:`Failed` in place of a result other than success."""

    def __init__(self, trace=None):
        self.functions = exports(trace)
        self.points = {point.name: point for point in served_points()}

    def __getattr__(self, name):
        point, function = self.points[name], self.functions[name]

        def call(*values):
            assert len(values) == len(point.parameters), name
            result = function(*(given(value) for value in values))
            if point.refusal is None and result:
                raise Failed(name, result)
            return result

        return call

    def result(self, name, *values):
        """The result of a call."""
        return self.functions[name](*(given(value) for value in values))

    def made(self, name, *values):
        """The object or address that a call writes to its last parameter."""
        place = sizes(0)
        getattr(self, name)(*values, place)
        return int(place[0])

    def all(self, name, *values):
        """The handles of an array that a call gives."""
        count = np.zeros(1, np.uint32)
        getattr(self, name)(*values, count, None)
        found = np.zeros(int(count[0]), np.uint64)
        getattr(self, name)(*values, count, found)
        return [int(handle) for handle in found]

    def text(self, name, *values):
        """A text that a call gives."""
        size = sizes(0)
        getattr(self, name)(*values, size, None)
        place = ctypes.create_string_buffer(int(size[0]))
        getattr(self, name)(*values, size, place)
        return place.value.decode()


def made(kind, stype=0, **fields):
    """A structure with fields."""
    found = getattr(structures, kind)()
    for name, value in {**({"stype": stype} if stype else {}), **fields}.items():
        setattr(found, name, value)
    return found


class Session:
    """A device, a context, an immediate list and a module."""

    def __init__(self, binary, mode=ze.ZE_COMMAND_QUEUE_MODE_DEFAULT):
        self.host = host = Host()
        host.zeInit(0)
        (self.driver,) = host.all("zeDriverGet")
        self.device, *_ = host.all("zeDeviceGet", self.driver)
        self.context = host.made(
            "zeContextCreate", self.driver, made("ze_context_desc_t", ze.ZE_STRUCTURE_TYPE_CONTEXT_DESC)
        )
        self.queue_desc = made("ze_command_queue_desc_t", ze.ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, mode=mode)
        self.list = host.made("zeCommandListCreateImmediate", self.context, self.device, self.queue_desc)
        self.keep = []
        self.module = self.load(binary, ze.ZE_MODULE_FORMAT_NATIVE) if binary else 0

    def module_desc(self, data, format, flags="", constants=None):
        """A description of a module."""
        place, words = np.frombuffer(data, np.uint8), text(flags)
        desc = made(
            "ze_module_desc_t", ze.ZE_STRUCTURE_TYPE_MODULE_DESC, format=format, inputSize=place.size,
            pInputModule=place.ctypes.data, pBuildFlags=ctypes.addressof(words), pConstants=given(constants),
        )  # fmt: skip
        self.keep += [place, words, desc, constants]
        return desc

    def load(self, data, format=ze.ZE_MODULE_FORMAT_IL_SPIRV, flags="", constants=None):
        """A module."""
        target = sizes(0)
        desc = self.module_desc(data, format, flags, constants)
        self.host.zeModuleCreate(self.context, self.device, desc, target, None)
        return int(target[0])

    def kernel(self, name, *values, module=None, group=None):
        """A kernel with arguments: pointers as int, numbers as numpy scalars, local memory as ("local", bytes)."""
        words = text(name)
        desc = made("ze_kernel_desc_t", ze.ZE_STRUCTURE_TYPE_KERNEL_DESC, pKernelName=ctypes.addressof(words))
        kernel = self.host.made("zeKernelCreate", module or self.module, desc)
        self.set(kernel, *values)
        if group:
            self.host.zeKernelSetGroupSize(kernel, *group)
        return kernel

    def set(self, kernel, *values):
        """Set arguments."""
        for index, value in enumerate(values):
            if isinstance(value, tuple):
                self.host.zeKernelSetArgumentValue(kernel, index, value[1], None)
            else:
                data = sizes(value) if isinstance(value, int) else np.array(value, ndmin=1)
                self.host.zeKernelSetArgumentValue(kernel, index, data.nbytes, data)

    def shared(self, array):
        """Shared memory with the contents of an array: its address, and the array that the program sees."""
        device = made("ze_device_mem_alloc_desc_t", ze.ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC)
        host = made("ze_host_mem_alloc_desc_t", ze.ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC)
        place = self.host.made("zeMemAllocShared", self.context, device, host, array.nbytes, 64, self.device)
        data = np.frombuffer((ctypes.c_uint8 * array.nbytes).from_address(place), array.dtype)
        data[:] = array
        return place, data

    def image_desc(self, width, height, kind=ze.ZE_IMAGE_TYPE_2D, layout=ze.ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8):
        """A description of an image of unsigned integers."""
        desc = made("ze_image_desc_t", ze.ZE_STRUCTURE_TYPE_IMAGE_DESC, flags=ze.ZE_IMAGE_FLAG_KERNEL_WRITE)
        desc.type, desc.width, desc.height, desc.depth = kind, width, height, 1
        desc.format.layout, desc.format.type = layout, ze.ZE_IMAGE_FORMAT_TYPE_UINT
        for number, component in enumerate("xyzw"):
            setattr(desc.format, component, number)
        return desc

    def image(self, width, height, **desc):
        """An image, by default of four bytes a texel."""
        return self.host.made("zeImageCreate", self.context, self.device, self.image_desc(width, height, **desc))

    def pool(
        self, count=8, flags=ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, chain=None
    ):
        """A pool of events."""
        desc = made(
            "ze_event_pool_desc_t", ze.ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, flags=flags, count=count, pNext=given(chain)
        )
        return self.host.made("zeEventPoolCreate", self.context, desc, 0, None)

    def event(self, pool, index=0):
        """An event of a pool."""
        return self.host.made(
            "zeEventCreate", pool, made("ze_event_desc_t", ze.ZE_STRUCTURE_TYPE_EVENT_DESC, index=index)
        )

    def launch(self, kernel, groups, signal=None, waits=(), target=None):
        """Append a launch."""
        counts = made("ze_group_count_t", groupCountX=groups[0], groupCountY=groups[1], groupCountZ=groups[2])
        self.host.zeCommandListAppendLaunchKernel(
            target or self.list, kernel, counts, signal, len(waits), sizes(*waits) if waits else None
        )

    def finish(self):
        """Wait for the immediate list."""
        self.host.zeCommandListHostSynchronize(self.list, FOREVER)


__all__ = ["FOREVER", "Failed", "Host", "Session", "cl", "given", "made", "sizes", "text"]
