"""The symbolic lane algebra against the scalar model: on constants, which fold, and on symbols that get values."""

from random import Random

import pytest
from hypothesis import given
from support import scalar
from support.form_lines import declare, line
from support.forms import APPROXIMATE, KINDS, LANES, SECOND, expected, form
from support.probe import Probe
from support.strategies import effort, seeds

pytest.importorskip("z3", reason="needs the extra prove (z3-solver)")

from support.symbolic import SymbolicProbe

from visakit.language.platforms import WITH_MACROS
from vsim.symbolic.algebra import SymbolicAlgebra

EXACT = [name for name in KINDS if name not in APPROXIMATE]


def check(forms, platform, constant, directs=True):
    probe = Probe(platform)
    for n, f in enumerate(forms):
        declare(probe, f, n)
    found = SymbolicProbe(probe, SymbolicAlgebra(directs=directs), constant)
    for n, f in enumerate(forms):
        what = f"{platform}: {line(f, n)}"
        for i, got in enumerate(scalar.decode(found.found(f"D{n}", LANES), f.dst)):
            wanted = expected(f, i)
            assert wanted is None or scalar.agree(got, wanted, f.dst), f"{what}: lane {i} is {got!r}, not {wanted!r}"
        if f.name in SECOND:
            values = [[s.lane(i) for s in f.sources] for i in range(LANES)]
            assert second(found, f, n) == [SECOND[f.name](f, v) for v in values], what


def second(found, f, n):
    """The second result of a form."""
    if f.name == "madw":
        return scalar.decode(found.found(f"D{n}", 2 * LANES), f.dst)[LANES:]
    if f.name == "add3.o":
        return [found.predicate(f"P{n}") >> i & 1 for i in range(LANES)]
    return scalar.decode(found.found(f"E{n}", LANES), "ud")


@pytest.mark.parametrize("name", EXACT)
def test_constants_fold(name):
    """Each exact instruction, with any types, modifiers, modes and saturation."""
    random = Random(name)
    check_forms(random, [form(random, name) for _ in range(2)], True)


@effort(4, shrink=False)
@given(seeds)
def test_symbols_that_get_values(seed):
    random = Random(seed)
    check_forms(random, [form(random, random.choice(EXACT)) for _ in range(2)], False)


def check_forms(random, forms, constant):
    for f in forms:
        platform = random.choice(KINDS[f.name].platforms)
        if platform in WITH_MACROS or not f.is_macro:
            check([f], platform, constant, random.random() < 0.5)
