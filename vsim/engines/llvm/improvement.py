"""Compilations beside a launch, and good code for kernels that run quick code meanwhile (page 84 of the decisions)."""

from __future__ import annotations

import atexit
import ctypes
import threading
from collections.abc import Callable
from functools import partial
from time import perf_counter

from visakit.forks import awaited_thread
from vsim.engines.llvm.host.apart import ForkedCompilation, is_allowed
from vsim.launch.dispatch import Dispatch

PATIENCE_SECONDS = 0.5
"""How long a first launch runs quick code before good code is made."""


class Compilation:
    """A thread that compiles a kernel. LLVM cannot be stopped: an abandoned compilation runs on, and its result goes to
    the cache.

    Args:
        make: gives the code as bytes.
    """

    def __init__(self, make: Callable[[], bytes]) -> None:
        self.found: bytes | BaseException = b""
        self.over = threading.Event()
        self.started = perf_counter()
        self.thread = threading.Thread(target=self._compile, args=(make,), daemon=True)
        self.thread.start()

    def _compile(self, make: Callable[[], bytes]) -> None:
        with awaited_thread():
            try:
                self.found = make()
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
        """Let the process end well while the thread compiles."""
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


def begun(make: Callable[[], bytes], is_large: bool) -> Compilation | ForkedCompilation:
    """A compilation: in another process if this is a command and the kernel is large."""
    import vsim.engines.llvm.pipeline  # noqa: F401  A fork must not find it half loaded.

    return ForkedCompilation(make) if is_large and is_allowed() else Compilation(make)


class Improvement:
    """Good code for a kernel that runs quick code: a command makes it at once, behind its end if need be; another
    process makes it for the second launch, or while a first one takes long.

    Args:
        make: gives the code for a launch as bytes.
        launches: how many launches there were.
    """

    def __init__(self, make: Callable[[Dispatch], bytes], launches: int = 0) -> None:
        self.make, self.launches = make, launches
        self.compilation: Compilation | ForkedCompilation | None = None

    def launch(self, dispatch: Dispatch) -> Callable[[], bool]:
        """A launch begins; what tells, while it runs, whether the code is there."""
        started = perf_counter()
        self.launches += 1
        if self.launches > 1 or is_allowed():
            self._begin(dispatch)

        def look() -> bool:
            if perf_counter() - started > PATIENCE_SECONDS:
                self._begin(dispatch)
            return self.is_over()

        return look

    def _begin(self, dispatch: Dispatch) -> Compilation | ForkedCompilation:
        if self.compilation is None:
            make = partial(self.make, dispatch)
            self.compilation = begun(make, is_large=True)
            if not self.compilation.leave():
                self.compilation = Compilation(make)
                self.compilation.leave()
        return self.compilation

    def is_over(self) -> bool:
        """Whether it was made, or cannot be."""
        return self.compilation is not None and self.compilation.is_over()

    def packed(self, dispatch: Dispatch) -> bytes:
        """The code, when it is there; empty if it is not made."""
        compilation = self._begin(dispatch)
        compilation.wait(None)
        try:
            return compilation.packed()
        except Exception:  # Quick code stays.
            return b""
