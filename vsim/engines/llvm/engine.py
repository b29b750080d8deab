"""Runs launches on compiled code."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from visakit.objects.image import LinkedImage
from vsim.checks.names import RACE
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.surfaces import made_for
from vsim.engines.llvm.host.tables import (
    SlotTable,
    WorkerMemory,
    arena_bytes,
    fill_surfaces,
    local_id_table,
    worker_memory,
)
from vsim.engines.llvm.host.workers import POOL, Run
from vsim.engines.llvm.kernels import CompiledKernel, KernelCache
from vsim.engines.llvm.plan import (
    Geometry,
    LaunchPlan,
    geometry,
    groups_together,
    launch_plan,
    of_small_groups,
    row_of,
    transposed_row_of,
    work,
)
from vsim.launch import threads
from vsim.launch.arrays import Array, Bytes, address_of
from vsim.launch.dispatch import Dispatch, GroupProgress
from vsim.launch.ndrange import Group

if TYPE_CHECKING:
    from vsim.engines.llvm.improvement import Improvement
    from vsim.engines.llvm.observers.launch import CompiledObserver
    from vsim.engines.llvm.observers.race_runs import SavedMemory
    from vsim.observe.observer import Observer

MAXIMUM_PLANS = 64
_NOBODY: Sequence[Observer] = ()
RunMeanwhile = Callable[[Dispatch, float | None, Callable[[], bool]], bool]
"""Runs a launch in a time limit until it is told to stop; whether it came to its end."""


class PreparedLaunch(NamedTuple):
    """A launch that ran well and can run again: its arguments are still in place in its plan."""

    dispatch: Dispatch
    thread_count: int | None
    changes: int
    """Of the address space when it was prepared."""
    plan: LaunchPlan
    exact: bool
    has_private_memory: bool
    """Its private memory begins with zeros each time."""
    is_plain: bool = False
    """Whether the launch ran, and nothing but the kernel happens when it runs again."""


class Engine:
    """Runs launches of one program, and keeps their compiled code and plans."""

    def __init__(self, image: LinkedImage) -> None:
        self.kernels = KernelCache(image)
        self.plans: dict[Hashable, LaunchPlan] = {}
        self.slots = SlotTable()
        self.local_ids: dict[Hashable, Bytes] = {}
        self.workers: dict[Hashable, list[WorkerMemory]] = {}
        self.prepared: PreparedLaunch | None = None
        self.saved: SavedMemory | None = None
        """What memory held before launches that the race check watches."""
        self.unfinished: Run[tuple[Dispatch, LaunchPlan, Sequence[Array]]] | None = None
        """A run that workers may still be at if it was interrupted more than once."""

    def run(
        self,
        dispatch: Dispatch,
        thread_count: int | None = None,
        max_seconds: float | None = None,
        held: Sequence[Array] = (),
        meanwhile: RunMeanwhile | None = None,
    ) -> None:
        """Run a launch to its end.

        Args:
            thread_count: workers; by default one for each CPU that the process may use.
            held: memory that must stay as long as native code runs.
            meanwhile: runs the launch where its native code is long in the making.

        Raises:
            Unsupported: only the reference engine can run this kernel.
            Overtaken: ``meanwhile`` has run it.
            SimulationError: the program did something without a defined result, or took too long.
        """
        if dispatch.observers:
            from vsim.engines.llvm.observers.launch import refuse_events

            refuse_events(dispatch.observers)
        if RACE not in dispatch.checks:
            self._run(dispatch, thread_count, max_seconds, held, meanwhile)
            return
        from vsim.engines.llvm.observers import race_runs

        self.saved = self.saved or race_runs.SavedMemory()
        race_runs.run(
            dispatch, lambda d, besides: self._run(d, thread_count, max_seconds, held, meanwhile, besides), self.saved
        )

    def _run(
        self,
        dispatch: Dispatch,
        thread_count: int | None,
        max_seconds: float | None,
        held: Sequence[Array],
        meanwhile: RunMeanwhile | None,
        besides: CompiledObserver | None = None,
    ) -> None:
        """One run of :meth:`run`, with an observer besides the launch's own."""
        if self.unfinished is not None:
            self._settle()
        prepared = self._prepared_already(dispatch, thread_count) or self._prepare(
            dispatch, thread_count, max_seconds, meanwhile
        )
        plan, observers = prepared.plan, _NOBODY
        plan.context[cx.NEXT_GROUP // 8] = dispatch.part[0] if dispatch.part else 0
        if dispatch.is_observed or plan.kernel.native.guard is not None:
            from vsim.engines.llvm.observers.launch import observe

            observers = observe(dispatch, plan, self.slots.words, besides)
        if plan.kernel.only_counts:
            self._run_unobserved(dispatch, thread_count, max_seconds, held, observers)
        if plan.kernel.improvement is None or plan.slice:
            in_time = self._run_groups(dispatch, plan, max_seconds, held)
        else:
            is_over, in_time = self._run_quick_code(dispatch, plan, plan.kernel.improvement, max_seconds, held)
            if not is_over:
                self._run(dispatch, thread_count, max_seconds, held, meanwhile, besides)
                return
        error = _error(dispatch, plan, None if in_time else max_seconds)
        for observer in observers:
            observer.launch_end(error)
        if error is not None:
            raise error
        self.prepared = prepared._replace(is_plain=_is_plain(dispatch, plan.kernel))

    def repeat(self, dispatch: Dispatch, thread_count: int | None, held: Sequence[Array]) -> bool:
        """Run the last launch again, perhaps with other numbers; False if it was another one, or more than a kernel.

        The same as :meth:`run`, in as little code as possible: caches have lost this code since the last launch, so a
        line takes ten times as long as in a loop, and short launches are little else (page 140).

        Raises:
            SimulationError: the program did something without a defined result.
        """
        prepared = self.prepared
        if prepared is None or not prepared.is_plain or prepared.thread_count is not thread_count:
            return False
        if dispatch.memory.limit is not None or self.unfinished is not None:
            return False
        prepared = self._prepared_already(dispatch, thread_count)
        if prepared is None:
            return False
        plan = prepared.plan
        plan.words[cx.NEXT_GROUP // 8] = dispatch.part[0] if dispatch.part else 0
        self._run_groups(dispatch, plan, None, held)
        if plan.words[cx.FAULT // 8]:
            error = _error(dispatch, plan, None)
            assert error is not None
            raise error
        self.prepared = prepared
        return True

    def _run_groups(
        self, dispatch: Dispatch, plan: LaunchPlan, max_seconds: float | None, held: Sequence[Array]
    ) -> bool:
        """Run the groups of a plan whose arguments are in place; False if time was up."""
        if plan.slice:
            return _run_here(plan, max_seconds)
        return self._run_on_workers(Run(plan.jobs, plan.stop, (dispatch, plan, held)), max_seconds)

    def _run_unobserved(
        self,
        dispatch: Dispatch,
        thread_count: int | None,
        max_seconds: float | None,
        held: Sequence[Array],
        observers: Sequence[Observer],
    ) -> None:
        """Run a launch whose code for its observers does nothing but count."""
        try:
            self._run(replace(dispatch, observers=(), coverage=None), thread_count, max_seconds, held, None)
        except Exception as error:
            for observer in observers:
                observer.launch_end(error)
            raise

    def _settle(self) -> None:
        """Wait for the end of a run that was interrupted."""
        assert self.unfinished is not None
        self.unfinished.settle()
        self.unfinished = None
        for workers in self.workers.values():
            forget_places(workers)

    def _run_on_workers(
        self, run: Run[tuple[Dispatch, LaunchPlan, Sequence[Array]]], max_seconds: float | None
    ) -> bool:
        """Run the groups of a launch on threads of the pool; False if time was up."""
        self.unfinished = run
        in_time = POOL.run(run, max_seconds)
        self.unfinished = None
        return in_time

    def _run_quick_code(
        self,
        dispatch: Dispatch,
        plan: LaunchPlan,
        improvement: Improvement,
        max_seconds: float | None,
        held: Sequence[Array],
    ) -> tuple[bool, bool]:
        """Run a launch until good code is ready; whether it came to its end, and whether that was in time.

        If it did not, memory is as it was.
        """
        from vsim.engines.restart import snapshot_of

        look = improvement.launch(dispatch)
        if dispatch.image.runs_once:  # The program may write memory meanwhile, so the launch never begins anew.
            run = Run(plan.jobs, plan.stop, (dispatch, plan, held), lambda: look() and False)
            return True, self._run_on_workers(run, max_seconds)
        snapshot = snapshot_of(dispatch)
        if snapshot is None:
            improvement.packed(dispatch)
            return False, True
        run = Run(plan.jobs, plan.stop, (dispatch, plan, held), look)
        in_time = self._run_on_workers(run, max_seconds)
        if not run.was_overtaken or not in_time or plan.context[cx.FAULT // 8]:
            return True, in_time
        forget_places(plan.workers)
        snapshot.restore()
        return False, True

    def progress(self) -> GroupProgress | None:
        """How many groups of the launch that runs now have begun; None if workers run none."""
        run = self.unfinished
        if run is None:
            return None
        dispatch, plan = run.keep[:2]
        first, end = dispatch.part or (0, dispatch.group_count)
        return GroupProgress(min(int(plan.context[cx.NEXT_GROUP // 8]), end) - first, end - first)

    def _prepared_already(self, dispatch: Dispatch, thread_count: int | None) -> PreparedLaunch | None:
        """The launch, if the arguments of the last one are in place and are its own, but perhaps for numbers."""
        prepared, self.prepared = self.prepared, None
        if (
            prepared is None
            or (prepared.dispatch is not dispatch and not dispatch.differs_in_numbers(prepared.dispatch))
            or prepared.thread_count != thread_count
            or prepared.changes != dispatch.memory.changes
            or prepared.exact != dispatch.exact
            or prepared.plan.kernel.improvement is not None
        ):
            return None
        private_address = dispatch.private_memory(prepared.plan.thread_slots) if prepared.has_private_memory else 0
        if prepared.dispatch is dispatch:
            return prepared
        _write_payloads(prepared.plan, dispatch, private_address)
        return prepared._replace(dispatch=dispatch)

    def _prepare(
        self,
        dispatch: Dispatch,
        thread_count: int | None,
        max_seconds: float | None,
        meanwhile: RunMeanwhile | None,
    ) -> PreparedLaunch:
        """Put the arguments of a launch in place.

        Raises:
            Unsupported: only the reference engine can run this kernel.
        """
        plan = self._plan(dispatch, thread_count, max_seconds, meanwhile)
        private_address = dispatch.private_memory(plan.thread_slots)
        fill_surfaces(plan.surfaces, dispatch)
        _write_payloads(plan, dispatch, private_address)
        self.slots.update(dispatch.memory)
        context = plan.context
        context[:] = plan.initial
        context[cx.SLOT_TABLE // 8], context[cx.SLOT_COUNT // 8] = self.slots.address, self.slots.last
        context[cx.PRIVATE // 8] = private_address
        if dispatch.part:
            context[cx.GROUP_COUNT // 8] = dispatch.part[1]
        changes, has_private_memory = dispatch.memory.changes, bool(private_address)
        return PreparedLaunch(dispatch, thread_count, changes, plan, dispatch.exact, has_private_memory)

    def _plan(
        self,
        dispatch: Dispatch,
        thread_count: int | None,
        max_seconds: float | None,
        meanwhile: RunMeanwhile | None,
    ) -> LaunchPlan:
        """Everything of a launch that its arguments do not change.

        Raises:
            Unsupported: only the reference engine can run this kernel.
        """
        sizes = (dispatch.global_size, dispatch.local_size, dispatch.offset, dispatch.slm_size)
        options = (thread_count, dispatch.schedule, dispatch.observed, dispatch.exact, dispatch.part is None)
        options = (*options, dispatch.needs_order)
        key = (dispatch.kernel.name, sizes, options, made_for(dispatch))
        found = self.plans.get(key)
        if found is None or found.kernel.improvement is not None:
            if len(self.plans) >= MAXIMUM_PLANS:  # with the memory that only they use
                self.plans.clear()
                self.workers.clear()
                self.local_ids.clear()
            other = None if meanwhile is None else partial(meanwhile, dispatch, max_seconds)
            dispatch = of_small_groups(dispatch)
            shape = geometry(dispatch)
            kernel = self.kernels.kernel(
                dispatch, shape.full, row_of(dispatch), transposed_row_of(dispatch, shape), max_seconds, other
            )
            if kernel.width:
                dispatch = replace(dispatch, width=kernel.width)
                shape = geometry(dispatch)
            wanted = work(dispatch, shape, thread_count)
            together = groups_together(dispatch, shape)
            workers = self._workers(dispatch, shape, wanted.workers, together)
            found = launch_plan(
                dispatch,
                shape,
                kernel,
                workers,
                wanted,
                lambda group: self._local_ids(dispatch, group, kernel.transposed),
            )
            self.plans[key] = found
        return found

    def has_code(self, dispatch: Dispatch) -> bool:
        """Whether a launch needs no code to be made."""
        dispatch = of_small_groups(dispatch)
        shape = geometry(dispatch)
        return self.kernels.has_code(dispatch, shape.full, row_of(dispatch), transposed_row_of(dispatch, shape))

    def _local_ids(self, dispatch: Dispatch, group: Group, transposed: bool) -> Bytes:
        """The table of local ids for the shape of a group."""
        key = (group.size, dispatch.simd, threads.id_row_bytes(dispatch), transposed)
        found = self.local_ids.get(key)
        if found is None:
            found = self.local_ids[key] = local_id_table(dispatch, group, transposed)
        return found

    def _workers(self, dispatch: Dispatch, shape: Geometry, count: int, together: int) -> list[WorkerMemory]:
        """The memory of so many workers, or of so many groups that one worker runs together; launches with the same
        needs share it.
        """
        per_group = shape.threads_per_group
        key = (
            *(dispatch.slm_size, dispatch.scratch_size, per_group, together, dispatch.watches_undefined),
            *(dispatch.takes_turns, arena_bytes(dispatch, per_group) if dispatch.has_barrier else 0),
        )
        found = self.workers.setdefault(key, [])
        while len(found) < max(count, together):
            arena = found[0].arena if found and together > 1 else None
            found.append(worker_memory(dispatch, per_group, len(found) * per_group, arena))
            if len(found) > 1 and together > 1:
                found[-2].block[cx.WORKER_NEXT // 8] = address_of(found[-1].block)
        return found[: max(count, together)]


def _write_payloads(plan: LaunchPlan, dispatch: Dispatch, private_address: int) -> None:
    """Give the groups of a plan the payloads of a launch."""
    for group, payload in plan.payloads:
        data = dispatch.payload_of(group.size, private_address)
        payload.data[: len(data)] = data


def forget_places(workers: Iterable[WorkerMemory]) -> None:
    """Forget where the threads of workers were when a run was stopped."""
    for worker in workers:
        worker.block[cx.WORKER_STOPPED // 8] = 0


def _is_plain(dispatch: Dispatch, kernel: CompiledKernel) -> bool:
    """Whether nothing but a kernel runs in its launch: no check, no observer, no buffer for messages."""
    arguments = dispatch.arguments
    besides = (arguments.printf, arguments.assertions, arguments.implicit, dispatch.findings, kernel.improvement)
    is_watched = bool(dispatch.observers) or kernel.only_counts or kernel.native.guard is not None
    return not is_watched and all(part is None for part in besides)


def _error(dispatch: Dispatch, plan: LaunchPlan, max_seconds: float | None) -> Exception | None:
    """What has ended a run before its end.

    Args:
        max_seconds: its time, if that was up.
    """
    if plan.context[cx.FAULT // 8]:
        from vsim.engines.llvm.host.report import fault  # which most launches do without

        kernel = plan.kernel
        return fault(dispatch, kernel.functions, plan.context, kernel.transposed, kernel.width)
    if max_seconds is None:
        return None
    from vsim.engines.llvm.host.report import positions

    places = positions(dispatch, plan.kernel.functions, [w.block for w in plan.workers], plan.kernel.width)
    forget_places(plan.workers)
    return dispatch.timeout(max_seconds, places)


def _run_here(plan: LaunchPlan, max_seconds: float | None) -> bool:
    """Run the groups of one worker in the caller's thread, which need not wake another; False if time was up."""
    words, run = plan.words, plan.kernel.native.run
    first, end = words[cx.NEXT_GROUP // 8], words[cx.GROUP_COUNT // 8]
    started = 0.0 if max_seconds is None else perf_counter()
    for start in range(first, end, plan.slice):
        if max_seconds is not None and perf_counter() - started > max_seconds:
            return False
        words[cx.NEXT_GROUP // 8], words[cx.GROUP_COUNT // 8] = start, min(start + plan.slice, end)
        run(*plan.places)
        if words[cx.FAULT // 8]:
            break
    return True
