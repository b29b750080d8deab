"""Laws of the assembler: caches change nothing, text and bytes go round, and the real assembler accepts what ours accepts."""

import contextlib
import shutil
import subprocess

import pytest
from hypothesis import assume, given
from support.programs import HEAD, SHARED, needs_corpus
from support.strategies import FUZZ, GOLDEN, edited_texts, effort, modules, some

import vasm
import visakit
from visakit import AssemblyError
from visakit.binary import read_module, write_module
from visakit.diagnostics import Collector
from visakit.language.operands import NULL
from visakit.language.platforms import find
from visakit.text.parser import module_parser, parse_module
from visakit.text.printer import print_module

CASES = sorted(SHARED.glob("cases/*/*/*.visaasm")) if SHARED.exists() else []
pytestmark = pytest.mark.filterwarnings("ignore::visakit.VisaWarning")


def assembled(text, platform=None, caches=True):
    """The bytes and the diagnostics, without exceptions."""
    collector = Collector(50, frozenset())
    module = module_parser(text, "x", find(platform) if platform else None, collector, caches).run()
    return (None if collector.error_count else write_module(module)), collector.items


def same_both_ways(text, platform=None):
    fast, said = assembled(text, platform)
    slow, also_said = assembled(text, platform, caches=False)
    assert fast == slow and said == also_said
    return fast


def goes_round(data):
    text = print_module(read_module(data, "x"))
    assert visakit.assemble(text) == data
    assert print_module(read_module(data, "x")) == text


@pytest.mark.parametrize("body", ["{ mov (M1, 8\n}", "{\nmov (M1, 8 }"])
def test_braces_of_an_unreadable_line_are_no_further_errors(body):
    _, said = assembled(HEAD + body + "\nret (M1, 1)\n", None)
    assert [d.code for d in said] == ["V001"]


def test_equal_operands_are_bound_in_their_scope():
    uses = [f"{name} (M1, 8) VD(0,0)<1> X(0,0)<1;1,0> 1:d" for name in ("add", "mul", "min", "max", "add")]
    declared = ".decl X v_type=G type=d num_elts=8"
    text = HEAD + "\n".join(
        [declared, uses[0], "{", uses[1], declared, uses[2], "}", uses[3], uses[4], "ret (M1, 1)\n"]
    )
    assert same_both_ways(text)
    found = [i.args["src0"].var for i in parse_module(text).kernels[0].instructions[:5]]
    assert found[0] == found[1] == found[3] == found[4] != found[2]


@pytest.mark.parametrize("path", some(GOLDEN, 2), ids=lambda p: p.stem)
def test_both_ways_on_golden_texts(path):
    assert same_both_ways(path.read_text())


@needs_corpus
def test_both_ways_on_compiled_kernels():
    for path in CASES[:: 9 if FUZZ else 54]:
        assert same_both_ways(path.read_text(), path.parent.name), path


@effort(10)
@given(edited_texts())
def test_edited_texts(text):
    data = same_both_ways(text)
    assume(data is not None)
    goes_round(data)


@effort(8)
@given(modules())
def test_generated_texts(text):
    data = same_both_ways(text)
    assert data is not None
    goes_round(data)


REAL = shutil.which("GenX_IR")


def real_accepts(text, folder, platform):
    """Whether GenX_IR takes a text for a platform, its semantic checks included."""
    (folder / "t.visaasm").write_text(text)
    names = {"skl": "SKL", "tgllp": "TGLLP", "xehp": "XeHP_SDV", "dg2": "DG2", "pvc": "PVC", "pvcxt": "PVCXT"}
    command = [REAL, "t.visaasm", "-platform", names[platform], "-stopafter", "CFG", "-outputCisaBinaryName", "t.isa"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=20)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


NEWER = {"bdpas", "dnscl", "lfsr", "shfl_idx4", "sigm", "tanh", "srnd_bytes", "types_bfloat", "invm", "raw_sendg",
         "lsc_atomic_bf", "lsc_apndctr", "lsc_with_bases", "lsc_block2d_payload", "lsc_xe3p", "sampler_xe2", "sampler_handles"}  # fmt: skip
"""Instructions that Debian 12's assembler does not know."""


@pytest.mark.skipif(REAL is None, reason="GenX_IR is not installed")
def test_the_real_assembler_accepts_the_golden_texts_too(tmp_path):
    """Ours takes all of them; the real one takes each on some platform."""
    refused = [
        p.stem
        for p in GOLDEN[::4]
        if p.stem.split(".")[0] not in NEWER
        and not any(real_accepts(p.read_text(), tmp_path, n) for n in ("skl", "tgllp", "xehp", "pvc", "pvcxt", "dg2"))
    ]
    assert refused == []


DIFFERENT = {
    # line: (ours accepts, the real one accepts, why)
    "mov (M1, 8) VD(0,0)<1> 0x1ffff:uw": (False, True, "the immediate does not fit; the real one cuts it"),
    "mov (M1, 8) VD(0,0)<1> 4294967296:d": (False, True, "the immediate does not fit; the real one stores 0"),
    "mov (M1, 8) VF(0,0)<1> 1.5e3:f": (True, False, "the manual's spelling of a float"),
    "(P1) min (M1, 8) VD(0,0)<1> VD(1,0)<1;1,0> VD(2,0)<1;1,0>": (False, True, "the real one drops the predicate"),
    "mov (8) VD(0,0)<1> VD(1,0)<1;1,0> {NoMask}": (True, False, "the manual's spelling of a mask"),
    "MOV (M1, 8) VD(0,0)<1> VD(1,0)<1;1,0>": (True, False, "mnemonics in any case"),
    "mov (M1, 8) VD(0,0)<1> VD(1,0)<0;4,1>": (True, True, "a warning here"),
    "add (M1, 8) VD(0,0)<1> VD(1,0)<1;1,0> VD(2,0)<1;1,0>": (True, True, ""),
    "add (M1, 8) VF(0,0)<1> VF(1,0)<1;1,0> VD(2,0)<1;1,0>": (False, False, ""),
    "frc (M1, 8) VD(0,0)<1> VD(1,0)<1;1,0>": (False, False, ""),
    "and (M1, 8) VD(0,0)<1> (-)VD(1,0)<1;1,0> VD(2,0)<1;1,0>": (False, False, ""),
    "mov (M1, 8) VD(300,0)<1> VD(1,0)<1;1,0>": (False, True, "the real one cuts the row to 8 bits"),
    "bogus (M1, 8) VD(0,0)<1> VD(1,0)<1;1,0>": (False, False, ""),
    "mov (M1, 8) NOPE(0,0)<1> VD(1,0)<1;1,0>": (False, False, ""),
    "mov (M1, 8) VD(0,0)<1>": (False, False, ""),
    "goto (M1, 8) NOWHERE": (False, False, ""),
}


@pytest.mark.parametrize("line", DIFFERENT)
def test_where_we_differ_from_the_real_assembler(line, tmp_path):
    text = HEAD + line + "\nret (M1, 1)\n"
    ours, real, _ = DIFFERENT[line]
    assert (assembled(text, "skl")[0] is not None) == ours
    if REAL:
        assert real_accepts(text, tmp_path, "skl") == real


@pytest.mark.parametrize("offset", [0, 8, 32])
def test_no_variable_begins_inside_of_null(offset, tmp_path):
    """In messages the engines gave such a variable different values."""
    text = HEAD + f".decl X v_type=G type=ud num_elts=8 alias=<%null, {offset}>\nret (M1, 1)\n"
    data, diagnostics = assembled(text, "skl")
    assert (data is not None) == (offset == 0) and [d.code for d in diagnostics] == ["V031"] * bool(offset)
    if REAL:
        assert real_accepts(text, tmp_path, "skl") == (offset == 0)
    module = visakit.read_module(visakit.assemble(text.replace(f"%null, {offset}", "%r0, 0")))
    variable = next(v for v in module.kernels[0].variables if v.name == "X")
    variable.alias = (NULL.var, offset) if offset else None
    with pytest.raises(visakit.FormatError, match="of %null") if offset else contextlib.nullcontext():
        visakit.validate(module)


def test_an_error_is_raised_without_a_collector():
    with pytest.raises(AssemblyError):
        visakit.assemble(HEAD + "bogus\n")


def test_a_form_of_operand_without_an_error_has_one_in_a_shorter_variable():
    text = """.version 4.1
.kernel "k"
.decl LONG v_type=G type=d num_elts=16 align=GRF
.decl SHORT v_type=G type=d num_elts=8 align=GRF
.decl PART v_type=G type=d num_elts=16 alias=<SHORT, 0>
mov (M1, 16) LONG(0,0)<1> LONG(0,0)<1;1,0>
mov (M1, 16) LONG(0,0)<1> SHORT(0,0)<1;1,0>
mov (M1, 16) LONG(0,0)<1> LONG(0,0)<1;1,0>
mov (M1, 16) PART(0,0)<1> LONG(0,0)<1;1,0>
ret (M1, 1)
"""
    found = vasm.assemble_text(text, silent=()).warnings
    assert [(d.code, d.span.line) for d in found] == [("W021", 5), ("W010", 7), ("W010", 9)]
