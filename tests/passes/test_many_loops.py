"""Analyses of functions with many loops: several branches back to one beginning, as the ``continue`` of a loop, and loops one behind the other."""

import pytest
from support.programs import build_text, kernel_head

from vsim.analysis import read_only_loops as analysis
from vsim.analysis.control_flow import control_flow
from vsim.analysis.named_registers import computed_from
from vsim.analysis.read_only_loops import read_only_loops
from vsim.engines.llvm.ir import values
from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import Launch
from vsim.program import Program
from vsim.semantics.registers import layout_of

HEAD = kernel_head("N=ud*8 X=ud*8 Z=ud*8 AT=uq*8 BT=uq*8 P1=P*8", "") + ".kernel_attr SimdSize=8\n"


def function(lines):
    return build_text(HEAD + "\n".join(lines) + "\nret (M1, 1)\n").module.kernels[0]


NESTED = ["outer:", "inner:", "(P1) goto (M1, 8) inner", "(P1) goto (M1, 8) outer", "next:", "(P1) goto (M1, 8) next"]


def test_instructions_belong_to_the_shortest_loop():
    found = [(loop, own) for loop, own in control_flow(function(NESTED)).loops()]
    assert found == [(range(1, 3), [1, 2]), (range(4, 6), [4, 5]), (range(4), [0, 3])]


GROWING = [
    "again:",
    "add (M1, 8) N(0,0)<1> N(0,0)<1;1,0> 1:ud",
    "svm_gather.4.1 (M1, 8) AT.0 X.0",
    "(P1) goto (M1, 8) again",
    "svm_gather.4.1 (M1, 8) BT.0 Z.0",
    "add (M1, 8) BT(0,0)<1> BT(0,0)<1;1,0> X(0,0)<1;1,0>",
    "(P1) goto (M1, 8) again",
]


def test_loads_whose_addresses_are_loaded_in_the_longer_of_two_loops():
    kernel = function(GROWING)
    found = read_only_loops(control_flow(kernel), layout_of(kernel, 32))
    assert found == {n: range(4) for n in range(4)} | {5: range(7), 6: range(7)}


def test_a_loop_of_many_branches_back_is_read_once(monkeypatch):
    """The operands of each instruction are asked for twice, however many loops it is in."""
    count, asked, plain = 200, [], analysis.variables
    monkeypatch.setattr(analysis, "variables", lambda *found: asked.append(1) or plain(*found))
    way = ["svm_gather.4.1 (M1, 8) AT.0 X.0", "(P1) goto (M1, 8) again"]
    kernel = function(["again:", "add (M1, 8) N(0,0)<1> N(0,0)<1;1,0> 1:ud", *way * count])
    assert len(read_only_loops(control_flow(kernel), layout_of(kernel, 32))) == 2 * count + 2
    assert len(asked) == 2 * (2 * count + 2)


def test_what_is_computed_in_an_order_against_that_of_the_text():
    count = 50
    reads, writes = [{n + 1} for n in range(count)], [{n} for n in range(count)]
    assert computed_from([count], reads, writes) == frozenset(range(count + 1))
    assert computed_from([count // 2], reads, writes) == frozenset(range(count // 2 + 1))


@pytest.mark.parametrize("most", [500, 8])
def test_a_mask_lists_few_of_many_branches(most, monkeypatch):
    """Lanes that did not leave at the last branch did not leave at those before."""
    masks, plain = [], values.Value.within
    monkeypatch.setattr(values, "MOST_IMPLIED", most)
    monkeypatch.setattr(values.Value, "within", lambda *found: masks.append(plain(*found)) or masks[-1])
    leaving = ["cmp.gt (M1, 8) P1 N(0,0)<1;1,0> X(0,0)<1;1,0>", "(P1) goto (M1, 8) end"]
    add = "add (M1, 8) N(0,0)<1> N(0,0)<1;1,0> 1:ud"
    text = HEAD + "\n".join([*[add, *leaving] * 30, add, "end:", "ret (M1, 1)\n"])
    translate(Program(build_text(text)).bind(Launch("k", (8, 1, 1), (8, 1, 1))), full=True)
    found = max(len(mask.facts.implies) for mask in masks)
    assert found <= most and (found > 30) == (most > 30)
