"""The vISA language: types, instruction table, syntax tree, text and binary form. The tools stand on it."""

from __future__ import annotations

from visa.diagnostics import (
    AssemblyError,
    Diagnostic,
    FormatError,
    LaunchError,
    LinkError,
    SimulationError,
    Span,
    VisaError,
)
from visa.program import Function, Instruction, Module

__version__ = "0.1.0"
__all__ = [
    "AssemblyError",
    "Diagnostic",
    "FormatError",
    "Function",
    "Instruction",
    "LaunchError",
    "LinkError",
    "Module",
    "SimulationError",
    "Span",
    "VisaError",
    "assemble",
    "disassemble",
]  # fmt: skip


def assemble(text: str, file: str = "<text>", platform: str | None = None) -> bytes:
    """Assemble vISA text to CISA bytes.

    Raises:
        AssemblyError: the text has errors; all of them are in ``diagnostics``.
    """
    from visa.cisa import write_module
    from visa.text.parser import parse_module

    return write_module(parse_module(text, file, platform))


def disassemble(data: bytes, name: str = "<bytes>") -> str:
    """Text of CISA bytes, an object or an image; it assembles to the same bytes.

    Raises:
        FormatError: the bytes are damaged.
    """
    from visa.cisa import read_module
    from visa.container import module_bytes
    from visa.text.printer import print_module

    return print_module(read_module(module_bytes(data, name), name))
