"""Rules of compilers: two sequences of instructions, for all inputs."""

from functools import partial

import pytest

pytest.importorskip("z3", reason="proofs need z3-solver")

from visakit.diagnostics import LaunchError
from visakit.subcommands.prove_rules import prove_rule, run
from vsim.prove import peephole
from vsim.prove.peephole import RewriteRule, engine_results, prove, variations
from vsim.prove.sequences import parse_sequence


def verdicts(left, right, seconds=20):
    rule = RewriteRule(parse_sequence(left), parse_sequence(right), "xehp")
    return {v.outcome for v in prove(rule, seconds, [next(variations(rule))])}


@pytest.mark.parametrize(("left", "right"), [
    ("add r:d a:d b:d", "add r b a"),
    ("mul r:d a:d 8:d", "shl r a 3:d"),
    ("not t:ud a:ud; not r:ud t", "mov r a"),
    ("cmp.lt p:bool a:d b:d; (p) sel r:d a b", "min r a b"),
    ("add r:hf a:hf b:hf", "add r b a"),
    ("mul t:f a:f b:f; mul r:f t c:f", "mul t b a; mul r c t"),
    ("mov t:d a:d; mov a:d b:d; mov b:d t", "mov u:d b:d; mov b:d a; mov a:d u"),
    ("(p) mov t:d 1:d; (!p) mov t:d 0:d; mov r:d t", "(p) sel r:d 1:d 0:d"),
])  # fmt: skip
def test_rules_that_hold(left, right):
    assert verdicts(left, right) == {"proved"}


@pytest.mark.parametrize(("left", "right"), [
    ("div r:d a:d 8:d", "asr r a 3:d"),
    ("mul t:f a:f b:f; add r:f t c:f", "mad r a b c"),
    ("mul r:f a:f 0:f", "mov r 0:f"),
    ("(p) add r:d a:d 1:d", "add r a 1:d"),
    ("add a:d a:d 1:d; mov r:d a", "add r:d a:d 1:d"),
])  # fmt: skip
def test_rules_that_do_not_hold(left, right):
    """Both engines run what refutes them."""
    rule = RewriteRule(parse_sequence(left), parse_sequence(right), "xehp")
    found = list(prove(rule, 5, [next(variations(rule))]))
    assert {v.outcome for v in found} == {"refuted"}
    assert engine_results(rule, found[0], partial(run, "xehp")) == {"numpy": True, "llvm": True}


def test_the_report_counts_variations(capsys):
    prove_rule("add r:ud a:ud a", "shl r a 1:ud", "xehp", 10)
    assert "proved, 8 variations" in capsys.readouterr().out


def test_an_engine_that_contradicts_the_solver_is_an_error(monkeypatch):
    """P005."""
    monkeypatch.setattr(peephole, "engine_results", lambda *_: {"numpy": True, "llvm": False})
    with pytest.raises(LaunchError) as problem:
        prove_rule("add r:ud a:ud 1:ud", "add r a 2:ud", "xehp", 5)
    assert problem.value.diagnostics[0].code == "P005"


def test_a_predicate_may_choose_the_old_value():
    assert verdicts("(p) mov r:ud a:ud; (!p) mov r b:ud", "(p) sel r a b") == {"proved"}


@pytest.mark.parametrize(
    "side", ["", "mull", "mul a", "mul 1 a b", "svm_gather a b", "mul r a:x b", "mul r a?b c", "add;" * 20]
)
def test_a_side_without_a_meaning_is_an_error(side):
    with pytest.raises(LaunchError) as problem:
        list(prove(RewriteRule(parse_sequence(side), parse_sequence("add"), "xehp"), 1))
    assert problem.value.diagnostics[0].code == "P004"
