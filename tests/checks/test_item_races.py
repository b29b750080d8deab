"""Races of the work-items of one hardware thread: OpenCL programs with one each, and their mended twins, in SIMD 8, 16 and 32,
in one to three dimensions, in local and global memory.

``tests/data/checks/items.cl`` is the source; the images beside it are compiled from it (``tests/data/checks/README.md``).
"""

import json
import re
from itertools import product

import numpy as np
import pytest
from support.golden_files import command_line
from support.programs import DATA, build_text, kernel_head, packed_program
from support.strategies import ENGINES, FUZZ, in_turn

from vsim.analysis.exchanges import ordering_steps
from vsim.analysis.unread import read_elements
from vsim.checks.names import ALL
from vsim.checks.selection import Checking, parse_checks
from vsim.program import Program

SOURCE = (DATA / "checks" / "items.cl").read_text()
LAUNCHES = {
    name: (tuple(map(int, items.split("x"))), tuple(map(int, group.split("x"))))
    for items, group, name in re.findall(r"^// ([\dx]+) ([\dx]+)\nKERNEL\((\w+)", SOURCE, re.MULTILINE)
}
KERNELS, DEVICES = list(LAUNCHES), ("tgllp", "dg2")


def findings(device, kind, kernel, engine, check="race-items", schedule=None):
    a, b, c = (np.arange(4096, dtype=np.uint32) * 7 % 11 % 5, *(np.zeros(4096, np.uint32) for _ in range(2)))
    program, options = packed_program(f"items.old.{device}.{kind}"), {"engine": engine, "schedule": schedule}
    return program.launch(kernel, *LAUNCHES[kernel], [a, b, c], check=check, show_printf=False, **options).findings


WAYS = in_turn(KERNELS, product(DEVICES, [None, "reverse", "round-robin"]))


@pytest.mark.parametrize(("kernel", "device", "schedule"), WAYS)
def test_the_race_is_found_and_nothing_in_the_mended_twin(kernel, device, schedule):
    found = [findings(device, "race", kernel, engine, schedule=schedule) for engine in ENGINES]
    assert {f.code for f in found[0]} == {"K005"}
    assert list(found[0]) == list(found[1])
    for finding in found[0]:
        one, other = finding.who, finding.other.who
        assert finding.check == "race-items" and (one.group, one.thread) == (other.group, other.thread)
        assert one.lane != other.lane and min(one.lane, other.lane) >= 0
    for engine in ENGINES if FUZZ else [ENGINES[KERNELS.index(kernel) % 2]]:
        assert list(findings(device, "mended", kernel, engine, schedule=schedule)) == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kernel", KERNELS[::4])
def test_races_of_threads_have_none_of_these(kernel, engine):
    assert list(findings("tgllp", "race", kernel, engine, "race")) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_memory_of_other_checks_does_not_race(engine):
    assert list(findings("tgllp", "mended", "scan", engine, "all,race-items")) == []


def test_the_check_is_asked_for_by_itself_and_includes_the_races_of_threads():
    assert Checking(parse_checks("race-items")).checks == {"race", "race-items"} and "race-items" not in ALL
    assert parse_checks("all,race-items") == ALL | {"race-items"}


# -- messages, memory and widths ----------------------------------------------------------------------------------

BEGIN = (
    kernel_head("SHORT=uw*16 AT=ud*16 TO=ud*16 X=ud*64 S=ud*8 ZERO=ud*8 P=P*16", SimdSize=16, SLMSize=4)
    + """mov (M1, 8) SHORT(0,0)<1> 0x76543210:uv
add (M1, 8) SHORT(0,8)<1> SHORT(0,0)<1;1,0> 8:uw
mov (M1, 16) AT(0,0)<1> SHORT(0,0)<1;1,0>
shl (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> 2:ud
xor (M1, 16) TO(0,0)<1> AT(0,0)<1;1,0> 4:ud
mov (M1_NM, 8) ZERO(0,0)<1> 0:ud
"""
)
STORE = "scatter_scaled.4 (M1, 16) %slm 0:ud AT.0 X.0"
OTHER_LOAD = "gather_scaled.4 (M1, 16) %slm 0:ud TO.0 X.0"
LOAD = "gather_scaled.4 (M1, 16) %slm 0:ud AT.0 X.0"
SCALAR_LOAD = "gather_scaled.4 (M1_NM, 1) %slm 0:ud ZERO.0 S.0"
SCALAR_STORE = "scatter_scaled.4 (M1_NM, 1) %slm 0:ud ZERO.0 S.0"
SHUFFLE = "mov (M1, 16) TO(0,0)<1> X(0,0)<0;1,0>\nxor (M1, 16) TO(0,0)<1> AT(0,0)<1;1,0> 4:ud"
PROGRAMS = {
    "own elements": ([STORE, LOAD], 0),
    "elements of a neighbour": ([STORE, OTHER_LOAD], 1),
    "a barrier": ([STORE, "barrier", OTHER_LOAD], 0),
    "a fence": ([STORE, "fence_local", OTHER_LOAD], 0),
    "a fence of the compiler alone": ([STORE, "fence_sw", OTHER_LOAD], 1),
    "a value of another lane": ([LOAD, STORE, SHUFFLE, OTHER_LOAD], 0),
    "a number of a lane": ([STORE, "mov (M1_NM, 1) S(0,0)<1> SHORT(0,3)<0;1,0>", OTHER_LOAD], 1),
    "a vote": ([LOAD, "cmp.ne (M1, 16) P X(0,0)<1;1,0> 0:ud", STORE, "mov (M1_NM, 1) S(0,0)<1> P", OTHER_LOAD], 0),
    "scalars, which the thread reads and writes": ([SCALAR_STORE, SCALAR_LOAD, SCALAR_STORE], 0),
    "a scalar and lanes": ([SCALAR_STORE, OTHER_LOAD], 1),
    "lanes and a scalar": ([STORE, SCALAR_LOAD], 1),
    "scalars of one lane": (["(P) goto (M1, 16) over", SCALAR_STORE, STORE, "over:"], 0),
    "two lanes, one value": (["shr (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> 3:ud", "shl (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> 2:ud", STORE], 1),
    "two lanes, one atomic": (["and (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> 4:ud", "dword_atomic.inc (M1, 16) %slm AT.0 %null.0 %null.0 %null.0"], 0),
}  # fmt: skip


def text(lines):
    one = "cmp.ne (M1, 16) P SHORT(0,0)<1;1,0> 0:uw\n" if any("goto" in line for line in lines) else ""
    return BEGIN + one + "\n".join(lines) + "\nret (M1, 1)\n"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_order_and_ownership_of_messages(name, engine):
    lines, count = PROGRAMS[name]
    result = Program(build_text(text(lines))).launch("k", 32, 16, [], engine=engine, check="race-items")
    assert [f.code for f in result.findings] == ["K005"] * count


# -- analyses -----------------------------------------------------------------------------------------------------


def steps(*lines):
    kernel = build_text(text(lines)).module.kernels[0]
    first = len(build_text(text([])).module.kernels[0].instructions) - 1
    return {n - first for n in ordering_steps(kernel, 32)}


@pytest.mark.parametrize(
    ("line", "orders"),
    [
        ("add (M1_NM, 8) S(0,0)<1> X(0,0)<1;1,0> X(1,0)<1;1,0>", True),
        ("add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> AT(0,0)<1;1,0>", False),
        ("mov (M1, 16) TO(0,0)<1> X(0,1)<1;1,0>", True),
        ("mov (M1_NM, 1) S(0,0)<1> X(0,5)<0;1,0>", True),
        ("mov (M1, 8) X(2,0)<1> X(0,0)<1;1,0>", False),
        ("mov (M5, 8) X(2,0)<1> X(0,0)<1;1,0>", True),
        ("oword_st (2) %slm 0:ud X.0", True),
        ("oword_st (1) %slm 0:ud S.0", False),
    ],
)
def test_reads_of_other_lanes_registers_are_exchanges(line, orders):
    assert (1 in steps(LOAD, line)) == orders


def test_elements_that_fill_a_gap_are_not_read():
    load = "gather4_scaled.RGB (M1, 16) %slm 0:ud AT.0 X.0"
    module = build_text(text([load, "add (M1, 16) TO(0,0)<1> X(0,0)<1;1,0> X(4,0)<1;1,0>"])).module
    (found,) = read_elements(module.kernels[0], 32).values()
    assert found.size == 3 and found.runs == ((0, 1), (2, 1))
    assert found.within(1, 2) == [(1, 1)]
    assert read_elements(build_text(text([load])).module.kernels[0], 32) == {}, "without reads all elements count"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("element", "count"), [(2, 1), (4, 0)])
def test_a_gap_that_a_compiler_fills_does_not_race(element, count, engine):
    """Lanes load three elements and use the first and another one; a neighbour has written the second one before."""
    lines = [
        "shl (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> 2:ud",
        "xor (M1, 16) TO(0,0)<1> AT(0,0)<1;1,0> 20:ud",
        "scatter_scaled.4 (M1, 16) %slm 0:ud TO.0 AT.0",
        "gather4_scaled.RGB (M1, 16) %slm 0:ud AT.0 X.0",
        f"add (M1, 16) TO(0,0)<1> X(0,0)<1;1,0> X({element},0)<1;1,0>",
    ]
    result = Program(build_text(text(lines))).launch("k", 32, 16, [], engine=engine, check="race-items")
    assert len(result.findings) == count


# -- commands -----------------------------------------------------------------------------------------------------


def test_commands_suppress_and_report_it_as_other_checks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.visaasm").write_text(text([STORE, OTHER_LOAD]))
    assert command_line("vasm -g t.visaasm -o t.o && vlink t.o -o t.bin")[2] == 0
    launch = "vsim t.bin --global-size 16 --local-size 16 --check race-items"
    out, _, code = command_line(f"{launch} --json")
    (found,) = json.loads(out)["launches"][0]["findings"]
    assert (code, found["code"], found["check"]) == (1, "K005", "race-items")
    assert (found["lane"], found["other"]["lane"]) == (0, 1)
    (tmp_path / "known.txt").write_text("check=race-items instruction=scatter_scaled*\n")
    assert command_line(f"{launch} --suppressions known.txt")[2] == 0
    _, said, _ = command_line(f"{launch} --error-format sarif")
    assert json.loads(said)["runs"][0]["results"][0]["ruleId"] == "K005"
