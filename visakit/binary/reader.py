"""CISA bytes to a module. Errors have the damaged bytes and their offset."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from visakit.binary.declarations import SAMPLERS, SURFACES, VARIABLE, exists, illegal_attributes, illegal_declarations
from visakit.binary.tables import Reader, check_range, function_table, kernel_table, version_of
from visakit.diagnostics import Diagnostic, FormatError
from visakit.language import types
from visakit.language.program import (
    BODY,
    Attribute,
    Declared,
    Function,
    Input,
    LabelName,
    Module,
    Variable,
    predefined_strings,
)

if TYPE_CHECKING:
    from visakit.binary.codec import Operands

_NONE_DECLARED = bytes(9)
"""Three counts of two bytes, three of one: no addresses, predicates, labels, samplers, surfaces and VME variables."""


_ATTRIBUTE = struct.Struct("<IB")
"""Name and size of an attribute's value."""


def read_module(
    data: bytes,
    name: str = "<bytes>",
    *,
    keep_going: list[Diagnostic] | None = None,
    keep_bytes: bool = False,
) -> Module:
    """Parse a CISA module.

    With ``keep_bytes`` functions remember their bytes, so that writing them again costs nothing. With ``keep_going``
    damage inside a function is appended there, and the function keeps the part read before it.

    Raises:
        FormatError: the bytes are not a CISA module, are damaged, or have a version that is not known.
    """
    r = Reader(data, name)
    module = Module(version_of(r))
    ranges = [(f, offset, size) for f, offset, size, _ in (*kernel_table(r, module), *function_table(r, module))]
    from visakit.binary.codec import new_operands  # with the table

    operands = new_operands()
    for function, offset, size in ranges:
        check_range(r, function, offset, size)
        try:
            inputs = _FunctionReader(r, offset, size, operands).read(function)
            if keep_bytes:
                function.encoded = data[offset : offset + size], inputs
        except FormatError as error:
            if keep_going is None:
                raise
            keep_going.extend(error.diagnostics)
            _drop_dangling(function)
    return module


def read_postponed(data: bytes, name: str, lines: Mapping[str, Sequence[int]] | None = None) -> Module:
    """A validated module. Functions keep their bytes, and are read on first use; instructions are decoded on their
    first use.

    Args:
        lines: the source lines of the first instructions of functions, by name.

    Raises:
        FormatError: the bytes are not a CISA module, or its tables are damaged.
    """
    r = Reader(data, name)
    module = Module(version_of(r))
    ranges = [*kernel_table(r, module, postponed=True), *function_table(r, module, postponed=True)]
    for function, offset, size, inputs in ranges:
        check_range(r, function, offset, size)
        function.encoded = data[offset : offset + size], inputs
        numbers = lines.get(function.name, ()) if lines else ()
        function.pending = functools.partial(_read_body, r, offset, size, numbers)
    return module


def _read_body(r: Reader, offset: int, size: int, lines: Sequence[int], function: Function) -> None:
    """Read the declarations of a postponed function; its instructions are decoded on their first use."""
    for name, empty in BODY.items():
        setattr(function, name, empty())
    _FunctionReader(r, offset, size, lines=lines).read(function, lazy=True)


@functools.cache
def _predefined(version: tuple[int, int]) -> tuple[tuple[str, ...], bytes]:
    strings = predefined_strings(version)
    return strings, "".join(s + "\0" for s in strings).encode()


def _usual_strings(name: str, version: tuple[int, int]) -> tuple[list[str], bytes]:
    """The function's name and the predefined names, with which nearly every string pool begins, and their bytes."""
    strings, data = _predefined(version)
    return [name, *strings], name.encode("utf-8", "surrogateescape") + b"\0" + data


def _dangling(function: Function) -> Iterator[Variable | Input]:
    """Aliases of variables, and inputs into variables, that do not exist."""
    for v in function.variables:
        if v.alias and not exists(function, VARIABLE, v.alias[0]):
            yield v
    for i in function.inputs:
        if i.variable_class > 2 or not exists(function, (VARIABLE, SAMPLERS, SURFACES)[i.variable_class], i.index):
            yield i


def _drop_dangling(function: Function) -> None:
    """Make the readable part of a damaged function whole in itself."""
    for item in list(_dangling(function)):
        if isinstance(item, Variable):
            item.alias = None
        else:
            function.inputs = [i for i in function.inputs if i is not item]


class _FunctionReader:
    """Reads one kernel or function from its own bytes, so that damage cannot lead into the next one."""

    def __init__(
        self, r: Reader, offset: int, size: int, operands: Operands | None = None, lines: Sequence[int] = ()
    ) -> None:
        self.operands, self.lines = operands, lines
        self.r = Reader(r.data, r.name, offset, offset + size)
        self.start = offset

    def read(self, function: Function, lazy: bool = False) -> int:
        """Parse the function; gives the offset of its inputs, counted from its beginning."""
        r = self.r
        part = f"of {function.name}"
        self.strings(function, part)
        function.name_index = r.number("<I")
        self.variables(function, part)
        if r.data.startswith(_NONE_DECLARED, r.position, r.end):
            r.position += len(_NONE_DECLARED)
        else:
            self.declarations(function, part)
        inputs = r.position - self.start
        if function.is_kernel:
            for _ in range(r.count("<I", 9, f"inputs {part}")):
                function.inputs.append(Input(*r.take("<BIhH")))
        r.what = f"declarations {part}"
        if problem := illegal_declarations(function):
            raise r.fail(problem)
        for item in _dangling(function):
            what = f"variable '{item.name}' is an alias" if isinstance(item, Variable) else "an input is the value"
            raise r.fail(f"{what} of something that does not exist")
        r.what = f"code {part}"
        if function.is_kernel:
            size, entry, attributes = r.take("<IIH")
        else:
            size, entry, function.input_size, function.return_size, attributes = r.take("<IIBBH")
        function.attributes = self.attributes(function, attributes)
        if problem := illegal_attributes(function):
            raise r.fail(problem)
        position = self.start + entry
        if position < r.position or position + size > r.end:
            raise r.fail(f"{size} bytes of code at offset {position:#x} do not fit in the body")
        if lazy:
            function.postpone(functools.partial(self.code, position, position + size))
        else:
            self.code(position, position + size, function)
        return inputs

    def strings(self, function: Function, part: str) -> None:
        """The string pool."""
        r = self.r
        count = r.count("<I", 1, f"strings {part}")
        usual, usual_bytes = _usual_strings(function.name, function.version)
        if count > len(usual) and r.data.startswith(usual_bytes, r.position, r.end):
            function.strings += usual
            r.position += len(usual_bytes)
        left = count - len(function.strings)
        parts = r.data[r.position : r.end].split(b"\0", left)
        if len(parts) > left:  # All of them end.
            end = r.end - len(parts[-1])
            if left:
                text = r.data[r.position : end - 1].decode("utf-8", "surrogateescape")
                function.strings += text.split("\0")
            r.position = end
            return
        for _ in range(left):
            end = r.data.find(b"\0", r.position, r.end)
            if end < 0:
                raise r.fail("a string does not end")
            function.strings.append(r.bytes(end - r.position).decode("utf-8", "surrogateescape"))
            r.position += 1

    def variables(self, function: Function, part: str) -> None:
        """The general variables."""
        r, new = self.r, function.version >= (4, 2)
        for _ in range(r.count("<I", 16 if new else 15, f"variables {part}")):
            at = r.position + 4
            if new:
                string, code, align, elements, index, byte, rest, attributes = r.take("<IBBHIHBB")
            else:
                string, code, elements, index, byte, rest, attributes = r.take("<IBHIHBB")
                code, align = code & 15, code >> 4
            if code not in types.BY_CODE or align >= len(types.ALIGNMENTS):
                raise r.fail(f"type {code} with alignment {align} does not exist", at)
            if rest:
                raise r.fail(f"a variable has {rest} in place of 0", at)
            name, found = self.string(function, string), self.attributes(function, attributes)
            alias = (index, byte) if index or byte else None
            function.variables.append(Variable(string, name, types.BY_CODE[code], elements, align, alias, found))

    def declarations(self, function: Function, part: str) -> None:
        """All but the general variables."""
        r = self.r
        for items, what in ((function.addresses, "addresses"), (function.predicates, "predicates")):
            self.declared(function, items, "<H", f"{what} {part}")
        for _ in range(r.count("<H", 6, f"labels {part}")):
            string, kind, attributes = r.take("<IBB")
            function.labels.append(LabelName(string, self.string(function, string), kind))
            if attributes:
                raise r.fail("a label has attributes")
        for items, what in ((function.samplers, "samplers"), (function.surfaces, "surfaces")):
            self.declared(function, items, "<B", f"{what} {part}")
        if r.number("<B"):
            raise r.fail("VME variables have no public layout")

    def string(self, function: Function, index: int) -> str:
        if index >= len(function.strings):
            raise self.r.fail(f"string {index} does not exist, there are {len(function.strings)}")
        return function.strings[index]

    def code(self, position: int, end: int, function: Function) -> None:
        from visakit.binary.code_reader import read_code  # with the table

        read_code(self.r, position, end, self.operands, self.lines, function)

    def declared(self, function: Function, items: list[Declared], fmt: str, what: str) -> None:
        for _ in range(self.r.count(fmt, 7, what)):
            string, elements, attributes = self.r.take("<IHB")
            items.append(
                Declared(string, self.string(function, string), elements, self.attributes(function, attributes))
            )

    def attributes(self, function: Function, count: int) -> list[Attribute]:
        if not count:
            return []
        attributes, r = [], self.r
        data, strings = r.data, function.strings
        for _ in range(count):
            start = r.position + _ATTRIBUTE.size
            if start > r.end:
                r.take("<IB")  # which says so
            string, size = _ATTRIBUTE.unpack_from(data, r.position)
            r.position = start
            value = r.bytes(size) if size else None
            name = strings[string] if string < len(strings) else self.string(function, string)
            attributes.append(Attribute(string, name, value))
        return attributes
