"""A few of the pairs of compiled kernels, and of the planted faults; ``make prove`` has all of them."""

import pytest
from support.ocloc import needs_ocloc

pytest.importorskip("z3", reason="proofs need z3-solver")

from prove.equal_pairs import FAULTS, Build, EqualPair, equal_pairs, miscompiled, prove_pair, refute_fault
from visakit.compiler.devices import known_devices
from vsim.prove.verdict import Outcome

CHOSEN = [
    EqualPair("saturated", Build(), Build(options="-DWIDTH=8")),
    EqualPair("nested", Build(), Build(device="dg2")),
    EqualPair("reversed", Build(), Build(options="-DWIDTH=8"), (), (32,)),
    EqualPair("saxpy", Build(), Build(options="-cl-opt-disable")),
    EqualPair("counted", Build(), Build(options="-DWIDTH=8")),
    EqualPair("sums", Build(), Build(options="-DWIDTH=8"), ("0 <= n <= 3",)),
    EqualPair("residues", Build(), Build(options="-cl-opt-disable")),
]


@needs_ocloc
@pytest.mark.parametrize("pair", CHOSEN, ids=lambda pair: pair.kernel)
def test_builds_that_are_equal(pair):
    assert any(pair[:3] == own[:3] for own in equal_pairs())
    assert prove_pair(pair).outcome is Outcome.PROVED


@needs_ocloc
@pytest.mark.parametrize("number", range(0, len(FAULTS), 16))
def test_faults_in_the_text_of_a_compiler(number):
    assert refute_fault(FAULTS[number]).outcome is Outcome.REFUTED


@pytest.mark.skipif("skl" not in known_devices(), reason="the faults are of a compiler that knows skl")
@pytest.mark.parametrize("kernel", ["abs_div", "low_bits"])
def test_kernels_that_a_compiler_gets_wrong(kernel):
    pair = next(own for own in miscompiled() if own.kernel == kernel)
    assert prove_pair(pair).outcome is Outcome.REFUTED
