"""Input files of the linker: objects, bare CISA modules and ``ar`` archives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from visakit.binary import read_postponed
from visakit.diagnostics import Diagnostic, FormatError, Span
from visakit.language.program import Function, Module
from visakit.objects.container import INDEX, LINES, VISA, not_taken, read_container
from visakit.objects.index import Description, read_index
from visakit.objects.lines import Lines, read_lines

VOID_PROGRAM = "Intel_Symbol_Table_Void_Program"
"""The kernel without arguments that the compiler adds to programs with exported symbols: they count, it does not."""


@dataclass
class ObjectFile:
    """A module to be linked; ``name`` is shown in messages, ``archive(member)`` for members.

    ``left_out`` are the ids of functions that another body of their name replaces.
    ``is_compiled``: it comes out of the compiler's program binary; definitions of other objects replace its.
    """

    name: str
    module: Module
    platform: str = ""
    grf_size: int = 0
    lines: Lines = field(default_factory=dict)
    descriptions: dict[int, Description] = field(default_factory=dict)
    left_out: set[int] = field(default_factory=set)
    is_compiled: bool = False

    def described(self, function: Function) -> Description:
        """The record of a function in the index of its object."""
        description = self.descriptions.get(id(function))
        if description is None:
            description = self.descriptions[id(function)] = Description.of(function)
        return description

    @property
    def kernels(self) -> list[Function]:
        """The kernels but for the compiler's placeholder."""
        return [k for k in self.module.kernels if k.name != VOID_PROGRAM and id(k) not in self.left_out]

    @property
    def kernel_names(self) -> list[str]:
        """The names of the kernels but for the compiler's placeholder."""
        return [k.name for k in self.kernels]

    @property
    def functions(self) -> list[Function]:
        """The functions."""
        return [f for f in self.module.functions if id(f) not in self.left_out]


def pull_archive_members(
    objects: Sequence[ObjectFile], archived: Sequence[ObjectFile], entries: Sequence[str] = ()
) -> list[ObjectFile]:
    """The objects; the first archive member for each entry that no object defines; and the members that define
    undefined names, until nothing changes.
    """
    pulled = [*objects, *_holders_of_entries(objects, archived, entries)]
    providers = {f.name: member for member in reversed(archived) for f in member.module.functions}
    defined = {f.name for o in pulled for f in o.module.functions}
    for o in pulled if archived else []:  # grows while it is walked
        for function in o.module.all_functions:
            for name in o.described(function).names:
                if name not in defined and name in providers:
                    pulled.append(providers[name])
                    defined |= {f.name for f in providers[name].module.functions}
    return pulled


def _holders_of_entries(
    objects: Sequence[ObjectFile], archived: Sequence[ObjectFile], entries: Sequence[str]
) -> list[ObjectFile]:
    """The first archive member for each entry that no object defines."""
    found: list[ObjectFile] = []
    kernels = {name for o in objects for name in o.kernel_names}
    holders = {name: member for member in reversed(archived) for name in member.kernel_names}
    for entry in entries:
        if entry in holders and entry not in kernels:
            found.append(holders[entry])
            kernels.update(holders[entry].kernel_names)
    return found


def read_object(data: bytes, name: str) -> ObjectFile:
    """An object or a bare CISA module.

    Raises:
        FormatError: it is neither, or damaged.
    """
    if data[:4] == b"CISA":
        return ObjectFile(name, _read_whole(data, name))
    if data[:4] != b"\x7fELF":
        raise FormatError(not_taken("L002", "an object, a CISA module nor an archive", data, name))
    container = read_container(data, name, with_symbols=False)
    if container.executable:
        hint = "link the objects that it was made of; vlink -r makes an object that can be linked again"
        raise FormatError(Diagnostic("L003", "this is a linked image, not an object", Span(name, 0), hint))
    lines = read_lines(container.sections.get(LINES, b""), name)
    data = container.sections[VISA]
    descriptions = _descriptions(container.sections.get(INDEX, b""), data, name)
    module = _read_whole(data, name) if descriptions is None else read_postponed(data, name)
    file = ObjectFile(name, module, container.platform, container.grf_size, lines)
    if descriptions is None:
        for function in module.all_functions:
            _set_lines(lines.get(function.name, ("", []))[1], function)
        return file
    functions = module.all_functions
    if len(descriptions) != len(functions):
        raise _odd_index(name, "it is about other functions")
    for function, description in zip(functions, descriptions, strict=True):
        file.descriptions[id(function)] = description
        numbers = lines.get(function.name, ("", []))[1]
        if function.pending:
            function.pending = partial(_read_body, function.pending, description, numbers, name)
    return file


def _read_whole(data: bytes, name: str) -> Module:
    from visakit.binary import read_module  # with the table of instructions, which objects with an index do not take

    return read_module(data, name, keep_bytes=True)


Read = Callable[[Function], None]


def _descriptions(section: bytes, data: bytes, name: str) -> list[Description] | None:
    try:
        return read_index(section, data)
    except ValueError as error:
        raise _odd_index(name, str(error)) from None


def _odd_index(name: str, what: str) -> FormatError:
    return FormatError(Diagnostic("L002", f"the section '{INDEX}' does not fit the module: {what}", Span(name, 0)))


def _read_body(read: Read, description: Description, lines: list[int], name: str, function: Function) -> None:
    """Read postponed parts, but not the instructions, and compare them with the index."""
    read(function)
    if not description.fits(function):
        raise _odd_index(name, "it has other names")
    if lines and function.pending:
        function.pending = partial(_fill_with_lines, function.pending, lines)


def _set_lines(lines: list[int], function: Function) -> None:
    for i, line in zip(function.instructions, lines, strict=False):
        i.line = line


def _fill_with_lines(fill: Read, lines: list[int], function: Function) -> None:
    fill(function)
    _set_lines(lines, function)
