"""The functions of a driver that Python serves, and what surrounds each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from visakit.runtime import cl
from visakit.runtime.errors import CallError
from visakit.runtime.objects import note_call
from visakit.runtime.tracing import Export, mistake, note_reason

Call = Callable[..., int | None]
"""A function of a driver in Python: gives an object, an address or a number, where the program gets more than a status;
refusals are exceptions.
"""
Answer = Callable[[Sequence[int], int, int], int | None]
"""What C gets for the parameters of a call, its status, and the object, address or number that it made; 0 for none."""


class Calls(dict[str, Call]):
    """Functions of a driver, by name."""

    def entry(self, function: Call) -> Call:
        """Decorator that registers a function under its name."""
        self[function.__name__] = function
        return function

    def also(self, name: str) -> Callable[[Call], Call]:
        """Decorator that registers a function under another name, too."""

        def register(function: Call) -> Call:
            self[name] = function
            return function

        return register


def guarded(name: str, function: Call, answer: Answer) -> Export:
    """A function for C, which gets an answer in every case: no exception leaves Python.

    Args:
        answer: its status is 0, that of a refusal, or CL_OUT_OF_HOST_MEMORY after a mistake of the driver.
    """

    def call(*given: int) -> int | None:
        note_call(name)
        try:
            return answer(given, cl.CL_SUCCESS, function(*given) or 0)
        except CallError as problem:
            note_reason(problem.reason)
            return answer(given, problem.status, problem.handle)
        except BaseException as error:
            return answer(given, mistake(name, error), 0)

    return call
