"""What names mean in an expression: variables of a function, arguments of the kernel, memory, numbers of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from visakit.diagnostics import did_you_mean
from visakit.language import types
from visakit.language.program import FIRST_PREDICATE, FIRST_VARIABLE, PREDEFINED_VARIABLES, Function
from visakit.language.types import DataType
from vsim.debug.footprints import ADDRESS, PREDICATE, Holder, holder_of
from vsim.debug.locations import Location
from vsim.debug.problems import EXPRESSION, problem
from vsim.debug.source.values import leaves, source_value
from vsim.debug.stopped_threads import NamedMemory, StoppedThreads
from vsim.debug.values import TYPES, DebugValue
from vsim.engines.numpy.algebra import DTYPES
from vsim.engines.numpy.registers import RegisterKind
from vsim.launch.arrays import Array, DType
from vsim.launch.element_types import pointed_type
from vsim.launch.launch import BufferArgument, ScalarArgument
from vsim.launch.threads import work_item

_AXES = "xyz"
SLM_WORDS, SCRATCH_WORD = ("slm", "%slm"), "scratch"


@dataclass
class Scope(StoppedThreads):
    """Stopped threads, and what names mean in them.

    Attributes:
        convenience: values by name that the user has set, and results by number.
    """

    convenience: dict[str, DebugValue] = field(default_factory=dict)

    # -- names ---------------------------------------------------------------------------------------------

    def find(self, name: str) -> DebugValue | NamedMemory:
        """The value of a name, or the memory that it means.

        Raises:
            DebugError: D002, nothing is called so, or it has no value here.
        """
        if name[0] == "$":
            return self._special(name)
        found = (self.memory(name) if self.activation is None else None) or self.variable(name)
        found = found or source_value(self, name) or self.memory(name) or self._scalar(name)
        if found is None:
            hint = did_you_mean(name, list(self.names())) or "'info locals' and 'info args' list names"
            hint = (self.sources.problem if self.sources is not None else "") or hint
            raise problem(EXPRESSION, f"nothing is called '{name}' in '{self.function.name}'", hint)
        return found

    def names(self) -> Iterator[str]:
        """All names that have a meaning here."""
        function = self.function
        yield from self.source_names()
        for declared in (function.variables, function.predicates, function.addresses):
            yield from (d.name for d in declared)
        yield from self.execution.dispatch.signature.names_in_order
        yield from (*SLM_WORDS, SCRATCH_WORD, *(name for name, _, _ in PREDEFINED_VARIABLES[1:]))
        yield from _SPECIALS

    def source_names(self) -> list[str]:
        """Names of the source's variables here, those of structures with their members."""
        if self.sources is None or self.activation is None:
            return []
        found = self.sources.seen(self.function, self.number)
        return [leaf for variable in found.values() for leaf in leaves(variable.name, variable.type)]

    def variable(self, name: str, as_type: DataType | None = None) -> DebugValue | None:
        """A variable, predicate or address variable of the function; None if it has none of this name."""
        function, number = self.function, variable_number(self.function, name)
        if number is not None:
            return self.region(number, None, None, as_type, name)
        for n, predicate in enumerate(function.predicates, FIRST_PREDICATE):
            if predicate.name == name:
                return self._other(PREDICATE, RegisterKind.PREDICATE, n, function.predicate_bits(n), name)
        for n, address in enumerate(function.addresses):
            if address.name == name:
                return self._other(ADDRESS, RegisterKind.ADDRESS, n, max(1, address.elements), name)
        return None

    def region(
        self, var: int, begin: int | None, numbers: tuple[int, ...] | None, as_type: DataType | None, name: str
    ) -> DebugValue:
        """Elements of a variable.

        Args:
            begin: the byte at which the first one begins; None for the whole variable.
            numbers: the elements, counted from there.

        Raises:
            DebugError: D002, they are outside of the variable, or the function does not use it.
        """
        function, data_type = self.function, as_type or self.function.variable_type(var)
        grf = self.execution.dispatch.grf_size
        size = function.variable_size(var, grf)
        if numbers is None:
            numbers = tuple(range(max(1, size // data_type.size)))
        first = begin or 0
        if first + (max(numbers) + 1) * data_type.size > max(size, data_type.size):
            end = first + (max(numbers) + 1) * data_type.size
            raise problem(
                EXPRESSION, f"the elements end at byte {end} of '{function.variable_name(var)}', which has {size}"
            )
        registers = self.registers
        root, start = registers.layout.root(var)
        holder, at = holder_of(registers.layout, registers, root)
        columns = np.array(numbers)[:, None] * data_type.size + (first + start + at) + np.arange(data_type.size)
        if holder.kind > 0 and registers.bytes_of(root) is None and root >= FIRST_VARIABLE:
            raise problem(EXPRESSION, f"no instruction of '{function.name}' uses '{name}'")
        location = Location(holder, columns, DTYPES[data_type], self.rows)
        return self.at(location, data_type.name, len(numbers) == self.simd > 1 and var >= FIRST_VARIABLE, name)

    def _other(self, kind: int, of: RegisterKind, number: int, count: int, name: str) -> DebugValue:
        registers = self.registers
        if (of, number) not in registers.arrays:
            raise problem(EXPRESSION, f"no instruction of '{self.function.name}' uses '{name}'")
        is_bits = kind == PREDICATE
        location = Location(
            Holder(registers, kind, number), np.arange(count)[:, None], np.dtype("?" if is_bits else "u4"), self.rows
        )
        return self.at(location, "bool" if is_bits else "ud", is_bits and count == self.simd, name)

    # -- memory and arguments ------------------------------------------------------------------------------

    def memory(self, name: str, as_type: DataType | None = None) -> NamedMemory | None:
        """The memory that a name means: an argument's, local or scratch memory; None for other names."""
        dispatch, batch = self.execution.dispatch, self.execution.batch
        if name in SLM_WORDS or name == SCRATCH_WORD:
            if batch is None:
                raise problem(EXPRESSION, f"no group has {name} here", "'run' or 'start' begins the launch")
            space = batch.threads.slm if name != SCRATCH_WORD else batch.threads.scratch
            if not space.size:
                raise problem(EXPRESSION, f"the kernel has no {space.name}")
            return NamedMemory(name, space.data, DTYPES[as_type or types.UD], space.base[self.rows], space.size)
        number = self._argument(name)
        buffer = dispatch.arguments.buffers.get(number) if number is not None else None
        if buffer is None or number is None:
            return None
        if not buffer.size:
            raise problem(EXPRESSION, f"'{name}' has no elements")
        return NamedMemory(
            name, buffer.data, self._element_type(number, as_type), np.zeros((1, 1), np.int64), buffer.size
        )

    def _argument(self, name: str) -> int | None:
        names = self.execution.dispatch.signature.names_in_order
        return names.index(name) if name in names else None

    def _element_type(self, number: int, as_type: DataType | None) -> DType:
        if as_type is not None:
            return DTYPES[as_type]
        declared = pointed_type(self.execution.dispatch.signature.argument_types.get(number, ""))
        given = self.execution.launch.args[number]
        own = given.array.dtype if isinstance(given, BufferArgument) else np.dtype("u1")
        found = own if own.kind in "iuf" and own.itemsize > 1 else declared or own
        return found if found.kind in "iufb" else np.dtype("u1")

    def _scalar(self, name: str) -> DebugValue | None:
        """An argument that is a number."""
        number = self._argument(name)
        if number is None:
            return None
        signature, given = self.execution.dispatch.signature, self.execution.launch.args[number]
        if not isinstance(given, ScalarArgument):
            raise problem(EXPRESSION, f"argument '{name}' is no number and no buffer")
        declared = signature.argument_types.get(number, "").partition(";")[0]
        word = "".join(c for c in declared if c.isalpha())
        kind = TYPES.get(word) or types.UNSIGNED_BY_SIZE.get(len(given.data), types.UB)
        data = np.frombuffer(given.data[: len(given.data) // kind.size * kind.size], DTYPES[kind])
        return DebugValue(data.reshape(1, -1), kind.name, False, name)

    # -- numbers of threads --------------------------------------------------------------------------------

    def _special(self, name: str) -> DebugValue:
        if name in self.convenience:
            return self.convenience[name]
        maker = _SPECIALS.get(name)
        if maker is None:
            hint = did_you_mean(name, [*_SPECIALS, *self.convenience])
            raise problem(EXPRESSION, f"there is no '{name}'", hint or f"there are {', '.join(_SPECIALS)}")
        if self.execution.batch is None:
            raise problem(EXPRESSION, f"no thread runs that has '{name}'")
        return maker(self)

    def numbers(self) -> tuple[Array, Array]:
        """Linear group and thread of each row."""
        batch = self.execution.batch
        assert batch is not None
        groups, threads = batch.numbers()
        return groups[self.rows], threads[self.rows]

    def work_items(self, axis: int, of_group: bool) -> Array:
        """Global or local ids of the lanes."""
        batch = self.execution.batch
        assert batch is not None
        dispatch = self.execution.dispatch
        found = np.zeros((self.rows.size, self.simd), np.int64)
        for n, row in enumerate(self.rows.tolist()):
            group, thread = batch.members[row]
            own = batch.groups[group]
            for lane in range(self.simd):
                x = work_item(dispatch, own, thread, lane)[axis]
                begin = own.id[axis] * dispatch.local_size[axis] + dispatch.offset[axis]
                found[n, lane] = x - begin if of_group else x
        return found


def variable_number(function: Function, name: str) -> int | None:
    """The number of a general variable, declared or predefined."""
    for number, variable in enumerate(function.variables, FIRST_VARIABLE):
        if variable.name == name:
            return number
    return next((n for n, (own, _, _) in enumerate(PREDEFINED_VARIABLES) if own == name), None)


def _column(numbers: Array) -> Array:
    return np.asarray(numbers, np.int64).reshape(-1, 1)


def _group_id(scope: Scope, axis: int) -> Array:
    batch = scope.execution.batch
    assert batch is not None
    return _column(np.array([batch.groups[batch.members[row][0]].id[axis] for row in scope.rows.tolist()]))


def _of_axis(axis: int, find: Callable[[Scope, int], Array], by_lane: bool) -> Callable[[Scope], DebugValue]:
    return lambda scope: DebugValue(find(scope, axis), "q", by_lane)


_SPECIALS: dict[str, Callable[[Scope], DebugValue]] = {
    "$group": lambda s: DebugValue(_column(s.numbers()[0]), "q"),
    "$thread": lambda s: DebugValue(_column(s.numbers()[1]), "q"),
    "$lane": lambda s: DebugValue(np.arange(s.simd)[None, :].astype(np.int64), "q", True),
    "$time": lambda s: DebugValue(np.array([[s.execution.time]], np.int64), "q"),
    **{f"$group_{a}": _of_axis(n, _group_id, False) for n, a in enumerate(_AXES)},
    **{f"$item_{a}": _of_axis(n, lambda s, n: s.work_items(n, False), True) for n, a in enumerate(_AXES)},
    **{f"$local_{a}": _of_axis(n, lambda s, n: s.work_items(n, True), True) for n, a in enumerate(_AXES)},
}
"""Numbers of threads by name."""
