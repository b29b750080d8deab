"""Loops of a thread: run round by round where the number of rounds does not depend on symbols, else closed."""

from __future__ import annotations

from vsim.symbolic.places import Place
from vsim.symbolic.thread import UNROLLED, Activation, SymbolicThread, Undecided


def run_loop(thread: SymbolicThread, activation: Activation, loop: range, place: Place) -> None:
    """Run lanes that come to the first instruction of a loop until they have left it."""
    function = activation.machine.function
    activation.open_loops.add(loop.start)
    for _ in range(UNROLLED):
        activation.wait(loop.start, place)
        before = activation.waiting.pop(loop.start)
        thread.run_stretch(activation, loop.start, before)
        thread.run_activation(activation, loop.start + 1, loop.stop)
        again = activation.waiting.pop(loop.start, None)
        if again is None:
            activation.open_loops.remove(loop.start)
            return
        if again != before:
            raise Undecided("the number of rounds of a loop depends on inputs", function, loop.start)
    raise Undecided(f"a loop has more than {UNROLLED} rounds", function, loop.start)
