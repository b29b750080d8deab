"""The vISA language: types, instruction table, syntax tree, text and binary form; the base of the tools.

docs/python.md documents every public name.
"""

from __future__ import annotations

import os

import visakit.start  # noqa: F401 # first, so that an interrupt from here on ends a command
from visakit.lazy import lazy_attributes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from visakit.diagnostics import (
        AssemblyError,
        CostError,
        DebugError,
        Diagnostic,
        FileError,
        FormatError,
        Label,
        LaunchError,
        LinkError,
        SimulationError,
        Span,
        UsageError,
        VisaError,
        VisaWarning,
        render,
    )
    from visakit.language.program import Function, Instruction, Module
    from visakit.objects.image import LinkedImage

__version__ = "0.1.0"
__all__ = [
    "AssemblyError",
    "CostError",
    "DebugError",
    "Diagnostic",
    "FileError",
    "FormatError",
    "Function",
    "Instruction",
    "Label",
    "LaunchError",
    "LinkError",
    "Module",
    "SimulationError",
    "Span",
    "UsageError",
    "VisaError",
    "VisaWarning",
    "assemble",
    "disassemble",
    "read_module",
    "render",
    "validate",
    "write_module",
]

_FUNCTIONS = ("assemble", "disassemble", "read_module", "validate", "write_module")
_TREE = ("Function", "Instruction", "Module")
"""The syntax tree brings the instruction table with it, which not every command needs."""
__getattr__, __dir__ = lazy_attributes(
    __name__,
    dict.fromkeys(_TREE, "visakit.language.program")
    | dict.fromkeys(set(__all__) - {*_FUNCTIONS, *_TREE}, "visakit.diagnostics"),
)


def assemble(text: str, file: str | os.PathLike[str] = "<text>", platform: str | None = None) -> bytes:
    """Assemble vISA text to CISA bytes.

    Warnings are issued as :class:`VisaWarning`; :func:`vasm.assemble_text` returns them, and makes objects.

    Args:
        file: the name of the text in messages.
        platform: check against this platform; a name or another name of :mod:`visakit.language.platforms`.

    Raises:
        AssemblyError: the text has errors; all of them are in ``diagnostics``.
        UsageError: there is no such platform, or the text is no str.
    """
    from visakit.binary import write_module as encode
    from visakit.diagnostics import AssemblyError, Collector
    from visakit.text.parser import parse_module
    from visakit.usage import check_name, check_platform, check_text, warn

    collector = Collector()
    module = parse_module(
        check_text(text, "vISA text"), check_name(file, "a file"), check_platform(platform), collector
    )
    if collector.error_count:
        raise AssemblyError(collector.items)
    if collector.items:
        warn(collector.items)
    return encode(module)


def disassemble(source: bytes | bytearray | memoryview | Module | LinkedImage, name: str = "<bytes>") -> str:
    """Text of CISA bytes, an object or an image; it assembles to the same bytes. Of a zebin, the texts in it.

    Args:
        source: the bytes, or a module or image that is read already.
        name: the name of the bytes in messages.

    Raises:
        FormatError: the bytes are damaged.
        UsageError: the source has another type.
    """
    from visakit.language.program import Module
    from visakit.objects.image import LinkedImage
    from visakit.objects.zebin import is_zebin, read_zebin
    from visakit.text.printer import print_module
    from visakit.usage import check_bytes

    if isinstance(source, LinkedImage):
        return print_module(source.module)
    if not isinstance(source, Module) and is_zebin(contents := check_bytes(source, "a module")):
        return read_zebin(contents, name).text()
    return print_module(source if isinstance(source, Module) else read_module(source, name))


def read_module(data: bytes | bytearray | memoryview, name: str = "<bytes>") -> Module:
    """The syntax tree of CISA bytes, an object or an image.

    Args:
        name: the name of the bytes in messages.

    Raises:
        FormatError: the bytes are damaged.
        UsageError: they are no bytes.
    """
    from visakit.binary import read_module as decode
    from visakit.objects.container import module_bytes
    from visakit.usage import check_bytes

    return decode(module_bytes(check_bytes(data, "a module"), name), name)


def write_module(module: Module) -> bytes:
    """The CISA bytes of a syntax tree; the same tree gives the same bytes.

    Raises:
        UsageError: it is no module.
    """
    from visakit.binary import write_module as encode
    from visakit.diagnostics import UsageError
    from visakit.language.program import Module

    if not isinstance(module, Module):
        raise UsageError(f"a module is written, found {type(module).__name__}")
    return encode(module)


def validate(module: Module, grf_size: int = 32, name: str = "<module>") -> list[Diagnostic]:
    """Check that a module is whole and keeps the rules of texts, as every program does that is loaded.

    Aliases, inputs, labels, indices, masks, counts; types, classes, regions and sizes of all operands.

    Args:
        grf_size: bytes of a register, which determine the offsets of a variable's rows.
        name: the name of a module without a file in messages.

    Returns:
        Warnings: operands that reach beyond ordinary variables, and fault when they execute.

    Raises:
        FormatError: the module is not whole, or an instruction breaks a rule of texts.
        UsageError: it is no module.
    """
    from visakit.diagnostics import UsageError
    from visakit.language.program import Module
    from visakit.rules.validation import validate as check

    if not isinstance(module, Module):
        raise UsageError(f"a module is validated, found {type(module).__name__}")
    return check(module, grf_size, name)
