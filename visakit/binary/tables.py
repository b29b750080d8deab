"""The tables of CISA bytes, with the offsets of the functions of a module."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator

from visakit.diagnostics import Diagnostic, FormatError, Span, counted
from visakit.language.program import Function, Module

_VERSIONS = ((4, 0), (4, 1), (4, 2))
_layout = functools.cache(struct.Struct)

_NO_RELOCATIONS = bytes(4)
"""Two counts of two bytes."""


class Reader:
    """A place in CISA bytes."""

    def __init__(self, data: bytes, name: str, position: int = 0, end: int | None = None) -> None:
        self.data, self.name, self.position, self.what = data, name, position, "header"
        self.end = len(data) if end is None else end

    def fail(self, message: str, offset: int | None = None, code: str = "C001", hint: str = "") -> FormatError:
        at = self.position if offset is None else offset
        return FormatError(
            Diagnostic(code, f"{message} (in the {self.what}, at offset {at:#x})", Span(self.name, 0), hint)
        )

    def take(self, fmt: str) -> tuple[int, ...]:
        """The numbers of a record."""
        layout, position = _layout(fmt), self.position
        size = layout.size
        if position + size > self.end:
            raise self.fail(f"the file ends here, {counted(size, 'more byte')} expected")
        self.position = position + size
        return layout.unpack_from(self.data, position)

    def number(self, fmt: str) -> int:
        """A record of one number."""
        return self.take(fmt)[0]

    def bytes(self, size: int) -> bytes:
        if self.position + size > self.end:
            raise self.fail(f"the file ends here, {size} more bytes expected")
        self.position += size
        return self.data[self.position - size : self.position]

    def name_field(self) -> str:
        return self.bytes(self.number("<H")).decode("utf-8", "surrogateescape")

    def count(self, fmt: str, record: int, what: str) -> int:
        """A count that the rest of the file can hold."""
        self.what = what
        start = self.position
        number = self.number(fmt)
        if number * record > self.end - self.position:
            raise self.fail(f"{number} records cannot follow in {len(self.data) - self.position} bytes", start)
        return number


def _postponed(name: str, is_kernel: bool, version: tuple[int, int], file: str, linkage: int = 0) -> Function:
    """A function with empty fields; its bytes have the contents."""
    function = Function.__new__(Function)
    function.name, function.is_kernel, function.version, function.file, function.line = (
        name,
        is_kernel,
        version,
        file,
        0,
    )
    function.linkage, function.variable_relocations, function.function_relocations = linkage, [], []
    function.encoded = function.pending = None
    return function


def check_range(r: Reader, function: Function, offset: int, size: int) -> None:
    """The bytes of a function begin after the tables."""
    if offset + size > len(r.data) or (offset < r.position and size):
        r.what = f"body of {function.name}"
        raise r.fail(f"{function.name} should be {size} bytes at {offset:#x}, but the file has {len(r.data)} bytes")
    if not size:
        r.what = f"body of {function.name}"
        raise r.fail(f"{function.name} has no body")


def version_of(r: Reader) -> tuple[int, int]:
    """The version of the format, after the magic number; 4.0 is read as 4.1, as they do not differ."""
    if r.data[:4] != b"CISA":
        raise r.fail("this is not a CISA module: it does not begin with the bytes 'CISA'", 0)
    r.position = 4
    version = (r.number("<B"), r.number("<B"))
    if version not in _VERSIONS:
        message = f"version {version[0]}.{version[1]} of the format is not known"
        raise r.fail(message, 4, hint="this tool reads 4.0, 4.1 and 4.2")
    return (4, 2) if version == (4, 2) else (4, 1)


Place = tuple[Function, int, int, int]
"""A function with offset and size of its bytes, and the offset of its inputs in these, where the table has that."""


def kernel_table(r: Reader, module: Module, postponed: bool = False) -> Iterator[Place]:
    """The kernels, still empty or with postponed contents."""
    r.what = "kernel table"
    for _ in range(r.number("<H")):
        name = r.name_field()
        if postponed:
            function = _postponed(name, True, module.version, r.name)
        else:
            function = Function(name, True, module.version, file=r.name)
        offset, size, inputs = r.take("<III")
        _relocations(r, function)
        binaries = []
        for _ in range(r.number("<B")):
            platform, start, length = r.take("<BII")
            binaries.append((platform, r.data[start : start + length]))
        module.gen_binaries.append(binaries)
        module.kernels.append(function)
        yield function, offset, size, inputs - offset


def function_table(r: Reader, module: Module, postponed: bool = False) -> Iterator[Place]:
    """The functions, likewise."""
    r.what = "file-scope variables"
    if r.number("<H"):
        raise r.fail("file-scope variables have no public layout")
    r.what = "function table"
    for _ in range(r.number("<H")):
        linkage = r.number("<B")
        name = r.name_field()
        if postponed:
            function = _postponed(name, False, module.version, r.name, linkage)
        else:
            function = Function(name, False, module.version, file=r.name, linkage=linkage)
        offset, size = r.take("<II")
        _relocations(r, function)
        module.functions.append(function)
        yield function, offset, size, 0


def _relocations(r: Reader, function: Function) -> None:
    if r.data.startswith(_NO_RELOCATIONS, r.position, r.end):
        r.position += len(_NO_RELOCATIONS)
        return
    for table in (function.variable_relocations, function.function_relocations):
        for _ in range(r.number("<H")):
            string, index = r.take("<HH")
            table.append((string, index))
