"""Compiled kernels of one image: out of memory, the disk or the compiler."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from visakit import object_cache
from visakit.diagnostics import Diagnostic, SimulationError
from visakit.language.program import Function
from visakit.objects.image import LinkedImage
from vsim.engines.llvm import Overtaken, Unsupported
from vsim.engines.llvm.host import native, summaries
from vsim.engines.llvm.target import held, is_sanitized, level
from vsim.engines.llvm.variant import Variant
from vsim.launch.dispatch import LIMIT_HINT, Dispatch

if TYPE_CHECKING:  # Kept code needs neither.
    from vsim.engines.llvm.host.apart import ForkedCompilation
    from vsim.engines.llvm.improvement import Compilation, Improvement
    from vsim.engines.llvm.pipeline import Translation

GRACE_SECONDS = 0.5
"""What compiling may take before something else is tried meanwhile."""
LEAST_SECONDS = 10.0
"""What compiling may take in any case: a limit of a tenth of a second is meant for the launch."""
LAUNCHES_OF_QUICK_CODE = 2
"""Of kernels that may run once: the second launch begins to make good code, the third waits for it."""
LEAST_INSTRUCTIONS = 400
"""Kernels with fewer are compiled soon enough for no other engine to run meanwhile."""

Meanwhile = Callable[[Callable[[], bool]], bool]
"""What to do while a kernel is compiled: it is told how to see that this is over, and says if nothing is left to do."""


class CompiledKernel(NamedTuple):
    """Loaded code of a kernel.

    Attributes:
        functions: the functions that fault records name by number.
        transposed: whether local ids count up along y from lane to lane.
        width: work-items of a thread, if fewer than the launch wanted; else 0.
        only_counts: whether the code counts what executes and does nothing else.
        blocks: first instruction and end of the blocks of each function; empty until a launch is counted.
        improvement: makes good code; None for code that is good.
    """

    native: native.Native
    functions: list[Function]
    transposed: bool
    width: int
    only_counts: bool
    blocks: list[list[tuple[int, int]]]
    improvement: Improvement | None = None


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
        better = found.improvement
        may_wait = self.image.runs_once and better is not None and better.launches < LAUNCHES_OF_QUICK_CODE
        if better is not None and (better.is_over() or (meanwhile is None and not may_wait)):
            good = better.packed(dispatch)
            found = self.found[variant] = self._loaded(good) if good else found._replace(improvement=None)
        return found

    def has_code(self, dispatch: Dispatch, full: bool, row: int, transposed_row: int) -> bool:
        """Whether there is code for a launch, in memory or on disk; the arguments are those of :meth:`kernel`."""
        variant = Variant.of(dispatch, full, row, transposed_row)
        return variant in self.found or any(map(object_cache.holds, self._keys(variant)))

    def _loaded(
        self, packed: bytes, improve: Callable[[Dispatch], bytes] | None = None, launches: int = 0
    ) -> CompiledKernel:
        """A kernel out of its bytes; ``improve`` makes good code where they are quick code, after so many launches."""
        numbers, transposed, width, only_counts, is_quick, objects = _unpacked(packed)
        functions = self.image.module.all_functions
        code = native.Native(objects, is_sanitized())
        found = CompiledKernel(code, [functions[n] for n in numbers], transposed, width, only_counts, [])
        if not is_quick or improve is None:
            return found
        from vsim.engines.llvm.improvement import Improvement

        return found._replace(improvement=Improvement(improve, launches))

    def _load_or_compile(
        self,
        dispatch: Dispatch,
        variant: Variant,
        max_seconds: float | None,
        meanwhile: Meanwhile | None,
    ) -> CompiledKernel:
        image, keys = self.image, self._keys(variant)
        compilation = self.unfinished.pop(variant, None)
        stored = object_cache.load(keys[0]) if compilation is None else None
        if stored is not None:
            summaries.keep(image, dispatch.signature, self.module)
            return self._loaded(stored)
        from vsim.engines.restart import must_wait

        processor = level()

        def made(later: Dispatch, quick: bool = False) -> bytes:
            with held(processor):
                return self._made(later, variant, keys, quick)

        def improve(later: Dispatch) -> bytes:
            return made(replace(later, width=dispatch.width))

        may_be_quick = (meanwhile is not None or image.runs_once) and not must_wait(dispatch)
        if may_be_quick and compilation is None and (stored := object_cache.load(keys[1])) is not None:
            summaries.keep(image, dispatch.signature, self.module)
            # A first launch that would be the reference engine's does not count.
            return self._loaded(stored, improve, -image.runs_once)
        image.read_all()  # The reference engine may look at it meanwhile.
        make = partial(made, dispatch, may_be_quick)
        if max_seconds is None and meanwhile is None and compilation is None:
            return self._loaded(make(), improve)
        from vsim.engines.llvm.improvement import begun

        if compilation is None:
            is_large = may_be_quick and dispatch.instruction_count >= LEAST_INSTRUCTIONS
            compilation, meanwhile = begun(make, is_large), meanwhile if is_large else None
        return self._loaded(self._awaited(compilation, dispatch, variant, max_seconds, meanwhile) or make(), improve)

    def _keys(self, variant: Variant) -> tuple[str, str]:
        """The keys of good code and of quick code in the cache."""
        image = self.image
        if not self.module:
            # Nobody changes the programs of drivers.
            self.module = (image.code if image.runs_once else b"") or image.module_bytes()
        addresses = sorted((s.name, s.value) for s in image.symbols if s.section)
        modes = image.register_overrun, image.lenient_reads
        target = (image.platform, native.made_for(), is_sanitized())
        key = object_cache.key(self.module, image.ze_info, variant, *target, *modes, addresses)
        return key, object_cache.key(key, "quick")

    def _made(self, dispatch: Dispatch, variant: Variant, keys: tuple[str, str], quick: bool = False) -> bytes:
        """Native code of a kernel, which is kept.

        Args:
            keys: of good code and of quick code.
            quick: whether it may be quick code, where good code is long in the making.
        """
        from vsim.engines.llvm import pipeline

        def is_quick(text: str) -> bool:
            return quick and native.is_long_in_the_making(text, self.image.runs_once)

        found = pipeline.translate(dispatch, variant.full, variant.row, variant.transposed_row, is_quick)
        functions = self.image.module.all_functions
        # Nothing is better than quick code for an observed launch, which waits for its code and cannot begin anew.
        for_good = any(dispatch.observed) and native.is_huge(found.text)
        objects = pipeline.compile_objects(found, found.is_quick or for_good)
        packed = _packed([functions.index(f) for f in found.functions], found, objects)
        object_cache.save(keys[found.is_quick], packed)
        summaries.keep(self.image, dispatch.signature, self.module)
        return packed

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


def _packed(numbers: list[int], found: Translation, objects: list[bytes]) -> bytes:
    """Functions (by number in the image) and objects of a kernel as bytes of the cache."""
    sizes = [len(o) for o in objects]
    kind = found.transposed, found.width, found.only_counts, found.is_quick
    head = (len(numbers), len(sizes), *kind, *numbers, *sizes)
    return b"".join([struct.pack(f"<{len(head)}I", *head), *objects])


def _unpacked(stored: bytes) -> tuple[list[int], bool, int, bool, bool, list[bytes]]:
    functions, count, transposed, width, only_counts, quick = struct.unpack_from("<6I", stored)
    numbers = struct.unpack_from(f"<{functions}I", stored, 24)
    sizes = struct.unpack_from(f"<{count}I", stored, 24 + 4 * functions)
    ends = [24 + 4 * (functions + count) + sum(sizes[:n]) for n in range(count + 1)]
    objects = [stored[start:end] for start, end in pairwise(ends)]
    return list(numbers), bool(transposed), width, bool(only_counts), bool(quick), objects
