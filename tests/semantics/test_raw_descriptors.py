"""Raw messages by their descriptors: to memory, surfaces and images, with descriptors in registers too, on both engines.

The numbers are those of Intel's public references: bits 0 to 5 of an LSC descriptor are the operation (0 load, 4 store,
12 add), 7 and 8 the size of addresses (2: 32 bits, 3: 64), 9 to 11 that of data (2: 32 bits, 4: a byte in 32), 12 to 15
the channels, 17 to 19 the caches, 29 and 30 the kind of surface (1 by handle, 3 by number).
"""

import numpy as np
import pytest
from support.programs import build_text, ze_info_of
from support.strategies import ENGINES

import vsim
from visakit import LaunchError, SimulationError, VisaWarning
from visakit.language.platforms import find
from vsim.launch.launch import BufferArgument, ImageArgument, Launch
from vsim.program import Program

TEXT = """\
.version 4.2
.kernel "k"
.decl IN v_type=G type=uq num_elts=1 align=qword
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl LANE v_type=G type=ud num_elts=16 align=GRF
.decl PLACE v_type=G type=uq num_elts=16 align=GRF
.decl AT v_type=G type=ud num_elts=16 align=GRF
.decl FOUND v_type=G type=ud num_elts=32 align=GRF
.decl BOTH v_type=G type=ud num_elts=64 align=GRF
.decl DESC v_type=G type=ud num_elts=2
.decl EX v_type=G type=ud num_elts=2
.decl T6 v_type=T num_elts=1
.decl T7 v_type=T num_elts=1
.decl T8 v_type=T num_elts=1
.input IN offset=64 size=8
.input OUT offset=72 size=8
.kernel_attr Target="cm"
mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:uv
add (M1_NM, 8) LANE({half})<1> LANE(0,0)<1;1,0> 8:ud
shl (M1, 16) AT(0,0)<1> LANE(0,0)<1;1,0> 2:ud
add (M1, 8) PLACE(0,0)<1> AT(0,0)<1;1,0> IN(0,0)<0;1,0>
add (M1, 8) PLACE({eight},0)<1> AT({half})<1;1,0> IN(0,0)<0;1,0>
mov (M1, 16) FOUND(0,0)<1> 0:ud
mov (M1, 16) BOTH(0,0)<1> AT(0,0)<1;1,0>
{lines}
svm_block_st (4) OUT(0,0)<0;1,0> FOUND.0
ret (M1, 1)
"""
LOAD, STORE, ADD = 0, 4, 12
A32, A64, D32, D8U32 = 2 << 7, 3 << 7, 2 << 9, 4 << 9
BY_HANDLE, BY_NUMBER = 1 << 29, 3 << 29
PLAIN = LOAD | A64 | D32
GIVEN = np.arange(64, dtype="u4") * 0x01020304 + 5


def text_of(lines, platform):
    grf = find(platform).grf_size
    half, eight = ("0,8", 1) if grf == 64 else ("1,0", 2)
    return TEXT.format(lines="\n".join(lines), half=half, eight=eight)


def found(lines, engine, platform="pvc", threads=1, given=GIVEN, runs_on=None):
    """The first 16 dwords of the result of each launch, and the input afterwards."""
    program = vsim.load(build_text(text_of(lines, platform), platform))
    given, out = given.copy(), np.zeros(16, "u4")
    result = program.launch("k", threads, threads, [given, out], engine=engine)
    assert result.engine == (runs_on or engine)
    return out.tolist(), given


def load(descriptor, extended="0xf:ud", unit=15, address="PLACE", registers=2):
    return f"raw_sends.{unit}.{registers}.0.1 (M1, 16) {extended} {descriptor} {address}.0 %null.0 FOUND.0"


# -- memory ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("caches", range(8))
def test_caches_of_a_message_move_no_address(caches, engine):
    """Their highest bit is that of a header in messages to data ports."""
    assert found([load(f"{PLAIN | caches << 17:#x}:ud")], engine)[0] == GIVEN[:16].tolist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("bits", "first"), [(4, 1), (0x40, 16), (0xFFFFC, -1)])
def test_offsets_of_an_extended_descriptor(bits, first, engine):
    """A number of 20 bits with a sign, to which flat addresses are added."""
    lines = ["add (M1, 8) PLACE(0,0)<1> PLACE(0,0)<1;1,0> 64:ud", "add (M1, 8) PLACE(1,0)<1> PLACE(1,0)<1;1,0> 64:ud"]
    lines.append(load(f"{PLAIN:#x}:ud", f"{bits << 12 | 15:#x}:ud"))
    assert found(lines, engine, "bmg")[0] == GIVEN[16 + first : 32 + first].tolist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("bits", "first"), [(0, 0), (8, 2), (0xFFC, -1)])
def test_offsets_behind_the_number_of_a_surface(bits, first, engine):
    lines = ["add (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> 16:ud"]
    lines.append(load(f"{LOAD | A32 | D32 | BY_NUMBER:#x}:ud", f"{bits << 12 | 15:#x}:ud", address="AT", registers=1))
    assert found(lines, engine, "bmg")[0] == GIVEN[4 + first : 20 + first].tolist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "line",
    [
        f"raw_sends.15.2.0.0 (M1, 16) 0xf:ud {STORE | A32 | D32 | BY_NUMBER:#x}:ud BOTH.0 %null.0 %null.0",
        f"raw_send (M1, 16) 0xf 2 0 {STORE | A32 | D32 | BY_NUMBER:#x}:ud BOTH.0 %null.0",
        "raw_sends.12.2.0.0 (M1, 16) 0xc:ud 0x4025e00:ud BOTH.0 %null.0 %null.0",
    ],
)
def test_a_single_payload_has_addresses_and_data(line, engine):
    """The payload has two registers on pvc: offsets, then the data of the store."""
    data = "add (M1, 16) BOTH(1,0)<1> AT(0,0)<1;1,0> 1000:ud"
    assert found([data, line], engine)[1][:16].tolist() == [1000 + 4 * n for n in range(16)]


WORDS = GIVEN.view("u2").astype("u4") << 16
HIGH = 6 << 9
"""Words in the high halves of dwords."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("lsc_load.ugm (M1, 16) BOTH:d16u32hx2 flat[PLACE]:a64", 1),
        (f"raw_sends.15.2.0.2 (M1, 16) 0xf:ud {LOAD | A64 | HIGH | 1 << 12:#x}:ud PLACE.0 %null.0 BOTH.0", 1),
        ("lsc_load_quad.ugm (M1, 16) BOTH:d16u32h.xw flat[PLACE]:a64", 3),
        ("lsc_load_quad.ugm (M1, 16) WITH:d16u32h.w flat[PLACE]:a64", 3),
    ],
)
def test_words_in_high_halves(line, at, engine):
    """Each element of a vector, and each channel."""
    names = [".decl WITH v_type=G type=ud num_elts=16 alias=<BOTH, 64>"]
    lines = [*names, line, "mov (M1, 16) FOUND(0,0)<1> BOTH(1,0)<1;1,0>"]
    assert found(lines, engine)[0] == WORDS[at : at + 32 : 2].tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_high_halves_in_memory(engine):
    stores = [
        "lsc_store.ugm (M1, 16) flat[PLACE]:a64 BOTH:d16u32hx2",
        "lsc_load_strided.ugm (M1, 16) FOUND:d16u32h flat[IN,2]:a64",
    ]
    made = [
        "shl (M1, 16) BOTH(0,0)<1> LANE(0,0)<1;1,0> 16:ud",
        "add (M1, 16) BOTH(1,0)<1> BOTH(0,0)<1;1,0> 0x640000:ud",
    ]
    loaded, memory = found([*made, *stores], engine)
    assert memory[:16].tolist() == [n | (n + 100) << 16 for n in range(16)]
    assert loaded == [(n // 2 + n % 2 * 100) << 16 for n in range(16)]


# -- descriptors in registers ------------------------------------------------------------------------------------------

MADE = {
    "a number": [f"mov (M1, 1) DESC(0,0)<1> {PLAIN:#x}:ud"],
    "a sum": [f"mov (M1, 1) DESC(0,1)<1> {PLAIN - 7:#x}:ud", "add (M1_NM, 1) DESC(0,0)<1> DESC(0,1)<0;1,0> 7:ud"],
    "bits": [f"mov (M1, 1) DESC(0,0)<1> {A64:#x}:ud", f"or (M1, 1) DESC(0,0)<1> DESC(0,0)<0;1,0> {D32:#x}:ud"],
    "the last of two": ["mov (M1, 1) DESC(0,0)<1> 0x123456:ud", f"mov (M1, 1) DESC(0,0)<1> {PLAIN:#x}:ud"],
    "one of two equal ones": [
        "cmp.gt (M1, 1) P LANE(0,3)<0;1,0> 2:ud", "(P) jmp (M1, 1) other", f"mov (M1, 1) DESC(0,0)<1> {PLAIN:#x}:ud",
        "jmp (M1, 1) over", "other:", f"mov (M1, 1) DESC(0,0)<1> {PLAIN:#x}:ud", "over:",
    ],
}  # fmt: skip
COMPUTED = {
    "arithmetic": [
        f"mul (M1, 1) DESC(0,0)<1> LANE(0,1)<0;1,0> {PLAIN:#x}:ud",
    ],
    "memory": ["svm_block_ld (1) OUT(0,0)<0;1,0> BOTH.0", f"add (M1, 1) DESC(0,0)<1> BOTH(0,0)<0;1,0> {PLAIN:#x}:ud"],
    "bits of a float": [  # 2.0 is 0x40000000
        ".decl DESC_F v_type=G type=f num_elts=2 alias=<DESC, 0>", "mov (M1, 1) DESC_F(0,1)<1> 2:ud",
        f"add (M1, 1) DESC(0,0)<1> DESC(0,1)<0;1,0> {PLAIN - 0x40000000 & 0xFFFFFFFF:#x}:ud",
    ],
    "a predicate": [
        "cmp.gt (M1, 1) P LANE(0,3)<0;1,0> 2:ud", "mov (M1, 1) DESC(0,0)<1> 0x123456:ud",
        f"(P) mov (M1, 1) DESC(0,0)<1> {PLAIN:#x}:ud",
    ],
    "two ways": [
        "cmp.gt (M1, 1) P LANE(0,3)<0;1,0> 2:ud", "(P) jmp (M1, 1) other", "mov (M1, 1) DESC(0,0)<1> 0x123456:ud",
        "jmp (M1, 1) over", "other:", f"mov (M1, 1) DESC(0,0)<1> {PLAIN:#x}:ud", "over:",
    ],
}  # fmt: skip
PREDICATE = [".decl P v_type=P num_elts=1"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("how", MADE)
def test_a_descriptor_whose_value_the_text_says(how, engine):
    assert found([*PREDICATE, *MADE[how], load("DESC(0,0)<0;1,0>")], engine)[0] == GIVEN[:16].tolist()


@pytest.mark.parametrize("how", COMPUTED)
def test_a_descriptor_that_is_computed(how):
    """The reference engine decodes it when the message is sent; it runs the launch where none is named."""
    lines = [*PREDICATE, *COMPUTED[how], load("DESC(0,0)<0;1,0>")]
    for engine in ("numpy", "auto"):
        assert found(lines, engine, runs_on="numpy")[0] == GIVEN[:16].tolist()
    with pytest.warns(VisaWarning, match=r"runs on the numpy engine: a message whose descriptor is known when it is"):
        assert found(lines, "llvm", runs_on="numpy")[0] == GIVEN[:16].tolist()


def test_threads_with_different_descriptors():
    """Thread 0 loads and adds up dwords, thread 1 bytes: each does what its own descriptor says."""
    lines = [
        "and (M1, 1) DESC(0,1)<1> %r0(0,2)<0;1,0> 0xff:ud",
        f"mad (M1, 1) DESC(0,0)<1> DESC(0,1)<0;1,0> {D8U32 - D32}:ud {PLAIN:#x}:ud",
        load("DESC(0,0)<0;1,0>"),
        f"raw_sends.15.2.1.0 (M1, 16) 0xf:ud {ADD | A64 | D32:#x}:ud WHERE.0 FOUND.0 %null.0",
    ]
    places = [
        ".decl WHERE v_type=G type=uq num_elts=16 align=GRF",
        *(f"add (M1, 8) WHERE({n},0)<1> AT(0,{8 * n})<1;1,0> OUT(0,0)<0;1,0>" for n in range(2)),
    ]
    program = vsim.load(
        build_text(text_of([*places, *lines], "pvc").replace("svm_block_st (4) OUT(0,0)<0;1,0> FOUND.0\n", ""), "pvc")
    )
    out = np.zeros(16, "u4")
    program.launch("k", 2, 2, [GIVEN.copy(), out], engine="numpy")
    assert out.tolist() == [int(x) + (int(x) & 0xFF) for x in GIVEN[:16]]


def test_a_computed_descriptor_that_means_nothing():
    lines = ["mul (M1, 1) DESC(0,0)<1> LANE(0,1)<0;1,0> 27:ud", load("DESC(0,0)<0;1,0>")]
    with pytest.raises(
        SimulationError, match=r"descriptor 0x1b: .* in 'raw_sends.15.2.0.1 .* DESC\(0,0\)<0;1,0> PLACE"
    ):
        found(lines, "numpy")


@pytest.mark.parametrize("check", [["undefined"], ["all"]])
def test_checks_see_messages_that_are_decoded_late(check):
    lines = [*COMPUTED["arithmetic"], load("DESC(0,0)<0;1,0>")]
    program = vsim.load(build_text(text_of(lines, "pvc"), "pvc"))
    arguments = [GIVEN.copy(), np.zeros(16, "u4")]
    assert not program.launch("k", 1, 1, arguments, engine="numpy", check=check).findings
    lines = [
        "mul (M1, 1) DESC(0,0)<1> DESC(0,1)<0;1,0> 1:ud",
        f"or (M1, 1) DESC(0,0)<1> DESC(0,0)<0;1,0> {PLAIN:#x}:ud",
    ]
    program = vsim.load(build_text(text_of([*lines, load("DESC(0,0)<0;1,0>")], "pvc"), "pvc"))
    findings = program.launch("k", 1, 1, arguments, engine="numpy", check=check).findings
    assert any("undefined" in f.message for f in findings)


# -- surfaces ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_surface_whose_number_is_in_a_register(engine):
    """The number is the top byte of the extended descriptor."""
    lines = ["shl (M1, 1) EX(0,0)<1> LANE(0,1)<0;1,0> 24:ud", "mov (M1, 16) FOUND(0,0)<1> LANE(0,0)<1;1,0>"]
    store = STORE | A32 | D32 | BY_NUMBER
    lines.append(f"raw_sends.15.1.1.0 (M1, 16) EX(0,0)<0;1,0> {store:#x}:ud AT.0 LANE.0 %null.0")
    lines.append(load(f"{LOAD | A32 | D32 | BY_NUMBER:#x}:ud", "EX(0,0)<0;1,0>", address="AT", registers=1))
    assert found(lines, engine)[0] == list(range(16))


HANDLES = ze_info_of("handle=4 handle=4", simd_size=1)
BINDLESS = """\
.version 4.2
.kernel "k"
.decl FROM v_type=G type=ud num_elts=1
.decl TO v_type=G type=ud num_elts=1
.decl AT v_type=G type=ud num_elts=16 align=GRF
.decl X v_type=G type=ud num_elts=64 align=GRF
.kernel_attr Target="cm"
.input FROM offset=64 size=4
.input TO offset=68 size=4
mov (M1_NM, 8) AT(0,0)<1> 0x76543210:uv
add (M1_NM, 8) AT(0,8)<1> AT(0,0)<1;1,0> 8:ud
shl (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> 2:ud
{line}
lsc_store.ugm (M1, 16) bss(TO)[AT]:a32 X:d32
ret (M1, 1)
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "line",
    [
        "lsc_load.ugm (M1, 16) X:d32 bss(FROM)[AT]:a32",
        "lsc_load_quad.ugm (M1, 16) X:d32.x bss(FROM)[AT]:a32",
        f"raw_sends.15.1.0.1 (M1, 16) FROM(0,0)<0;1,0> {LOAD | A32 | D32 | BY_HANDLE:#x}:ud AT.0 %null.0 X.0",
        f"raw_sends.15.1.0.1 (M1, 16) FROM(0,0)<0;1,0> {2 | A32 | D32 | 1 << 12 | BY_HANDLE:#x}:ud AT.0 %null.0 X.0",
        "raw_sends.12.1.0.1 (M1, 16) FROM(0,0)<0;1,0> 0x2105efc:ud AT.0 %null.0 X.0",
    ],
)
def test_a_surface_whose_handle_is_in_a_register(line, engine):
    program = Program(build_text(BINDLESS.format(line=line), "pvc", HANDLES))
    given, out = GIVEN[:16].copy(), np.zeros(16, "u4")
    program.launch("k", 1, 1, [given, out], engine=engine)
    assert out.tolist() == given.tolist()


# -- images ------------------------------------------------------------------------------------------------------------

QUAD_LOAD, QUAD_STORE = 2, 6
XY, XYZW = 3 << 12, 15 << 12
TYPED = {
    "load": (
        f"raw_sends.13.2.0.4 (M1, 16) 0x100000d:ud {QUAD_LOAD | A32 | D32 | XYZW | BY_NUMBER:#x}:ud BOTH.0 %null.0 F.0",
        "lsc_load_quad.tgm (M1, 16) F:d32.xyzw bti(0x1)[X,Y]:a32",
    ),
    "two channels": (
        f"raw_sends.13.2.0.2 (M1, 16) 0x100000d:ud {QUAD_LOAD | A32 | D32 | XY | BY_NUMBER:#x}:ud BOTH.0 %null.0 F.0",
        "lsc_load_quad.tgm (M1, 16) F:d32.xy bti(0x1)[X,Y]:a32",
    ),
    "a row": (
        f"raw_sends.13.1.0.4 (M1, 16) 0x100000d:ud {QUAD_LOAD | A32 | D32 | XYZW | BY_NUMBER:#x}:ud BOTH.0 %null.0 F.0",
        "lsc_load_quad.tgm (M1, 16) F:d32.xyzw bti(0x1)[X]:a32",
    ),
    "store": (
        f"raw_sends.13.2.4.0 (M1, 16) 0x100000d:ud {QUAD_STORE | A32 | D32 | XYZW | BY_NUMBER:#x}:ud BOTH.0 F.0 %null.0",
        "lsc_store_quad.tgm (M1, 16) bti(0x1)[X,Y]:a32 F:d32.xyzw",
    ),
    "store of one payload": (
        f"raw_send (M1, 16) 0x100000d 6 0 {QUAD_STORE | A32 | D32 | XYZW | BY_NUMBER:#x}:ud BOTH.0 %null.0",
        "lsc_store_quad.tgm (M1, 16) bti(0x1)[X,Y]:a32 G:d32.xyzw",
    ),
    "atomic": (
        f"raw_sends.13.2.1.1 (M1, 16) 0x100000d:ud {ADD | A32 | D32 | BY_NUMBER:#x}:ud BOTH.0 X.0 F.0",
        "lsc_atomic_iadd.tgm (M1, 16) F:d32 bti(0x1)[X,Y]:a32 X %null",
    ),
    "data port": (
        "raw_sends.12.2.0.4 (M1, 16) 0xc:ud 0x4415001:ud BOTH.0 %null.0 F.0",
        "lsc_load_quad.tgm (M1, 16) F:d32.xyzw bti(0x1)[X,Y]:a32",
    ),
    "atomic of a data port": (
        "raw_sends.12.2.1.1 (M1, 16) 0xc:ud 0x411a701:ud BOTH.0 X.0 F.0",
        "lsc_atomic_iadd.tgm (M1, 16) F:d32 bti(0x1)[X,Y]:a32 X %null",
    ),
}
IMAGES = """\
.version 4.2
.kernel "k"
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl BOTH v_type=G type=ud num_elts=96 align=GRF
.decl X v_type=G type=ud num_elts=16 alias=<BOTH, 0>
.decl Y v_type=G type=ud num_elts=16 alias=<BOTH, 64>
.decl G v_type=G type=ud num_elts=64 alias=<BOTH, 128>
.decl F v_type=G type=ud num_elts=64 align=GRF
.decl AT v_type=G type=uq num_elts=1 align=qword
.input OUT offset=64 size=8
.kernel_attr Target="cm"
    mov (M1, 8) X(0,0)<1> 0x76543210:uv
    add (M1, 8) X(0,8)<1> X(0,0)<1;1,0> 8:ud
    shr (M1, 16) Y(0,0)<1> X(0,0)<1;1,0> 2:ud
    and (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 3:ud
    mad (M1, 16) F(0,0)<1> Y(0,0)<1;1,0> 4:ud X(0,0)<1;1,0>
    add (M1, 16) F(1,0)<1> F(0,0)<1;1,0> 100:ud
    add (M1, 16) F(2,0)<1> F(0,0)<1;1,0> 200:ud
    add (M1, 16) F(3,0)<1> F(0,0)<1;1,0> 300:ud
    mov (M1, 32) G(0,0)<1> F(0,0)<1;1,0>
    mov (M1, 32) G(2,0)<1> F(2,0)<1;1,0>
    {line}
    svm_block_st (8) OUT(0,0)<0;1,0> F.0
    add (M1, 1) AT(0,0)<1> OUT(0,0)<0;1,0> 128:ud
    svm_block_st (8) AT(0,0)<0;1,0> F.128
    ret (M1, 1)
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", TYPED)
def test_typed_messages(what, engine):
    """A raw message has the effect of the instruction: on the image, and on registers."""
    texels = np.arange(5 * 7 * 4, dtype="u4").reshape(5, 7, 4) * 3
    if "atomic" in what:
        texels = texels[..., :1].copy()
    left = [([n + 100 * k for k in range(4) for n in range(16)], texels.tolist())]
    for line in TYPED[what]:
        image, out = ImageArgument(texels.copy(), "r_u32" if "atomic" in what else "rgba_u32"), np.zeros(64, "u4")
        program = Program(build_text(IMAGES.format(line=line), "pvc"))
        program.run(Launch("k", (1,), (1,), args=[BufferArgument(out), image]), engine=engine)
        left.append((out.tolist(), image.array.tolist()))
    untouched, by_message, by_instruction = left
    assert by_message == by_instruction != untouched


BLOCKS = """\
.version 4.2
.kernel "k"
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl H v_type=G type=ud num_elts=16 align=GRF
.decl N v_type=G type=d num_elts=16 align=GRF
.decl F v_type=G type=ud num_elts=32 align=GRF
.input OUT offset=64 size=8
.kernel_attr Target="cm"
    mov (M1, 32) F(0,0)<1> 7:ud
    mov (M1, 16) H(0,0)<1> 0:ud
    mov (M1, 1) H(0,5)<1> {x}:d
    mov (M1, 1) H(0,6)<1> {y}:d
    mov (M1, 1) H(0,7)<1> {shape:#x}:ud
    mov (M1, 1) N(0,0)<1> {x}:d
    mov (M1, 1) N(0,1)<1> {y}:d
    {load}
    svm_block_st (8) OUT(0,0)<0;1,0> F.0
    not (M1, 32) F(0,0)<1> F(0,0)<1;1,0>
    {store}
    ret (M1, 1)
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("x", "y", "width", "height"), [(4, 1, 8, 4), (8, 0, 16, 8), (-4, -1, 12, 3), (24, 3, 5, 8)])
def test_blocks_of_an_image(x, y, width, height, engine):
    """Rows take the next power of two of bytes; loads repeat the rim, stores end there."""
    texels, pitch = np.arange(5 * 7 * 4, dtype="u1").reshape(5, 28), 1 << (width - 1).bit_length()
    rows, columns = np.arange(y, y + height), np.arange(x, x + width)
    held = np.clip(columns - columns % 4, 0, 24) + columns % 4
    loaded = np.full(32, 7, "u4").view("u1")
    block = np.lib.stride_tricks.as_strided(loaded, (height, width), (pitch, 1))
    block[:] = texels[np.clip(rows, 0, 4)][:, held]
    stored = texels.copy()
    for r, c in ((r, c) for r in range(height) for c in range(width) if 0 <= rows[r] < 5 and 0 <= columns[c] < 28):
        stored[rows[r], columns[c]] = ~block[r, c]
    lines = {
        "load": f"raw_sends.13.1.0.2 (M1, 1) 0x100000d:ud {3 | A32 | D32 | BY_NUMBER:#x}:ud H.0 %null.0 F.0",
        "store": f"raw_sends.13.1.2.0 (M1, 1) 0x100000d:ud {7 | A32 | D32 | BY_NUMBER:#x}:ud H.0 F.0 %null.0",
    }
    shape = width - 1 | height - 1 << 8
    image, out = ImageArgument(texels.reshape(5, 7, 4).copy(), "rgba_u8"), np.zeros(128, "u1")
    program = Program(build_text(BLOCKS.format(x=x, y=y, shape=shape, **lines), "bmg"))
    program.run(Launch("k", (1,), (1,), args=[BufferArgument(out), image]), engine=engine)
    assert out.tolist() == loaded.tolist()
    assert image.array.reshape(5, 28).tolist() == stored.tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_block_of_an_image_has_room_in_its_message(engine):
    line = f"raw_sends.13.1.0.1 (M1, 1) 0x100000d:ud {3 | A32 | D32 | BY_NUMBER:#x}:ud H.0 %null.0 F.0"
    program = Program(build_text(BLOCKS.format(x=0, y=0, shape=0x90F, load=line, store=""), "bmg"))
    arguments = [BufferArgument(np.zeros(128, "u1")), ImageArgument(np.zeros((5, 7, 4), "u1"), "rgba_u8")]
    with pytest.raises(SimulationError, match="blocks of 3 registers, the message has 1"):
        program.run(Launch("k", (1,), (1,), args=arguments), engine=engine)


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("raw_sends.2.1.0.1 (M1, 16) 0x2:ud 0x2101000:ud", r"messages to unit 2 \(sampler\), operation 1, are not"),
        ("raw_sends.2.1.0.1 (M1, 16) 0x2:ud DESC(0,0)<0;1,0>", r"messages to unit 2 \(sampler\) are not simulated"),
        ("raw_sends.6.1.0.1 (M1, 16) 0x6:ud 0x2100008:ud", r"messages to unit 6 \(urb\), operation 8, are not"),
        ("raw_sends.3.1.0.0 (M1, 16) 0x3:ud DESC(0,0)<0;1,0>", "descriptor is not a constant, as messages to unit 3"),
        ("raw_sends.10.1.0.1 (M1, 16) 0xa:ud 0x2100000:ud", r"message type 0 of data port 0 \(oword block read\)"),
        ("raw_sends.10.1.0.1 (M1, 16) 0xa:ud 0x2110c00:ud", "a reserved size of data"),
        ("raw_sends.12.1.0.1 (M1, 16) 0xc:ud 0x2110000:ud", r"message type 4 of data port 1 \(media block read\)"),
        ("raw_sends.12.1.0.1 (M1, 16) 0xc:ud 0x2116001:ud", "the low slot group alone"),
        ("raw_sends.15.1.0.1 (M1, 16) 0xf:ud 0x2100501:ud", r"operation 1 \(lsc_load_strided\) of the load/store unit"),
        ("raw_sends.13.1.0.1 (M1, 16) 0xd:ud 0x6210051e:ud", r"operation 30 \(lsc_read_state_info\) of the typed"),
        ("raw_sends.13.1.0.1 (M1, 16) 0xd:ud 0x2100502:ud", "images are accessed through surfaces"),
        ("raw_sends.13.5.0.1 (M1, 16) 0xd:ud 0x62100502:ud", "room for 5 coordinates"),
    ],
)
def test_messages_without_an_instruction_are_refused_by_name(message, why):
    with pytest.raises(LaunchError, match=why):
        found([f"{message} AT.0 %null.0 FOUND.0"], "numpy")


def test_offsets_are_in_numbers_alone():
    lines = ["mov (M1, 1) EX(0,0)<1> 0x400f:ud", load(f"{PLAIN:#x}:ud", "EX(0,0)<0;1,0>")]
    with pytest.raises(LaunchError, match="offsets in an extended descriptor that is a register"):
        found(lines, "numpy", "bmg")


@pytest.mark.parametrize(
    ("bits", "why"),
    [
        (D8U32, "data of this size"),
        (6 << 9, "data of this size"),
        (D32 | 1 << 12, "one element"),
        (D32 | 1 << 15, "one element"),
    ],
)
@pytest.mark.parametrize("operation", [ADD, 19], ids=["iadd", "fadd"])
@pytest.mark.parametrize("engine", ENGINES)
def test_atomics_on_other_data(operation, bits, why, engine):
    line = f"raw_sends.15.1.1.1 (M1, 1) 0xf:ud {operation | A64 | bits | 0x2100000:#x}:ud PLACE.0 AT.0 FOUND.0"
    with pytest.raises(SimulationError, match=f"atomic operations .*{why}"):
        found([line], engine)
