"""Modules of the CTM target: slots, symbols, constants; objects and images as ELF32 files."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

from ctm import table
from visa.diagnostics import Diagnostic, FormatError, Span
from visa.elf import (
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
TEXT, CONSTANTS, LINES = ".text", ".ctm.constants", ".ctm.lines"


@dataclass
class Slot:
    """An instruction: its words, the symbol that its jump goes to (empty if the words are final), and its source line."""

    words: tuple[int, ...]
    target: str = ""
    line: int = 0


@dataclass
class Module:
    """An object (jumps name symbols) or an image (jumps are final)."""

    name: str = "<module>"
    slots: list[Slot] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    floats: dict[int, tuple[float, float, float, float]] = field(default_factory=dict)
    integers: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    booleans: dict[int, bool] = field(default_factory=dict)
    end: int = -1
    full: bool = True
    file: str = ""
    executable: bool = False

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
        tree = {
            "floats": self.floats,
            "integers": self.integers,
            "booleans": self.booleans,
            "end": self.end,
            "full": self.full,
            "file": self.file,
        }
        elf.sections = [
            Section(TEXT, SHT_PROGBITS, code, 8, flags=SHF_ALLOC | SHF_EXECINSTR),
            Section(CONSTANTS, SHT_PROGBITS, json.dumps(tree).encode()),
        ]
        elf.sections.append(
            Section(LINES, SHT_PROGBITS, struct.pack(f"<{len(self.slots)}I", *(s.line for s in self.slots)))
        )
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
        """The notes of the executable format: what is known of their contents, indices as words."""
        decoded = [table.decode(s.words) for s in self.slots]
        inputs = {f.get("tex_id", 0) for kind, f in decoded if kind == table.TEX}
        outputs = {
            f.get(f"{u}_target", 0)
            for kind, f in decoded
            if kind == table.OUT
            for u in ("rgb", "alpha")
            if f.get("omask_rgb" if u == "rgb" else "omask_a")
        }
        rows: list[tuple[int, Iterable[int]]] = [
            (NOTE_PROGRAM, (1, self.end, int(self.full) << 31)), (NOTE_INPUTS, sorted(inputs)), (NOTE_OUTPUTS, sorted(outputs)),
            (NOTE_FLOATS, sorted(self.floats)), (NOTE_INTEGERS, sorted(self.integers)), (NOTE_EARLY_EXIT, (0,)),
        ]  # fmt: skip
        packed = [(kind, b"".join(struct.pack("<I", n) for n in numbers)) for kind, numbers in rows]
        return b"".join(struct.pack("<3I", len(NOTE_NAME), len(data), kind) + NOTE_NAME + data for kind, data in packed)


def read_module(data: bytes, name: str) -> Module:
    """An object or image.

    Raises:
        FormatError: it is damaged, or of another machine.
    """
    elf = read_elf(data, name)
    text, constants = elf.section(TEXT), elf.section(CONSTANTS)
    size = 4 * table.WORDS
    try:
        if elf.machine != EM_ATI_R5XX or text is None or constants is None:
            raise ValueError("it is no CTM object or image")
        if len(text.data) % size:
            raise ValueError(f"{len(text.data)} bytes of code are no multiple of {size}")
        module = Module(name, executable=elf.type == ET_EXEC)
        lines = elf.section(LINES)
        numbers = struct.unpack(f"<{len(text.data) // size}I", lines.data) if lines else (0,) * (len(text.data) // size)
        words = struct.iter_unpack("<6I", text.data)
        module.slots = [Slot(w, "", line) for w, line in zip(words, numbers, strict=True)]
        tree = json.loads(constants.data)
        module.floats = {int(n): tuple(float(x) for x in v) for n, v in tree["floats"].items()}  # type: ignore[misc]
        module.integers = {int(n): tuple(int(x) for x in v) for n, v in tree["integers"].items()}  # type: ignore[misc]
        module.booleans = {int(n): bool(v) for n, v in tree["booleans"].items()}
        module.end, module.full, module.file = int(tree["end"]), bool(tree["full"]), str(tree["file"])
        if any(len(v) != 4 for v in module.floats.values()) or any(len(v) != 3 for v in module.integers.values()):
            raise ValueError("a constant has the wrong number of values")
        for s in elf.symbols:
            if s.section == TEXT:
                module.labels[s.name] = s.value // size
                if s.binding:
                    module.exported.add(s.name)
        for r in elf.relocations:
            slot = module.slots[r.offset // size]
            if slot.words[0] & 3 != table.FC:
                raise ValueError(f"a relocation at offset {r.offset:#x}, where there is no jump")
            slot.target = r.symbol
        limits = ((module.floats, 256), (module.integers, 32), (module.booleans, 32))
        if any(not 0 <= n < limit for numbers, limit in limits for n in numbers):
            raise ValueError("a constant that does not exist")
        if not -1 <= module.end < len(module.slots) or any(at > len(module.slots) for at in module.labels.values()):
            raise ValueError("a place outside the code")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, struct.error) as error:
        raise FormatError(Diagnostic("T050", f"this CTM file is damaged: {error}", Span(name, 0))) from None
    return module
