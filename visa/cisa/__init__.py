"""The binary object format of vISA (CISA): reader and writer, driven by the instruction table."""

from typing import TYPE_CHECKING

from visa.cisa.tables import read_postponed
from visa.cisa.writer import write_module
from visa.lazy import lazy_attributes

if TYPE_CHECKING:
    from visa.cisa.reader import read_module
else:  # With the table, which a linker does not need.
    __getattr__, __dir__ = lazy_attributes("visa.cisa", {"read_module": "visa.cisa.reader"})

__all__ = ["read_module", "read_postponed", "write_module"]
