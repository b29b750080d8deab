"""What the fuzzers found once: none of these files may lead to anything but an answer or a diagnostic."""

import contextlib

import numpy as np
import pytest
from conftest import DATA, build

import ctm.linker
import ctm.printer
import ctm.program
from vasm.assembler import assemble_text
from visa import VisaError
from visa.cisa import read_module
from visa.container import module_bytes
from visa.image import parse_ze_info, read_image
from visa.text.printer import print_module
from vlink.linker import Linker, LinkOptions
from vsim.launch import parse_launch


def text(data):
    assemble_text(data.decode("utf-8", "replace"), "x")


def isa(data):
    print_module(read_module(module_bytes(data, "x"), "x", keep_going=[]))


def object_file(data):
    linker = Linker(LinkOptions(allow_undefined=True))
    linker.add_bytes(data, "x")
    linker.run().image.to_bytes()


def image(data):
    read_image(data, "x").ze_info_tree()


def ze_info(data):
    parse_ze_info(data.decode("utf-8", "replace"), "x")


def launch(data):
    file = parse_launch(data.decode("utf-8", "replace"), "/nonexistent", "x")
    for n in range(min(len(file), 3)):
        file.launch(n)


def ctm_text(data):
    ctm.assemble(data.decode("utf-8", "replace"), "x")


def ctm_file(data):
    module = ctm.program.read_module(data, "x")
    ctm.printer.print_module(module)
    ctm.linker.link([module])


TARGETS = {
    "ctm": ctm_text,
    "ctmo": ctm_file,
    "visaasm": text,
    "isa": isa,
    "o": object_file,
    "bin": image,
    "yaml": ze_info,
    "json": launch,
}
FILES = sorted((DATA / "fuzzed").iterdir())


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_found(path):
    with contextlib.suppress(VisaError):
        TARGETS[path.suffix[1:]](path.read_bytes())


def mutated(data, count, seed):
    random = np.random.default_rng(seed)
    for _ in range(count):
        changed = bytearray(data)
        for at in random.integers(0, len(data), 3):
            changed[at] = random.integers(0, 256)
        yield bytes(changed)


def samples():
    folder = DATA / "cases" / "call_stack_recursion" / "tgllp"
    yield "bin", build(folder, "tgllp").to_bytes()
    for source in sorted(folder.glob("*.visaasm")):
        yield "visaasm", source.read_bytes()
        yield "o", assemble_text(source.read_text(), "x", "tgllp").object_bytes(debug=True)
    for source in sorted((DATA.parent.parent / "samples" / "ctm").glob("*/*.ctm")):
        yield "ctm", source.read_bytes()
        yield "ctmo", ctm.assemble(source.read_text(), "x").to_bytes()
    yield "yaml", (folder / "ze_info.yaml").read_bytes()
    for path in sorted((DATA / "golden").glob("*.isa"))[::20]:
        yield "isa", path.read_bytes()


@pytest.mark.parametrize(("kind", "data"), [pytest.param(k, d, id=f"{k}{n}") for n, (k, d) in enumerate(samples())])
def test_cut_and_changed(kind, data):
    pieces = [data[:cut] for cut in range(0, len(data), max(1, len(data) // 40))]
    for piece in [*pieces, *mutated(data, 60, len(data))]:
        with contextlib.suppress(VisaError):
            TARGETS[kind](piece)
