"""The binary object format of vISA (CISA): reader and writer, driven by the instruction table."""

from typing import TYPE_CHECKING

from visakit.binary.reader import read_module, read_postponed
from visakit.lazy import lazy_attributes

if TYPE_CHECKING:
    from visakit.binary.writer import write_module
else:  # A linker does not need the table, which writing takes; a launch of known code neither.
    __getattr__, __dir__ = lazy_attributes("visakit.binary", {"write_module": "visakit.binary.writer"})

__all__ = ["read_module", "read_postponed", "write_module"]
