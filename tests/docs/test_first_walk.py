"""First steps of an OpenCL programmer: four programs of README, tutorial and language page, and likely mistakes.

The programs are in ``data/walk``. A mistake is an edit of one of them; the tools must report its place, its reason
and its cure.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from support.golden_files import command_line
from support.programs import DATA, kernel_head

import vasm
import visakit
import vlink
import vsim

WALK = DATA / "walk"
ENGINES = pytest.mark.parametrize("engine", ["llvm", "numpy"])


def assembled(*names, edit=("", "")):
    """Objects of the walk's texts for bmg; an edit is made in the first of them."""
    objects = []
    for name in names:
        text = (WALK / f"{name}.visaasm").read_text()
        if name == names[0]:
            assert edit[0] in text
            text = text.replace(*edit, 1)
        objects.append(vasm.assemble_text(text, f"{name}.visaasm", "bmg", silent=()))
    return objects


def program(*names, edit=("", "")):
    """The walk's texts, linked and loaded."""
    return vsim.load(vlink.link([a.object_bytes(debug=True) for a in assembled(*names, edit=edit)]))


# -- the programs ------------------------------------------------------------------------------------------------------


@ENGINES
def test_vector_add(engine):
    a, b, out = np.arange(40, dtype="f4"), np.full(40, 0.5, "f4"), np.zeros(40, "f4")
    program("add").add(OUT=out, A=a, B=b, global_size=40, local_size=16, engine=engine)
    vsim.expect(out, a + b)


@ENGINES
def test_a_call_with_two_arguments_across_files(engine):
    out = np.zeros(16, "i4")
    program("calls", "weigh").calls(OUT=out, COUNT=5, global_size=16, local_size=16, engine=engine)
    vsim.expect(out, np.arange(16) * 5 + 1)


@ENGINES
def test_a_table_of_functions(engine):
    i, table = np.arange(16, dtype="i4"), program("table", "weigh").table
    for which, wanted in enumerate((-i, i * i, i * 10 + 1)):
        out = np.zeros(16, "i4")
        table(OUT=out, WHICH=which, global_size=16, local_size=16, engine=engine)
        vsim.expect(out, wanted)


@ENGINES
def test_bit_fields_with_predication_and_indirect_addressing(engine):
    words = np.random.default_rng(1).integers(0, 1 << 13, 16, "u4")
    kind, slot, value = words & 3, words >> 2 & 7, words >> 5
    value = np.where(kind < 2, value * (2 * slot + 1), 2 * slot + 1) & 255
    program("bits").bits(words, global_size=16, local_size=16, engine=engine)
    vsim.expect(words, kind | slot << 2 | value << 5)


@ENGINES
@pytest.mark.parametrize("size", [1000, 40, 17, 16, 3])
def test_a_group_is_whole_threads_where_the_kernel_counts_them(engine, size):
    a, out = np.arange(size, dtype="f4"), np.zeros(size, "f4")
    program("add").add(OUT=out, A=a, B=a, global_size=size, engine=engine)
    vsim.expect(out, 2 * a)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (
            {"global_size": 40, "local_size": 10},
            r"threads of 16 work-items, and groups of 10 cut .*S005.*multiple of 16",
        ),
        ({"global_size": 8, "local_size": 8, "global_offset": 8}, "an offset of 8 cuts threads apart"),
    ],
)
def test_groups_that_cut_threads_apart(sizes, message):
    arrays = [np.zeros(48, "f4") for _ in range(3)]
    with pytest.warns(visakit.VisaWarning, match=message):
        program("add").launch("add", args=arrays, **sizes)


# -- mistakes ----------------------------------------------------------------------------------------------------------


class Mistake(NamedTuple):
    """An edit of a text, the code of the message, and patterns of the line, the message and the hint."""

    name: str
    old: str
    new: str
    code: str
    message: str
    hint: str


X_PLUS_Y = "add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>"
LOAD = "lsc_load.ugm (M1, 16) X:d32 flat[PA]:a64"
CALL = "fcall (M1, 16) weigh 2 1"
MISTAKES = {
    "no version": Mistake("add", ".version 4.2\n", "", "V005", "first statement must be .version", r"begin with '\.version 4\.1'"),
    "a comment of shells": Mistake("add", "// Vector", "# Vector", "V001", "'#' is not allowed here", "comment begins with //"),
    "a type of C": Mistake("add", "X     v_type=G type=f ", "X     v_type=G type=float", "V022", "'float' is not a type", "write type=f"),
    "not declared": Mistake("add", ".decl Y     v_type=G type=f  num_elts=16 align=GRF\n", "", "V010", "'Y' is not declared", "declare it: .decl Y v_type=G"),
    "misspelt variable": Mistake("add", "PB(0,0)<1> B(", "PBB(0,0)<1> B(", "V010", "'PBB' is not declared", "did you mean 'PB'"),
    "no mask": Mistake("add", "add (M1, 16) X(0,0)", "add X(0,0)", "V047", "needs a mask and an execution size", r"add\[\.sat\] \(mask, exec_size\) dst src0 src1"),
    "12 lanes": Mistake("add", "add (M1, 16) X(", "add (M1, 12) X(", "V042", "12 is not an execution size", "1, 2, 4, 8, 16 or 32"),
    "a number without a type": Mistake("add", "4:ud", "4", "V012", "'4' is not an allowed operand", "a number is followed by its type: write 4:uw"),
    "no region": Mistake("add", X_PLUS_Y, X_PLUS_Y.replace("<1;1,0> Y", " Y"), "V014", r"'X\(0,0\)' needs a region", r"write X\(0,0\)<1;1,0>"),
    "names alone": Mistake("add", X_PLUS_Y, "add (M1, 16) X X Y", "V011", "'X' is a general variable", r"register is written X\(0,0\)<1>"),
    "an assignment": Mistake("add", X_PLUS_Y, "X = X + Y", "V001", "'=' is not allowed here", "the destination comes first"),
    "commas": Mistake("add", "X(0,0)<1> X(0,0)<1;1,0> Y", "X(0,0)<1>, X(0,0)<1;1,0>, Y", "V001", "',' is not allowed here", "blanks, not commas"),
    "a semicolon": Mistake("add", "ret (M1, 1)", "ret (M1, 1);", "V001", "';' is not allowed here", "ends with its line"),
    "the destination last": Mistake("add", LOAD, "lsc_load.ugm (M1, 16) flat[PA]:a64 X:d32", "V050", "is not LSC data", "write V:d32"),
    "a region in a message": Mistake("add", LOAD, LOAD.replace("X:d32", "X(0,0)<1>:d32"), "V001", "':' is not allowed here", "data of messages are V:d32, without a region"),
    "no memory named": Mistake("add", "lsc_load.ugm", "lsc_load", "V004", r"needs one of \.ugm, \.ugml, \.slm", "its form is"),
    "fadd": Mistake("add", "add (M1, 16) X(", "fadd (M1, 16) X(", "V003", "'fadd' is not an instruction", "add takes every type"),
    "sub": Mistake("add", "add (M1, 16) X(", "sub (M1, 16) X(", "V003", "'sub' is not an instruction", r"add with \(-\)"),
    "get_global_id": Mistake("add", "add (M1, 16) ITEM(0,0)<1> FIRST(0,0)<0;1,0> LANE(0,0)<1;1,0>", "mov (M1, 16) ITEM(0,0)<1> get_global_id(0)", "V010", "'get_global_id' is not declared", "%thread_x times the lanes"),
    "no ret": Mistake("add", "    ret (M1, 1)\n", "", "W003", "does not end with ret", r"end it with ret \(M1, 1\)"),
    "too many lanes": Mistake("add", "add (M1, 16) X(", "add (M1, 32) X(", "W010", "reaches to byte 128 of 'X', which has 64 bytes", "32 elements"),
    "an input without a place": Mistake("add", ".input B   offset=80 size=8", ".input B", "V009", ".input needs offset=", r"write \.input B offset=128 size=8"),
    "an input of nothing": Mistake("add", ".input B ", ".input BB", "V010", "'BB' is not declared", "did you mean 'B'"),
    "inputs that overlap": Mistake("add", "offset=80", "offset=76", "V073", "begins at byte 76, inside the one before it", "line 17"),
    "an attribute in capitals": Mistake("add", "SimdSize", "SIMDSize", "W002", "'SIMDSize' is not a known attribute", "did you mean 'SimdSize'"),
    "a label that is nowhere": Mistake("add", "    ret", "    goto (M1, 16) end\n    ret", "V026", "label 'end' is not defined", "write end:"),
    "a call of C": Mistake("calls", CALL, "fcall (M1, 16) weigh(X, N)", "V012", r"'weigh\(X, N\)' is not a name", "fcall .* name arg_grf ret_grf"),
    "a call without sizes": Mistake("calls", CALL, "fcall (M1, 16) weigh", "V048", "fcall needs an integer here", "name arg_grf ret_grf"),
    "call for fcall": Mistake("calls", CALL, "call (M1, 16) weigh", "V026", "label 'weigh' is not defined", "fcall calls functions"),
    "fret in a kernel": Mistake("calls", "ret (M1, 1)", "fret (M1, 16)", "W014", "'calls' is a kernel", "ends with ret"),
    "ifcall of 64 bits": Mistake("table", "ifcall (M1, 16) TARGET(", "ifcall (M1, 16) TABLE(", "V071", "takes an address of type ud", "type ud with alias"),
    "add for addr_add": Mistake("table", "addr_add", "add", "V055", "add does not take an address variable", "addr_add computes addresses"),
    "an index": Mistake("table", "r[A0(0),0]<0;1,0>:ud", "TABLE[WHICH]", "V012", r"'TABLE\[WHICH\]' is not an allowed operand", "indexed through an address variable"),
    "dwords to addr_add": Mistake("bits", "PLACE  v_type=G type=uw", "PLACE  v_type=G type=ud", "V034", "addr_add does not take type ud", "it takes uw"),
    "no type of an indirect operand": Mistake("bits", "<1,0>:ud", "<1,0>", "V014", "needs a region and a type", r"r\[A\(element\),offset\]<v;w,h>:type"),
    "a predicate behind": Mistake("bits", "(P1) mul (M1", "mul (P1) (M1", "V040", r"'\(P1\)' is not an execution mask", r"a predicate precedes the instruction: \(P1\) mov"),
    "elements for an address": Mistake("bits", "addr_add (M1, 16) A0(0)<1> &TABLE", "addr_add (M1, 16) A0(0)<1> TABLE(0,0)<1;1,0>", "V055", "takes the address of a variable here", "write &TABLE"),
    "a whole number for a float": Mistake("add", X_PLUS_Y, X_PLUS_Y.replace("Y(0,0)<1;1,0>", "2:f"), "W017", "2 are those of almost 0", r"write 2\.0:f"),
    "no SIMD size": Mistake("add", ".kernel_attr SimdSize=16\n", "", "W016", "does not say how many lanes", r"write \.kernel_attr SimdSize=16"),
    "no kernel": Mistake("add", '.kernel "add"\n', "", "V006", "precedes the first .kernel", "begin with"),
    "a suffix in words": Mistake("bits", "cmp.lt", "cmp.less", "V004", r"'\.less' is not a suffix of cmp", r"\.eq, \.ne, \.gt, \.ge, \.lt, \.le"),
    "no condition": Mistake("bits", "cmp.lt", "cmp", "W011", "has no condition", "write cmp.eq"),
    "a predicate in registers": Mistake("bits", "v_type=P num_elts=16", "v_type=G type=ud num_elts=1", "V011", "'P1' is a general variable", "declared with v_type=P"),
    "bfe without a width": Mistake("bits", "2:ud 0:ud WORD", "0:ud WORD", "V048", "bfe needs a source operand here", "dst width offset src"),
    "floats in bit fields": Mistake("bits", "<1> 2:ud 0:ud", "<1> 2:f 0:ud", "V034", "bfe does not take type f", "it takes ud, d"),
    "one address for all lanes": Mistake("bits", "A0     v_type=A num_elts=16", "A0     v_type=A num_elts=1", "W010", "reaches element 15 of 'A0', which has 1 element", ""),
}  # fmt: skip


def said(mistake):
    """The diagnostics of a text with a mistake."""
    try:
        (assembly,) = assembled(mistake.name, edit=(mistake.old, mistake.new))
    except visakit.AssemblyError as error:
        return error.diagnostics
    return assembly.warnings


@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes_in_texts(what):
    mistake = MISTAKES[what]
    first = next(d for d in said(mistake) if d.code == mistake.code)
    assert re.search(mistake.message, first.message) and re.search(mistake.hint, first.hint), first
    assert first.span.file == f"{mistake.name}.visaasm" and first.span.line


LINKS = {
    "the other file is missing": (("calls",), ("", ""), "L013", "'weigh' is not defined; it is used by fcall in 'calls'", "link the object"),
    "a misspelt function": (("calls", "weigh"), ("weigh 2 1", "wiegh 2 1"), "L013", "'wiegh' is not defined", "did you mean 'weigh'"),
    "another number of arguments": (("calls", "weigh"), ("weigh 2 1", "weigh 1 1"), "L014", "", ""),
    "another SIMD size": (("weigh", "calls"), ("SimdSize=16", "SimdSize=8"), "L015", "is SIMD16, 'weigh' is SIMD8", ""),
}  # fmt: skip


@pytest.mark.parametrize("what", LINKS)
def test_mistakes_in_links(what):
    names, edit, code, message, hint = LINKS[what]
    with pytest.raises(visakit.LinkError) as caught:
        program(*names, edit=edit)
    first = caught.value.diagnostics[0]
    assert first.code == code and message in first.message and hint in first.hint, first


@ENGINES
def test_mistakes_in_launches(engine):
    add, a = program("add").add, np.zeros(16, "f4")
    options = {"global_size": 16, "local_size": 16, "engine": engine}
    for call, message in (
        (lambda: add(OUT=a, A=a, C=a, **options), "no argument 'C'.*arguments are OUT, A, B"),
        (lambda: add(OUT=a, A=a, **options), "argument 'B' is missing"),
        (lambda: add(OUT=a, A=a, B="b", **options), "argument 2 cannot be a str.*pass a numpy array"),
    ):
        with pytest.raises(visakit.LaunchError, match=message):
            call()
    with pytest.raises(
        visakit.SimulationError, match=r"^add.visaasm:\d+:1: error: access of 4 bytes outside .* lane 8"
    ):
        add(OUT=a, A=a[:8].copy(), B=a, **options)


@ENGINES
def test_a_table_that_is_too_small(engine):
    words = np.full(16, 0x3FF << 2, "u4")
    with pytest.raises(
        visakit.SimulationError, match=r"\d+ bytes after the beginning of 'TABLE', which has 32, lies outside"
    ):
        program("bits", edit=("3:ud 2:ud", "8:ud 2:ud")).bits(words, global_size=16, local_size=16, engine=engine)


LAUNCHES = {
    "a float without a type": ({"scalar": 2.5}, ""),
    "a whole number for a float": ({"scalar": 2}, ""),
    "the type of numpy": ({"scalar": 2.5, "type": "float32"}, "'float32' is not a type of a scalar.*hint: write f32"),
    "a misspelt type": ({"scalar": 2.5, "type": "flaot"}, "'flaot' is not a type of a scalar.*did you mean 'float'"),
    "a list": ({"scalar": [1, 2]}, "argument 1: error: .* has 1 element, found 2"),
}


@pytest.mark.parametrize("what", LAUNCHES)
def test_scalars_of_launch_files(what, tmp_path, monkeypatch):
    """Numbers without a type are of the kernel's."""
    argument, message = LAUNCHES[what]
    text = (
        kernel_head("OUT=uq@qword A=f", "OUT A", name="put", SimdSize=8)
        + """svm_scatter.4.1 (M1_NM, 1) OUT.0 A.0
ret (M1, 1)
"""
    )
    monkeypatch.chdir(tmp_path)
    Path("put.bin").write_bytes(vlink.link([vasm.assemble_text(text, "put").object_bytes()]).to_bytes())
    np.save("out.npy", np.zeros(1, "f4"))
    np.save("expected.npy", np.float32([argument["scalar"]]))
    launch = {"global_size": 1, "args": [{"buffer": "out.npy", "expect": "expected.npy"}, argument]}
    Path("launch.json").write_text(json.dumps({"launches": [launch]}))
    out, err, code = command_line("vsim put.bin --launch launch.json --engine numpy")
    assert (code != 0) == bool(message), err
    assert re.search(message or "1 checked", (err + out).decode(), re.DOTALL), err


def test_values_for_inputs_of_hand_written_kernels():
    """A number has the type of its input; what no input takes is an error."""
    calls = program("calls", "weigh").calls
    out, options = np.zeros(16, "i4"), {"global_size": 16, "local_size": 16}
    for arguments, message in (
        ((out, 2.5), "argument 1 is i32: 2.5 does not fit i32"),
        (
            (out, np.float64(2)),
            "argument 1 has 8 bytes, .input 'COUNT' has 4.*pass a number; the kernel declares it as i32",
        ),
        (([0] * 16, 2), r"argument 0 is u64, which has 1 element, found 16 .*takes an array: numpy\.array"),
        ((out, 2, out), "argument 2 has no .input to go to: the kernel has 2"),
    ):
        with pytest.raises(visakit.LaunchError, match=message):
            calls(*arguments, **options)


def test_build_options_begin_with_a_sign(tmp_path, monkeypatch):
    """They need no '='; an option of the command is not taken as one."""
    monkeypatch.chdir(tmp_path)
    for words, message in (
        ("--build-options -cl-opt-disable nothing.cl", "nothing.cl: error"),
        ("--build-options --kernel k nothing.cl", "--build-options needs TEXT behind it, found '--kernel'"),
        ("--kernel -k nothing.cl", "--kernel needs NAME behind it, found '-k'"),
    ):
        _, err, code = command_line(f"vsim {words}")
        assert code and message in err.decode()


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("vlink k.o --out k.bin", "-o"),
        ("vasm k.visaasm --device bmg", "--platform"),
        ("vsim k.bin --size 8", "--global-size"),
    ],
)
def test_options_of_other_tools(line, meant):
    _, err, code = command_line(line)
    assert code == 2 and f"did you mean '{meant}'?" in err.decode()
