"""Values of the source's variables: lane by lane, in registers of vISA, in memory, or known to the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from visakit.language import types
from vsim.debug.footprints import Holder, holder_of
from vsim.debug.locations import Location, SplitLocation
from vsim.debug.problems import EXPRESSION, problem
from vsim.debug.source.dwarf import LocationEntry, SourceType, SourceVariable
from vsim.debug.source.dwarf_places import FIRST_REGISTER, PlaceMachine, RegisterBits, UnknownLocation, ValuePart
from vsim.debug.source.variables import STACK
from vsim.debug.stopped_threads import NamedMemory, StoppedThreads
from vsim.debug.values import DebugValue
from vsim.engines.numpy.algebra import DTYPES
from vsim.launch.arrays import Array, DType
from vsim.memory.memory import Buffer

_OLD_LOCAL, _LOCAL = 0x0A, 1 << 28
"""How addresses of local memory are marked: older compilers write their space into the highest byte."""


class _Seat(NamedTuple):
    """Where a number is: in a variable of vISA, in memory, or the bytes of a constant.

    Attributes:
        size: bytes of the variable that are the number's; 0 for as many as its type has.
    """

    variable: int = -1
    byte: int = 0
    address: int = -1
    constant: bytes = b""
    size: int = 0


def source_value(stopped: StoppedThreads, name: str) -> DebugValue | NamedMemory | None:
    """The value of a variable of the source, or of a member of one; None if the source has none of this name here.

    Raises:
        DebugError: D002, the compiler does not keep it here, or it cannot be shown.
    """
    base, *path = name.split(".")
    sources, dispatch = stopped.sources, stopped.execution.dispatch
    if sources is None or stopped.activation is None:
        return None
    variable = sources.seen(stopped.function, stopped.number).get(base)
    if variable is None:
        return None
    is_argument = variable.is_parameter and variable.function == dispatch.kernel.name
    place = sources.place(variable, stopped.function, stopped.number)
    if is_argument and (place is None or variable.type.name.endswith("*")):
        return None
    if place is None:
        raise problem(EXPRESSION, f"'{base}' has no value here: the compiler keeps it nowhere", "step on, or back")
    kind, offset = _member(name, variable, path)
    try:
        return _Reading(stopped, name, kind, offset, place, kind.size < variable.type.size).value()
    except UnknownLocation as reason:
        raise problem(EXPRESSION, f"'{name}' cannot be shown: {reason}") from None


def _member(name: str, variable: SourceVariable, path: Sequence[str]) -> tuple[SourceType, int]:
    """The type of a member, and its offset in the variable."""
    own, offset = variable.type, 0
    for word in path:
        found = next((m for m in own.members if m[0] == word), None)
        if found is None:
            known = ", ".join(m[0] for m in own.members)
            raise problem(EXPRESSION, f"'{own.name}' has no member '{word}'", f"it has {known}" if known else "")
        offset, own = offset + found[1], found[2]
    if own.members:
        word = own.members[0][0]
        raise problem(EXPRESSION, f"'{name}' has members: {', '.join(m[0] for m in own.members)}", f"as {name}.{word}")
    return own, offset


def leaves(name: str, own: SourceType) -> list[str]:
    """The name of a variable, or the names of its members that have no members."""
    return [leaf for word, _, kind in own.members for leaf in leaves(f"{name}.{word}", kind)] or [name]


class _Reading:
    """Reads a number, or finds an array, in all lanes of stopped threads; ``is_part``: it is a part of a variable."""

    def __init__(
        self, stopped: StoppedThreads, name: str, kind: SourceType, offset: int, place: LocationEntry, is_part: bool
    ) -> None:
        self.stopped, self.name, self.kind, self.offset, self.place = stopped, name, kind, offset, place
        self.is_part = is_part
        self.uses_lane = False
        element = kind
        while element.items is not None:
            element = element.items
        if element.element not in types.BY_NAME:
            raise problem(EXPRESSION, f"'{name}' is of type '{kind.name}', which has no elements to show")
        self.dtype: DType = DTYPES[types.BY_NAME[element.element]]

    def value(self) -> DebugValue | NamedMemory:
        stopped, seats = self.stopped, self.seats()
        flat = [seat for row in seats for seat in row]
        if all(seat.address >= 0 for seat in flat):
            return self.in_memory(np.array([[seat.address for seat in row] for row in seats], np.uint64))
        if self.kind.items is not None:
            raise problem(EXPRESSION, f"'{self.name}' is an array that is not in memory here")
        if all(seat.constant for seat in flat):
            data = np.array([[np.frombuffer(seat.constant, self.dtype)[0] for seat in row] for row in seats])
            return DebugValue(data, self.kind.name, len(seats[0]) == stopped.simd > 1, self.name)
        if any(seat.variable < 0 for seat in flat) or any(row != seats[0] for row in seats):
            raise problem(EXPRESSION, f"'{self.name}' is not at one place here")
        return self.in_registers(seats[0])

    def seats(self) -> list[list[_Seat]]:
        """Where it is in each thread: in each lane, or once for all of them."""
        first = [self.seat(row, 0) for row in range(len(self.stopped.rows))]
        lanes = self.stopped.simd if self.uses_lane else 1
        return [[own, *(self.seat(row, lane) for lane in range(1, lanes))] for row, own in enumerate(first)]

    # -- places --------------------------------------------------------------------------------------------

    def seat(self, row: int, lane: int) -> _Seat:
        """Where it is in a lane of the thread of a row."""
        machine = PlaceMachine(lane, lambda bits: self.bits(row, bits), self.load)
        parts = machine.run(self.place.expression)
        self.uses_lane |= machine.uses_lane
        where, offset = _part_at(parts, self.offset)
        if isinstance(where, int):
            return _Seat(address=where + offset)
        if isinstance(where, bytes):
            if self.is_part and not parts[0].size:  # Compilers do not write which part of a variable they mean.
                raise UnknownLocation("the compiler does not say which part of the variable is constant")
            return _Seat(constant=(where + bytes(offset + 8))[offset : offset + self.dtype.itemsize])
        if where is None:
            raise UnknownLocation("the compiler does not keep it here")
        variable, byte = self.variable(where._replace(bit=where.bit + 8 * offset))
        return _Seat(variable, byte, size=max(0, where.size // 8 - offset))

    def variable(self, bits: RegisterBits) -> tuple[int, int]:
        """The variable of vISA that has bits of a hardware register, and the byte in it."""
        stopped, grf = self.stopped, self.stopped.execution.dispatch.grf_size
        byte = (bits.register - FIRST_REGISTER) * grf + bits.bit // 8
        assert stopped.sources is not None
        found = stopped.sources.at_register(stopped.function, stopped.number, self.place, byte, grf)
        if found is not None and found.variable in STACK and stopped.is_caller:
            raise UnknownLocation("it is on the stack of a function that waits for another; 'finish' gets there")
        if found is None:
            raise UnknownLocation(
                f"it is in r{byte // grf}.{byte % grf} of the hardware, and no variable of vISA is there alone"
            )
        return found

    def bits(self, row: int, bits: RegisterBits) -> int:
        """The number in bits of a register."""
        size = max(8, bits.size) // 8
        location = self.location(self.variable(bits), np.dtype(f"u{size}"), np.arange(1))
        return int(self.stopped.at(location, "uq", False, "").data[row, 0])

    def load(self, address: int, size: int) -> int:
        return int(self.stopped.at_address(address, np.dtype(f"u{size}"), 1).data[0, 0])

    # -- values --------------------------------------------------------------------------------------------

    def location(self, where: tuple[int, int], dtype: DType, starts: Array) -> Location:
        """Elements of a variable, from some bytes of it on."""
        stopped, (variable, byte) = self.stopped, where
        registers = stopped.registers
        root, start = registers.layout.root(variable)
        holder: Holder
        holder, at = holder_of(registers.layout, registers, root)
        if holder.kind > 0 and registers.bytes_of(root) is None and holder.owner is not None:
            raise UnknownLocation(f"no instruction uses '{stopped.function.variable_name(variable)}'")
        columns = (starts + (start + at + byte))[:, None] + np.arange(dtype.itemsize)
        return Location(holder, columns, dtype, stopped.rows)

    def in_registers(self, seats: list[_Seat]) -> DebugValue:
        """The value in variables of vISA: lanes of wide kernels are in several."""
        pieces: list[tuple[slice, Location]] = []
        first, dtype = 0, self.kept_type(seats)
        while first < len(seats):
            end = next((n for n in range(first, len(seats)) if seats[n].variable != seats[first].variable), len(seats))
            starts = np.array([seat.byte for seat in seats[first:end]])
            own = self.location((seats[first].variable, 0), dtype, starts)
            pieces.append((slice(first, end), own))
            first = end
        by_lane = len(seats) == self.stopped.simd > 1
        values = [self.stopped.at(own, self.kind.name, by_lane, self.name) for _, own in pieces]
        for value in values:
            value.data = value.data.astype(self.dtype)
        if len(pieces) == 1:
            return values[0]
        head = pieces[0][1]
        where = SplitLocation(head.holder, head.columns, dtype, head.rows, pieces=tuple(pieces))
        unknown = [v.undefined for v in values if v.undefined is not None]
        return DebugValue(
            np.concatenate([v.data for v in values], axis=1), self.kind.name, by_lane, self.name,
            np.concatenate(unknown) if len(unknown) == len(values) else None, where,
        )  # fmt: skip

    def kept_type(self, seats: list[_Seat]) -> DType:
        """The type of the number in registers: of an integer whose upper bits are 0 the compiler may keep the lower."""
        size = min((seat.size for seat in seats if seat.size), default=self.dtype.itemsize)
        if size >= self.dtype.itemsize:
            return self.dtype
        if self.dtype.kind not in "iu" or size not in (1, 2, 4):
            raise UnknownLocation(f"the compiler keeps {size} of its {self.dtype.itemsize} bytes here")
        return np.dtype(f"u{size}")

    def in_memory(self, addresses: Array) -> DebugValue | NamedMemory:
        """The value in memory, or the memory of an array."""
        stopped, size = self.stopped, self.kind.size or self.dtype.itemsize
        space = int(addresses[0, 0])
        if space >> 56 == _OLD_LOCAL or 0 <= space - _LOCAL < _LOCAL:
            batch = stopped.execution.batch
            assert batch is not None
            slm = batch.threads.slm
            starts = (addresses & np.uint64(_LOCAL - 1)).astype(np.int64) + slm.base[stopped.rows].reshape(-1, 1)
            memory = NamedMemory(self.name, slm.data, self.dtype, starts, size)
        else:
            buffer = stopped.execution.program.memory.slots.get(space >> 32)
            offsets = addresses.astype(np.int64) - (buffer.address if isinstance(buffer, Buffer) else 0)
            if not isinstance(buffer, Buffer) or offsets.min() < 0 or offsets.max() + size > buffer.size:
                raise UnknownLocation(f"there is no memory at {space:#x}")
            memory = NamedMemory(self.name, buffer.data, self.dtype, offsets, size)
        if self.kind.items is not None:
            return memory
        found = stopped.elements(memory, np.zeros((1, 1), np.int64))
        found.name, found.type = self.name, self.kind.name
        return found


def _part_at(parts: Sequence[ValuePart], offset: int) -> tuple[RegisterBits | int | bytes | None, int]:
    """The part of a value that has a byte, and how far behind its begin the byte is."""
    for part in parts:
        if not part.size or offset < part.size // 8:
            return part.where, offset
        offset -= part.size // 8
    raise UnknownLocation("the compiler does not keep this part of it")
