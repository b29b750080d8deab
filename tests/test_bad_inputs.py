"""The faulty programs that the real assembler was tried on: each is rejected or warned of with a line and a column, or is right after all."""

import pytest
from conftest import HEAD

from vasm.assembler import assemble_text
from visa import AssemblyError

TAIL = "\nret (M1, 1)\n"
LINES = {
    "undefined var": "mov (M1, 8) NOPE(0,0)<1> VD(0,0)<1;1,0>", "undefined src var": "mov (M1, 8) VD(0,0)<1> NOPE(0,0)<1;1,0>",
    "region vstride 3": "mov (M1, 8) VD(0,0)<1> VD(0,0)<3;1,0>", "region width 32": "mov (M1, 8) VD(0,0)<1> VD(0,0)<32;32,1>",
    "dst stride 3": "mov (M1, 8) VD(0,0)<3> VD(0,0)<1;1,0>", "dst stride 0": "mov (M1, 8) VD(0,0)<0> VD(0,0)<1;1,0>",
    "emask misaligned M2,16": "mov (M2, 16) VD(0,0)<1> VD(0,0)<1;1,0>", "emask misaligned M3,32": "mov (M3, 32) VD(0,0)<1> VD(0,0)<1;1,0>",
    "emask unknown M9": "mov (M9, 8) VD(0,0)<1> VD(0,0)<1;1,0>", "exec size 3": "mov (M1, 3) VD(0,0)<1> VD(0,0)<1;1,0>",
    "exec size 64": "mov (M1, 64) VD(0,0)<1> VD(0,0)<1;1,0>", "missing label goto": "goto (M1, 8) NOWHERE", "missing label jmp": "jmp (M1, 1) NOWHERE",
    "call missing function": "call (M1, 1) nofn", "duplicate label": "L:\nL:", "duplicate decl": ".decl VD v_type=G type=d num_elts=8",
    "redeclare predefined %r0": ".decl %r0 v_type=G type=d num_elts=8", "type mismatch add d,f": "add (M1, 8) VF(0,0)<1> VF(0,0)<1;1,0> VD(0,0)<1;1,0>",
    "float op on int": "frc (M1, 8) VD(0,0)<1> VD(0,0)<1;1,0>", "imm 0x1ffff:uw": "mov (M1, 8) VD(0,0)<1> 0x1ffff:uw", "imm 300:b": "mov (M1, 8) VD(0,0)<1> 300:b",
    "imm dec 4294967296:d": "mov (M1, 8) VD(0,0)<1> 4294967296:d", "imm dec overflow q": "mov (M1, 8) VD(0,0)<1> 99999999999999999999:q",
    "imm hex 17 digits": "mov (M1, 8) VD(0,0)<1> 0x10000000000000000:uq", "imm hex 0x1_0000_0000:d": "mov (M1, 8) VD(0,0)<1> 0x100000000:d",
    "imm no type": "mov (M1, 8) VD(0,0)<1> 5", "bf imm": "mov (M1, 8) VD(0,0)<1> 0x13f80:bf", "hf decimal out of range": "mov (M1, 8) VF(0,0)<1> 1e9:hf",
    "unknown op": "bogus (M1, 8) VD(0,0)<1> VD(0,0)<1;1,0>", "unknown directive": ".bogus 3", "missing operand": "add (M1, 8) VD(0,0)<1> VD(0,0)<1;1,0>",
    "extra operand": "mov (M1, 8) VD(0,0)<1> VD(0,0)<1;1,0> VD(0,0)<1;1,0>", "truncated mid-line": "add (M1, 8) VD(0,0)<1> VD(0,",
    "unterminated string": 'faddr "open VUD(0,0)<1>', "unterminated comment": "/* open", "bad escape": r'faddr "a\q" VUD(0,0)<1>',
    "pred undefined": "(P9) mov (M1, 8) VD(0,0)<1> VD(0,0)<1;1,0>", "pred not a predicate": "(VD) mov (M1, 8) VD(0,0)<1> VD(0,0)<1;1,0>",
    "surface undefined": "gather4_scaled.R (M1, 8) T99 0x0:ud VUD.0 VD.0", "surface wrong kind": "gather4_scaled.R (M1, 8) VD 0x0:ud VUD.0 VD.0",
    "row offset 300": "mov (M1, 8) VD(300,0)<1> VD(0,0)<1;1,0>", "out of bounds row 20": "mov (M1, 8) VD(20,0)<1> VD(0,0)<1;1,0>",
    "col offset 300": "mov (M1, 8) VD(0,300)<1> VD(0,0)<1;1,0>", "raw offset 0x20000": "svm_gather.4.1 (M1, 8) VUD.131072 VD.0",
    "num_elts 0": ".decl X v_type=G type=d num_elts=0", "num_elts 70000": ".decl X v_type=G type=d num_elts=70000", "pred num_elts 64": ".decl X v_type=P num_elts=64",
    "alias undefined": ".decl X v_type=G type=d num_elts=8 alias=<NOPE, 0>", "alias out of bounds": ".decl X v_type=G type=d num_elts=8 alias=<VD, 252>",
    "bad align": ".decl X v_type=G type=d num_elts=8 align=3", "bad align name": ".decl X v_type=G type=d num_elts=8 align=page",
    "bad type": ".decl X v_type=G type=e num_elts=8", "unknown var attr": ".decl X v_type=G type=d num_elts=8 attrs={Foo}",
    "unknown kernel attr": ".kernel_attr Foo=1", "SimdSize=7": ".kernel_attr SimdSize=7", "Target=xx": '.kernel_attr Target="xx"',
    "input undefined": ".input NOPE offset=32 size=4", "input overlap": ".input VD offset=40 size=32\n.input VUD offset=64 size=32",
    "two instrs per line": "mov (M1, 8) VD(0,0)<1> VD(0,0)<1;1,0> mov (M1, 8) VD(0,0)<1> VD(0,0)<1;1,0>",
    "sat on bitwise and": "and.sat (M1, 8) VD(0,0)<1> VD(0,0)<1;1,0> VD(0,0)<1;1,0>",
    "neg modifier on and": "and (M1, 8) VD(0,0)<1> (-)VD(0,0)<1;1,0> VD(0,0)<1;1,0>", "cmp with predicate": "(P1) cmp.lt (M1, 8) P1 VD(0,0)<1;1,0> VD(0,0)<1;1,0>",
    "cmp without condition": "cmp (M1, 8) P1 VD(0,0)<1;1,0> VD(0,0)<1;1,0>", "predicated min": "(P1) min (M1, 8) VD(0,0)<1> VD(0,0)<1;1,0> VD(0,0)<1;1,0>",
    "asin": "asin (M1, 8) VF(0,0)<1> VF(0,0)<1;1,0>", "setp float": "setp (M1, 16) P1 VF(0,0)<0;1,0>", "unclosed scope": "{",
    "raw_send dec exdesc": "raw_send (M1, 8) 10:f 1 1 0x2180000:ud VUD.0 VD.0", "division by zero in expr": "mov (M1, 8) VD(0,1/0)<1> VD(0,0)<1;1,0>",
}  # fmt: skip
TEXTS = {
    "empty file": "", "only .version": ".version 4.1\n", "no .version": '.kernel "t"\nret (M1, 1)\n', "version 9.9": HEAD.replace("4.1", "9.9") + TAIL,
    "version 3.0": HEAD.replace("4.1", "3.0") + TAIL, "no .kernel": ".version 4.1\nret (M1, 1)\n", "no ret at end": HEAD + "mov (M1, 8) VD(0,0)<1> 1:d\n",
    "empty kernel": HEAD, "duplicate kernel name": HEAD + TAIL + '.kernel "t"\nret (M1, 1)\n', "dpas on SKL": HEAD + "dpas.bf.bf.8.8 (M1, 8) VF.0 VF.0 VD.0 VUD(0,0)" + TAIL,
    "lsc on SKL": HEAD + "lsc_fence.ugm.none.group" + TAIL,
}  # fmt: skip
RIGHT = {
    "float 1.5e3:f": "mov (M1, 8) VF(0,0)<1> 1.5e3:f", "float .5:f": "mov (M1, 8) VF(0,0)<1> .5:f", "hex float": "mov (M1, 8) VF(0,0)<1> 0x1.8p3:f",
    "hf decimal": "mov (M1, 8) VF(0,0)<1> 1.5:hf", "CRLF line ends": "mov (M1, 8) VD(0,0)<1> 1:d\r", "cmp.LT uppercase": "cmp.LT (M1, 8) P1 VD(0,0)<1;1,0> VD(0,0)<1;1,0>",
    "label with leading space": "  L:\ngoto (M1, 8) L", "decl keyword name add": ".decl add v_type=G type=d num_elts=8\nmov (M1, 8) add(0,0)<1> 1:d",
    "bf imm in range": "mov (M1, 8) VF(0,0)<1> 0x3f80:bf", "two kernels": '(P1) goto (M1, 8) L\nL:\nret (M1, 1)\n.kernel "u"',
}  # fmt: skip


def said(text, platform=None):
    try:
        return assemble_text(text, "t.visaasm", platform).warnings
    except AssemblyError as error:
        return error.diagnostics


@pytest.mark.parametrize("name", LINES | TEXTS)
def test_faulty(name):
    text = TEXTS[name] if name in TEXTS else HEAD + LINES[name] + TAIL
    found = said(text, "skl" if "SKL" in name else None)
    assert found and all(d.span and d.span.line > 0 and d.span.column > 0 and d.message for d in found)


@pytest.mark.parametrize("name", RIGHT)
def test_right_after_all(name):
    assert said(HEAD + RIGHT[name] + TAIL) == []


def test_all_of_them_are_here():
    assert len(LINES) + len(TEXTS) + len(RIGHT) >= 87
