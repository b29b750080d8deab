"""A thread of a kernel that is compared with another one: contents of memory are functions, and loops have a bound.

Loops run round by round. Beyond the bound the thread assumes that no further round follows:
:attr:`ComparedThread.bounded` names these loops, and the facts restrict the launches.
"""

from __future__ import annotations

from visakit.language.program import Function
from vsim.launch.element_types import pointed_type
from vsim.symbolic import terms
from vsim.symbolic.contents import ContentsMemory
from vsim.symbolic.launch import SymbolicLaunch
from vsim.symbolic.loops import check_loop
from vsim.symbolic.places import Place, guards_of
from vsim.symbolic.queries import Possible, Solver
from vsim.symbolic.terms import Condition
from vsim.symbolic.thread import SymbolicActivation, SymbolicThread

ROUNDS = 4
"""Rounds of a loop that are followed, if nothing else is said."""
_QUESTION_SECONDS = 1.0


class ComparedThread(SymbolicThread):
    """A thread of one of two kernels.

    Args:
        owner: the name of the kernel's side.
        elements: bytes of the elements of arguments.
        rounds: of a loop that are followed, beyond the rounds that all lanes run in any case.
    """

    may_forget_registers = False

    def __init__(self, launch: SymbolicLaunch, owner: str, elements: dict[int, int], rounds: int) -> None:
        launch.fix(launch.slot, 0)  # The slot places private memory, which no other thread sees.
        super().__init__(launch)
        self.rounds = rounds
        self.contents = ContentsMemory(self, owner, elements)
        self.memory = self.contents
        self.dropped: list[tuple[Condition, ...]] = []
        """Of lanes that went on as if a loop had no more rounds, the conditions to have been in another one."""
        self.bounded: dict[tuple[str, int], Function] = {}
        """Loops that may have more rounds than were followed: by function and first instruction."""
        self._solver = Solver(launch, _QUESTION_SECONDS)

    def run_loop(self, activation: SymbolicActivation, loop: range, place: Place) -> None:
        check_loop(activation, loop)
        activation.open_loops.add(loop.start)
        current, left = place, self.rounds
        while True:
            self.run_stretch(activation, loop.start, current)
            self.run_activation(activation, loop.start + 1, loop.stop)
            again = activation.waiting.pop(loop.start, None)
            if again is None or self._is_empty(again):
                self._drop(activation, loop, again)
                break
            if again != current:
                left -= 1
            if left == 0:
                self.bounded[activation.machine.function.name, loop.start] = activation.machine.function
                self._drop(activation, loop, again)
                break
            current = again
        activation.open_loops.remove(loop.start)

    def _is_empty(self, place: Place) -> bool:
        """Whether no lane can be at a place."""
        return all(
            guard is False or self._solver.possible(guard).possible is Possible.NO
            for guard in guards_of(place, self.launch.lanes)
        )

    def _drop(self, activation: SymbolicActivation, loop: range, place: Place | None) -> None:
        """State that lanes are not at a place; they join the lanes that have left the loop."""
        if place is None:
            return
        self.dropped.append(guards_of(place, self.launch.lanes))
        for guard in self.dropped[-1]:
            self.symbols.state(terms.negation(guard))
        targets = [pc for pc in activation.waiting if pc >= loop.stop]
        if targets:
            activation.wait(min(targets), place)


def element_sizes(launch: SymbolicLaunch) -> dict[int, int]:
    """Bytes of the elements of the arrays, by number of the argument, where the type is known."""
    types = launch.bound.signature.argument_types
    found = {n: pointed_type(text) for n, text in types.items()}
    return {n: t.itemsize for n, t in found.items() if t is not None and not t.itemsize & (t.itemsize - 1)}
