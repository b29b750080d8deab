"""How functions append commands to lists."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from visakit.levelzero import ze
from visakit.levelzero.calls import entry
from visakit.levelzero.events import Signal, ZeEvent
from visakit.levelzero.lists import CommandList, ListOperation
from visakit.levelzero.parameters import find, find_all
from visakit.runtime.calls import Call
from visakit.runtime.errors import require


def appends(function: Callable[..., ListOperation]) -> Call:
    """Decorator of the functions of Level Zero that append a command: looks up events to wait for, and the event that
    is signalled.

    The function of Level Zero takes a list, the parameters of the decorated one, an event to signal, and the number and
    the address of events to wait for. The decorated function gets the list, checks its parameters, and returns the
    command.
    """
    end = function.__code__.co_argcount

    @functools.wraps(function)
    def append(own: CommandList, *given: int) -> None:
        signal, count, waits = given[end - 1 : end + 2]
        states = awaited(count, waits)
        event = find(ZeEvent, signal) if signal else None
        operation = function(own, *given[: end - 1])
        append_to(own, operation, states, event)

    return entry(append)


def awaited(count: int, events: int) -> Sequence[Signal]:
    """The states of events to wait for."""
    if not count:
        return ()
    require(events, ze.ZE_RESULT_ERROR_INVALID_SIZE, "events to wait for and their number belong together")
    return [event.state for event in find_all(ZeEvent, events, count)]


def append_to(own: CommandList, operation: ListOperation, waits: Sequence[Signal], event: ZeEvent | None) -> None:
    """Append a command that waits for states and signals an event. An event that counts is reset if it is taken."""
    if not own.takes(operation):
        return
    if event is None:
        own.append(operation._replace(waits=waits) if waits else operation)
    else:
        own.append(operation._replace(waits=waits, signal=event.appended(), restarts=bool(event.counts)))
