"""How often compiled code saw values under keys (``support/values.ll``)."""

from __future__ import annotations

import ctypes

import numpy as np

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.tables import Range
from vsim.launch.arrays import Offsets, Words, address_of

_EMPTY = ctypes.CFUNCTYPE(None)


class CountedValues:
    """A table, and the records that were taken out of it.

    Args:
        words: where compiled code finds it: the fields ``VALUES_`` of :mod:`abi`.
    """

    def __init__(self, words: Words) -> None:
        self.words = words
        self.table: Words = np.zeros((1 << cx.VALUES_TABLE_BITS, cx.VALUES_RECORD // 8), np.uint64)
        self._emptied: list[Offsets] = []
        self._empties = _EMPTY(self._empty)
        words[cx.VALUES_TABLE // 8] = address_of(self.table)
        words[cx.VALUES_EMPTY // 8] = ctypes.cast(self._empties, ctypes.c_void_p).value or 0

    def ranges(self) -> list[Range]:
        """The memory of the table."""
        return [(address_of(self.table), self.table.nbytes, True)]

    def _empty(self) -> None:
        """Empty the table, of which compiled code has filled half."""
        self._emptied.append(self.table[self.table[:, 0] != 0].view(np.int64))
        self.table[:] = 0
        self.words[cx.VALUES_COUNT // 8] = 0

    def found(self) -> dict[int, Offsets]:
        """By key the values and how often each was seen: values x 2."""
        self._empty()
        records = np.concatenate(self._emptied)
        records = records[np.lexsort((records[:, 1], records[:, 0]))]
        if not len(records):
            return {}
        keys, values = records[:, 0], records[:, 1]
        begins = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]) | (values[1:] != values[:-1])))
        found = np.column_stack((values[begins], np.add.reduceat(records[:, 2], begins)))
        of_keys, at = np.unique(keys[begins], return_index=True)
        return dict(zip(of_keys.tolist(), np.split(found, at[1:]), strict=True))
