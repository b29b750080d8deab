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
    if execution.dispatch.findings is not None:
        found.update("".join(map(str, execution.dispatch.findings)).encode())
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


def begun(e, check=""):
    """A session, and the arrays of its launch."""
    arguments = arguments_of(e, [])
    local = None if e.local_size is None else tuple(e.local_size)
    launch = Launch(e.kernel, tuple(e.global_size), local, (0, 0, 0), arguments)
    arrays = {n: a.array for n, a in enumerate(arguments) if isinstance(a, (BufferArgument, ImageArgument))}
    return Session(Program(image_of(e)), [launch], engine="numpy", check=check), arrays


def walk_about(session, seed):
    """Walk from the first stop on, and leave no breakpoints."""
    session.add_breakpoint("*0")
    session.resume()
    walk(session, random.Random(seed), {})
    for number in list(session.breakpoints):
        session.delete(number)


def ending(session):
    """The code of the fault that ends the launch, or nothing."""
    stop = session.run() if session.execution.has_ended else session.resume()
    assert stop.reason in ("end", "fault")
    return session.execution.fault.diagnostics[0].code if stop.reason == "fault" else ""


def same(some, others):
    return all(np.array_equal(some[n].view(np.uint8), others[n].view(np.uint8)) for n in some)


@pytest.mark.parametrize("seed", range(200 if FUZZ else 4))
def test_walks(seed):
    e = Execution.of(make(seed))
    e.schedule = ""
    plain = run_on("numpy", Program(image_of(e)), e)
    session, straight = begun(e)
    assert ending(session) == plain.code
    assert plain.code or session.execution.dispatch.needs_order or same(straight, plain.arrays)
    session, walked = begun(e)
    walk_about(session, seed)
    assert ending(session) == plain.code
    assert plain.code or same(walked, straight)


@pytest.mark.parametrize("seed", range(100 if FUZZ else 2))
def test_findings_of_walks(seed):
    """Checks go back with the launch: they find the same as in a straight run."""
    e = Execution.of(make(seed))
    e.schedule = ""
    session, _ = begun(e, "all")
    code, straight = ending(session), list(session.execution.dispatch.findings)
    session, _ = begun(e, "all")
    walk_about(session, seed)
    assert ending(session) == code and list(session.execution.dispatch.findings) == straight
