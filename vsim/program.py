"""A loaded image and its launches: the simulator's library interface.

:meth:`Program.bind` makes the :class:`Dispatch` of a launch, which an engine runs; a :class:`LaunchResult` follows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Unpack

import numpy as np

from visakit.diagnostics import Diagnostic, LaunchError, SimulationError, Span, UsageError, did_you_mean
from visakit.files import read_bytes
from visakit.language.platforms import find
from visakit.objects.image import LinkedImage
from visakit.usage import check_platform, check_text, exclude, warn
from vsim.engines.selector import EngineSelector
from vsim.launch.arrays import Array
from vsim.launch.binding import bind
from vsim.launch.dispatch import Dispatch, GroupProgress, not_executed, with_values
from vsim.launch.launch import Argument, Launch, array_problem, nd_sizes
from vsim.launch.ndrange import NdRange, payload_template, range_of
from vsim.launch.options import LaunchOptions, check_limits, check_options, checked_observers, schedule_of
from vsim.launch.signature import KernelSignature, kernel_signature
from vsim.memory.memory import AddressSpace, Buffer
from vsim.result import LaunchResult
from vsim.sources.programs import linked, loaded

if TYPE_CHECKING:
    from visakit.language.program import Function
    from vsim.checks.selection import Wanted
    from vsim.kernel import Kernel
    from vsim.launch.conversion import ArgumentConverter
    from vsim.launch.last_launch import LastLaunch
    from vsim.launch.schedule import Schedule
    from vsim.observe.observer import Observer
    from vsim.observe.printf import PrintfRecords
    from vsim.observe.trace import Trace

Size = int | Sequence[int]
"""Work-items of a launch: a number, or one to three of them."""
MAXIMUM_GEOMETRIES = 64
PRINTING_SECONDS = 1.0
"""Seconds for the output of a launch that failed, also after its time limit."""
_REPEATABLE = frozenset(("engine", "threads", "max_seconds", "schedule"))
"""Options of launches that leave nothing in the dispatch; the next launch may run it again."""


def _know_descriptors(image: LinkedImage) -> None:
    """Find the values of descriptors that are in registers; in functions that are not read yet, when they are read."""
    for function in image.module.all_functions:
        if function.pending is None:
            _read_and_know(None, image.grf_size, function)
        else:
            function.pending = partial(_read_and_know, function.pending, image.grf_size)


def _read_and_know(read: Callable[[Function], None] | None, grf_size: int, function: Function) -> None:
    from vsim.analysis.known_descriptors import know_descriptors  # with the table

    if read is not None:
        read(function)
    know_descriptors(function, grf_size)


class Program:
    """An image ready to run. Arrays keep their addresses as long as they live.

    Launches of one program wait for each other, and those of programs that share an address space; others do not.

    Args:
        image: of :func:`vlink.link` or :func:`visakit.objects.image.read_image`; :func:`vsim.load` takes files, too.
        memory: the address space that has the image's data; None for a new one.

    Raises:
        FormatError: the image's module is not whole, or breaks a rule of texts (:func:`visakit.validate`).
    """

    def __init__(self, image: LinkedImage, memory: AddressSpace | None = None) -> None:
        if image.summaries is None or image.is_read:  # else it passed already
            from visakit.rules.validation import validate  # with the table

            validate(image.module, image.grf_size, image.file, image.platform)
        _know_descriptors(image)
        self.image = image
        self.tree = image.ze_info_tree()
        self.memory = AddressSpace() if memory is None else memory
        self.signatures: dict[str, KernelSignature] = {}
        self.geometries: dict[tuple[object, ...], tuple[NdRange, bytes]] = {}
        self.converters: dict[str, ArgumentConverter] = {}
        self.engines = EngineSelector(image)
        self.last_launches: dict[str, LastLaunch] = {}
        self.callable_kernels: dict[str, Kernel] = {}
        self.launch_lock = self.memory.launch_lock
        self.data = [
            self.memory.allocate(
                section.name, np.frombuffer(bytearray(section.contents), np.uint8), section.writable, section.address
            )
            for section in image.data
        ]

    def _repr_html_(self) -> str:
        from visakit.notebook import table

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
        callable_kernel = self.callable_kernels.get(check_text(kernel, "the name of a kernel"))
        if callable_kernel is None:
            from vsim.kernel import Kernel

            callable_kernel = self.callable_kernels[kernel] = Kernel(self, self.signature(kernel).name)
        return callable_kernel

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
        """Requirements of a kernel for a launch; the name may be empty if there is one kernel.

        Raises:
            LaunchError: there is no such kernel.
            UsageError: its name is no str.
        """
        signature = self.signatures.get(check_text(kernel, "the name of a kernel"))
        if signature is None:
            signature = self.signatures[kernel] = kernel_signature(self.image, self.tree, kernel)
        return signature

    def bind(
        self,
        launch: Launch,
        schedule: Schedule | str | None = None,
        groups: tuple[int, int] | None = None,
        profile: bool = False,
        trace: Trace | None = None,
        check: Wanted = "",
        observers: Sequence[Observer] = (),
    ) -> Dispatch:
        """Check a launch against its kernel without running it; options as of :meth:`run`.

        Raises:
            LaunchError: it does not fit the kernel.
            UsageError: an element of ``observers`` is no observer.
        """
        signature = self.signature(launch.kernel)
        nd_range, template = self._geometry(signature, launch)
        self.memory.hold()  # Unmaps freed arrays, whose places new ones may get.
        findings = None
        if check:
            from vsim.checks.findings import watching

            findings = watching(check)
        arguments = bind(signature, launch, nd_range, self.memory, findings is not None and findings.guards)
        _check_local_memory(signature, arguments.slm_size)
        payload = with_values(template, arguments.values)
        watchers, coverage = checked_observers(observers) if observers else (), None
        if profile:
            from vsim.observe.coverage import Coverage

            coverage = not_executed(self.image)
            watchers = (*watchers, Coverage(self.image, coverage))
        return Dispatch(
            *(signature, nd_range, arguments, payload, self.memory, schedule_of(schedule), groups, coverage, trace),
            findings=findings,
            observers=watchers,
        )

    def _geometry(self, signature: KernelSignature, launch: Launch) -> tuple[NdRange, bytes]:
        """The ND-range of a launch and the payload without arguments; most launches have those of an earlier one."""
        local = None if launch.local_size is None else tuple(launch.local_size)
        key = (signature, tuple(launch.global_size), local, tuple(launch.global_offset))
        geometry = self.geometries.get(key)
        if geometry is None:
            nd_range = range_of(signature, launch)
            if len(self.geometries) >= MAXIMUM_GEOMETRIES:
                self.geometries.clear()
            geometry = self.geometries[key] = nd_range, payload_template(signature, nd_range)
        return geometry

    def run(
        self, launch: Launch, *, groups: tuple[int, int] | None = None, **options: Unpack[LaunchOptions]
    ) -> LaunchResult:
        """Run one launch, given as a record; :meth:`launch` makes one out of Python values.

        Args:
            groups: the groups that run, from one number to before another; None for all.
            options: see :class:`vsim.launch.options.LaunchOptions`.

        Raises:
            LaunchError: it does not fit the kernel.
            SimulationError: the kernel did something without a defined result.
            UsageError: there is no such option.
        """
        check_options(options)
        with self.launch_lock:
            dispatch = self.bind(
                launch,
                options.get("schedule"),
                groups,
                options.get("profile", False),
                options.get("trace"),
                options.get("check", ""),
                options.get("observers", ()),
            )
            return self._execute(
                dispatch, options.get("engine", "auto"), options.get("threads"), options.get("max_seconds")
            )

    def execute(
        self, dispatch: Dispatch, engine: str = "auto", threads: int | None = None, max_seconds: float | None = None
    ) -> LaunchResult:
        """Run the result of :meth:`bind`, with options as of :meth:`run`.

        It can run again if it is repeatable (:func:`can_repeat`) and no memory was allocated or freed since.

        Raises:
            SimulationError: the kernel did something without a defined result.
        """
        with self.launch_lock:
            return self._execute(dispatch, engine, threads, max_seconds)

    def _execute(self, dispatch: Dispatch, engine: str, threads: int | None, max_seconds: float | None) -> LaunchResult:
        held = self.memory.hold()  # Keeps the caller's arrays alive.
        started = perf_counter()
        if max_seconds is None and self.engines.repeat(engine, dispatch, threads, held):
            return LaunchResult(dispatch, "llvm", perf_counter() - started)
        if threads is not None or max_seconds is not None:
            check_limits(threads, max_seconds)
        compiled = self.engines.compile_seconds
        if self.memory.limit is not None:
            self.memory.check(_besides_buffers(dispatch))
        if dispatch.arguments.implicit is not None:  # Other launches have the same buffer.
            buffer, contents = dispatch.arguments.implicit
            buffer.data[: len(contents)] = np.frombuffer(contents, np.uint8)
        printf = dispatch.arguments.printf
        try:
            ran, why = self.engines.run(engine, dispatch, threads, max_seconds, held)
        except SimulationError as error:
            if printf is not None:
                end = None if max_seconds is None else max(perf_counter() + PRINTING_SECONDS, started + max_seconds)
                error.printf = self._printed(printf).text_until(end)[0]
            self._check_assertions(dispatch, error.printf)
            if dispatch.findings:
                from vsim.checks.report import diagnostics

                error.diagnostics += diagnostics(dispatch)
            raise
        seconds = perf_counter() - started
        printed = "" if printf is None else self._printed(printf).in_time(dispatch, started, max_seconds)
        self._check_assertions(dispatch, printed)
        return LaunchResult(dispatch, ran, seconds, printed, self.engines.compile_seconds - compiled, why)

    def _check_assertions(self, dispatch: Dispatch, printed: str | PrintfRecords) -> None:
        """Refuse a launch whose assertions failed; its later faults follow from them."""
        if dispatch.arguments.assertions is None:
            return
        from vsim.observe.assertions import failed_assertions

        failed = failed_assertions(dispatch, self.memory)
        if failed is not None:
            failed.printf = printed if isinstance(printed, str) else printed.text()
            raise failed from None

    def _printed(self, buffer: Buffer) -> PrintfRecords:
        from vsim.observe.printf import PrintfRecords

        return PrintfRecords.of(buffer, self.memory)

    def progress(self) -> GroupProgress | None:
        """Progress of the running launch; None if no launch runs, or its engine does not report progress."""
        return self.engines.progress()

    def launch(
        self,
        kernel: str,
        global_size: Size,
        local_size: Size | None = None,
        args: Sequence[object] | Mapping[str, object] = (),
        *,
        global_offset: Size = (0, 0, 0),
        show_printf: bool = True,
        **options: Unpack[LaunchOptions],
    ) -> LaunchResult:
        """Run a kernel over an ND-range.

        Args:
            kernel: its name; empty if the image has one.
            global_size: work-items in one to three dimensions.
            local_size: work-items of a group; None for the size that the kernel requires, else a chosen one.
            args: in the order of the kernel's arguments, or by name. A numpy array is a buffer, or an image where the
                kernel takes one, written in place; Python and numpy scalars, lists for vectors, and arrays of shape ()
                with a structured dtype are passed by value; an int where the kernel takes local memory is its size in
                bytes.
            global_offset: the first global id.
            show_printf: whether the kernel's printed text also goes to standard output.
            options: engine, threads, max_seconds, profile, schedule, trace and check; see
                :class:`vsim.launch.options.LaunchOptions`.

        Raises:
            LaunchError: it does not fit the kernel; nothing ran.
            SimulationError: the kernel did something without a defined result, or took too long.
            UsageError: there is no such option.

        A launch like the last one of its kernel is bound already and begins at once; so does one with other numbers.
        """
        # Tuples and numbers are checked by the launch that is made of them.
        shape = global_size if type(global_size) is tuple else _sizes(global_size, "global size")
        local = local_size if local_size is None or type(local_size) is tuple else _sizes(local_size, "local size")
        offset = global_offset if type(global_offset) is tuple else _sizes(global_offset, "global offset", 0)
        if not isinstance(args, (list, tuple)):
            args = self[kernel].in_order((), args) if isinstance(args, Mapping) else _listed(args)
        whole = (shape, local, offset, options.get("schedule"))
        is_repeatable = options.keys() <= _REPEATABLE
        last = self.last_launches.get(check_text(kernel, "the name of a kernel")) if is_repeatable else None
        again = last and last.again(whole, args, lambda n, value: self._converter(kernel).argument(n, value))
        if again is not None:
            with self.launch_lock:
                result = self._execute(
                    again.dispatch, options.get("engine", "auto"), options.get("threads"), options.get("max_seconds")
                )
            self.last_launches[kernel] = again
            return result
        try:
            result = self.run(Launch(kernel, shape, local, offset, self.convert(kernel, args)), **options)
        except SimulationError as error:
            _show(error.printf, show_printf)
            raise
        if result.printed:
            _show(result.printf, show_printf)
        repeatable = _last_launch(whole, args, result.dispatch) if is_repeatable else None
        if repeatable is not None:
            self.last_launches[kernel] = repeatable
        return result

    def convert(self, kernel: str, args: Sequence[object]) -> list[Argument]:
        """Python values as the arguments of a kernel; see :meth:`launch`.

        Raises:
            LaunchError: the kernel does not take a value; the message names the argument.
        """
        converter = self._converter(kernel)
        return [converter.argument(n, a) for n, a in enumerate(args)]

    def _converter(self, kernel: str) -> ArgumentConverter:
        converter = self.converters.get(kernel)
        if converter is None:
            from vsim.launch.conversion import ArgumentConverter

            converter = self.converters[kernel] = ArgumentConverter(self.signature(kernel))
        return converter

    def usm(self, array: Array) -> int:
        """Give an array an address, as unified shared memory has one; kernels may follow it out of other buffers.

        The address of an element is that of the array plus its offset in bytes. It may be passed as numpy.uint64 where
        a kernel takes a pointer. The array is kept until :meth:`release`. One that is passed to a launch keeps the
        address that it has, or gets one for as long as it lives; it cannot be resized in this time.

        Raises:
            LaunchError: S003, it is no array that kernels can use in place.
        """
        problem, hint = array_problem(array)
        if problem:
            raise LaunchError(Diagnostic("S003", f"what gets an address {problem}", Span("<usm>", 0), hint))
        buffer = self.memory.map(array, "usm", keep=True)
        if buffer.read_only is array.flags.writeable:
            self.memory.protect(buffer, not array.flags.writeable)
        return buffer.address

    def release(self, array: Array) -> None:
        """Forget an array, which otherwise stays mapped as long as it lives; nothing happens if it is not mapped.

        Kernels that follow its address then get an error.

        Raises:
            UsageError: it is no array.
        """
        if not isinstance(array, np.ndarray):
            raise UsageError(f"a numpy array is released, found {type(array).__name__}")
        self.last_launches.clear()
        if self.engines.native is not None:
            self.engines.native.prepared = None
        self.memory.unmap(array)


def _last_launch(whole: tuple[object, ...], args: Sequence[object], dispatch: Dispatch) -> LastLaunch | None:
    """A launch that has run, for another one like it; None if it cannot run again."""
    from vsim.launch.last_launch import LastLaunch

    return LastLaunch.of(whole, args, dispatch)


def _check_local_memory(signature: KernelSignature, given: int) -> None:
    """Refuse a launch whose groups have more local memory than the device; ``given`` are the bytes of arguments.

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
    """Print the text of a kernel to standard output, if wanted."""
    if text and wanted:
        from vsim.observe.printf import show

        show(text)


def _sizes(value: Size, what: str, least: int = 1) -> tuple[int, ...]:
    """Sizes as a tuple."""
    return (value,) if type(value) is int else nd_sizes(value, what, least)


def _listed(args: object) -> tuple[object, ...]:
    """The arguments of a launch, given as another sequence than a list or tuple."""
    if isinstance(args, Sequence) and not isinstance(args, (str, bytes)):
        return tuple(args)
    hint = "put it into a list" if isinstance(args, np.ndarray) else ""
    message = f"'args' is a list of the kernel's arguments, found {type(args).__name__}"
    raise LaunchError(Diagnostic("S003", message, Span("<launch>", 0), hint))


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

    Warnings of the compiler are issued as :class:`visakit.VisaWarning`.

    Raises:
        FileError: the file cannot be read.
        FormatError: it has another format, is damaged, or does not compile.
        LinkError: the texts of a zebin have errors or do not fit together.
        UsageError: the argument has another type; an image is for another platform; only sources have build options.
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
    program = loaded(name, data, platform, check_text(options, "build options"))
    if program.warnings:
        warn(program.warnings)
    return Program(linked(program))
