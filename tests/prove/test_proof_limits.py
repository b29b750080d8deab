"""Limits of proofs: time and memory end in the verdict *unknown*, with the instruction."""

import gc
import os
import signal
import threading
import weakref

import pytest

pytest.importorskip("z3", reason="proofs need z3-solver")

import z3
from support.programs import build_text

from prove.test_kernels import END, GUARDED, HEAD, OWN, STORE
from vsim.program import Program
from vsim.prove.prover import prove
from vsim.prove.subject import Subject
from vsim.prove.verdict import Outcome
from vsim.symbolic import limits
from vsim.symbolic.limits import Limits, Undecided, answer_of

EACH = ("bounds", "undefined", "divergence", "races")
LONG = "\n".join(
    f"mul (M1, 16) V(0,0)<1> V(0,0)<1;1,0> ITEM(0,0)<1;1,0>\nadd (M1, 16) V(0,0)<1> V(0,0)<1;1,0> {k}:ud"
    for k in range(500)
)


def verdicts(lines, seconds, **more):
    program = Program(build_text(HEAD + lines, "tgllp"))
    return list(prove(Subject(program, "k", (), (16,)), EACH, seconds, **more))


def test_a_proof_without_time_says_where_it_was():
    for verdict in verdicts(LONG + "\n" + OWN + END, 0):
        assert verdict.outcome is Outcome.UNKNOWN
        assert "the time is up" in verdict.places[0].why and "--seconds" in verdict.places[0].hint


def test_a_proof_begins_without_the_terms_of_earlier_ones(monkeypatch):
    class Terms:
        def __init__(self):
            self.own = self

    left = weakref.ref(Terms())
    gc.disable()
    try:
        monkeypatch.setattr(limits, "memory_in_use", lambda: 0)
        Limits()
        assert left() is not None
        monkeypatch.setattr(limits, "memory_in_use", lambda: 1 << 40)
        Limits()
        assert left() is None
    finally:
        gc.enable()


def test_a_proof_without_memory_says_where_it_was(monkeypatch):
    begun, at = [], Limits.at

    def noted_at(own, function, number):
        begun.append(number)
        at(own, function, number)

    monkeypatch.setattr(Limits, "at", noted_at)
    monkeypatch.setattr(limits, "memory_in_use", lambda: len(begun) << 20)  # A megabyte for each instruction.
    monkeypatch.setattr(limits, "_PERIOD", 0.001)
    for verdict in verdicts(LONG + "\n" + OWN + END, 600, megabytes=3):
        assert verdict.outcome is Outcome.UNKNOWN
        assert "3 MB of memory" in verdict.places[0].why and "--memory" in verdict.places[0].hint
        assert verdict.places[0].number > 0


def endless():
    """A solver whose question does not end."""
    a, b, c = z3.BitVecs("a b c", 512)
    solver = z3.SolverFor("QF_BV")
    solver.add(a * b * c == 0x123456789ABCDEF1, z3.UDiv(a, b) * c + a == 77777, z3.And(a > 3, b > 3, c > 3))
    return solver


def test_a_question_that_does_not_end_is_interrupted():
    own = Limits()
    with own.watched(), own.question(0.0):
        assert answer_of(endless()) == z3.unknown


def test_the_user_interrupts_a_question():
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        answer_of(endless())


def test_an_attempt_has_less_time_than_the_whole():
    own = Limits(1000)
    with own.shortened(-1), pytest.raises(Undecided):
        own.check()
    own.check()


def test_a_fault_refutes_no_other_property():
    """A launch that shows a race must show a race: an access outside is another matter."""
    lines = GUARDED.format(condition="ge") + STORE.format(index="ITEM(0,0)<1;1,0>") + END
    found = {v.property: v.outcome for v in verdicts(lines, 60)}
    assert found == dict.fromkeys(EACH, Outcome.PROVED) | {"bounds": Outcome.REFUTED}
