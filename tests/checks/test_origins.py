"""Origins of undefined values: the variables of a function's text that a value is computed from."""

import pytest
from support.programs import build_text, kernel_head

from vsim.analysis.origins import LOCAL, MEMORY, undefined_origins

HEAD = (
    kernel_head("A=uq*16 X=d*16 Y=d*16 Z=d*16")
    + """.decl ZW v_type=G type=d num_elts=16 align=GRF alias=<Z, 0>
.decl P v_type=P num_elts=16
.decl n v_type=G type=d num_elts=1
.input n offset=64 size=4
.kernel_attr SimdSize=16
.kernel_attr SLMSize=1
"""
)
CASES = {
    "never written": ("mov (M1, 16) Y(0,0)<1> X(0,0)<1;1,0>", [("X", 0, 0, 0, False)]),
    "in part": (
        "mov (M1, 8) X(0,0)<1> 1:d\nmov (M1, 16) Y(0,0)<1> X(0,0)<1;1,0>",
        [("X", 1, 32, 63, False)],
    ),
    "an alias writes it": ("mov (M1, 16) ZW(0,0)<1> 1:d\nmov (M1, 16) Y(0,0)<1> Z(0,0)<1;1,0>", []),
    "an input": ("mov (M1, 16) Y(0,0)<1> n(0,0)<0;1,0>", []),
    "both branches write it": (
        "cmp.lt (M1, 16) P n(0,0)<0;1,0> 3:d\n(P) goto (M1, 16) other\nmov (M1, 16) X(0,0)<1> 1:d\n"
        "goto (M1, 16) meet\nother:\nmov (M1, 16) X(0,0)<1> 2:d\nmeet:\nmov (M1, 16) Y(0,0)<1> X(0,0)<1;1,0>",
        [],
    ),
    "one branch writes it": (
        "cmp.lt (M1, 16) P n(0,0)<0;1,0> 3:d\n(P) goto (M1, 16) meet\nmov (M1, 16) X(0,0)<1> 1:d\n"
        "meet:\nmov (M1, 16) Y(0,0)<1> X(0,0)<1;1,0>",
        [("X", 4, 0, 0, True)],
    ),
    "a predicate": (
        "mov (M1, 16) Z(0,0)<1> 1:d\ncmp.lt (M1, 16) P X(0,0)<1;1,0> 3:d\n(P) sel (M1, 16) Y(0,0)<1> Z(0,0)<1;1,0> 1:d",
        [("X", 1, 0, 0, False)],
    ),
    "local memory, not its address": (
        "gather_scaled.4 (M1, 16) %slm 0:ud X.0 Z.0\nmov (M1, 16) Y(0,0)<1> Z(0,0)<1;1,0>",
        [(LOCAL, 0, 0, 0, True)],
    ),
    "memory": (
        "svm_gather.4.1 (M1, 16) A.0 Z.0\nmov (M1, 16) Y(0,0)<1> Z(0,0)<1;1,0>",
        [(MEMORY, 0, 0, 0, True)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_origins(case):
    body, expected = CASES[case]
    image = build_text(f"{HEAD}{body}\nret (M1, 1)\n")
    (kernel,) = image.module.kernels
    found = undefined_origins(kernel, image.grf_size, len(kernel.instructions) - 2)
    shown = [(o.variable if o.variable < 0 else kernel.variable_name(o.variable), *o[1:]) for o in found]
    assert shown == expected
