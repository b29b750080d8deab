"""Launches in which loops have few rounds: the rounds run one by one, and loads find earlier stores.

A closed loop leaves anything in its registers, so that a model of a condition on them is no launch. Here conditions are
exact but for floats and for what other work-items store, and say nothing of more rounds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

import z3

from visakit.diagnostics import SimulationError
from vsim.launch.launch import BufferArgument, Launch
from vsim.prove.goals import Goal, ReachConditions
from vsim.prove.refutation import LEVELS, fulfil_elements, launch_of, models, put, whole_groups
from vsim.prove.subject import Subject, symbolic_launch
from vsim.symbolic import terms
from vsim.symbolic.comparing import ComparedThread, element_sizes
from vsim.symbolic.contents import FIRST_EPOCH
from vsim.symbolic.limits import Limits, Undecided
from vsim.symbolic.queries import Solver
from vsim.symbolic.terms import Condition

QUESTION_SECONDS = 5.0


class RoundSearch:
    """Runs a kernel on symbols with few rounds of its loops."""

    def __init__(self, subject: Subject, limits: Limits, rounds: int) -> None:
        self.subject, self.launch = subject, symbolic_launch(subject, limits)
        self.thread = ComparedThread(self.launch, "A", element_sizes(self.launch), rounds)
        with contextlib.suppress(Undecided, SimulationError):  # What ran may do.
            self.thread.run()
        self.conditions = ReachConditions(self.thread)
        self.solver = Solver(self.launch, QUESTION_SECONDS)
        whole_groups(self.launch)

    def launches(self, goal: Goal) -> Iterator[Launch]:
        """Launches that may reach a goal.

        Raises:
            Undecided: a limit is reached.
        """
        for function, number, condition in self.conditions.of(goal):
            self.launch.limits.at(function, number)
            yield from map(self._launch, models(self.launch, self.solver, condition, LEVELS[0]))

    def _launch(self, model: z3.ModelRef) -> Launch:
        """The launch of a model, with the contents that it says where lanes load."""
        found = launch_of(self.subject, self.launch, model, [])

        value = partial(terms.value_in, model)

        def holds(condition: Condition) -> bool:
            return condition is True or z3.is_true(model.eval(condition, model_completion=True))

        written = {effect.region for effect in self.thread.contents.effects}
        for places in self.thread.contents.loads.values():
            for place in places:
                kind, _, index = place.region.partition(" ")
                if (
                    kind != "argument"
                    or (place.epoch != FIRST_EPOCH and place.region in written)
                    or not holds(place.guard)
                ):
                    continue
                argument = found.args[int(index)]
                if isinstance(argument, BufferArgument):
                    put(argument.array, value(place.offset), value(place.value).to_bytes(place.size, "little"))
                break
        for number, own in enumerate(found.args):
            if isinstance(own, BufferArgument):
                fulfil_elements(self.launch, model, number, own.array)
        return found
