"""Zebins: the compiler's program binaries as inputs of everything that takes objects or images.

tests/data/zebins has those of two compilers, and the source that they were made of; ``structure`` is one of bmg's.
"""

import json
import re

import numpy as np
import pytest
from fuzz.reading import archive
from support.commands import said
from support.programs import DATA

import visakit
import vlink
import vsim
from vasm.assembler import assemble_text
from visakit import FormatError, LinkError
from visakit.language.platforms import PLATFORMS, find, of_architecture, of_product
from visakit.language.program import Input
from visakit.objects.elf import EM_NONE, SHT_PROGBITS, Elf, Section, read_elf
from visakit.objects.payload import payload_places
from visakit.objects.ze_info import kernel_info
from visakit.objects.zebin import find_zebin, is_zebin, read_zebin
from vlink.linker import LinkOptions
from vsim.command.listing import kernel_rows
from vsim.engines.selector import ENGINES

ZEBINS = {"xelp": "tgllp", "xe2": "bmg"}
VOID = "Intel_Symbol_Table_Void_Program"
FACTORIALS = [1, 1, 2, 6, 24, 120, 720, 5040]


def zebin(name):
    return (DATA / "zebins" / f"{name}.bin").read_bytes()


def sections_of(name):
    """The file of a zebin, so that it can be written again."""
    elf = read_elf(zebin(name), name)
    for section in elf.sections:
        section.align = section.align or 1
    return elf


def both():
    """A container as the compiler driver writes it for two devices."""
    return archive([("pad_0", bytes(8)), ("64.bmg", zebin("xe2")), ("pad_1", bytes(8)), ("64.12.0.0", zebin("xelp"))])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ZEBINS)
def test_a_zebin_runs(name, engine):
    """Kernels, arguments, a function, constant data, variables that begin as zeros, a pointer in data, printf."""
    program = vsim.load(zebin(name))
    assert program.kernels == ["saxpy", "steps", "state"]
    assert program.image.platform == ZEBINS[name]
    y, x = np.ones(16, "f4"), np.arange(16, dtype="f4")
    program.launch("saxpy", 16, 16, [y, x, 2.0, 12], engine=engine)
    assert y.tolist() == [1 + 2 * i * 2 ** (i % 4) if i < 12 else 1 for i in range(16)]
    z = np.arange(16, dtype="i4") % 8
    for _ in range(2):
        z[:] = np.arange(16) % 8
        printed = program.launch("steps", 16, 16, [z, 64], engine=engine).printf
        assert z.tolist() == [FACTORIALS[i % 8 ^ 1] for i in range(16)]
        assert printed == "item 2 of 16: 6\n"
    out = np.zeros(2, "i4")
    program.launch("state", 1, 1, [out], engine=engine)
    assert out.tolist() == [3 + 2, 2 * FACTORIALS[2]]


@pytest.mark.parametrize("name", ZEBINS)
def test_texts_have_the_names_of_their_kernels_and_assemble(name):
    found = read_zebin(zebin(name), "k.bin")
    assert [t.name for t in found.texts if t.is_kernel] == ["saxpy", "steps", "state", VOID]
    assert [t.name for t in found.texts if not t.is_kernel] == ["factorial"]
    text = visakit.disassemble(zebin(name))
    assert text == found.text()
    assert [f.name for f in visakit.read_module(visakit.assemble(text)).all_functions] == [t.name for t in sorted(found.texts, key=lambda t: not t.is_kernel)]  # fmt: skip


@pytest.mark.parametrize("name", ZEBINS)
def test_functions_of_ones_own_replace_the_compilers(name):
    """A function of the same name and sizes; its result is 7."""
    simd = next(t for t in read_zebin(zebin(name), "k.bin").texts if t.name == "factorial").text
    width = int(re.search(r"SimdSize=(\d+)", simd)[1])
    own = (
        f'.version {"4.2" if name == "xe2" else "4.1"}\n.global_function "factorial"\n.kernel_attr SimdSize={width}\n'
        ".kernel_attr Extern\n.kernel_attr ArgSize=1\n.kernel_attr RetValSize=1\n"
        f".decl R v_type=G type=d num_elts={width} alias=<%retval, 0>\n"
        f"mov (M1, {width}) R(0,0)<1> 7:d\nfret (M1, {width})\n"
    )
    image = vlink.link([zebin(name), assemble_text(own, "own").object_bytes()])
    assert [f.name for f in image.module.functions] == ["factorial"]
    z = np.arange(16, dtype="i4")
    vsim.load(vsim.load(image).image.to_bytes()).launch("steps", 16, 16, [z, 64])
    assert z.tolist() == [7] * 16


def test_missing_texts_are_completed_or_undefined():
    """Without the text of its function a program does not link, with it as an object it does."""
    elf = sections_of("xelp")
    text = next(s for s in elf.sections if b'.global_function "factorial"' in s.data[:200])
    text.name, text.type = ".removed", SHT_PROGBITS
    rest = [s for s in elf.sections if s.name not in (".symtab", ".strtab", ".shstrtab") and not s.name.startswith((".rel", ".text"))]  # fmt: skip
    elf.sections, elf.relocations = rest, []
    elf.symbols = [s for s in elf.symbols if s.section in {r.name for r in rest}]
    data = elf.write()
    with pytest.raises(LinkError, match="'factorial' is not defined") as caught:
        vsim.load(data)
    assert {(d.code, d.hint) for d in caught.value.diagnostics} == {
        ("L013", "define it in the source, or link an object that has it: vlink PROGRAM FILE.o")
    }
    own = assemble_text(text.data.decode(), "own").object_bytes()
    assert [f.name for f in vlink.link([data, own]).module.functions] == ["factorial"]


def test_programs_of_data_alone():
    """Modules of the plugin of JAX: data with addresses, and no kernel but the compiler's own."""
    elf = sections_of("xe2")
    gone = (".visaasm", ".rel", ".text", ".symtab", ".strtab", ".shstrtab")
    elf.sections = [s for s in elf.sections if not s.name.startswith(gone) or VOID.encode() in s.data]
    elf.symbols, elf.relocations = [s for s in elf.symbols if (s.section or "").startswith((".data", ".bss"))], []
    program = vsim.load(elf.write())
    assert program.kernels == [] and program.image.address_of("counter") and program.data
    with pytest.raises(LinkError, match="nothing to link"):
        vlink.link([])


def test_sections_are_found_by_name_or_by_type():
    """Newer specifications write the names of kernels behind the section's; an unknown type does not matter."""
    elf = sections_of("xe2")
    texts = [s for s in elf.sections if s.name.startswith(".visaasm")]
    rest = [s for s in elf.sections if s.name in (".ze_info", ".note.intelgt.compat")]
    elf.symbols, elf.relocations = [], []
    names = [t.name for t in read_zebin(zebin("xe2"), "k").texts]
    for kind, named in ((SHT_PROGBITS, ".visaasm.{}"), (texts[0].type, "texts{}")):
        elf.sections = [*rest, *(Section(named.format(n), kind, s.data) for n, s in enumerate(texts))]
        assert [t.name for t in read_zebin(elf.write(), "k").texts] == names


def test_containers_of_several_devices():
    with pytest.raises(FormatError) as caught:
        find_zebin(both(), "k.ar")
    assert (caught.value.diagnostics[0].code, caught.value.diagnostics[0].hint) == ("C013", "choose one with --platform: bmg, tgllp")  # fmt: skip
    for name, platform in ZEBINS.items():
        assert find_zebin(both(), "k.ar", platform)[0] == zebin(name)
        assert vlink.link([both()], options=LinkOptions(platform=platform)).platform == platform
    assert find_zebin(archive([("64.bmg", zebin("xe2"))]), "k.ar")[0] == zebin("xe2")
    assert find_zebin(archive([("a.o", visakit.assemble('.version 4.1\n.kernel "k"\nret (M1, 1)\n'))]), "k.ar") is None


def test_binaries_of_the_older_format_say_how_to_compile_again(tmp_path, capsys):
    older = Elf(0xFF04, EM_NONE, sections=[Section("Intel(R) OpenCL Device Binary", 0xFF000005, b"native", 8)]).write()
    for number, data in enumerate((older, archive([("64.skl", older), ("64.tgllp", older)]))):
        path = tmp_path / f"{number}.bin"
        path.write_bytes(data)
        for command in (["vsim", path, "--list"], ["vlink", path, "-o", tmp_path / "out"], ["vdis", path]):
            code, _, err = said(capsys, *command)
            assert code == 1 and '--format zebin -internal_options "-cl-intel-emit-zebin-visa-sections"' in err, err


def test_ze_info_of_the_same_zebin_counts_once():
    image = vlink.link([zebin("xe2")], ze_info=zebin("xe2"))
    assert [s.name for s in image.data] == ["data.const", "data.const.string", "data.global"]
    assert len(json.loads(image.ze_info)["kernels"]) == 4


def test_images_keep_the_parts_of_a_zebin():
    """An image that was linked from a zebin runs as the zebin does, and knows the lines of its texts."""
    image = vsim.load(vlink.link([zebin("xelp")]).to_bytes())
    out = np.zeros(2, "i4")
    image.launch("state", 1, 1, [out])
    assert out.tolist() == [3, 0]
    assert image.image.lines["saxpy"][0].endswith("(saxpy.visaasm)")


def test_devices_of_the_compiler_are_platforms():
    assert {find(n).name for n in ("bmg-g21", "BMG-G31", "lnl-m", "bmg-g21-b0")} == {"bmg"}
    assert {find(n).name for n in ("mtl-h", "acm-g10", "arl-h-a0", "dg2-g11-b1")} == {"dg2"}
    assert [find(n) and find(n).name for n in ("ptl-h", "pvc-xt-c0-vg", "adl-s", "kbl", "nvl-p", "x")] == ["ptl", "pvc", "tgllp", "skl", "nvl", None]  # fmt: skip
    known = [of_architecture(*v) for v in ((9, 0), (12, 0), (12, 10), (12, 55), (12, 60), (12, 74), (20, 4), (30, 1))]
    assert [p.name for p in known] == ["skl", "tgllp", "tgllp", "dg2", "pvc", "dg2", "bmg", "ptl"]
    assert [getattr(of_architecture(35, release), "name", None) for release in (9, 10, 11, 12)] == [
        None,
        "nvl",
        "cri",
        None,
    ]
    assert [p and p.name for p in map(of_product, (18, 29, 1210, 1270, 1271, 1273, 1274, 1300, 1340, 1360, 1380, 1381))] == ["skl", "tgllp", "tgllp", "dg2", "pvc", "dg2", "bmg", "ptl", "ptl", "nvl", "cri", None]  # fmt: skip
    assert not is_zebin(b"") and set(ZEBINS.values()) <= set(PLATFORMS)


@pytest.mark.parametrize("name", ZEBINS)
def test_the_list_of_kernels(name):
    rows = {row["name"]: row for row in kernel_rows(vsim.load(zebin(name)))}
    saxpy = [(a["name"], a["type"], a["kind"], a["size"]) for a in rows["saxpy"]["arguments"]]
    assert saxpy == [("y", "float*", "global", 8), ("x", "float*", "global", 8), ("a", "float", "value", 4), ("n", "uint", "value", 4)]  # fmt: skip
    assert [a["kind"] for a in rows["steps"]["arguments"]] == ["global", "local"]
    assert {k: row["calls"] for k, row in rows.items()} == {"saxpy": [], "steps": ["factorial"], "state": []}
    assert {k: row["simd"] for k, row in rows.items()} == {
        "saxpy": 32,
        "steps": {"xelp": 8, "xe2": 16}[name],
        "state": 32,
    }
    assert rows["steps"]["private_memory"] > 0 == rows["saxpy"]["private_memory"]


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_a_structure_on_both_sides_of_the_end_of_inline_data(engine):
    """Inline data has 32 bytes of a register; a structure across its end continues in the next register."""
    program, out = vsim.load(zebin("structure")), np.zeros((4, 3), "i4")
    structure = np.array([(1, 2, 3)], "i4,i4,i4")[0]
    program.launch("fill", 4, 4, [out, np.int64(0), structure, np.int64(3)], engine=engine)
    assert out.tolist() == [[1, 2, 3]] * 3 + [[0, 0, 0]]


@pytest.mark.parametrize(
    ("pointer", "value", "taken", "places"),
    [
        ((8, 64), (40, 8), (192, 200), [192, 200]),
        ((8, 4), (40, 8), (160, 168), [160, 168]),
        ((8, 64), (40, 8), (160, 168), [160, 168]),  # offsets of the text
        (None, (32, 64), (192,), [192]),
        (None, (32, 64), (160,), [160]),  # a structure
    ],
)
def test_the_first_value_behind_inline_data_is_aligned_in_registers(pointer, value, taken, places):
    """A pointer to local vectors of 64 bytes, and such a vector; ze_info counts on behind the inline data."""
    local = {"arg_type": "arg_bypointer", "addrmode": "slm", "addrspace": "local", "arg_index": 1, "offset": 32}
    payload = [{"arg_type": "arg_byvalue", "arg_index": 0, "offset": value[0], "size": value[1]}]
    if pointer:
        payload.append(local | {"size": pointer[0], "slm_alignment": pointer[1]})
    tree = {
        "name": "k",
        "execution_env": {"simd_size": 8, "inline_data_payload_size": 32},
        "payload_arguments": [{"arg_type": "global_id_offset", "offset": 0, "size": 12}, *payload],
        "per_thread_payload_arguments": [{"arg_type": "local_id", "offset": 0, "size": 96}],
    }
    found = payload_places(kernel_info({"kernels": [tree]}, "k", 0), 32, "dg2", [Input(0, 32, at, 4) for at in taken])
    assert found.start == 128 and sorted(at for at, _ in found.fields) == [128, *places]
