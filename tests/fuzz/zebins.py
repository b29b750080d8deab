"""Device binaries of the compiler (zebins): damaged as ELF files, in their texts and in their ze_info.

They go to what takes files of that kind: the linker's inputs and its ``--ze-info``, the simulator, the disassembler.
"""

from __future__ import annotations

import functools
import random
import re
import struct

import visakit
import vsim
from fuzz.mutation import mutate_bytes, mutate_text
from fuzz.reading import DATA, kept
from fuzz.target import Target
from visakit import VisaError
from visakit.objects.elf import (
    EM_INTELGT,
    ET_REL,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_PROGBITS,
    Elf,
    ElfSymbol,
    Relocation,
    Section,
    read_elf,
)
from vlink.linker import Linker, LinkOptions

SHT_ZE_INFO, SHT_VISAASM, ET_ZEBIN_EXE = 0xFF000011, 0xFF000013, 0xFF12
_NOTE_TYPES = (1, 2, 3, 4, 5)  # product family, graphics core, target metadata, version, ...


def _note(kind: int, value: bytes) -> bytes:
    """A note of the owner that zebins have."""
    name = b"IntelGT\0"
    return struct.pack("<III", len(name), len(value), kind) + name + value + bytes(-len(value) % 4)


def build(texts: list[bytes], ze_info: bytes, kind: int = ET_REL) -> bytes:
    """A zebin as the compiler writes it: texts, ze_info, data with relocations, notes; no native code."""
    elf = Elf(kind, EM_INTELGT)
    elf.sections = [Section(".text.k", SHT_PROGBITS, bytes(64), 16), Section(".data.const", SHT_PROGBITS, bytes(range(64)), 8),
                    Section(".bss.global", SHT_NOBITS, b"", 8), Section(".ze_info", SHT_ZE_INFO, ze_info),
                    *(Section(".visaasm", SHT_VISAASM, text) for text in texts),
                    Section(".note.intelgt.compat", SHT_NOTE, b"".join(_note(n, struct.pack("<I", 0x0C)) for n in _NOTE_TYPES), 4)]  # fmt: skip
    elf.symbols = [ElfSymbol("k", section=".text.k"), ElfSymbol("data", size=16, kind=1, section=".data.const")]
    elf.relocations = [Relocation(".data.const", 8, 1, "data", 4), Relocation(".text.k", 16, 2, "k")]
    return elf.write()


@functools.cache
def samples() -> list[bytes]:
    """Zebins of the cases and samples."""
    found = kept("zebin")
    for info in sorted(
        [*DATA.glob("cases/*/*/ze_info.yaml"), *(DATA.parent.parent / "samples").glob("*/ze_info.yaml")]
    ):
        texts = [p.read_bytes() for p in sorted(info.parent.glob("*.visaasm"))]
        found.append(build(texts, info.read_bytes()))
        found.append(build(texts[:1], info.read_bytes(), ET_ZEBIN_EXE))
    return [*found, *(p.read_bytes() for p in sorted(DATA.glob("cases/*/*/*.zebin")))]


# -- mutations ---------------------------------------------------------------------------------------------------------


def _changed_parts(source: random.Random, data: bytes) -> bytes:
    """Sections, symbols and relocations that do not fit each other; texts and ze_info that are changed."""
    elf = read_elf(data, "x")
    elf.sections = [
        s for s in elf.sections if s.name not in (".symtab", ".strtab", ".shstrtab") and not s.name.startswith(".rela")
    ]
    for _ in range(source.choice((1, 1, 2, 4))):
        s, what = source.choice(elf.sections), source.randrange(9)
        if what == 0:
            s.name = source.choice(
                (
                    ".visaasm.k",
                    ".visaasm",
                    ".ze_info",
                    ".data.global",
                    "",
                    ".visa",
                    ".note.visakit",
                    "x" * 300,
                    "\udcff",
                )
            )
        elif what == 1:
            s.type = source.choice((0, 1, 2, 3, 4, 7, 8, 9, SHT_ZE_INFO, SHT_VISAASM, 0xFF000009, 0xFFFFFFFF))
        elif what == 2:
            s.align, s.entry_size = source.choice((1, 4, 4096)), source.choice((0, 1, 24, 1 << 40))
        elif what == 3:
            elf.sections.append(Section(s.name, s.type, s.data))
        elif what == 4 and len(elf.sections) > 1:
            elf.sections.remove(s)
        elif what == 5:
            elf.type, elf.machine = (
                source.choice((0, 1, 2, 3, ET_ZEBIN_EXE, 0xFFFF)),
                source.choice((205, 205, 122, 62, 0)),
            )
        elif what == 6:
            s.data = mutate_bytes(source, s.data)
        else:
            texts = [x for x in elf.sections if x.name.startswith((".visaasm", ".ze_info"))]
            if texts:
                chosen = source.choice(texts)
                chosen.data = mutate_text(source, chosen.data, [x.data for x in texts])
    for s in elf.sections:
        s.align = s.align if 0 < s.align <= 1 << 20 else 1  # what can be written
    names = {s.name for s in elf.sections}
    elf.symbols = [s for s in elf.symbols if not s.section or s.section in names]
    known = {s.name for s in elf.symbols}
    elf.relocations = [r for r in elf.relocations if r.section in names and r.symbol in known]
    for r in elf.relocations:
        if source.random() < 0.2:
            r.offset, r.kind, r.addend = (
                source.choice((0, 7, 1 << 40, (1 << 64) - 1)),
                source.randrange(12),
                source.choice((0, -1, 1 << 62)),
            )
    return elf.write()


def make(seed: int) -> bytes:
    """The input of a seed."""
    source = random.Random(f"zebin {seed}")
    data = source.choice(samples())
    what = source.randrange(4)
    if what < 2:
        try:
            data = _changed_parts(source, data)
        except VisaError:  # One that is kept because it is damaged.
            what = 2
    return mutate_bytes(source, data) if what >= 2 else data


def check(data: bytes) -> str:
    """Give a file to everything that takes one. What one of them refuses, another may take."""
    refused: list[VisaError] = []
    readers = (visakit.disassemble, _link, _link_info, vsim.load)
    for reader in readers:
        try:
            reader(data)
        except VisaError as error:
            refused.append(error)
    if len(refused) == len(readers):
        raise refused[0]
    return "accepted"


def _link(data: bytes) -> None:
    linker = Linker(LinkOptions(allow_undefined=True))
    linker.add_bytes(data, "x")
    linker.run().image.to_bytes()


_NAMES = re.compile(rb"^ *-? *name: *'?(\w+)'? *$", re.MULTILINE)


def _link_info(data: bytes) -> None:
    """Link empty kernels of the names that ze_info seems to have."""
    names = dict.fromkeys(name.decode() for name in _NAMES.findall(data)[:20])
    text = ".version 4.1\n" + "".join(
        f'.kernel "{name}"\n.kernel_attr SimdSize=16\nret (M1, 1)\n' for name in names or ["k"]
    )
    linker = Linker(LinkOptions(allow_undefined=True))
    linker.add_bytes(visakit.assemble(text), "x.isa")
    linker.add_info(data, "x.zebin")
    vsim.load(linker.run().image.to_bytes())


TARGETS = [Target("zebin", "device binaries of the compiler", make, check, 1000)]
