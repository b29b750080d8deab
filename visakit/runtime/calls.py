"""The functions of a driver that Python serves, and what surrounds each of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

from visakit.runtime import cl
from visakit.runtime.errors import CallError
from visakit.runtime.objects import ApiObject, note_call
from visakit.runtime.tracing import Export, mistake, note_reason

Call = Callable[..., int | None]
"""A function of a driver in Python: gives an object, an address or a number, where the program gets more than a status;
refusals are exceptions.
"""
Answer = Callable[[Sequence[int], int, int], int | None]
"""What C gets for the parameters of a call, its status, and the object, address or number that it made; 0 for none."""


class ServedCalls(dict[str, Call]):
    """Functions of a driver, by name; they take numbers.

    Args:
        find: gives the object of a handle, or refuses the call.
    """

    def __init__(self, find: Callable[[type[ApiObject], int], ApiObject]) -> None:
        super().__init__()
        self._find = find

    def entry(self, function: Call) -> Call:
        """Decorator that registers a function under its name.

        Where a parameter has a class of objects, the program gives a handle; handles are checked first, in order.
        """
        self[function.__name__] = self._with_objects(function)
        return function

    def also(self, name: str) -> Callable[[Call], Call]:
        """Decorator that registers a function under another name, too."""

        def register(function: Call) -> Call:
            self[name] = self._with_objects(function)
            return function

        return register

    def _with_objects(self, function: Call) -> Call:
        """A function that takes handles in place of objects."""
        annotations = inspect.get_annotations(function, eval_str=True).values()
        kinds = [(n, k) for n, k in enumerate(annotations) if isinstance(k, type) and issubclass(k, ApiObject)]
        if not kinds:
            return function

        def call(*given: int) -> int | None:
            found: list[object] = [*given]
            for n, kind in kinds:
                found[n] = self._find(kind, given[n])
            return function(*found)

        return call


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
