"""Shader modules of the CTM target: instructions, symbols, constants; objects and images as ELF32 files."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict

import visakit.ctm.table as table
from visakit.diagnostics import Diagnostic, FormatError, Span
from visakit.objects.elf import (
    EM_ATI_R5XX,
    ET_EXEC,
    ET_REL,
    PF_R,
    PF_X,
    PT_LOAD,
    PT_NOTE,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHT_NOTE,
    SHT_PROGBITS,
    Elf,
    ElfSymbol,
    Relocation,
    Section,
    read_elf,
)

ELFOSABI_ATI, ABI_VERSION, EF_ATI_DPP = 98, 1, 1
R_CTM_JUMP = 1
"""The only relocation: add the target's slot to bits 24:16 of the word at the offset."""
NOTE_NAME = b"ATI DPP\0"
NOTE_PROGRAM, NOTE_INPUTS, NOTE_OUTPUTS, NOTE_FLOATS, NOTE_INTEGERS, NOTE_EARLY_EXIT = 1, 2, 3, 5, 6, 7
TEXT, CONSTANTS, LINES, LAUNCH = ".text", ".ctm.constants", ".ctm.lines", ".ctm.launch"


class _Constants(TypedDict):
    """The section of constants, as JSON."""

    floats: Mapping[int, Sequence[float]]
    integers: Mapping[int, Sequence[int]]
    booleans: Mapping[int, bool]
    end: int
    full: bool
    file: str
    plain: NotRequired[Mapping[str, bool]]


FloatConstant = tuple[float, float, float, float]
IntConstant = tuple[int, int, int]
"""Turns of a loop, first value of aL, step."""


@dataclass
class InstructionSlot:
    """An instruction: its words, the symbol that its jump goes to (empty if the words are final), its source line."""

    words: tuple[int, ...]
    target: str = ""
    line: int = 0


@dataclass
class ShaderModule:
    """An object (jumps name symbols) or an image (jumps are final).

    Attributes:
        labels: slots by name; those of ``exported`` are functions that other modules may call.
        end: the slot that the program ends after; -1 if it has none.
        full: whether it asks for the machine's full mode, which has loops and subroutines.
        file: the source text, for messages.
        plain: of an object, whether functions are plain (keep no branch counters), by name: its own functions, and its
            assumption about others. Old objects do not say.
        launch: the launch file that was put into the image, as JSON; may be empty.
    """

    name: str = "<module>"
    slots: list[InstructionSlot] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    floats: dict[int, FloatConstant] = field(default_factory=dict)
    integers: dict[int, IntConstant] = field(default_factory=dict)
    booleans: dict[int, bool] = field(default_factory=dict)
    end: int = -1
    full: bool = True
    file: str = ""
    executable: bool = False
    plain: dict[str, bool] = field(default_factory=dict)
    launch: str = ""

    def to_bytes(self) -> bytes:
        """The ELF32 file."""
        elf = Elf(
            ET_EXEC if self.executable else ET_REL,
            EM_ATI_R5XX,
            32,
            flags=EF_ATI_DPP,
            os_abi=ELFOSABI_ATI,
            abi_version=ABI_VERSION,
        )
        code = b"".join(struct.pack("<6I", *s.words) for s in self.slots)
        tree: _Constants = {
            "floats": self.floats,
            "integers": self.integers,
            "booleans": self.booleans,
            "end": self.end,
            "full": self.full,
            "file": self.file,
        }
        if self.plain:
            tree["plain"] = self.plain
        elf.sections = [
            Section(TEXT, SHT_PROGBITS, code, 8, flags=SHF_ALLOC | SHF_EXECINSTR),
            Section(CONSTANTS, SHT_PROGBITS, json.dumps(tree).encode()),
        ]
        elf.sections.append(
            Section(LINES, SHT_PROGBITS, struct.pack(f"<{len(self.slots)}I", *(s.line for s in self.slots)))
        )
        if self.launch:
            elf.sections.append(Section(LAUNCH, SHT_PROGBITS, self.launch.encode()))
        if self.executable:
            elf.sections.append(Section(".note", SHT_NOTE, self._notes(), 4))
            elf.segments = [(PT_LOAD, PF_R | PF_X, TEXT), (PT_NOTE, PF_R, ".note")]
        size = 4 * table.WORDS
        elf.symbols = [
            ElfSymbol(n, at * size, binding=int(n in self.exported or self.executable), section=TEXT)
            for n, at in self.labels.items()
        ]
        targets = [(n, s.target) for n, s in enumerate(self.slots) if s.target]
        elf.symbols += [ElfSymbol(name) for name in dict.fromkeys(t for _, t in targets) if name not in self.labels]
        elf.relocations = [Relocation(TEXT, n * size + 12, R_CTM_JUMP, target) for n, target in targets]
        return elf.write()

    def _notes(self) -> bytes:
        """The notes of the executable format: the known contents, indices as words."""
        decoded = [table.decode(s.words) for s in self.slots]
        inputs = {f.get("tex_id", 0) for kind, f in decoded if kind == table.TEX}
        outputs = {
            f.get(f"{unit}_target", 0)
            for kind, f in decoded
            if kind == table.OUT
            for unit, mask in (("rgb", "omask_rgb"), ("alpha", "omask_a"))
            if f.get(mask)
        }
        rows: list[tuple[int, Iterable[int]]] = [
            (NOTE_PROGRAM, (1, self.end, int(self.full) << 31)),
            (NOTE_INPUTS, sorted(inputs)),
            (NOTE_OUTPUTS, sorted(outputs)),
            (NOTE_FLOATS, sorted(self.floats)),
            (NOTE_INTEGERS, sorted(self.integers)),
            (NOTE_EARLY_EXIT, (0,)),
        ]
        packed = [(kind, b"".join(struct.pack("<I", n) for n in numbers)) for kind, numbers in rows]
        return b"".join(struct.pack("<3I", len(NOTE_NAME), len(data), kind) + NOTE_NAME + data for kind, data in packed)


def read_module(data: bytes, name: str) -> ShaderModule:
    """An object or image.

    Raises:
        FormatError: it is damaged, or of another machine.
    """
    elf = read_elf(data, name)
    try:
        text, constants = elf.section(TEXT), elf.section(CONSTANTS)
        if elf.machine != EM_ATI_R5XX or text is None or constants is None:
            raise ValueError("it is not a CTM object or image")
        module = ShaderModule(name, executable=elf.type == ET_EXEC)
        module.slots = _read_slots(text.data, elf.section(LINES))
        _read_constants(module, json.loads(constants.data))
        _read_symbols(module, elf)
        launch = elf.section(LAUNCH)
        module.launch = launch.data.decode() if launch else ""
    except (
        ValueError,
        KeyError,
        IndexError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
        struct.error,
    ) as error:
        raise FormatError(Diagnostic("T050", f"this CTM file is damaged: {error}", Span(name, 0))) from None
    return module


def _read_slots(code: bytes, lines: Section | None) -> list[InstructionSlot]:
    size = 4 * table.WORDS
    if len(code) % size:
        raise ValueError(f"{len(code)} bytes of code are not a multiple of {size}")
    count = len(code) // size
    numbers = struct.unpack(f"<{count}I", lines.data) if lines else (0,) * count
    return [
        InstructionSlot(words, "", line) for words, line in zip(struct.iter_unpack("<6I", code), numbers, strict=True)
    ]


def _read_constants(module: ShaderModule, tree: _Constants) -> None:
    """What :meth:`ShaderModule.to_bytes` writes as JSON; in a damaged file ``tree`` is something else, which raises."""
    for number, values in tree["floats"].items():
        module.floats[int(number)] = _float_constant(values)
    for number, parts in tree["integers"].items():
        module.integers[int(number)] = _integer_constant(parts)
    module.booleans = {int(n): bool(v) for n, v in tree["booleans"].items()}
    module.end, module.full, module.file = int(tree["end"]), bool(tree["full"]), str(tree["file"])
    module.plain = {str(name): bool(v) for name, v in tree.get("plain", {}).items()}
    for numbers, limit in (
        (module.floats, table.FLOAT_CONSTANTS),
        (module.integers, table.INT_CONSTANTS),
        (module.booleans, table.BOOL_CONSTANTS),
    ):
        if any(not 0 <= n < limit for n in numbers):
            raise ValueError("a constant that does not exist")
    if not -1 <= module.end < len(module.slots):
        raise ValueError("a place outside the code")


def _float_constant(values: Sequence[float]) -> FloatConstant:
    if len(values) != 4:
        raise ValueError("a constant has the wrong number of values")
    if any(x != x for x in values):
        raise ValueError("a constant is not a number")
    x, y, z, w = map(float, values)
    return x, y, z, w


def _integer_constant(values: Sequence[int]) -> IntConstant:
    if len(values) != 3:
        raise ValueError("a constant has the wrong number of values")
    if any(not low <= x <= high for x, (_, low, high) in zip(values, table.INT_CONSTANT, strict=True)):
        raise ValueError("an integer constant is out of range")
    count, start, step = map(int, values)
    return count, start, step


def _read_symbols(module: ShaderModule, elf: Elf) -> None:
    """Labels, and the symbols that jumps go to."""
    size = 4 * table.WORDS
    for symbol in elf.symbols:
        if symbol.section == TEXT:
            module.labels[symbol.name] = symbol.value // size
            if symbol.binding:
                module.exported.add(symbol.name)
    if any(at > len(module.slots) for at in module.labels.values()):
        raise ValueError("a place outside the code")
    for relocation in elf.relocations:
        slot = module.slots[relocation.offset // size]
        if slot.words[0] & 3 != table.FC:
            raise ValueError(f"a relocation at offset {relocation.offset:#x}, where there is no jump")
        slot.target = relocation.symbol
