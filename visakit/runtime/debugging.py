"""The launch of a program that is debugged (``visakit exec --debug KERNEL:N``).

The debugger runs in the thread that runs the launch: a thread of the queue, or one of the program. The other threads
go on, until they wait for the launch or use the memory of its context; the end of the program waits for the debugger.
In the child of a fork nothing is debugged that its parent was debugging, and launches are counted on.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from visakit.diagnostics import counted, did_you_mean
from visakit.forks import free_in_child
from visakit.runtime import host
from visakit.runtime.errors import say
from visakit.runtime.settings import checks, debug_request, engine, schedule

if TYPE_CHECKING:
    from vsim.launch.launch import Launch
    from vsim.program import Program
    from vsim.result import LaunchResult

_COUNTING, _DEBUGGING = free_in_child(threading.Lock()), free_in_child(threading.Lock())
_LAUNCHES: Counter[str] = Counter()


def begins(kernel: str) -> bool:
    """Whether the launch of a kernel that begins now is to be debugged."""
    wanted = debug_request()
    if wanted is None:
        return False
    with _COUNTING:
        _LAUNCHES[kernel] += 1
        return (kernel, _LAUNCHES[kernel]) == (wanted.kernel, wanted.number)


def debugged(program: Program, launch: Launch) -> LaunchResult:
    """Run a launch under the debugger. The process ends if the user leaves the debugger.

    Raises:
        LaunchError: it does not fit the kernel.
        SimulationError: the fault that the user lets the program have.
    """
    from vsim.command.attached import ProgramSession, debug_launch
    from vsim.command.debugger import Scripts
    from vsim.observe.assertions import failed_assertions
    from vsim.observe.printf import PrintfRecords
    from vsim.result import LaunchResult

    wanted = debug_request()
    assert wanted is not None
    started = time.perf_counter()
    with _DEBUGGING, program.launch_lock:
        session = ProgramSession(program, [launch], schedule=schedule(), check=checks() or "", engine=engine())
        scripts = Scripts(wanted.files, wanted.commands, wanted.is_batch)
        host.flush()
        status = debug_launch(session, scripts, f"launch {wanted.number} of '{launch.kernel}' begins")
        if status is not None:
            os._exit(status)
        execution = session.execution
        printf = execution.dispatch.arguments.printf
        printed = "" if printf is None else PrintfRecords.of(printf, program.memory).text()
        fault = failed_assertions(execution.dispatch, program.memory) or execution.fault
        if fault is not None:
            fault.printf = printed
            raise fault
    return LaunchResult(execution.dispatch, "numpy", time.perf_counter() - started, printed)


def process_ends() -> None:
    """Wait for the debugger, and say if the wanted launch never came."""
    wanted = debug_request()
    if wanted is None:
        return
    with _DEBUGGING:
        count = _LAUNCHES[wanted.kernel]
    if count < wanted.number:
        names = ", ".join(sorted(name for name, times in _LAUNCHES.items() if times)) or "no kernels"
        hint = (not count and did_you_mean(wanted.kernel, _LAUNCHES)) or f"launched were {names}"
        times = f"launched {counted(count, 'time')}" if count else "never launched"
        say(f"visakit: '{wanted.kernel}' was {times}, and launch {wanted.number} was not debugged: {hint}")
