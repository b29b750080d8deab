"""What a thread of a symbolic launch finds in its registers."""

import pytest
from support.programs import build_text

pytest.importorskip("z3", reason="proofs need z3-solver")

from visakit.language.operands import SAMPLER, SURFACE
from vsim.program import Program
from vsim.prove.subject import Subject, symbolic_launch
from vsim.semantics.registers import layout_of
from vsim.symbolic.registers import SymbolicRegisters, unknown

TEXT = """.version 4.1
.kernel "k"
.decl T6 v_type=T num_elts=1
.decl S0 v_type=S num_elts=1
.kernel_attr SimdSize=8
.input T6 offset=64 size=4
.input S0 offset=68 size=4
ret (M1, 1)
"""


def test_surface_and_sampler_inputs_are_apart():
    launch = symbolic_launch(Subject(Program(build_text(TEXT, "tgllp")), "k"))
    registers = SymbolicRegisters(layout_of(launch.kernel, 32), unknown)
    launch.fill(registers)
    assert set(registers.states) == {(SURFACE, 6, 0), (SAMPLER, 0, 0)}
