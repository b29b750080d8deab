"""How programs run: environment variables that the command ``visakit exec`` sets."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from visakit.diagnostics import LaunchError, VisaError
from visakit.usage import whole_number
from vsim.checks.names import RACE, UNDEFINED
from vsim.checks.selection import Checking, parse_checking

if TYPE_CHECKING:
    from vsim.launch.schedule import Schedule

PLATFORM_SETTING = "VISAKIT_OPENCL_PLATFORM"
"""Environment variable: platforms that are devices, with commas between them."""
ENGINE_SETTING = "VISAKIT_OPENCL_ENGINE"
THREADS_SETTING = "VISAKIT_OPENCL_THREADS"
SCHEDULE_SETTING = "VISAKIT_OPENCL_SCHEDULE"
TRACE_SETTING = "VISAKIT_OPENCL_TRACE"
TEXTS_SETTING = "VISAKIT_OPENCL_TEXTS"
"""The folder for the texts of programs."""
CHECK_SETTING = "VISAKIT_CHECK"
"""Checks that watch kernels, with commas between them."""
CHECK_LIMIT_SETTING = "VISAKIT_CHECK_LIMIT"
"""How many findings of a kernel's run are shown."""
SUPPRESSIONS_SETTING = "VISAKIT_CHECK_SUPPRESSIONS"
"""The file of suppressions."""
LINES_SETTING = "VISAKIT_LINES"
"""Whether kernels are built with ``-g``, so that messages name lines of OpenCL C: 1, or empty."""
PAGES_SETTING = "VISAKIT_WHOLE_PAGES"
"""Whether kernels may write the rest of an allocation's last page: 1, or empty."""
NAME_SETTING = "VISAKIT_DEVICE_NAME"
"""The name that programs read of devices."""
PROFILE_SETTING = "VISAKIT_PROFILE"
"""The folder for the profiles of kernels."""
PROFILE_DETAIL_SETTING = "VISAKIT_PROFILE_DETAIL"
"""Whether profiles also watch memory, barriers and calls: 1, or empty."""
DEBUG_SETTING = "VISAKIT_DEBUG"
"""The launch that is debugged, in JSON: the fields of :class:`DebugRequest`."""


class DebugRequest(NamedTuple):
    """The launch that is debugged: the ``number``-th of a kernel; scripts as of ``visakit debug``."""

    kernel: str
    number: int = 1
    files: Sequence[str] = ()
    commands: Sequence[str] = ()
    is_batch: bool = False


@cache
def debug_request() -> DebugRequest | None:
    """The debugged launch, or None."""
    wanted = os.environ.get(DEBUG_SETTING)
    try:
        return DebugRequest(**json.loads(wanted)) if wanted else None
    except (TypeError, ValueError):
        return None


@cache
def keeps_lines() -> bool:
    """Whether kernels are built with ``-g``: on request, and for the debugger."""
    return debug_request() is not None or bool(os.environ.get(LINES_SETTING))


@cache
def engine() -> str:
    """The engine of kernels: native code, or the reference engine on request.

    Programs may write memory while a kernel runs, so that it never begins anew (as ``auto`` would have it).
    """
    return "numpy" if os.environ.get(ENGINE_SETTING) == "numpy" else "llvm"


@cache
def schedule() -> Schedule | None:
    """The order of groups and threads; None for one after the other, up to barriers."""
    from vsim.launch.schedule import parse_schedule

    wanted = os.environ.get(SCHEDULE_SETTING, "")
    try:
        return parse_schedule(wanted) if wanted else None
    except LaunchError:
        return None


@cache
def thread_count() -> int | None:
    """Worker threads of a kernel; None for one for each CPU."""
    wanted = whole_number(os.environ.get(THREADS_SETTING, ""))
    return None if wanted is None else max(1, wanted)


@cache
def kept_texts() -> str:
    """The folder that gets the texts of all programs; empty where only those go to files that messages cite."""
    return os.environ.get(TEXTS_SETTING, "")


@cache
def profile_folder() -> str:
    """The folder for the profiles of kernels; empty for none."""
    return os.environ.get(PROFILE_SETTING, "")


@cache
def profiles_detail() -> bool:
    """Whether profiles also watch memory, barriers and calls."""
    return bool(os.environ.get(PROFILE_DETAIL_SETTING))


@cache
def is_checking() -> bool:
    """Whether any check watches kernels, so that notes are of interest."""
    return bool(os.environ.get(CHECK_SETTING))


@cache
def has_whole_pages() -> bool:
    """Whether kernels may write the rest of an allocation's last page; checks see to its end."""
    return bool(os.environ.get(PAGES_SETTING)) and not is_checking()


@cache
def device_name() -> str:
    """The name that programs read of devices; empty for the usual ones."""
    return os.environ.get(NAME_SETTING, "")


@cache
def watches_races() -> bool:
    """Whether the check of races watches kernels."""
    return _watches(RACE)


@cache
def watches_undefined() -> bool:
    """Whether the check of undefined values watches kernels."""
    return _watches(UNDEFINED)


def _watches(check: str) -> bool:
    if not os.environ.get(CHECK_SETTING):
        return False
    try:
        checking = checks()
    except VisaError:
        return False
    return checking is not None and check in checking.checks


@cache
def checks() -> Checking | None:
    """The checks that watch kernels; None for none.

    Raises:
        UsageError: there is no such check.
        FormatError: K091, a line of the file of suppressions is invalid.
        FileError: it cannot be read.
    """
    wanted = os.environ.get(CHECK_SETTING)
    if not wanted:
        return None
    limit = whole_number(os.environ.get(CHECK_LIMIT_SETTING, ""))
    return parse_checking(wanted, limit, os.environ.get(SUPPRESSIONS_SETTING) or None, CHECK_SETTING)


def sycl_runtime(folder: Path) -> Path | None:
    """The library of SYCL's runtime in a folder; None if it is not there."""
    return next(iter(sorted(folder.glob("libsycl.so.*"))), None)


def sycl_settings(program: str) -> dict[str, str]:
    """The variables by which SYCL's runtime in a program finds its libraries and a device.

    Where the loader of Level Zero is too old, programs find the device of OpenCL alone, unless the user chooses: SYCL
    looks at all devices first, and its adapter of Level Zero ends with a segmentation fault there.
    """
    settings = _sycl_libraries(program)
    folders = (os.environ | settings).get("LD_LIBRARY_PATH", "")
    if _SYCL_DEVICES not in os.environ and level_zero_suits_sycl(folders) is False:
        settings[_SYCL_DEVICES] = "opencl:*"
    return settings


_SYCL_DEVICES = "ONEAPI_DEVICE_SELECTOR"


def _sycl_libraries(program: str) -> dict[str, str]:
    """The variable by which a Python program finds the libraries of SYCL's runtime in its own environment, where pip
    puts them: the runtime finds its adapters there, but not the libraries that these need.
    """
    found = shutil.which(program)
    folder = Path(os.path.abspath(found)).parent.parent / "lib" if found else None
    if folder is None or sycl_runtime(folder) is None:
        return {}
    given = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return {"LD_LIBRARY_PATH": ":".join(filter(None, [*given, str(folder)]))}


def level_zero_suits_sycl(folders: str) -> bool | None:
    """Whether the loader of Level Zero is new enough for SYCL's adapters; None without a loader.

    The adapters initialise the loader several times. One without ``zeInitDrivers``, such as 1.8, adds the drivers to
    its list again each time, which moves the list; handles of devices then lead it to the freed memory of the old one.

    Args:
        folders: the program's ``LD_LIBRARY_PATH``.
    """
    import ctypes  # The driver, which reads this module too, does without.

    name = "libze_loader.so.1"
    paths = (Path(folder, name) for folder in folders.split(":") if folder)
    try:
        return hasattr(ctypes.CDLL(str(next(filter(Path.exists, paths), name))), "zeInitDrivers")
    except OSError:
        return None
