"""What a target is: a way to make inputs out of seeds, and what holds for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SMALL_KERNEL = """.version 4.1
.kernel "k"
.decl OUT v_type=G type=uq num_elts=1
.decl V v_type=G type=ud num_elts=8 align=GRF
.input OUT offset=64 size=8
.kernel_attr SimdSize=8
mov (M1, 8) V(0,0)<1> 5:ud
svm_block_st (2) OUT(0,0)<0;1,0> V.0
ret (M1, 1)
"""
"""A kernel that stores a register, for targets that need any kernel."""


class Finding(Exception):
    """An input did what none may do."""


@dataclass(frozen=True)
class Target:
    """A kind of input.

    Attributes:
        name: how the files of tests/data/fuzzed end that are such inputs.
        what: a line for the help.
        make: the input of a seed.
        check: tries an input, and says how it ended: ``accepted`` or another word that is counted. A ``VisaError`` means
            that it was refused; anything else that it raises is a finding.
        batch: inputs of one child process.
        prepare: called once in each child process.
        missing: what this machine lacks for it; empty for nothing.
    """

    name: str
    what: str
    make: Callable[[int], bytes]
    check: Callable[[bytes], str]
    batch: int = 2000
    prepare: Callable[[], None] = lambda: None
    missing: Callable[[], str] = lambda: ""
