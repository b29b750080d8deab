"""The state of a thread between two instructions, to which it can return."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vsim.symbolic.thread import SymbolicActivation, SymbolicThread


class ThreadSnapshot:
    """Registers, waiting lanes, messages and facts of a thread."""

    def __init__(self, thread: SymbolicThread, activation: SymbolicActivation) -> None:
        self.registers = activation.machine.registers.copy()
        self.predefined = {root: list(own) for root, own in thread.launch.predefined.items()}
        self.waiting = dict(activation.waiting)
        self.messages, self.loaded = len(thread.memory.messages), dict(thread.memory.loaded_values)
        self.facts, self.loads = len(thread.symbols.facts), len(thread.launch.loads)
        self.barriers, self.branches, self.phase = len(thread.barriers), len(thread.branches), thread.phase
        self.barrier_loops = len(thread.barrier_loops)
        self.reached, self.ways = len(thread.reached), len(thread.ways)

    def restore(self, thread: SymbolicThread, activation: SymbolicActivation) -> None:
        """Return to it. Registers keep their places, which other activations share."""
        self.registers.give_back(activation.machine.registers)
        predefined = thread.launch.predefined
        for root, own in predefined.items():
            if root in self.predefined:
                own[:] = self.predefined[root]
            else:
                own[:] = thread.launch.start_value(root, len(own))
        activation.waiting = dict(self.waiting)
        del thread.memory.messages[self.messages :]
        thread.memory.loaded_values = dict(self.loaded)
        del thread.symbols.facts[self.facts :]
        del thread.launch.loads[self.loads :]
        del thread.barriers[self.barriers :]
        del thread.branches[self.branches :]
        del thread.barrier_loops[self.barrier_loops :]
        del thread.reached[self.reached :]
        del thread.ways[self.ways :]
        thread.phase = self.phase
