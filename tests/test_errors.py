"""Faulty texts get errors with a code, a place and a hint; several in one run."""

import pytest

import visa
from visa import AssemblyError

HEAD = """.version 4.1
.kernel "t"
.decl VD v_type=G type=d num_elts=64 align=GRF
.decl VF v_type=G type=f num_elts=64 align=GRF
.decl VUD v_type=G type=ud num_elts=64 align=GRF
.decl A0 v_type=A num_elts=8
.decl P1 v_type=P num_elts=16
.decl T6 v_type=T num_elts=1
.decl S0 v_type=S num_elts=1
"""


def diagnostics(text, platform=None):
    with pytest.raises(AssemblyError) as caught:
        visa.assemble(text, "t.visaasm", platform)
    return [d for d in caught.value.diagnostics if d.severity == "error"]


@pytest.mark.parametrize(
    ("line", "code", "column"),
    [
        ("mov (M1, 8) NOPE(0,0)<1> VD(0,0)<1;1,0>", "V010", 13),
        ("mov (M1, 8) VD(0,0)<1> NOPE(0,0)<1;1,0>", "V010", 24),
        ("mov (M1, 8) VD(0,0)<1> VD(0,0)<3;1,0>", "V016", 24),
        ("mov (M1, 8) VD(0,0)<1> VD(0,0)<32;32,1>", "V016", 24),
        ("mov (M1, 8) VD(0,0)<3> VD(0,0)<1;1,0>", "V016", 13),
        ("mov (M1, 8) VD(0,0)<0> VD(0,0)<1;1,0>", "V016", 13),
        ("mov (M1, 8) VD(0,0)<1;1,0> VD(0,0)<1;1,0>", "V017", 13),
        ("mov (M2, 16) VD(0,0)<1> VD(0,0)<1;1,0>", "V043", 5),
        ("mov (M3, 32) VD(0,0)<1> VD(0,0)<1;1,0>", "V043", 5),
        ("mov (M9, 8) VD(0,0)<1> VD(0,0)<1;1,0>", "V041", 5),
        ("mov (M1, 3) VD(0,0)<1> VD(0,0)<1;1,0>", "V042", 5),
        ("mov (M1, 64) VD(0,0)<1> VD(0,0)<1;1,0>", "V042", 5),
        ("goto (M1, 8) NOWHERE", "V026", 14),
        ("call (M1, 1) nofn", "V026", 14),
        ("mov (M1, 8) VD(0,0)<1> 0x1ffff:uw", "V021", 24),
        ("mov (M1, 8) VD(0,0)<1> 300:b", "V021", 24),
        ("mov (M1, 8) VD(0,0)<1> 4294967296:d", "V021", 24),
        ("mov (M1, 8) VD(0,0)<1> 99999999999999999999:q", "V021", 24),
        ("mov (M1, 8) VD(0,0)<1> 5", "V012", 24),
        ("mov (M1, 8) VD(0,0)<1> 5:quux", "V022", 24),
        ("bogus (M1, 8) VD(0,0)<1> VD(0,0)<1;1,0>", "V003", 1),
        ("asin (M1, 8) VF(0,0)<1> VF(0,0)<1;1,0>", "V003", 1),
        (".bogus 3", "V003", 1),
        ("add (M1, 8) VD(0,0)<1> VD(0,0)<1;1,0>", "V048", 38),
        ("mov (M1, 8) VD(0,0)<1> VD(0,0)<1;1,0> VD(0,0)<1;1,0>", "V049", 39),
        ("(P9) mov (M1, 8) VD(0,0)<1> VD(0,0)<1;1,0>", "V010", 1),
        ("(VD) mov (M1, 8) VD(0,0)<1> VD(0,0)<1;1,0>", "V011", 1),
        ("gather4_scaled.R (M1, 8) T99 0x0:ud VUD.0 VD.0", "V010", 26),
        ("gather4_scaled.R (M1, 8) VD 0x0:ud VUD.0 VD.0", "V011", 26),
        ("mov (M1, 8) VD(300,0)<1> VD(0,0)<1;1,0>", "V021", 13),
        ("svm_gather.4.1 (M1, 8) VUD.131072 VD.0", "V021", 24),
        (".decl X v_type=G type=d num_elts=0", "V021", 25),
        (".decl X v_type=G type=d num_elts=70000", "V021", 25),
        (".decl X v_type=P num_elts=64", "V021", 18),
        (".decl X v_type=G type=d num_elts=8 alias=<NOPE, 0>", "V010", 36),
        (".decl X v_type=G type=d num_elts=8 alias=<VD, 252>", "V031", 36),
        (".decl X v_type=G type=d num_elts=8 align=3", "V009", 36),
        (".decl X v_type=G type=d num_elts=8 align=page", "V009", 36),
        (".decl X v_type=G type=e num_elts=8", "V022", 18),
        (".decl X v_type=G type=d num_elts=8 attrs={Foo}", "V027", 36),
        (".decl VD v_type=G type=d num_elts=8", "V025", 7),
        (".decl V7 v_type=G type=d num_elts=8", "V025", 7),
        (".kernel_attr SimdSize=7", "V027", 14),
        ('.kernel_attr Target="xx"', "V027", 14),
        (".input NOPE offset=32 size=4", "V010", 8),
        ("(P1) min (M1, 8) VD(0,0)<1> VD(0,0)<1;1,0> VD(0,0)<1;1,0>", "V046", 1),
        ("cmp.xx (M1, 8) P1 VD(0,0)<1;1,0> VD(0,0)<1;1,0>", "V004", 1),
        ("mov (M1, 8) VD(0,1/0)<1> VD(0,0)<1;1,0>", "V020", 13),
        ("mov (M1, 8) 5:d VD(0,0)<1;1,0>", "V013", 13),
        ("mov VD(0,0)<1> VD(0,0)<1;1,0>", "V047", 5),
        ("gather4_scaled.Q (M1, 8) T6 0x0:ud VUD.0 VD.0", "V004", 1),
        ("lsc_load.ugm (M1, 16) VD:d33 flat[VUD]:a32", "V050", 23),
        ("lsc_load.ugm (M1, 16) VD:d32 blob[VUD]:a32", "V051", 30),
    ],
)
def test_bad_line(line, code, column):
    found = diagnostics(HEAD + line + "\nret (M1, 1)\n")[0]
    assert (found.code, found.span.line, found.span.column) == (code, HEAD.count("\n") + 1, column), str(found)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "V005"), (".version 4.1\n", "V006"), ('.kernel "k"\nret (M1, 1)\n', "V005"), (".version 4.1\nret (M1, 1)\n", "V006"),
        (HEAD + "{\nret (M1, 1)\n", "V007"), (HEAD + "}\n", "V007"), (HEAD + "/* no end\nret (M1, 1)\n", "V002"),
        (HEAD + 'faddr "open VUD(0,0)<1>\n', "V001"), (HEAD + "L:\nL:\nret (M1, 1)\n", "V024"),
        (HEAD + 'ret (M1, 1)\n.kernel "t"\nret (M1, 1)\n', "V025"), (HEAD + "mov (M1, 8) VD(0,0)<1> @\n", "V001"),
    ],
)  # fmt: skip
def test_bad_file(text, code):
    assert code in [d.code for d in diagnostics(text)]


def test_all_errors_of_a_file_in_one_run():
    lines = ["mov (M1, 8) NOPE(0,0)<1> VD(0,0)<1;1,0>", "bogus (M1, 8)", "goto (M1, 8) NOWHERE"]
    assert [d.code for d in diagnostics(HEAD + "\n".join(lines) + "\n")] == ["V010", "V003", "V026"]


def test_suggestions_and_second_places():
    found = diagnostics(
        HEAD + "mov (M1, 8) VUS(0,0)<1> VD(0,0)<1;1,0>\nmvo (M1, 8)\n.decl VD v_type=G type=d num_elts=1\n"
    )
    assert "VUD" in found[0].hint and "'mov'" in found[1].hint
    assert found[2].labels[0].span.line == 3


def test_platforms():
    text = HEAD + "lsc_fence.ugm.none.group\nret (M1, 1)\n"
    visa.assemble(text, platform="dg2")
    found = diagnostics(text, "skl")[0]
    assert found.code == "V060" and "dg2, pvc, bmg" in found.hint


def test_an_error_reads_like_this():
    from visa.diagnostics import render_human

    found = diagnostics(HEAD + "    mov (M1, 8) VD(0,0)<1> 300:b\n")[0]
    assert render_human(found) == (
        "t.visaasm:10:28: error: 300 does not fit into type b [V021]\n"
        " 10 |     mov (M1, 8) VD(0,0)<1> 300:b\n"
        "    |                            ^^^^^\n"
        "  hint: b holds -128 to 127"
    )
