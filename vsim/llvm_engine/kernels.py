"""Compiled kernels of one image: out of memory, the disk or the compiler."""

from __future__ import annotations

import atexit
import ctypes
import struct
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import pairwise
from queue import Empty, SimpleQueue
from time import perf_counter

from visa.cisa import write_module
from visa.diagnostics import Diagnostic, SimulationError
from visa.image import LinkedImage
from visa.program import Function
from vsim.dispatch import LIMIT_HINT, Dispatch
from vsim.llvm_engine import Unsupported
from vsim.llvm_engine.ir import guard
from vsim.llvm_engine.runtime import cache, native
from vsim.llvm_engine.runtime.surfaces import made_for

LEAST_SECONDS = 10.0
"""What compiling may take in any case: a limit of a tenth of a second is meant for the launch."""


@dataclass(frozen=True)
class CompiledKernel:
    """Loaded code of a kernel with the functions that fault records name by number."""

    native: native.Native
    functions: list[Function]


class KernelCache:
    """The kernels of an image that were compiled, or cannot be."""

    def __init__(self, image: LinkedImage) -> None:
        self.image = image
        self.found: dict[Hashable, CompiledKernel | Unsupported] = {}
        self.seconds = 0.0
        """How long making native code has taken so far, or finding it on disk."""
        self.module = b""
        """The bytes of the image's module, which are part of every key."""

    def kernel(self, dispatch: Dispatch, full: bool, row: int, max_seconds: float | None = None) -> CompiledKernel:
        """The code for a launch.

        Args:
            full, row: see :func:`vsim.llvm_engine.pipeline.translate`.
            max_seconds: when to give up compiling; not before :data:`LEAST_SECONDS`.

        Raises:
            Unsupported: the kernel needs something that only the reference engine does.
            SimulationError: S040, compiling it took too long.
        """
        ordered, covered = dispatch.schedule is not None, dispatch.coverage is not None
        variant = (dispatch.kernel.name, full, row, covered, ordered, made_for(dispatch))
        found = self.found.get(variant)
        if found is None:
            started = perf_counter()
            try:
                found = self._load_or_compile(dispatch, full, row, variant, max_seconds)
            except Unsupported as problem:
                found = problem
            self.seconds += perf_counter() - started
            self.found[variant] = found
        if isinstance(found, Unsupported):
            raise found
        return found

    def _load_or_compile(
        self, dispatch: Dispatch, full: bool, row: int, variant: Hashable, max_seconds: float | None
    ) -> CompiledKernel:
        image = self.image
        if not self.module:
            self.module = write_module(image.module)
        target = (image.platform, dispatch.grf_size, variant, dispatch.simd, dispatch.local_id_rows, native.host())
        guarded = guard.enabled()
        key = cache.key(self.module, image.ze_info, *target, guarded)
        functions = image.module.all_functions
        stored = cache.load(key)
        if stored is not None:
            numbers, objects = _unpacked(stored)
            return CompiledKernel(native.Native(objects, guarded), [functions[n] for n in numbers])

        def work() -> CompiledKernel:
            from vsim.llvm_engine import pipeline

            translation = pipeline.translate(dispatch, full, row)
            objects = pipeline.compile_objects(translation)
            cache.save(key, _packed([functions.index(f) for f in translation.functions], objects))
            return CompiledKernel(native.Native(objects, guarded), translation.functions)

        return work() if max_seconds is None else _within(max(max_seconds, LEAST_SECONDS), dispatch.kernel.name, work)


def _within(seconds: float, kernel: str, work: Callable[[], CompiledKernel]) -> CompiledKernel:
    """Compile in a thread that is left behind when time is up, as LLVM cannot be stopped: what it makes goes to the
    cache.

    Raises:
        SimulationError: S040, time was up.
    """
    done: SimpleQueue[CompiledKernel | BaseException] = SimpleQueue()

    def compile_it() -> None:
        try:
            done.put(work())
        except BaseException as error:
            done.put(error)

    thread = threading.Thread(target=compile_it, daemon=True)
    thread.start()
    try:
        found = done.get(timeout=min(seconds, threading.TIMEOUT_MAX))
    except Empty:
        _left_behind(thread)
        message = f"kernel '{kernel}' was not compiled within {seconds:g} seconds"
        raise SimulationError(Diagnostic("S040", message, None, LIMIT_HINT)) from None
    if isinstance(found, BaseException):
        raise found
    return found


_LEFT_BEHIND: list[threading.Thread] = []
"""Threads that may still compile."""


def _left_behind(thread: threading.Thread) -> None:
    """Let the process end well whatever a thread is at."""
    if not _LEFT_BEHIND:
        atexit.register(_leave_them)
    _LEFT_BEHIND[:] = [thread, *(t for t in _LEFT_BEHIND if t.is_alive())]


def _leave_them() -> None:
    """When the interpreter ends: code of LLVM that still runs would use what the C library's exit destroys.

    So nothing is destroyed: the first thing of that exit is the end of the process, with its exit code. Where the C
    library cannot do that, the process ends when the threads have.
    """
    threads = [t for t in _LEFT_BEHIND if t.is_alive()]
    if not threads:
        return
    library = ctypes.CDLL(None)
    on_exit = getattr(library, "on_exit", None)
    if on_exit is None:
        for thread in threads:
            thread.join()
        return
    library.fflush(None)
    on_exit(ctypes.cast(library._exit, ctypes.c_void_p), None)


def _packed(numbers: list[int], objects: list[bytes]) -> bytes:
    """Functions (by number in the image) and objects of a kernel as they are kept."""
    sizes = [len(o) for o in objects]
    head = struct.pack(f"<{2 + len(numbers) + len(sizes)}I", len(numbers), len(sizes), *numbers, *sizes)
    return b"".join([head, *objects])


def _unpacked(stored: bytes) -> tuple[list[int], list[bytes]]:
    functions, count = struct.unpack_from("<2I", stored)
    numbers = struct.unpack_from(f"<{functions}I", stored, 8)
    sizes = struct.unpack_from(f"<{count}I", stored, 8 + 4 * functions)
    ends = [8 + 4 * (functions + count) + sum(sizes[:n]) for n in range(count + 1)]
    return list(numbers), [stored[start:end] for start, end in pairwise(ends)]
