"""What the functions of one module share while they are lowered."""

from __future__ import annotations

from dataclasses import dataclass, field

from visakit.forks import cached_property
from visakit.language.program import Function
from vsim.analysis.arrays.constant_indices import unrolled
from vsim.analysis.narrowing import narrowed
from vsim.analysis.reachability import reachable
from vsim.analysis.waiting import waiting_functions
from vsim.engines.llvm.host.race import Traits, traits
from vsim.engines.llvm.ir import denormals
from vsim.launch.dispatch import Dispatch
from vsim.launch.threads import begins_rows
from vsim.semantics.denormals import takes_zeros


@dataclass
class ModuleState:
    """The module of a kernel and of all that it can call.

    ``full``: every thread has all its lanes. ``row``: lanes in a row of local ids that is known to count up; 0 if it is
    not known. ``transposed``: y counts up along such a row, and x from one to the next.
    """

    dispatch: Dispatch
    full: bool
    row: int
    transposed: bool = False
    independent: bool = False
    """Whether lanes are known to be independent, in threads of fewer lanes than the kernel was compiled for."""
    only_counts: bool = False
    """The code counts executions and leaves memory alone."""
    knows_straying: bool = False
    """The kernel's lanes are known to stray (``strays``), but are in one thread, because they might depend on each
    other.
    """
    declarations: dict[str, str] = field(default_factory=dict)
    helpers: dict[str, str] = field(default_factory=dict)
    """Modules of helper functions by name, which are compiled separately and linked."""
    functions: list[Function] = field(default_factory=list)
    """The kernel and the functions that it can call, in the order of their first use."""
    numbers: dict[int, int] = field(default_factory=dict)
    race_unit: int = 4
    """Bytes of the units of memory that the race check watches."""
    smallest_change: int = 8
    """Bytes of the smallest element stored or changed at once in the lowered functions."""
    place_count: int = 0
    """Number of places that the lanes of the lowered accesses go to (``memory/pattern.py``)."""
    own_places: set[int] = field(default_factory=set)
    """The accesses of the kernel whose lanes are proved not to overlap (``memory/pattern.py``)."""
    parts_threads: bool = False
    """Whether threads go different ways at branches that all lanes of a thread take, or none, by what memory holds."""
    parts_lanes: bool = False
    """Whether lanes leave a loop one after the other."""
    strays: bool = False
    """Whether lanes leave loops one after the other, and do little there but access separate places."""
    walks: int = 0
    """How many lanes suit a thread whose lanes, in step, go over separate rows in a loop that does little else, if they
    do.
    """
    takes_turns: bool = field(init=False)
    """Whether threads wait elsewhere than at the group's barrier in the kernel (``support/cooperative.py``)."""
    waiting: frozenset[int] = field(init=False)
    """Functions in which a thread can wait, where threads take turns."""

    def __post_init__(self) -> None:
        dispatch = self.dispatch
        self.takes_turns, self.waiting = dispatch.takes_turns, frozenset()
        if self.takes_turns:
            found = waiting_functions(dispatch.image, dispatch.kernel, dispatch.is_round_robin)
            self.waiting = frozenset(map(id, found))

    def can_wait(self, function: Function) -> bool:
        """Whether a thread can wait in a function, so that it is a coroutine."""
        if function.is_kernel:
            return self.dispatch.has_barrier or self.takes_turns
        return id(function) in self.waiting

    @cached_property
    def kernel(self) -> Function:
        """The kernel, for as many lanes as a thread has."""
        dispatch = self.dispatch
        if dispatch.width:
            return narrowed(dispatch.kernel, dispatch.width, self.independent, dispatch.grf_size)
        if dispatch.has_barrier or dispatch.has_fixed_order or any(dispatch.observed) or self.takes_turns:
            return dispatch.kernel
        return unrolled(dispatch.kernel, dispatch.grf_size, dispatch.scratch_size) or dispatch.kernel

    @property
    def rows_are_whole(self) -> bool:
        """Whether rows of local ids that are known to count up begin at 0."""
        return begins_rows(self.dispatch, self.row, self.transposed)

    @cached_property
    def takes_zeros(self) -> bool:
        """Whether the processor takes denormals of operands as zeros while the kernel runs."""
        dispatch = self.dispatch
        if dispatch.float_modes.written or not denormals.available():
            return False
        return takes_zeros(reachable(dispatch.image, dispatch.kernel), dispatch.grf_size)

    @cached_property
    def race_traits(self) -> Traits:
        """What the race check's code depends on."""
        return traits(self.dispatch)

    def number(self, function: Function) -> int:
        """The number of a function in the module, by which faults name it; it is lowered later."""
        if id(function) not in self.numbers:
            self.numbers[id(function)] = len(self.numbers)
            self.functions.append(function)
        return self.numbers[id(function)]

    def symbol(self, function: Function) -> str:
        """The name of a function in the module."""
        return f"@function{self.number(function)}"
