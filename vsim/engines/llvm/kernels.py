"""Compiled kernels of one image: out of memory, the disk or the compiler."""

from __future__ import annotations

import atexit
import ctypes
import struct
import threading
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter
from typing import NamedTuple

from visakit import object_cache
from visakit.diagnostics import Diagnostic, SimulationError
from visakit.language.program import Function
from visakit.objects.image import LinkedImage
from vsim.engines.llvm import Overtaken, Unsupported
from vsim.engines.llvm.host import native, summaries
from vsim.engines.llvm.host.apart import ForkedCompilation, is_allowed
from vsim.engines.llvm.target import is_guarded
from vsim.engines.llvm.variant import Variant
from vsim.launch.dispatch import LIMIT_HINT, Dispatch

GRACE_SECONDS = 0.5
"""What compiling may take before something else is tried meanwhile."""
LEAST_SECONDS = 10.0
"""What compiling may take in any case: a limit of a tenth of a second is meant for the launch."""

LEAST_INSTRUCTIONS = 400
"""Kernels with fewer are compiled soon enough for no other engine to run meanwhile."""

Meanwhile = Callable[[Callable[[], bool]], bool]
"""What to do while a kernel is compiled: it is told how to see that this is over, and says if nothing is left to do."""


class CompiledKernel(NamedTuple):
    """Loaded code of a kernel with the functions that fault records name by number.

    ``transposed``: local ids count up along y from lane to lane.
    """

    native: native.Native
    functions: list[Function]
    transposed: bool


class KernelCache:
    """The kernels of an image that were compiled, or cannot be."""

    def __init__(self, image: LinkedImage) -> None:
        self.image = image
        self.found: dict[Variant, CompiledKernel | Unsupported] = {}
        self.unfinished: dict[Variant, Compilation | ForkedCompilation] = {}
        """Compilations without a waiting launch."""
        self.seconds = 0.0
        """How long making native code has taken so far, or finding it on disk."""
        self.module = b""
        """The bytes of the image's module, which are part of every key."""

    def kernel(
        self,
        dispatch: Dispatch,
        full: bool,
        row: int,
        transposed_row: int,
        max_seconds: float | None = None,
        meanwhile: Meanwhile | None = None,
    ) -> CompiledKernel:
        """The code for a launch.

        Args:
            full, row, transposed_row: see :func:`vsim.engines.llvm.pipeline.translate`.
            max_seconds: when to give up compiling; not before :data:`LEAST_SECONDS`.
            meanwhile: runs when compiling takes more than a moment; it ends when its argument says that compiling is
                over (false), or when it has done all of the launch (true).

        Raises:
            Unsupported: the kernel needs something that only the reference engine does.
            Overtaken: nothing is left to do.
            SimulationError: S040, compiling it took too long.
        """
        variant = Variant.of(dispatch, full, row, transposed_row)
        found = self.found.get(variant)
        if found is None:
            started = perf_counter()
            try:
                found = self._load_or_compile(dispatch, variant, max_seconds, meanwhile)
            except Unsupported as problem:
                found = problem
            finally:
                self.seconds += perf_counter() - started
            self.found[variant] = found
        if isinstance(found, Unsupported):
            raise found
        return found

    def _load_or_compile(
        self,
        dispatch: Dispatch,
        variant: Variant,
        max_seconds: float | None,
        meanwhile: Meanwhile | None,
    ) -> CompiledKernel:
        image = self.image
        if not self.module:
            self.module = image.module_bytes()
        guarded = is_guarded()
        addresses = sorted((s.name, s.value) for s in image.symbols if s.section)
        modes = image.register_overrun, image.lenient_reads
        target = (image.platform, native.made_for(), guarded)
        key = object_cache.key(self.module, image.ze_info, variant, *target, *modes, addresses)
        functions = image.module.all_functions

        def make() -> bytes:
            found = pipeline.translate(dispatch, variant.full, variant.row, variant.transposed_row)
            objects = pipeline.compile_objects(found)
            packed = _packed([functions.index(f) for f in found.functions], found.transposed, objects)
            object_cache.save(key, packed)
            summaries.keep(image, dispatch.signature, self.module)
            return packed

        def loaded(packed: bytes) -> CompiledKernel:
            numbers, transposed, objects = _unpacked(packed)
            return CompiledKernel(native.Native(objects, guarded), [functions[n] for n in numbers], transposed)

        compilation = self.unfinished.pop(variant, None)
        stored = object_cache.load(key) if compilation is None else None
        if stored is not None:
            summaries.keep(image, dispatch.signature, self.module)
            return loaded(stored)
        image.read_all()  # The reference engine may look at it meanwhile.
        from vsim.engines.llvm import pipeline

        if max_seconds is None and meanwhile is None and compilation is None:
            return loaded(make())
        if compilation is None:
            is_large = meanwhile is not None and dispatch.instruction_count >= LEAST_INSTRUCTIONS
            compilation = ForkedCompilation(make) if is_large and is_allowed() else Compilation(make)
        return loaded(self._awaited(compilation, dispatch, variant, max_seconds, meanwhile) or make())

    def _awaited(
        self,
        compilation: Compilation | ForkedCompilation,
        dispatch: Dispatch,
        variant: Variant,
        max_seconds: float | None,
        meanwhile: Meanwhile | None,
    ) -> bytes:
        """The code that a compilation makes."""
        try:
            if meanwhile is not None and not compilation.wait(GRACE_SECONDS):
                self.unfinished[variant] = compilation
                if meanwhile(compilation.is_over):
                    if not compilation.leave():
                        del self.unfinished[variant]
                    raise Overtaken
                del self.unfinished[variant]
            limit = None if max_seconds is None else max(max_seconds, LEAST_SECONDS)
            if compilation.wait(limit):
                return compilation.packed()
        except Overtaken:
            raise
        except BaseException:
            compilation.abandon()
            raise
        compilation.abandon()
        message = f"kernel '{dispatch.kernel.name}' was not compiled within {limit:g} seconds"
        raise SimulationError(Diagnostic("S040", message, None, LIMIT_HINT))


class Compilation:
    """A thread that compiles a kernel. LLVM cannot be stopped: an abandoned compilation runs on, and its result goes to
    the cache.

    Args:
        make: gives the code as bytes.
    """

    def __init__(self, make: Callable[[], bytes]) -> None:
        self.make = make
        self.found: bytes | BaseException = b""
        self.over = threading.Event()
        self.started = perf_counter()
        self.thread = threading.Thread(target=self._compile, daemon=True)
        self.thread.start()

    def _compile(self) -> None:
        try:
            self.found = self.make()
        except BaseException as error:
            self.found = error
        self.over.set()

    def is_over(self) -> bool:
        """Whether there is a kernel, or an error."""
        return self.over.is_set()

    def wait(self, seconds: float | None) -> bool:
        """Wait until so many seconds after its beginning; whether it is over."""
        left = None if seconds is None else self.started + seconds - perf_counter()
        return self.over.wait(None if left is None else min(max(left, 0), threading.TIMEOUT_MAX))

    def packed(self) -> bytes:
        """The code; raises what went wrong."""
        if isinstance(self.found, BaseException):
            raise self.found
        return self.found

    def abandon(self) -> None:
        """Let the process end well whatever the thread is at."""
        if not _ABANDONED:
            atexit.register(_end_without_destruction)
        _ABANDONED[:] = [self.thread, *(t for t in _ABANDONED if t.is_alive() and t is not self.thread)]

    def leave(self) -> bool:
        """Let it go on as long as this process lives; true, as it does."""
        self.abandon()
        return True


_ABANDONED: list[threading.Thread] = []
"""Threads that may still compile."""


def _end_without_destruction() -> None:
    """At the interpreter's end: code of LLVM that still runs would use objects that the C library's exit destroys.

    So nothing is destroyed: the first thing of that exit is the end of the process, with its exit code. Where the C
    library cannot do that, the process ends when the threads have.
    """
    threads = [t for t in _ABANDONED if t.is_alive()]
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


def _packed(numbers: list[int], transposed: bool, objects: list[bytes]) -> bytes:
    """Functions (by number in the image) and objects of a kernel as bytes of the cache."""
    sizes = [len(o) for o in objects]
    head = struct.pack(f"<{3 + len(numbers) + len(sizes)}I", len(numbers), len(sizes), transposed, *numbers, *sizes)
    return b"".join([head, *objects])


def _unpacked(stored: bytes) -> tuple[list[int], bool, list[bytes]]:
    functions, count, transposed = struct.unpack_from("<3I", stored)
    numbers = struct.unpack_from(f"<{functions}I", stored, 12)
    sizes = struct.unpack_from(f"<{count}I", stored, 12 + 4 * functions)
    ends = [12 + 4 * (functions + count) + sum(sizes[:n]) for n in range(count + 1)]
    return list(numbers), bool(transposed), [stored[start:end] for start, end in pairwise(ends)]
