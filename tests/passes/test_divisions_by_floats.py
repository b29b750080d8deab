"""Divisions of integers of 32 bits that texts write as operations on floats."""

import pytest
from support.probe import LANES, Probe, image_of, translated
from support.strategies import ENGINES

from vsim.program import Program

EDGES = sorted({(1 << k) + more & 0xFFFFFFFF for k in range(32) for more in (-1, 0, 1)} | {10, 641, 6700417, 1 << 31})
FLOATS = ["FD", "FN", "R", "Q0", "FDL", "FNL", "QF", "M1F", "M2F", "E1", "E2", "ET", "Q1"]
DWORDS = ["ID", "DL", "IN_", "NL", "QI", "Q1I", "E", "P", "REST", "C", "Q", "X"]
REGION = {"v": "<1;1,0>", "s": "<0;1,0>"}
MODE = "xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x30:ud"


def op(name, to, *sources, predicate=""):
    """An instruction on variables, numbers, or variables with another region."""
    read = [s if ":" in s or "(" in s[3:] else f"{s}(0,0)<1;1,0>" for s in sources]
    return f"{predicate}{name} (M1, 16) {to}(0,0)<1> {' '.join(read)}"


def estimate(n="N", d="D"):
    """The lines that estimate a quotient."""
    return [
        MODE,
        op("mov", "FD", d), op("mov", "ID", "FD"), op("add", "DL", d, "(-)ID(0,0)<1;1,0>"),
        op("mov", "FN", n), op("inv", "R", "FD"), op("mad", "R", "R", "0xb4c00000:f", "R"), op("mul", "Q0", "FN", "R"),
        op("mov", "IN_", "FN"), op("add", "NL", n, "(-)IN_(0,0)<1;1,0>"), op("mov", "QI", "Q0"),
        op("mov", "FDL", "DL"), op("mov", "FNL", "NL"), op("mov", "QF", "QI"),
        op("mov", "M1F", "(-)FD(0,0)<1;1,0>"), op("mad", "E1", "M1F", "QF", "FN"),
        op("mov", "M2F", "(-)FDL(0,0)<1;1,0>"), op("mad", "E2", "M2F", "QF", "FNL"),
        op("add", "ET", "E1", "E2"), op("mul", "Q1", "R", "ET"),
        MODE,
        op("mov", "Q1I", "Q1"), op("add", "E", "Q1I", "QI"),
    ]  # fmt: skip


PRODUCT, REST = op("mul", "P", "E", "D"), op("add", "REST", "N", "(-)P(0,0)<1;1,0>")
QUOTIENT = [
    PRODUCT, REST, "cmp.ge (M1, 16) C(0,0)<1> REST(0,0)<1;1,0> D(0,0)<1;1,0>",
    op("add3", "Q", "Q1I", "QI", "(-)C(0,0)<1;1,0>"),
]  # fmt: skip
EXCEEDED = "cmp.lt (M1, 16) P1 REST(0,0)<1;1,0> D(0,0)<1;1,0>"
REMAINDER = [
    PRODUCT, REST, EXCEEDED, op("sel", "C", "0x0:ud", "D", predicate="(P1) "),
    op("add3", "Q", "N", "(-)P(0,0)<1;1,0>", "(-)C(0,0)<1;1,0>"),
]  # fmt: skip
BY_MASK = [*QUOTIENT[:3], op("and", "C", "D", "C"), op("add", "Q", "REST", "(-)C(0,0)<1;1,0>")]
WITH_SUM = [*QUOTIENT[:3], op("add3", "Q", "E", "X", "(-)C(0,0)<1;1,0>")]
EXPECTED = {
    "quotient": (QUOTIENT, lambda n, d: n // d if d else 1),
    "remainder": (REMAINDER, lambda n, d: n % d if d else n),
    "remainder by a mask": (BY_MASK, lambda n, d: n % d if d else n),
    "quotient and a sum": (WITH_SUM, lambda n, d: (n // d if d else 1) + 77),
}
OTHERS = {
    "another constant": lambda lines: [x.replace("0xb4c00000", "0xb4c00001") for x in lines],
    "nearest": lambda lines: [x for x in lines if x != MODE],
    "another comparison": lambda lines: [x.replace("cmp.ge", "cmp.gt") for x in lines],
    "another rest": lambda lines: [
        x.replace("add (M1, 16) REST(0,0)<1> N", "add (M1, 16) REST(0,0)<1> X") for x in lines
    ],
    "the estimate": lambda lines: [*lines, op("add", "Q", "E", "REST")],
    "no sum of the steps": lambda lines: [x.replace("add (M1, 16) E(", "xor (M1, 16) E(") for x in lines],
}


def probe_of(lines, ns, ds):
    probe = Probe()
    probe.fill(N=("ud", ns), D=("ud", ds), **{name: ("f", [0.0] * LANES) for name in FLOATS})
    probe.fill(**{name: ("ud", [77] * LANES) for name in DWORDS})
    probe.predicate("P1", 0)
    probe.lines += lines
    return probe


def results(probe):
    """The quotients, which are the same on both engines."""
    one, other = (probe.run(engine)["Q"][:LANES].tolist() for engine in ENGINES)
    assert one == other
    return one


def divides(probe):
    """Whether the fast engine divides instead."""
    text = translated(Program(image_of(probe._text(), probe.platform)), [bytearray(4096), bytearray(4096)])
    return "@quotients" in text


@pytest.mark.parametrize("what", EXPECTED)
def test_floats_divide(what):
    lines, expected = EXPECTED[what]
    lines = [*estimate(), *lines]
    assert divides(probe_of(lines, [1], [1]))
    for at in range(0, len(EDGES), 3):
        for shift in (0, 31):
            ns = [EDGES[(at * k + shift) % len(EDGES)] for k in range(LANES)]
            ds = [0, EDGES[at]] + [EDGES[(at + 7 * k) % len(EDGES)] for k in range(LANES - 2)]
            found = results(probe_of(lines, ns, ds))
            assert found == [expected(n, d) & 0xFFFFFFFF for n, d in zip(ns, ds, strict=True)]


@pytest.mark.parametrize("how", OTHERS)
def test_what_does_not_divide(how):
    """Other texts have other results, the same on both engines."""
    for at in range(0, len(EDGES), 11):
        ns, ds = ([EDGES[(at * a + 5 * k) % len(EDGES)] for k in range(LANES)] for a in (1, 3))
        results(probe_of(OTHERS[how]([*estimate(), *QUOTIENT]), ns, ds))


def test_sums_taken_apart():
    """A dividend n + 3 is taken apart where its low part, and its rest, are computed."""
    lines = [op("add", "X", "N", "0x3:ud"), *estimate("X")]
    lines = [
        op("add3", "NL", "N", "(-)IN_(0,0)<1;1,0>", "0x3:ud") if x.startswith("add (M1, 16) NL") else x for x in lines
    ]
    ends = [PRODUCT, op("add3", "REST", "N", "(-)P(0,0)<1;1,0>", "0x3:ud"), *QUOTIENT[2:]]
    ns, ds = EDGES[-LANES:], EDGES[5 : 5 + LANES]
    probe = probe_of([*lines, *ends], ns, ds)
    assert divides(probe)
    expected = [(n + 3) % 2**32 // d for n, d in zip(ns, ds, strict=True)]
    assert results(probe) == expected
