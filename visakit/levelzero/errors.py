"""Results of Level Zero for refusals: those of the runtime's objects have statuses of OpenCL, which are negative."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from visakit.levelzero import ze
from visakit.runtime import cl
from visakit.runtime.errors import CallError

_RESULTS = {
    cl.CL_SUCCESS: ze.ZE_RESULT_SUCCESS,
    cl.CL_OUT_OF_HOST_MEMORY: ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
    cl.CL_MEM_OBJECT_ALLOCATION_FAILURE: ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
    cl.CL_OUT_OF_RESOURCES: ze.ZE_RESULT_ERROR_DEVICE_LOST,
    cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: ze.ZE_RESULT_ERROR_DEVICE_LOST,
    cl.CL_BUILD_PROGRAM_FAILURE: ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE,
    cl.CL_INVALID_BUILD_OPTIONS: ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE,
    cl.CL_INVALID_LINKER_OPTIONS: ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE,
    cl.CL_INVALID_BINARY: ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY,
    cl.CL_INVALID_PROGRAM_EXECUTABLE: ze.ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED,
    cl.CL_INVALID_KERNEL_NAME: ze.ZE_RESULT_ERROR_INVALID_KERNEL_NAME,
    cl.CL_INVALID_KERNEL_DEFINITION: ze.ZE_RESULT_ERROR_INVALID_KERNEL_HANDLE,
    cl.CL_INVALID_ARG_INDEX: ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX,
    cl.CL_INVALID_ARG_SIZE: ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
    cl.CL_INVALID_WORK_GROUP_SIZE: ze.ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
    cl.CL_INVALID_WORK_ITEM_SIZE: ze.ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
    cl.CL_INVALID_GLOBAL_WORK_SIZE: ze.ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION,
    cl.CL_INVALID_GLOBAL_OFFSET: ze.ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION,
    cl.CL_INVALID_OPERATION: ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
    cl.CL_INVALID_IMAGE_SIZE: ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
    cl.CL_IMAGE_FORMAT_NOT_SUPPORTED: ze.ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT,
}


def result_of(status: int) -> int:
    """The result of Level Zero for a status of either interface."""
    return status if status > 0 else _RESULTS.get(status, ze.ZE_RESULT_ERROR_INVALID_ARGUMENT)


@contextmanager
def refused_as(result: int) -> Iterator[None]:
    """Let refusals within have another result, for the same reason."""
    try:
        yield
    except CallError as problem:
        raise CallError(result, problem.reason) from None


def refuse(result: int, reason: str = "") -> NoReturn:
    """Refuse a call."""
    raise CallError(result, reason)
