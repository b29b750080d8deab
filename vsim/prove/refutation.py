"""Launches that refute: the solver's model as arguments and sizes, run by both engines at once."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import z3

from visakit.diagnostics import SimulationError, VisaError
from vsim.launch.arrays import Array
from vsim.launch.element_types import pointed_type
from vsim.launch.given_launch import GivenLaunch
from vsim.launch.launch import Argument, BufferArgument, Launch, LocalArgument, ScalarArgument
from vsim.launch.writer import make_launch, skeleton
from vsim.prove.subject import Subject
from vsim.result import LaunchResult
from vsim.symbolic import terms
from vsim.symbolic.launch import SymbolicLaunch
from vsim.symbolic.queries import Possible, Solver
from vsim.symbolic.terms import Condition

ENGINES = ("numpy", "llvm")
MOST_ITEMS, MOST_BYTES = 1 << 20, 1 << 26
"""Work-items of a launch that is tried, and bytes of one of its arrays."""
LEVELS = ((256, 1 << 12), (1 << 14, 1 << 16), (MOST_ITEMS, MOST_BYTES))
"""Work-items and bytes of the launches that are looked for first, and later."""
RUN_SECONDS = 30.0


def launches(subject: Subject, launch: SymbolicLaunch, solver: Solver, condition: Condition) -> Iterator[Launch]:
    """Launches in which a condition holds, as far as its symbols are arguments, sizes, ids and contents of arrays."""
    for items, size in LEVELS:
        wishes = small(launch, items, size)
        answer = solver.possible(condition, *wishes, *last_group(launch), named=True)
        if answer.possible is Possible.YES and answer.model is not None:
            yield launch_of(subject, launch, answer.model)


def last_group(launch: SymbolicLaunch) -> list[Condition]:
    """The group is the last one of its row, so that the launch has whole groups."""
    return [
        terms.equal(launch.global_size[n], terms.plus(launch.group_starts[n], launch.local_size[n], 32), 32)
        for n in range(launch.geometry.dimensions)
    ]


def small(launch: SymbolicLaunch, items: int, size: int) -> list[Condition]:
    """The launch can be run: not too many work-items, arrays not too large and of whole elements."""
    found: list[Condition] = []
    count = launch.geometry.dimensions
    each = max(2, round(items ** (1 / count)))
    for n in range(count):
        found.append(z3.ULE(terms.expression(launch.global_size[n], 32), each))
        if not isinstance(launch.local_size[n], int) and n:
            found.append(launch.local_size[n] == 1)
    for buffer in launch.buffers:
        if buffer.argument is not None and not isinstance(buffer.size, int):
            found.append(z3.ULE(buffer.size, size))
            element = element_of(launch, buffer.argument)
            if not element.itemsize & (element.itemsize - 1):
                found.append(buffer.size & (element.itemsize - 1) == 0)
    found += [z3.ULE(own, 1 << 14) for own in launch.local_sizes.values()]
    return found


def element_of(launch: SymbolicLaunch, index: int) -> np.dtype[np.generic]:
    """The type of the elements of an array; bytes if it is not known."""
    return pointed_type(launch.bound.signature.argument_types.get(index, "")) or np.dtype("u1")


def launch_of(subject: Subject, launch: SymbolicLaunch, model: z3.ModelRef) -> Launch:
    """The launch of a model."""

    def value(term: terms.Term) -> int:
        return term if isinstance(term, int) else int(model.eval(term, model_completion=True).as_long())

    arguments: dict[int, Argument] = {}
    for buffer in launch.buffers:
        if buffer.argument is not None:
            data = np.zeros(value(buffer.size), np.uint8)
            _fill(launch, value, model, buffer.address, data)
            element = element_of(launch, buffer.argument)
            whole = data.view(element) if data.size % element.itemsize == 0 else data
            arguments[buffer.argument] = BufferArgument(whole, "bytes")
    for index, term in launch.arguments.items():
        arguments[index] = ScalarArgument(value(term).to_bytes(term.size() // 8, "little"))
    for index, size in launch.local_sizes.items():
        arguments[index] = LocalArgument(value(size))
    count = launch.geometry.dimensions
    sizes, local = (tuple(value(n) for n in own[:count]) for own in (launch.global_size, launch.local_size))
    return skeleton(GivenLaunch(subject.signature, arguments, {}, {}, sizes, local))


def _fill(
    launch: SymbolicLaunch, value: Callable[[terms.Term], int], model: z3.ModelRef, address: int, data: Array
) -> None:
    """Put what loads gave where they loaded it."""
    chosen = {d.name() for d in model.decls()}
    for loaded in launch.loads:
        if loaded.symbol.decl().name() not in chosen:
            continue
        own = [b for b in launch.candidates(loaded.space, loaded.address) if b.argument is not None]
        base = own[0].address if own else None
        real = next((b.address for b in launch.buffers if own and b.argument == own[0].argument), None)
        if base is None or real != address:
            continue
        at = value(loaded.address) - base + loaded.offset
        if at >= 0 and at + loaded.size <= data.size:
            data[at : at + loaded.size] = np.frombuffer(value(loaded.symbol).to_bytes(loaded.size, "little"), np.uint8)


Shows = Callable[[LaunchResult], str]
"""What a result says against a property; empty if it says nothing."""


def run(subject: Subject, launch: Launch, check: str, shows: Shows) -> dict[str, str]:
    """What each engine says of a launch: its fault, or what its result shows; empty for nothing."""
    return {engine: _run(subject, launch, engine, check, shows) for engine in ENGINES}


def _run(subject: Subject, launch: Launch, engine: str, check: str, shows: Shows) -> str:
    own = copy.copy(launch)
    own.args = [fresh(argument) for argument in launch.args]
    renamed = {id(old): new for old, new in zip(launch.args, own.args, strict=True)}
    own.names = {name: renamed[id(argument)] for name, argument in launch.names.items()}
    try:
        result = subject.program.run(own, engine=engine, check=check, max_seconds=RUN_SECONDS)
    except SimulationError as error:
        found = error.diagnostics[0]
        return f"{found.message} [{found.code}]" if found.code != "S040" else ""
    except VisaError:
        return ""
    return shows(result)


def fresh(argument: Argument) -> Argument:
    """An argument with its own memory."""
    if not isinstance(argument, BufferArgument):
        return argument
    return BufferArgument(argument.array.copy(), argument.contents)


def write(subject: Subject, launch: Launch, path: str, inputs: Sequence[str]) -> None:
    """Write a launch as a launch file and its arrays.

    Raises:
        FileError: F001, one cannot be written.
    """
    arguments = dict(enumerate(launch.args))
    given = GivenLaunch(subject.signature, arguments, {}, {}, tuple(launch.global_size), launch.local_size)
    make_launch(path, [given], inputs)
