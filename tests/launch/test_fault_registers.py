"""A fault shows the registers that its instruction reads, in the lane that it names, on both engines alike."""

import json
import re

import pytest
from support.probe import Probe
from support.strategies import ENGINES, rotated

import visakit
from visakit.diagnostics import render_human, render_json


def fault(lines, engine, predicate=None, check=None, group=None):
    """The diagnostic of a fault in a buffer of 40 bytes."""
    probe = Probe(group=group)
    probe.fill(DATA=("f", [n / 2 for n in range(16)]), OTHER=("f", range(32)), AT0=("ud", [4 * n for n in range(16)]))
    probe.buffer("MEM", bytes(40))
    probe.addresses("PLACES", "MEM", [4 * n for n in range(16)])
    probe.addresses("FIVES", "MEM", [20 * (n % 3) for n in range(16)])
    if predicate is not None:
        probe.predicate("P1", predicate)
    probe.lines += lines
    with pytest.raises(visakit.SimulationError, match="S030") as caught:
        probe.run(engine, check)
    return caught.value.diagnostics[0]


def shown(found):
    """The registers of a diagnostic; addresses from the buffer on."""
    base = next((int(r.value, 16) & ~0xFF for r in found.registers if r.value.startswith("0x")), 0)
    rows = [
        f"{r.name} +{int(r.value, 16) - base} ({r.type})" if r.value.startswith("0x") else str(r)
        for r in found.registers
    ]
    return f"lane {found.registers[0].lane}: {', '.join(rows)}"


CASES = {
    "row of a buffer": (["svm_scatter.4.1 (M1, 16) PLACES.0 DATA.0"], "lane 10: PLACES.0 +40 (uq), DATA.0 = 5.0 (f)"),
    "scattered": (["svm_scatter.4.1 (M1, 16) FIVES.0 DATA.0"], "lane 2: FIVES.0 +40 (uq), DATA.0 = 1.0 (f)"),
    "two elements": (
        ["svm_scatter.4.2 (M1, 16) FIVES.0 OTHER.0"],
        "lane 2: FIVES.0 +40 (uq), OTHER.0 = 2.0 (f), OTHER.64 = 18.0 (f)",
    ),
    "a load": (["svm_gather.4.1 (M1, 16) PLACES.0 OTHER.0"], "lane 10: PLACES.0 +40 (uq)"),
    "surface": (["scatter_scaled.4 (M1, 16) T8 0x0:ud AT0.0 DATA.0"], "lane 10: AT0.0 = 40 (ud), DATA.0 = 5.0 (f)"),
    "one for all": (
        ["scatter_scaled.4 (M1, 16) T8 AT0(1,1)<0;1,0> AT0.0 DATA.0"],
        "lane 1: AT0(1,1) = 36 (ud), AT0.0 = 4 (ud), DATA.0 = 0.5 (f)",
    ),
    "atomic": (
        ["svm_atomic.add (M1, 16) FIVES.0 %null.0 AT0.0 %null.0"],
        "lane 2: FIVES.0 +40 (uq), AT0.0 = 8 (ud)",
    ),
    "block": (
        ["add (M1_NM, 1) AT(0,0)<1> MEM(0,0)<0;1,0> 0x30:ud", "svm_block_ld (1) AT(0,0)<0;1,0> DATA.0"],
        "lane 0: AT(0,0) +48 (uq)",
    ),
    "second half": (["svm_scatter.4.1 (M3, 8) FIVES.64 DATA.32"], "lane 8: FIVES.64 +40 (uq), DATA.32 = 4.0 (f)"),
    "local memory": (
        ["scatter_scaled.4 (M1, 16) %slm 0x0:ud AT0.0 DATA.0"],
        "lane 0: AT0.0 = 0 (ud), DATA.0 = 0.0 (f)",
    ),
}


@pytest.mark.parametrize(("name", "check"), rotated(CASES, [None, "undefined"]))
@pytest.mark.parametrize("engine", ENGINES)
def test_registers(name, check, engine):
    """With a check, too: a fault is about the memory, not about the memory that the check has beside it."""
    lines, expected = CASES[name]
    found = fault(lines, engine, check=check)
    assert re.search(r"outside '(MEM|local memory)', which has (40|0) bytes", found.message)
    assert shown(found) == expected
    where = "thread 0" if name == "block" else f"lane {found.registers[0].lane}"
    assert f", {where}, " in found.message


@pytest.mark.parametrize("engine", ENGINES)
def test_the_predicate_of_the_lane_is_one_of_them(engine):
    found = fault(["(P1) svm_scatter.4.1 (M1, 16) PLACES.0 DATA.0"], engine, 0xF800)
    assert [str(r) for r in found.registers[::2]] == ["P1 = 1 (bool)", "DATA.0 = 5.5 (f)"]
    found = fault(["(!P1) svm_scatter.4.1 (M1, 16) PLACES.0 DATA.0"], engine, 0x0FFF)
    assert [str(r) for r in found.registers[::2]] == ["P1 = 0 (bool)", "DATA.0 = 6.0 (f)"]


ROW = [
    "mov (M1, 8) AT0(0,0)<1> 0x76543210:uv",
    "shl (M1, 8) AT0(0,0)<1> AT0(0,0)<1;1,0> 2:ud",
    "add (M1, 8) DATA(0,0)<1> DATA(0,0)<1;1,0> DATA(0,0)<1;1,0>",
    "scatter_scaled.4 (M1, 8) T8 0x14:ud AT0.0 DATA.0",
]
BEHIND_BARRIERS = {
    "row": (["barrier", *ROW], "lane 5: AT0.0 = 20 (ud), DATA.0 = 5.0 (f)"),
    "scattered": (["barrier", *CASES["scattered"][0]], CASES["scattered"][1]),
    "a load": (["barrier", *CASES["a load"][0]], CASES["a load"][1]),
    "local memory": (["barrier", *CASES["local memory"][0]], CASES["local memory"][1]),
}


@pytest.mark.parametrize("name", BEHIND_BARRIERS)
@pytest.mark.parametrize("engine", ENGINES)
def test_registers_behind_a_barrier(name, engine):
    """Native code records the addresses of a row of lanes there, and not its data."""
    lines, expected = BEHIND_BARRIERS[name]
    if engine == "llvm" and name == "row":
        expected = expected.replace("DATA.0 = 5.0", "DATA.0 = ?")
    assert shown(fault(lines, engine, group=(32, 1, 1))) == expected


def test_reports_have_them():
    found = fault(CASES["surface"][0], "llvm")
    assert "\n  registers of lane 10: AT0.0 = 40 (ud), DATA.0 = 5.0 (f)" in render_human(found)
    (tree,) = json.loads(render_json([found]))
    assert tree["registers"][1] == {"name": "DATA.0", "type": "f", "lane": 10, "value": "5.0"}
