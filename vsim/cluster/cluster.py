"""Launches over a Dask cluster: the work-groups of a launch, or whole launches that share nothing, on many processes.

Every part runs on a copy of the arguments; the changed bytes come back and are merged. Two parts that change the same
byte, and global atomics, are errors: the groups are not independent. A store of the present value is no change.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Protocol, Unpack

from visakit.diagnostics import Diagnostic, LaunchError, SimulationError, Span, VisaError
from visakit.language.program import Function
from visakit.objects.image import LinkedImage, read_image
from vsim.analysis.atomics import global_atomic
from vsim.analysis.reachability import reachable
from vsim.cluster.changes import Changes, changes_between, first_conflict
from vsim.launch.arrays import Bytes
from vsim.launch.launch import BufferArgument, ImageArgument, Launch
from vsim.launch.options import LaunchOptions
from vsim.memory.memory import as_bytes
from vsim.program import Program
from vsim.result import LaunchResult

if TYPE_CHECKING:
    from distributed import Client

PREFIX = "dask://"
PARTS_FOR_THREAD = 2
"""Parts of a launch for each thread of the cluster, so that uneven parts even out."""
_PROGRAMS: dict[bytes, Program] = {}
"""A worker's programs by digest of their image."""

RESULTS_AT_ONCE = 16
"""Results that are asked for at the same time, as each takes milliseconds to come, however small it is."""
LOOK_SECONDS = 2.0
"""How often one looks whether there are workers."""
CONNECTION_SECONDS = 10.0
"""How long one waits for a scheduler's first answers."""
PATIENCE_SECONDS = 10.0
"""Seconds that a cluster may be without workers: restarted ones need some of them."""
Ranges = Sequence[tuple[int, int] | None]
"""Groups from one number to before another; None for all."""


@dataclass
class PartialResult:
    """The result of some work-groups: changes by argument, then by writable data section, and printed text."""

    changes: list[Changes]
    printf: str
    engine: str
    seconds: float
    compile_seconds: float
    engine_reason: str


class PartFuture(Protocol):
    """A part that runs somewhere."""

    status: str

    def result(self, timeout: float) -> PartialResult:
        """Wait for it; TimeoutError if it takes longer."""


def _memories(program: Program, launch: Launch) -> list[Bytes]:
    """The bytes that a launch may change: those of its arrays, and of the program's own data."""
    arrays = [as_bytes(a.array) for a in launch.args if isinstance(a, (BufferArgument, ImageArgument))]
    own = {s.address for s in program.image.data if s.writable}
    return arrays + [b.data for slot, b in sorted(program.memory.slots.items()) if b.address in own]


def run_part(
    data: bytes, name: str, launch: Launch, own: list[Bytes], groups: tuple[int, int] | None, options: LaunchOptions
) -> PartialResult:
    """Run some groups of a launch in this process. ``own`` are the present contents of the program's writable data."""
    digest = hashlib.sha256(data).digest()
    program = _PROGRAMS.get(digest)
    if program is None:
        program = _PROGRAMS[digest] = Program(read_image(data, name))
    arrays = {id(a.array): a.array for a in launch.args if isinstance(a, (BufferArgument, ImageArgument))}
    own_arrays = {key: array.copy() for key, array in arrays.items()}
    copies = [
        replace(a, array=own_arrays[id(a.array)]) if isinstance(a, (BufferArgument, ImageArgument)) else a
        for a in launch.args
    ]
    names = {n: copies[i] for n, given in launch.names.items() for i, a in enumerate(launch.args) if a is given}
    mine = Launch(launch.kernel, launch.global_size, launch.local_size, launch.global_offset, copies, names)
    memories = _memories(program, mine)
    for memory, contents in zip(memories[len(memories) - len(own) :], own, strict=True):
        memory[:] = contents
    before = [as_bytes(a.array) for a in launch.args if isinstance(a, (BufferArgument, ImageArgument))] + own
    try:
        result = program.run(mine, groups=groups, **options)
        changes = [changes_between(old, new) for old, new in zip(before, memories, strict=True)]
        return PartialResult(
            changes, result.printf, result.engine, result.seconds, result.compile_seconds, result.engine_reason
        )
    finally:
        for a in copies:
            if isinstance(a, BufferArgument):
                program.release(a.array)


def check_independent(image: LinkedImage, kernel: Function) -> None:
    """Refuse kernels whose groups see each other through global atomics.

    Raises:
        LaunchError: S050, with the instruction.
    """
    for function, n, i in reachable(image, kernel):
        if global_atomic(i, image.grf_size):
            what = f"a global atomic, {i.desc.mnemonic} (instruction {n} of '{function.name}')"
            message = f"kernel '{kernel.name}' has {what}: its groups cannot run on several machines"
            raise LaunchError(Diagnostic("S050", message, image.span(function, i.line), "run it without --workers"))


def merge(program: Program, launch: Launch, parts: Sequence[PartialResult]) -> None:
    """Write the changes of the parts into the launch's arrays and the program's data.

    Raises:
        LaunchError: S051, two parts changed the same byte; nothing is written.
        SimulationError: S030, they changed a read-only array; nothing is written.
    """
    memories = _memories(program, launch)
    titles = [
        program.signature(launch.kernel).describe(n)
        for n, a in enumerate(launch.args)
        if isinstance(a, (BufferArgument, ImageArgument))
    ]
    titles += ["the program's data"] * (len(memories) - len(titles))
    for number, title in enumerate(titles):
        changes = [p.changes[number] for p in parts]
        at = first_conflict(memories[number].size, changes)
        if at is not None:
            where = f"byte {at} of {title}, so they are not independent"
            message = f"kernel '{program.signature(launch.kernel).name}': groups on two workers wrote {where}"
            raise LaunchError(Diagnostic("S051", message, Span(program.image.file, 0), "run it without --workers"))
        if any(c.pages.size for c in changes) and not memories[number].flags.writeable:
            message = f"kernel '{program.signature(launch.kernel).name}' writes {title}, an array that is read-only"
            raise SimulationError(Diagnostic("S030", message, Span(program.image.file, 0)))
    for part in parts:
        for memory, found in zip(memories, part.changes, strict=True):
            found.write_to(memory)


def _connected(scheduler: str, address: str) -> tuple[Client, int]:
    """A client of a scheduler, and the threads of its workers.

    Raises:
        LaunchError: S052, Dask is not installed, or no scheduler answers at the address.
    """
    try:
        from distributed import Client
    except ImportError:
        raise LaunchError(Diagnostic("S052", "--workers needs Dask", None, "pip install 'visakit[cluster]'")) from None
    answers: SimpleQueue[tuple[Client, int] | Exception] = SimpleQueue()

    def connect() -> None:
        try:
            client = Client(scheduler, timeout=CONNECTION_SECONDS, set_as_default=False)
            answers.put((client, sum(client.nthreads().values())))
        except Exception as error:  # Dask's own have no common base.
            answers.put(error)

    # An address without a scheduler makes Dask retry for longer than its timeout, and log the attempts.
    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    threading.Thread(target=connect, daemon=True).start()
    try:
        answer = answers.get(timeout=CONNECTION_SECONDS)
    except Empty:
        answer = TimeoutError(f"no answer within {CONNECTION_SECONDS:g} seconds")
    if isinstance(answer, Exception):
        known = isinstance(answer, (OSError, ValueError)) and str(answer)
        reason = known or f"something else answers, in which Dask finds a {type(answer).__name__}"
        raise LaunchError(Diagnostic("S052", f"there is no Dask scheduler at '{address}': {reason}"))
    log.setLevel(level)
    return answer


class Cluster:
    """A program on the workers of a Dask cluster.

    Args:
        address: ``dask://HOST:PORT`` of the scheduler.
        options: those of :meth:`Program.run` for every part.

    Raises:
        LaunchError: S052, Dask is not installed or the scheduler cannot be reached.
    """

    def __init__(self, program: Program, data: bytes, address: str, **options: Unpack[LaunchOptions]) -> None:
        self.program, self.data, self.options = program, data, options
        if options.get("threads") is None:
            options["threads"] = 1
        if not address.startswith(PREFIX):
            raise LaunchError(
                Diagnostic("S052", f"'{address}' is not a cluster", None, f"--workers takes {PREFIX}HOST:PORT")
            )
        scheduler = f"tcp://{address.removeprefix(PREFIX)}"
        self.client, self.threads = _connected(scheduler, address)
        if not self.threads:
            message = f"the Dask scheduler at '{address}' has no workers"
            raise LaunchError(Diagnostic("S052", message, None, f"start some: dask worker {scheduler}"))

    def close(self) -> None:
        """Leave the cluster; its workers go on."""
        log = logging.getLogger("distributed.client")
        level = log.level
        if self.client.status != "running":
            log.setLevel(logging.CRITICAL)  # The client looks for its scheduler still, and would say that it stops.
        try:
            self.client.close()
        finally:
            log.setLevel(level)

    def _submit(self, launch: Launch, ranges: Ranges) -> list[PartFuture]:
        memories = _memories(self.program, launch)
        arrays = sum(1 for a in launch.args if isinstance(a, (BufferArgument, ImageArgument)))
        own = [m.copy() for m in memories[arrays:]]
        shared = self.client.scatter([self.data, launch, own], broadcast=len(ranges) > 1, hash=False)
        return [
            self.client.submit(
                run_part, shared[0], self.program.image.file, shared[1], shared[2], r, self.options, pure=False
            )
            for r in ranges
        ]

    def _parts(self, kernels: str, work: Sequence[tuple[Launch, Ranges]]) -> list[PartialResult]:
        """Run ranges of groups of launches, and wait for all of them.

        Raises:
            LaunchError: S053, parts were lost with workers or the scheduler.
        """
        futures: list[PartFuture] = []
        wanted = sum(len(ranges) for _, ranges in work)
        parts: list[PartialResult] = []
        waiting = ThreadPoolExecutor(min(wanted, RESULTS_AT_ONCE))
        try:
            for launch, ranges in work:
                futures += self._submit(launch, ranges)
            # In order, so that of several errors the first is reported, as on a single machine.
            parts.extend(waiting.map(self._wait, futures))
            return parts
        except VisaError:
            raise
        except Exception as error:  # Dask's own have no common base, and those of its connections are many.
            done = sum(future.status == "finished" for future in futures)
            message = f"kernel '{kernels}': {wanted - done} of {wanted} parts were lost, {self._left()}"
            hint = f"nothing was written; Dask says {type(error).__name__}"
            raise LaunchError(Diagnostic("S053", message, Span(self.program.image.file, 0), hint)) from None
        finally:
            self._cancel(futures)
            waiting.shutdown(wait=False, cancel_futures=True)

    def _wait(self, future: PartFuture) -> PartialResult:
        """Wait for a part as long as there are workers."""
        missing_since: float | None = None
        while True:
            try:
                return future.result(timeout=LOOK_SECONDS)
            except TimeoutError:
                if future.status != "pending":
                    continue
                if self.client.nthreads():
                    missing_since = None
                    continue
                missing_since = missing_since or time.monotonic()
                if time.monotonic() - missing_since > PATIENCE_SECONDS:
                    raise ConnectionError("no worker is left") from None

    def _left(self) -> str:
        """The number of remaining workers, in words."""
        try:
            count = len(self.client.nthreads()) if self.client.status == "running" else None
        except Exception:
            count = None
        if count is None:
            return "as the scheduler of the cluster cannot be reached any more"
        return f"as workers of the cluster ended: {count or 'none'} {'is' if count < 2 else 'are'} left"

    def _cancel(self, futures: Sequence[PartFuture]) -> None:
        """Cancel the unfinished parts."""
        left = [future for future in futures if future.status == "pending"]
        if left:
            with contextlib.suppress(Exception):  # The scheduler may have ended.
                self.client.cancel(left)

    def run(self, launch: Launch) -> LaunchResult:
        """Run one launch, its groups spread over the workers.

        Raises:
            LaunchError: it does not fit the kernel, or its groups are not independent.
            LaunchError: S053, parts were lost with workers or the scheduler.
            SimulationError: a part did something without a defined result.
        """
        started = time.perf_counter()
        dispatch = self.program.bind(launch)
        check_independent(self.program.image, dispatch.kernel)
        groups = dispatch.group_count
        count = min(groups, self.threads * PARTS_FOR_THREAD)
        ends = [groups * k // count for k in range(count + 1)]
        parts = self._parts(dispatch.kernel.name, [(launch, list(itertools.pairwise(ends)))])
        merge(self.program, launch, parts)
        seconds = time.perf_counter() - started
        printed, compiled = "".join(p.printf for p in parts), max(p.compile_seconds for p in parts)
        return LaunchResult(dispatch, parts[0].engine, seconds, printed, compiled, parts[0].engine_reason)

    def run_all(self, launches: Sequence[Launch]) -> list[LaunchResult]:
        """Run launches that share nothing, each as a whole on some worker; errors as of :meth:`run`."""
        dispatches = [self.program.bind(launch) for launch in launches]
        names = ", ".join(dict.fromkeys(d.kernel.name for d in dispatches))
        parts = self._parts(names, [(launch, [None]) for launch in launches])
        for launch, part in zip(launches, parts, strict=True):
            merge(self.program, launch, [part])
        return [
            LaunchResult(d, p.engine, p.seconds, p.printf, p.compile_seconds, p.engine_reason)
            for d, p in zip(dispatches, parts, strict=True)
        ]

    def can_run_side_by_side(self, launches: Sequence[Launch]) -> bool:
        """Whether launches share nothing: no array belongs to two of them, and the program has no data to change."""
        arrays = [
            id(a.array) for launch in launches for a in launch.args if isinstance(a, (BufferArgument, ImageArgument))
        ]
        return len(arrays) == len(set(arrays)) and not any(s.writable for s in self.program.image.data)
