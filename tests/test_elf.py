"""Our reading and writing of ELF files against pyelftools and the GNU tools."""

import io
import shutil
import struct
import subprocess
import tracemalloc

import pytest
from conftest import DATA, SHARED, build
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from visa import FormatError
from visa.elf import ET_REL, SHT_NOBITS, SHT_PROGBITS, STB_LOCAL, Elf, ElfSymbol, Relocation, Section, read_elf

PARTS = Elf(
    ET_REL, 205, sections=[Section(".a", SHT_PROGBITS, b"abcdefgh", 16), Section(".b", SHT_PROGBITS, b"")],
    symbols=[ElfSymbol("far"), ElfSymbol("here", 4, 4, section=".a"), ElfSymbol("mine", binding=STB_LOCAL, section=".a"), ElfSymbol("five", 5, section="*")],
    relocations=[Relocation(".a", 0, 2, "far", -3)],
)  # fmt: skip


def peer(data):
    """Sections, symbols and relocations as pyelftools reads them."""
    elf = ELFFile(io.BytesIO(data))
    names = [s.name for s in elf.iter_sections()]
    sections = [(s.name, s.data()) for s in elf.iter_sections() if s["sh_type"] not in ("SHT_NULL", "SHT_NOBITS")]
    tables = [s for s in elf.iter_sections() if isinstance(s, SymbolTableSection)]
    symbols = [(s.name, s["st_value"], s["st_size"]) for t in tables for s in t.iter_symbols() if s.name]
    relocations = [
        (names[t["sh_info"]], r["r_offset"], r["r_info_type"], elf.get_section(t["sh_link"]).get_symbol(r["r_info_sym"]).name)
        for t in elf.iter_sections() if isinstance(t, RelocationSection) for r in t.iter_relocations()
    ]  # fmt: skip
    return sections, symbols, relocations


def ours(data):
    elf = read_elf(data, "x")
    return (
        [(s.name, s.data) for s in elf.sections if s.type != SHT_NOBITS],
        [(s.name, s.value, s.size) for s in elf.symbols],
        [(r.section, r.offset, r.kind, r.symbol) for r in elf.relocations],
    )


def files():
    yield "parts64", PARTS.write()
    yield (
        "parts32",
        Elf(PARTS.type, 77, 32, sections=PARTS.sections, symbols=PARTS.symbols, relocations=PARTS.relocations).write(),
    )
    folder = DATA / "cases" / "call_stack_recursion" / "tgllp"
    yield "image", build(folder, "tgllp").to_bytes()
    for path in sorted(SHARED.glob("abi/evidence/**/*.bin")) if SHARED.exists() else []:
        yield str(path.relative_to(SHARED)), path.read_bytes()


@pytest.mark.parametrize(("name", "data"), [pytest.param(n, d, id=n) for n, d in files()])
def test_read_like_pyelftools(name, data):
    assert ours(data) == peer(data)


@pytest.mark.parametrize("bits", [32, 64])
def test_round_trip(bits):
    data = Elf(
        PARTS.type, 205, bits, sections=PARTS.sections, symbols=PARTS.symbols, relocations=PARTS.relocations
    ).write()
    found = read_elf(data, "x")
    assert found.bits == bits and found.relocations == PARTS.relocations
    assert {s.name: s for s in found.symbols} == {s.name: s for s in PARTS.symbols}
    for cut in range(len(data)):
        with pytest.raises(FormatError):
            read_elf(data[:cut], "x")


@pytest.mark.skipif(not shutil.which("readelf"), reason="readelf is not installed (binutils)")
@pytest.mark.parametrize(("name", "data"), [pytest.param(n, d, id=n) for n, d in list(files())[:3]])
def test_gnu_tools_read_without_warnings(name, data, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(data)
    for command in (["readelf", "-a", "-W"], ["nm"], ["objdump", "-h"]):
        done = subprocess.run([*command, path], capture_output=True, text=True)
        assert "arning" not in done.stderr + done.stdout and (done.returncode == 0 or command[0] != "readelf"), (
            done.stderr
        )


def patched(size, section_type=SHT_NOBITS, count=1):
    """A file of sections of a size that they claim."""
    data = bytearray(Elf(ET_REL, 205, sections=[Section(".x", SHT_PROGBITS, b"abcd") for _ in range(count)]).write())
    table = struct.unpack_from("<Q", data, 40)[0]
    for i in range(count):
        struct.pack_into("<I", data, table + 64 * (1 + i) + 4, section_type)
        struct.pack_into("<QQ", data, table + 64 * (1 + i) + 24, 0, size)
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        patched(1 << 32), patched(1 << 63), patched((1 << 28) + 1), patched(1 << 27, count=3),
        patched(1000, SHT_PROGBITS), patched(1 << 63, SHT_PROGBITS), patched(1000, SHT_PROGBITS, 3000),
    ],
    ids=["4 GiB", "2^63", "a byte more", "together", "cut", "2^63 of contents", "one over the other"],
)  # fmt: skip
def test_sections_that_claim_too_much_are_refused_before_they_are_made(data):
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=r"claim|outside"):
            read_elf(data, "x")
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_sections_without_contents_are_zeros():
    assert read_elf(patched(100), "x").sections[0].data == bytes(100)
