"""A loaded image and its launches: the simulator's library interface.

:meth:`Program.bind` is the way of a launch: what the kernel wants, what the launch gives it, what an engine may ask;
the result follows when it has run.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from visakit.diagnostics import Diagnostic, LaunchError, SimulationError, Span, UsageError, did_you_mean
from visakit.files import read_bytes
from visakit.language.platforms import find
from visakit.notebook import table
from visakit.objects.image import LinkedImage
from visakit.usage import check_platform, check_text, exclude, warn
from vsim.engines.llvm import InvalidCode, Overtaken, RecordedFault, RefusedInstruction, Unsupported
from vsim.launch.arrays import Array
from vsim.launch.binding import bind
from vsim.launch.dispatch import Dispatch, not_executed, with_values
from vsim.launch.launch import Argument, Launch, array_problem, nd_sizes
from vsim.launch.ndrange import NdRange, payload_template, range_of
from vsim.launch.signature import KernelSignature, kernel_signature
from vsim.memory.memory import AddressSpace, Buffer
from vsim.result import LaunchResult
from vsim.sources.programs import linked, loaded

if TYPE_CHECKING:  # The engines are loaded when something runs on them.
    from vsim.checks.selection import Wanted
    from vsim.command.progress import Groups
    from vsim.engines.llvm.engine import Engine
    from vsim.kernel import Kernel
    from vsim.launch.conversion import ArgumentConverter
    from vsim.launch.last_launch import LastLaunch
    from vsim.launch.schedule import Schedule
    from vsim.observe.printf import PrintfRecords
    from vsim.observe.trace import Trace

Size = int | Sequence[int]
"""Work-items of a launch: a number, or one to three of them."""
ENGINES = ("auto", "llvm", "numpy")
MAXIMUM_GEOMETRIES = 64
PRINTING_SECONDS = 1.0
"""How long it may take to write what a launch printed until it failed, also where its time is up."""
_LLVM_MISSING = False


class RunOptions(TypedDict, total=False):
    """How launches run: the keywords of :meth:`Program.run` but for the groups."""

    engine: str
    threads: int | None
    max_seconds: float | None
    profile: bool
    schedule: Schedule | None
    trace: Trace | None
    check: Wanted


class Program:
    """An image ready to run. Arrays keep their addresses as long as they live.

    Launches of one program wait for each other, and those of programs that share an address space; others do not.

    Args:
        image: of :func:`vlink.link` or :func:`visakit.objects.image.read_image`; :func:`vsim.load` takes files, too.
        memory: the address space, in which the image's data has its place; None for one of its own.

    Raises:
        FormatError: the image's module is not whole, or reaches beyond predefined registers (:func:`visakit.validate`).
    """

    def __init__(self, image: LinkedImage, memory: AddressSpace | None = None) -> None:
        if image.summaries is None or image.is_read:  # else it passed already
            from visakit.rules.validation import validate  # with the table

            validate(image.module, image.grf_size, image.file)
        self.image = image
        self.tree = image.ze_info_tree()
        self.memory = AddressSpace() if memory is None else memory
        self.signatures: dict[str, KernelSignature] = {}
        self.geometries: dict[tuple[object, ...], tuple[NdRange, bytes]] = {}
        self.converters: dict[str, ArgumentConverter] = {}
        self.native: Engine | None = None
        self.batch: Groups | None = None
        """How far the reference engine is."""
        self.last_launches: dict[str, LastLaunch] = {}
        self.callable_kernels: dict[str, Kernel] = {}
        self.running = self.memory.running
        _PROGRAMS.add(self)
        self.data = [
            self.memory.allocate(
                section.name, np.frombuffer(bytearray(section.contents), np.uint8), section.writable, section.address
            )
            for section in image.data
        ]

    def _repr_html_(self) -> str:
        return table(self.image.file, ("kernels and their arguments",), ([self[name]] for name in self.kernels))

    def __repr__(self) -> str:
        return f"<Program of {', '.join(self.kernels) or 'no kernels'} for {self.image.platform or 'any platform'}>"

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels."""
        return [k.name for k in self.image.module.kernels]

    def __getitem__(self, kernel: str) -> Kernel:
        """A kernel by its name, to be called.

        Raises:
            LaunchError: there is no such kernel.
            UsageError: its name is no str.
        """
        found = self.callable_kernels.get(check_text(kernel, "the name of a kernel"))
        if found is None:
            from vsim.kernel import Kernel

            found = self.callable_kernels[kernel] = Kernel(self, self.signature(kernel).name)
        return found

    def __getattr__(self, name: str) -> Kernel:
        """A kernel by its name, where that is a name of Python's and no other attribute has it."""
        if "callable_kernels" in self.__dict__ and name in self.kernels:
            return self[name]
        kernels = self.kernels if "image" in self.__dict__ else ()
        hint = did_you_mean(name, kernels) or f"kernels are {', '.join(kernels) or '(none)'}"
        raise AttributeError(f"the program has no kernel or attribute '{name}': {hint}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.kernels]

    def signature(self, kernel: str) -> KernelSignature:
        """What a kernel wants of a launch; the name may be empty if there is one kernel.

        Raises:
            LaunchError: there is no such kernel.
            UsageError: its name is no str.
        """
        found = self.signatures.get(check_text(kernel, "the name of a kernel"))
        if found is None:
            found = self.signatures[kernel] = kernel_signature(self.image, self.tree, kernel)
        return found

    def bind(
        self,
        launch: Launch,
        schedule: Schedule | None = None,
        groups: tuple[int, int] | None = None,
        profile: bool = False,
        trace: Trace | None = None,
        check: Wanted = "",
    ) -> Dispatch:
        """Check a launch against its kernel without running it; options as of :meth:`run`.

        Raises:
            LaunchError: it does not fit the kernel.
        """
        signature = self.signature(launch.kernel)
        nd_range, template = self._geometry(signature, launch)
        self.memory.hold()  # What is gone leaves its place to what comes.
        findings = None
        if check:
            from vsim.checks.findings import watching

            findings = watching(check)
        arguments = bind(signature, launch, nd_range, self.memory, findings is not None and findings.guards)
        _check_local_memory(signature, arguments.slm_size)
        payload = with_values(template, arguments.values)
        coverage = not_executed(self.image) if profile else None
        return Dispatch(
            *(signature, nd_range, arguments, payload, self.memory, schedule, groups, coverage, trace),
            findings=findings,
        )

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
        engine: str = "auto",
        threads: int | None = None,
        max_seconds: float | None = None,
        profile: bool = False,
        schedule: Schedule | None = None,
        groups: tuple[int, int] | None = None,
        trace: Trace | None = None,
        check: Wanted = "",
    ) -> LaunchResult:
        """Run one launch, given as a record; :meth:`launch` makes one out of Python values.

        Args:
            engine: ``llvm``; ``numpy`` for the reference engine; ``auto`` for the fast one, and the reference engine
                where native code takes longer to make than the launch (:mod:`vsim.engines.tiers`).
            threads: worker threads; None for one for each CPU that the process may use.
            max_seconds: when to give up; None for never.
            profile: whether the result is to know which instructions executed.
            schedule: the order of groups and threads; None for the ascending one.
            groups: the groups that run, from one number to before another; None for all.
            trace: where what threads do is written; the reference engine runs such launches.
            check: checks that watch the launch, separated by commas: ``race``, ``undefined``, ``divergence``,
                ``calls``, or ``all``; what they find is in the result (:attr:`LaunchResult.findings`).
                A :class:`vsim.Checking` says what is shown of it, too.

        Raises:
            LaunchError: it does not fit the kernel.
            SimulationError: the kernel did something without a defined result.
        """
        with self.running:
            dispatch = self.bind(launch, schedule, groups, profile, trace, check)
            return self._execute(dispatch, engine, threads, max_seconds)

    def execute(
        self, dispatch: Dispatch, engine: str = "auto", threads: int | None = None, max_seconds: float | None = None
    ) -> LaunchResult:
        """Run what :meth:`bind` gave, with options as of :meth:`run`.

        It may run again if it can be repeated (:func:`can_repeat`) and nothing was allocated or taken back meanwhile.

        Raises:
            SimulationError: the kernel did something without a defined result.
        """
        with self.running:
            return self._execute(dispatch, engine, threads, max_seconds)

    def _execute(self, dispatch: Dispatch, engine: str, threads: int | None, max_seconds: float | None) -> LaunchResult:
        if threads is not None or max_seconds is not None:
            _check_limits(threads, max_seconds)
        native = self.native
        compiled = 0.0 if native is None else native.kernels.seconds
        if self.memory.limit is not None:
            self.memory.check(_besides_buffers(dispatch))
        if dispatch.arguments.implicit is not None:  # Other launches have the same buffer.
            buffer, contents = dispatch.arguments.implicit
            buffer.data[: len(contents)] = np.frombuffer(contents, np.uint8)
        held = self.memory.hold()  # Whatever becomes of the caller's arrays meanwhile.
        started = perf_counter()
        printf = dispatch.arguments.printf
        try:
            ran, why = self._run_on(engine, dispatch, threads, max_seconds, held)
        except SimulationError as error:
            if printf is not None:
                end = None if max_seconds is None else max(perf_counter() + PRINTING_SECONDS, started + max_seconds)
                error.printf = self._printed(printf).text_until(end)[0]
            error.diagnostics += dispatch.findings.diagnostics(dispatch) if dispatch.findings else []
            raise
        seconds = perf_counter() - started
        printed = "" if printf is None else self._printed(printf).in_time(dispatch, started, max_seconds)
        native = self.native
        compiled = 0.0 if native is None else native.kernels.seconds - compiled
        return LaunchResult(dispatch, ran, seconds, printed, compiled, why)

    def _printed(self, buffer: Buffer) -> PrintfRecords:
        from vsim.observe.printf import PrintfRecords

        return PrintfRecords.of(buffer, self.memory)

    def _run_on(
        self, engine: str, dispatch: Dispatch, threads: int | None, max_seconds: float | None, held: Sequence[Array]
    ) -> tuple[str, str]:
        """Run on an engine, or on the reference engine what the fast one cannot; the name of the one that ran, and why
        it is the reference engine where another was asked for.

        Args:
            held: the memory of mapped arrays, which must stay.
        """
        why, stopped = "", None
        if dispatch.trace is not None:
            why = "the launch is traced"
        elif engine == "auto" or engine == "llvm":
            native = self.native or self._load_native(engine)
            if native is None:
                why = "llvmlite cannot be loaded"
            else:
                try:
                    native.run(dispatch, threads, max_seconds, held, _overtake if engine == "auto" else None)
                    return "llvm", ""
                except (RecordedFault, RefusedInstruction) as stop:
                    stopped = stop
                except Overtaken:
                    return "numpy", "it ended before native code was made"
                except Unsupported as problem:
                    why = _say_why_not(engine, dispatch, problem)
        elif engine not in ENGINES:
            raise LaunchError(
                Diagnostic("S002", f"there is no engine '{engine}'", None, f"engines are {', '.join(ENGINES)}")
            )
        if stopped is not None:  # Here, as errors go through pickle with the exceptions that they were raised in.
            from vsim.engines.stopped import error_of

            raise error_of(dispatch, stopped)
        from vsim.engines.numpy.engine import run as run_numpy

        if dispatch.trace is not None:
            dispatch.trace.begin(dispatch.kernel.name, dispatch.simd, dispatch.nd_range)
        try:
            run_numpy(dispatch, max_seconds, begun=self._begun)
        finally:
            self.batch = None
        return "numpy", why

    def _begun(self, begun: int, count: int) -> None:
        from vsim.command.progress import Groups

        self.batch = Groups(begun, count)

    def groups(self) -> Groups | None:
        """How far the launch is that runs now, as far as the engine tells; None if it does not, or none runs."""
        native = self.native
        return self.batch if self.batch is not None or native is None else native.groups()

    def _load_native(self, engine: str) -> Engine | None:
        """Load the fast engine; None if the reference engine must do without.

        Raises:
            SimulationError: S024, it cannot be loaded, and was asked for.
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

    def launch(
        self,
        kernel: str,
        global_size: Size,
        local_size: Size | None = None,
        args: Sequence[object] | Mapping[str, object] = (),
        *,
        global_offset: Size = (0, 0, 0),
        engine: str = "auto",
        threads: int | None = None,
        max_seconds: float | None = None,
        schedule: str = "",
        profile: bool = False,
        show_printf: bool = True,
        check: Wanted = "",
    ) -> LaunchResult:
        """Run a kernel over an ND-range.

        Args:
            kernel: its name; empty if the image has one.
            global_size: work-items in one to three dimensions.
            local_size: work-items of a group; None for what the kernel requires, else one is chosen.
            global_offset: what the global ids begin with.
            engine: ``llvm``; ``numpy`` for the reference engine; ``auto`` for the fast one, and the reference engine
                where native code takes longer to make than the launch (:mod:`vsim.engines.tiers`).
            threads: worker threads; None for one for each CPU that the process may use.
            max_seconds: when to give up; None for never.
            schedule: ``round-robin``, ``random:SEED`` or ``reverse``; empty for the ascending order of groups and
                threads.
            profile: whether the result is to know which instructions executed.
            show_printf: whether what the kernel prints goes to standard output, too.
            check: as of :meth:`run`.
            args: in the order of the kernel's arguments, or by name. A numpy array is a buffer, or an image where the
                kernel wants one, written in place; Python and numpy scalars, lists for vectors, and arrays of shape ()
                with a structured dtype are passed by value; an int where the kernel wants local memory is its size.

        Raises:
            LaunchError: it does not fit the kernel; nothing ran.
            SimulationError: the kernel did something without a defined result, or took too long.

        A launch like the last one of its kernel is bound already and begins at once; so does one with other numbers.
        """
        # What is a tuple or a number already is checked when a launch is made of it.
        shape = global_size if type(global_size) is tuple else _sizes(global_size, "global size")
        local = local_size if local_size is None or type(local_size) is tuple else _sizes(local_size, "local size")
        offset = global_offset if type(global_offset) is tuple else _sizes(global_offset, "global offset", 0)
        whole = (shape, local, offset, schedule)
        if not isinstance(args, (list, tuple)):
            args = self[kernel].in_order((), args) if isinstance(args, Mapping) else _listed(args)
        is_plain = not (profile or check)
        last = self.last_launches.get(check_text(kernel, "the name of a kernel")) if is_plain else None
        again = last.again(whole, args, self._converter(kernel).argument) if last is not None else None
        if again is not None:
            with self.running:
                result = self._execute(again.dispatch, engine, threads, max_seconds)
            self.last_launches[kernel] = again
            return result
        launch = Launch(kernel, shape, local, offset, self.convert(kernel, args))
        order = _order(schedule) if schedule else None
        try:
            result = self.run(launch, engine, threads, max_seconds, profile, order, check=check)
        except SimulationError as error:
            _show(error.printf, show_printf)
            raise
        if result.printed:
            _show(result.printf, show_printf)
        found = _last_launch(whole, args, result.dispatch) if is_plain else None
        if found is not None:
            self.last_launches[kernel] = found
        return result

    def convert(self, kernel: str, args: Sequence[object]) -> list[Argument]:
        """Python values as the arguments of a kernel; see :meth:`launch`.

        Raises:
            LaunchError: a value is not what the kernel wants; the message names the argument.
        """
        converter = self._converter(kernel)
        return [converter.argument(n, a) for n, a in enumerate(args)]

    def _converter(self, kernel: str) -> ArgumentConverter:
        found = self.converters.get(kernel)
        if found is None:
            from vsim.launch.conversion import ArgumentConverter

            found = self.converters[kernel] = ArgumentConverter(self.signature(kernel))
        return found

    def usm(self, array: Array) -> int:
        """Give an array an address, as unified shared memory has one; kernels may follow it out of other buffers.

        The address of an element is that of the array plus its offset in bytes. It may be passed as numpy.uint64 where
        a kernel takes a pointer. The array is kept until :meth:`release`. One that is passed to a launch keeps the
        address that it has, or gets one for as long as it lives; it cannot be resized meanwhile.

        Raises:
            LaunchError: S003, it is no array that kernels can use in place.
        """
        problem, hint = array_problem(array)
        if problem:
            raise LaunchError(Diagnostic("S003", f"what gets an address {problem}", Span("<usm>", 0), hint))
        found = self.memory.map(array, "usm", keep=True)
        if found.read_only is array.flags.writeable:
            self.memory.protect(found, not array.flags.writeable)
        return found.address

    def release(self, array: Array) -> None:
        """Forget an array, which otherwise stays mapped as long as it lives; no matter if it is not mapped.

        Kernels that follow its address then get an error.

        Raises:
            UsageError: it is no array.
        """
        if not isinstance(array, np.ndarray):
            raise UsageError(f"a numpy array is released, found {type(array).__name__}")
        self.last_launches.clear()
        if self.native is not None:
            self.native.prepared = None
        self.memory.unmap(array)


def _order(schedule: str) -> Schedule:
    from vsim.launch.schedule import parse_schedule

    return parse_schedule(check_text(schedule, "the schedule"))


def _last_launch(whole: tuple[object, ...], args: Sequence[object], dispatch: Dispatch) -> LastLaunch | None:
    """A launch that has run, for another one like it; None if it cannot run again."""
    from vsim.launch.last_launch import LastLaunch

    return LastLaunch.of(whole, args, dispatch)


def _say_why_not(engine: str, dispatch: Dispatch, problem: Unsupported) -> str:
    """Why the fast engine does not run a launch; a warning where it was to, or where that is a mistake of ours.

    Raises:
        SimulationError: S024, it is a mistake of ours, and the fast engine was asked for.
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


def _check_local_memory(signature: KernelSignature, given: int) -> None:
    """Refuse a launch whose groups have more local memory than the device; ``given`` bytes are those of arguments.

    Raises:
        LaunchError: S010, they have.
    """
    platform = find(signature.image.platform) if signature.slm_size or given else None
    if platform is not None and signature.slm_size + given > platform.local_memory:
        wanted, room = (f"{n / 1024:g} KiB" for n in (signature.slm_size + given, platform.local_memory))
        slm = signature.kernel.integer_attribute("SLMSize")
        hint = f"SLMSize counts KiB: {slm} of them are {slm * 1024} bytes" if slm else ""
        raise signature.error(f"a group takes {wanted} of local memory, and has {room} on {platform.name}", hint)


def _besides_buffers(dispatch: Dispatch) -> int:
    """Bytes of memory that a launch takes besides its buffers: images, local and scratch memory of a work-group."""
    pictures = sum(s.array.nbytes for s in set(dispatch.all_surfaces) if not isinstance(s, Buffer))
    return pictures + dispatch.slm_size + dispatch.scratch_size * dispatch.threads_of(dispatch.group(0))


def _show(text: str, wanted: bool) -> None:
    """What a kernel printed, on standard output if that is wanted."""
    if text and wanted:
        from vsim.observe.printf import show

        show(text)


_PROGRAMS: weakref.WeakSet[Program] = weakref.WeakSet()


def _unlock_programs() -> None:
    """In a forked process, which has none of the threads that may have held their locks."""
    for program in list(_PROGRAMS):
        program.memory.lock = threading.RLock()
        program.memory.running = program.running = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_programs)


def _sizes(value: Size, what: str, least: int = 1) -> tuple[int, ...]:
    """Sizes as a tuple."""
    return (value,) if type(value) is int else nd_sizes(value, what, least)


def _listed(args: object) -> tuple[object, ...]:
    """The arguments of a launch, given in something that is neither a list nor a tuple."""
    if isinstance(args, Sequence) and not isinstance(args, (str, bytes)):
        return tuple(args)
    hint = "put it into a list" if isinstance(args, np.ndarray) else ""
    message = f"'args' is a list of the kernel's arguments, found {type(args).__name__}"
    raise LaunchError(Diagnostic("S003", message, Span("<launch>", 0), hint))


def _check_limits(threads: object, max_seconds: object) -> None:
    """Raise LaunchError where the options of a launch make no sense."""
    if threads is not None and (not isinstance(threads, (int, np.integer)) or threads < 1):
        raise _bad_option("threads", "a whole number from 1 on", threads)
    if max_seconds is not None and (not isinstance(max_seconds, (int, float, np.number)) or not max_seconds >= 0):
        raise _bad_option("max_seconds", "a number of seconds", max_seconds)


def _bad_option(name: str, wanted: str, value: object) -> LaunchError:
    return LaunchError(Diagnostic("S002", f"'{name}' is {wanted}, found {value!r}", Span("<launch>", 0)))


def load(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | LinkedImage,
    platform: str | None = None,
    options: str = "",
) -> Program:
    """Load a program: an image, a zebin with vISA texts, or a source, which the installed compiler makes a zebin of.

    Args:
        source: a file, the bytes of one, or an image of the linker. OpenCL C is known by its name (``.cl``).
        platform: the device of a source, None for the newest that the compiler knows; which zebin of a container.
        options: build options of a source.

    What the compiler warns of is issued as :class:`visakit.VisaWarning`.

    Raises:
        FileError: the file cannot be read.
        FormatError: it is none of these, is damaged, or does not compile.
        LinkError: the texts of a zebin have errors or do not fit together.
        UsageError: the argument is none of these; an image is for another platform; only sources have build options.
    """
    check_platform(platform)
    if isinstance(source, LinkedImage):
        exclude("an image", {"'platform'": platform, "'options'": check_text(options, "build options")})
        return Program(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        name, data = "<bytes>", bytes(source)
    elif isinstance(source, (str, os.PathLike)):
        name = os.fsdecode(source)
        data = read_bytes(name)
    else:
        raise UsageError(f"an image is a path, bytes or a LinkedImage, found {type(source).__name__}")
    found = loaded(name, data, platform, check_text(options, "build options"))
    if found.warnings:
        warn(found.warnings)
    return Program(linked(found))
