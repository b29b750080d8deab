"""The check of accesses outside arguments (``guard``): defects, their mended twins, on both engines, in all orders."""

from functools import cache

import numpy as np
import pytest
from support.programs import build_text, kernel_head
from support.strategies import ENGINES

from visakit import LaunchError, SimulationError
from vsim.launch.launch_file import parse_launch
from vsim.program import Program

KERNEL = (
    kernel_head(
        "Y=uq@qword X=uq@qword N=d@dword SHORT=uw*32 ITEM=ud*32 THREAD=ud TO=q*32 AT=uq*32 ONE=uq*1 V=ud*128 W=ud*128 T6=T T7=T PLACE=ud*32 P1=P*32",
        "Y X N",
        SimdSize="{simd}",
    )
    + """mov (M1_NM, 8) SHORT(0,0)<1> 0x76543210:uv
add (M1_NM, 8) SHORT(0,8)<1> SHORT(0,0)<1;1,0> 8:uw
add (M1_NM, 16) SHORT(0,16)<1> SHORT(0,0)<1;1,0> 16:uw
and (M1_NM, 1) THREAD(0,0)<1> %r0(0,2)<0;1,0> 0xff:ud
mad (M1_NM, 1) THREAD(0,0)<1> %group_id_x(0,0)<0;1,0> 2:ud THREAD(0,0)<0;1,0>
mad (M1, {simd}) ITEM(0,0)<1> THREAD(0,0)<0;1,0> {simd}:ud SHORT(0,0)<1;1,0>
mov (M1, {simd}) TO(0,0)<1> ITEM(0,0)<1;1,0>
add (M1, {simd}) TO(0,0)<1> TO(0,0)<1;1,0> N(0,0)<0;1,0>
shl (M1, {simd}) TO(0,0)<1> TO(0,0)<1;1,0> 2:ud
add (M1, {simd}) AT(0,0)<1> TO(0,0)<1;1,0> X(0,0)<0;1,0>
add (M1_NM, 1) ONE(0,0)<1> X(0,0)<0;1,0> TO(0,0)<0;1,0>
mov (M1, {simd}) V(0,0)<1> ITEM(0,0)<1;1,0>
{lines}
ret (M1, 1)
"""
)
LINES = {
    # access: (lines, whether it writes)
    "gather": ("svm_gather.4.1 (M1, {simd}) AT.0 V.0", False),
    "scatter": ("svm_scatter.4.1 (M1, {simd}) AT.0 V.0", True),
    "gather of bytes": ("svm_gather.1.4 (M1, {simd}) AT.0 V.0", False),
    "load": ("lsc_load.ugm (M1, {simd}) V:d32 flat[AT]:a64", False),
    "store": ("lsc_store.ugm (M1, {simd}) flat[AT]:a64 V:d32", True),
    "atomic": ("lsc_atomic_iadd.ugm (M1, {simd}) W:d32 flat[AT]:a64 V.0 %null.0", True),
    "in a branch": (
        "cmp.ge (M1, {simd}) P1 ITEM(0,0)<1;1,0> 0:ud\n(!P1) goto (M1, {simd}) over\n"
        "lsc_store.ugm (M1, {simd}) flat[AT]:a64 V:d32\nover:",
        True,
    ),
    "behind others": (
        "svm_block_ld (2) Y(0,0)<0;1,0> W.0\nsvm_block_ld (1) X(0,0)<0;1,0> W.0\n"
        "lsc_store.ugm (M1, {simd}) flat[AT]:a64 V:d32",
        True,
    ),
}
ITEMS = 64


def pool():
    return np.arange(1000, 1000 + 4 * ITEMS, dtype="u4")


@cache
def program(lines, simd):
    return Program(build_text(KERNEL.format(lines=lines.format(simd=simd), simd=simd), "pvc"))


def launch(lines, simd, engine, first=0, check="guard", schedule=""):
    """A kernel whose items access one element each of X, ITEMS elements in the middle of memory, from one on."""
    memory, own = pool(), program(lines, simd)
    own.usm(memory)  # Launches without the check may access all of it, too.
    arguments = [memory[2 * ITEMS : 3 * ITEMS], memory[ITEMS : 2 * ITEMS], np.int32(first)]
    result = own.launch("k", ITEMS, 2 * simd, arguments, engine=engine, check=check, schedule=schedule)
    assert result.engine == engine
    own.release(memory)
    return result.findings, memory.tolist()


@pytest.mark.parametrize(
    ("name", "simd"), [(n, s) for n, (line, _) in LINES.items() for s in (8, 16, 32) if s < 32 or "svm" not in line]
)
def test_accesses_outside_an_argument(name, simd):
    """Both engines find the same, behind and in front, in every order, and results are those of other launches."""
    lines, writes = LINES[name]
    runs = [
        launch(lines, simd, engine, 3, schedule=schedule)
        for engine in ENGINES
        for schedule in ("", "reverse", "round-robin")
    ]
    assert all(run == runs[0] for run in runs)
    assert launch(lines, simd, "numpy", 3, "") == ([], runs[0][1])
    (behind,) = runs[0][0]
    assert (behind.code, behind.check, behind.count) == ("K041" if writes else "K040", "guard", 3)
    assert behind.memory == f"'X' at offset {4 * ITEMS}, right after its end, in 'Y' at offset 0"
    assert (behind.who.lane, behind.who.group) == (simd - 3, ITEMS // (2 * simd) - 1)
    for engine in ENGINES:
        (before,), _ = launch(lines, simd, engine, -2)
        assert (before.count, before.who.group, before.who.lane) == (2, 0, 0)
        assert before.memory == "'X' at offset -8, 8 bytes before its beginning, where no argument is"
        assert launch(lines, simd, engine)[0] == []


BLOCK = "svm_block_ld (4) ONE(0,0)<0;1,0> V.0"


@pytest.mark.parametrize("engine", ENGINES)
def test_messages_of_a_whole_thread(engine):
    """Findings count the elements outside, as the message has no lanes."""
    (found,), _ = launch(BLOCK, 16, engine, 8)
    assert (found.who, found.count) == ((1, 1, -1, 0), 8)
    assert found.memory.startswith(f"'X' at offset {4 * ITEMS}, right after its end")


@pytest.mark.parametrize("engine", ENGINES)
def test_an_access_across_the_end_says_how_much_of_it_is_outside(engine):
    memory = pool()
    own = program("svm_gather.1.4 (M1, 16) AT.0 V.0", 16)
    odd = memory.view("u1")[:258]
    result = own.launch("k", 16, 16, [memory[128:], odd, np.int32(60)], engine=engine, check="guard")
    (found,) = result.findings
    assert found.memory == "'X' at offset 256, 2 bytes of it after its end, where no argument is" and found.count == 12


@pytest.mark.parametrize("engine", ENGINES)
def test_whole_arrays_end_with_their_allocation(engine):
    """Whole arrays are bounded by their allocation, whose end is a fault, as is that of the allocation of a part."""
    own = program(LINES["scatter"][0], 16)
    whole = np.zeros(ITEMS, "u4")
    with pytest.raises(SimulationError, match=r"access of 4 bytes outside 'X', which has 256 bytes, at offset 256 "):
        own.launch("k", ITEMS, 32, [whole.copy(), whole, np.int32(1)], engine=engine, check="guard")
    with pytest.raises(SimulationError, match=r"access of 4 bytes outside 'X', which has 256 bytes, at offset 256 "):
        own.launch("k", ITEMS, 32, [whole[:8], whole[8:], np.int32(8)], engine=engine, check="guard")
    assert own.launch("k", ITEMS, 32, [whole.copy(), whole, np.int32(0)], engine=engine, check="guard").findings == []


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_that_overlap_stay_the_same_memory(engine):
    """X and Y overlap: a write through X is read through Y, and each argument has its own bounds."""
    lines = "svm_scatter.4.1 (M1, 16) AT.0 V.0\nsvm_block_ld (4) Y(0,0)<0;1,0> W.0\nsvm_block_st (4) Y(0,0)<0;1,0> W.0"
    memory = pool()
    with pytest.warns(match="S004"):
        result = program(lines, 16).launch(
            "k", 16, 16, [memory, memory[2:18], np.int32(-1)], engine=engine, check="guard"
        )
    (found,) = result.findings
    assert found.memory == "'X' at offset -4, 4 bytes before its beginning, in 'Y' at offset 4"
    assert memory[:18].tolist() == [1000, *range(16), 1017]


@pytest.mark.parametrize("engine", ENGINES)
def test_addresses_that_a_launch_leaves_lead_on(engine):
    """A kernel stores an address into its own argument; another one follows it later."""
    store = "mov (M1_NM, 1) AT(0,0)<1> X(0,0)<0;1,0>\nsvm_block_st (1) Y(0,0)<0;1,0> AT.0"
    follow = (
        "svm_block_ld (1) Y(0,0)<0;1,0> AT.0\nsvm_block_ld (4) AT(0,0)<0;1,0> W.0\nsvm_block_st (4) Y(0,0)<0;1,0> W.0"
    )
    memory, kept = pool(), np.zeros(ITEMS, "u4")
    first, second = (Program(build_text(KERNEL.format(lines=lines, simd=16), "pvc")) for lines in (store, follow))
    second.memory = first.memory
    arguments = [kept, memory[8:24], np.int32(0)]
    assert first.launch("k", 16, 16, arguments, engine=engine, check="guard").findings == []
    assert second.launch("k", 16, 16, arguments, engine=engine, check="guard").findings == []
    assert kept[:16].tolist() == memory[8:24].tolist()
    first.release(memory)
    assert not first.memory.guarded
    kept[:2] = 0, 0x105
    with pytest.raises(SimulationError):
        second.launch("k", 16, 16, [kept, memory[8:24].copy(), np.int32(0)], engine=engine, check="guard")


@pytest.mark.parametrize("engine", ENGINES)
def test_read_only_parts_are_read_only(engine):
    memory = pool()
    part = memory[ITEMS : 2 * ITEMS]
    part.flags.writeable = False
    with pytest.raises(SimulationError, match="read-only"):
        program(LINES["scatter"][0], 16).launch(
            "k", 16, 16, [memory[:8], part, np.int32(0)], engine=engine, check="guard"
        )
    assert (
        program(LINES["gather"][0], 16)
        .launch("k", 16, 16, [memory[:8], part, np.int32(60)], engine=engine, check="guard")
        .findings
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_other_checks_know_that_the_memory_is_the_same(engine):
    """All items write X, which overlaps Y, and read Y: no value is undefined, and groups race for the common part."""
    lines = "svm_scatter.4.1 (M1, 16) AT.0 V.0\nsvm_block_ld (4) Y(0,0)<0;1,0> W.0\nsvm_block_st (4) Y(0,0)<0;1,0> W.0"
    memory = pool()
    with pytest.warns(match="S004"):
        result = program(lines, 16).launch(
            "k", 64, 32, [memory[16:32], memory[:64], np.int32(0)], engine=engine, check="guard,undefined,race"
        )
    assert {f.code for f in result.findings} == {"K001", "K003"}


SURFACES = {
    "gather4": ("gather4_scaled.R (M1, {simd}) T7 0x0:ud PLACE.0 V.0", False),
    "scatter": ("scatter_scaled.4 (M1, {simd}) T7 0x0:ud PLACE.0 V.0", True),
    "load": ("lsc_load.ugm (M1, {simd}) V:d32 bti(0x1)[PLACE]:a32", False),
    "atomic": ("dword_atomic.add (M1, {simd}) T7 PLACE.0 V.0 %null.0 W.0", True),
    "block": ("oword_ld (4) T7 0xe:ud V.0", False),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SURFACES)
def test_surfaces_end_where_their_arguments_end(name, engine):
    """An access behind the argument's end is found; a surface has no addresses in front of it."""
    line, writes = SURFACES[name]
    simd = 16 if name in ("gather4", "load") else 8
    lines = f"mov (M1, {simd}) PLACE(0,0)<1> TO(0,0)<1;1,0>\n" + line.format(simd=simd)
    found, _ = launch(lines, simd, engine, 3)
    assert [(f.code, f.memory) for f in found] == [
        ("K041" if writes else "K040", f"'X' at offset {4 * ITEMS}, right after its end, in 'Y' at offset 0")
    ]
    assert name == "block" or found[0].count == 3
    assert name == "block" or launch(lines, simd, engine)[0] == []


def test_arguments_of_a_launch_file_are_parts_of_one_array(tmp_path):
    np.save(tmp_path / "pool.npy", pool())
    text = """{"launches": [{"kernel": "k", "global_size": 64, "local_size": 32, "args": [
        {"buffer": "pool.npy", "shared": "pool", "part": [128, 64]},
        {"buffer": "pool.npy", "shared": "pool", "part": [64, 64]},
        {"scalar": 3}]}]}"""
    read = parse_launch(text, str(tmp_path), "launch.json").launch(0)
    result = program(LINES["gather"][0], 16).run(read, engine="numpy", check="guard")
    assert [(f.code, f.count) for f in result.findings] == [("K040", 3)]
    for part in ("[0]", "[0, 0]", "[1, 256]", "[-1, 4]", '"0"', "[0, 4, 4]", "[0.0, 4]", "[true, 4]"):
        with pytest.raises(LaunchError, match=r"'part' is \[first element, how many\] of 256 elements, found"):
            parse_launch(text.replace("[64, 64]", part), str(tmp_path), "launch.json").launch(0)
