"""Launches that refute: the solver's model as arguments and sizes, run by both engines at once."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import NamedTuple

import numpy as np
import z3

from visakit.diagnostics import Diagnostic, VisaError
from visakit.files import make_directory
from vsim.launch.arrays import Array
from vsim.launch.dispatch import TIMEOUT
from vsim.launch.element_types import pointed_type
from vsim.launch.given_launch import GivenLaunch
from vsim.launch.launch import Argument, BufferArgument, Launch, LocalArgument, ScalarArgument
from vsim.launch.writer import make_launch, skeleton
from vsim.prove.bounds import PropertyViolation
from vsim.prove.subject import Subject
from vsim.prove.undefined import INDIRECT, LEFT_BY_LOOPS, unfollowed_loads
from vsim.symbolic import terms
from vsim.symbolic.launch import SymbolicLaunch
from vsim.symbolic.limits import Limits, Undecided
from vsim.symbolic.queries import Possible, Solver
from vsim.symbolic.spaces import LoadedValue
from vsim.symbolic.symbols import Uniformity
from vsim.symbolic.terms import Condition, Term

ENGINES = ("numpy", "llvm")
MOST_ITEMS, MOST_BYTES = 1 << 20, 1 << 26
"""Work-items of a launch that is tried, and bytes of one of its arrays."""
LEVELS = ((256, 1 << 12), (1 << 14, 1 << 16), (MOST_ITEMS, MOST_BYTES))
"""Work-items and bytes of the launches that are looked for first, and later."""
RUN_SECONDS = 30.0
MOST_ELEMENTS = 256
"""Different elements of an array that are held against the assumptions about them; others are replaced."""
MOST_LOADS = 24
"""Loads that are told to give the same where they are of one place."""


def launches(
    subject: Subject, launch: SymbolicLaunch, solver: Solver, violation: PropertyViolation, without_faults: bool
) -> Iterator[Launch]:
    """Launches with a violation, as far as the symbols of its condition are arguments, sizes, ids and contents of
    arrays; launches that show it for certain come first.

    Args:
        without_faults: an access outside would end a launch before it shows anything.
    """
    second, identical = violation.second, lambda term: term
    items_of: list[Callable[[Term], Term]] = [identical] if second is None else [identical, second]
    names = launch.symbols.free(violation.condition) | launch.symbols.free(violation.visible)
    loads = [Load(own(v.symbol), own(v.address), v) for own in items_of for v in launch.loads]
    loads = [load for load in loads if load.symbol.decl().name() in names]
    whole_groups(launch)
    known = [*_same_contents(loads), *_defined(launch, names)]
    known += [
        own(c) for own, lane in zip(items_of, violation.any_lanes, strict=False) for c in lanes_in_order(launch, lane)
    ]
    for visible in [True] if violation.visible is True else [violation.visible, True]:
        for level in LEVELS:
            for model in models(launch, solver, violation.condition, level, [*known, visible], without_faults):
                yield launch_of(subject, launch, model, loads)


def models(
    launch: SymbolicLaunch,
    solver: Solver,
    condition: Condition,
    level: tuple[int, int],
    wishes: Sequence[Condition] = (),
    without_faults: bool = True,
) -> Iterator[z3.ModelRef]:
    """Models of a condition in launches of a level (:data:`LEVELS`); without faults first one of large arrays and small
    numbers.
    """
    for more in (roomy(launch, *level), []) if without_faults else ([],):
        answer = solver.possible(condition, *small(launch, *level), *wishes, *more, named=True)
        if answer.possible is Possible.YES and answer.model is not None:
            yield answer.model


class Load(NamedTuple):
    """A loaded value of one of the work-items."""

    symbol: Term
    address: Term
    value: LoadedValue


def _same_contents(loads: Sequence[Load]) -> Iterator[Condition]:
    """Loads of one place give one value, as nothing was written before; the run on symbols does not know it."""
    for n, one in enumerate(loads[:MOST_LOADS]):
        for other in loads[:n]:
            if one.value.size == other.value.size and one.value.space == other.value.space:
                first, second = (
                    terms.expression(terms.plus(load.address, load.value.offset, 64), 64) for load in (one, other)
                )
                yield z3.Implies(first == second, one.symbol == other.symbol)


def _defined(launch: SymbolicLaunch, names: AbstractSet[str]) -> Iterator[Condition]:
    """The engines find zeros in undefined registers."""
    for name in names:
        if name in launch.symbols.known and launch.symbols.known[name].is_undefined:
            own = launch.symbols.expressions[name]
            yield z3.Not(own) if z3.is_bool(own) else own == 0


_ROUGH = {
    "undefined.": "on an undefined register",
    "old!": "on the result of an atomic",
    INDIRECT: "on registers whose addresses depend on inputs",
    **dict.fromkeys((*LEFT_BY_LOOPS, "leaves!", "in_loop!", "last_round!"), "on a loop"),
}
"""What a launch cannot be chosen for, by the beginnings of names of symbols."""


def obstacle(launch: SymbolicLaunch, violation: PropertyViolation) -> str:
    """The part of a violation that no choice of a launch decides; empty for none."""
    names = launch.symbols.free(violation.condition)
    if names & unfollowed_loads(launch):
        return "on contents of local or private memory"
    return next((text for name in sorted(names) for word, text in _ROUGH.items() if name.startswith(word)), "")


def lanes_in_order(launch: SymbolicLaunch, any_lane: int) -> Iterator[Condition]:
    """The local ids of the lanes go together: work-items are numbered along x first, then along y. Of a lane that
    stands for any lane this says nothing.
    """
    start = launch.thread_number() * launch.simd
    sizes = [n if isinstance(n, int) else None for n in launch.local_size]
    for lane in (n for n in range(launch.simd) if n != any_lane):
        number, step = z3.BitVecVal(0, 32), 1
        for axis in range(launch.geometry.dimensions):
            number = number + z3.ZeroExt(16, launch.local_id(axis, lane)) * step
            size = sizes[axis]
            if size is None:  # the others are 1 then
                break
            step *= size
        active = launch.symbols.expressions.get(f"active@{lane}")
        yield number == start + lane if active is None else z3.Implies(active, number == start + lane)


def roomy(launch: SymbolicLaunch, items: int, size: int) -> list[Condition]:
    """Arrays are as large as they may be, and numbers are small, so that few accesses are outside."""
    sizes = [b.size for b in launch.buffers if b.argument is not None and not isinstance(b.size, int)]
    return [*(s == size for s in sizes), *(z3.ULE(n, items) for n in launch.arguments.values() if n.size() >= 32)]


def whole_groups(launch: SymbolicLaunch) -> None:
    """Know that launches have whole groups, which is a fact already where the size of a group is a number."""
    for axis in range(launch.geometry.dimensions):
        if not isinstance(launch.local_size[axis], int):
            launch.group_count(axis)


def small(launch: SymbolicLaunch, items: int, size: int) -> list[Condition]:
    """The launch can be run: not too many work-items, arrays not too large and of whole elements. It fulfils the
    assumptions, also those about inputs that no condition is about.
    """
    symbols = launch.symbols
    inputs = [n for n, own in symbols.known.items() if own.is_input and own.scope is Uniformity.LAUNCH]
    found: list[Condition] = symbols.about(inputs)
    count = launch.geometry.dimensions
    each = round(items ** (1 / count))
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


def launch_of(subject: Subject, launch: SymbolicLaunch, model: z3.ModelRef, loads: Sequence[Load]) -> Launch:
    """The launch of a model."""
    value = partial(terms.value_in, model)

    def input_value(symbol: Term) -> int:
        return value(launch.simplified(symbol))  # Of a symbol that is fixed the model knows nothing.

    arguments: dict[int, Argument] = {}
    for buffer in launch.buffers:
        if buffer.argument is not None:
            data = np.zeros(input_value(buffer.size), np.uint8)
            _fill(launch, value, loads, buffer.address, data)
            fulfil_elements(launch, model, buffer.argument, data)
            element = element_of(launch, buffer.argument)
            whole = data.view(element) if data.size % element.itemsize == 0 else data
            arguments[buffer.argument] = BufferArgument(whole, "bytes")
    for index, term in launch.arguments.items():
        arguments[index] = ScalarArgument(input_value(term).to_bytes(term.size() // 8, "little"))
    for index, size in launch.local_sizes.items():
        arguments[index] = LocalArgument(input_value(size))
    count = launch.geometry.dimensions
    sizes, local = (tuple(input_value(n) for n in own[:count]) for own in (launch.global_size, launch.local_size))
    return skeleton(GivenLaunch(subject.signature, arguments, sizes, local))


def _fill(
    launch: SymbolicLaunch, value: Callable[[Term], int], loads: Sequence[Load], address: int, data: Array
) -> None:
    """Put what loads gave where they loaded it."""
    for load in loads:
        loaded = load.value
        own = [b for b in launch.candidates(loaded.space, loaded.address) if b.argument is not None]
        real = launch.buffer_of(own[0].argument) if own else None
        if real is not None and real.address == address:
            at = value(load.address) - own[0].address + loaded.offset
            put(data, at, value(load.symbol).to_bytes(loaded.size, "little"))


def put(data: Array, at: int, value: bytes) -> None:
    """Write bytes into an array from a place on, if they are within it."""
    whole = data.reshape(-1).view(np.uint8)
    if 0 <= at <= whole.size - len(value):
        whole[at : at + len(value)] = np.frombuffer(value, np.uint8)


def fulfil_elements(launch: SymbolicLaunch, model: z3.ModelRef, argument: int, data: Array) -> None:
    """Replace elements against the assumptions by an element that fulfils them."""
    known = launch.known_elements.get(argument)
    if known is None:
        return
    size = known.symbol.size() // 8
    whole = data.reshape(-1).view(np.uint8)
    elements = whole[: whole.size - whole.size % size].view(f"u{size}")
    good = [
        n
        for n in np.unique(elements)[:MOST_ELEMENTS].tolist()
        if z3.is_true(model.eval(terms.condition(launch.simplified(known.of(n))), model_completion=True))
    ]
    other = terms.value_in(model, launch.simplified(known.symbol))
    elements[~np.isin(elements, np.array(good, elements.dtype))] = other


class Evidence(NamedTuple):
    """How a launch shows that a property does not hold.

    Attributes:
        check: the checks that watch it.
        found: whether a fault or a finding shows it.
        printed: the line of a launch's output that shows it; empty without one.
        is_fault: whether it is the fault that ends the launch.
    """

    check: str = ""
    found: Callable[[Diagnostic], bool] = lambda found: found.code.startswith("K")
    printed: Callable[[str], str] = lambda text: ""
    is_fault: bool = False


def run(subject: Subject, launch: Launch, evidence: Evidence, limits: Limits) -> dict[str, str]:
    """What each engine says of a launch that shows that a property does not hold; empty for nothing. The second engine
    runs it only if the first one shows something.

    Raises:
        Undecided: a limit of the proof is reached.
    """
    found: dict[str, str] = {}
    for engine in ENGINES:
        found[engine] = _run(subject, launch, engine, evidence, seconds_of_run(limits))
        if not found[engine]:
            break
    return found


def seconds_of_run(limits: Limits) -> float:
    """How long a launch may run now.

    Raises:
        Undecided: a limit of the proof is reached.
    """
    limits.check()
    return min(RUN_SECONDS, max(limits.left, 0.5))


def check_time(error: VisaError) -> None:
    """See that a launch has not ended because its time was up.

    Raises:
        Undecided: it has.
    """
    if error.diagnostics[0].code == TIMEOUT:
        raise Undecided("the time is up", None, 0) from None


def _run(subject: Subject, launch: Launch, engine: str, evidence: Evidence, seconds: float) -> str:
    try:
        result = subject.program.run(fresh_launch(launch), engine=engine, check=evidence.check, max_seconds=seconds)
        said, printed = result.diagnostics, result.printf
    except VisaError as error:
        check_time(error)
        said, printed = error.diagnostics, getattr(error, "printf", "")
    shown = next((d for d in said if evidence.found(d)), None)
    return f"{shown.message} [{shown.code}]" if shown is not None else evidence.printed(printed)


def fresh_launch(launch: Launch) -> Launch:
    """A launch with its own memory."""
    return with_args(launch, [fresh(argument) for argument in launch.args])


def with_args(launch: Launch, args: list[Argument]) -> Launch:
    """A launch with other arguments."""
    own = copy.copy(launch)
    own.args = args
    renamed = {id(old): new for old, new in zip(launch.args, args, strict=True)}
    own.names = {name: renamed[id(argument)] for name, argument in launch.names.items()}
    return own


def fresh(argument: Argument) -> Argument:
    """An argument with its own memory."""
    if not isinstance(argument, BufferArgument):
        return argument
    return BufferArgument(argument.array.copy(), argument.contents)


def write(subject: Subject, launch: Launch, folder: str, name: str, inputs: Sequence[str]) -> str:
    """Write a launch of a kernel as a launch file with its arrays; the path of the file, which begins with the kernel.

    Raises:
        FileError: F001, a file or the folder cannot be written.
    """
    make_directory(folder)
    path = os.path.join(folder, f"{subject.kernel}.{name}.json")
    arguments = dict(enumerate(launch.args))
    given = GivenLaunch(subject.signature, arguments, tuple(launch.global_size), launch.local_size)
    make_launch(path, [given], inputs)
    return path
