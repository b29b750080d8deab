"""Launches that show that two kernels are not equal: both engines run both kernels, and the memories differ.

The solver knows nothing of sums and products of floats, so that the contents of memory in its example may not show a
difference that other contents show. The example is tried unchanged, then with other contents where it leaves them
open, then with other contents everywhere. Before anything is asked, launches with numbers at the ends of their types
are tried: compilers err there, and solvers are slow with products of long numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import z3

from visakit.diagnostics import Diagnostic, LaunchError, SimulationError, VisaError
from vsim.launch.arrays import Array, DType
from vsim.launch.given_launch import GivenLaunch
from vsim.launch.launch import SCALAR_TYPES, Argument, BufferArgument, Launch, ScalarArgument
from vsim.launch.writer import skeleton
from vsim.prove.lane_pair import LanePair
from vsim.prove.refutation import (
    ENGINES,
    LEVELS,
    RUN_SECONDS,
    Load,
    fresh,
    fresh_launch,
    fulfil_elements,
    launch_of,
    models,
    put,
    roomy,
    small,
    whole_groups,
    with_args,
)
from vsim.prove.subject import Subject
from vsim.symbolic import terms
from vsim.symbolic.contents import FIRST_EPOCH
from vsim.symbolic.launch import SymbolicLaunch
from vsim.symbolic.queries import Solver
from vsim.symbolic.terms import Condition

_SEED = 49
ALONE = (1, LEVELS[0][1])


def launches(pair: LanePair, condition: Condition) -> Iterator[Launch]:
    """Launches in which a condition on the pair's work-item may hold; first that of one work-item, which has no races,
    if groups may be of one.
    """
    side = pair.sides[0]
    loads = [Load(own.symbol, own.address, own) for own in side.launch.loads]
    whole_groups(side.launch)
    least = math.prod(n for n in side.launch.local_size if isinstance(n, int))
    levels = [level for level in (ALONE, *LEVELS[:2]) if level[0] >= least]
    question = pair.question(condition)
    # The question is about one work-item: others stay inside of large arrays rather than of small ones.
    for model in itertools.chain.from_iterable(models(side.launch, pair.solver, question, level) for level in levels):
        launch = launch_of(side.subject, side.launch, model, loads)
        wanted = {n: _chosen(pair, n, model) for n, _ in _arrays(launch)}
        for attempt in range(4):
            found = _with_contents(launch, wanted, _floats(side.subject), attempt)
            for n, argument in _arrays(found):
                fulfil_elements(side.launch, model, n, argument.array)
            yield found


def simple_launches(subject: Subject, launch: SymbolicLaunch, solver: Solver) -> Iterator[Launch]:
    """Launches of many work-items with large arrays of numbers at the ends of their types, then of small numbers."""
    whole_groups(launch)
    for seed, contents in enumerate((_numbers_at_ends, _numbers)):
        numbers = np.random.default_rng(_SEED + seed)
        model = _simple_model(launch, solver, numbers)
        if model is None:
            return
        found = launch_of(subject, launch, model, [])
        args = dict(enumerate(found.args))
        for n, own in _arrays(found):
            data = contents(numbers, own.array)
            fulfil_elements(launch, model, n, data)
            args[n] = BufferArgument(data, "bytes")
        _choose_floats(args, _floats(subject), numbers)
        yield with_args(found, [*args.values()])


def _simple_model(launch: SymbolicLaunch, solver: Solver, numbers: np.random.Generator) -> z3.ModelRef | None:
    """A model with many work-items and large arrays; arguments are small odd numbers, if they may be."""
    model = None
    for items, size in LEVELS[:2]:
        wishes = [*small(launch, items, size), *roomy(launch, items, size)]
        model = solver.possible(*wishes, named=True).model
        if model is not None:
            break
    wanted = [*zip(launch.global_size[: launch.geometry.dimensions], (LEVELS[0][0], 2, 2), strict=False)]
    wanted += [(own, int(numbers.integers(32)) * 2 + 1) for own in launch.arguments.values() if own.size() >= 32]
    for own, number in wanted:
        better = solver.possible(*wishes, own == number, named=True).model
        if better is not None:
            wishes, model = [*wishes, own == number], better
    return model


def _floats(subject: Subject) -> dict[int, DType]:
    """The types of arguments by value that are floats."""
    signature = subject.signature
    types = {n: SCALAR_TYPES.get(signature.declared_type(n), "") for n in range(len(signature.names_in_order))}
    return {n: np.dtype(code) for n, code in types.items() if code.startswith("f")}


def _arrays(launch: Launch) -> list[tuple[int, BufferArgument]]:
    return [(n, own) for n, own in enumerate(launch.args) if isinstance(own, BufferArgument)]


def _choose_floats(args: dict[int, Argument], floats: dict[int, DType], numbers: np.random.Generator) -> None:
    """Let arguments by value of these types have other numbers."""
    for n, like in floats.items():
        if isinstance(given := args[n], ScalarArgument):
            args[n] = ScalarArgument(_numbers(numbers, np.zeros(len(given.data) // like.itemsize, like)).tobytes())


def _chosen(pair: LanePair, argument: int, model: z3.ModelRef) -> list[tuple[int, bytes]]:
    """The bytes of an array that the solver's example says, and where they are."""
    value, found = partial(terms.value_in, model), []
    for n, side in enumerate(pair.sides):
        for places in side.thread.contents.loads.values():
            place = places[0]
            is_first = place.epoch == FIRST_EPOCH or place.region not in pair.written
            if place.region != f"argument {argument}" or not is_first:
                continue
            number = value(pair.term(n, place.value))
            found.append((value(pair.term(n, place.offset)), number.to_bytes(place.size, "little")))
    return found


def _with_contents(
    launch: Launch, wanted: dict[int, list[tuple[int, bytes]]], floats: dict[int, DType], attempt: int
) -> Launch:
    """A launch with the wanted contents (attempts 0 and 1), with zeros (0) or small numbers elsewhere.

    Args:
        floats: types of the arguments that are floats, which get other values, too (attempts 2 and 3).
    """
    numbers = np.random.default_rng(_SEED + attempt)
    args = dict(enumerate(launch.args))
    for n, own in _arrays(launch):
        data = _numbers(numbers, own.array) if attempt else np.zeros_like(own.array)
        for at, value in wanted.get(n, ()) if attempt < 2 else ():
            put(data, at, value)
        args[n] = BufferArgument(data, "bytes")
    if attempt >= 2:
        _choose_floats(args, floats, numbers)
    return with_args(launch, [*args.values()])


def _numbers(numbers: np.random.Generator, like: Array) -> Array:
    """Other contents of an array: numbers that are not too large."""
    if like.dtype.kind == "f":
        return (numbers.standard_normal(like.shape) * 4).astype(like.dtype)
    high = min(100, np.iinfo(like.dtype).max)
    return numbers.integers(0, high, like.shape).astype(like.dtype)


def _numbers_at_ends(numbers: np.random.Generator, like: Array) -> Array:
    """Contents of an array: the ends of the type, numbers beside them and beside 0, powers of two, and any bits."""
    if like.dtype.kind == "f":
        return _numbers(numbers, like)
    info, bits = np.iinfo(like.dtype), 8 * like.dtype.itemsize
    ends = [info.min, info.min + 1, info.max, info.max - 1, 0, 0, 1, 1, 2, 3, *([-1, -1, -2] if info.min else [])]
    powers = [1 << k for k in range(bits - 1)]
    kinds = numbers.integers(0, 4, like.shape)
    any_bits = np.frombuffer(numbers.bytes(like.nbytes), like.dtype).reshape(like.shape)
    found = np.where(kinds == 0, any_bits, numbers.choice(np.array(ends, like.dtype), like.shape))
    return np.where(kinds == 1, numbers.choice(np.array(powers, like.dtype), like.shape), found).astype(like.dtype)


# -- runs ------------------------------------------------------------------------------------------------------


def compare(subjects: Sequence[Subject], launch: Launch, roughly: bool = False) -> dict[str, str] | None:
    """What each engine says of a launch: how the memories differ that two kernels leave; empty if they do not. None if
    they differ, and work-items of the first kernel race.

    Args:
        roughly: floats that are nearly equal do not differ.

    Raises:
        LaunchError: P007, the engines do not agree.
    """
    said = {engine: compare_by(engine, subjects, launch, roughly) for engine in ENGINES}
    if any(said.values()) and _has_races(subjects[0], launch):
        return None
    if len({bool(text) for text in said.values()}) > 1:
        text = "the engines do not agree whether the kernels differ in a launch: " + ", ".join(
            f"{engine}: {own or 'equal'}" for engine, own in said.items()
        )
        raise LaunchError(Diagnostic("P007", text, None, "this is a fault of visakit: please report it"))
    return said


def compare_by(
    engine: str, subjects: Sequence[Subject], launch: Launch, roughly: bool = False, seconds: float = RUN_SECONDS
) -> str:
    """What an engine says of a launch; empty if the memories do not differ."""
    first, second = (_run(subject, launch, engine, seconds) for subject in subjects)
    return _difference(subjects, launch, first, second, roughly)


def _has_races(subject: Subject, launch: Launch) -> bool:
    """Whether work-items of a kernel race in a launch, or may do so: its results depend on their order, and show
    nothing.
    """
    try:
        result = subject.program.run(
            fresh_launch(launch), engine=ENGINES[-1], check="race-items", max_seconds=RUN_SECONDS
        )
    except VisaError:  # with a check it takes longer
        return True
    return bool(result.findings)


def _run(subject: Subject, launch: Launch, engine: str, seconds: float) -> list[Array] | str | None:
    """The arrays that a kernel leaves, or its fault; None if it does not run."""
    args = dict(enumerate(fresh(own) for own in launch.args))
    own = skeleton(GivenLaunch(subject.signature, args, tuple(launch.global_size), launch.local_size))
    try:
        subject.program.run(own, engine=engine, max_seconds=seconds)
    except SimulationError as error:
        found = error.diagnostics[0]
        return f"{found.message} [{found.code}]" if found.code != "S040" else None
    except VisaError:
        return None
    return [a.array for a in own.args if isinstance(a, BufferArgument)]


def _difference(
    subjects: Sequence[Subject],
    launch: Launch,
    first: list[Array] | str | None,
    second: list[Array] | str | None,
    roughly: bool,
) -> str:
    """How results differ; nothing is said of launches that the first kernel does not take."""
    if not isinstance(first, list) or second is None:
        return ""
    if isinstance(second, str):
        return f"'{subjects[1].kernel}' of the second program fails: {second}"
    names = [subjects[0].signature.names_in_order[n] for n, _ in _arrays(launch)]
    for name, x, y in zip(names, first, second, strict=False):
        if roughly and x.dtype == np.uint8 and x.nbytes % 4 == 0:
            x, y = x.view(np.float32), y.view(np.float32)  # of hand-written kernels no types are known
        differs = _unequal(x, y, roughly)
        if differs.any():
            at = int(np.flatnonzero(differs)[0])
            return f"{name}[{at}] is {x.reshape(-1)[at]!s} and {y.reshape(-1)[at]!s}"
    return ""


def _unequal(x: Array, y: Array, roughly: bool) -> Array:
    """Where arrays differ bit for bit, but for the bits of NaNs; or where floats are not even nearly equal."""
    bits = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}[x.dtype.itemsize]
    found: Array = x.view(bits) != y.view(bits)
    if x.dtype.kind == "f":
        found &= ~(np.isnan(x) & np.isnan(y))
        if roughly:
            found &= ~np.isclose(x, y, rtol=1e-3, atol=1e-5)
    return found.reshape(-1)
