"""A launch that is walked through forwards and backwards ends as one that runs straight, and is the same wherever it
comes by again.
"""

import hashlib
import random

import numpy as np
import pytest
from fuzz.launches import Execution, arguments_of, image_of, run_on
from fuzz.programs import make
from support.strategies import FUZZ

from visakit import DebugError
from vsim.debug import Session
from vsim.launch.launch import BufferArgument, ImageArgument, Launch
from vsim.program import Program

STEPS = 25


def digest(session):
    """Registers, lanes, barriers, local memory and buffers."""
    execution = session.execution
    found = hashlib.sha1()
    for data in execution._memory():
        found.update(data.tobytes())
    if execution.batch is not None:
        saved = execution.batch.saved()
        found.update(saved.threads.slm.tobytes() + saved.threads.scratch.tobytes())
        for _, registers in saved.execution.registers:
            for key in sorted(registers.arrays, key=str):
                found.update(registers.arrays[key].tobytes())
        for _, own in saved.execution.activations:
            places = [sorted((pc, lanes.tobytes()) for pc, lanes in kind.items()) for kind in own.places]
            found.update(repr((own.running and (own.pc, own.active.tobytes()), places)).encode())
        found.update(repr([a.tolist() for a in saved.execution.group_barrier]).encode())
    return found.hexdigest()


def walk(session, choose, seen):
    """Some commands; the state at a position that was seen before is the same."""
    for _ in range(STEPS):
        execution = session.execution
        instructions = execution.dispatch.kernel.instructions
        action = choose.randrange(7)
        try:
            if action == 0:
                session.step(choose.randrange(1, 40), instruction=True)
            elif action in (1, 2):
                session.step(choose.randrange(1, 6), over=action == 1, instruction=True, reverse=True)
            elif action == 3:
                session.reverse_continue()
            elif action == 4:
                session.go_to(choose.randrange(400), choose.randrange(len(execution.parts)))
            elif action == 5:
                session.finish(reverse=choose.random() < 0.5)
            else:
                for number in list(session.breakpoints):
                    session.delete(number)
                session.add_breakpoint(f"*{choose.randrange(len(instructions))}")
                session.resume()
        except DebugError:
            pass  # The lane has ended, or nothing is to be finished.
        position, state = session.execution.position, digest(session)
        assert seen.setdefault(position, state) == state, position


@pytest.mark.parametrize("seed", range(200 if FUZZ else 6))
def test_walks(seed):
    e = Execution.of(make(seed))
    e.schedule = ""
    straight = run_on("numpy", Program(image_of(e)), e)
    guards = []
    arguments = arguments_of(e, guards)
    local = None if e.local_size is None else tuple(e.local_size)
    launch = Launch(e.kernel, tuple(e.global_size), local, (0, 0, 0), arguments)
    session = Session(Program(image_of(e)), [launch], engine="numpy")
    choose = random.Random(seed)
    session.add_breakpoint("*0")
    session.resume()
    walk(session, choose, {})
    for number in list(session.breakpoints):
        session.delete(number)
    stop = session.resume() if not session.execution.has_ended else session.run()
    if stop.reason == "fault":
        assert straight.code == session.execution.fault.diagnostics[0].code
        return
    assert (stop.reason, straight.code) == ("end", "")
    for number, argument in enumerate(arguments):
        if isinstance(argument, (BufferArgument, ImageArgument)):
            assert np.array_equal(argument.array.view(np.uint8), straight.arrays[number].view(np.uint8)), number
