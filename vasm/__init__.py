"""The assembler: vISA text to objects."""

from vasm.assembler import Assembly, assemble_text

__all__ = ["Assembly", "assemble_text"]
