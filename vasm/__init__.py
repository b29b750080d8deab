"""The assembler: vISA text to objects. docs/python.md documents every public name."""

from __future__ import annotations

import visakit.start  # noqa: F401 # first, so that an interrupt from here on ends a command

# isort: split

from typing import TYPE_CHECKING

from visakit.lazy import lazy_attributes

if TYPE_CHECKING:
    from vasm.assembler import Assembly, assemble_text

__all__ = ["Assembly", "assemble_text"]
__getattr__, __dir__ = lazy_attributes(__name__, dict.fromkeys(__all__, "vasm.assembler"))
