"""Races of images: texels that threads and groups read, write, change atomically and sample, each program with its mended twin."""

from dataclasses import replace

import numpy as np
import pytest
from support.programs import build_text
from support.strategies import ENGINES

from vsim.checks.findings import Findings
from vsim.checks.names import RACE
from vsim.checks.selection import Checking
from vsim.launch.launch import ImageArgument, Launch, SamplerArgument
from vsim.program import Program

HEAD = ['.version 4.1', '.kernel "k"', ".decl T6 v_type=T num_elts=1", ".decl S0 v_type=S num_elts=1",
        *(f".decl {name} v_type=G type=ud num_elts=16 align=GRF" for name in ("LANE", "X", "Y", "NEXT", "ZERO", "ONE")),
        *(f".decl {name} v_type=G type=ud num_elts=64 align=GRF" for name in ("DATA", "FOUND")),
        ".decl SHORT v_type=G type=uw num_elts=16 align=GRF", ".decl UV v_type=G type=f num_elts=64 align=GRF",
        ".decl THREAD v_type=G type=ud num_elts=1", ".decl P1 v_type=P num_elts=16",
        ".input T6 offset=64 size=4", ".input S0 offset=68 size=4", ".kernel_attr SimdSize=16",
        "mov (M1, 8) SHORT(0,0)<1> 0x76543210:uv", "add (M1, 8) SHORT(0,8)<1> SHORT(0,0)<1;1,0> 8:uw", "mov (M1, 16) LANE(0,0)<1> SHORT(0,0)<1;1,0>",
        "and (M1_NM, 1) THREAD(0,0)<1> %r0(0,2)<0;1,0> 0xff:ud", "mov (M1, 16) ZERO(0,0)<1> 0:ud", "mov (M1, 16) ONE(0,0)<1> 1:ud",
        "mov (M1, 16) DATA(0,0)<1> LANE(0,0)<1;1,0>", "mov (M1, 16) Y(0,0)<1> THREAD(0,0)<0;1,0>",
        "add (M1, 16) NEXT(0,0)<1> Y(0,0)<1;1,0> 1:ud", "and (M1, 16) NEXT(0,0)<1> NEXT(0,0)<1;1,0> 1:ud"]  # fmt: skip
"""Two threads of 16 lanes: lane x of thread y is about texel (x, y), its neighbour is in row NEXT. T6 is the image, S0 a sampler."""
WRITE = "scatter4_typed.R (M1, 16) T6 {}.0 {}.0 ZERO.0 %null.0 DATA.0"
READ = "gather4_typed.R (M1, 8) T6 {}.0 {}.0 ZERO.0 %null.0 FOUND.0"
COUNT = "typed_atomic.add (M1, 8) T6 {}.0 {}.0 ZERO.0 %null.0 ONE.0 %null.0 FOUND.0"
SAMPLE = ["mov (M1, 16) UV(0,0)<1> LANE(0,0)<1;1,0>", "mov (M1, 16) UV(2,0)<1> NEXT(0,0)<1;1,0>", "mov (M1, 16) UV(4,0)<1> 0:f",
          "sample_lz.RGBA (M1, 16) 0x0:uw S0 T6 FOUND.0 UV.0 UV.32 UV.64"]  # fmt: skip
BLOCK = [
    "media_st.nomod (8,1) T6 0x0:ud {}(0,0)<0;1,0> DATA.0",
    "media_ld.nomod (8,1) T6 0x0:ud {}(0,0)<0;1,0> FOUND.0",
]
HALVES = "and (M1, 16) X(0,0)<1> LANE(0,0)<1;1,0> 7:ud"
OWN_PAIR = ["and (M1, 16) X(0,0)<1> LANE(0,0)<1;1,0> 0xe:ud"]
EVEN = [
    "and (M1, 16) X(0,0)<1> LANE(0,0)<1;1,0> 1:ud",
    "cmp.ne (M1, 16) P1 X(0,0)<1;1,0> 0:ud",
    "(P1) goto (M1, 16) behind",
]
BARRIER = "barrier"

PROGRAMS = {
    "written and read": (["K001"], [WRITE.format("LANE", "Y"), READ.format("LANE", "NEXT")], [WRITE.format("LANE", "Y"), BARRIER, READ.format("LANE", "NEXT")]),
    "read and written": (["K001"], [READ.format("LANE", "NEXT"), WRITE.format("LANE", "Y")], [READ.format("LANE", "NEXT"), BARRIER, WRITE.format("LANE", "Y")]),
    "written by both": (["K001"], [WRITE.format("LANE", "ZERO")], [WRITE.format("LANE", "Y")]),
    "written and sampled": (["K001"], [WRITE.format("LANE", "Y"), *SAMPLE], [WRITE.format("LANE", "Y"), BARRIER, *SAMPLE]),
    "blocks": (["K001"], [line.format(row) for line, row in zip(BLOCK, ("Y", "NEXT"), strict=True)],
               [BLOCK[0].format("Y"), BARRIER, BLOCK[1].format("NEXT")]),
    "counted and read": (["K001"], [COUNT.format("ZERO", "ZERO"), READ.format("LANE", "Y")], [COUNT.format("ZERO", "ZERO"), BARRIER, READ.format("LANE", "Y")]),
    "counted": (["K001"], [READ.format("ZERO", "ZERO"), WRITE.format("ZERO", "ZERO").replace("DATA", "ONE")], [COUNT.format("ZERO", "ZERO")]),
    "lanes": (["K002"], [*OWN_PAIR, WRITE.format("X", "Y")], [*OWN_PAIR, "mov (M1, 16) DATA(0,0)<1> X(0,0)<1;1,0>", WRITE.format("X", "Y")]),
    "lanes beside": (["K002"], [*OWN_PAIR, WRITE.format("X", "Y")], [*EVEN, WRITE.format("LANE", "Y"), "behind:"]),
    "outside": (["K001"], [WRITE.format("LANE", "ZERO")], ["mov (M1, 16) Y(0,0)<1> 99:ud", WRITE.format("LANE", "Y")]),
}  # fmt: skip
"""The codes, lines with a race, lines without."""
FORMATS = {"r_u32": ("u4", 1), "r_u8": ("u1", 1), "rg_u16": ("u2", 2), "rgba_f32": ("f4", 4), "rgba_unorm8": ("u1", 4)}


def found(lines, format="r_u32", groups=1, shape=(2, 16)):
    """The findings, the same on both engines."""
    dtype, channels = FORMATS[format]
    program, answers = Program(build_text("\n".join([*HEAD, *lines, "ret (M1, 1)"]), "tgllp")), []
    for engine in ENGINES:
        image = np.zeros((*shape, channels), dtype)
        arguments = [ImageArgument(image, format), SamplerArgument(False, "clamp", "nearest")]
        size = 32 * groups
        bound = program.bind(Launch("k", (size, 1, 1), (32, 1, 1), (0, 0, 0), arguments))
        result = program.execute(replace(bound, findings=Findings(Checking(frozenset([RACE])))), engine)
        assert result.engine == engine
        answers.append(list(result.findings))
    assert answers[0] == answers[1]
    return answers[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_race_of_texels_is_found_and_nothing_in_the_mended_twin(name):
    codes, wrong, right = PROGRAMS[name]
    assert sorted({f.code for f in found(wrong)}) == codes
    assert found(right) == []


@pytest.mark.parametrize("format", FORMATS)
def test_texels_of_all_sizes_race_separately(format):
    """Neighbours within a dword do not race; the texel itself does, and the report names it."""
    own = [WRITE.format("LANE", "Y"), READ.format("LANE", "Y")]
    assert found(own, format) == []
    (race,) = found([WRITE.format("LANE", "Y"), READ.format("LANE", "NEXT")], format)
    assert race.memory in ("'argument 0' at texel (0, 0)", "'argument 0' at texel (0, 1)")
    assert race.other.kind == "read"


def test_groups_race_over_texels():
    """Two groups write the same rows, which no barrier orders."""
    codes = {f.code for f in found([WRITE.format("LANE", "Y"), BARRIER], groups=2)}
    assert codes == {"K003"}
    assert found([READ.format("LANE", "Y"), BARRIER], groups=2) == []
