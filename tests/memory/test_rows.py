"""Lanes whose addresses follow each other, as the fast engine proves it of local ids: at the ends of buffers, under masks, across wrap-arounds."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.probe import Probe, same_on_both_engines
from support.strategies import CHECKED, RUNNING

from visakit.language.types import UD, UQ, UW
from vsim.engines.llvm.host import native
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.types import MASK
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.memory.part import at_first_active

WORD = 0xFFFFFFFF
EDGES = st.integers(0, 40) | st.integers(WORD - 40, WORD) | st.integers((1 << 31) - 20, (1 << 31) + 20)
MESSAGES = {
    "flat": ("svm_gather.4.1 (M1, 16) ADDRESS.0 DATA.0", "svm_scatter.4.1 (M1, 16) ADDRESS.0 DATA.0"),
    "surface": ("gather_scaled.4 (M1, 16) T8 0:ud PLACE.0 DATA.0", "scatter_scaled.4 (M1, 16) T8 0:ud PLACE.0 DATA.0"),
    "local": (
        "gather_scaled.4 (M1, 16) %slm 0:ud PLACE.0 DATA.0",
        "scatter_scaled.4 (M1, 16) %slm 0:ud PLACE.0 DATA.0",
    ),
}


def row_probe(where, index, store, first, pitch, size, running, far, shared=False):
    """Lane i of 16 accesses dword ``first + i % 8 + i // 8 * pitch`` of a buffer, or ``first + i // 8 * pitch`` if lanes share it, computed in 32 bits that count as ``index``, in two rows. Flat addresses
    are ``far`` slots further than the pointer that they are computed from: in its buffer, in the next one, or in none; None: they are computed from the pointer itself."""
    probe = Probe(running=running)
    probe.attributes.append(".kernel_attr SLMSize=1")
    probe.buffer("MEM", bytes(range(4 * size)))
    probe.buffer("OTHER", bytes(range(255, 155, -1)))
    probe.fill(
        FIRST=(index, first.to_bytes(4, "little")), LANE=(index, [0] * 16), X=(index, [0] * 16), PLACE=("ud", [0] * 16),
        OFFSET=("q" if index == "d" else "uq", [0] * 16), ADDRESS=("uq", [0] * 16), DATA=("ud", range(500, 516)), NONE=(index, [0]), FAR=("uq", [(far or 0) << 32]),
    )  # fmt: skip
    probe.lines += [
        f"mov (M1_NM, 8) LANE(0,0)<1> {'NONE(0,0)<0;1,0>' if shared else '0x76543210:uv'}", f"add (M3_NM, 8) LANE(1,0)<1> LANE(0,0)<1;1,0> {pitch:#x}:{index}",
        "add (M1, 16) X(0,0)<1> LANE(0,0)<1;1,0> FIRST(0,0)<0;1,0>", "shl (M1, 16) PLACE(0,0)<1> X(0,0)<1;1,0> 2:ud",
        "mov (M1, 16) OFFSET(0,0)<1> X(0,0)<1;1,0>", "shl (M1, 16) OFFSET(0,0)<1> OFFSET(0,0)<1;1,0> 2:ud",
        "add (M1_NM, 1) FAR(0,0)<1> MEM(0,0)<0;1,0> FAR(0,0)<0;1,0>",
        f"add (M1, 16) ADDRESS(0,0)<1> OFFSET(0,0)<1;1,0> {'MEM' if far is None else 'FAR'}(0,0)<0;1,0>", MESSAGES[where][store],
    ]  # fmt: skip
    return probe


@pytest.mark.parametrize("where", MESSAGES)
@pytest.mark.parametrize("store", [False, True], ids=["load", "store"])
@CHECKED
@example("d", WORD >> 1, 8, 40, 0x00FF, None)  # The second lane wraps around.
@example("d", WORD - 3, 8, 9, 0xFFF0, None)
@example("d", WORD - 3, WORD - 8, 9, 0xFFFF, None)
@example("d", 0, 8, 40, 0xFFFF, None)
@example("ud", WORD - 3, 8, 40, 0xFFF0, 0)  # wraps around within the first row, which no active lane notices
@example("d", 0, WORD - 7, 40, 0x00FF, 0)
@example("d", WORD - 4, 8, 9, 0x1FE0, 0)
@example("d", 3, 8, 9, 0xFFFF, 1)
@example("d", 20, 8, 60, 0xFFFF, 1)
@given(st.sampled_from(["d", "ud"]), EDGES, EDGES, st.integers(1, 60), RUNNING, st.sampled_from([None, 0, 1, 7]))
def test_rows(where, store, index, first, pitch, size, running, far):
    probe = row_probe(where, index, store, first, pitch, size, running, far)
    same_on_both_engines(probe)


@pytest.mark.parametrize("where", MESSAGES)
@CHECKED
@example("d", 20, 60, 40, 0x00FF, 0)  # The second row's element is outside, and no lane wants it.
@example("d", 20, 60, 40, 0x10FF, 0)
@example("ud", 20, WORD - 19, 40, 0xFF00, 0)
@example("d", 20, 8, 40, 0xF00F, 1)
@given(st.sampled_from(["d", "ud"]), EDGES, EDGES, st.integers(1, 60), RUNNING, st.sampled_from([None, 0, 1, 7]))
def test_rows_whose_lanes_share_an_element(where, index, first, pitch, size, running, far):
    same_on_both_engines(row_probe(where, index, False, first, pitch, size, running, far, shared=True))


@CHECKED
@example(36, 80, 40, 0x00FF)
@example(36, 80, 40, 0x10FF)
@example(-8, 40, 40, 0xFF00)
@given(st.integers(-8, 44), st.integers(1, 100), st.integers(1, 60), RUNNING)
def test_rows_whose_lanes_share_an_element_at_a_pointer(first, pitch, size, running):
    probe = Probe(running=running)
    probe.buffer("MEM", bytes(range(4 * size)))
    probe.buffer("OTHER", bytes(4))
    probe.fill(FIRST=("q", [first]), ADDRESS=("uq", [0] * 16), DATA=("ud", range(500, 516)))
    probe.lines += [
        "add (M1_NM, 1) FIRST(0,0)<1> MEM(0,0)<0;1,0> FIRST(0,0)<0;1,0>",
        "mov (M1_NM, 8) ADDRESS(0,0)<1> FIRST(0,0)<0;1,0>",
        f"add (M3_NM, 8) ADDRESS(2,0)<1> ADDRESS(0,0)<1;1,0> {pitch:#x}:uq",
        MESSAGES["flat"][0],
    ]
    same_on_both_engines(probe)


def test_rows_after_many_steps_in_another_block():
    """The row after several steps is computed at once, and is reused behind a branch."""
    probe = Probe()
    probe.predicate("P1", 0xF000)
    probe.buffer("MEM", bytes(400))
    probe.buffer("OTHER", bytes(4))
    probe.fill(DATA=("ud", [0] * 16), LANE=("ud", [0] * 16), WIDE=("uq", [0] * 16))
    probe.lines += [
        "mov (M1, 8) LANE(0,0)<1> 0x76543210:uv",
        "add (M3, 8) LANE(1,0)<1> LANE(0,0)<1;1,0> 8:ud",
        "mov (M1, 16) WIDE(0,0)<1> LANE(0,0)<1;1,0>",
        "shl (M1, 16) WIDE(0,0)<1> WIDE(0,0)<1;1,0> 2:ud",
        "add (M1, 16) WIDE(0,0)<1> MEM(0,0)<0;1,0> WIDE(0,0)<1;1,0>",
        *["add (M1, 16) WIDE(0,0)<1> WIDE(0,0)<1;1,0> DATA(0,0)<0;1,0>"] * 50,
        "(P1) goto (M1, 16) END",
        "svm_scatter.4.1 (M1, 16) WIDE.0 LANE.0",
        "END:",
    ]
    same_on_both_engines(probe)


SWAPPED = [
    "mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:uv", "add (M3_NM, 8) LANE(1,0)<1> LANE(0,0)<1;1,0> 8:ud", "shl (M1, 16) LANE(0,0)<1> LANE(0,0)<1;1,0> 2:ud",
    "add (M1, 16) ROW(0,0)<1> LANE(0,0)<1;1,0> MEM(0,0)<0;1,0>", "add (M1, 16) ROW(0,0)<1> PLACE(0,0)<1;1,0> MEM(0,0)<0;1,0>",
    "(P1) add (M1, 16) ROW(0,0)<1> LANE(0,0)<1;1,0> MEM(0,0)<0;1,0>", "mov (M1, 8) ADDRESS(0,0)<1> ROW(2,0)<1;1,0>",
    "mov (M3, 8) ADDRESS(2,0)<1> ROW(0,0)<1;1,0>",
]  # fmt: skip


@pytest.mark.parametrize("store", [False, True], ids=["load", "store"])
@pytest.mark.parametrize("bits", [0x0FFF, 0xFF00, 0x0FF0, 0xFFFF])
def test_halves_that_have_changed_places_under_a_mask(store, bits):
    """Lane i was written if its mask held then, which is lane i + 8 of that of the access."""
    probe = Probe(running=0xFFFF)
    probe.predicate("P1", bits)
    probe.buffer("MEM", bytes(range(128)))
    probe.buffer("OTHER", bytes(4))
    probe.fill(
        DATA=("ud", range(500, 516)), LANE=("ud", [0] * 16), PLACE=("ud", range(60, -4, -4)), ROW=("uq", [0] * 16), ADDRESS=("uq", [0] * 16)
    )  # fmt: skip
    probe.lines += [*SWAPPED, "(P1) " + MESSAGES["flat"][store]]
    same_on_both_engines(probe)


@pytest.mark.parametrize("store", [False, True], ids=["load", "store"])
@pytest.mark.parametrize("packed", ["uv", "v"])
def test_rows_in_falling_order(packed, store):
    """Offsets are small numbers that do not wrap around when they are widened; the distance of the rows is negative."""
    probe = Probe()
    probe.buffer("MEM", bytes(range(64)))
    probe.buffer("OTHER", bytes(4))
    probe.fill(
        DATA=("ud", range(500, 516)), FOUR=("uw", [0] * 16), LANE=("uw", [0] * 16), PLACE=("ud", [0] * 16), ADDRESS=("uq", [0] * 16)
    )  # fmt: skip
    probe.lines += [
        f"mov (M1_NM, 8) FOUR(0,0)<1> 0x76543210:{packed}", "mov (M1_NM, 4) LANE(0,0)<1> FOUR(0,4)<1;1,0>",
        "mov (M1_NM, 4) LANE(0,4)<1> FOUR(0,0)<1;1,0>", "mov (M1, 8) PLACE(0,0)<1> LANE(0,0)<1;1,0>",
        "shl (M1, 8) PLACE(0,0)<1> PLACE(0,0)<1;1,0> 2:ud", "add (M1, 8) ADDRESS(0,0)<1> PLACE(0,0)<1;1,0> MEM(0,0)<0;1,0>",
        MESSAGES["flat"][store].replace("16)", "8)"),
    ]  # fmt: skip
    same_on_both_engines(probe)


def test_parts_of_masks_are_not_reused_by_the_next_emission():
    b = Builder({})
    b.begin("entry")
    mask = Value(b, MASK, 16, b.assign("load <16 x i1>, ptr %p"))
    part = b.lanes(mask, list(range(8)))
    assert part.text in b.mask_parts
    b.begin("entry")
    assert not b.mask_parts, "names begin anew, too"


def test_a_vector_of_one_is_a_scalar():
    """As in a kernel of one lane, whose local ids are a vector of one element."""
    b = Builder({})
    assert b.vector([3], UW).ir == "i16" and b.vector([3], UW).text == "3"


def product_probe(first, step, width, x, size, running, grouped, store):
    """Lane i of 16 accesses dword ``(first + i // 8 * step) * width + x + i % 8``, computed in qwords by their halves as compilers do it for devices
    without arithmetic on qwords; ``grouped``: the low halves of sums eight lanes at a time, with their carries."""
    probe = Probe("pvc", running=running)
    probe.buffer("MEM", bytes(range(4 * size)))
    probe.buffer("OTHER", bytes(100))
    lanes = dict.fromkeys(("LOW", "HIGH", "PRODUCT_HIGH", "PART", "CARRY", "DATA"), ("ud", [0] * 16))
    probe.fill(
        **lanes, FIRST=("uq", [first]), STEP=("uq", [step]), X=("q", [x]), WIDTH=("ud", [width]), Y=("uq", [0] * 16), ROW=("ud", [0] * 16),
        PLACE=("uq", [0] * 16), INDEX=("uq", [0] * 16), LANE=("uw", [0] * 16), ADDRESS=("uq", [0] * 16),
    )  # fmt: skip
    probe.declarations += [
        f".decl {n} v_type=G type=ud num_elts=32 alias=<{of}, 0>"
        for n, of in (("Y_HALF", "Y"), ("INDEX_HALF", "INDEX"))
    ]
    multiply = [
        "mul (M1, 16) INDEX_HALF(0,0)<2> LOW(0,0)<1;1,0> WIDTH(0,0)<0;1,0>",
        "mulh (M1, 16) PRODUCT_HIGH(0,0)<1> LOW(0,0)<1;1,0> WIDTH(0,0)<0;1,0>",
        "mul (M1, 16) PART(0,0)<1> HIGH(0,0)<1;1,0> WIDTH(0,0)<0;1,0>",
        "add (M1, 16) INDEX_HALF(0,1)<2> PRODUCT_HIGH(0,0)<1;1,0> PART(0,0)<1;1,0>",
    ]
    halves = [
        f"addc (M{1 + 2 * n}, 8) ROW(0,{8 * n})<1> CARRY(0,{8 * n})<1> LOW(0,{8 * n})<1;1,0> 0x0:ud" for n in range(2)
    ]
    probe.lines += [
        "mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:uv", "mov (M3_NM, 8) LANE(0,8)<1> 0x76543210:uv",
        "mov (M1, 8) Y(0,0)<1> FIRST(0,0)<0;1,0>", "add (M3, 8) Y(1,0)<1> FIRST(0,0)<0;1,0> STEP(0,0)<0;1,0>",
        "mov (M1, 8) LOW(0,0)<1> Y_HALF(0,0)<2;1,0>", "mov (M3, 8) LOW(0,8)<1> Y_HALF(1,0)<2;1,0>",
        "mov (M1, 8) HIGH(0,0)<1> Y_HALF(0,1)<2;1,0>", "mov (M3, 8) HIGH(0,8)<1> Y_HALF(1,1)<2;1,0>",
        *([*halves, "mov (M1, 16) LOW(0,0)<1> ROW(0,0)<1;1,0>"] if grouped else []), *multiply,
        "mov (M1, 16) PLACE(0,0)<1> LANE(0,0)<1;1,0>", "add (M1, 16) PLACE(0,0)<1> PLACE(0,0)<1;1,0> X(0,0)<0;1,0>",
        "add (M1, 16) INDEX(0,0)<1> INDEX(0,0)<1;1,0> PLACE(0,0)<1;1,0>", "shl (M1, 16) INDEX(0,0)<1> INDEX(0,0)<1;1,0> 2:ud",
        "add (M1, 16) ADDRESS(0,0)<1> INDEX(0,0)<1;1,0> MEM(0,0)<0;1,0>", MESSAGES["flat"][store],
    ]  # fmt: skip
    return probe


@pytest.mark.parametrize("store", [False, True], ids=["load", "store"])
@pytest.mark.parametrize("grouped", [False, True], ids=["whole", "grouped"])
@CHECKED
@example(2, 1, 8, 0, 0xFFFF)
@example(-1 % 2**64, 1, 8, 8, 0xFF00)  # the first row is in front of the buffer, and inactive
@example(1 << 32, -1 % 2**64, 0, 4, 0xFFFF)
@example(0, 1 << 33, 8, 0, 0x00FF)
@given(
    st.sampled_from([0, 1, 3, (1 << 32) - 1, 1 << 32, 2**64 - 1]), st.sampled_from([0, 1, 2, 2**64 - 1, 1 << 32]),
    st.sampled_from([0, 1, 8, 9, (1 << 32) - 1]), st.integers(-12, 40), RUNNING,
)  # fmt: skip
def test_rows_of_products_of_qwords(store, grouped, first, step, width, x, running):
    same_on_both_engines(product_probe(first, step, width, x, 60, running, grouped, store))


@pytest.mark.parametrize("message", ["gather_scaled", "scatter_scaled"])
def test_a_block_is_not_asked_again_whether_a_lane_runs(message, monkeypatch):
    """A block begins with a running lane, as inactive lanes are elsewhere; a predicate may hold in no lane."""
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    compile_object, texts = native.compile_object, []
    monkeypatch.setattr(native, "compile_object", lambda text, *a: [texts.append(text), compile_object(text, *a)][1])
    for predicate in ("", "(NOBODY) "):
        probe = Probe(running=0x7FFE)
        probe.buffer("MEM", bytes(range(64)))
        probe.buffer("OTHER", bytes(4))
        probe.fill(DATA=("ud", range(500, 516)), PLACE=("ud", [7 * n % 16 for n in range(16)]))
        probe.predicate("NOBODY", 0x8001)
        probe.lines += [f"{predicate}{message}.4 (M1, 16) T8 0:ud PLACE.0 DATA.0"]
        same_on_both_engines(probe)
    assert ["active" in text for text in texts] == [False, True]


@pytest.mark.parametrize(
    ("lanes", "size", "found"), [(16, 4, True), (8, 8, True), (32, 4, False), (16, 8, False), (2, 4, False)]
)
def test_the_first_active_lane_is_moved_to_the_front_of_one_vector(lanes, size, found, monkeypatch):
    """Two vectors, and processors without the instruction, go through memory."""
    for has in (True, False):
        monkeypatch.setattr("vsim.engines.llvm.memory.part.has_feature", lambda name, has=has: has)
        b = Builder({})
        at_first_active(b, Value(b, UQ if size == 8 else UD, lanes, "%x"), Value(b, MASK, lanes, "%mask"))
        assert ("compress" in "\n".join(b.lines)) is (found and has)
