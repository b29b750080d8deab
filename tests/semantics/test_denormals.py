"""Denormals where a program never writes %cr0 are zeros, as threads begin with zeros there."""

import numpy as np
import pytest
from support.programs import build_text, kernel_head, same
from support.strategies import ENGINES

import vsim
from visakit import SimulationError
from visakit.language.platforms import find
from vsim.analysis.reachability import reachable
from vsim.semantics.denormals import takes_zeros

TINY = {"f": ("f4", 1e-39), "hf": ("f2", 1e-6), "df": ("f8", 1e-310)}
BITS = {"f": 0x80, "hf": 0x400, "df": 0x40}


def tripled(t, target, platform, engine, setting=""):
    """Three times a denormal, its comparison with 0 and a copy of it; and the report's words on denormals."""
    dtype, tiny = TINY[t]
    size = np.dtype(dtype).itemsize
    text = f"""
.version 4.1
.kernel "k"
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl A v_type=G type=uq num_elts=1 align=qword
.decl X v_type=G type={t} num_elts={64 // size} align=GRF
.decl Y v_type=G type={t} num_elts={64 // size} align=GRF
.decl P v_type=P num_elts=1
.input OUT offset={find(platform).grf_size} size=8
.kernel_attr SimdSize=8
.kernel_attr Target="{target}"
{setting}
svm_block_ld (4) OUT(0,0)<0;1,0> X.0
mov (M1_NM, 1) Y(0,2)<1> X(0,0)<0;1,0>
add (M1_NM, 1) Y(0,0)<1> X(0,0)<0;1,0> X(0,0)<0;1,0>
add (M1_NM, 1) Y(0,0)<1> Y(0,0)<0;1,0> X(0,0)<0;1,0>
cmp.eq (M1_NM, 1) P X(0,0)<0;1,0> X(0,3)<0;1,0>
(P) add (M1_NM, 1) Y(0,1)<1> X(0,1)<0;1,0> X(0,3)<0;1,0>
svm_block_st (4) OUT(0,0)<0;1,0> Y.0
ret (M1, 1)
"""
    x = np.zeros(64 // size, dtype)
    x[:4] = tiny, 1, tiny, 0
    result = vsim.load(build_text(text, platform)).launch("k", 1, 1, [x], engine=engine, profile=True)
    return (
        x[0] == np.dtype(dtype).type(tiny) * 3,
        x[1] == 1,
        x[2] == np.dtype(dtype).type(tiny),
        result.fidelity.denormals,
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("t", TINY)
@pytest.mark.parametrize("platform", ["skl", "xehp", "pvc"])
def test_denormals_where_cr0_is_never_written(platform, t, engine):
    keep = f"or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {BITS[t]:#x}:ud"
    for target in ("cm", "3d"):
        assert tripled(t, target, platform, engine) == (False, True, True, "zeros")
        assert tripled(t, target, platform, engine, keep) == (True, False, True, "")


WIDENED = (
    kernel_head("OUT=uq@qword X=bf*16 Y=f*32", "OUT", Target="cm")
    + """svm_block_ld (4) OUT(0,0)<0;1,0> X.0
mov (M1_NM, 8) Y(0,0)<1> X(0,0)<1;1,0>
mov (M1_NM, 8) Y(0,8)<1> (-)X(0,0)<1;1,0>
mov.sat (M1_NM, 8) Y(1,0)<1> X(0,0)<1;1,0>
svm_block_st (8) OUT(0,0)<0;1,0> Y.0
ret (M1, 1)
"""
)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_plain_move_from_bf_to_f_keeps_denormals(engine):
    """Intel's finalizer makes a shift of it; a modifier or ``.sat`` computes."""
    data = np.zeros(64, "u2")
    data[:3] = 1, 0x8040, 0x3F80
    vsim.load(build_text(WIDENED, "pvc")).launch("k", 1, 1, [data], engine=engine)
    bits = data.view("u4")
    assert [hex(x) for x in bits[[0, 1, 2]]] == ["0x10000", "0x80400000", "0x3f800000"]
    assert [hex(x) for x in bits[[8, 9, 10]]] == ["0x80000000", "0x0", "0xbf800000"]
    assert [hex(x) for x in bits[[16, 17, 18]]] == ["0x0", "0x0", "0x3f800000"]


CONSTANTS = """.version 4.1
.kernel "k"
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl BITS v_type=G type=uq num_elts=8 align=GRF
.decl X v_type=G type={t} num_elts=8 alias=<BITS,0>
.decl LARGE v_type=G type={t} num_elts=8 align=GRF
.decl N v_type=G type=ud num_elts=1
.decl P v_type=P num_elts=1
.input OUT offset=64 size=8
.kernel_attr Target="cm"
mov (M1_NM, 8) BITS(0,0)<1> 0x500000005:uq
mov (M1_NM, 8) LARGE(0,0)<1> {large}:{t}
{between}
{line}
svm_block_st (4) OUT(0,0)<0;1,0> BITS.0
ret (M1, 1)
"""


LOOP = """mov (M1_NM, 1) N(0,0)<1> 0x3:ud
loop:
add (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> -1:d
cmp.ne (M1_NM, 1) P N(0,0)<0;1,0> 0x0:ud
(P) jmp (M1, 1) loop"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("t", "dtype", "large"), [("f", "f4", "0x7e000000"), ("df", "f8", "0x7fe0000000000000")])
@pytest.mark.parametrize("between", ["", LOOP], ids=["one_block", "across_blocks"])
@pytest.mark.parametrize(
    "line",
    [
        "sqrt {to} {x}",
        "mad {to} {x} {large}:{t} {x}",
        "mad {to} {large}:{t} {x} {x}",
        "mad {to} {x} LARGE(0,0)<1;1,0> {x}",
    ],
)
def test_denormals_that_the_compiler_knows(t, dtype, large, line, between, engine):
    line = line.format(to="(M1_NM, 8) X(0,0)<1>", x="X(0,0)<1;1,0>", large=large, t=t)
    out = np.ones(64 // np.dtype(dtype).itemsize, dtype)
    image = build_text(CONSTANTS.format(t=t, line=line, large=large, between=between), "pvc")
    vsim.load(image).launch("k", 1, 1, [out.view("u1")], engine=engine)
    assert out[0] == 0


CHAIN = "mul (M1, 16) Y(0,0)<1> X(0,0)<1;1,0> 0x3f000000:f"


@pytest.mark.parametrize(
    ("line", "takes"),
    [
        (CHAIN, True),
        ("exp (M1, 16) Y(0,0)<1> X(0,0)<1;1,0>", True),
        ("mov (M1, 16) D(0,0)<1> X(0,0)<1;1,0>", False),
        ("add (M1, 16) B(0,0)<1> X(0,0)<1;1,0> X(0,0)<1;1,0>", False),
        ("lrp (M1, 16) Y(0,0)<1> X(0,0)<1;1,0> X(0,0)<1;1,0> X(0,0)<1;1,0>", False),
        ("lsc_atomic_fadd.ugm (M1, 16) Y:d32 flat[A]:a64 X %null", False),
        ("lsc_atomic_iadd.ugm (M1, 16) Y:d32 flat[A]:a64 X %null", True),
        ("dpas.bf.bf.8.1 (M1, 16) Y.0 %null.0 D.0 W(0,0)", False),
        ("dpas.s8.s8.8.1 (M1, 16) N.0 %null.0 D.0 W(0,0)", True),
    ],
)
def test_which_instructions_let_the_processor_take_zeros(line, takes):
    """Not those whose denormals are kept: results before a conversion, intermediate results, values in memory."""
    declared = {"X": "f", "Y": "f", "D": "df", "W": "ud", "N": "d", "A": "uq", "B": "bf"}
    text = "\n".join(f".decl {n} v_type=G type={t} num_elts=128 align=GRF" for n, t in declared.items())
    image = build_text(f'.version 4.1\n.kernel "k"\n{text}\n{line}\nret (M1, 1)\n', "pvc")
    assert takes_zeros(reachable(image, image.module.kernels[0]), image.grf_size) == takes


@pytest.mark.parametrize("wrong", [False, True])
def test_the_processor_takes_zeros_only_while_a_kernel_runs(wrong):
    """In the thread of the caller, which runs short launches, and in workers; after a fault, too."""
    text = (
        kernel_head("OUT=uq@qword X=f*16 Y=f*16", "OUT", Target="cm")
        + f"""svm_block_ld (4) OUT(0,0)<0;1,0> X.0
{CHAIN}
{"add (M1, 1) OUT(0,0)<1> OUT(0,0)<0;1,0> 0x100000:ud" if wrong else ""}
svm_block_st (4) OUT(0,0)<0;1,0> Y.0
ret (M1, 1)
"""
    )
    program = vsim.load(build_text(text, "pvc"))
    for groups in (1, 64):
        x = np.full(16, 1e-39, "f4")
        if wrong:
            with pytest.raises(SimulationError):
                program.launch("k", groups, 1, [x], engine="llvm")
        else:
            program.launch("k", groups, 1, [x], engine="llvm", threads=1)
            assert not x.any()
        assert np.full(16, 1e-39, "f4").sum() > 1e-38


LOOP = """mov (M1, 1) N(0,0)<1> 0x0:d
again:
{}
add (M1, 1) N(0,0)<1> N(0,0)<0;1,0> 0x1:d
cmp.lt (M1, 1) P N(0,0)<0;1,0> 0x3:d
(P) jmp (M1, 1) again"""
HALVED = "mul (M1, 16) Y(0,0)<1> X(0,0)<1;1,0> 0x3f000000:f"
ACROSS = {
    "a sum in a loop, whose bits are read behind it": (
        "mov (M1, 16) Y(0,0)<1> 0x0:f\n" + LOOP.format("mad (M1, 16) Y(0,0)<1> X(0,0)<1;1,0> 0x3e800000:f Y(0,0)<1;1,0>")
    ),
    "results in a loop, and bits of all that was there": LOOP.format(
        f"add (M1, 16) ZD(0,0)<1> ZD(0,0)<1;1,0> YD(0,0)<1;1,0>\n{HALVED}"
    ),
    "a denormal constant": f"mov (M1, 16) Y(0,0)<1> 0x400000:f\n{LOOP.format('add (M1, 16) ZD(0,0)<1> ZD(0,0)<1;1,0> YD(0,0)<1;1,0>')}"
    f"\n{HALVED}",
    "a copied denormal on one way, a result on the other": (
        f"cmp.gt (M1, 1) P X(0,5)<0;1,0> 0x0:f\n(P) jmp (M1, 1) copy\n{HALVED}\njmp (M1, 1) behind\ncopy:\n"
        "mov (M1, 16) Y(0,0)<1> X(0,0)<1;1,0>\nbehind:\nmov (M1, 8) ZD(0,0)<1> YD(0,4)<1;1,0>"
    ),
    "results in some lanes": (
        "mov (M1, 16) Y(0,0)<1> 0x0:f\ncmp.gt (M1, 16) Q X(0,0)<1;1,0> 0x0:f\n(Q) goto (M1, 16) over\n" + HALVED + "\nover:\n"
        "(Q) add (M1, 16) Y(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>\n(Q) goto (M1, 16) end\n"
        "mov (M1, 16) Z(0,0)<1> Y(0,0)<1;1,0>\nend:\nmov (M1, 16) Z(0,0)<1> Y(0,0)<0;1,0>"
    ),
    "results in parts, read as other types": (
        LOOP.format(
            "mul (M1, 8) Y(0,0)<1> X(0,0)<1;1,0> 0x3f000000:f\nmul (M1, 8) Y(0,8)<1> X(0,8)<1;1,0> 0xbf000000:f"
        )
        + "\nmov (M1, 8) ZQ(0,0)<1> YQ(0,0)<1;1,0>\nadd (M1, 4) ZD(0,3)<1> YD(0,5)<1;1,0> 0x1:ud"
    ),
    "a word of a result is overwritten": LOOP.format(f"mov (M1, 4) Z(0,0)<1> Y(0,2)<1;1,0>\n{HALVED}\nmov (M1, 1) YD(0,3)<1> 0x7:ud"),
    "results of both float types in one register": LOOP.format(f"mov (M1, 8) ZQ(0,0)<1> YQ(0,0)<1;1,0>\n{HALVED}\nadd (M1, 2) YF(0,2)<1> YF(0,2)<1;1,0> YF(0,0)<1;1,0>"),
    "a subroutine": "call (M1, 16) sub\nmov (M1, 16) Z(0,0)<1> Y(0,0)<1;1,0>",
    "an address": f"addr_add (M1, 1) A(0)<1> &Y 8:uw\n{LOOP.format(HALVED)}\nmov (M1, 8) Z(0,0)<1> r[A(0),0]<8;8,1>:f",
}  # fmt: skip


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("what", ACROSS)
def test_denormals_between_blocks(what, keeps):
    """Results may stay denormals in registers until another block reads them: both engines leave the same bits."""
    keep = "or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud" if keeps else ""
    views = "\n".join(
        f".decl {n}{s} v_type=G type={t} num_elts={64 // size} align=GRF alias=<{n},0>"
        for n in "YZ"
        for s, t, size in (("D", "ud", 4), ("Q", "uq", 8), ("F", "df", 8))
    )
    text = (
        kernel_head("OUT=uq@qword AT=uq@qword N=d@dword X=f*16 Y=f*16 Z=f*16")
        + f"""{views}
.decl A v_type=A num_elts=1
.decl P v_type=P num_elts=1
.decl Q v_type=P num_elts=16
.input OUT offset=64 size=8
.kernel_attr SimdSize=16
{keep}
svm_block_ld (4) OUT(0,0)<0;1,0> X.0
mov (M1, 16) Z(0,0)<1> X(0,0)<1;1,0>
mov (M1, 16) Y(0,0)<1> X(0,0)<1;1,0>
{ACROSS[what]}
svm_block_st (4) OUT(0,0)<0;1,0> Y.0
add (M1, 1) AT(0,0)<1> OUT(0,0)<0;1,0> 64:ud
svm_block_st (4) AT(0,0)<0;1,0> Z.0
ret (M1, 1)
sub:
{HALVED}
ret (M1, 16)
"""
    )
    program = vsim.load(build_text(text, "pvc"))
    tiny = np.float32([1e-39, -1e-39, 1.5e-38, -1.5e-38, 1e-45, 1, -1, 0])
    for first in (tiny, -tiny):
        found = []
        for engine in ENGINES:
            x = np.zeros(32, "f4")
            x[:16] = np.concatenate([first, first[::-1]])
            program.launch("k", 16, 16, [x], engine=engine)
            found.append(x.tobytes())
        assert found[0] == found[1]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("t", TINY)
def test_signs_of_denormals(t, engine):
    """A source modifier makes a copy a computation, of halves too, whose denormals the processor keeps."""
    dtype, tiny = TINY[t]
    size = np.dtype(dtype).itemsize
    text = f"""
.version 4.1
.kernel "k"
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl X v_type=G type={t} num_elts={64 // size} align=GRF
.decl Y v_type=G type={t} num_elts={64 // size} align=GRF
.decl P v_type=P num_elts=2
.input OUT offset=64 size=8
.kernel_attr Target="cm"
svm_block_ld (4) OUT(0,0)<0;1,0> X.0
mov (M1, 8) Y(0,0)<1> X(0,6)<0;1,0>
mov (M1, 4) Y(0,0)<1> (-abs)X(0,0)<1;1,0>
mov (M1, 2) Y(0,4)<1> X(0,2)<1;1,0>
cmp.ge (M1, 2) P (-abs)X(0,0)<1;1,0> X(0,2)<1;1,0>
(P) mov (M1, 2) Y(0,6)<1> X(0,4)<1;1,0>
svm_block_st (4) OUT(0,0)<0;1,0> Y.0
ret (M1, 1)
"""
    x = np.zeros(64 // size, dtype)
    x[:6] = tiny, -tiny, tiny, 1, 2, 3
    vsim.load(build_text(text, "pvc")).launch("k", 1, 1, [x], engine=engine)
    assert same(x[:8], np.array([-0.0, -0.0, -0.0, -1, tiny, 1, 2, 0], dtype))
