"""The sides of a comparison: processes that run a kernel when they are asked to, so that launches can be made in turn."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).parent


class Refused(Exception):
    """A side cannot run a kernel; why."""


class Side:
    """A process that runs kernels; a context manager.

    ``prefix`` stands before the command (``oclgrind``). One thread is kept on the last CPU.
    """

    def __init__(
        self,
        script: str,
        *arguments: object,
        threads: int = 1,
        environment: Mapping[str, str] | None = None,
        prefix: tuple[str, ...] = (),
    ) -> None:
        self.folder = tempfile.TemporaryDirectory()
        cpu = max(os.sched_getaffinity(0))
        pinned = ("taskset", "-c", str(cpu)) if threads == 1 else ()
        command = [*pinned, *prefix, sys.executable, str(HERE / script), *map(str, arguments)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=HERE,
            env=os.environ | (environment or {}),
        )
        self.version = self._line()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()
        self.folder.cleanup()

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args}: ended with {self.process.wait()}")
        return line.strip()

    def _ask(self, name: str, scale: int, path: str) -> list[float]:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{name} {scale} {path}\n")
        self.process.stdin.flush()
        answer = self._line()
        if answer.startswith("refused"):
            raise Refused(answer)
        return [float(part) for part in answer.split()]

    def milliseconds(self, name: str, scale: int = 1) -> float:
        """One launch of a kernel."""
        return self._ask(name, scale, "-")[0]

    def processor_milliseconds(self, name: str, scale: int = 1) -> float:
        """One launch of a kernel, in processor time, of sides that tell it."""
        return self._ask(name, scale, "-")[-1]

    def result(self, name: str, scale: int = 1) -> npt.NDArray[np.generic]:
        """What a kernel's first launch leaves in its result."""
        path = Path(self.folder.name) / "result.npy"
        self._ask(name, scale, str(path))
        return np.load(path)  # type: ignore[no-any-return]


def vsim(device: str, threads: int = 1, engine: str = "llvm", precision: str = "exact") -> Side:
    """The simulator."""
    return Side("vsim_peer.py", device, threads, engine, precision, threads=threads)


POCL = Path("/etc/OpenCL/vendors/pocl.icd")


def pocl(threads: int = 1) -> Side | None:
    """PoCL, if it is installed."""
    if not POCL.exists():
        return None
    return _pocl(threads)


def newer_pocl(threads: int = 1) -> Side | None:
    """PoCL of a newer system, if ``NEWER_POCL`` has the words that run a command there, in this folder."""
    words = tuple(shlex.split(os.environ.get("NEWER_POCL", "")))
    return _pocl(threads, words) if words else None


POCL_TARGETS = {"x86-64-v2": "sse41", "x86-64-v3": "avx2", "x86-64-v4": "avx512"}
"""Names that PoCL, as distributions build it, has for the targets of VISAKIT_CPU."""


def _pocl(threads: int, prefix: tuple[str, ...] = ()) -> Side:
    limits = {"POCL_MAX_PTHREAD_COUNT": str(threads), "POCL_CPU_MAX_CU_COUNT": str(threads)}
    if target := POCL_TARGETS.get(os.environ.get("VISAKIT_CPU", "")):
        limits["POCL_KERNELLIB_NAME"] = target
    environment = {"OCL_ICD_VENDORS": "pocl.icd", "PYOPENCL_NO_CACHE": "1", **limits}
    return Side("opencl_peer.py", threads, threads=threads, environment=environment, prefix=prefix)


INTEL = Path(sys.prefix) / "lib" / "libintelocl.so"
INTEL_TARGETS = {"x86-64-v2": "corei7", "x86-64-v3": "core-avx2", "x86-64-v4": "skx"}
"""Names that Intel's CPU runtime has for the targets of VISAKIT_CPU."""


def intel(threads: int = 1, options: tuple[str, ...] = ()) -> Side | None:
    """Intel's CPU runtime for OpenCL, if it is installed beside this Python (``make bench`` does); limited as vsim is.

    ``options`` are for its compiler.
    """
    if not INTEL.exists():
        return None
    vendors = Path(tempfile.mkdtemp())
    (vendors / "intel.icd").write_text(f"{INTEL}\n")
    environment = {
        "OCL_ICD_VENDORS": str(vendors),
        "LD_LIBRARY_PATH": str(INTEL.parent),
        "CL_CONFIG_CPU_TBB_NUM_WORKERS": str(threads),
        "PYOPENCL_NO_CACHE": "1",
    }
    if target := INTEL_TARGETS.get(os.environ.get("VISAKIT_CPU", "")):
        environment["CL_CONFIG_CPU_TARGET_ARCH"] = target
    return Side("opencl_peer.py", threads, *options, threads=threads, environment=environment)


def oclgrind(*options: str, threads: int = 2) -> Side:
    """Oclgrind, with its options."""
    return Side("opencl_peer.py", 1, threads=threads, prefix=("oclgrind", *options))
