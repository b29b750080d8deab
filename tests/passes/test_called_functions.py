"""Powers, sines and logarithms of floats that are so many that a function of the module computes them."""

import numpy as np
import pytest
from support.programs import COPY, build_text
from support.strategies import ENGINES

from vsim.engines.llvm import target
from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import Launch
from vsim.program import Program

NAMES = ("exp", "log", "sin", "cos")


def program(steps):
    """A kernel that adds so many values of eight lanes, of numbers that become smaller, by all functions in turn."""
    alias = ".decl Y v_type=G type=f num_elts=8 align=GRF alias=<X,0>\n"
    more = "".join(f".decl {name} v_type=G type=f num_elts=8 align=GRF\n" for name in ("VALUE", "TOTAL"))
    lines = ["mov (M1_NM, 8) TOTAL(0,0)<1> 0:f"]
    for n in range(steps):
        lines += [
            f"{NAMES[n % 4]} (M1_NM, 8) VALUE(0,0)<1> Y(0,0)<1;1,0>",
            "add (M1_NM, 8) TOTAL(0,0)<1> TOTAL(0,0)<1;1,0> VALUE(0,0)<1;1,0>",
            "mul (M1_NM, 8) Y(0,0)<1> Y(0,0)<1;1,0> 0.97:f",
        ]
    lines.append("mov (M1_NM, 8) Y(0,0)<1> TOTAL(0,0)<1;1,0>")
    return Program(
        build_text(COPY.replace(".decl BASE", f"{alias}{more}.decl BASE").replace("MIDDLE", "\n".join(lines)), "pvc")
    )


@pytest.mark.skipif("x86-64-v3" not in target.possible(), reason="needs AVX2")
@pytest.mark.parametrize("steps", [256, 257])
def test_many_functions_are_called(steps, monkeypatch):
    """From 512 vectors of doubles on; engines agree on numbers, infinities and NaN."""
    monkeypatch.setenv(target.VARIABLE, "x86-64-v3")
    given, found = np.random.default_rng(3).uniform(0, 60, 256).astype("f4"), []
    given[:6] = [0.0, -0.0, -1.5, np.inf, -np.inf, np.nan]
    kernel = program(steps)
    for engine in ENGINES:
        out = np.zeros(256, "u4")
        kernel.launch("copy", out.size, 64, [given.view("u4"), out], engine=engine)
        found.append(out)
    floats = [out.view("f4") for out in found]
    assert np.isfinite(floats[0][6:]).all()
    assert ((found[0] == found[1]) | np.isnan(floats[0]) & np.isnan(floats[1])).all()
    arguments = kernel.convert("copy", [given.view("u4"), np.zeros(256, "u4")])
    text = translate(kernel.bind(Launch("copy", (256,), (64,), args=arguments)), full=True).text
    called = text.count("define internal <8 x float> @called_")
    assert called == (4 if steps > 256 else 0)
