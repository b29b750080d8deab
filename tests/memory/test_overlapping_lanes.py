"""Lanes with overlapping elements, and instructions that use parts of the loaded values."""

import numpy as np
import pytest
from support.probe import LANES, Probe, image_of, run_on_both_engines, translated
from support.strategies import ENGINES

from visakit import SimulationError
from vsim.program import Program

CONTENTS = np.random.default_rng(20).integers(0, 256, 256, "u1")
KINDS = [(4, 1), (4, 2), (2, 1)]
"""Bytes of an element, and from one lane to the next."""


def overlapping(size, apart, running, start, reads=(), between=()):
    """A probe that loads elements from a byte on, and reads parts of them; ``between``: other lines in front of that."""
    probe = Probe(running=running)
    probe.buffer("MEM", CONTENTS)
    probe.fill(LOADED=("ud", [0xABCDEF01] * LANES), PLACE=("ud", [0] * LANES), LANE=("uw", [0] * LANES))
    probe.fill(**{f"PART{n}": ("ud", [0] * LANES) for n, _ in enumerate(reads)})
    probe.declarations += [
        ".decl BYTES v_type=G type=ub num_elts=64 alias=<LOADED, 0>",
        ".decl WORDS v_type=G type=uw num_elts=32 alias=<LOADED, 0>",
    ]
    probe.lines += [
        "mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:uv",
        "add (M1_NM, 8) LANE(0,8)<1> LANE(0,0)<1;1,0> 8:uw",
        f"mul (M1_NM, 16) PLACE(0,0)<1> LANE(0,0)<1;1,0> {apart}:ud",
        f"add (M1_NM, 16) PLACE(0,0)<1> PLACE(0,0)<1;1,0> {start}:ud",
        f"gather_scaled.{size} (M1, 16) T8 0x0:ud PLACE.0 LOADED.0",
        *between,
        *(f"mov (M1, 16) PART{n}(0,0)<1> {read}" for n, read in enumerate(reads)),
    ]
    return probe


READS = ["BYTES(0,0)<4;1,0>", "BYTES(0,1)<4;1,0>", "BYTES(0,2)<4;1,0>", "BYTES(0,3)<4;1,0>"]
READS += ["WORDS(0,0)<2;1,0>", "WORDS(0,1)<2;1,0>", "BYTES(0,5)<1;1,0>", "BYTES(0,2)<2;1,0>", "LOADED(0,3)<0;1,0>"]


@pytest.mark.parametrize("running", [None, 0x8421, 0x7FFE])
@pytest.mark.parametrize(("size", "apart"), KINDS)
def test_parts_of_overlapping_elements(size, apart, running):
    one = run_on_both_engines(overlapping(size, apart, running, 3, READS))
    if running is None:
        own = [CONTENTS[3 + apart * n :][:size].tobytes() for n in range(LANES)]
        assert one["LOADED"][:LANES].tolist() == [int.from_bytes(e, "little") for e in own]
        for k in range(size):
            assert one[f"PART{k}"][:LANES].tolist() == [e[k] for e in own]


@pytest.mark.parametrize("first", [0, 1])
def test_parts_of_overlapping_elements_every_other_of_which_was_written(first):
    run_on_both_engines(overlapping(4, 2, None, 3, READS, [f"mov (M1, 8) LOADED(0,{first})<2> 0x12345678:ud"]))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("size", "apart"), KINDS)
def test_the_last_bytes_of_a_buffer(size, apart, engine):
    """No load reads behind the last lane's element."""
    start = 256 - size - apart * (LANES - 1)
    found = overlapping(size, apart, None, start).run(engine)["LOADED"][:LANES]
    assert found.tolist() == [
        int.from_bytes(CONTENTS[start + apart * n :][:size].tobytes(), "little") for n in range(LANES)
    ]
    with pytest.raises(SimulationError, match="outside"):
        overlapping(size, apart, None, start + 1).run(engine)


def two_rows(reads):
    """A probe in which 32 lanes load dwords, a byte apart in two rows, and read bytes of them."""
    probe = Probe("pvc", lanes=32)
    probe.buffer("MEM", CONTENTS)
    probe.fill(LOADED=("ud", [0] * 32), PLACE=("ud", [0] * 32), LANE=("uw", [0] * 32))
    probe.fill(**{f"PART{n}": ("ub", [0] * 32) for n, _ in enumerate(reads)})
    probe.declarations.append(".decl BYTES v_type=G type=ub num_elts=128 alias=<LOADED, 0>")
    probe.lines += [
        "mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:uv",
        "add (M1_NM, 8) LANE(0,8)<1> LANE(0,0)<1;1,0> 8:uw",
        "add (M1_NM, 16) LANE(0,16)<1> LANE(0,0)<1;1,0> 100:uw",
        "mov (M1_NM, 32) PLACE(0,0)<1> LANE(0,0)<1;1,0>",
        "lsc_load.ugm (M1, 32) LOADED:d32 bti(0x2)[PLACE]:a32",
        *(f"mov (M1, 32) PART{n}(0,0)<1> {read}" for n, read in enumerate(reads)),
    ]
    return probe


def test_parts_of_overlapping_elements_in_two_rows():
    probe = two_rows([f"BYTES(0,{n})<4;1,0>" for n in range(4)])
    places = [*range(16), *range(100, 116)]
    for engine in ENGINES:
        found = probe.run(engine)
        assert all(found[f"PART{n}"][:32].tolist() == [CONTENTS[at + n] for at in places] for n in range(4)), engine
    program = Program(image_of(probe._text(), probe.platform))
    found = translated(program, program.convert("k", [np.zeros(1024, "u1")] * 3), 32)
    assert "load <16 x i8>" in found
    assert "lshr <" not in found, "bytes are taken out of dwords"


PACKED = [[0, 4, 8, 8], [8, 0, 4, 15], [5, 5, 0, 1, 12, 15, 7, 3]]
"""Distances of lanes that are no stride."""


def packed(distances, access, start, running=None, factor=1):
    """A probe whose lanes are at the elements of a packed immediate, times a factor, from a byte on."""
    probe, size = Probe(running=running), len(distances)
    probe.buffer("MEM", CONTENTS)
    probe.fill(DATA=("ud", [0xABCDEF01 + n for n in range(LANES)]), PLACE=("ud", [0] * LANES), BASE=("ud", [start]))
    immediate = sum(d << 4 * n for n, d in enumerate(distances))
    probe.lines += [
        f"mov (M1_NM, {size}) PLACE(0,0)<1> {immediate:#x}:uv",
        f"mul (M1_NM, {size}) PLACE(0,0)<1> PLACE(0,0)<1;1,0> {factor}:ud",
        f"add (M1_NM, {size}) PLACE(0,0)<1> BASE(0,0)<0;1,0> PLACE(0,0)<1;1,0>",
        f"{access} (M1, {size}) T8 0x0:ud PLACE.0 DATA.0",
    ]
    return probe


@pytest.mark.parametrize("running", [None, 0x5])
@pytest.mark.parametrize("distances", PACKED)
@pytest.mark.parametrize(
    "access", ["gather_scaled.4", "gather_scaled.1", "gather_scaled.2", "scatter_scaled.4", "scatter_scaled.1"]
)
def test_distances_that_are_no_stride(distances, access, running):
    one = run_on_both_engines(packed(distances, access, 7, running, 3))
    if access == "gather_scaled.4" and running is None:
        own = [CONTENTS[7 + 3 * d :][:4].tobytes() for d in distances]
        assert one["DATA"][: len(own)].tolist() == [int.from_bytes(e, "little") for e in own]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("distances", PACKED)
def test_the_last_bytes_at_distances_that_are_no_stride(distances, engine):
    start = 256 - 4 - max(distances)
    packed(distances, "gather_scaled.4", start).run(engine)
    with pytest.raises(SimulationError, match="outside"):
        packed(distances, "gather_scaled.4", start + 1).run(engine)


OLD = int.from_bytes(CONTENTS[:4].tobytes(), "little")
NULL_ADDRESSES = {
    "lsc_atomic_iinc.ugm (M1, 16) LOADED:d32 bti(0x2)[%null]:a32 %null %null": range(OLD, OLD + LANES),
    "dword_atomic.xchg (M1, 16) T8 %null.0 STORED.0 %null.0 LOADED.0": [OLD, *range(LANES - 1)],
    "lsc_store.ugm (M1, 16) bti(0x2)[%null]:a32 STORED:d32": [0] * LANES,
    "scatter_scaled.4 (M1, 16) T8 0x0:ud %null.0 STORED.0": [0] * LANES,
}


@pytest.mark.parametrize("message", NULL_ADDRESSES)
def test_lanes_with_null_as_address(message):
    """All lanes access the first element, each of them."""
    probe = Probe("dg2")
    probe.buffer("MEM", CONTENTS)
    probe.fill(LOADED=("ud", [0] * LANES), STORED=("ud", range(LANES)), LEFT=("ud", [0] * LANES))
    probe.lines += [message, "oword_ld (1) T8 0x0:ud LEFT.0"]
    found = run_on_both_engines(probe)
    assert found["LOADED"][:LANES].tolist() == list(NULL_ADDRESSES[message])
    assert found["LEFT"][0] == (OLD + LANES if "iinc" in message else LANES - 1)
