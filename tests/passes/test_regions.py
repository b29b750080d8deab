"""Parts of registers that are not elements one behind the other: with gaps, pairs, one lane by its address."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.probe import LANES, Probe, translated
from support.programs import build_text
from support.strategies import CHECKED, ENGINES, RUNNING

from visakit import SimulationError
from vsim.engines.llvm.ir import matrix_products as matrix_products
from vsim.launch.launch import BufferArgument, ImageArgument, Launch
from vsim.program import Program

CONTENTS = np.random.default_rng(3).integers(0, 256, 64, "u1")
KINDS = st.sampled_from([("ub", 2), ("ub", 4), ("b", 4), ("uw", 2), ("w", 2)])
SIZES = {"ub": 1, "b": 1, "uw": 2, "w": 2}


@CHECKED
@given(KINDS, st.integers(0, 7), RUNNING, st.integers(0, 0xFFFF))
def test_elements_with_gaps(kind, first, running, predicate):
    """Lanes read every second or fourth element, and write it to another place, as a model over arrays has it."""
    t, step = kind
    probe = Probe(running=running)
    probe.fill(X=(t, bytes(CONTENTS)), Y=(t, bytes(CONTENTS[::-1])))
    probe.predicate("P1", predicate)
    probe.lines.append(f"(P1) add (M1, 16) Y(0,{first % step})<{step}> X(0,{first % step})<{step};1,0> 0x3:uw")
    dtype = np.dtype(f"u{SIZES[t]}")
    x, y = CONTENTS.view(dtype), CONTENTS[::-1].copy().view(dtype)
    active = np.flatnonzero([(running & predicate) >> lane & 1 for lane in range(LANES)])
    places = first % step + step * active
    with np.errstate(over="ignore"):
        y[places] = x[places] + dtype.type(3)
    for engine in ENGINES:
        assert probe.run(engine)["Y"][: y.size].astype(dtype).tolist() == y.tolist(), engine


@CHECKED
@given(
    st.permutations([0, 1]),
    st.lists(st.integers(0, (1 << 32) - 1), min_size=2, max_size=2),
    st.booleans(),
    st.booleans(),
)
def test_qwords_of_two_dwords(order, halves, are_floats, keeps_denormals):
    """A scalar qword whose dwords were written one by one, also as floats, of which denormals may be in the processor."""
    one = "0x3f800000:f" if are_floats else "0x1:ud"
    probe = Probe()
    probe.keeps_denormals = keeps_denormals
    probe.fill(X=("ud", halves), PAIR=("ud", [7, 8]), SUM=("ud", [0, 0]))
    probe.declarations += [
        ".decl TYPED v_type=G type=f num_elts=2 alias=<X, 0>",
        ".decl TYPED_PAIR v_type=G type=f num_elts=2 alias=<PAIR, 0>",
        ".decl QWORD v_type=G type=uq num_elts=1 alias=<PAIR, 0>",
        ".decl QWORD_SUM v_type=G type=uq num_elts=1 alias=<SUM, 0>",
    ]
    x, pair = ("TYPED", "TYPED_PAIR") if are_floats else ("X", "PAIR")
    probe.lines += [f"mul (M1_NM, 1) {pair}(0,{n})<1> {x}(0,{n})<0;1,0> {one}" for n in order]
    probe.lines.append("add (M1_NM, 1) QWORD_SUM(0,0)<1> QWORD(0,0)<0;1,0> 0x1:uq")
    found = [probe.run(engine) for engine in ENGINES]
    assert found[0]["PAIR"].tolist() == found[1]["PAIR"].tolist()
    assert found[0]["SUM"].tolist() == found[1]["SUM"].tolist()
    if not are_floats:
        total = (halves[0] | halves[1] << 32) + 1
        assert found[0]["SUM"][:2].tolist() == [total % (1 << 32), (total >> 32) % (1 << 32)]


@CHECKED
@given(st.integers(0, LANES - 1), st.integers(0, LANES - 1), RUNNING, st.sampled_from(["<1>", "<2>"]))
def test_one_lane_by_address(lane, element, running, step):
    """A write by address under a constant predicate that leaves one lane is that lane's alone."""
    probe = Probe(running=running)
    probe.fill(X=("ud", range(100, 164)), V=("ud", range(LANES)), PLACES=("uw", [4 * n for n in range(LANES)]))
    probe.declarations += [f".decl A0 v_type=A num_elts={LANES}", ".decl P9 v_type=P num_elts=32"]
    probe.lines += [
        "addr_add (M1_NM, 16) A0(0)<1> &X PLACES(0,0)<1;1,0>",
        f"setp (M1_NM, 32) P9 {1 << lane:#x}:ud",
        f"(P9) mov (M1, 16) r[A0({element}),0]{step}:ud V(0,0)<1;1,0>",
    ]
    wanted = list(range(100, 164))
    if running >> lane & 1:
        wanted[element + int(step[1]) * lane] = lane
    for engine in ENGINES:
        assert probe.run(engine)["X"][:64].tolist() == wanted, engine


def test_one_lane_beyond_all_variables():
    """The fault names the lane; an inactive lane causes no fault."""
    for running in (0xFFFF, 0xFFDF):
        probe = Probe(running=running)
        probe.fill(X=("ud", [0] * LANES), FAR=("uw", [0x4000]))
        probe.declarations += [".decl A0 v_type=A num_elts=1", ".decl P9 v_type=P num_elts=32"]
        probe.lines += [
            "addr_add (M1_NM, 1) A0(0)<1> &X FAR(0,0)<0;1,0>",
            "setp (M1_NM, 32) P9 0x20:ud",
            "(P9) mov (M1, 16) r[A0(0),0]<1>:ud 0x1:ud",
        ]
        for engine in ENGINES:
            if running == 0xFFFF:
                with pytest.raises(SimulationError, match="lane 5"):
                    probe.run(engine)
            else:
                assert probe.run(engine)["X"].tolist() == [0] * LANES


def ir_of(lines, declarations, platform="tgllp"):
    """The IR of a kernel for 16 lanes with a buffer."""
    head = [".version 4.1", '.kernel "k"', ".decl OUT v_type=G type=uq num_elts=1", *declarations]
    text = "\n".join([*head, ".input OUT offset=64 size=8", ".kernel_attr SimdSize=16", *lines, "ret (M1, 1)", ""])
    return translated(Program(build_text(text, platform)), [np.zeros(4096, "u4")])


def test_parts_of_dwords_are_shifted_not_picked():
    """Picks among 125 bytes take LLVM many times as long as a shift."""
    found = ir_of(
        [
            "svm_block_ld (4) OUT(0,0)<0;1,0> V.0",
            "mov (M1, 16) W(0,0)<1> B(0,3)<4;1,0>",
            "mov (M1, 16) B(0,1)<4> W(0,0)<1;1,0>",
            "svm_block_st (4) OUT(0,0)<0;1,0> V.0",
        ],
        [
            ".decl V v_type=G type=ud num_elts=16 align=GRF",
            ".decl B v_type=G type=ub num_elts=64 align=GRF alias=<V, 0>",
            ".decl W v_type=G type=ud num_elts=16 align=GRF",
        ],
    )
    assert "lshr <16 x i32>" in found and "shufflevector <6" not in found


KEPT = "or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud"
"""Keeps denormals: zeros in place of them are made with a number that LLVM does not know, too."""
HALF = ["svm_block_ld (2) OUT(0,0)<0;1,0> V.0", "svm_block_ld (2) OUT(0,0)<0;1,0> V.32"]


@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        ("mov (M1, 8) V(0,0)<2> F(0,0)<1;1,0>", True),
        ("mov (M1, 8) V(0,1)<2> X(0,0)<1;1,0>", True),
        ("(P1) mov (M1, 4) V(0,0)<4> X(0,0)<1;1,0>", True),
        ("mov (M1, 4) V(0,0)<2> X(0,0)<1;1,0>", False),
        ("mov (M1, 8) V(0,0)<1> X(0,0)<1;1,0>", False),
    ],
)
def test_dwords_with_gaps_are_hidden_from_llvm(line, hidden):
    """LLVM's code generator ended the process on AVX-512 for reinterpreted floats spread over 64 bytes."""
    declarations = [
        ".decl F v_type=G type=f num_elts=16 align=GRF",
        ".decl X v_type=G type=ud num_elts=16 align=GRF alias=<F, 0>",
        ".decl V v_type=G type=ud num_elts=16 align=GRF",
        ".decl P1 v_type=P num_elts=8",
    ]
    zero = "ptrtoint ptr %ctx to i64"
    lines = [KEPT, *HALF, "mul (M1, 16) F(0,0)<1> F(0,0)<1;1,0> 2.5:f", line, "svm_block_st (4) OUT(0,0)<0;1,0> V.0"]
    assert (zero in ir_of(lines, declarations)) is hidden
    without = [*HALF, "mul (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 5:ud", line.replace("F(", "X("), *lines[-1:]]
    assert zero not in ir_of(without, [d.replace("type=f", "type=ud") for d in declarations])


def test_texels_with_gaps_where_no_variable_is_of_floats():
    """Texels are floats whatever their variable is: LLVM's code generator ended the process on AVX-512."""
    sizes = {"C": 8, "D": 8, "R": 32, "V": 16, "W": 16}
    lines = [
        ".version 4.1",
        '.kernel "k"',
        *(f".decl {name} v_type=G type=ud num_elts={count} align=GRF" for name, count in sizes.items()),
        *(f".decl {name} v_type=G type=uq num_elts=1" for name in ("AT", "OUT")),
        *(f".decl T{n} v_type=T num_elts=1" for n in (6, 7)),
        ".input OUT offset=64 size=8",
        ".kernel_attr SimdSize=8",
        *(f"svm_block_ld ({min(n, 16) // 4}) OUT(0,0)<0;1,0> {name}.0" for name, n in sizes.items() if name != "R"),
        "load_3d.RGBA (M1, 8) 0x0:uw T7 R.0 C.0 D.0 C.0",
        "mov (M1, 8) V(0,0)<2> R(2,0)<0;1,0>",
        "mov (M1, 8) V(0,2)<1> R(1,7)<2;1,0>",
        "mov (M1, 8) V(0,0)<2> R(0,0)<1;1,0>",
        "mov (M1, 4) W(0,0)<4> R(1,3)<0;1,0>",
        "mov (M1, 8) W(0,6)<1> V(0,4)<1;1,0>",
        "svm_block_st (2) OUT(0,0)<0;1,0> V.0",
        "add (M1_NM, 1) AT(0,0)<1> OUT(0,0)<0;1,0> 64:ud",
        "svm_block_st (2) AT(0,0)<0;1,0> W.0",
        "ret (M1, 1)",
        "",
    ]
    found = []
    for engine in ENGINES:
        memory, image = np.arange(64, dtype="u4"), np.arange(64, dtype="u1").reshape(4, 4, 4)
        program = Program(build_text("\n".join(lines), "tgllp"))
        arguments = [BufferArgument(memory), ImageArgument(image, "rgba_unorm8")]
        assert program.run(Launch("k", (8,), (8,), args=arguments), engine=engine).engine == engine
        found.append(memory.tolist())
    assert found[0] == found[1] != list(range(64))


def test_blocks_at_one_address_are_rows():
    """A transposed message reads consecutive bytes from one address, which needs no analysis."""
    found = ir_of(
        ["lsc_load.ugm (M1_NM, 1) V:d32x16t flat[OUT]:a64", "lsc_store.ugm (M1_NM, 1) flat[OUT]:a64 V:d32x16t"],
        [".decl V v_type=G type=ud num_elts=16 align=GRF"],
        "bmg",
    )
    assert "<16 x i64>" not in found


def products(lanes, rows=8):
    """Lines and variables for products of bytes with all signs, from the same columns A and rows B."""
    signs = ["s8.s8", "s8.u8", "u8.s8", "u8.u8"]
    lines = [f"dpas.{s}.8.{rows} (M1, {lanes}) D{n}.0 C.0 A.0 B(0,0)" for n, s in enumerate(signs)]
    sizes = {"A": 8 * lanes, "B": 8 * rows, **dict.fromkeys(["C", "D0", "D1", "D2", "D3"], rows * lanes)}
    return lines, sizes


DOTS, PAIRS = ("avx512vnni", "avxvnni"), ("avx512bw", "avx2", "sse2")


@pytest.mark.parametrize(("lanes", "rows", "missing"), [
    (8, 8, ()), (16, 8, ()), (16, 8, ("avx512vnni",)), (16, 1, ()),
    (16, 8, DOTS), (16, 3, (*DOTS, *PAIRS[:1])), (8, 8, (*DOTS, *PAIRS[:2])), (8, 8, (*DOTS, *PAIRS)),
])  # fmt: skip
def test_products_of_bytes_by_the_processors_features(lanes, rows, missing, monkeypatch):
    """Each instruction and its substitutes give the results of the reference engine."""
    has = matrix_products.has_feature
    monkeypatch.setattr(matrix_products, "has_feature", lambda name: name not in missing and has(name))
    random, (lines, sizes) = np.random.default_rng(5), products(lanes, rows)
    probe = Probe("dg2" if lanes == 8 else "bmg", lanes=lanes)
    for name, count in sizes.items():
        probe.variable(name, "ud" if name in "AB" else "d", random.integers(0, 1 << 32, count, "u4").tobytes())
    probe.fill(CASE=("ud", [0]))
    probe.lines += [f"mov (M1_NM, 1) CASE(0,0)<1> {len(missing)}:ud", *lines]  # or an image before would serve
    native, reference = (
        [probe.run(engine)[f"D{n}"].tolist() for n in range(len(lines))] for engine in ("llvm", "numpy")
    )
    assert native == reference
    assert len({tuple(sums) for sums in native}) == len(lines)
    declarations = [
        f".decl {n} v_type=G type={'ud' if n in 'AB' else 'd'} num_elts={c} align=GRF" for n, c in sizes.items()
    ]
    found = ir_of(lines, declarations, "dg2" if lanes == 8 else "bmg")
    dots, pairs = (any(has(name) and name not in missing for name in names) for names in (DOTS, PAIRS))
    assert ("vpdpbusd" in found, "pmadd" in found) == (dots, pairs and not dots)


def test_a_pair_of_words_may_be_all_of_its_variable():
    """Two words again and again, which are the whole variable."""
    probe = Probe()
    probe.fill(Y=("ud", [0] * LANES))
    probe.declarations.append(".decl PAIR v_type=G type=uw num_elts=2 align=dword")
    probe.lines += ["mov (M1_NM, 2) PAIR(0,0)<1> 0x21:uv", "mov (M1_NM, 16) Y(0,0)<1> PAIR(0,0)<0;2,1>"]
    for engine in ENGINES:
        assert probe.run(engine)["Y"][:LANES].tolist() == [1, 2] * (LANES // 2), engine


def test_halves_of_qwords_share_a_window():
    """Both halves of the qwords of a row of registers are touched as the same elements, so that they are found again."""
    found = ir_of(
        [
            "svm_block_ld (4) OUT(0,0)<0;1,0> H.0",
            "mov (M1, 16) Q(2,1)<2> H(0,0)<1;1,0>",
            "mov (M1, 16) Q(2,0)<2> H(0,0)<1;1,0>",
            "svm_block_st (8) OUT(0,0)<0;1,0> Q.128",
        ],
        [f".decl {name} v_type=G type=ud num_elts={count} align=GRF" for name, count in (("Q", 64), ("H", 16))],
        "bmg",
    )
    assert "<32 x i32>" in found and "<31 x i32>" not in found


def test_a_half_of_two_joined_vectors_is_one_of_them():
    """Lanes of one of two vectors one behind the other are taken from that one."""
    found = ir_of(
        [
            "svm_block_ld (4) OUT(0,0)<0;1,0> H.0",
            "add (M1, 8) V(0,0)<1> H(0,0)<1;1,0> 0x3:ud",
            "add (M3, 8) V(0,8)<1> H(0,8)<1;1,0> 0x5:ud",
            "mov (M1, 16) W(0,0)<1> V(0,0)<1;1,0>",
            "xor (M3, 8) H(0,0)<1> W(0,8)<1;1,0> H(0,8)<1;1,0>",
            "svm_block_st (2) OUT(0,0)<0;1,0> H.0",
        ],
        [f".decl {name} v_type=G type=ud num_elts=16 align=GRF" for name in "HVW"],
        "bmg",
    )
    assert found.count("shufflevector <16 x i32>") <= 2, found


def test_a_negated_selection_has_the_lanes_of_its_destination():
    """Its low bits follow from the low bits of the sources, so 16 dwords need no qwords."""
    text = """cmp.lt (M1, 16) P1 V(0,0)<1;1,0> 0x5:ud
(P1) sel (M1, 16) W(0,0)<1> (-)W(0,0)<1;1,0> 0x0:d
mov (M1, 16) V(0,0)<1> W(0,0)<1;1,0>
lsc_store.ugm (M1_NM, 1) flat[OUT]:a64 V:d32x16t"""
    registers = """.decl V v_type=G type=ud num_elts=16 align=GRF
.decl W v_type=G type=d num_elts=16 align=GRF
.decl P1 v_type=P num_elts=16"""
    found = ir_of(text.split("\n"), registers.split("\n"), "bmg")
    assert "<16 x i64>" not in found and "select <16 x i1>" in found


ROW_BYTES = {"ub": 1, "uw": 2, "ud": 4, "uq": 8}


def row_probe(t, first, added, running):
    """A probe that reads a row from an element of a variable on, and writes it one element further, between others."""
    probe = Probe(running=running)
    probe.fill(X=(t, range(1, 65)), Y=(t, range(101, 165)), V=(t, [7] * LANES), PLACE=("uw", [first & 0xFFFF]))
    probe.declarations += [".decl A0 v_type=A num_elts=1", ".decl A1 v_type=A num_elts=1"]
    probe.lines += [
        "addr_add (M1_NM, 1) A0(0)<1> &X PLACE(0,0)<0;1,0>",
        "addr_add (M1_NM, 1) A1(0)<1> &Y PLACE(0,0)<0;1,0>",
        f"mov (M1, 16) V(0,0)<1> r[A0(0),{added}]<16;16,1>:{t}",
        f"mov (M1, 16) r[A1(0),{added + ROW_BYTES[t]}]<1>:{t} V(0,0)<1;1,0>",
    ]
    return probe


@CHECKED
@given(st.sampled_from([*ROW_BYTES]), st.integers(0, 47), st.integers(0, 8), RUNNING)
@example("uw", 20, 2, 0x1234)
def test_rows_by_address(t, first, added, running):
    """Elements one behind the other from one address on, and inside of their variable: lanes that do not run keep theirs."""
    size = ROW_BYTES[t]
    first = max(first - added - 1, 0)
    probe = row_probe(t, first * size, added * size, running)
    x, y, v = [*range(1, 65)], [*range(101, 165)], [7] * LANES
    for lane in range(LANES):
        if running >> lane & 1:
            v[lane] = x[first + added + lane]
            y[first + added + lane + 1] = v[lane]
    for engine in ENGINES:
        found = probe.run(engine)
        assert found["V"][:LANES].tolist() == v and found["Y"][:64].tolist() == y, engine


@CHECKED
@given(st.sampled_from([*ROW_BYTES]), st.integers(-40, 70), st.integers(0, 3), RUNNING)
@example("ud", 60, 0, 0xFFFF)
@example("ud", 60, 0, 0x000F)
@example("uq", 60, 0, 0xFFFF)
def test_rows_beyond_their_variable(t, first, odd, running):
    """The lanes that run may be inside of it, or of another one; else both engines name the same lane."""
    probe, found = row_probe(t, first * ROW_BYTES[t] + odd, 0, running), []
    for engine in ENGINES:
        try:
            found.append({name: values.tolist() for name, values in probe.run(engine).items()})
        except SimulationError as error:
            found.append(str(error))
    assert found[0] == found[1]


def test_rows_by_address_are_vectors():
    """Neither a gather nor lanes one by one."""
    declarations = [
        ".decl X v_type=G type=uw num_elts=64 align=GRF",
        ".decl AT v_type=G type=uw num_elts=2 align=GRF",
        ".decl A0 v_type=A num_elts=1",
    ]
    lines = [
        "svm_block_ld (4) OUT(0,0)<0;1,0> X.0",
        "mov (M1_NM, 1) AT(0,0)<1> X(0,0)<0;1,0>",
        "addr_add (M1_NM, 1) A0(0)<1> &X AT(0,0)<0;1,0>",
        "mov (M1, 16) r[A0(0),2]<1>:uw r[A0(0),0]<16;16,1>:uw",
        "svm_block_st (4) OUT(0,0)<0;1,0> X.0",
    ]
    found = ir_of(lines, declarations)
    rows = [line for line in found.split("\n") if "x i16>, ptr %" in line or "store <16 x i16>" in line]
    assert len(rows) >= 2 and "extractelement <16 x ptr>" not in found
    apart = ir_of([line.replace("<16;16,1>", "<16;8,2>") for line in lines], declarations)
    assert "extractelement <16 x ptr>" in apart
