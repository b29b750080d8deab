"""So many accesses to single lanes in one kernel that code for each lane would be most of it: the rest goes out of line."""

import random
import re

import pytest
from ordinary import KERNELS
from support.probe import Probe, same_on_both_engines
from support.programs import build
from support.strategies import ENGINES, rotated

from visakit import SimulationError
from vsim.engines.llvm.memory import common_buffer, scalarised
from vsim.engines.llvm.memory.scalarised import ScalarisedAccess
from vsim.engines.llvm.memory.scatter import OutOfLineAccess
from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import Launch
from vsim.program import Program

ROUNDS = 20


@pytest.fixture
def out_of_line(monkeypatch):
    """The operations that were done out of line, of kernels that are compiled."""
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    call, found = ScalarisedAccess._call, []

    def counted(self, op, *rest):
        found.append(op)
        return call(self, op, *rest)

    monkeypatch.setattr(ScalarisedAccess, "_call", counted)
    return found


def probe_of(places, running, size):
    """A probe with places of a buffer in ``FROM``, and a variable ``DATA``."""
    probe = Probe(running=running)
    probe.buffer("MEM", [n * 7 % 251 for n in range(4096)])
    probe.buffer("OTHER", bytes(64))
    probe.fill(DATA=({1: "ub", 4: "ud", 8: "uq"}[size], range(64)), TO=("uq", [0] * 16))
    probe.addresses("FROM", "MEM", places)
    return probe


@pytest.mark.parametrize(
    ("shape", "running"), rotated([(4, 1), (4, 2), (4, 4), (8, 2), (1, 2)], [0xFFFF, 0x8421, 0x7FFE])
)
def test_gathers_and_scatters_without_a_pattern(shape, running, out_of_line):
    size, count = shape
    pick = random.Random(size * count)
    probe = probe_of([p + size * pick.randrange(4) for p in pick.sample(range(0, 2048, 64), 16)], running, size)
    for n in range(ROUNDS):
        probe.lines += [
            f"add (M1, 16) TO(0,0)<1> FROM(0,0)<1;1,0> {pick.randrange(1, 1900):#x}:uq",
            f"svm_gather.{size}.{count} (M1, 16) {'FROM' if n % 2 else 'TO'}.0 DATA.0",
            f"svm_scatter.{size}.{count} (M1, 16) {'TO' if n % 2 else 'FROM'}.0 DATA.0",
        ]
    same_on_both_engines(probe)
    assert set(out_of_line) == {"load", "store"}


@pytest.mark.parametrize(("shape", "running"), rotated([(24, 2), (64, 2), (64, 4), (24, 4), (8, 4)], [0xFFFF, 0x8421]))
def test_lanes_at_a_distance(shape, running, out_of_line, monkeypatch):
    """Structures of some bytes, of which each lane reads and writes dwords: the distance is proved, and lanes may overlap."""
    stride, count = shape
    monkeypatch.setattr(scalarised, "INLINE_PER_INSTRUCTION", 1)
    probe = probe_of([0] * 16, running, 4)
    probe.fill(LANE=("uw", [0] * 16), WIDE=("uq", [0] * 16))
    for n in range(ROUNDS):
        probe.lines += [
            "mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:uv",
            "add (M3_NM, 8) LANE(0,8)<1> LANE(0,0)<1;1,0> 0x8:uw",
            f"mul (M1_NM, 16) WIDE(0,0)<1> LANE(0,0)<1;1,0> {stride:#x}:uw",
            f"add (M1_NM, 16) WIDE(0,0)<1> WIDE(0,0)<1;1,0> {4 * n:#x}:uw",
            "add (M1_NM, 16) TO(0,0)<1> WIDE(0,0)<1;1,0> MEM(0,0)<0;1,0>",
            f"svm_gather.4.{count} (M1, 16) TO.0 DATA.0",
            *(f"add (M1, 16) DATA({2 * k},0)<1> DATA({2 * k},0)<1;1,0> {n + k:#x}:ud" for k in range(count)),
            f"svm_scatter.4.{count} (M1, 16) TO.0 DATA.0",
        ]
    same_on_both_engines(probe)
    assert {"load", "store"} == set(out_of_line)


@pytest.mark.parametrize("engine", ENGINES)
def test_of_lanes_at_one_place_the_last_wins(engine):
    probe = probe_of([64 * (n // 8) for n in range(16)], 0x7FFF, 4)
    for n in range(ROUNDS):
        probe.lines += [
            f"add (M1_NM, 16) TO(0,0)<1> FROM(0,0)<1;1,0> {4 * (n % 8):#x}:uq",
            "svm_scatter.4.1 (M1, 16) TO.0 DATA.0",
            "add (M1_NM, 16) DATA(0,0)<1> DATA(0,0)<1;1,0> 0x64:ud",
        ]
    found = probe.run(engine)["MEM"].view("u4")
    last = {n % 8: 100 * n for n in range(ROUNDS)}
    assert found[:8].tolist() == [last[n] + 7 for n in range(8)]
    assert found[16:24].tolist() == [last[n] + 14 for n in range(8)], "lane 15 does not run"


@pytest.mark.parametrize("running", [0xFFFF, 0x8421])
@pytest.mark.parametrize(("size", "count"), [(4, 2), (4, 4), (8, 4)])
def test_several_elements_of_lanes_in_two_buffers_are_one_call(size, count, running, monkeypatch):
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    call, found = OutOfLineAccess.call, []

    def counted(self, op, *rest):
        found.append((op, rest[-1]))
        return call(self, op, *rest)

    monkeypatch.setattr(OutOfLineAccess, "call", counted)
    probe = Probe(running=running)
    probe.buffer("MEM", [n * 7 % 251 for n in range(4096)])
    probe.buffer("OTHER", [n * 11 % 241 for n in range(4096)])
    probe.fill(DATA=({4: "ud", 8: "uq"}[size], range(64)))
    places = [96 * (n * 5 % 16) for n in range(16)]
    probe.addresses("FROM", "MEM", places)
    probe.addresses("TO", "OTHER", places)
    probe.lines += [f"mov (M1_NM, 4) FROM({row},0)<1> TO({row},0)<1;1,0>" for row in (0, 2)]
    probe.lines += [f"svm_gather.{size}.{count} (M1, 16) FROM.0 DATA.0"]
    probe.lines += [f"add (M1_NM, 16) FROM(0,0)<1> FROM(0,0)<1;1,0> {size * count:#x}:uq"]
    probe.lines += [f"svm_scatter.{size}.{count} (M1, 16) FROM.0 DATA.0"]
    same_on_both_engines(probe)
    assert {("load", count), ("store", count)} <= set(found)


@pytest.mark.parametrize("lane", [0, 9, 15])
def test_the_last_element_of_one_lane_is_outside(lane):
    """The faulting store changes no memory: all bytes of a lane are checked before the first is written."""
    messages = []
    for engine in ENGINES:
        probe = Probe()
        probe.buffer("MEM", bytes(1024))
        probe.buffer("OTHER", bytes(1024))
        probe.fill(DATA=("ud", range(64)))
        probe.addresses("FROM", "MEM", [1012 if n == lane else 1000 - 40 * n for n in range(16)])
        probe.lines += ["svm_scatter.4.4 (M1, 16) FROM.0 DATA.0"]
        with pytest.raises(SimulationError) as caught:
            probe.run(engine)
        messages.append(str(caught.value))
    assert messages[0] == messages[1] and "16 bytes" in messages[0]


def test_only_the_second_emission_counts_inline_lanes(monkeypatch):
    """A function is lowered twice, first only for its stores: the count of inline lanes starts anew."""
    monkeypatch.setenv("VISAKIT_CACHE", "off")
    monkeypatch.setattr(common_buffer, "CHECKED_LANES", 64)
    load, rare = OutOfLineAccess.load, []
    monkeypatch.setattr(OutOfLineAccess, "load", lambda *a, **k: [rare.append(k["rare"]), load(*a, **k)][1])
    probe = probe_of([64 * (n * 5 % 16) for n in range(16)], 0xFFFF, 4)
    probe.lines += [
        line
        for _ in range(4)
        for line in ("svm_gather.4.1 (M1, 16) FROM.0 DATA.0", "xor (M1, 16) FROM(0,0)<1> FROM(0,0)<1;1,0> 0x40:uq")
    ]
    probe.run("llvm")
    assert rare == [True] * 4 * 2


@pytest.mark.parametrize("running", [None, 0x8421])
@pytest.mark.parametrize("where", ["ugm (M1, 16) DATA:d32 flat[ADDRESS]:a64", "slm (M1, 16) DATA:d32 flat[PLACE]:a32"])
def test_atomics_at_one_place_that_add_one_number(where, running):
    """Each lane adds it, also where address and number are scalars to the fast engine."""
    probe = Probe("dg2", running=running)
    probe.attributes.append(".kernel_attr SLMSize=1")
    probe.buffer("MEM", bytes(64))
    probe.buffer("OTHER", bytes(4))
    probe.fill(DATA=("ud", [0] * 16), ADDRESS=("uq", [0] * 16), PLACE=("ud", [0] * 16), THREE=("ud", [0] * 16))
    probe.lines += [
        "mov (M1, 16) ADDRESS(0,0)<1> MEM(0,0)<0;1,0>",
        "mov (M1, 16) PLACE(0,0)<1> 8:ud",
        "mov (M1, 16) THREE(0,0)<1> 3:ud",
        *[f"lsc_atomic_iadd.{where} THREE %null"] * 2,
    ]
    same_on_both_engines(probe)


@pytest.mark.parametrize("running", [None, 0x8420])
def test_the_first_lane_is_named_of_all_that_store_outside(running):
    probe = Probe(running=running)
    probe.buffer("MEM", bytes(64))
    probe.buffer("OTHER", bytes(4))
    probe.fill(DATA=("ud", range(16)), ADDRESS=("uq", [0] * 16), FAR=("uq", [64]))
    probe.lines += [
        "add (M1_NM, 1) FAR(0,0)<1> FAR(0,0)<0;1,0> MEM(0,0)<0;1,0>",
        "mov (M1, 16) ADDRESS(0,0)<1> FAR(0,0)<0;1,0>",
        "svm_scatter.4.1 (M1, 16) ADDRESS.0 DATA.0",
    ]
    same_on_both_engines(probe)


def test_dwords_leave_vectors_in_pairs():
    """The offsets of two lanes are one extraction: the lower dword of it, and the upper one."""
    program = Program(build(KERNELS["md"].folder / "tgllp", "tgllp"))
    work = KERNELS["md"].work(64)
    launch = Launch("md", work.global_size, work.local_size, args=program.convert("md", work.args))
    text = translate(program.bind(launch), True, 16).text
    assert text.count(", 4294967295\n") >= 8 and text.count(", 4294967295\n") == len(
        re.findall(r"= lshr i64 \S+, 32\n", text)
    )
