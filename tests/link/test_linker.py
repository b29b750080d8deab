"""Symbols across objects, archives, and errors in them."""

import contextlib
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.programs import DATA, SHARED, build, needs_corpus
from support.strategies import some

from vasm.assembler import assemble_text
from visakit import FormatError, LinkError
from visakit.objects.container import INDEX, VISA, read_container
from visakit.objects.elf import ET_REL, SHT_PROGBITS, STT_OBJECT, Elf, ElfSymbol, Relocation, Section
from visakit.objects.image import read_image
from visakit.objects.index import Description, read_index, write_index
from vlink.archive import archive_bytes
from vlink.linker import Linker, LinkOptions, link
from vlink.program_info import read_program_info

KERNEL = '.version 4.1\n.kernel "k"\n.kernel_attr SimdSize=8\nfcall (M1, 8) f 1 1\nret (M1, 1)\n'
FUNCTION = '.version 4.1\n.global_function "f"\n.kernel_attr SimdSize={simd}\n{extern}.kernel_attr ArgSize={arg}\n.kernel_attr RetValSize=1\nfret (M1, 8)\n'


def obj(text, name="x"):
    return assemble_text(text, name).object_bytes()


def function(simd=8, arg=1, extern=True):
    return obj(FUNCTION.format(simd=simd, arg=arg, extern=".kernel_attr Extern\n" if extern else ""))


def errors(*objects, **options):
    with pytest.raises(LinkError) as caught:
        link(list(objects), options=LinkOptions(**options))
    return {d.code: d for d in caught.value.diagnostics}


def test_a_call_across_objects():
    image = read_image(link([obj(KERNEL), function()]).to_bytes())
    assert [f.name for f in image.module.functions] == ["f"]
    assert image.module.kernels[0].function_relocations == [(image.module.kernels[0].instructions[0].args["name"], 0)]
    assert image.address_of("f") and image.function_at(image.address_of("f")) is image.module.functions[0]


def test_private_functions_stay_private():
    one = obj(KERNEL + FUNCTION.format(simd=8, arg=1, extern="").replace(".version 4.1\n", ""))
    two = obj(KERNEL.replace('"k"', '"k2"') + FUNCTION.format(simd=8, arg=1, extern="").replace(".version 4.1\n", ""))
    image = read_image(link([one, two]).to_bytes())
    assert [f.name for f in image.module.functions] == ["f", "f.1"]
    targets = [dict(k.function_relocations)[k.instructions[0].args["name"]] for k in image.module.kernels]
    assert targets == [0, 1]


@pytest.mark.skipif(not shutil.which("ar"), reason="ar is not installed (binutils)")
def test_archives_of_binutils(tmp_path):
    long = "a_name_of_more_than_fifteen_bytes.o"
    members = [("x/f.o", function()), (f"y/{long}", function())]
    (tmp_path / "lib.a").write_bytes(archive_bytes(members))
    done = subprocess.run(["ar", "t", tmp_path / "lib.a"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["f.o", long]
    for name, data in members:
        (tmp_path / Path(name).name).write_bytes(data)
    subprocess.run(["ar", "rcSD", "old.a", "f.o", long], cwd=tmp_path, check=True)
    assert archive_bytes(members) == (tmp_path / "old.a").read_bytes()
    assert archive_bytes([("lib.a", (tmp_path / "lib.a").read_bytes())]) == (tmp_path / "lib.a").read_bytes()


def bsd_member(name, data, length=None):
    """A member with its name in front of its contents, in the format of BSD's ar."""
    contents = name.encode() + data
    return f"{f'#1/{length or len(name)}':<48}{len(contents):<10}`\n".encode() + contents + b"\n" * (len(contents) % 2)


def test_names_of_bsd_archives():
    """A sorted table of symbols is no object; a name that is longer than its member is damage."""
    good = b"!<arch>\n" + bsd_member("__.SYMDEF SORTED", bytes(8)) + bsd_member("long_name_of_f.o", function())
    assert len(link([obj(KERNEL), good]).module.functions) == 1
    with pytest.raises(LinkError, match=r"the archive is damaged at offset 0x8 \[L001\]"):
        link([obj(KERNEL), b"!<arch>\n" + bsd_member("f.o", function(), 99999)])


def test_archives():
    unused = obj(FUNCTION.format(simd=8, arg=1, extern=".kernel_attr Extern\n").replace('"f"', '"g"'))
    data = archive_bytes([("unused.o", unused), ("f.o", function())])
    assert [f.name for f in link([obj(KERNEL), data]).module.functions] == ["f"]
    assert len(link([obj(KERNEL), data], options=LinkOptions(whole_archive=True)).module.functions) == 2
    for cut in range(9, len(data), 97):
        with pytest.raises((LinkError, FormatError)):
            link([obj(KERNEL), data[:cut]])


def test_entries_of_archives():
    data = archive_bytes(
        [("other.o", obj(KERNEL.replace('"k"', '"other"'))), ("k.o", obj(KERNEL)), ("f.o", function())]
    )
    module = link([data], options=LinkOptions(entries=["k"])).module
    assert [f.name for f in module.all_functions] == ["k", "f"]
    with pytest.raises(LinkError, match="there is no kernel 'othre'") as raised:
        link([data, obj(KERNEL)], options=LinkOptions(entries=["othre"]))
    assert "other" in raised.value.diagnostics[0].hint


def test_the_same_inputs_give_the_same_bytes():
    assert link([obj(KERNEL), function()]).to_bytes() == link([obj(KERNEL), function()]).to_bytes()


def test_damaged_images_are_refused():
    data = build(DATA / "cases" / "call_stack_recursion" / "tgllp", "tgllp").to_bytes()
    random = np.random.default_rng(1)
    for cut in range(0, len(data), max(1, len(data) // 200)):
        with pytest.raises(FormatError):
            read_image(data[:cut])
    for _ in range(300):
        changed = bytearray(data)
        for at in random.integers(0, len(data), 3):
            changed[at] = random.integers(0, 256)
        with contextlib.suppress(FormatError):
            read_image(bytes(changed))


@needs_corpus
def test_every_case_links():
    """A third of them, of both devices; in ``make fuzz`` all."""
    folders = [f for f in sorted(SHARED.glob("cases/*/*")) if f.is_dir() and f.name in ("tgllp", "bmg")]
    for folder in some(folders, 3):
        build(folder, folder.name)


def test_line_map():
    from visakit import FormatError
    from visakit.objects.lines import read_lines, write_lines

    lines = {"k": ("k.visaasm", [3, 4, 9]), "f": ("caf\udce9.visaasm", [])}
    data = write_lines(lines)
    assert read_lines(data, "k.o") == lines
    with pytest.raises(FormatError, match="line map is damaged"):
        read_lines(data[:-1], "k.o")


def zebin(kind, offset=0):
    """A zebin whose data has a relocation."""
    info = Section(".ze_info", SHT_PROGBITS, b"kernels:\n  - name: k\n")
    data = Section(".data.const", SHT_PROGBITS, bytes(8))
    symbol = ElfSymbol("table", 0, 8, STT_OBJECT, section=".data.const")
    return Elf(
        ET_REL,
        205,
        sections=[info, data],
        symbols=[symbol],
        relocations=[Relocation(".data.const", offset, kind, "table")],
    ).write()


@pytest.mark.parametrize(("kind", "offset"), [(9, 0), (1, 4)], ids=["unknown kind", "outside"])
def test_relocations_that_cannot_be_applied(kind, offset):
    linker = Linker(LinkOptions())
    linker.add_bytes(obj('.version 4.1\n.kernel "k"\nret (M1, 1)\n'), "k.o")
    linker.add_info(zebin(kind, offset), "k.zebin")
    with pytest.raises(LinkError) as caught:
        linker.run()
    assert [d.code for d in caught.value.diagnostics] == ["L018"]
    assert f"kind {kind} at .data.const+{offset:#x} cannot be applied" in str(caught.value)


def test_sections_of_zeros_follow_data_or_have_none():
    text = {".data.const": b"12345678", ".bss.const": bytes(16), ".bss.global": bytes(4)}
    sections = [Section(".ze_info", SHT_PROGBITS, b"kernels:\n  - name: k\n")]
    sections += [Section(name, SHT_PROGBITS, data) for name, data in text.items()]
    symbols = [ElfSymbol(name, 4, 4, STT_OBJECT, section=name) for name in text]
    info = read_program_info(Elf(ET_REL, 205, sections=sections, symbols=symbols).write(), "k.zebin")
    assert info.sections == {".data.const": b"12345678" + bytes(16), ".data.global": bytes(4)}
    places = {n: (s.section, s.offset) for n, s in info.symbols.items()}
    assert places == {
        ".data.const": (".data.const", 4),
        ".bss.const": (".data.const", 12),
        ".bss.global": (".data.global", 4),
    }


# -- the index of an object's symbols ---------------------------------------------------------------------------

PRIVATE = '.version 4.1\n.kernel "k{n}"\n.kernel_attr SimdSize=8\nfcall (M1, 8) p 0 0\nret (M1, 1)\n.global_function "p"\n.kernel_attr SimdSize=8\nfret (M1, 8)\n'


def without_index(data):
    """An object as another producer writes it."""
    container = read_container(data, "x")
    del container.sections[INDEX]
    return container.write()


@needs_corpus
def test_objects_link_the_same_without_their_index():
    for folder in sorted(SHARED.glob("cases/call_*/tgllp")):
        objects = [
            assemble_text(t.read_text(), t.name, "tgllp").object_bytes(debug=True)
            for t in sorted(folder.glob("*.visaasm"))
            if ".inline." not in t.name
        ]
        options = LinkOptions(allow_undefined=True)
        assert (
            link(objects, options=options).to_bytes()
            == link([without_index(o) for o in objects], options=options).to_bytes()
        ), folder


def test_private_names_are_renamed_in_postponed_bodies():
    objects = [obj(PRIVATE.format(n=n)) for n in range(3)]
    image = link(objects)
    assert sorted(f.name for f in image.module.functions) == ["p", "p.1", "p.2"]
    again = read_image(image.to_bytes())
    assert [b.strings[b.instructions[0].args["name"]] for b in again.module.kernels] == ["p", "p.1", "p.2"]
    assert link([without_index(o) for o in objects]).to_bytes() == image.to_bytes()


def test_calls_of_another_module_do_not_count():
    """An edited module is decoded; its index is ignored."""
    container = read_container(obj(KERNEL), "x")
    container.sections[VISA] = read_container(obj(KERNEL.replace("f 1 1", "f 2 1")), "x").sections[VISA]
    assert "L014" in errors(container.write(), function())


@pytest.mark.parametrize(
    ("place", "new"),
    [
        (4, 1), (4, 3), (8, 0), (8, 2), (16, 0), (16, 3), (58, 9), (0, None),
    ],
    ids=["functions", "more functions", "no call", "calls", "of no call", "of calls", "kind", "names"],
)  # fmt: skip
def test_an_index_that_does_not_fit(place, new):
    """An index with the right checksum and wrong contents, as only a deliberate change makes it."""
    container = read_container(obj(PRIVATE.format(n=1)), "x")
    index = bytearray(container.sections[INDEX])
    if new is None:
        index += b"\0more"
    else:
        index[place] = new
    container.sections[INDEX] = bytes(index)
    assert "'.visa.index' does not fit" in errors(container.write())["L002"].message


def test_names_of_an_index_are_compared_when_the_body_is_read():
    container = read_container(obj(PRIVATE.format(n=1)), "x")
    container.sections[INDEX] = container.sections[INDEX][:-1] + b"q"
    (kernel,) = link([container.write()], options=LinkOptions(allow_undefined=True)).module.kernels
    with pytest.raises(FormatError, match="it has other names"):
        assert not kernel.strings


def test_sizes_without_room_in_an_index():
    """Bare modules may declare anything; without an index their objects are read whole."""
    module = link([obj(KERNEL), function()]).module
    assert read_index(write_index([Description.of(f) for f in module.all_functions], b"x"), b"x")
    attribute = module.functions[0].attribute("ArgSize")
    attribute.value = bytes(4) + b"\1"
    assert not write_index([Description.of(f) for f in module.all_functions], b"x")
    assert read_index(b"", b"x") is None


def test_lines_of_postponed_bodies():
    found = errors(assemble_text(KERNEL, "k.visaasm").object_bytes(debug=True))
    assert "fcall in 'k' (instruction 0, line 4)" in found["L013"].message
