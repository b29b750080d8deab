"""Random forms of instructions on both engines against the scalar model: modes, saturation, mixed types, special values."""

import itertools
from random import Random

import pytest
from hypothesis import given
from support import scalar
from support.form_lines import declare, line, second_results, settings_of
from support.forms import (
    APPROXIMATE,
    KEEPS,
    KINDS,
    LANES,
    RELATIONS,
    SECOND,
    WHOLE,
    Form,
    Operand,
    coverage,
    expected,
    form,
    tiny_operands,
)
from support.probe import Probe
from support.strategies import ENGINES, FUZZ, can_saturate, effort, seeds

from visakit.isa import FORMS, instruction_set
from visakit.isa.suffixes import Saturate
from visakit.language.platforms import WITH_MACROS

FORMS_OF_A_KERNEL = 24
FAST = ("add", "mul", "mad", "div", "divm", "inv", "sqrt", "sqrtm", "rsqrt", "cmp", "min", "max", "sel", "mov", "frc",
        "rndd", "rndu", "rnde", "rndz", "exp", "log", "sin", "cos", "pow")  # fmt: skip
"""Instructions whose denormals the processor may take as zeros if %cr0 is never written and the kernel has no others."""


def check(forms, platform, writes_control=True):
    """Each lane of each form equals the model, on both engines."""
    probe = Probe(platform)
    probe.keeps_denormals = writes_control
    for n, f in enumerate(forms):
        declare(probe, f, n)
    for engine in ENGINES:
        found = probe.run(engine)
        for n, f in enumerate(forms):
            values = [[s.lane(i) for s in f.sources] for i in range(LANES)]
            what = f"{engine} on {platform}: {line(f, n)} under {settings_of(f):#x}"
            for i, got in enumerate(scalar.decode(found[f"D{n}"], f.dst)[:LANES]):
                wanted = expected(f, i)
                ulps = APPROXIMATE.get(f.name, 0)
                assert wanted is None or scalar.agree(got, wanted, f.dst, ulps), (
                    f"{what}: lane {i} is {got!r}, expected {wanted!r} of {values[i]}, types {[s.type for s in f.sources]}"
                )
            if f.name in SECOND:
                assert second_results(f, n, found)[:LANES] == [SECOND[f.name](f, v) for v in values], what


def forms_of(seed, names=tuple(KINDS)):
    """Forms for one kernel, and the platform that it is for."""
    random = Random(seed)
    platform = random.choice(("skl", "tgllp", "dg2", "xehp", "pvc", "bmg"))
    possible = [name for name in names if platform in KINDS[name].platforms]
    forms = [form(random, random.choice(possible)) for _ in range(FORMS_OF_A_KERNEL)]
    return [f for f in forms if platform in WITH_MACROS or not f.is_macro], platform


@effort(3, 0.2, shrink=False)
@given(seeds)
def test_random_forms(seed):
    check(*forms_of(seed))


FLOAT_NAMES = [name for name, kind in KINDS.items() if any("f" in family for family in kind.families)]


def test_denormals_of_bf_become_floats():
    """A plain move keeps them (test_denormals.py), one that computes does not."""
    tiny, normal = 2.0**-130, 2.0**-120
    sources = [Operand("bf", modifier, (tiny, normal) * 8) for modifier in ("", "(-)")]
    check([Form("mov", "f", (x,), saturate, "up", True, ()) for x in sources for saturate in (False, True)], "pvc")


MOVES = {"mov": ("f", "hf", "d"), "mov of df": ("df", "d"), "mov to or from df": ("f", "df", "hf")}
"""Types between which denormals are moved; those of the last are of programs in which code takes them as zeros."""


def tiny_form(random, what, kept):
    """A form of one float type, whose operands are numbers around the smallest one that is no denormal."""
    name = what.split()[0]
    kind = KINDS[name]
    possible = MOVES.get(what) or [t for family in kind.families for t in family]
    t = random.choice([t for t in ("f", "df", "hf") if t in possible])
    lanes = [tiny_operands(random, t, kind.sources, name.startswith("div")) for _ in range(LANES)]
    sources = tuple(Operand(t, random.choice(("", "", "(-)")), numbers) for numbers in zip(*lanes, strict=True))
    dst = random.choice(MOVES.get(what) or kind.results or (t,))
    relation, chosen = random.choice([*RELATIONS]), random.getrandbits(LANES)
    return Form(name, dst, sources, False, "nearest", True, kept, relation, chosen)


@pytest.mark.parametrize("kept", [None, (), ("f",), ("df", "hf"), tuple(KEEPS)], ids=str)
@effort(1, 0.02, shrink=False)
@given(seeds)
def test_numbers_around_the_smallest(kept, seed):
    """Where the processor takes denormals as zeros, as %cr0 is never written (None), and where code does so."""
    random = Random(seed)
    for names in ((*FAST, "mov of df"), [*(n for n in FLOAT_NAMES if n not in FAST), "mov to or from df"]):
        check(
            [tiny_form(random, n, kept or ()) for n in names for _ in range(2 if FUZZ else 1)], "skl", kept is not None
        )


TINY, TENTH, THREE_TENTHS = (scalar.narrow(x, "f") for x in (1e-20, 0.1, 0.3))
BIG = 0x9000000000000011


MANUAL = [
    ("shl.sat", "d", [("d", 0x40000000), ("d", 1)], "nearest", 0x7FFFFFFF),
    ("shl.sat", "d", [("d", 3), ("d", 30)], "nearest", 0x7FFFFFFF),
    ("shl.sat", "w", [("w", 1), ("w", 31)], "nearest", 0x7FFF),
    ("shl.sat", "ud", [("ud", 0xC0000000), ("ud", 1)], "nearest", 0xFFFFFFFF),
    ("shl.sat", "d", [("ud", 0x80000000), ("ub", 0)], "nearest", 0x7FFFFFFF),
    ("shl.sat", "uq", [("q", -1), ("ud", 63)], "nearest", 0),
    ("shl.sat", "q", [("q", 3), ("ud", 62)], "nearest", 2**63 - 1),
    ("add.sat", "f", [("f", 0.5), ("f", TINY)], "up", 0x3F000001),
    ("mul.sat", "f", [("f", TENTH), ("f", THREE_TENTHS)], "up", 0x3CF5C291),
    ("mov", "bf", [("f", 1 + 2.0**-20)], "up", 0x3F81),
    ("mov", "bf", [("df", 1 + 2.0**-8 + 2.0**-40)], "nearest", 0x3F81),
    ("add", "bf", [("bf", 1.0), ("bf", 2.0**-20)], "up", 0x3F81),
    ("add", "f", [("f", 0.5), ("f", TINY)], "down", 0x3F000000),
    ("add", "hf", [("f", 1.0), ("f", 2.0**-11 + 2.0**-30)], "nearest", 0x3C01),
    ("mul", "hf", [("f", 1 + 2.0**-11), ("f", 1 + 2.0**-23)], "nearest", 0x3C01),
    ("add", "f", [("f", 1.5), ("f", -1.5)], "down", 0x80000000),
    ("add", "f", [("f", 0.0), ("f", 0.0)], "down", 0),
    ("mad", "df", [("df", 1.5), ("df", 2.0), ("df", -3.0)], "down", 1 << 63),
    ("mad", "hf", [("hf", 1.5), ("hf", 2.0), ("hf", -3.0)], "down", 0x8000),
    ("max.sat", "uq", [("q", 5), ("uq", BIG)], "nearest", BIG),
    ("max", "uq", [("b", -5), ("uq", BIG)], "nearest", BIG),
    ("min", "q", [("q", -5), ("uq", BIG)], "nearest", 2**64 - 5),
    ("sel.sat", "uq", [("uq", BIG), ("d", 5)], "nearest", BIG),
    ("sel.sat", "q", [("uq", BIG), ("q", 5)], "nearest", 2**63 - 1),
    ("add.sat", "uq", [("q", -1), ("uq", BIG)], "nearest", BIG - 1),
    ("mul.sat", "w", [("ud", 3 << 30, "(-)"), ("ud", 3 << 30)], "nearest", 0x8000),
    ("mul.sat", "ud", [("ud", 2**32 - 1, "(-)"), ("ud", 2**32 - 2, "(-abs)")], "nearest", 0xFFFFFFFF),
    ("mov.sat", "q", [("q", -(2**63), "(-)")], "nearest", 2**63 - 1),
    ("mov", "f", [("ud", 5, "(-)")], "nearest", 0xC0A00000),
    ("mov", "df", [("uq", 2**64 - 1, "(-)")], "down", 0xC3F0000000000000),
    ("mov", "df", [("uq", 2**64 - 1, "(-)")], "up", 0xC3EFFFFFFFFFFFFF),
    ("avg", "d", [("d", -(2**31), "(-)"), ("d", 0)], "nearest", 1 << 30),
    ("asr", "d", [("d", -(2**31), "(-)"), ("d", 1)], "nearest", 1 << 30),
    ("mulh", "d", [("d", -1), ("ud", 0xFFFFFFFF)], "nearest", 0xFFFFFFFF),
    ("shr", "uq", [("ud", 0x80000000), ("ud", 40)], "nearest", 0),
    ("add", "d", [("ud", 0xFFFFFFFF, "(abs)"), ("d", 0)], "nearest", 0xFFFFFFFF),
    ("shl", "ud", [("ud", 1), ("d", -3, "(abs)")], "nearest", 8),
]  # fmt: skip
"""Instruction, type of the result, sources as type, number and modifier, rounding mode, the bits that come."""


@pytest.mark.parametrize("part", range(4))
def test_values_of_the_manual(part):
    """The first lane, as bits, on both engines, where the mode is known and where it is not; of a quarter at once, as
    long kernels take longer to compile.
    """
    probe, wanted = Probe("pvc"), []
    for n, ((text, dst, sources, mode, bits), known) in enumerate(itertools.product(MANUAL[part::4], (True, False))):
        operands = tuple(Operand(s[0], s[2] if s[2:] else "", (s[1],) * LANES) for s in sources)
        name, _, saturate = text.partition(".")
        f = Form(name, dst, operands, bool(saturate), mode, known, tuple(KEEPS), chosen=0xFFFF)
        declare(probe, f, n)
        wanted.append((line(f, n), sources, bits))
    for engine in ENGINES:
        found = probe.run(engine)
        for n, (text, sources, bits) in enumerate(wanted):
            first = found[f"D{n}"][:1].tobytes()
            assert int.from_bytes(first, "little") == bits, f"{engine}: {text} of {sources} gives {first[::-1].hex()}"


def test_restricted_floats_round_in_the_mode():
    """1/4 as :vf, and a number below its last place."""
    quarter = Operand("f", "", (0.25,) * LANES, "0x10101010:vf")
    tiny = Operand("f", "", (TINY,) * LANES)
    check([Form("add", "f", (tiny, quarter), False, "up", known, tuple(KEEPS)) for known in (True, False)], "xehp")


ELSEWHERE = {"dpas", "dpasw", "bdpas", "lfsr", "srnd", "fcvt", "dnscl", "shfl_idx4", "tanh", "sigm", "invm", "rsqtm",
             "addr_add", "movs", "setp"}  # fmt: skip
"""Instructions with separate models (test_values.py, test_narrow_values.py, test_matrices.py)."""


def test_every_instruction_that_computes_has_forms():
    names = {
        f.mnemonic for f in FORMS if f.category in ("arithmetic", "logic", "move", "compare") and not f.is_directive
    }
    assert names == set(KINDS) | ELSEWHERE


@pytest.mark.parametrize("name", KINDS)
def test_forms_cover_the_manuals_options(name):
    """Every type that the instruction can saturate, every mode of what rounds, mixed types, ends of types and NaN."""
    desc, found = instruction_set().by_mnemonic[name][0], coverage(name)
    results = {t for t in desc.types_of("dst") if t in scalar.SIZES}
    if any(isinstance(s, Saturate) for s in desc.suffixes):
        wanted = {t for t in results if can_saturate(desc, t)}
        assert wanted <= found["saturation"], wanted - found["saturation"]
    floats = results & set(scalar.FLOATS)
    assert name in (*APPROXIMATE, *WHOLE) or floats <= found["rounding modes"]
    sources = {t for f in desc.fields if f.kind == "s" for t in desc.types_of(f.name) if t in scalar.SIZES}
    assert sources <= found["special values"], sources - found["special values"]
