"""Our reading and writing of ELF files against pyelftools and the GNU tools."""

import io
import shutil
import struct
import subprocess
import tracemalloc

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection
from support.programs import DATA, SHARED, build

import vasm
import visakit
import visakit.objects.container
import vlink
import vsim
from visakit import FormatError
from visakit.objects.elf import (
    ET_REL,
    SHT_NOBITS,
    SHT_PROGBITS,
    STB_LOCAL,
    Elf,
    ElfSymbol,
    Relocation,
    Section,
    read_elf,
)

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


TWO_FUNCTIONS = """.version 4.1
.kernel "shown"
.decl P v_type=G type=uq num_elts=1 align=qword
.decl V v_type=G type=ud num_elts=16 align=GRF
.input P offset=32 size=8
faddr table P(0,0)<1>
fcall (M1_NM, 1) "own" 0 1
svm_block_ld (4) P(0,0)<0;1,0> V.0
ret (M1, 1)
.global_function "own"
.kernel_attr RetValSize=1
mov (M1, 8) %retval(0,0)<1> 7:ud
fret (M1, 1)
"""


@pytest.fixture
def two_functions(tmp_path):
    """An object and an image with a kernel, a private function and data."""
    assembly = vasm.assemble_text(TWO_FUNCTIONS, "two.visaasm", "tgllp")
    image = vlink.link([assembly.object_bytes(True)], None, vlink.LinkOptions(data={"table": bytes(64)}))
    (tmp_path / "two.o").write_bytes(assembly.object_bytes(True))
    (tmp_path / "two.bin").write_bytes(image.to_bytes())
    return tmp_path


def tool(name, *words):
    """The output of a tool of binutils; the test is skipped without it."""
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed (binutils)")
    return subprocess.run([name, *words], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("file", ["two.o", "two.bin"])
def test_nm_and_size_know_code(file, two_functions):
    letters = {line.split()[-1]: line.split()[-2] for line in tool("nm", two_functions / file).splitlines()}
    assert letters["shown"] == "T" and letters["own"] == "t" and letters["table"] == ("U" if file == "two.o" else "A")
    text = int(tool("size", two_functions / file).splitlines()[1].split()[0])
    module = visakit.objects.container.read_container((two_functions / file).read_bytes(), file).sections
    assert text == sum(len(data) for name, data in module.items() if name == ".visa" or name.startswith(".visa.data."))


def test_strip_and_objcopy(two_functions):
    """Stripped objects link, copied images run, a section is the bare module (docs/linking.md)."""
    o, image = two_functions / "two.o", two_functions / "two.bin"
    module = visakit.disassemble(o.read_bytes())
    tool("strip", "-F", "elf64-little", "-o", two_functions / "s.o", o)
    assert visakit.disassemble((two_functions / "s.o").read_bytes()) == module
    linked = vlink.link([two_functions / "s.o"], None, vlink.LinkOptions(data={"table": bytes(64)}))
    assert linked.to_bytes() == image.read_bytes()
    tool("strip", "-F", "elf64-little", "-g", "-o", two_functions / "s.bin", image)
    tool("objcopy", "-I", "elf64-little", "-O", "elf64-little", "-R", ".visa.lines", image, two_functions / "c.bin")
    for name in ("s.bin", "c.bin"):
        program = vsim.load(two_functions / name)
        assert program.image.platform == "tgllp" and bool(program.image.lines) == (name == "s.bin")
        program.launch("shown", 1, args=[np.uint64(0)], engine="numpy")
    tool("objcopy", "-I", "elf64-little", "-O", "binary", "-j", ".visa", o, two_functions / "two.isa")
    assert visakit.disassemble((two_functions / "two.isa").read_bytes()) == module


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
