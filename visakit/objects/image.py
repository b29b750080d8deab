"""Linked images: the output of the linker and the input of the simulator."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from visakit.binary import read_postponed
from visakit.diagnostics import Diagnostic, FormatError, Label, Span
from visakit.file_kinds import kind_of
from visakit.language.program import FIRST_VARIABLE, Function, Instruction, Module
from visakit.objects import yaml_tree, ze_info
from visakit.objects.container import DATA_PREFIX, LAUNCH, LINES, VISA, ZE_INFO, Container, not_taken, read_container
from visakit.objects.elf import STT_FUNC, STT_OBJECT, ElfSymbol
from visakit.objects.lines import Lines, read_lines, write_lines
from visakit.objects.yaml_lines import Tree

if TYPE_CHECKING:
    from visakit.language.source_lines import SourceFiles

FUNCTION_BASE, FUNCTION_STEP = 0x1000, 0x40
DATA_BASE, SLOT = 0x7000_0000_0000, 1 << 32
DATA_END = 0x8000_0000_0000
SLOT_OFFSET = 0x10000
"""Data sections and buffers begin this far into their 4 GiB slot.

So no pointer has a zero low half, and small underruns are caught.
"""

ZeInfo = Tree


class KernelSummary(NamedTuple):
    """Facts of the instructions of a kernel and its callees that every launch needs; a launch that has them reads no
    instructions (:mod:`vsim.analysis.summary` makes it).

    Attributes:
        instructions: how many the kernel itself has.
        repeats: whether some of these may run more than once.
        has_barrier: whether the kernel itself waits for the other threads of its group.
        waits_elsewhere: whether threads wait for each other at named or split barriers, or in functions.
        spins: whether threads may wait in loops until others write to memory.
        needs_order: whether results depend on the order of the groups.
        asks_for_ids: whether functions may read sizes or ids where a driver leaves them.
        counts_threads: whether the kernel reads the number of its thread.
        calls: whether the kernel calls functions.
        apart: what must share no memory if the order is to make no difference (:class:`vsim.analysis.atomics.Order`).
    """

    instructions: int
    repeats: bool
    has_barrier: bool
    waits_elsewhere: bool
    spins: bool
    needs_order: bool
    asks_for_ids: bool
    counts_threads: bool
    calls: bool
    apart: tuple[int, ...]


Summaries = Mapping[str, KernelSummary]
"""Those of some kernels of an image, by name."""
Known = Callable[[bytes, int], Summaries | None]
"""Maps the bytes of code and of a register to the summary of code that was read and validated before."""


@dataclass
class DataSection:
    """Constant or global data at a fixed simulated address."""

    name: str
    address: int
    contents: bytes
    writable: bool


@dataclass(repr=False)
class LinkedImage:
    """A module whose calls are resolved, with addresses, data and facts for the launcher.

    Attributes:
        module: the syntax tree of all kernels and functions.
        symbols: kernels, functions and data with their addresses, as ELF has them.
        data: constant and global data.
        ze_info: the compiler's description of the kernels, as JSON or YAML; may be empty.
        launch: the launch file that was put into the image, as JSON; may be empty.
        platform: the name of the platform; may be empty.
        grf_size: bytes of a register.
        lines: source file and lines of functions, by name.
        file: its name in messages.
        register_overrun: whether address variables may reach beyond their variable, into other variables whose
            addresses are taken and the registers between them. Files do not keep it.
        lenient_reads: whether loads at one address give zeros beyond the end of their buffer, and reads of registers by
            address give zeros outside of variables, in launches without checks: compilers emit both, and drop the
            results. Files do not keep it.
        local_step: the size of local memory is a multiple of it, in bytes. Files do not keep it.
        compiled: whether a compiler made its texts, which can say lines of the program that was compiled. Files do not
            keep it.
        approximate: whether sines, cosines, powers and logarithms of floats are only as exact as hardware must be,
            which is faster. Files do not keep it.
        runs_once: whether kernels may be launched once each, as those of programs that others generate: a first launch
            is tried on the reference engine. Files do not keep it.
        code: the bytes that the module was read from; empty if it was made otherwise.
        summaries: summaries of code that was read and validated before; None if all code is read.
        texts: gives the texts of a program that are not files, by their names in ``lines``, FILE and LOC.
        file_of_text: writes one of ``texts``, by its name, to a file, and gives the path; None if there is no such
            text, or the file cannot be written.
        zebin: gives the compiler's program that the image was made of; nothing if it was made otherwise.
    """

    module: Module
    symbols: list[ElfSymbol] = field(default_factory=list)
    data: list[DataSection] = field(default_factory=list)
    ze_info: str = ""
    launch: str = ""
    platform: str = ""
    grf_size: int = 32
    lines: Lines = field(default_factory=dict)
    file: str = "<image>"
    register_overrun: bool = False
    lenient_reads: bool = False
    local_step: int = 1
    compiled: bool = False
    approximate: bool = False
    runs_once: bool = False
    code: bytes = field(default=b"", compare=False)
    summaries: Summaries | None = field(default=None, compare=False)
    texts: Callable[[], Mapping[str, str]] = field(default=dict, compare=False)
    file_of_text: Callable[[str], str | None] = field(default=lambda name: None, compare=False)
    zebin: Callable[[], bytes] = field(default=bytes, compare=False)

    def __repr__(self) -> str:
        names = ", ".join(k.name for k in self.module.kernels)
        return f"<LinkedImage of {names or 'no kernel'} for {self.platform or 'any platform'}>"

    def to_bytes(self, code: bytes = b"") -> bytes:
        """The ELF file of the image.

        Args:
            code: the module as CISA bytes, if they are at hand.
        """
        from visakit.binary import write_module

        container = Container(
            True, {VISA: code or write_module(self.module)}, self.symbols, self.platform, self.grf_size
        )
        if self.lines:
            container.sections[LINES] = write_lines(self.lines)
        if self.ze_info:
            container.sections[ZE_INFO] = self.ze_info.encode()
        if self.launch:
            container.sections[LAUNCH] = self.launch.encode()
        for section in self.data:
            head = struct.pack("<QB", section.address, section.writable)
            container.sections[DATA_PREFIX + section.name] = head + section.contents
        return container.write()

    @property
    def is_read(self) -> bool:
        """Whether instructions were read, and so may have changed; else :attr:`code` has them."""
        return any(function.pending is None for function in self.module.all_functions)

    def module_bytes(self) -> bytes:
        """The module as CISA bytes."""
        if not self.is_read:
            return self.code
        from visakit.binary import write_module

        return write_module(self.module)

    def read_all(self) -> None:
        """Read postponed parts, before several threads use them, or the module is changed."""
        for function in self.module.all_functions:
            function.instructions  # noqa: B018

    def address_of(self, name: str) -> int | None:
        """Address of a kernel, function or data symbol."""
        return next((s.value for s in self.symbols if s.name == name and s.section), None)

    @staticmethod
    def function_address(index: int) -> int:
        """Address of a function by its index in the module (kernels first)."""
        return FUNCTION_BASE + index * FUNCTION_STEP

    def function_at(self, address: int) -> Function | None:
        """The function at an address."""
        index, rest = divmod(address - FUNCTION_BASE, FUNCTION_STEP)
        functions = self.module.all_functions
        return functions[index] if not rest and len(self.module.kernels) <= index < len(functions) else None

    def callee(self, function: Function, name: int) -> Function | None:
        """The function that a call in a function means by a string; None if the linker left it undefined."""
        index = dict(function.function_relocations).get(name)
        return None if index is None else self.module.functions[index]

    def symbol_address(self, function: Function, name: int) -> int | None:
        """The address that a function means by a string: of a function, or of data; None if it is undefined."""
        index = dict(function.function_relocations).get(name)
        return (
            self.address_of(function.strings[name])
            if index is None
            else self.function_address(len(self.module.kernels) + index)
        )

    def functions_of(self, kernel: Function) -> list[Function]:
        """A kernel and the functions that it may call."""
        return [kernel, *self.module.functions]

    def span(self, function: Function, line: int) -> Span:
        """A source line of a function."""
        return Span(self.lines.get(function.name, (function.file or self.file, []))[0], line)

    def place(self, function: Function, instruction: Instruction | None) -> tuple[Span, tuple[Label, ...]]:
        """The place of an instruction of a function, and further places of it.

        Where FILE and LOC tell, that is a line of the program that was compiled, else one of the text that was
        assembled. The contents of the line are known if the file is beside the image or in the working directory, or
        is one of :attr:`texts`.
        """
        from visakit.language.source_lines import SourcePlace, source_lines

        files = self.source_files()
        own = self.span(function, instruction.line if instruction else 0)
        own = files.span(SourcePlace(own.file, own.line))
        number = next((n for n, i in enumerate(function.instructions) if i is instruction), None)
        origin = None if number is None else source_lines(function)[number]
        if origin is None:
            return own, ()
        labels = (Label(own, "the instruction is here"),) if own.line else ()
        return files.span(origin), labels

    def declaration(self, function: Function, variable: int) -> Span | None:
        """Where a general variable of a function is declared; None if that is not known."""
        from visakit.language.source_lines import SourcePlace

        file, numbers = self.lines.get(function.name, ("", []))
        at = len(function.instructions) + variable - FIRST_VARIABLE
        if variable < FIRST_VARIABLE or at >= len(numbers) or not numbers[at]:
            return None
        return self.source_files().span(SourcePlace(file, numbers[at]))

    def source_files(self) -> SourceFiles:
        """The files and texts whose lines messages show."""
        from visakit.language.source_lines import SourceFiles  # which most images do without

        return SourceFiles((os.path.dirname(self.file), ""), within=True, texts=self.texts())

    def line_hint(self, function: Function) -> str:
        """How to see lines of the program that was compiled, of code of a compiler that does not say them."""
        from visakit.language.source_lines import source_lines

        if not self.compiled or any(source_lines(function)):
            return ""
        return "build with -g to see the OpenCL line (visakit exec -g, vsim --build-options=-g)"

    def ze_info_tree(self) -> ZeInfo:
        """``.ze_info`` as a tree.

        Raises:
            FormatError: it is not YAML.
        """
        return parse_ze_info(self.ze_info, self.file, is_linked=True) if self.ze_info else {}


def parse_ze_info(text: str, name: str, is_linked: bool = False) -> ZeInfo:
    """The YAML of a ``.ze_info`` section; JSON, which images hold, is YAML too.

    Values are checked, but for JSON of images (``is_linked``): the linker did so when it wrote it, and a launch reads
    those of its kernel.

    Raises:
        FormatError: it is not YAML, or not a mapping with ``kernels``, or contradicts itself.
    """
    tree, lines = yaml_tree.parse(text, name)
    if not isinstance(tree, dict) or not isinstance(tree.get("kernels", []), list):
        raise FormatError(Diagnostic("C021", "ze_info must be a mapping with a list 'kernels'", Span(name, 0)))
    if lines.mappings or not is_linked:
        ze_info.check(tree, lines, name)
    return tree


def read_image(data: bytes, name: str = "<image>", known: Known | None = None) -> LinkedImage:
    """Parse an image.

    Args:
        known: if it knows the code, instructions are read on first use.

    Raises:
        FormatError: it is not an image (an object must be linked first), or it is damaged.
    """
    if data[:4] == b"CISA":
        raise FormatError(
            Diagnostic(
                "C030", "this is a bare CISA module, not an image", Span(name, 0), f"link it: vlink {name} -o image.bin"
            )
        )
    if kind_of(name, data):
        raise FormatError(not_taken("C010", "an image nor the compiler's program binary", data, name))
    container = read_container(data, name)
    if not container.executable:
        raise FormatError(
            Diagnostic("C030", "this is an object, not an image", Span(name, 0), f"link it: vlink {name} -o image.bin")
        )
    image = _with_code(container, name, known)
    try:
        image.ze_info = container.sections.get(ZE_INFO, b"").decode()
        image.launch = container.sections.get(LAUNCH, b"").decode()
        for section, contents in container.sections.items():
            if section.startswith(DATA_PREFIX):
                address, writable = struct.unpack_from("<QB", contents)
                image.data.append(DataSection(section.removeprefix(DATA_PREFIX), address, contents[9:], bool(writable)))
        _check_data(image.data)
    except (ValueError, struct.error) as error:
        raise FormatError(Diagnostic("C031", f"the image is damaged: {error}", Span(name, 0))) from None
    return image


def _with_code(container: Container, name: str, known: Known | None) -> LinkedImage:
    """An image with its code and the source lines of that."""
    code, grf_size = container.sections[VISA], container.grf_size or 32
    summaries = known(code, grf_size) if known else None
    whole = _read_whole(code, name) if summaries is None else None
    lines = read_lines(container.sections.get(LINES, b""), name)
    numbers = {function: numbers for function, (_, numbers) in lines.items()}
    module = _read_later(code, name, numbers) if whole is None else _with_lines(whole, numbers)
    for function in module.all_functions:
        if function.name in lines:
            function.file, _ = lines[function.name]
    return LinkedImage(
        module,
        container.symbols,
        platform=container.platform,
        grf_size=grf_size,
        lines=lines,
        file=name,
        code=code,
        summaries=summaries,
    )


def _read_whole(code: bytes, name: str) -> Module:
    from visakit.binary import read_module  # with the table

    return read_module(code, name)


def _with_lines(module: Module, lines: Mapping[str, Sequence[int]]) -> Module:
    for function in module.all_functions:
        for i, line in zip(function.instructions, lines.get(function.name, ()), strict=False):
            i.line = line
    return module


def _read_later(code: bytes, name: str, lines: Mapping[str, Sequence[int]]) -> Module:
    """A validated module: declarations, and instructions on first use."""
    module = read_postponed(code, name, lines)
    for function in module.all_functions:
        function.attributes  # noqa: B018  All that is declared is read now: several threads may ask for it.
        function.encoded = None  # Users of the instructions may change them.
    return module


def _check_data(sections: list[DataSection]) -> None:
    """Data sections are in the address range for data and share no slot: the simulator has a table of slots.

    Raises:
        ValueError: a section is outside of the range, or two share a slot.
    """
    end = DATA_BASE
    for s in sorted(sections, key=lambda s: s.address):
        if not DATA_BASE <= s.address <= DATA_END - len(s.contents):
            raise ValueError(f"data section {s.name!r:.80} lies at {s.address:#x}, outside the addresses of data")
        if s.address < end:
            raise ValueError(f"data section {s.name!r:.80} lies at {s.address:#x}, in the slot of another one")
        end = (s.address + max(len(s.contents), 1) + SLOT - 1) // SLOT * SLOT


__all__ = ["DATA_BASE", "STT_FUNC", "STT_OBJECT", "DataSection", "LinkedImage", "parse_ze_info", "read_image"]
