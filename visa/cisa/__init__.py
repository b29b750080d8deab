"""The binary object format of vISA (CISA): reader and writer, driven by the instruction table."""

from visa.cisa.reader import read_module
from visa.cisa.writer import write_module

__all__ = ["read_module", "write_module"]
