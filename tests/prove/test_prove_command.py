"""The command ``visakit prove``."""

import importlib.util

import pytest
from support.commands import exit_code

from visakit.cli import APPS


@pytest.mark.parametrize("word", ["--property", "--dimensions", "--local-size"])
def test_a_wrong_value_is_an_error_that_lists_the_right_ones(word, capsys):
    pytest.importorskip("z3", reason="proofs need z3-solver")
    assert exit_code(APPS["prove"], "visakit prove", ["x.bin", word, "0"]) == 2
    assert word in capsys.readouterr().err


def test_without_the_solver_the_error_names_the_package(monkeypatch, capsys):
    """P003."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "z3" else find(name, *more))
    assert exit_code(APPS["prove"], "visakit prove", ["x.bin"]) == 1
    error = capsys.readouterr().err
    assert "[P003]" in error and "pip install 'visakit[prove]'" in error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("x.bin --rounds 7", "--rounds goes with --equal or --witness or --cover"),
        ("x.bin --witness 3 --reassociate", "--reassociate goes with --equal"),
        ("--equal a.bin b.bin --property bounds", "--property does not go with --equal"),
        ("--equal a.bin b.bin --cover", "--equal does not go with --cover"),
        ("--peephole add add --assume n>0", "--assume does not go with --peephole"),
        ("x.bin --peephole add add", "IMAGE does not go with --peephole"),
    ],
)
def test_an_option_that_would_be_dropped_is_refused(words, said, capsys):
    pytest.importorskip("z3", reason="proofs need z3-solver")
    assert exit_code(APPS["prove"], "visakit prove", words.split()) == 2
    assert said in capsys.readouterr().err
