"""A module as CISA bytes (manual, chapter 4), complete and in the container form without native code."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from visakit.collector import paused_collection
from visakit.diagnostics import UsageError
from visakit.language.program import MAXIMUM_PREDICATES, Attribute, Declared, Function, Instruction, Module, Variable

_MAGIC = b"CISA"


def write_module(module: Module) -> bytes:
    """The bytes of a module; nothing in them depends on time or place.

    Raises:
        UsageError: a value exceeds its field, or the tree is not a module's.
    """
    with paused_collection():
        try:
            return _write(module)
        except (struct.error, OverflowError, ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
            raise UsageError(f"this module cannot be written: {_reason(module, error)}") from error


def _reason(module: Module, error: Exception) -> str:
    """Which count or which function does not fit into the format."""
    for what, number, limit in _counts(module):
        if number > limit:
            return f"{what}: {number}, at most {limit} fit into the format"
    for function in module.all_functions:
        try:
            _EncodedFunction(function, _encoder())
        except Exception as inner:
            return f"'{function.name}': {inner or type(inner).__name__}"
    return str(error)


def _counts(module: Module) -> Iterator[tuple[str, int, int]]:
    """Counts of one or two bytes: name, value and limit."""
    yield "kernels", len(module.kernels), 0xFFFF
    yield "functions", len(module.functions), 0xFFFF
    for f in module.all_functions:
        yield f"bytes of the name '{f.name[:20]}...'", len(f.name.encode("utf-8", "surrogatepass")), 0xFFFF
        yield f"addresses of '{f.name}'", len(f.addresses), 0xFFFF
        yield f"predicates of '{f.name}'", len(f.predicates), MAXIMUM_PREDICATES
        yield f"labels of '{f.name}'", len(f.labels), 0xFFFF
        yield f"samplers of '{f.name}'", len(f.samplers), 0xFF
        yield f"surfaces of '{f.name}'", len(f.surfaces), 0xFF
        yield f"attributes of '{f.name}'", len(f.attributes), 0xFFFF
        yield f"relocations of '{f.name}'", max(len(f.variable_relocations), len(f.function_relocations)), 0xFFFF
        declared: list[Variable | Declared] = [*f.variables, *f.addresses, *f.predicates, *f.samplers, *f.surfaces]
        for v in declared:
            yield f"elements of '{v.name}'", v.elements, 0xFFFF
            yield f"attributes of '{v.name}'", len(v.attributes), 0xFF
        for a in f.attributes:
            yield f"bytes of attribute {a.name}", len(a.value or b""), 0xFF


Encode = Callable[[Sequence[Instruction]], list[bytes]]


def _encoder() -> Encode:
    """The encoder of instructions. It needs the table, unlike the copy of a function."""
    from visakit.binary.codec import Encoder

    return Encoder().encode


def _no_instructions(instructions: Sequence[Instruction]) -> list[bytes]:
    raise AssertionError("all functions were encoded")


def _write(module: Module) -> bytes:
    encode = _encoder() if any(f.encoded is None for f in module.all_functions) else _no_instructions
    functions = [_EncodedFunction(f, encode) for f in module.all_functions]
    names = [f.name.encode("utf-8", "surrogateescape") for f in module.all_functions]
    header_size = len(_MAGIC) + 2 + 2 + 2 + 2
    for function, name in zip(module.all_functions, names, strict=True):
        relocations = 4 + 4 * (len(function.variable_relocations) + len(function.function_relocations))
        header_size += (2 + len(name) + 12 + 1 + 9 if function.is_kernel else 1 + 2 + len(name) + 8) + relocations
    out = [_MAGIC, struct.pack("<BBH", *module.version, len(module.kernels))]
    offset = header_size
    for function, name, coded in zip(module.all_functions, names, functions, strict=True):
        if len(out) == 2 + len(module.kernels):
            out.append(struct.pack("<HH", 0, len(module.functions)))
        size = len(coded.data)
        relocations_table = _relocations(function)
        if function.is_kernel:
            place = struct.pack("<III", offset, size, offset + coded.input_offset)
            gen = struct.pack("<BBII", 1, 0, offset + size, 0)
            out.append(struct.pack("<H", len(name)) + name + place + relocations_table + gen)
        else:
            out.append(
                struct.pack("<BH", function.linkage, len(name))
                + name
                + struct.pack("<II", offset, size)
                + relocations_table
            )
        offset += size
    if not module.functions:
        out.append(struct.pack("<HH", 0, 0))
    return b"".join(out + [f.data for f in functions])


_NO_RELOCATIONS = bytes(2)


def _relocations(function: Function) -> bytes:
    return _table(function.variable_relocations) + _table(function.function_relocations)


def _table(pairs: list[tuple[int, int]]) -> bytes:
    """A count and as many pairs."""
    return struct.pack(f"<H{2 * len(pairs)}H", len(pairs), *chain(*pairs)) if pairs else _NO_RELOCATIONS


def _attributes(items: list[Attribute]) -> bytes:
    values = [(a.string, a.value or b"") for a in items]
    return b"".join(struct.pack("<IB", string, len(value)) + value for string, value in values)


def _declared(items: list[Declared]) -> bytes:
    return b"".join(
        struct.pack("<IHB", d.string, d.elements, len(d.attributes)) + _attributes(d.attributes) for d in items
    )


class _EncodedFunction:
    """Bytes of one function and the place of its input table."""

    def __init__(self, function: Function, encode: Encode) -> None:
        if function.encoded is not None:
            self.data, self.input_offset = function.encoded
            return
        new = function.version >= (4, 2)
        out = [struct.pack("<I", len(function.strings))]
        out += [s.encode("utf-8", "surrogateescape") + b"\0" for s in function.strings]
        out.append(struct.pack("<II", function.name_index, len(function.variables)))
        for v in function.variables:
            index, byte = v.alias or (0, 0)
            props = struct.pack("<BB", v.type.code, v.align) if new else bytes([v.type.code | v.align << 4])
            record = (
                struct.pack("<I", v.string)
                + props
                + struct.pack("<HIHBB", v.elements, index, byte, 0, len(v.attributes))
            )
            out.append(record + _attributes(v.attributes))
        out.append(struct.pack("<H", len(function.addresses)) + _declared(function.addresses))
        if len(function.predicates) > MAXIMUM_PREDICATES:
            raise OverflowError("too many predicates")
        out.append(struct.pack("<H", len(function.predicates)) + _declared(function.predicates))
        out.append(
            struct.pack("<H", len(function.labels))
            + b"".join(struct.pack("<IBB", n.string, n.kind, 0) for n in function.labels)
        )
        out.append(struct.pack("<B", len(function.samplers)) + _declared(function.samplers))
        out.append(struct.pack("<B", len(function.surfaces)) + _declared(function.surfaces))
        out.append(b"\0")
        self.input_offset = sum(map(len, out))
        if function.is_kernel:
            out.append(struct.pack("<I", len(function.inputs)))
            out += [struct.pack("<BIhH", i.kind, i.index, i.offset, i.size) for i in function.inputs]
        code = b"".join(encode(function.instructions))
        attributes = struct.pack("<H", len(function.attributes)) + _attributes(function.attributes)
        trailer = (
            attributes
            if function.is_kernel
            else struct.pack("<BB", function.input_size, function.return_size) + attributes
        )
        entry = sum(map(len, out)) + 8 + len(trailer)
        out.append(struct.pack("<II", len(code), entry))
        self.data = b"".join([*out, trailer, code])
