"""The binary object format of vISA (CISA): reader and writer, driven by the instruction table."""

from typing import TYPE_CHECKING

from visa.cisa.tables import read_postponed
from visa.lazy import lazy_attributes

if TYPE_CHECKING:
    from visa.cisa.reader import read_module
    from visa.cisa.writer import write_module
else:  # A linker does not need the table, which reading takes; a launch of known code neither.
    __getattr__, __dir__ = lazy_attributes(
        "visa.cisa", {"read_module": "visa.cisa.reader", "write_module": "visa.cisa.writer"}
    )

__all__ = ["read_module", "read_postponed", "write_module"]
