"""The driver's requirements on a machine: programs, libraries, headers."""

from __future__ import annotations

import ctypes.util
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

from visakit import cache
from visakit.runtime.settings import level_zero_suits_sycl, sycl_runtime


class Component(NamedTuple):
    """Something that the driver uses.

    Attributes:
        found: version or place; empty where it is not there.
        advice: the package to install.
        is_needed: whether nothing runs without it.
    """

    what: str
    found: str
    advice: str
    is_needed: bool = True


def findings() -> list[Component]:
    """All of them."""
    from visakit.compiler.devices import compiler_driver, known_devices, preferred_device
    from visakit.opencl.library import python_library

    shared, driver = python_library(), compiler_driver()
    header = Path(sysconfig.get_paths()["include"], "Python.h")
    gcc = shutil.which("gcc") or shutil.which("cc")
    folder = cache.private_directory("opencl", create=True)
    return [
        Component("Python", platform.python_version(), ""),
        Component("libpython", str(shared or ""), "a Python with a shared library, such as the system's"),
        Component("cffi", _version_of("cffi"), "pip install 'visakit[opencl]'"),
        Component("C compiler", _first_line([gcc, "--version"]) if gcc else "", "apt install gcc"),
        Component("headers of Python", str(header) if header.exists() else "", "apt install python3-dev"),
        Component("cache directory", str(folder or ""), "VISAKIT_CACHE names a folder of the user's own"),
        Component(
            "OpenCL loader", loader("OpenCL"), "apt install ocl-icd-libopencl1 (many programs bring their own)", False
        ),
        Component("Level Zero loader", loader("ze_loader"), "apt install libze1 (for programs of Level Zero)", False),
        Component("Level Zero for SYCL", _level_zero_for_sycl(), _NEWER_LOADER, False),
        Component("SYCL runtime", _sycl_runtime(), "pip install intel-sycl-rt (dpctl and dpnp bring it)", False),
        Component(
            "ocloc", _first_line([driver, "query", "OCL_DRIVER_VERSION"]) or driver if driver else "", _OCLOC, False
        ),
        Component("device", preferred_device() if driver else "", "the compiler's devices decide", False),
        Component("devices of ocloc", ", ".join(known_devices()), "the compiler names them", False),
    ]


def loader(name: str) -> str:
    """The library with which programs find drivers; empty if it is not installed."""
    return ctypes.util.find_library(name) or ""


_NEWER_LOADER = "a loader with zeInitDrivers (libze1 1.19 or newer); SYCL finds the device of OpenCL in any case"


def _level_zero_for_sycl() -> str:
    """The loader of Level Zero, if it is new enough for SYCL's adapters; empty if it is not."""
    return loader("ze_loader") if level_zero_suits_sycl(os.environ.get("LD_LIBRARY_PATH", "")) else ""


def _sycl_runtime() -> str:
    """Where SYCL's runtime is, and the variable that programs in C++ find it by; empty if it is nowhere."""
    named = [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    own = Path(sys.prefix, "lib")
    for folder in (*named, own):
        if found := sycl_runtime(folder):
            return str(found) + (f" (for programs in C++: LD_LIBRARY_PATH={own})" if folder not in named else "")
    return loader("sycl")


_OCLOC = "apt install intel-ocloc (Debian 12: intel-opencl-icd); without it only program binaries run"


def _version_of(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _first_line(words: list[str]) -> str:
    """The first line that a program prints; empty where it cannot be run."""
    import tempfile

    try:
        with tempfile.TemporaryDirectory(prefix="visakit-") as folder:  # ocloc leaves files.
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, cwd=folder, check=False
            )
            files = [path.read_text("utf-8", "replace") for path in Path(folder).iterdir()]
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = [*files, *done.stdout.decode("utf-8", "replace").splitlines()] if not done.returncode else []
    texts = (line.strip("\0").strip() for line in lines)  # ocloc writes the end of C's text into its file.
    return next((text for text in texts if text), "")
