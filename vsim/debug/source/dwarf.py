"""Variables of the source, as the compiler's DWARF describes them: names, types, scopes, and expressions that say where
they are.

The parts of DWARF are read by pyelftools, of the extra ``debug``. Native offsets are those of the code of a kernel.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from visakit.language.types import SIGNED_BY_SIZE, UNSIGNED_BY_SIZE, DataType

if TYPE_CHECKING:
    from elftools.dwarf.die import DIE, AttributeValue

_LISTS = ("DW_FORM_sec_offset", "DW_FORM_data4")
_SCOPES = ("DW_TAG_lexical_block", "DW_TAG_inlined_subroutine", "DW_TAG_subprogram")
_VARIABLES = ("DW_TAG_variable", "DW_TAG_formal_parameter")
_STRIPPED = tuple(f"DW_TAG_{word}" for word in ("typedef", "const_type", "volatile_type", "restrict_type"))
_FLOATS = {2: "hf", 4: "f", 8: "df"}
_NUMBERS = (ArithmeticError, TypeError, MemoryError)
"""Besides its own errors, those of pyelftools on numbers that cannot be."""
MOST_PARTS = 64
"""Members of a structure that are shown."""

Ranges = Sequence[tuple[int, int]]


class SourceType(NamedTuple):
    """A type of the source.

    Attributes:
        name: as the source has it.
        size: in bytes.
        element: the vISA type of a number; empty for others.
        members: of a structure or vector: names, offsets in bytes, types.
        items: of an array: the type of an element.
    """

    name: str
    size: int
    element: str = ""
    members: tuple[tuple[str, int, SourceType], ...] = ()
    items: SourceType | None = None


class LocationEntry(NamedTuple):
    """An expression that says where a variable is, for native offsets from ``begin`` to before ``end``."""

    begin: int
    end: int
    expression: bytes


@dataclass(frozen=True)
class SourceVariable:
    """A variable of the source.

    Attributes:
        function: the kernel or function of the source that has it.
        begin: the native offset of this function.
        depth: of its scope; that of inner ones is larger.
        scope: native offsets in which its name means it; empty for the whole function.
        is_parameter: whether it is a parameter of a function.
    """

    name: str
    function: str
    begin: int
    type: SourceType
    depth: int
    scope: Ranges
    places: Sequence[LocationEntry]
    is_parameter: bool = False

    def is_seen_at(self, offset: int) -> bool:
        """Whether its name means it at a native offset."""
        return not self.scope or any(begin <= offset < end for begin, end in self.scope)

    def place(self, offset: int) -> LocationEntry | None:
        """Where it is at a native offset; None where the compiler keeps it nowhere."""
        return next((p for p in self.places if p.begin <= offset < p.end), None)


def read_variables(data: bytes) -> list[SourceVariable]:
    """The variables of all functions in an ELF file.

    Raises:
        ImportError: pyelftools is not installed.
        ValueError: the data is damaged.
    """
    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.construct import ConstructError

    try:
        return list(_Dwarf(data).variables())
    except (ELFError, DWARFError, ConstructError, LookupError, AttributeError, AssertionError, *_NUMBERS) as error:
        raise ValueError(f"the compiler's DWARF cannot be read: {error}") from None


class _ListEntry(Protocol):
    """An entry of a list that has native offsets; others of pyelftools lack these attributes."""

    begin_offset: int
    end_offset: int
    loc_expr: Sequence[int]


class _Lists(Protocol):
    """Lists of locations or ranges."""

    def get_location_list_at_offset(self, offset: int, die: DIE) -> Sequence[_ListEntry]:
        """Where a variable is."""

    def get_range_list_at_offset(self, offset: int) -> Sequence[_ListEntry]:
        """Where a scope is."""


class _Dwarf:
    """Reads the entries of one program."""

    def __init__(self, data: bytes) -> None:
        from elftools.elf.elffile import ELFFile

        self.info = ELFFile(io.BytesIO(data)).get_dwarf_info()
        self.lists = cast("_Lists", self.info.location_lists())
        self.ranges = cast("_Lists", self.info.range_lists())
        self.types: dict[int, SourceType] = {}

    def variables(self) -> Iterator[SourceVariable]:
        for unit in self.info.iter_CUs():
            for die in unit.get_top_DIE().iter_children():
                if die.tag == "DW_TAG_subprogram" and "DW_AT_low_pc" in die.attributes:
                    yield from self.inside(die, die, 0, self.scope(die))

    def inside(self, die: DIE, function: DIE, depth: int, scope: Ranges) -> Iterator[SourceVariable]:
        """The variables of a scope, and of those in it."""
        for child in die.iter_children():
            if child.tag in _SCOPES:
                yield from self.inside(child, function, depth + 1, self.scope(child) or scope)
            elif child.tag in _VARIABLES and (name := self.name(child)):
                is_parameter = child.tag == "DW_TAG_formal_parameter" and depth == 0
                own = self.type_of(child)
                if own is not None:
                    begin, places = function.attributes["DW_AT_low_pc"].value, list(self.places(child))
                    yield SourceVariable(name, self.name(function), begin, own, depth, scope, places, is_parameter)

    def attribute(self, die: DIE, name: str) -> AttributeValue | None:
        """An attribute of an entry, or of its abstract origin."""
        while name not in die.attributes:
            if "DW_AT_abstract_origin" not in die.attributes:
                return None
            die = die.get_DIE_from_attribute("DW_AT_abstract_origin")
        found: AttributeValue = die.attributes[name]
        return found

    def name(self, die: DIE) -> str:
        found = self.attribute(die, "DW_AT_name")
        return "" if found is None else found.value.decode("utf-8", "replace")

    def scope(self, die: DIE) -> Ranges:
        """Native offsets of a scope; empty where its entry has no ranges."""
        if "DW_AT_ranges" in die.attributes:
            entries = self.ranges.get_range_list_at_offset(die.attributes["DW_AT_ranges"].value)
            return [(e.begin_offset, e.end_offset) for e in entries if hasattr(e, "begin_offset")]
        if "DW_AT_low_pc" not in die.attributes:
            return ()
        begin, end = die.attributes["DW_AT_low_pc"].value, die.attributes["DW_AT_high_pc"]
        return [(begin, end.value if end.form == "DW_FORM_addr" else begin + end.value)]

    def places(self, die: DIE) -> Iterator[LocationEntry]:
        where, constant = die.attributes.get("DW_AT_location"), die.attributes.get("DW_AT_const_value")
        if constant is not None:
            value = constant.value
            data = value % (1 << 64) if isinstance(value, int) else int.from_bytes(bytes(value), "little")
            yield LocationEntry(0, 1 << 62, b"\x9e\x08" + data.to_bytes(8, "little"))
        elif where is not None and where.form in _LISTS:
            for entry in self.lists.get_location_list_at_offset(where.value, die):
                if hasattr(entry, "loc_expr"):
                    yield LocationEntry(entry.begin_offset, entry.end_offset, bytes(entry.loc_expr))
        elif where is not None:
            yield LocationEntry(0, 1 << 62, bytes(where.value))

    # -- types ---------------------------------------------------------------------------------------------

    def type_of(self, die: DIE) -> SourceType | None:
        if self.attribute(die, "DW_AT_type") is None:
            return None
        while "DW_AT_type" not in die.attributes:
            die = die.get_DIE_from_attribute("DW_AT_abstract_origin")
        return self.type(die.get_DIE_from_attribute("DW_AT_type"))

    def type(self, die: DIE) -> SourceType:
        known = self.types.get(die.offset)
        if known is None:
            self.types[die.offset] = SourceType(self.name(die), 0)  # Types may have themselves behind a pointer.
            known = self.types[die.offset] = self.new_type(die)
        return known

    def new_type(self, die: DIE) -> SourceType:
        if die.tag in _STRIPPED:
            own = self.type_of(die) or SourceType("void", 0)
            return own._replace(name=self.name(die) or own.name)
        size = self.attribute(die, "DW_AT_byte_size")
        count = 0 if size is None else int(size.value)
        if die.tag == "DW_TAG_pointer_type":
            target = self.type_of(die)
            return SourceType(f"{target.name if target else 'void'}*", 8, "uq")
        if die.tag == "DW_TAG_enumeration_type":
            return SourceType(self.name(die) or "enum", count, _name_of(SIGNED_BY_SIZE.get(count)))
        if die.tag == "DW_TAG_array_type":
            return self.array(die)
        if die.tag in ("DW_TAG_structure_type", "DW_TAG_union_type", "DW_TAG_class_type"):
            return SourceType(self.name(die) or "struct", count, "", tuple(self.members(die))[:MOST_PARTS])
        encoding = die.attributes.get("DW_AT_encoding")
        return SourceType(self.name(die), count, _element(0 if encoding is None else encoding.value, count))

    def members(self, die: DIE) -> Iterator[tuple[str, int, SourceType]]:
        for child in die.iter_children():
            own = self.type_of(child) if child.tag == "DW_TAG_member" else None
            if own is not None:
                offset = child.attributes.get("DW_AT_data_member_location")
                yield self.name(child), 0 if offset is None else int(offset.value), own

    def array(self, die: DIE) -> SourceType:
        items = self.type_of(die) or SourceType("void", 0)
        counts = [self.count(child) for child in die.iter_children() if child.tag == "DW_TAG_subrange_type"]
        if "DW_AT_GNU_vector" in die.attributes and counts:
            words = "xyzw" if counts[0] <= 4 else [f"s{n:x}" for n in range(counts[0])]
            members = tuple((words[n], n * items.size, items) for n in range(counts[0]))
            padded = 4 if counts[0] == 3 else counts[0]
            return SourceType(f"{items.name}{counts[0]}", items.size * padded, "", members)
        for count in reversed(counts):
            items = SourceType(f"{items.name}[{count}]", items.size * count, "", (), items)
        return items

    def count(self, die: DIE) -> int:
        found = die.attributes.get("DW_AT_count")
        last = die.attributes.get("DW_AT_upper_bound")
        return int(found.value) if found is not None else int(last.value) + 1 if last is not None else 0


def _element(encoding: int, size: int) -> str:
    """The vISA type of a base type: encodings 4 to 6 are floats and signed numbers, others have no sign."""
    if encoding == 4:
        return _FLOATS.get(size, "")
    return _name_of((SIGNED_BY_SIZE if encoding in (5, 6) else UNSIGNED_BY_SIZE).get(size))


def _name_of(data_type: DataType | None) -> str:
    return data_type.name if data_type is not None else ""
