"""A loaded image and its launches: the simulator's library interface."""

from __future__ import annotations

import struct
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from visa.diagnostics import Diagnostic, LaunchError
from visa.files import read_bytes
from visa.image import LinkedImage, read_image
from vsim.abi import Dispatch, KernelSignature, bind
from vsim.arguments import Arguments
from vsim.launch import Argument, Launch
from vsim.llvm_engine import Unsupported
from vsim.memory import AddressSpace, Buffer
from vsim.schedule import Schedule, parse_schedule

ENGINES = ("llvm", "numpy")
_LLVM_MISSING = False


@dataclass
class Outcome:
    """What a launch says when it is over: the kernel that ran, what it printed, and how exact it was if somebody asked."""

    kernel: str
    text: str = ""
    fidelity: dict[str, Any] | None = None


@dataclass(frozen=True)
class LastLaunch:
    """The last launch of a kernel, for another one that is the same: with the same arrays, and numbers that are equal."""

    shape: tuple[Any, ...]
    arguments: tuple[Any, ...]
    dispatch: Dispatch

    def is_like(self, shape: tuple[Any, ...], arguments: Sequence[Any]) -> bool:
        """Whether another launch is the same."""
        return (
            shape == self.shape and len(arguments) == len(self.arguments) and all(map(_same, arguments, self.arguments))
        )


def _same(value: Any, other: Any) -> bool:
    if value is other:
        return True
    if type(value) is not type(other) or isinstance(value, np.ndarray):
        return False
    return bool(value.tobytes() == other.tobytes() if isinstance(value, np.generic) else repr(value) == repr(other))


def _constant(value: Any) -> bool:
    """Whether an argument means the same as long as it is the same object: a buffer or a number, unlike a list or a structure."""
    return bool(type(value) is np.ndarray and value.shape) or isinstance(value, (int, float, np.number, np.bool_))


class Program:
    """An image ready to run; memory and the addresses of buffers last as long as it does.

    Launches of one program wait for each other; those of several programs may run side by side.
    """

    def __init__(self, image: LinkedImage) -> None:
        self.image = image
        self.tree = image.ze_info_tree()
        self.memory = AddressSpace()
        self.signatures: dict[str, KernelSignature] = {}
        self.arguments: dict[str, Arguments] = {}
        self.native: Any = None
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
            found = self.signatures[kernel] = KernelSignature(self.image, self.tree, kernel)
        return found

    def run(self, launch: Launch, engine: str = "llvm", threads: int | None = None, max_seconds: float | None = None, profile: bool = False,
            schedule: Schedule | None = None, groups: tuple[int, int] | None = None) -> Dispatch:  # fmt: skip
        """Run one launch; with ``profile`` the result knows which instructions executed. The schedule is the order of groups and threads;
        ``groups`` picks those from one number to before another.

        Raises:
            LaunchError: it does not fit the kernel.
            SimulationError: the kernel did something without a defined result.
        """
        with self.running:
            dispatch = self.bind(launch)
            dispatch.schedule, dispatch.part = schedule, groups
            if profile:
                dispatch.profile()
            self._execute(dispatch, engine, threads, max_seconds)
            return dispatch

    def _execute(self, dispatch: Dispatch, engine: str, threads: int | None, max_seconds: float | None) -> None:
        if engine == "llvm" and (self.native is not None or self._load_native()):
            try:
                self.native.run(dispatch, threads, max_seconds)
                return
            except Unsupported:
                pass
        elif engine not in ENGINES:
            raise LaunchError(
                Diagnostic("S002", f"there is no engine '{engine}'", None, f"engines are {', '.join(ENGINES)}")
            )
        from vsim.numpy_engine.engine import run as run_numpy

        run_numpy(dispatch, max_seconds)

    def outcome(self, dispatch: Dispatch) -> Outcome:
        """What is to say of a launch that ran; what it printed is taken."""
        found = Outcome(dispatch.kernel.name)
        if dispatch.coverage is not None:
            from vsim.fidelity import report

            found.fidelity = report(dispatch.executed, dispatch.grf_size).tree()
        if dispatch.printf is not None:
            from vsim.printf import printf_output

            found.text = printf_output(dispatch.printf, self.memory)
            dispatch.printf.data[:4] = np.frombuffer(struct.pack("<I", 4), np.uint8)
        return found

    def bind(self, launch: Launch) -> Dispatch:
        """Check a launch against its kernel without running it.

        Raises:
            LaunchError: it does not fit the kernel.
        """
        return bind(self.signature(launch.kernel), launch, self.memory)

    def _load_native(self) -> bool:
        """Load the fast engine; False if the reference engine must do without."""
        global _LLVM_MISSING
        if _LLVM_MISSING:
            return False
        try:
            from vsim.llvm_engine.engine import Engine
        except (ImportError, OSError) as error:
            _LLVM_MISSING = True
            print(f"vsim: llvmlite cannot be loaded ({error}); running on numpy", file=sys.stderr)
            return False
        self.native = Engine(self.image)
        return True

    def launch(
        self, kernel: str, global_size: Sequence[int] | int, local_size: Sequence[int] | int | None = None, args: Sequence[Any] = (), *,
        global_offset: Sequence[int] = (0, 0, 0), engine: str = "llvm", threads: int | None = None, max_seconds: float | None = None,
        schedule: str = "",
    ) -> Dispatch:  # fmt: skip
        """Run a kernel over an ND-range.

        Args:
            kernel: its name; empty if the image has one.
            global_size, local_size: work-items in one to three dimensions.
            schedule: ``round-robin``, ``random:SEED`` or ``reverse``; empty for the ascending order of groups and threads.
            args: in the order of the kernel's arguments. A numpy array is a buffer, or an image where the kernel wants one, written in
                place; Python and numpy scalars, lists for vectors, and arrays of shape () with a structured dtype are passed by value; an int
                where the kernel wants local memory is its size.

        A launch like the last one of its kernel is bound to it already, and gives the same object.
        """
        shape = (global_size,) if isinstance(global_size, int) else tuple(global_size)
        local = (local_size,) if isinstance(local_size, int) else None if local_size is None else tuple(local_size)
        whole = (shape, local, tuple(global_offset), schedule)
        last = self.last_launches.get(kernel)
        if last is not None and last.is_like(whole, args):
            with self.running:
                self._execute(last.dispatch, engine, threads, max_seconds)
            return last.dispatch
        dispatch = self.run(Launch(kernel, shape, local, tuple(global_offset), self.convert(kernel, args)), engine, threads, max_seconds,
                         schedule=parse_schedule(schedule) if schedule else None)  # fmt: skip
        images = dispatch.images or any(not isinstance(s, Buffer) for s in dispatch.surfaces.values())
        if dispatch.printf is None and not images and all(map(_constant, args)):
            self.last_launches[kernel] = LastLaunch(whole, tuple(args), dispatch)
        return dispatch

    def convert(self, kernel: str, args: Sequence[Any]) -> list[Argument]:
        """Python values as the arguments of a kernel; see :meth:`launch`.

        Raises:
            LaunchError: a value is not what the kernel wants; the message names the argument.
        """
        arguments = self.arguments.get(kernel)
        if arguments is None:
            arguments = self.arguments[kernel] = Arguments(self.signature(kernel))
        return [arguments.argument(n, a) for n, a in enumerate(args)]

    def usm(self, array: npt.NDArray[Any]) -> int:
        """Give an array an address, as unified shared memory has one; kernels may follow it out of other buffers.

        The address of an element is that of the array plus its offset in bytes. It may be passed as numpy.uint64 where a kernel takes a
        pointer. Arrays that are passed to a launch keep the address that they have.
        """
        return self.memory.map(array, "usm").address

    def release(self, array: npt.NDArray[Any]) -> None:
        """Forget an array, which otherwise stays mapped as long as the program lives; kernels that follow its address then get an error."""
        self.last_launches.clear()
        self.memory.unmap(array)


def load(path: str) -> Program:
    """Load an image.

    Raises:
        FormatError: the file is not an image or is damaged.
    """
    return Program(read_image(read_bytes(path), path))
