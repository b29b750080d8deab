"""Private arrays in registers whose lanes keep to their own elements: which ones are found, and their threads of one lane."""

import re

import numpy as np
import pytest
from further import KERNELS
from support.programs import build, build_text, kernel_head
from support.strategies import ENGINES
from test_narrow_threads import bound, translated

import visakit
from visakit.diagnostics import SimulationError
from visakit.language.operands import Indirect
from vsim.analysis.lanes.independence import is_independent
from vsim.analysis.narrowing import narrowed
from vsim.program import Program

LANES = 16
READ = """mul (M1, 16) OFF(0,0)<1> X(0,0)<1;1,0> 0x40:uw
mov (M1_NM, 8) NUM(0,0)<1> 0x76543210:v
add (M1_NM, 8) NUM(0,8)<1> NUM(0,0)<1;1,0> 0x8:w
mul (M1_NM, 16) OWN(0,0)<1> NUM(0,0)<1;1,0> 0x4:uw
add (M1, 16) AT(0,0)<1> OFF(0,0)<1;1,0> OWN(0,0)<1;1,0>
addr_add (M1, 16) A1(0)<1> &ARRAY AT(0,0)<1;1,0>
mov (M1, 16) A(0,0)<1> r[A1(0),0]<1,0>:ud
"""
LANE_BY_LANE = "\n".join(
    f"setp (M1_NM, 16) P{5 + lane} {1 << lane}:ud\n(P{5 + lane}) mov (M1, 16) r[A2({lane}),0]<1>:ud A(0,{lane})<0;1,0>"
    for lane in range(LANES)
)
WRITE = f"mul (M1, 16) OFF(0,0)<1> X(0,0)<1;1,0> 0x40:uw\naddr_add (M1, 16) A2(0)<1> &ARRAY OFF(0,0)<1;1,0>\n{LANE_BY_LANE}\n"
BODY = f"mov (M1, 16) ARRAY(1,0)<1> X(0,0)<1;1,0>\n{READ}add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> 0x3:ud\n{WRITE}"
LOWER = "mov (M1_NM, 8) NUM(0,0)<1> 0x76543210:v"
UPPER = "add (M1_NM, 8) NUM(0,8)<1> NUM(0,0)<1;1,0> 0x8:w"
FROM_OTHERS = """mov (M1_NM, 8) NUM(0,0)<1> 0x32103210:v
mov (M1_NM, 4) NUM(0,0)<1> NUM(0,4)<1;1,0>
add (M1_NM, 4) NUM(0,4)<1> NUM(0,4)<1;1,0> 0x4:w"""
GOTO = "cmp.lt (M1, 16) P1 X(0,0)<1;1,0> N(0,0)<0;1,0>\n(P1) goto (M1, 16) HERE\nHERE:\n"
SUM = "add (M1, 16) AT(0,0)<1> OFF(0,0)<1;1,0> OWN(0,0)<1;1,0>"
HALVES = WRITE.replace(
    "addr_add (M1, 16) A2(0)<1> &ARRAY OFF(0,0)",
    "addr_add (M3, 8) A2(8)<1> &ARRAY[32] OFF(0,8)<1;1,0>\naddr_add (M1, 8) A2(0)<1> &ARRAY OFF(0,0)",
)
for _lane in range(LANES):
    _half = f"(M{1 if _lane < 8 else 3}, 8)"
    HALVES = HALVES.replace(f"(M1, 16) r[A2({_lane}),", f"{_half} r[A2({_lane}),")
VARIABLES = "X=uw*32 N=ud A=ud*16 OFF=uw*32 NUM=uw*32 OWN=uw*32 AT=uw*32 ARRAY=ud*128 OTHER=ud*128 TO=uq*16 "
PREDICATES = " ".join(f"P{n}=P*16" for n in range(1, 5 + LANES))


def kernel_of(body):
    names = VARIABLES + PREDICATES + " U=P A1=A*16 A2=A*16"
    text = f"{kernel_head(names, 'X N')}.kernel_attr SimdSize=16\n{body}\nOUT:\nret (M1, 1)\n"
    (kernel,) = visakit.read_module(visakit.assemble(text, platform="pvc")).kernels
    return kernel


def is_free(body):
    return is_independent(kernel_of(body), 64, 16, range(64, 128), 64)


@pytest.mark.parametrize(
    "body",
    [
        BODY,
        BODY.replace("0x40:uw", "0x80:uw"),
        "cmp.lt (M1, 16) P1 X(0,0)<1;1,0> N(0,0)<0;1,0>\n(!P1) goto (M1, 16) OUT\n" + BODY,
        f"{BODY}mov (M1, 16) NUM(0,0)<1> X(0,0)<1;1,0>\nadd (M1, 16) A(0,0)<1> A(0,0)<1;1,0> N(0,0)<0;1,0>",
    ],
)
def test_lanes_that_keep_to_their_own_elements(body):
    assert is_free(body)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0x40:uw", "0x20:uw"),
        ("0x4:uw", "0x8:uw"),
        ("0x4:uw", "X(0,0)<1;1,0>"),
        ("0x8:w", "0x7:w"),
        ("0x76543210:v", "0x76543211:v"),
        (UPPER, "mov (M1_NM, 8) NUM(0,8)<1> 0xfedcba98:v"),  # Nibbles have signs.
        ("0x76543210:v", "0x76543210:uv"),
        ("&ARRAY AT", "&ARRAY OFF"),
        ("&ARRAY AT", "&ARRAY NUM"),
        ("X(0,0)<1;1,0> 0x40", "NUM(0,0)<1;1,0> 0x40"),  # of a round before
        (LOWER, FROM_OTHERS),
        ("A1(0),0]", "A1(0),4]"),
        ("A1(0),0]<1,0>:ud", "A1(0),0]<1;1,0>:ud"),
        ("A1(0),0]<1,0>:ud", "A1(0),0]<1,0>:uw"),
        ("ARRAY(1,0)<1> X(0,0)<1;1,0>", "ARRAY(1,1)<1> X(0,0)<1;1,0>"),
        ("mov (M1, 16) ARRAY", "mov (M1_NM, 16) ARRAY"),
        ("mov (M1, 16) ARRAY", "mov (M1_NM, 16) r[A1(0),0]<1>:ud A(0,0)<1;1,0>\nmov (M1, 16) ARRAY"),
        ("mov (M1, 16) A(0,0)<1> r[", "mov (M1, 1) A(0,0)<1> r["),
        (SUM, f"add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> OWN(0,0)<1;1,0>\n{SUM}"),
        (SUM, f"{SUM}\nadd (M1, 16) A(0,0)<1> A(0,0)<1;1,0> AT(0,0)<1;1,0>"),
        (SUM, f"(P1) {SUM}"),
        (SUM, f"{GOTO}{SUM}"),
        (SUM, SUM.replace("add", "add.sat")),
        (SUM, SUM.replace("OWN(0,0)<1;1,0>", "(-)OWN(0,0)<1;1,0>")),
        (SUM, f"mov (M1, 8) OWN(0,0)<1> OWN(0,1)<1;1,0>\n{SUM}"),
        ("addr_add (M1, 16) A1", f"{GOTO}addr_add (M1, 16) A1"),
        ("mov (M1, 16) A(0,0)<1> r[", f"{GOTO}mov (M1, 16) A(0,0)<1> r["),
        ("add (M1, 16) A(0", "(P7) add (M1, 16) A(0"),
        ("add (M1, 16) A(0", "mov (M1_NM, 1) N(0,0)<1> P7\nadd (M1, 16) A(0"),
        ("(P6) mov", "(P7) mov"),
        ("addr_add (M1, 16) A2(0)<1> &ARRAY", "addr_add (M1, 16) A2(0)<1> &ARRAY[4]"),
    ],
)
def test_lanes_that_may_mix(old, new):
    assert old in BODY and not is_free(BODY.replace(old, new, 1))


def test_sums_that_wrap_around_in_some_lanes():
    added = "0x4:uw\nadd (M1_NM, 16) OWN(0,0)<1> OWN(0,0)<1;1,0> 0x3c:uw"
    assert not is_free(READ.replace("0x4:uw", added).replace("&ARRAY", "&ARRAY[4]"))


def test_writes_regardless_of_the_mask():
    row = "mov (M1_NM, 16) OFF(0,0)<1> 0x0:uw\naddr_add (M1_NM, 16) A2(0)<1> &ARRAY OFF(0,0)<1;1,0>\n"
    assert is_free(row + LANE_BY_LANE)
    assert not is_free(row + LANE_BY_LANE.replace("mov (M1,", "mov (M1_NM,"))


def test_halves_of_lanes():
    """The second half of the lanes begins behind the first one's elements."""
    assert is_free(READ + HALVES)
    assert not is_free(READ + HALVES.replace("[32]", "[36]"))
    assert not is_free(READ + HALVES.replace("[32]", "[96]"))  # in the next row


def test_wide_rows_of_arrays_that_lie_differently():
    """Rows of 128 bytes, of arrays whose distance is no multiple of that: an address beyond one is another lane's of the other."""
    wide = (
        READ.replace("0x40:uw", "0x80:uw")
        .replace("0x4:uw", "0x8:uw")
        .replace(":ud", ":uq")
        .replace("A(0,0)", "TO(0,0)")
    )
    assert is_free(wide)
    assert not is_free(wide + wide.replace("&ARRAY", "&OTHER"))


@pytest.mark.parametrize("lanes", [1, 8])
def test_writes_of_the_first_lanes(lanes):
    kernel = narrowed(kernel_of(BODY), lanes, True, 64)
    kept = [i for i in kernel.instructions if i.args.get("pred") is not None]
    assert len(kept) == (0 if lanes == 1 else lanes)
    assert sum(isinstance(i.args.get("dst"), Indirect) for i in kernel.instructions) == lanes


def test_rounding_that_an_arm_restores():
    arm = "xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x30:ud\n"
    guard = "cmp.lt (M1, 16) P1 X(0,0)<1;1,0> N(0,0)<0;1,0>\n(P1) goto (M1, 16) OUT\n"
    assert is_free(guard + 2 * arm)
    for other in (arm, arm + arm.replace("0x30", "0x20"), 2 * arm.replace("xor", "or"), 2 * f"(P2) {arm}"):
        assert not is_free(guard + other)
    assert not is_free(guard + arm + GOTO + arm)
    assert not is_free("cmp.lt (M1_NM, 1) U N(0,0)<0;1,0> 0x3:ud\n" + guard + 2 * f"(U) {arm}")


def of_suite(name, device):
    """A program of the benchmark suite, and less work for it."""
    return Program(build(KERNELS[name].folder / device, device)), KERNELS[name].work(64)


@pytest.mark.parametrize("device", ["bmg", "tgllp"])
@pytest.mark.parametrize(("name", "width"), [("queens", 1), ("boxes", 0)])
def test_which_kernels_have_one_lane(name, width, device):
    """Lanes that do little but reach elements of their arrays, and lanes that compute."""
    program, work = of_suite(name, device)
    assert translated(bound(program, work)).width == width
    assert not translated(bound(program, work, check="race")).width


@pytest.mark.parametrize("device", ["bmg", "tgllp"])
@pytest.mark.parametrize("cut", [0, 5])
def test_results(cut, device):
    found = []
    for engine in ENGINES:
        program, work = of_suite("queens", device)
        program.launch("queens", work.global_size[0] - cut, work.local_size, work.args, engine=engine)
        found.append(work.args[work.result].tolist())
    assert found[0] == found[1] and any(found[0])


@pytest.mark.parametrize("device", ["bmg", "tgllp"])
@pytest.mark.parametrize("change", ["", "a read"])
def test_faults_name_the_usual_lane(change, device):
    """The third work-item is the first one that searches, and 20 rows are more than its arrays have."""
    found = []
    for engine in ENGINES:
        folder = KERNELS["queens"].folder / device
        text = (folder / "queens.visaasm").read_text()
        if change:
            text = re.sub(r"(mul .* V0(?:085|225)\(0,0\)<1> .*) 0x[24]0:uw", r"\1 0x2000:uw", text)
        program = Program(build_text(text, device, (folder / "ze_info.yaml").read_text()))
        with pytest.raises(SimulationError, match="lies outside the registers") as error:
            program.launch("queens", 3, 3, [np.zeros(64, "u4"), np.int32(20)], engine=engine, threads=1)
        found.append(str(error.value))
    assert found[0] == found[1] and "work-item (2, 0, 0)" in found[0]
