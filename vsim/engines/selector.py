"""The choice between the engines: each launch runs on the engine that it names, or on one that can run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from visakit.diagnostics import Diagnostic, LaunchError, SimulationError
from visakit.objects.image import LinkedImage
from visakit.usage import warn
from vsim.engines.llvm import InvalidCode, Overtaken, RecordedFault, RefusedInstruction, Unsupported
from vsim.launch.arrays import Array
from vsim.launch.dispatch import Dispatch, GroupProgress

if TYPE_CHECKING:  # An engine is loaded by its first launch.
    from vsim.engines.llvm.engine import Engine
    from vsim.engines.tiers import Trials

ENGINES = ("auto", "llvm", "numpy")
_LLVM_MISSING = False


class EngineSelector:
    """Runs the launches of an image.

    Attributes:
        native: the fast engine; None until a launch asks for it.
    """

    def __init__(self, image: LinkedImage) -> None:
        self.image = image
        self.native: Engine | None = None
        self._reference_progress: GroupProgress | None = None
        """Progress of the reference engine."""
        self._trials: Trials | None = None
        """Those of kernels that may run once; None before the first."""

    def __repr__(self) -> str:
        return f"<EngineSelector of {self.image.file}>"

    @property
    def compile_seconds(self) -> float:
        """Seconds in which native code was compiled or loaded so far."""
        return 0.0 if self.native is None else self.native.kernels.seconds

    def progress(self) -> GroupProgress | None:
        """Progress of the running launch; None if no launch runs, or its engine does not report progress."""
        native = self.native
        return self._reference_progress if self._reference_progress is not None or native is None else native.progress()

    def run(
        self, engine: str, dispatch: Dispatch, threads: int | None, max_seconds: float | None, held: Sequence[Array]
    ) -> tuple[str, str]:
        """Run a launch.

        Args:
            held: the memory of mapped arrays, which must stay alive.

        Returns:
            The engine that ran it, and why the reference engine replaced the fast one; empty if it did not.

        Raises:
            LaunchError: S002, there is no such engine.
            SimulationError: the kernel did something without a defined result, or the engine cannot be loaded.
        """
        why, stopped = "", None
        if engine not in ENGINES:
            raise LaunchError(
                Diagnostic("S002", f"there is no engine '{engine}'", None, f"engines are {', '.join(ENGINES)}")
            )
        if dispatch.trace is not None:
            why = "the launch is traced"
        elif engine == "auto" or engine == "llvm":
            native = self.native or self._load_native(engine)
            if native is None:
                why = "llvmlite cannot be loaded"
            elif (
                self.image.runs_once and not dispatch.tells_messages and self._ends_soon(native, dispatch, max_seconds)
            ):
                return "numpy", "its native code would take longer"
            else:
                # Reuse in memory depends on the order of threads, so which engine counts must not depend on time.
                may_overtake = engine == "auto" and not dispatch.tells_messages
                try:
                    native.run(dispatch, threads, max_seconds, held, _overtake if may_overtake else None)
                    return "llvm", ""
                except (RecordedFault, RefusedInstruction) as stop:
                    stopped = stop
                except Overtaken:
                    return "numpy", "it ended before native code was made"
                except Unsupported as problem:
                    why = _replacement(engine, dispatch, problem)
        if stopped is not None:  # Here, as errors go through pickle with the exceptions that they were raised in.
            raise _error_of(dispatch, stopped)
        self._run_reference(dispatch, max_seconds)
        return "numpy", why

    def repeat(self, engine: str, dispatch: Dispatch, threads: int | None, held: Sequence[Array]) -> bool:
        """Run the fast engine's last launch again; False if that was another launch, or more than a kernel.

        Raises:
            SimulationError: the kernel did something without a defined result.
        """
        if self.native is None or (engine != "llvm" and engine != "auto"):
            return False
        try:
            return self.native.repeat(dispatch, threads, held)
        except (RecordedFault, RefusedInstruction) as stop:
            stopped = stop
        raise _error_of(dispatch, stopped)

    def _ends_soon(self, native: Engine, dispatch: Dispatch, max_seconds: float | None) -> bool:
        """Whether the reference engine has run a launch of a kernel that has no native code yet."""
        if self._trials is not None and self._trials.is_over(dispatch):
            return False
        from vsim.engines.llvm.host.summaries import keep
        from vsim.engines.tiers import Trials

        trials = self._trials = self._trials or Trials()
        is_first = not trials.has_begun(dispatch)
        if is_first and native.has_code(dispatch):
            trials.give_up(dispatch)
            return False
        if not trials.ends_soon(dispatch, max_seconds):
            return False
        if is_first:
            keep(self.image, dispatch.signature, self.image.code)  # Nobody changes programs of drivers.
        return True

    def _run_reference(self, dispatch: Dispatch, max_seconds: float | None) -> None:
        from vsim.engines.numpy.engine import run

        try:
            run(dispatch, max_seconds, begun=self._begun)
        finally:
            self._reference_progress = None

    def _begun(self, begun: int, count: int) -> None:
        self._reference_progress = GroupProgress(begun, count)

    def _load_native(self, engine: str) -> Engine | None:
        """Load the fast engine; None if the reference engine replaces it.

        Raises:
            SimulationError: S024, it cannot be loaded, and the launch asks for it.
        """
        global _LLVM_MISSING
        if _LLVM_MISSING and engine != "llvm":
            return None
        try:
            from vsim.engines.llvm.engine import Engine
        except (ImportError, OSError) as error:
            if engine == "llvm":
                hint = "pip install llvmlite brings it back; --engine auto takes the numpy engine meanwhile"
                message = f"there is no native code: llvmlite cannot be loaded ({error})"
                raise SimulationError(Diagnostic("S024", message, None, hint)) from None
            _LLVM_MISSING = True
            message = f"llvmlite cannot be loaded ({error}); running on the numpy engine"
            warn(Diagnostic("U002", message, severity="warning"))
            return None
        self.native = Engine(self.image)
        return self.native


def _error_of(dispatch: Dispatch, stopped: RecordedFault | RefusedInstruction) -> SimulationError:
    from vsim.engines.stopped import error_of  # which most launches do without

    return error_of(dispatch, stopped)


def _replacement(engine: str, dispatch: Dispatch, problem: Unsupported) -> str:
    """Why the reference engine runs a launch; warns if the launch asks for the fast one, or its code is invalid.

    Raises:
        SimulationError: S024, the code is invalid, and the launch asks for the fast engine.
    """
    name = dispatch.kernel.name
    if isinstance(problem, InvalidCode):
        besides = f" and '{problem.file}', which has the code" if problem.file else ""
        hint = f"this is a mistake of visakit; please report it with the program{besides}"
        message = f"no valid native code for '{name}'"
        if engine == "llvm":
            raise SimulationError(Diagnostic("S024", f"{message}: {problem}", None, hint))
        message = f"{message}; running on the numpy engine: {problem}"
        warning = Diagnostic("U002", message, hint=hint, severity="warning")
    elif engine == "llvm":
        warning = Diagnostic("U002", f"'{name}' runs on the numpy engine: {problem}", severity="warning")
    else:
        return str(problem)
    warn(warning)
    return str(problem)


def _overtake(dispatch: Dispatch, max_seconds: float | None, is_ready: Callable[[], bool]) -> bool:
    """Run a launch while its native code is made; see :func:`vsim.engines.tiers.overtake`."""
    from vsim.engines.tiers import overtake

    return overtake(dispatch, max_seconds, is_ready)
