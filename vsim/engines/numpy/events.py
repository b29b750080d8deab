"""Events of a batch, as observers get them, and the steps that tell them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from visakit.diagnostics import SimulationError
from visakit.language.program import FIRST_PREDICATE, FIRST_VARIABLE, Function
from vsim.engines.numpy.algebra import DTYPES, any_lane
from vsim.engines.numpy.registers import RegisterKind
from vsim.launch.arrays import Array, Bools
from vsim.observe.observer import Event, Observer, listeners
from vsim.semantics.algebra import Step

if TYPE_CHECKING:
    from vsim.engines.numpy.activation import Running

_AT_INSTRUCTIONS: tuple[Callable[..., object], ...] = (
    *(Observer.machine, Observer.before, Observer.after, Observer.fault, Observer.masked, Observer.read),
    *(Observer.write, Observer.access, Observer.accessed, Observer.barrier, Observer.skips, Observer.call),
)
"""Events at which it must be known which instruction executes."""


class BatchEvent(Event):
    """An instruction that threads of a batch execute."""

    __slots__ = ("_activation", "_lanes", "_threads")

    def __init__(self, function: Function, number: int, running: Running) -> None:
        super().__init__(function, number)
        self._activation, self._threads, self._lanes = running.activation, running.threads, running.activation.active

    @property
    def rows(self) -> Array:
        return np.flatnonzero(any_lane(self._lanes))

    @property
    def groups(self) -> Array:
        found: Array = self._threads.numbers()[0][self.rows]
        return found

    @property
    def threads(self) -> Array:
        found: Array = self._threads.numbers()[1][self.rows]
        return found

    @property
    def lanes(self) -> Bools:
        found: Bools = self._lanes[self.rows]
        return found

    def variable(self, name: str) -> Array:
        function, registers = self.function, self._activation.registers
        for number, variable in enumerate(function.variables, FIRST_VARIABLE):
            if variable.name == name:
                root, start = registers.layout.root(number)
                data = registers.bytes_of(root)
                if data is not None:
                    return data[:, start : start + variable.size].view(DTYPES[variable.type])
        for number, predicate in enumerate(function.predicates, FIRST_PREDICATE):
            if predicate.name == name:
                bits = registers.find(RegisterKind.PREDICATE, number)
                if bits is not None:
                    return bits[:, : function.predicate_bits(number)]
        raise KeyError(name)


def follows_instructions(observers: Sequence[Observer]) -> bool:
    """Whether any of some observers wants an event that names the instruction."""
    return any(listeners(observers, event) for event in _AT_INSTRUCTIONS)


def observed(function: Function, number: int, step: Step, running: Running, observers: Sequence[Observer]) -> Step:
    """The step of an instruction, which tells observers of it; while it runs it is :attr:`Running.event`."""
    chosen = [o for o in observers if o.chooses(function, number)]
    before, after = listeners(chosen, Observer.before), listeners(chosen, Observer.after)
    faults = listeners(chosen, Observer.fault)

    def run() -> object:
        outer = running.event
        event = running.event = BatchEvent(function, number, running)
        try:
            for tell in before:
                tell(event)
            moved = step()
            for tell in after:
                tell(event)
        except SimulationError as error:
            for fault in faults:
                fault(event, error)
            raise
        finally:
            running.event = outer
        return moved

    return run
