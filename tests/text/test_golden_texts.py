"""Every golden text gives the reference bytes, and disassembly gives text for the same bytes."""

import pytest
from support.programs import DATA, SHARED, needs_corpus
from support.strategies import FUZZ

import visakit
from visakit.binary import read_module
from visakit.text.printer import print_module

GOLDEN = sorted((DATA / "golden").glob("*.visaasm"))
CASES = sorted(p for p in SHARED.glob("cases/*/*/*.visaasm")) if SHARED.exists() else []
DEVICES = ("tgllp", "skl", "dg2", "pvc", "bmg")


pytestmark = pytest.mark.filterwarnings("ignore::visakit.VisaWarning")
"""Texts of compilers do what there are warnings for."""


def platform_of(path):
    return path.parent.name if path.parent.name in DEVICES else None


def round_trip(path):
    data = visakit.assemble(path.read_text(), str(path), platform_of(path))
    text = print_module(read_module(data, path.name))
    assert visakit.assemble(text, "again", platform_of(path)) == data
    assert print_module(read_module(data, path.name)) == text
    return data


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_golden(path):
    assert round_trip(path) == path.with_suffix(".isa").read_bytes()


@needs_corpus
@pytest.mark.parametrize("device", DEVICES)
def test_corpus(device):
    """Each device has a sixth of the cases, other ones than the others; in ``make fuzz`` all."""
    texts = [p for p in CASES if p.parent.name == device]
    assert texts
    texts = texts if FUZZ else texts[DEVICES.index(device) :: 6]
    for path in texts:
        data = round_trip(path)
        reference = path.with_suffix(".isa")
        if reference.exists():
            assert data == reference.read_bytes(), path


@pytest.mark.parametrize(
    ("spelling", "standard"),
    [
        ("MOV (8) V(0,0)<1> V(1,0)<1;1,0>", "mov (M1, 8) V(0,0)<1> V(1,0)<1;1,0>"),
        ("mov (M1, 8) V(0,0)<1> V(1,0)<1;1,0> {NoMask}", "mov (M1_NM, 8) V(0,0)<1> V(1,0)<1;1,0>"),
        ("mov (NoMask, 1) A(0)<1> &V+32", "mov (M1_NM, 1) A(0)<1> &V[32]"),
        ("mov (M1,8) V(0,0)<1> r[A(0)]<;1,0>:d", "mov (M1, 8) V(0,0)<1> r[A(0),0]<1,0>:d"),
        ("mov (M1, 8) F(0,0)<1> .5:f", "mov (M1, 8) F(0,0)<1> 0.5:f"),
        ("mov (M1, 8) F(0,0)<1> 1.5e3:f", "mov (M1, 8) F(0,0)<1> 1500.0:f"),
        ("mov (M1, 8) F(0,0)<1> 0x1.8p3:f", "mov (M1, 8) F(0,0)<1> 12.0:f"),
        (
            "BFI (M1, 8) V(0,0)<1> 3:d 1:d V(0,0)<1;1,0> V(1,0)<1;1,0>",
            "bfi (M1, 8) V(0,0)<1> 3:d 1:d V(0,0)<1;1,0> V(1,0)<1;1,0>",
        ),
    ],
)
def test_the_manuals_spelling(spelling, standard):
    def kernel(line):
        decls = "\n".join(
            (
                ".decl V v_type=G type=d num_elts=32 align=GRF",
                ".decl F v_type=G type=f num_elts=32",
                ".decl A v_type=A num_elts=4",
            )
        )
        return f'.version 4.1\n.kernel "k"\n{decls}\n{line}\nret (M1, 1)\n'

    assert visakit.assemble(kernel(spelling)) == visakit.assemble(kernel(standard))
    assert visakit.assemble(kernel(spelling).replace("\n", "\r\n")) == visakit.assemble(kernel(standard))
