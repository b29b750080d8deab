"""Input files of the linker: objects, bare CISA modules and ``ar`` archives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from visa.calls import Call, calls_of, describes, read_calls
from visa.cisa import read_module
from visa.container import CALLS, LINES, VISA, read_container
from visa.diagnostics import Diagnostic, FormatError, Span
from visa.lines import Lines, read_lines
from visa.program import Function, Module

VOID_PROGRAM = "Intel_Symbol_Table_Void_Program"
"""The kernel without arguments that the compiler adds to programs with exported symbols: they count, it does not."""


@dataclass
class ObjectFile:
    """A module to be linked; ``name`` is shown in messages, ``archive(member)`` for members.

    ``left_out`` are the ids of functions that another body of their name replaces.
    ``is_compiled`` says that it comes out of the compiler's program binary: what other objects define replaces it.
    """

    name: str
    module: Module
    platform: str = ""
    grf_size: int = 0
    lines: Lines = field(default_factory=dict)
    calls: dict[int, tuple[int, list[Call]]] = field(default_factory=dict)
    left_out: set[int] = field(default_factory=set)
    is_compiled: bool = False

    def described(self, function: Function) -> tuple[int, list[Call]]:
        """The number of instructions of a function, and its calls."""
        found = self.calls.get(id(function))
        if found is None:
            found = self.calls[id(function)] = len(function.instructions), calls_of(function)
        return found

    @property
    def kernels(self) -> list[Function]:
        """The kernels but for the compiler's placeholder."""
        return [k for k in self.module.kernels if k.name != VOID_PROGRAM and id(k) not in self.left_out]

    @property
    def functions(self) -> list[Function]:
        """The functions."""
        return [f for f in self.module.functions if id(f) not in self.left_out]


def pull_archive_members(objects: Sequence[ObjectFile], archived: Sequence[ObjectFile]) -> list[ObjectFile]:
    """The objects, and the members of archives that define what is still undefined, until nothing changes."""
    providers: dict[str, ObjectFile] = {}
    for member in archived:
        for function in member.module.functions:
            providers.setdefault(function.name, member)
    found = list(objects)
    defined = {f.name for o in objects for f in o.module.functions}
    for o in found if archived else []:  # grows while it is walked
        for function in o.module.all_functions:
            for name in [function.strings[call.string] for call in o.described(function)[1]]:
                if name not in defined and name in providers:
                    found.append(providers[name])
                    defined |= {f.name for f in providers[name].module.functions}
    return found


def read_object(data: bytes, name: str) -> ObjectFile:
    """An object or a bare CISA module.

    Raises:
        FormatError: it is neither, or damaged.
    """
    if data[:4] == b"CISA":
        return ObjectFile(name, read_module(data, name, keep_bytes=True))
    if data[:4] != b"\x7fELF":
        hint = "assemble texts with vasm first" if b".version" in data[:4096] else ""
        raise FormatError(
            Diagnostic("L002", "this is neither an object, a CISA module nor an archive", Span(name, 0), hint)
        )
    container = read_container(data, name)
    if container.executable:
        hint = "link the objects that it was made of; vlink -r makes an object that can be linked again"
        raise FormatError(Diagnostic("L003", "this is a linked image, not an object", Span(name, 0), hint))
    lines = read_lines(container.sections.get(LINES, b""), name)
    data = container.sections[VISA]
    calls = read_calls(container.sections.get(CALLS, b""), data)
    module = read_module(data, name, keep_bytes=True, lazy=calls is not None)
    if calls is not None and not describes(calls, module):
        raise FormatError(Diagnostic("L002", "the section '.visa.calls' does not fit the module", Span(name, 0)))
    found = ObjectFile(name, module, container.platform, container.grf_size, lines)
    for number, function in enumerate(module.all_functions):
        function.file = name
        numbers = lines.get(function.name, ("", []))[1]
        if calls is not None:
            found.calls[id(function)] = calls[number]
            if numbers and function.pending:
                function.pending = partial(_fill_with_lines, function.pending, numbers)
        else:
            _set_lines(function, numbers)
    return found


def _set_lines(function: Function, lines: list[int]) -> None:
    for i, line in zip(function.instructions, lines, strict=False):
        i.line = line


def _fill_with_lines(fill: Callable[[Function], None], lines: list[int], function: Function) -> None:
    fill(function)
    _set_lines(function, lines)
