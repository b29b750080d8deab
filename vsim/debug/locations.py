"""Where values are: bytes of registers, bits of predicates, bytes of memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vsim.debug.footprints import ADDRESS, FILE, MEMORY, PREDICATE, Holder, Use
from vsim.engines.numpy.registers import RegisterFile, RegisterKind
from vsim.engines.numpy.threads import HardwareThreads
from vsim.launch.arrays import Array, Bytes, DType, address_of


@dataclass(frozen=True)
class Location:
    """Elements of a type somewhere.

    Attributes:
        holder: the register or memory that has them.
        columns: bytes of each element there, elements x bytes; of memory rows x elements x bytes of ``data``.
        rows: the threads of the batch, by row.
        data: the memory.
        name: of the memory in messages.
    """

    holder: Holder
    columns: Array
    dtype: DType
    rows: Array
    data: Bytes | None = None
    name: str = ""

    @property
    def parts(self) -> list[tuple[slice, Location]]:
        """Elements that have one holder, and where they are: all of them."""
        return [(slice(None), self)]

    def of_element(self, n: int) -> Location:
        """Where one element is."""
        return replace(self, columns=self.columns[..., n : n + 1, :])

    @property
    def is_memory(self) -> bool:
        """Whether it is memory, and no register."""
        return self.holder.kind == MEMORY

    def wanted(self, row: int) -> Array:
        """The bytes (of predicates bits) of a thread, as :meth:`vsim.debug.footprints.Use.elements` wants them."""
        if self.data is None:
            return self.columns.reshape(-1)
        n = int(np.flatnonzero(self.rows == row)[0]) if len(self.columns) > 1 else 0
        found: Array = self.columns[n].reshape(-1) + address_of(self.data)
        return found

    def use(self, row: int, threads: int) -> Use:
        """The elements of a thread of so many, as an operand that is written."""
        columns = self.wanted(row).reshape(self.columns.shape[-2:])
        lanes = np.zeros((threads, len(columns)), bool)
        lanes[row] = True
        return Use(self.holder, True, columns, lanes)

    def write(self, threads: HardwareThreads, values: Array) -> None:
        """Change the elements of all rows: rows x elements, or one row for all."""
        for n, row in enumerate(self.rows.tolist()):
            own = np.ascontiguousarray(values[n if len(values) > 1 else 0])
            own = np.broadcast_to(own, self.columns.shape[-2])
            if self.data is not None:
                columns = self.columns[n if len(self.columns) > 1 else 0]
                self.data[columns] = np.ascontiguousarray(own).view(np.uint8).reshape(columns.shape)
            else:
                self._write_register(threads, row, own)

    def _write_register(self, threads: HardwareThreads, row: int, values: Array) -> None:
        target = array_of(self.holder, threads)
        if self.holder.kind in (PREDICATE, ADDRESS):
            target[row, self.columns[:, 0]] = values
        else:
            target[row, self.columns] = np.ascontiguousarray(values).view(np.uint8).reshape(self.columns.shape)


@dataclass(frozen=True)
class SplitLocation(Location):
    """Elements that several holders have: variables of the source in wide kernels. ``holder`` and ``columns`` are those
    of the first part.

    Attributes:
        pieces: numbers of elements, and where they are.
    """

    pieces: tuple[tuple[slice, Location], ...] = ()

    @property
    def parts(self) -> list[tuple[slice, Location]]:
        return list(self.pieces)

    def of_element(self, n: int) -> Location:
        part, own = next((part, own) for part, own in self.pieces if part.start <= n < part.stop)
        return own.of_element(n - part.start)

    def write(self, threads: HardwareThreads, values: Array) -> None:
        count = self.pieces[-1][0].stop
        values = np.broadcast_to(values, (len(values), count))
        for part, own in self.pieces:
            own.write(threads, values[:, part])


def array_of(holder: Holder, threads: HardwareThreads) -> Array:
    """The array behind a holder that is no memory, with a row for each thread."""
    if holder.owner is None:
        return threads.predefined(holder.kind)
    kinds = {FILE: RegisterKind.FILE, PREDICATE: RegisterKind.PREDICATE, ADDRESS: RegisterKind.ADDRESS}
    kind = kinds.get(holder.kind, RegisterKind.VARIABLE)
    number = 0 if holder.kind == FILE else holder.number if kind is not RegisterKind.VARIABLE else holder.kind
    return holder.owner.arrays[kind, number]


def shadow_of(holder: Holder) -> Array | None:
    """The shadow of a holder: which bits are undefined; None where nothing watches that."""
    shadow: RegisterFile | None = None if holder.owner is None else holder.owner.shadow
    if shadow is None or holder.kind in (ADDRESS, MEMORY):
        return None
    kind = {FILE: RegisterKind.FILE, PREDICATE: RegisterKind.PREDICATE}.get(holder.kind, RegisterKind.VARIABLE)
    number = 0 if holder.kind == FILE else holder.number if holder.kind == PREDICATE else holder.kind
    return shadow.arrays.get((kind, number))
