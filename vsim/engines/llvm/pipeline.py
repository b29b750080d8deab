"""The compiler, pass by pass: from a kernel to native code. This is the page to read first.

* **analyse** (:mod:`vsim.analysis`, ``lower/state.py``): blocks, uniform predicates,
  reconvergence points, converged blocks.
* **unroll** (:mod:`vsim.analysis.arrays.constant_indices`): short loops over private arrays become straight code, and
  the arrays registers.
* **transpose**: kernels whose lanes may run any work-item of their group are lowered along x and along y.
* **fewer lanes**: threads of one row of a group, of lanes that go over separate rows, or of one lane that strays.
* **dry run** (``lower/dry_run.py``): a first emission tells which registers blocks read and write; from that follow
  liveness, the sizes of stack slots, and values that serve in dominated blocks.
* **lower** (``lower/``, ``memory/``, ``ir/``): every instruction's semantics emit IR, with value numbering, invariants
  in preheaders, affine lanes and bounds checks.
* **unroll and jam** (``passes/unroll_and_jam.py``): loops with long recurrences run for several threads at once.
* **coarsen** (``passes/coarsen.py``): several threads of kernels with barriers run from one barrier to the next.
* **sink** (``passes/cold_ways.py``): innermost loops do not compute what only failing bounds checks need, nor
  invariants.
* **prefetch** (``passes/index_prefetch.py``, ``passes/group_prefetch.py``): innermost loops prefetch rows of indices,
  and threads the places of later groups.
* **strip-mine** (``passes/strip_mine.py``): long straight code of integers whose live values exceed the registers
  runs for some lanes at a time.
* **interleave** (``passes/interleave.py``): chains of long straight code run side by side.
* **sanitize** (``passes/sanitize.py``): with ``VISAKIT_GUARD`` set, and only then, every access is checked once more.
* **anchor** (``passes/anchor.py``): vectors stay where they are computed if LLVM, which moves them towards their uses,
  would keep more alive.
* **optimise** (``host/native.py``): LLVM's promotion of stack slots, combining of instructions, simplification of
  control flow, elimination of dead stores, splitting of coroutines, of which values that live across barriers
  share slots (``host/kept_values.py``).
* **work around** (``host/workarounds.py``, ``host/dword_masks.py``): what LLVM's code generator gets wrong, or does
  badly, is written otherwise.
* **emit** (``host/native.py``): LLVM's code generator makes an object.
* **link** (``host/native.py``): the object, with the driver and helper functions, which are compiled separately.

Quick code does without the passes from **sink** to **interleave**, and without anchors.

IR is text; passes read it as records of lines and blocks (``passes/lines.py``, ``passes/blocks.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from visakit.collector import paused_collection
from visakit.language.operands import SCALAR, General
from visakit.language.program import LEAST_LANES, Function
from vsim.analysis.lanes.independence import is_independent
from vsim.analysis.lanes.order import order_may_count
from vsim.analysis.loaded_values import memory_decides_lanes
from vsim.analysis.named_registers import variables
from vsim.analysis.narrowing import may_split
from vsim.analysis.reachability import reachable
from vsim.analysis.waiting import touches_memory
from vsim.checks.names import GUARD, RACE
from vsim.engines.llvm import Unsupported
from vsim.engines.llvm.host import native
from vsim.engines.llvm.host.race import FINE, LARGEST_UNIT, RECORDING
from vsim.engines.llvm.host.surfaces import apart
from vsim.engines.llvm.host.workers import LARGEST_FRAME, frame_bytes
from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.lower.function import lower
from vsim.engines.llvm.lower.module import ModuleState
from vsim.engines.llvm.passes import sanitize
from vsim.engines.llvm.passes.ahead import PREFETCH
from vsim.engines.llvm.passes.anchor import anchor
from vsim.engines.llvm.passes.coarsen import coarsen
from vsim.engines.llvm.passes.cold_ways import sink_into_cold_ways
from vsim.engines.llvm.passes.group_prefetch import prefetch_groups
from vsim.engines.llvm.passes.index_prefetch import prefetch_indices
from vsim.engines.llvm.passes.interleave import interleave
from vsim.engines.llvm.passes.loops import with_changed_loops
from vsim.engines.llvm.passes.strip_mine import strip_mine
from vsim.engines.llvm.passes.unroll_and_jam import unroll_and_jam
from vsim.engines.llvm.support import clocks, cooperative, driver, findings, messages, race, values, within_arguments
from vsim.engines.llvm.target import is_sanitized, vector_bits
from vsim.launch.dispatch import Dispatch
from vsim.launch.threads import id_row_bytes, private_variables, threads_in_flight, threads_together
from vsim.semantics.registers import layout_of

LEAST_SCATTERED = 2
"""Accesses with scattered lanes from which on lanes along y are tried."""
LEAST_GAIN = 2
"""How many times fewer places lanes must go to along y, so that they go there."""
MAXIMUM_YIELDS = 2000
"""Most accesses to memory under round-robin scheduling."""


@dataclass(frozen=True)
class Translation:
    """IR of a kernel with everything that it can call, its functions by number, and the modules of support that it
    needs.
    """

    text: str
    functions: list[Function]
    support: list[str]
    transposed: bool
    """Whether local ids count up along y from lane to lane."""
    width: int
    """Work-items of a thread, if fewer than the launch wanted; else 0."""
    only_counts: bool
    """Whether the code counts what executes and does nothing else."""
    is_quick: bool = False
    """Whether the text is for quick code."""


@paused_collection()
def translate(
    dispatch: Dispatch,
    full: bool,
    row: int = 0,
    transposed_row: int = 0,
    is_quick: Callable[[str], bool] = lambda text: False,
) -> Translation:
    """Analyse, discover and lower a kernel and all functions that it can call.

    Lanes go along x first. If their accesses are scattered there, and adjacent along y, they go along y. Counts are
    those of lanes along x, so in a counted launch the code for such a kernel does nothing but count, along x, and a
    plain launch has the effects.

    Args:
        full: every thread has all its lanes.
        row: lanes in a row of local ids that is known to count up; 0 if it is not known.
        transposed_row: the same if lanes went along y; 0 if they must not.
        is_quick: whether a module is to have quick code, which passes over its text do not pay for.

    Raises:
        Unsupported: the kernel needs something that only the reference engine does.
    """
    found = _best(dispatch, full, row, transposed_row)
    if is_quick(found.text):
        return replace(found, is_quick=True)
    prefetches = (prefetch_groups,) if found.transposed or dispatch.goes_by_tiles else ()
    text = with_changed_loops(found.text, sink_into_cold_ways, prefetch_indices, *prefetches)
    return replace(found, text=interleave(strip_mine(text, vector_bits()), vector_bits()))


def _best(dispatch: Dispatch, full: bool, row: int, transposed_row: int) -> Translation:
    """The translation with lanes along x or y, or for threads of fewer lanes; see :func:`translate`."""
    unit = LARGEST_UNIT
    while True:
        state = ModuleState(dispatch, full, row, race_unit=unit)
        found = _translated(state)
        if FINE not in dispatch.checks or state.smallest_change >= unit:
            break
        unit = state.smallest_change
    if transposed_row and state.place_count >= LEAST_SCATTERED * dispatch.simd and _may_transpose(state):
        transposed = ModuleState(dispatch, full, transposed_row, transposed=True)
        other = _translated(transposed)
        if LEAST_GAIN * transposed.place_count <= state.place_count:
            counts = dispatch.tells_lanes
            return _translated(ModuleState(dispatch, full, row, only_counts=True)) if counts else other
    if fewer := _with_fewer_lanes(state):
        return fewer
    if state.strays and not dispatch.has_fixed_order and not any(dispatch.observed):
        return _translated(ModuleState(dispatch, full, row, knows_straying=True))
    return found


def _with_fewer_lanes(state: ModuleState) -> Translation | None:
    """The code for threads of fewer lanes, if it is better: of one row of the group, where branches are the thread's
    then, and all lanes' together; of so few lanes that the rows which they go over stay in the processor's cache; or
    of one lane, where lanes go over memory each by itself.
    """
    dispatch = state.dispatch
    if state.walks or state.strays:
        width = state.walks or 1
    else:
        width = state.row if state.parts_lanes and state.row >= LEAST_LANES else dispatch.simd
    if width >= dispatch.simd or dispatch.simd % width:
        return None
    if dispatch.has_fixed_order or any(dispatch.observed):
        return None
    if not may_split(dispatch.kernel) or not _are_independent(state):
        return None
    full = state.full or width == 1
    other = ModuleState(replace(dispatch, width=width), full, min(state.row, width), independent=True)
    found = _translated(other)
    return found if state.walks or state.strays or (other.parts_threads and not state.parts_threads) else None


def _may_transpose(state: ModuleState) -> bool:
    """Whether counts do not depend on where in its group a work-item runs, and nothing else does."""
    dispatch = state.dispatch
    if dispatch.tells_lanes and memory_decides_lanes(dispatch.kernel, dispatch.grf_size, dispatch.lanes):
        return False  # What counts apart from the launch may find other values there.
    return _are_independent(state)


def _are_independent(state: ModuleState) -> bool:
    """Whether nothing but speed depends on where in its group a work-item runs."""
    dispatch = state.dispatch
    if dispatch.slm_size or _names_private_memory(dispatch) or dispatch.scratch_size or dispatch.takes_turns:
        return False
    layout = layout_of(dispatch.kernel, dispatch.grf_size)
    if dispatch.lanes_may_wait and order_may_count(dispatch.kernel, layout, apart(dispatch), state.own_places):
        return False
    row, first = id_row_bytes(dispatch), dispatch.local_ids_at
    ids = range(first, first + dispatch.local_id_rows * row)
    return is_independent(dispatch.kernel, dispatch.grf_size, dispatch.simd, ids, row)


def _names_private_memory(dispatch: Dispatch) -> bool:
    """Whether the kernel's text has the address of private memory: compilers ask for it in vain if they find registers
    for all arrays.
    """
    layout = layout_of(dispatch.kernel, dispatch.grf_size)
    own = variables(layout, *(General(variable, 0, 0, SCALAR) for variable in private_variables(dispatch)))
    return any(not own.isdisjoint(variables(layout, *i.args.values())) for i in dispatch.kernel.instructions if own)


def _translated(state: ModuleState) -> Translation:
    """Lower a kernel and all functions that it can call."""
    dispatch = state.dispatch
    if dispatch.is_round_robin:
        _check_yields(dispatch)
    state.number(state.kernel)
    texts: list[str] = []
    for function in state.functions:  # which grows meanwhile
        if frame_bytes(function) > LARGEST_FRAME:
            raise Unsupported(f"the variables of '{function.name}' do not fit on a stack")
        texts.append(lower(state, function))
    state.declarations |= {"record_fault": driver.RECORD_FAULT, "llvm.prefetch.p0": PREFETCH}
    ordered = dispatch.schedule is not None
    if state.takes_turns:
        state.declarations |= {"coroutines": driver.coroutine_declarations(), **cooperative.KERNEL_DECLARATIONS}
        around = cooperative.driver(ordered, dispatch.is_round_robin, bool(dispatch.checks), dispatch.watches_undefined)
    else:
        if dispatch.has_barrier:
            state.declarations["coroutines"] = driver.coroutine_declarations()
    support = [*state.helpers.values()]
    if dispatch.checks:
        state.declarations |= {"record_finding": findings.RECORD_FINDING, "meet": findings.MEET}
        support.append(findings.recorder())
    if GUARD in dispatch.checks:
        support.append(within_arguments.helper())
    if dispatch.tells_messages or dispatch.tells_clocks:
        support.append(values.helpers())
    if dispatch.tells_messages:
        support.append(messages.helpers())
    if dispatch.tells_clocks:
        support.append(clocks.helpers())
    if dispatch.checks & {RACE, RECORDING}:
        support.append(race.helpers(RECORDING in dispatch.checks))
    text, threads_per_coroutine = _with_concurrent_threads(
        module(texts, state.declarations, state.takes_zeros), dispatch, state.parts_threads
    )
    if state.takes_zeros:
        support.append(driver.entry_with_zeros())
    if not state.takes_turns:
        watched = bool(dispatch.checks), dispatch.watches_undefined
        around = driver.driver(dispatch.has_barrier, ordered, *watched, threads_per_coroutine, state.transposed)
    functions = [dispatch.kernel, *state.functions[1:]]
    width = dispatch.width if state.independent else 0
    return Translation(text, functions, [around, *support], state.transposed, width, state.only_counts)


def _with_concurrent_threads(text: str, dispatch: Dispatch, parts: bool) -> tuple[str, int]:
    """A kernel's module, in which several threads of a group may run at once where they need not run one after the
    other; and how many do between barriers.

    Args:
        parts: see :attr:`ModuleState.parts_threads`; such loops end with a branch alone, and soon part two threads. So
            do those of threads of one lane.
    """
    if dispatch.has_fixed_order or dispatch.takes_turns or dispatch.has_private_memory or dispatch.scratch_size:
        return text, 1
    instructions = len(dispatch.kernel.instructions)
    if dispatch.has_barrier:
        return coarsen(text, threads_together(dispatch), 32 * dispatch.lanes // vector_bits(), instructions)
    if dispatch.slm_size or parts or dispatch.width == 1:
        return text, 1
    return unroll_and_jam(text, vector_bits(), threads_in_flight(dispatch), instructions), 1


def _check_yields(dispatch: Dispatch) -> None:
    """Compiling takes seconds for thousands of places at which a thread waits.

    Raises:
        Unsupported: there are more.
    """
    reached = reachable(dispatch.image, dispatch.kernel)
    count = sum(touches_memory(instruction) for _, _, instruction in reached)
    if count > MAXIMUM_YIELDS:
        raise Unsupported(f"round-robin over {count} accesses to memory")


def compile_objects(translation: Translation, quick: bool = False) -> list[bytes]:
    """Optimise the translation and emit objects: the kernel's first, then those of support, which are made once for a
    machine.

    Args:
        quick: whether the kernel is hardly optimised.
    """
    kernel, support = translation.text, translation.support
    if is_sanitized():
        kernel, support = sanitize.guarded(kernel), [*map(sanitize.guarded, support), driver.guard()]
    elif not quick:
        kernel = anchor(kernel)
    return [native.compile_object(kernel, quick), *map(native.compiled, support)]


def link(objects: list[bytes]) -> native.Native:
    """Load objects and bind them to each other."""
    return native.Native(objects, is_sanitized())
