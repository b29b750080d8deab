"""A loaded image and its launches: the simulator's library interface.

:meth:`Program.bind` is the way of a launch: what the kernel wants, what the launch gives it, what an engine may ask;
the result follows when it has run.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np

from visa.diagnostics import Diagnostic, LaunchError
from visa.files import read_bytes
from visa.image import LinkedImage, read_image
from vsim.arrays import Array
from vsim.binding import bind
from vsim.conversion import ArgumentConverter
from vsim.dispatch import Dispatch, not_executed, with_values
from vsim.launch import Argument, Launch
from vsim.llvm_engine import Unsupported
from vsim.memory import AddressSpace, Buffer
from vsim.ndrange import NdRange, payload_template, range_of
from vsim.result import LaunchResult
from vsim.schedule import Schedule, parse_schedule
from vsim.signature import KernelSignature, kernel_signature

if TYPE_CHECKING:  # The engines are loaded when something runs on them.
    from vsim.llvm_engine.engine import Engine

ENGINES = ("llvm", "numpy")
MAXIMUM_GEOMETRIES = 64
_LLVM_MISSING = False


class RunOptions(TypedDict, total=False):
    """How launches run: the keywords of :meth:`Program.run` but for the groups."""

    engine: str
    threads: int | None
    max_seconds: float | None
    profile: bool
    schedule: Schedule | None


class LastLaunch(NamedTuple):
    """The last launch of a kernel, for another one that is the same: with the same arrays, and numbers that are equal.

    ``shape`` is what decides the ND-range and the order of groups.
    """

    shape: tuple[object, ...]
    arguments: tuple[object, ...]
    dispatch: Dispatch

    def is_like(self, shape: tuple[object, ...], arguments: Sequence[object]) -> bool:
        """Whether another launch is the same."""
        return (
            shape == self.shape and len(arguments) == len(self.arguments) and all(map(_same, arguments, self.arguments))
        )


def _same(value: object, other: object) -> bool:
    if value is other:
        return True
    if type(value) is not type(other):
        return False
    if isinstance(value, (np.ndarray, np.generic)):
        return isinstance(value, np.generic) and isinstance(other, np.generic) and value.tobytes() == other.tobytes()
    return bool(value == other and (value or repr(value) == repr(other)))  # 0.0 is not -0.0


def _constant(value: object) -> bool:
    """Whether an argument means the same as long as it is the same object: an array or a number, not a list."""
    return bool(type(value) is np.ndarray and value.shape) or isinstance(value, (int, float, np.number, np.bool_))


def _can_repeat(dispatch: Dispatch) -> bool:
    """Whether a launch can run again as it is: printf buffers must be cleared, arrays may become other images."""
    arguments = dispatch.arguments
    return (
        arguments.printf is None
        and not arguments.images
        and all(isinstance(s, Buffer) for s in arguments.surfaces.values())
    )


class Program:
    """An image ready to run; memory and the addresses of buffers last as long as it does.

    Launches of one program wait for each other; those of several programs may run side by side.
    """

    def __init__(self, image: LinkedImage) -> None:
        self.image = image
        self.tree = image.ze_info_tree()
        self.memory = AddressSpace()
        self.signatures: dict[str, KernelSignature] = {}
        self.geometries: dict[tuple[object, ...], tuple[NdRange, bytes]] = {}
        self.converters: dict[str, ArgumentConverter] = {}
        self.native: Engine | None = None
        self.last_launches: dict[str, LastLaunch] = {}
        self.running = threading.Lock()
        for section in image.data:
            self.memory.allocate(
                section.name, np.frombuffer(bytearray(section.contents), np.uint8), section.writable, section.address
            )

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels."""
        return [k.name for k in self.image.module.kernels]

    def signature(self, kernel: str) -> KernelSignature:
        """What a kernel wants of a launch; the name may be empty if there is one kernel.

        Raises:
            LaunchError: there is no such kernel.
        """
        found = self.signatures.get(kernel)
        if found is None:
            found = self.signatures[kernel] = kernel_signature(self.image, self.tree, kernel)
        return found

    def bind(
        self,
        launch: Launch,
        schedule: Schedule | None = None,
        groups: tuple[int, int] | None = None,
        profile: bool = False,
    ) -> Dispatch:
        """Check a launch against its kernel without running it; options as of :meth:`run`.

        Raises:
            LaunchError: it does not fit the kernel.
        """
        signature = self.signature(launch.kernel)
        nd_range, template = self._geometry(signature, launch)
        arguments = bind(signature, launch, self.memory)
        payload = with_values(template, arguments)
        coverage = not_executed(self.image) if profile else None
        return Dispatch(signature, nd_range, arguments, payload, self.memory, schedule, groups, coverage)

    def _geometry(self, signature: KernelSignature, launch: Launch) -> tuple[NdRange, bytes]:
        """The ND-range of a launch and the payload without arguments; most launches have those of an earlier one."""
        local = None if launch.local_size is None else tuple(launch.local_size)
        key = (signature, tuple(launch.global_size), local, tuple(launch.global_offset))
        found = self.geometries.get(key)
        if found is None:
            nd_range = range_of(signature, launch)
            if len(self.geometries) >= MAXIMUM_GEOMETRIES:
                self.geometries.clear()
            found = self.geometries[key] = nd_range, payload_template(signature, nd_range)
        return found

    def run(
        self,
        launch: Launch,
        engine: str = "llvm",
        threads: int | None = None,
        max_seconds: float | None = None,
        profile: bool = False,
        schedule: Schedule | None = None,
        groups: tuple[int, int] | None = None,
    ) -> LaunchResult:
        """Run one launch.

        Args:
            profile: whether the result is to know which instructions executed.
            schedule: the order of groups and threads; None for the ascending one.
            groups: the groups that run, from one number to before another; None for all.

        Raises:
            LaunchError: it does not fit the kernel.
            SimulationError: the kernel did something without a defined result.
        """
        with self.running:
            return self._execute(self.bind(launch, schedule, groups, profile), engine, threads, max_seconds)

    def _execute(self, dispatch: Dispatch, engine: str, threads: int | None, max_seconds: float | None) -> LaunchResult:
        started = perf_counter()
        ran = self._run_on(engine, dispatch, threads, max_seconds)
        seconds = perf_counter() - started
        printf = dispatch.arguments.printf
        if printf is None:
            return LaunchResult(dispatch, ran, seconds)
        from vsim.printf import PrintfRecords

        return LaunchResult(dispatch, ran, seconds, PrintfRecords.of(printf, self.memory))

    def _run_on(self, engine: str, dispatch: Dispatch, threads: int | None, max_seconds: float | None) -> str:
        """Run on an engine, or on the reference engine what the fast one cannot; the name of the one that ran."""
        if engine == "llvm":
            native = self.native or self._load_native()
            if native is not None:
                try:
                    native.run(dispatch, threads, max_seconds)
                    return engine
                except Unsupported:
                    pass
        elif engine not in ENGINES:
            raise LaunchError(
                Diagnostic("S002", f"there is no engine '{engine}'", None, f"engines are {', '.join(ENGINES)}")
            )
        from vsim.numpy_engine.engine import run as run_numpy

        run_numpy(dispatch, max_seconds)
        return "numpy"

    def _load_native(self) -> Engine | None:
        """Load the fast engine; None if the reference engine must do without."""
        global _LLVM_MISSING
        if _LLVM_MISSING:
            return None
        try:
            from vsim.llvm_engine.engine import Engine
        except (ImportError, OSError) as error:
            _LLVM_MISSING = True
            print(f"vsim: llvmlite cannot be loaded ({error}); running on numpy", file=sys.stderr)
            return None
        self.native = Engine(self.image)
        return self.native

    def launch(
        self,
        kernel: str,
        global_size: Sequence[int] | int,
        local_size: Sequence[int] | int | None = None,
        args: Sequence[object] = (),
        *,
        global_offset: Sequence[int] = (0, 0, 0),
        engine: str = "llvm",
        threads: int | None = None,
        max_seconds: float | None = None,
        schedule: str = "",
    ) -> LaunchResult:
        """Run a kernel over an ND-range.

        Args:
            kernel: its name; empty if the image has one.
            global_size, local_size: work-items in one to three dimensions.
            schedule: ``round-robin``, ``random:SEED`` or ``reverse``; empty for the ascending order of groups and
                threads.
            args: in the order of the kernel's arguments. A numpy array is a buffer, or an image where the kernel wants
                one, written in place; Python and numpy scalars, lists for vectors, and arrays of shape () with a
                structured dtype are passed by value; an int where the kernel wants local memory is its size.

        A launch like the last one of its kernel is bound to it already and begins at once.
        """
        shape = (global_size,) if isinstance(global_size, int) else tuple(global_size)
        local = (local_size,) if isinstance(local_size, int) else None if local_size is None else tuple(local_size)
        offset = tuple(global_offset)
        whole = (shape, local, offset, schedule)
        last = self.last_launches.get(kernel)
        if last is not None and last.is_like(whole, args):
            with self.running:
                return self._execute(last.dispatch, engine, threads, max_seconds)
        launch = Launch(kernel, shape, local, offset, self.convert(kernel, args))
        order = parse_schedule(schedule) if schedule else None
        result = self.run(launch, engine, threads, max_seconds, schedule=order)
        if _can_repeat(result.dispatch) and all(map(_constant, args)):
            self.last_launches[kernel] = LastLaunch(whole, tuple(args), result.dispatch)
        return result

    def convert(self, kernel: str, args: Sequence[object]) -> list[Argument]:
        """Python values as the arguments of a kernel; see :meth:`launch`.

        Raises:
            LaunchError: a value is not what the kernel wants; the message names the argument.
        """
        converter = self.converters.get(kernel)
        if converter is None:
            converter = self.converters[kernel] = ArgumentConverter(self.signature(kernel))
        return [converter.argument(n, a) for n, a in enumerate(args)]

    def usm(self, array: Array) -> int:
        """Give an array an address, as unified shared memory has one; kernels may follow it out of other buffers.

        The address of an element is that of the array plus its offset in bytes. It may be passed as numpy.uint64 where
        a kernel takes a pointer. Arrays that are passed to a launch keep the address that they have.
        """
        return self.memory.map(array, "usm").address

    def release(self, array: Array) -> None:
        """Forget an array, which otherwise stays mapped as long as the program lives.

        Kernels that follow its address then get an error.
        """
        self.last_launches.clear()
        self.memory.unmap(array)


def load(path: str) -> Program:
    """Load an image.

    Raises:
        FormatError: the file is not an image or is damaged.
    """
    return Program(read_image(read_bytes(path), path))
