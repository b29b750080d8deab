"""The engine of a launch: native code, except in the documented cases (U002), and never another engine in silence."""

import io
import json
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from support.programs import build_text, kernel_head
from support.strategies import ENGINES

import visakit
import vlink
import vsim
from visakit import FormatError, LaunchError, SimulationError, VisaWarning
from visakit.language import types
from vlink.linker import Linker, LinkOptions
from vsim.observe.trace import Trace
from vsim.program import Program

KERNEL = (
    kernel_head("OUT=uq LANE=uw*8 AT=uq*8 X=ud*8 Y=ud*8 A=A*8 P1=P*8 T6=T", "OUT", SimdSize=8)
    + """mov (M1, 8) LANE(0,0)<1> 0x76543210:uv
mov (M1, 8) X(0,0)<1> LANE(0,0)<1;1,0>
cmp.lt (M1, 8) P1 X(0,0)<1;1,0> LIMIT:ud
mul (M1, 8) AT(0,0)<1> LANE(0,0)<1;1,0> 4:uw
add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> OUT(0,0)<0;1,0>
svm_scatter.4.1 (M1, 8) AT.0 X.0
(!P1) goto (M1, 8) over
LINE
over:
add (M1, 8) X(0,0)<1> X(0,0)<1;1,0> 1:ud
svm_scatter.4.1 (M1, 8) AT.0 X.0
ret (M1, 1)
"""
)
REFUSED = {
    "region": (
        "mov (M1, 8) X(0,0)<1> Y(4,0)<1;1,0>",
        "a region reaches byte 160 of 'Y', whose registers have 32, in 'mov",
    ),
    "message": ("svm_gather.4.4 (M1, 8) AT.0 X.0", "a message reaches byte 64 of 'X'"),
    "address": ("addr_add (M1, 8) A(1)<8> &X 0:uw", "an operand reaches element 8 of 'A', which has 8"),
    "symbol": ("faddr unknown X(0,0)<1>", "'unknown' is not defined in 'faddr"),
    "function": ("fcall (M1, 8) unknown 0 0", "function 'unknown' is not defined by 'fcall"),
    "image": (
        "gather4_typed.R (M1, 8) T6 X.0 X.0 %null.0 %null.0 Y.0",
        "surface 0 is used as an image, but is not one,",
    ),
    "bindless": (
        "gather_scaled.4 (M1, 8) %bss 0:ud X.0 Y.0",
        "outside 'surface 0', which has 0 bytes, at offset 0",
    ),
}


def program(line, limit):
    linker = Linker(LinkOptions(platform="tgllp", allow_undefined=True))
    from vasm.assembler import assemble_text
    from visakit.objects.image import read_image

    text = KERNEL.replace("LINE", line).replace("LIMIT", str(limit))
    linker.add_bytes(assemble_text(text, "t.visaasm", "tgllp").object_bytes(debug=True), "t.o")
    return Program(read_image(linker.run().image.to_bytes(), "t.bin"))


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_instructions_fault_only_when_they_execute(kind):
    """A launch that does not reach it ends well; else the instructions before it take effect, on both engines."""
    line, message = REFUSED[kind]
    found = []
    for engine in ENGINES:
        out = np.full(8, 99, "u4")
        assert program(line, 0).launch("k", 8, 8, [out], engine=engine).engine == engine
        assert (out == np.arange(1, 9)).all()
        with pytest.raises(SimulationError) as caught:
            program(line, 4).launch("k", 8, 8, [out], engine=engine)
        assert (out == np.arange(8)).all()
        found.append(str(caught.value))
    assert message in found[0] and found[0] == found[1]


TANGLED = """.version 4.1
.kernel "k"
.decl X v_type=G type=ud num_elts=8 align=GRF
.decl P1 v_type=P num_elts=8
.kernel_attr SimdSize=8
call (M1, 8) first
call (M1, 8) second
ret (M1, 8)
first:
cmp.lt (M1, 8) P1 X(0,0)<1;1,0> 3:ud
(P1) goto (M1, 8) second
ret (M1, 8)
second:
add (M1, 8) X(0,0)<1> X(0,0)<1;1,0> 1:ud
ret (M1, 8)
"""
WHY = "jumps between subroutines: lanes wait, and come back, where the text has their subroutine"


def test_another_engine_than_the_one_asked_for_is_a_warning():
    found = Program(build_text(TANGLED))
    with pytest.warns(VisaWarning, match=rf"'k' runs on the numpy engine: {WHY} \[U002\]") as caught:
        result = found.launch("k", 8, 8, [], engine="llvm")
    assert (result.engine, result.engine_reason) == ("numpy", WHY) and caught[0].filename == __file__
    for engine, reason in (("auto", WHY), ("numpy", "")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = found.launch("k", 8, 8, [], engine=engine)
        assert (result.engine, result.engine_reason) == ("numpy", reason)
    assert Program(build_text(TANGLED.replace("(P1) goto", "//"))).launch("k", 8, 8, []).engine_reason == ""


def test_the_command_names_the_engine(tmp_path):
    image = tmp_path / "k.bin"
    image.write_bytes(build_text(TANGLED).to_bytes())
    command = [sys.executable, "-m", "vsim", str(image), "--global-size", "8", "--json"]
    for options, warned in (([], False), (["--engine", "llvm"], True)):
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
        (row,) = json.loads(done.stdout)["launches"]
        assert (row["engine"], row["engine_reason"]) == ("numpy", WHY)
        said = [(d["code"], d["message"]) for d in json.loads(done.stderr)] if done.stderr else []
        assert said == ([("U002", f"'k' runs on the numpy engine: {WHY}")] if warned else [])


def test_an_unknown_engine_is_refused_with_a_trace_too():
    program = Program(build_text('.version 4.1\n.kernel "k"\n.kernel_attr SimdSize=8\nret (M1, 1)\n'))
    with pytest.raises(LaunchError, match="no engine 'fast'"):
        program.launch("k", 8, 8, engine="fast", trace=Trace(io.StringIO()))


def test_an_instruction_that_no_text_has():
    """Modules may have types that instructions do not take; neither engine sees them."""
    text = kernel_head("OUT=uq@qword X=uw*32", "OUT", at=32) + "avg (M1, 8) X(0,0)<1> X(0,0)<1;1,0> 3:uw\nret (M1, 1)\n"
    module = visakit.read_module(visakit.assemble(text, platform="dg2"))
    variables = module.kernels[0].variables
    variables[:] = [replace(v, type=types.BF) if v.type is types.UW else v for v in variables]
    image = vlink.link([visakit.write_module(module)], options=LinkOptions(platform="dg2"))
    with pytest.raises(FormatError, match=r"avg does not take type bf.* \(instruction 0 of 'k'\) \[V034\]"):
        vsim.load(image)
